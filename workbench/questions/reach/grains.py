"""Aggregate an answer by tables or by jobs."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.graph import DatasetNode, Edge, JobNode, last_of
from openlineage_pyspark.workbench.model.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import Node
    from openlineage_pyspark.workbench.model.kinds import Certainty, NodeId

_NO_JOB = JobNode("", "")


class Grain(enum.Enum):
    """The unit of an answer's nodes."""

    TABLE = "table"
    COLUMN = "column"
    SNAPSHOT = "snapshot"
    JOB = "job"


def coarser(found: Reach, grain: Grain, *, is_down: bool) -> Reach:
    """
    Return an answer aggregated by tables or by jobs.

    Args:
        found: the answer by columns, by versions, or by tables.
        grain: TABLE or JOB.
        is_down: whether it is downstream of the start.
    """
    made = _by_table(found)
    return (_by_job(made, is_down=is_down) if grain is Grain.JOB else made).nearest_first()


def _by_table(found: Reach) -> Reach:
    tables = {end.id: _table(found, end) for end in found.ends}
    depths: dict[NodeId, int] = {}
    for node, depth in sorted(found.depths.items(), key=lambda each: each[1]):
        depths.setdefault(tables[node], depth)
    same: dict[tuple[NodeId, NodeId, NodeId], list[Edge]] = {}
    for edge in found.graph.edges:
        if not edge.kept:
            same.setdefault((tables[edge.source], tables[edge.target], edge.job), []).append(edge)
    edges = []
    for (source, target, job), each in same.items():
        last = last_of(each)
        certainty: Certainty = "guessed" if all(edge.is_inferred for edge in each) else "exact"
        edges.append(Edge(source, target, job=job, run=last.run, certainty=certainty, seen=last.seen))
    return _evolved(found, found.graph.nodes, edges, tables[found.start[0]], depths)


def _by_job(found: Reach, *, is_down: bool) -> Reach:
    """Return the jobs: one comes after another if it reads what that one writes."""
    [start] = found.start
    is_table = isinstance(found.nodes[start], DatasetNode)
    depths: dict[NodeId, int] = {}
    following: dict[NodeId, list[Edge]] = {}
    for edge in found.graph.edges:
        job, near = edge.job or _NO_JOB.id, edge.source if is_down else edge.target
        # If the user named a job, its own datasets already have the depth 1.
        depth = found.depths[near] + int(is_table)
        depths[job] = min(depth, depths.get(job, depth))
        following.setdefault(edge.source, []).append(edge)
    depths[start] = 0
    made: dict[tuple[NodeId, NodeId], Edge] = {}

    def add(source: NodeId, target: NodeId, edge: Edge) -> None:
        if source != target:
            made.setdefault((source, target), Edge(source, target, job=edge.job, run=edge.run))

    for edge in found.graph.edges:
        job, near = edge.job or _NO_JOB.id, edge.source if is_down else edge.target
        if near == start and not isinstance(found.nodes[start], JobNode):
            add(*((start, job) if is_down else (job, start)), edge)
        for each in following.get(edge.target, ()):
            add(job, each.job or _NO_JOB.id, each)
    return _evolved(found, (*found.graph.nodes, _NO_JOB), made.values(), start, depths)


def _table(found: Reach, node: Node) -> NodeId:
    """Return the dataset that a node is or belongs to; a job or a run itself."""
    owner = found.owner(node.id)
    return owner.id if isinstance(owner, DatasetNode) else node.id


def _evolved(
    found: Reach, nodes: Iterable[Node], edges: Iterable[Edge], start: NodeId, depths: dict[NodeId, int]
) -> Reach:
    return Reach(attrs.evolve(found.graph, nodes=nodes, edges=edges), (start,), depths)
