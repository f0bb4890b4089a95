"""
Format the answer of a traversal as text: a tree, a table, CSV, and pictures.

Mermaid, which GitHub draws in Markdown, and DOT show versions and jobs as requested; all else is drawn as a
graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, RunNode, VersionNode, through_jobs
from openlineage_pyspark.workbench.model.short_names import shortest
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.pictures.diagrams import Arrow, Box, Picture, dot, mermaid, picture_of_graph
from openlineage_pyspark.workbench.pictures.figure import FigureTable, figure
from openlineage_pyspark.workbench.pictures.plain import csv_of
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.pictures.words import hows
from openlineage_pyspark.workbench.questions.reach.reach_tree import nothing_of, outline_of_reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openlineage_pyspark.workbench.answer import Answer, Writer
    from openlineage_pyspark.workbench.model.graph import Edge, Node
    from openlineage_pyspark.workbench.model.reach import Reach


def table_of_reach(answer: Answer[Reach]) -> TextTable:
    """Return the edges of an answer as a table for people."""
    found = answer.result
    kinds = {type(node) for node in found.ends}
    how = next((how for kind, how in _HOWS.items() if kind in kinds), None)
    jobs = shortest(found.job(edge) for edge in found.graph.edges)

    def name(end: str) -> str:
        is_whole = ColumnNode in kinds and isinstance(found.nodes[end], DatasetNode)
        return f"{found.label(end)} (every row)" if is_whole else found.label(end)

    rows = [
        (
            *(str(found.depth(edge)), name(edge.source), name(edge.target)),
            *((how(edge),) if how else ()),
            jobs[found.job(edge)],
        )
        for edge in found.graph.edges
    ]
    # A version needs both the dataset and the id.
    names = [TableColumn(title, 28, cut_start=VersionNode not in kinds) for title in ("from", "to")]
    hows = [TableColumn("how", 12, cut_end=True)] if how else []
    columns = [TableColumn("depth", right=True), *names, *hows, TableColumn("job", 12)]
    return TextTable(columns, rows, nothing_of(answer))


def _how_of_column(edge: Edge) -> str:
    return "; ".join(hows(edge.paths))


def _how_of_version(edge: Edge) -> str:
    if edge.kept:
        return "keeps its rows"
    by = f"run {edge.run_id}" if edge.batch is None else f"run {edge.run_id}, batch {edge.batch}"
    return f"{by}, version inferred" if edge.is_inferred else by


_HOWS: dict[type[Node], Callable[[Edge], str]] = {VersionNode: _how_of_version, ColumnNode: _how_of_column}


def figure_of_reach(answer: Answer[Reach]) -> str:
    """Return the graph and the table of edges, for a notebook."""
    found = answer.result
    columns, rows = answer.table()
    filled = [at for at in range(len(columns)) if any(row[at] not in (None, "", "exact") for row in rows)]
    cells = [["" if row[at] is None else str(row[at]) for at in filled] for row in rows]
    headings = [columns[at].replace("_", " ") for at in filled]
    about = f"{answer.question} of {found.label(found.start[0])}"
    caption = "from one to the other" if answer.question == "between" else about
    return figure(
        through_jobs(found.graph),
        [FigureTable(headings, cells, caption)] if rows else [],
        around=found.start[0],
        notes=() if rows else (nothing_of(answer),),
    )


def csv_of_reach(answer: Answer[Reach]) -> str:
    """Return the edges of an answer as CSV with a header."""
    columns, rows = answer.table()
    return csv_of([columns, *rows])


def picture_of_reach(answer: Answer[Reach]) -> Picture:
    """
    Return the picture of an answer: a graph, unless it is an answer by versions or by jobs.

    A picture by versions or by jobs has a box for each dataset with its versions, or for each job, and one arrow a
    pair.
    """
    found = answer.result
    if answer.arguments.get("by") != "job" and not any(isinstance(node, (VersionNode, RunNode)) for node in found.ends):
        return picture_of_graph(through_jobs(found.graph))
    boxes = [
        Box(found.dataset_name(nodes[0].id), tuple((node.id, _part(found, node)) for node in nodes))
        if isinstance(nodes[0], VersionNode) or len(nodes) > 1
        else Box(found.label(nodes[0].id), key=nodes[0].id)
        for nodes in _by_dataset(found)
    ]
    return Picture(tuple(boxes), tuple(_arrows(found.graph.edges)))


REACH_WRITERS: dict[str, Writer] = {
    "text": outline_of_reach,
    "table": table_of_reach,
    "csv": csv_of_reach,
    "markdown": lambda answer: table_of_reach(answer).to_markdown(),
    "mermaid": lambda answer: mermaid(picture_of_reach(answer)),
    "dot": lambda answer: dot(picture_of_reach(answer)),
    "html": lambda answer: text_of_graph(through_jobs(answer.result.graph), "html"),
    "svg": lambda answer: text_of_graph(through_jobs(answer.result.graph), "svg"),
}
"""The formats of the answer of a traversal -> what writes it."""


def _part(found: Reach, node: Node) -> str:
    """Return the part of its dataset that a node is."""
    if isinstance(node, VersionNode):
        return node.version or "before the first version that is known"
    return found.label(node.id)


def _by_dataset(found: Reach) -> list[list[Node]]:
    """Return the nodes of each dataset, closest first."""
    parts: dict[str, list[Node]] = {}
    for node in found.ends:
        parts.setdefault(node.id if isinstance(node, RunNode) else found.owner(node.id).id, []).append(node)
    return list(parts.values())


def _arrows(edges: Iterable[Edge]) -> Iterator[Arrow]:
    """Yield an arrow for each pair of nodes; it is dashed if no event names the version."""
    pairs: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        pairs.setdefault((edge.source, edge.target), []).append(edge)
    for (source, target), same in pairs.items():
        inferred = all(edge.is_inferred for edge in same)
        label = "kept" if all(edge.kept for edge in same) else "version inferred" if inferred else ""
        yield Arrow(source, target, label, not inferred)
