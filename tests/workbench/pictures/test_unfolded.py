"""Graphs whose edges lead through the columns of CTEs, views and subqueries, from recorded plans."""

from __future__ import annotations

from collections import deque

import pytest
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Edge, Graph, JobNode, OperatorNode, Step
from openlineage_pyspark.workbench.pictures.figure import figure
from openlineage_pyspark.workbench.pictures.unfolded import unfolded
from openlineage_pyspark.workbench.report import Lineage, lineage_of
from support import recorded_plans
from support.lineage_paths import path


def asked(subject: str, case: str) -> Lineage:
    plan = decode_plan(recorded_plans.read("4.3", subject)[case])
    return lineage_of(lineage_of_plan(plan, session_settings_of(plan, None), paths=True), plan)


def titles(graph: Graph) -> dict[str, str]:
    """Return the names of all nodes, by their ids."""
    boxes = {node.id: node.title for node in graph.nodes if isinstance(node, OperatorNode)}
    boxes |= {node.id: node.label for node in graph.nodes if isinstance(node, DatasetNode)}
    boxes |= {node.id: node.name for node in graph.nodes if isinstance(node, JobNode)}
    columns = [node for node in graph.nodes if isinstance(node, ColumnNode)]
    return boxes | {node.id: f"{boxes[node.dataset]}.{node.name}" for node in columns}


def told(graph: Graph) -> list[tuple[str, str, str, str, str]]:
    """Return the edges with the names of their ends, the kind, the expression and the certainty."""
    names = titles(graph)
    return [
        (names[each.source], names[each.target], str(path.kind), path.expression, path.certainty)
        for each in graph.edges
        for path in each.paths
    ]


def pairs(graph: Graph, ends: set[str]) -> set[tuple[str, str]]:
    """Return which of some nodes are made from which others of them, with none of them between."""
    following: dict[str, set[str]] = {}
    for edge in graph.edges:
        following.setdefault(edge.source, set()).add(edge.target)
    found: set[tuple[str, str]] = set()
    for start in ends:
        waiting, seen = deque(following.get(start, ())), set[str]()
        while waiting:
            at = waiting.popleft()
            if at in ends:
                found.add((start, at))
            elif at not in seen:
                seen.add(at)
                waiting += following.get(at, ())
    return found


def test_each_part_of_a_way_has_its_own_kind_expression_and_certainty() -> None:
    assert told(asked("graph", "cte-grouped-function").graph(unfold=True)) == [
        ("ods.orders.user_id", "CTE x.user_id", "IDENTITY", "", "exact"),
        ("CTE x.user_id", "(query).user_id", "IDENTITY", "", "exact"),
        ("ods.orders.amount", "CTE x.amount", "IDENTITY", "", "exact"),
        ("CTE x.amount", "(query).total_amt", "AGGREGATION", "sum(x.amount)", "exact"),
        ("ods.orders.ts", "CTE x.ts_u64", "TRANSFORMATION", "toUInt64(orders.ts)", "opaque"),
        ("CTE x.ts_u64", "(query).max_ts", "AGGREGATION", "max(x.ts_u64)", "exact"),
        ("CTE x.user_id", "(query)", "GROUP_BY", "", "exact"),
    ]


def test_a_filter_inside_a_subquery_leads_through_all_of_its_rows() -> None:
    assert told(asked("subquery", "scalar-in-select").graph(unfold=True)) == [
        ("default.emp.name", "(query).name", "IDENTITY", "", "exact"),
        ("default.dept.budget", "Subquery Aggregate#3.max(budget)", "AGGREGATION", "max(dept.budget)", "exact"),
        ("Subquery Aggregate#3.max(budget)", "(query).top", "IDENTITY", "", "exact"),
        ("default.dept.city", "Subquery Aggregate#3", "FILTER", "(dept.city = 'x')", "exact"),
        ("Subquery Aggregate#3", "(query).top", "FILTER", "", "exact"),
    ]


