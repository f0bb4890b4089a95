"""Join the graphs of several statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Edge, Graph, OperatorNode, united

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import JobNode, Node
    from openlineage_pyspark.workbench.model.kinds import Diagnostic

_NO_NAMESPACE = ""


@attrs.frozen
class StatementGraph:
    """
    A statement and its graph.

    Args:
        job: the statement as a job.
        graph: its graph, which has no jobs.
        reads: the ids of the datasets that it reads, including those from which no edge leads, as in `count(*)`.
        writes: the ids of the datasets that it writes.
    """

    job: JobNode
    graph: Graph
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def join_statements(statements: Iterable[StatementGraph]) -> Graph:
    """Return the graphs of statements as one, in which each statement is a job."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    diagnostics: list[Diagnostic] = []
    for statement in statements:
        own = _of_job(statement)
        for node in own.nodes:
            known = nodes.get(node.id)
            if known is None or (isinstance(known, ColumnNode) and not known.data_type):
                nodes[node.id] = node
        edges += own.edges
        diagnostics += own.diagnostics
    return Graph(tuple(nodes.values()), united(edges), tuple(diagnostics))


def _of_job(statement: StatementGraph) -> Graph:
    """Return the graph of a statement with the statement as its job. The result of a query is named after the job."""
    job, graph = statement.job, statement.graph
    renamed: dict[str, str] = {}
    nodes: list[Node] = [job]
    for node in graph.nodes:
        made: Node = node
        if isinstance(node, DatasetNode) and node.namespace == _NO_NAMESPACE:
            made = attrs.evolve(node, name=f"{node.name} {job.name}", label=f"{node.label} {job.name}")
        elif isinstance(node, ColumnNode) and node.dataset in renamed:
            made = attrs.evolve(node, dataset=renamed[node.dataset])
        elif isinstance(node, OperatorNode):
            made = attrs.evolve(node, job=job.id)
        renamed[node.id] = made.id
        nodes.append(made)
    edges = [
        attrs.evolve(edge, source=renamed[edge.source], target=renamed[edge.target], job=job.id) for edge in graph.edges
    ]
    owner = {node.id: node.dataset for node in nodes if isinstance(node, ColumnNode)}
    reads = dict.fromkeys([renamed[each] for each in statement.reads])
    reads |= dict.fromkeys(owner.get(edge.source, edge.source) for edge in edges)
    writes = dict.fromkeys([renamed[each] for each in statement.writes])
    writes |= dict.fromkeys(owner.get(edge.target, edge.target) for edge in edges)
    flows = [
        *(Edge(each, job.id, job=job.id) for each in reads),
        *(Edge(job.id, each, job=job.id) for each in writes),
    ]
    diagnostics = (attrs.evolve(each, node=job.id) for each in graph.diagnostics)
    return Graph(tuple(nodes), (*flows, *edges), tuple(diagnostics))
