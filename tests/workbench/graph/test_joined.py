"""The graphs of several statements as one, and what is different between two graphs."""

from __future__ import annotations

import attrs
import jsonschema
from openlineage_pyspark.workbench.model.difference import difference
from openlineage_pyspark.workbench.model.graph import (
    STATED,
    ColumnNode,
    DatasetNode,
    EdgeKind,
    Graph,
    GraphEdge,
    GraphWarning,
    JobNode,
    OperatorNode,
    in_part,
    schema,
    sure,
)
from openlineage_pyspark.workbench.model.joined import StatementGraph, join_statements
from openlineage_pyspark.workbench.pictures.diagrams import mermaid, picture_of_graph

JOBS = JobNode("", "a.sql:1"), JobNode("", "a.sql:5")
SOURCE, QUERY = DatasetNode("n", "s", "s"), DatasetNode("", "(query)", "(query)")


def statement(expression: str, data_type: str = "") -> Graph:
    """Return the graph of a query that makes x of s.a."""
    columns = ColumnNode(SOURCE.id, "a", data_type), ColumnNode(QUERY.id, "x")
    edge = GraphEdge(columns[0].id, columns[1].id, EdgeKind.DERIVED, sure("exact"), expression=expression)
    return Graph((SOURCE, QUERY, *columns, OperatorNode("", 0, "Project")), (edge,), (GraphWarning(expression),))


def test_each_statement_is_a_job_and_what_queries_give_is_told_apart() -> None:
    graph = join_statements(map(StatementGraph, JOBS, (statement("f(a)"), statement("g(a)", "int"))))

    first, second = (DatasetNode("", f"(query) {job.name}", f"(query) {job.name}") for job in JOBS)
    assert [node for node in graph.nodes if isinstance(node, DatasetNode)] == [SOURCE, first, second]
    assert ColumnNode(SOURCE.id, "a", "int") in graph.nodes
    assert [node.job for node in graph.nodes if isinstance(node, OperatorNode)] == [job.id for job in JOBS]
    assert [warning.job for warning in graph.warnings] == [job.id for job in JOBS]
    assert [(edge.source, edge.target, edge.kind) for edge in graph.edges if edge.job == JOBS[0].id] == [
        (SOURCE.id, JOBS[0].id, EdgeKind.READ),
        (JOBS[0].id, first.id, EdgeKind.WRITE),
        (ColumnNode(SOURCE.id, "a").id, ColumnNode(first.id, "x").id, EdgeKind.DERIVED),
    ]
    jsonschema.validate(graph.to_dict(), schema(), cls=jsonschema.Draft202012Validator)


def test_a_statement_reads_and_writes_tables_from_which_no_edge_leads() -> None:
    target = DatasetNode("n", "t", "t")
    counted = Graph((SOURCE, target, ColumnNode(target.id, "n")), ())
    graph = join_statements(
        [
            StatementGraph(JOBS[0], counted, (SOURCE.id,), (target.id,)),
            StatementGraph(JOBS[1], Graph((QUERY,), ()), (), (QUERY.id,)),
        ]
    )

    assert [(edge.source, edge.target, edge.kind) for edge in graph.edges] == [
        (SOURCE.id, JOBS[0].id, EdgeKind.READ),
        (JOBS[0].id, target.id, EdgeKind.WRITE),
        (JOBS[1].id, DatasetNode("", f"(query) {JOBS[1].name}", "").id, EdgeKind.WRITE),
    ]
    assert mermaid(picture_of_graph(graph)).count("-->") == 3


def test_the_difference_is_the_edges_that_came_went_or_changed() -> None:
    same = GraphEdge(SOURCE.id, JOBS[0].id, EdgeKind.READ, STATED, job=JOBS[0].id)
    before, after = statement("f(a)"), statement("g(a)")
    kept = Graph((*before.nodes, JOBS[0]), (*before.edges, same))
    new = Graph((*after.nodes, JOBS[0]), (*after.edges, same))

    assert [edge.change for edge in difference(kept, new).edges] == ["changed"]
    assert [edge.change for edge in difference(Graph(new.nodes, (same,)), new).edges] == ["came"]
    assert [edge.change for edge in difference(kept, Graph(new.nodes, (same,))).edges] == ["went"]
    doubtful = tuple(attrs.evolve(edge, confidence=in_part("Their")) for edge in kept.edges)
    assert [edge.change for edge in difference(kept, Graph(kept.nodes, doubtful)).edges] == ["changed"] * len(doubtful)
    assert difference(kept, kept) == Graph((), ())
    found = difference(kept, new)
    assert [node for node in found.nodes if isinstance(node, DatasetNode)] == [SOURCE, QUERY]
    jsonschema.validate(found.to_dict(), schema(), cls=jsonschema.Draft202012Validator)
