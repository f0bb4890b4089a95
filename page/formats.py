"""A graph as text, in each format that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.graph.pictures import dot, mermaid, picture_of_graph
from openlineage_pyspark.graph.svg import svg
from openlineage_pyspark.page.html import page_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.graph.model import Graph

GRAPH_FORMATS: dict[str, Callable[[Graph], str]] = {
    "json": lambda graph: graph.to_json() + "\n",
    "mermaid": lambda graph: mermaid(picture_of_graph(graph)),
    "dot": lambda graph: dot(picture_of_graph(graph)),
    "html": page_of,
    "svg": lambda graph: svg(graph) + "\n",
}
"""The formats of a graph, by their names."""


def text_of_graph(graph: Graph, format: str) -> str:  # noqa: A002 (the word of the command line)
    """
    Return a graph as text.

    Args:
        graph: the graph.
        format: one of `GRAPH_FORMATS`.

    Raises:
        ValueError: there is no such format.
    """
    if format not in GRAPH_FORMATS:
        raise ValueError(f"there is no format {format!r}; the formats are {', '.join(GRAPH_FORMATS)}")
    return GRAPH_FORMATS[format](graph)
