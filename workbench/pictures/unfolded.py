"""
Unfold a graph: show the CTEs, views and subqueries on its paths, each with the columns through which paths pass.

Only pictures draw such a graph. As data it would contain less than the graph itself, whose paths are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import ColumnNode, Edge, OperatorNode, Path, column_id, united
from openlineage_pyspark.workbench.pictures.figure import ShownGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.workbench.model.graph import Graph, Node, Step

    _Relations = Mapping[tuple[str, str], OperatorNode]


def unfolded(graph: Graph) -> Graph:
    """
    Return a graph in which edges lead through the columns of the CTEs, views and subqueries on their paths.

    A column of one of these is a column of the operator that returns its rows. A path that passes through none of its
    columns, such as that of a filter inside, leads through the operator, which represents all rows. Edges without a
    known plan, such as those of most events, are unchanged.
    """
    relations = {(node.job, node.text): node for node in graph.nodes if isinstance(node, OperatorNode) and node.role}
    if not relations:
        return graph
    found: list[Edge] = []
    columns: dict[str, dict[str, None]] = {}
    for edge in graph.edges:
        if not edge.paths:
            found.append(edge)
        for path in edge.paths:
            passed = _passed(edge, path, relations)
            found += _edges(edge, path, passed, relations)
            for step in passed:
                if step.column:
                    columns.setdefault(relations[edge.job, step.operator].id, {})[step.column] = None
    edges = united(found)
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    nodes: list[Node] = [node for node in graph.nodes if not isinstance(node, OperatorNode) or node.id in ends]
    for relation in relations.values():
        used = columns.get(relation.id, {})
        if used or relation.id in ends:
            nodes += [] if relation.id in ends else [relation]
            nodes += _columns(relation, used)
    return ShownGraph(tuple(nodes), edges, graph.diagnostics, graph.time)


def _passed(edge: Edge, path: Path, relations: _Relations) -> list[Step]:
    """Return the steps of a path at relations; if it names none, the steps at operators that return their rows."""
    known = [step for step in path.steps if (edge.job, step.operator) in relations]
    return [step for step in known if step.relation] or known


def _edges(edge: Edge, path: Path, passed: list[Step], relations: _Relations) -> Iterator[Edge]:
    """Yield the edges that a path becomes: one, or several if it passes relations."""
    if not passed:
        yield Edge(edge.source, edge.target, (path,), edge.job, edge.run, edge.batch)
        return
    source, expression = edge.source, path.expression
    for step in passed:
        target = column_id(relations[edge.job, step.operator].id, step.column)
        kind, certainty = (path.kind, path.certainty) if step.kind is None else (step.kind, step.certainty)
        part = Path(kind, expression if step.kind is None else step.expression, certainty)
        yield Edge(source, target, (part,), edge.job, edge.run, edge.batch)
        source, expression = target, ""
    last = path.steps[-1]
    part = Path(path.kind, "", path.certainty)
    if last.kind is not None and not last.relation:
        part = Path(last.kind, last.expression, last.certainty)
    yield Edge(source, edge.target, (part,), edge.job, edge.run, edge.batch)


def _columns(relation: OperatorNode, used: dict[str, None]) -> Iterator[ColumnNode]:
    """Yield the columns through which paths pass, in their order. The other columns were not traced."""
    types = {column.name: column.data_type for column in relation.columns if column.name in used}
    for name in (*types, *(each for each in used if each not in types)):
        # A column without a name has the id of the operator.
        if name:
            yield ColumnNode(relation.id, name, types.get(name, ""))
