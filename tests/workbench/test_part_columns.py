"""Through which columns of CTEs, views and subqueries an edge comes, from recorded plans."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.workbench.model.graph import Graph, OperatorNode
from openlineage_pyspark.workbench.report import lineage_of
from support import recorded_plans


def graph_of(version: str, subject: str, case: str) -> Graph:
    plan = decode_plan(recorded_plans.read(version, subject)[case])
    return lineage_of(lineage_of_plan(plan, session_settings_of(plan, None), paths=True), plan).graph()


def passed(graph: Graph) -> dict[tuple[str, str, str], list[str]]:
    """Return the columns through which each edge comes, by the names of its ends and its kind."""
    labels = {node.text: node.label or node.name for node in graph.nodes if isinstance(node, OperatorNode)}
    return {
        (edge.source.rpartition("|")[2], edge.target.rpartition("|")[2], str(path.kind)): [
            f"{labels[each.operator]}.{each.column}" for each in path.steps if each.column
        ]
        for edge in graph.edges
        for path in edge.paths
    }


@pytest.mark.parametrize("version", recorded_plans.versions())
def test_an_edge_comes_through_the_column_of_the_cte_that_computes_its_value(version: str) -> None:
    assert passed(graph_of(version, "graph", "cte-grouped")) == {
        ("user_id", "user_id", "IDENTITY"): ["x.user_id"],
        ("amount", "total_amt", "AGGREGATION"): ["x.amount"],
        ("ts", "max_ts", "AGGREGATION"): ["x.ts_u64"],
        ("user_id", "(query)", "GROUP_BY"): ["x.user_id"],
    }


def test_a_cte_knows_the_columns_of_its_rows_and_their_types() -> None:
    graph = graph_of("4.3", "graph", "cte-grouped")
    (cte,) = (node for node in graph.nodes if isinstance(node, OperatorNode) and node.role)

    assert [(each.name, each.data_type) for each in cte.columns] == [
        ("user_id", "bigint"),
        ("amount", "decimal(10,2)"),
        ("ts_u64", "bigint"),
    ]


def test_a_filter_inside_a_subquery_comes_through_none_of_its_columns() -> None:
    found = passed(graph_of("4.3", "subquery", "scalar-in-select"))

    assert {key: columns for key, columns in found.items() if key[1] == "top"} == {
        ("budget", "top", "AGGREGATION"): ["Aggregate.max(budget)"],
        ("city", "top", "FILTER"): [],
    }
