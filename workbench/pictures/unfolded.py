"""
Unfold a graph: the CTEs, views and subqueries that its edges pass stand between, each with the columns it is passed by.

Pictures draw such a graph. As data it would say less than the graph itself, whose edges know their whole way.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import ColumnNode, GraphEdge, Leg, OperatorNode, column_id
from openlineage_pyspark.workbench.pictures.figure import ShownGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.workbench.model.graph import Graph, Node, Passage

    _Parts = Mapping[tuple[str, str], OperatorNode]


def unfolded(graph: Graph) -> Graph:
    """
    Return a graph in which edges lead from column to column of the CTEs, views and subqueries that they pass.

    A column of one of these is a column of the operator that gives its rows. An edge that passes one by none of its
    columns, as that of a filter inside, leads through the operator, which stands for all rows there. What a plan is not
    known of, as of most events, stays as it is.

    Args:
        graph: the graph.
    """
    parts = {(node.job, node.text): node for node in graph.nodes if isinstance(node, OperatorNode) and node.role}
    if not parts:
        return graph
    edges: dict[GraphEdge, None] = {}
    columns: dict[str, dict[str, None]] = {}
    for edge in graph.edges:
        legs = _legs(edge, parts)
        if not legs:
            edges[edge] = None
        for leg in legs:
            edges |= dict.fromkeys(_leg_edges(edge, leg, parts))
            for place in (leg.source, leg.target):
                if place is not None and (edge.job, place.operator) in parts:
                    columns.setdefault(parts[edge.job, place.operator].id, {})[place.column] = None
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    nodes: list[Node] = [node for node in graph.nodes if not isinstance(node, OperatorNode) or node.id in ends]
    for part in parts.values():
        used = columns.get(part.id, {})
        if used or part.id in ends:
            nodes += [] if part.id in ends else [part]
            nodes += _columns(part, used)
    return ShownGraph(tuple(nodes), tuple(edges), graph.warnings, graph.time)


def _legs(edge: GraphEdge, parts: _Parts) -> tuple[Leg, ...]:
    """Return the parts of the way of an edge; if they are not known, those between what its operators name, if any."""
    if edge.legs:
        return edge.legs
    passing = tuple(operator for operator in dict.fromkeys(edge.operator_path) if (edge.job, operator) in parts)
    whole = Leg(None, None, edge.kind, edge.confidence, edge.masking, edge.expression, passing)
    return (whole,) if passing else ()


def _leg_edges(edge: GraphEdge, leg: Leg, parts: _Parts) -> Iterator[GraphEdge]:
    """Yield the edges of a part of the way of an edge: one, or several if it passes operators."""
    between = [parts[edge.job, operator].id for operator in leg.passing if (edge.job, operator) in parts]
    ends = (_end(edge, leg.source, edge.source, parts), *between, _end(edge, leg.target, edge.target, parts))
    expression = leg.expression
    for source, target in pairwise(ends):
        yield GraphEdge(
            source,
            target,
            leg.kind,
            leg.confidence,
            masking=leg.masking,
            expression=expression,
            job=edge.job,
            last_run=edge.last_run,
            change=edge.change,
        )
        expression = ""


def _end(edge: GraphEdge, place: Passage | None, end: str, parts: _Parts) -> str:
    part = parts.get((edge.job, place.operator)) if place is not None else None
    return end if place is None or part is None else column_id(part.id, place.column)


def _columns(part: OperatorNode, used: dict[str, None]) -> Iterator[ColumnNode]:
    """Yield the columns by which something passes, in their order. The others were not followed."""
    types = {column.name: column.data_type for column in part.columns if column.name in used}
    for name in (*types, *(each for each in used if each not in types)):
        # Without a name it has the id of the operator.
        if name:
            yield ColumnNode(part.id, name, types.get(name, ""))
