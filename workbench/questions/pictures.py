"""
Answers by versions and by jobs as text that other programs draw: Mermaid (which GitHub draws in Markdown) and DOT.

All answers are there as CSV. Those by tables and by columns are drawn as graphs (`graph.pictures`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.pictures.diagrams import Arrow, Box, Picture, dot, mermaid
from openlineage_pyspark.workbench.pictures.plain import csv_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openlineage_pyspark.workbench.questions.reached import AnswerLink, AnswerNode, LinkedNodes


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


def table_of_csv(answer: LinkedNodes) -> str:
    """Return the edges of an answer as CSV with a header."""
    columns, rows = answer.table()
    return csv_of([columns, *rows])


PICTURE_FORMATS: dict[str, Callable[[Picture], str]] = {"dot": dot, "mermaid": mermaid}
"""The formats of a picture, by their names."""


def _part(node: AnswerNode) -> str:
    """Return what a node is of its dataset."""
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
