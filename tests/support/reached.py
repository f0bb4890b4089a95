"""What an answer reaches, by the names that people know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import DatasetNode

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.answer import Answer
    from openlineage_pyspark.workbench.model.reach import Reach


def ids_of(answer: Answer[Reach]) -> list[str]:
    """Return the ids of what is reached, nearest first: where edges end, in the direction of the answer."""
    found = answer.result
    ends = {edge.source if answer.question == "upstream" else edge.target for edge in found.graph.edges}
    return [node for node in found.depths if node in ends - {*found.start}]


def nodes_of(answer: Answer[Reach]) -> dict[str, int]:
    """Return the labels of what is reached with their distances, nearest first."""
    return {answer.result.label(node): answer.result.depths[node] for node in ids_of(answer)}


def datasets_of(answer: Answer[Reach]) -> set[str]:
    """Return the labels of the datasets that are reached, or of which a part is."""
    return {answer.result.dataset_name(node) for node in ids_of(answer)}


def pairs_of(answer: Answer[Reach]) -> list[tuple[str, str]]:
    """Return the labels of both ends of each edge."""
    found = answer.result
    return [(found.label(edge.source), found.label(edge.target)) for edge in found.graph.edges]


def start_of(answer: Answer[Reach]) -> str:
    """Return the label of what was asked for."""
    [start] = answer.result.start
    return answer.result.label(start)


def columns_of(answer: Answer[Reach]) -> dict[tuple[str, str], int]:
    """Return the labels of the datasets that are reached, each with the column, and their distances."""
    found = answer.result
    return {(found.dataset_name(node), found.column(node)): found.depths[node] for node in ids_of(answer)}


def places_of(answer: Answer[Reach]) -> dict[tuple[str, str], int]:
    """Return the own names of the datasets that are reached, each with the column, and their distances."""
    found = answer.result
    owners = {node: found.owner(node) for node in ids_of(answer)}
    return {
        (owner.name, found.column(node)): found.depths[node]
        for node, owner in owners.items()
        if isinstance(owner, DatasetNode)
    }


def versions_of(answer: Answer[Reach], dataset: str) -> set[str]:
    """Return the versions of a dataset that are reached."""
    found = answer.result
    return {found.version(node) for node in ids_of(answer) if found.dataset_name(node) == dataset}
