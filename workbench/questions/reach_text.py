"""
What is reached, as text: a tree, a table, CSV, and pictures.

Mermaid, which GitHub draws in Markdown, and DOT show versions and jobs as they were asked for; all else is drawn as a
graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.short_names import shortest
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.pictures.diagrams import Arrow, Box, Picture, dot, mermaid, picture_of_graph
from openlineage_pyspark.workbench.pictures.plain import csv_of
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.reach_tree import nothing_of, outline_of_reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openlineage_pyspark.workbench.answer import Answer, Writer
    from openlineage_pyspark.workbench.questions.reached import AnswerLink, AnswerNode, LinkedNodes


def table_of_reach(answer: Answer[LinkedNodes]) -> TextTable:
    """Return the edges of an answer as a table for people."""
    found = answer.result
    kinds = {node.kind for node in found.all_nodes}
    how = _HOWS["version" if "version" in kinds else "column" if "column" in kinds else "dataset"]
    jobs = shortest((link.job_namespace, link.job) for link in found.links)
    rows = [
        (
            str(link.depth),
            *(_label(node, kinds) for node in (link.source, link.target)),
            *how(link),
            jobs[link.job_namespace, link.job],
        )
        for link in found.links
    ]
    # Of a version, both the dataset and the id are needed.
    names = [TableColumn(title, 28, cut_start="version" not in kinds) for title in ("from", "to")]
    columns = [TableColumn("depth", right=True), *names, TableColumn("job", 12)]
    if how is not _HOWS["dataset"]:
        columns.insert(3, TableColumn("how", 12, cut_end=True))
    return TextTable(columns, rows, nothing_of(answer))


def _label(node: AnswerNode, kinds: set[str]) -> str:
    return f"{node.label} (every row)" if "column" in kinds and node.kind == "dataset" else node.label


def _how_of_column(link: AnswerLink) -> tuple[str, ...]:
    doubts = [] if link.certainty == "exact" else [link.certainty]
    expressions = (path.expression for path in link.paths if path.kind.subtype != "IDENTITY")
    words = ", ".join(filter(None, dict.fromkeys([*link.kind_texts, *doubts])))
    return (f"{words}  {next(filter(None, expressions), '')}".rstrip(),)


def _how_of_version(link: AnswerLink) -> tuple[str, ...]:
    if link.kept:
        return ("keeps its rows",)
    by = f"run {link.last_run}" if link.batch is None else f"run {link.last_run}, batch {link.batch}"
    return (f"{by}, version inferred" if link.inferred else by,)


_HOWS: dict[str, Callable[[AnswerLink], tuple[str, ...]]] = {
    "column": _how_of_column,
    "dataset": lambda _: (),
    "version": _how_of_version,
}


def csv_of_reach(answer: Answer[LinkedNodes]) -> str:
    """Return the edges of an answer as CSV with a header."""
    columns, rows = answer.table()
    return csv_of([columns, *rows])


def picture_of_reach(answer: Answer[LinkedNodes]) -> Picture:
    """Return the picture of an answer: a graph, unless it is one by versions or by jobs."""
    found = answer.result
    if answer.arguments.get("by") == "job" or any(node.kind in ("version", "run") for node in found.all_nodes):
        return picture_of_answer(found)
    return picture_of_graph(found.graph())


def picture_of_answer(answer: LinkedNodes) -> Picture:
    """
    Return the picture of an answer: a box for each dataset with its versions, or for each job, an arrow for each edge.

    Args:
        answer: one by versions or by jobs.
    """
    boxes = [
        Box(nodes[0].dataset, tuple((node.id, _part(node)) for node in nodes))
        if nodes[0].kind == "version" or len(nodes) > 1
        else Box(nodes[0].label, key=nodes[0].id)
        for nodes in _by_dataset(answer)
    ]
    return Picture(tuple(boxes), tuple(_arrows(answer)))


REACH_WRITERS: dict[str, Writer] = {
    "text": outline_of_reach,
    "table": table_of_reach,
    "csv": csv_of_reach,
    "markdown": lambda answer: table_of_reach(answer).to_markdown(),
    "mermaid": lambda answer: mermaid(picture_of_reach(answer)),
    "dot": lambda answer: dot(picture_of_reach(answer)),
    "html": lambda answer: text_of_graph(answer.result.graph(), "html"),
    "svg": lambda answer: text_of_graph(answer.result.graph(), "svg"),
}
"""The formats of what is reached -> what writes it."""


def _part(node: AnswerNode) -> str:
    """Return the part of its dataset that a node is."""
    if node.kind == "version":
        return node.version or "before the first version that is known"
    return node.label


def _by_dataset(answer: LinkedNodes) -> list[list[AnswerNode]]:
    """Return the nodes of each dataset, closest first."""
    found: dict[tuple[str, ...], list[AnswerNode]] = {}
    for node in answer.all_nodes:
        of_dataset = (node.namespace, node.name)
        found.setdefault(of_dataset if node.dataset else (node.id,), []).append(node)
    return list(found.values())


def _arrows(answer: LinkedNodes) -> Iterator[Arrow]:
    """Yield an arrow for each pair of nodes; it is dashed if no event names a version of which it tells."""
    links: dict[tuple[AnswerNode, AnswerNode], list[AnswerLink]] = {}
    for link in answer.links:
        links.setdefault((link.source, link.target), []).append(link)
    for (source, target), same in links.items():
        kept, inferred = (all(getattr(link, word) for link in same) for word in ("kept", "inferred"))
        label = "kept" if kept else "version inferred" if inferred else ""
        yield Arrow(source.id, target.id, label, not inferred)
