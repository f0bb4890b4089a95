"""Graphs whose edges lead through the columns of CTEs, views and subqueries, from recorded plans."""

from __future__ import annotations

from collections import deque

import pytest
from openlineage_pyspark.facets.plan_lineage import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.workbench.model.graph import (
    READ_FROM_PLAN,
    STATED,
    ColumnNode,
    Confidence,
    DatasetNode,
    EdgeKind,
    Graph,
    GraphEdge,
    JobNode,
    OperatorNode,
)
from openlineage_pyspark.workbench.pictures.figure import figure
from openlineage_pyspark.workbench.pictures.unfolded import unfolded
from openlineage_pyspark.workbench.report import Lineage, lineage_of
from support import recorded_plans


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


def told(graph: Graph) -> list[tuple[str, str, str, str, float]]:
    """Return the edges with the names of their ends, the kind, the expression and the confidence."""
    names = titles(graph)
    return [
        (names[each.source], names[each.target], each.kind.value, each.expression, each.confidence.value)
        for each in graph.edges
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


def test_each_part_of_a_way_has_its_own_kind_expression_and_confidence() -> None:
    assert told(asked("graph", "cte-grouped-function").graph(unfold=True)) == [
        ("ods.orders.user_id", "CTE x.user_id", "DIRECT", "", 1.0),
        ("CTE x.user_id", "(query).user_id", "DIRECT", "", 1.0),
        ("ods.orders.amount", "CTE x.amount", "DIRECT", "", 1.0),
        ("CTE x.amount", "(query).total_amt", "AGG", "sum(x.amount)", 1.0),
        ("ods.orders.ts", "CTE x.ts_u64", "EXTERNAL", "toUInt64(orders.ts)", 0.7),
        ("CTE x.ts_u64", "(query).max_ts", "AGG", "max(x.ts_u64)", 1.0),
        ("CTE x.user_id", "(query)", "GROUP_BY", "", 1.0),
    ]


def test_a_filter_inside_a_subquery_leads_through_all_of_its_rows() -> None:
    assert told(asked("subquery", "scalar-in-select").graph(unfold=True)) == [
        ("default.emp.name", "(query).name", "DIRECT", "", 1.0),
        ("default.dept.budget", "Subquery Aggregate#3.max(budget)", "AGG", "max(dept.budget)", 1.0),
        ("Subquery Aggregate#3.max(budget)", "(query).top", "DIRECT", "", 1.0),
        ("default.dept.city", "Subquery Aggregate#3", "FILTER", "(dept.city = 'x')", 1.0),
        ("Subquery Aggregate#3", "(query).top", "FILTER", "", 1.0),
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
        ("default.emp.name", "CTE t.s", "DERIVED", "named_struct('a', emp.name, 'b', emp.salary)", 1.0),
        ("CTE t.s", "(query).a", "DERIVED", "t.s.a", 1.0),
        ("default.emp.salary", "CTE t.s", "DERIVED", "named_struct('a', emp.name, 'b', emp.salary)", 1.0),
        ("CTE t.s", "(query).b", "DERIVED", "t.s.b", 1.0),
    ]


def test_what_an_operator_names_without_columns_is_passed_as_a_whole() -> None:
    source, target, job = DatasetNode("n", "s", "s"), DatasetNode("n", "t", "t"), JobNode("n", "j")
    columns = ColumnNode(source.id, "a"), ColumnNode(target.id, "b")
    view = OperatorNode(job.id, 3, "View", "VIEW")
    doubt = Confidence(0.7, "It passes code that can't be read: Project#1.")
    path = ("LogicalRelation#5", "View#3", "Project#1")
    way = GraphEdge(
        columns[0].id, columns[1].id, EdgeKind.EXTERNAL, doubt, expression="f(a)", operator_path=path, job=job.id
    )
    flow = GraphEdge(source.id, job.id, EdgeKind.READ, STATED, job=job.id)
    graph = unfolded(Graph((source, target, *columns, job, view, OperatorNode(job.id, 1, "Project")), (flow, way)))

    assert told(graph) == [
        ("s", "j", "READ", "", 1.0),
        ("s.a", "View View#3", "EXTERNAL", "f(a)", 0.7),
        ("View View#3", "t.b", "EXTERNAL", "", 0.7),
    ]
    assert "Project" not in "".join(titles(graph).values())


def test_a_graph_without_any_stays_as_it_is() -> None:
    source, target = DatasetNode("n", "s", "s"), DatasetNode("n", "t", "t")
    edge = GraphEdge(source.id, target.id, EdgeKind.FILTER, READ_FROM_PLAN, operator_path=("Filter#1",))
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
