"""The graphs of several statements as one, and what is different between two graphs."""

from __future__ import annotations

import attrs
import jsonschema
from openlineage_pyspark.workbench.answer import answer_of_graph, schema
from openlineage_pyspark.workbench.model.change import changed_graph, difference
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    OperatorNode,
)
from openlineage_pyspark.workbench.model.joined import StatementGraph, join_statements
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.pictures.diagrams import mermaid, picture_of_graph
from support.lineage_paths import hows, path

JOBS = JobNode("", "a.sql:1"), JobNode("", "a.sql:5")
SOURCE, QUERY = DatasetNode("n", "s", "s"), DatasetNode("", "(query)", "(query)")


def statement(expression: str, data_type: str = "") -> Graph:
    """Return the graph of a query that makes x of s.a."""
    columns = ColumnNode(SOURCE.id, "a", data_type), ColumnNode(QUERY.id, "x")
    edge = Edge(columns[0].id, columns[1].id, (path("TRANSFORMATION", expression),))
    return Graph(
        (SOURCE, QUERY, *columns, OperatorNode("", 0, "Project")), (edge,), (Diagnostic("opaque-code", expression),)
    )


def test_each_statement_is_a_job_and_what_queries_give_is_told_apart() -> None:
    graph = join_statements(map(StatementGraph, JOBS, (statement("f(a)"), statement("g(a)", "int"))))

    first, second = (DatasetNode("", f"(query) {job.name}", f"(query) {job.name}") for job in JOBS)
    assert [node for node in graph.nodes if isinstance(node, DatasetNode)] == [SOURCE, first, second]
    assert ColumnNode(SOURCE.id, "a", "int") in graph.nodes
    assert [node.job for node in graph.nodes if isinstance(node, OperatorNode)] == [job.id for job in JOBS]
    assert [each.node for each in graph.diagnostics] == [job.id for job in JOBS]
    assert [(edge.source, edge.target, *hows(edge)) for edge in graph.edges if edge.job == JOBS[0].id] == [
        (SOURCE.id, JOBS[0].id, "READ"),
        (JOBS[0].id, first.id, "WRITE"),
        (ColumnNode(SOURCE.id, "a").id, ColumnNode(first.id, "x").id, "TRANSFORMATION"),
    ]
    jsonschema.validate(answer_of_graph(graph).to_dict(), schema(), cls=jsonschema.Draft202012Validator)


def test_a_statement_reads_and_writes_tables_from_which_no_edge_leads() -> None:
    target = DatasetNode("n", "t", "t")
    counted = Graph((SOURCE, target, ColumnNode(target.id, "n")), ())
    graph = join_statements(
        [
            StatementGraph(JOBS[0], counted, (SOURCE.id,), (target.id,)),
            StatementGraph(JOBS[1], Graph((QUERY,), ()), (), (QUERY.id,)),
        ]
    )

    assert [(edge.source, edge.target, *hows(edge)) for edge in graph.edges] == [
        (SOURCE.id, JOBS[0].id, "READ"),
        (JOBS[0].id, target.id, "WRITE"),
        (JOBS[1].id, DatasetNode("", f"(query) {JOBS[1].name}", "").id, "WRITE"),
    ]
    assert mermaid(picture_of_graph(graph)).count("-->") == 3


def test_the_difference_is_the_edges_that_came_went_or_changed() -> None:
    same = Edge(SOURCE.id, JOBS[0].id, job=JOBS[0].id)
    before, after = statement("f(a)"), statement("g(a)")
    kept = Graph((*before.nodes, JOBS[0]), (*before.edges, same))
    new = Graph((*after.nodes, JOBS[0]), (*after.edges, same))

    assert [change.sign for change in difference(kept, new)] == ["changed"]
    assert [change.sign for change in difference(Graph(new.nodes, (same,)), new)] == ["added"]
    assert [change.sign for change in difference(kept, Graph(new.nodes, (same,)))] == ["removed"]
    doubtful = tuple(
        Edge(edge.source, edge.target, [attrs.evolve(each, certainty="guessed") for each in edge.paths], edge.job)
        for edge in kept.edges
    )
    assert [change.sign for change in difference(kept, Graph(kept.nodes, doubtful))] == ["changed"]
    assert difference(kept, kept) == ()
    found = changed_graph(kept, new, difference(kept, new))
    assert [node for node in found.nodes if isinstance(node, DatasetNode)] == [SOURCE, QUERY]
    jsonschema.validate(answer_of_graph(found).to_dict(), schema(), cls=jsonschema.Draft202012Validator)
