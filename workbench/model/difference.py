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
    or more sure.

    Args:
        before: the earlier graph.
        after: the later graph.
    """
    old, new = ({_key(edge): edge for edge in graph.edges} for graph in (before, after))
    edges = [attrs.evolve(edge, change="went") for key, edge in old.items() if key not in new]
    for key, edge in new.items():
        if key not in old:
            edges.append(attrs.evolve(edge, change="came"))
        elif _told(old[key]) != _told(edge):
            edges.append(attrs.evolve(edge, change="changed"))
    nodes: dict[str, Node] = {node.id: node for graph in (before, after) for node in graph.nodes}
    ends = {end for edge in edges for end in (edge.source, edge.target, edge.job)}
    ends |= {node.dataset for node in nodes.values() if isinstance(node, ColumnNode) and node.id in ends}
    return Graph(tuple(node for id_, node in nodes.items() if id_ in ends), tuple(edges), (), after.time)


def _told(edge: GraphEdge) -> tuple[str, float]:
    return edge.expression, edge.confidence.value


def _key(edge: GraphEdge) -> _Key:
    return edge.source, edge.target, edge.job, edge.kind, edge.type, edge.subtype
