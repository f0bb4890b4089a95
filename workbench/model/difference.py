"""What is different between two graphs, as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.graph import ColumnNode, EdgeKind, Graph

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import GraphEdge, Node

_Key = tuple[str, str, str, EdgeKind, str, str]


def difference(before: Graph, after: Graph) -> Graph:
    """
    Return the edges that came, went or changed, with the nodes at their ends.

    An edge between the same two nodes, of the same job and kind, has changed if it has another expression, or is less
    or more sure. Of several such edges, each that has no equal has changed, as far as both graphs have one.

    Args:
        before: the earlier graph.
        after: the later graph.
    """
    old, new = _by_key(before), _by_key(after)
    went: list[GraphEdge] = []
    edges: list[GraphEdge] = []
    for key in dict.fromkeys((*old, *new)):
        here, there = old.get(key, {}), new.get(key, {})
        lost = [edge for told, edge in here.items() if told not in there]
        found = [edge for told, edge in there.items() if told not in here]
        edges += [attrs.evolve(edge, change="changed") for edge in found[: len(lost)]]
        edges += [attrs.evolve(edge, change="came") for edge in found[len(lost) :]]
        went += [attrs.evolve(edge, change="went") for edge in lost[len(found) :]]
    edges = went + edges
    nodes: dict[str, Node] = {node.id: node for graph in (before, after) for node in graph.nodes}
    ends = {end for edge in edges for end in (edge.source, edge.target, edge.job)}
    ends |= {node.dataset for node in nodes.values() if isinstance(node, ColumnNode) and node.id in ends}
    return Graph(tuple(node for id_, node in nodes.items() if id_ in ends), tuple(edges), (), after.time)


def _by_key(graph: Graph) -> dict[_Key, dict[tuple[str, float, bool], GraphEdge]]:
    found: dict[_Key, dict[tuple[str, float, bool], GraphEdge]] = {}
    for edge in graph.edges:
        found.setdefault(_key(edge), {})[_told(edge)] = edge
    return found


def _told(edge: GraphEdge) -> tuple[str, float, bool]:
    return edge.expression, edge.confidence.value, edge.masking


def _key(edge: GraphEdge) -> _Key:
    return edge.source, edge.target, edge.job, edge.kind, edge.type, edge.subtype
