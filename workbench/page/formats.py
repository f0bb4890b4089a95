"""Write a graph as text, in each of its formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from openlineage_pyspark.workbench.answer import answer_of_graph
from openlineage_pyspark.workbench.model.change import changed_graph, difference
from openlineage_pyspark.workbench.model.graph import Edge
from openlineage_pyspark.workbench.page.html import page_of
from openlineage_pyspark.workbench.page.unfolding import why_not_unfolded
from openlineage_pyspark.workbench.pictures.diagrams import dot, mermaid, picture_of_graph
from openlineage_pyspark.workbench.pictures.svg import svg
from openlineage_pyspark.workbench.pictures.unfolded import unfolded

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.model.graph import Graph

GraphFormat: TypeAlias = Literal["json", "mermaid", "dot", "html", "svg"]
"""The name of a format of a graph."""

GRAPH_FORMATS: dict[str, Callable[[Graph], str]] = {
    "json": lambda graph: answer_of_graph(graph).to_json() + "\n",
    "mermaid": lambda graph: mermaid(picture_of_graph(graph)),
    "dot": lambda graph: dot(picture_of_graph(graph)),
    "html": page_of,
    "svg": lambda graph: svg(graph) + "\n",
}
"""The formats of a graph, by their names."""


def text_of_graph(graph: Graph, format: str, *, unfold: bool = False) -> str:  # noqa: A002 (the word of the command line)
    """
    Return a graph as text.

    Args:
        graph: the graph.
        format: one of `GRAPH_FORMATS`.
        unfold: whether CTEs, views and subqueries are shown between their inputs and outputs.

    Raises:
        ValueError: there is no such format, or `unfold` has no effect there.
    """
    if format not in GRAPH_FORMATS:
        raise ValueError(f"unknown format {format!r}; the formats are {', '.join(GRAPH_FORMATS)}")
    if not unfold:
        return GRAPH_FORMATS[format](graph)
    reason = why_not_unfolded(format)
    if reason:
        raise ValueError(f"unfold {reason}")
    return page_of(graph, unfold=True) if format == "html" else GRAPH_FORMATS[format](unfolded(graph))


def text_of_comparison(before: Graph, after: Graph, format: str) -> str:  # noqa: A002 (the word of the command line)
    """
    Return the differences between two graphs as a picture, or both graphs as a page.

    Args:
        before: the earlier graph.
        after: the later graph.
        format: `mermaid`, `dot`, `svg` or `html`.
    """
    if format == "html":
        return page_of(after, before=before)
    changes = difference(before, after)
    graph = changed_graph(before, after, changes)
    marks = {change.one.key: change.sign for change in changes if isinstance(change.one, Edge)}
    if format == "svg":
        return svg(graph, marks=marks) + "\n"
    picture = picture_of_graph(graph, marks)
    return mermaid(picture) if format == "mermaid" else dot(picture)