def test_a_view_that_is_read_twice_stands_twice() -> None:
    names = titles(asked("cte", "view-self-join").graph(unfold=True)).values()

    assert [name for name in names if name.startswith("View")].count("View default.people") == 2


@pytest.mark.parametrize("subject", ["cte", "graph", "subquery"])
def test_no_way_is_lost_and_none_is_made_up(subject: str) -> None:
    passed = 0
    for case in recorded_plans.read("4.3", subject):
        found = asked(subject, case)
        folded, open_ = found.graph(), found.graph(unfold=True)
        ends = {node.id for node in folded.nodes if isinstance(node, (DatasetNode, ColumnNode))}
        assert pairs(open_, ends) == {(edge.source, edge.target) for edge in folded.edges}, case
        assert len({node.id for node in open_.nodes}) == len(open_.nodes), case
        passed += len(open_.nodes) != len(folded.nodes)
    assert passed


def test_a_struct_of_a_cte_is_one_column_there() -> None:
    assert told(asked("nested", "struct-cte").graph(unfold=True))[:4] == [
        ("default.emp.name", "CTE t.s", "TRANSFORMATION", "named_struct('a', emp.name, 'b', emp.salary)", "exact"),
        ("CTE t.s", "(query).a", "TRANSFORMATION", "t.s.a", "exact"),
        ("default.emp.salary", "CTE t.s", "TRANSFORMATION", "named_struct('a', emp.name, 'b', emp.salary)", "exact"),
        ("CTE t.s", "(query).b", "TRANSFORMATION", "t.s.b", "exact"),
    ]


def test_what_an_operator_names_without_columns_is_passed_as_a_whole() -> None:
    source, target, job = DatasetNode("n", "s", "s"), DatasetNode("n", "t", "t"), JobNode("n", "j")
    columns = ColumnNode(source.id, "a"), ColumnNode(target.id, "b")
    view = OperatorNode(job.id, 3, "View", "VIEW")
    steps = ("LogicalRelation#5", "View#3", Step("Project#1", certainty="opaque"))
    way = Edge(columns[0].id, columns[1].id, (path("TRANSFORMATION", "f(a)", "opaque", steps),), job.id)
    flow = Edge(source.id, job.id, job=job.id)
    graph = unfolded(Graph((source, target, *columns, job, view, OperatorNode(job.id, 1, "Project")), (flow, way)))

    assert told(graph) == [
        ("s.a", "View View#3", "TRANSFORMATION", "f(a)", "opaque"),
        ("View View#3", "t.b", "TRANSFORMATION", "", "opaque"),
    ]
    assert flow in graph.edges
    assert "Project" not in "".join(titles(graph).values())


def test_a_graph_without_any_stays_as_it_is() -> None:
    source, target = DatasetNode("n", "s", "s"), DatasetNode("n", "t", "t")
    edge = Edge(source.id, target.id, (path("FILTER", steps=("Filter#1",)),))
    graph = Graph((source, target, OperatorNode("", 1, "Filter")), (edge,))

    assert unfolded(graph) is graph


def test_a_column_of_a_cte_is_never_taken_for_one_of_a_dataset() -> None:
    part, dataset = OperatorNode("", 4, "SubqueryAlias", "CTE", "x"), DatasetNode("", "SubqueryAlias#4", "x")

    assert ColumnNode(part.id, "a").id == "column|operator||SubqueryAlias#4|a"
    assert ColumnNode(dataset.id, "a").id == "column||SubqueryAlias#4|a"


def test_a_notebook_shows_it() -> None:
    unfolded = asked("graph", "cte-grouped").graph(unfold=True)
    shown = unfolded._repr_html_()  # type: ignore[attr-defined]

    assert shown.startswith(figure(unfolded).removesuffix("</div>"))
    assert 'aria-label="Lineage graph: 2 tables, 1 CTE, view or subquery, 7 edges"' in shown
