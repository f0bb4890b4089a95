"""An answer of the store as a graph."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from openlineage_pyspark.graph.figure import ShownGraph
from openlineage_pyspark.graph.model import (
    NOT_SAID_HOW,
    STATED,
    ColumnNode,
    Confidence,
    DatasetNode,
    GraphEdge,
    JobNode,
    Kind,
    column_id,
    kind_of,
    node_id,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.graph import model
    from openlineage_pyspark.graph.model import Graph
    from openlineage_pyspark.store.reached import Answer, Link, Node

_INFERRED = Confidence(
    0.7, "No event names the version that was read: this one was current when the run began to read."
)


def graph_of(answer: Answer) -> Graph:
    """
    Return an answer as a graph.

    A version stands as a column of its dataset, and a run as its job.

    Args:
        answer: the answer.
    """
    nodes: dict[str, model.Node] = {}
    for node in answer.all_nodes:
        for made in _nodes(node):
            nodes.setdefault(made.id, made)
    edges: dict[GraphEdge, None] = {}
    for link in answer.links:
        if link.job:
            job = JobNode(link.job_namespace, link.job)
            nodes.setdefault(job.id, job)
        edges |= dict.fromkeys(_edges(link))
    return ShownGraph(tuple(nodes.values()), tuple(edges))


def id_of(node: Node) -> str:
    """Return the id that a node of an answer has in its graph."""
    if node.kind in ("job", "run"):
        return node_id("job", node.namespace, node.name)
    return column_id(node_id("dataset", node.namespace, node.name), _part(node))


def _part(node: Node) -> str:
    """Return what a node is of its dataset; empty for all of it."""
    if node.kind == "version":
        return f"@{node.version}" if node.version else "before the first version"
    return node.column


def _nodes(node: Node) -> Iterator[model.Node]:
    if node.kind in ("job", "run"):
        yield JobNode(node.namespace, node.name)
        return
    dataset = DatasetNode(node.namespace, node.name, node.dataset)
    yield dataset
    if _part(node):
        yield ColumnNode(dataset.id, _part(node))


def _edges(link: Link) -> Iterator[GraphEdge]:
    source, target = id_of(link.source), id_of(link.target)
    job = node_id("job", link.job_namespace, link.job) if link.job else ""
    run = node_id("run", link.last_run) if link.last_run else ""
    confidence = _INFERRED if link.inferred else STATED
    if link.kept:
        yield GraphEdge(source, target, Kind.DIRECT, confidence, job=job, last_run=run)
    elif link.kinds:
        for subtype, text in zip(link.kinds, link.expressions, strict=True):
            type_ = type_of(subtype)
            kind = kind_of(type_, subtype)
            sure = NOT_SAID_HOW if kind is Kind.UNKNOWN else confidence
            yield GraphEdge(source, target, kind, sure, type_, subtype, expression=text, job=job, last_run=run)
    else:
        ends = [(source, False), (target, link.target.kind in ("job", "run"))]
        if job not in ("", source, target):
            ends.insert(1, (job, True))
        for (begin, _), (end, is_job) in pairwise(ends):
            yield GraphEdge(begin, end, Kind.READ if is_job else Kind.WRITE, confidence, job=job, last_run=run)
