"""Answers as text that other programs draw or read: Mermaid (which GitHub draws in Markdown), DOT and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.graph.pictures import Arrow, Box, Picture, dot, mermaid
from openlineage_pyspark.graph.plain import csv_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openlineage_pyspark.store.questions.reached import Answer, AnswerNode


def picture_of_answer(answer: Answer) -> Picture:
    """Return the picture of an answer: a box for each dataset with its columns or versions, an arrow for each edge."""
    boxes = [
        Box(nodes[0].dataset, tuple((node.id, _part(node)) for node in nodes))
        if nodes[0].kind in ("column", "version") or len(nodes) > 1
        else Box(nodes[0].label, key=nodes[0].id)
        for nodes in _by_dataset(answer)
    ]
    return Picture(tuple(boxes), tuple(_arrows(answer)))


def table_of_csv(answer: Answer) -> str:
    """Return the edges of an answer as CSV with a header."""
    columns, rows = answer.table()
    return csv_of([columns, *rows])


ANSWER_FORMATS: dict[str, Callable[[Answer], str]] = {
    "csv": table_of_csv,
    "dot": lambda answer: dot(picture_of_answer(answer)),
    "mermaid": lambda answer: mermaid(picture_of_answer(answer)),
}
"""The formats of an answer besides a table and JSON, by their names."""


def _part(node: AnswerNode) -> str:
    """Return what a node is of its dataset."""
    if node.kind == "version":
        return node.version or "before the first version that is known"
    return node.label if node.kind in ("job", "run") else node.column or "every row"


def _by_dataset(answer: Answer) -> list[list[AnswerNode]]:
    """Return the nodes of each dataset, closest first."""
    found: dict[tuple[str, ...], list[AnswerNode]] = {}
    for node in answer.all_nodes:
        of_dataset = (node.namespace, node.name)
        found.setdefault(of_dataset if node.dataset else (node.id,), []).append(node)
    return list(found.values())


def _arrows(answer: Answer) -> Iterator[Arrow]:
    """Yield an arrow for each pair of nodes, with the kinds of all edges between them."""
    labels: dict[tuple[AnswerNode, AnswerNode], dict[str, None]] = {}
    for link in answer.links:
        kinds = ("kept",) if link.kept else link.kinds
        labels.setdefault((link.source, link.target), {}).update(dict.fromkeys(kinds))
    for (source, target), words in labels.items():
        yield Arrow(source.id, target.id, ", ".join(filter(None, words)))
