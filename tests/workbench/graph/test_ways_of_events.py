"""The graph of a store: the operators, the steps and the certainty that events tell of their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from openlineage_pyspark.workbench.model.graph import (
    EdgeKind,
    EdgeStep,
    Graph,
    GraphEdge,
    OperatorNode,
    RunNode,
    in_part,
    schema,
    sure,
)
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, dataset, lineage, run_event, symlink, taken

if TYPE_CHECKING:
    from pathlib import Path

JOB = "job|jobs|load"
OPERATORS = ["LogicalRelation#3", "View#2", "Project#1", "Insert#0"]


def told(field: str, certainty: str, subtype: str = "TRANSFORMATION", **more: Any) -> dict[str, Any]:
    """Return an edge of the facet, all of whose operators are named."""
    opaque = {"operator": 2, "expression": 0, "certainty": certainty, "callSite": "etl/load.py:12"}
    steps = [opaque] if certainty != "exact" else [{"operator": 2}]
    return {
        "namespace": "lake",
        "name": "s",
        "field": field,
        "type": "DIRECT",
        "subtype": subtype,
        "masking": False,
        "certainty": certainty,
        "operators": [0, 1, 2, 3],
        "steps": steps,
        **more,
    }


def graph_of(path: Path, facet: Any, **facets: Any) -> Graph:
    """Return the graph of a run that makes x of the columns a, b and c, and y of a."""
    edges = lineage(
        x=[("s", "a", "TRANSFORMATION"), ("s", "b", "TRANSFORMATION"), ("s", "c", "IDENTITY")],
        y=[("s", "a", "")],
    )
    made = dataset("t", columnLineage=edges, pyspark_lineage_steps=facet)
    read = dataset("s", symlinks=symlink("db.s"))
    taken(path / "a.db", [run_event("load", "COMPLETE", 1, run="r", inputs=(read,), outputs=(made,), **facets)])
    with Store.open(path / "a.db") as store:
        return store.graph()


def facet(*edges: dict[str, Any]) -> dict[str, Any]:
    return {"operators": OPERATORS, "expressions": ["f(a)"], "columns": {"x": list(edges)}, "rows": []}


def to_x(graph: Graph) -> list[GraphEdge]:
    return [edge for edge in graph.edges if edge.target == "column|lake|t|x"]


def test_edges_name_their_operators_and_steps_and_the_preferred_kind_comes_first(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, facet(told("a", "opaque"), told("b", "exact")))

    shown = [(edge.source[-1], edge.kind, edge.operator_path, edge.steps, edge.confidence) for edge in to_x(graph)]
    opaque, exact = EdgeStep("Project#1", "f(a)", "opaque", "etl/load.py:12"), EdgeStep("Project#1")
    assert shown == [
        ("c", EdgeKind.DIRECT, (), (), sure("exact")),
        ("b", EdgeKind.DERIVED, tuple(OPERATORS), (exact,), sure("exact")),
        ("a", EdgeKind.EXTERNAL, tuple(OPERATORS), (opaque,), sure("opaque", [opaque])),
    ]
    assert [node for node in graph.nodes if isinstance(node, OperatorNode)] == [
        OperatorNode(JOB, 3, "LogicalRelation"),
        OperatorNode(JOB, 2, "View", "VIEW"),
        OperatorNode(JOB, 1, "Project"),
        OperatorNode(JOB, 0, "Insert"),
    ]
    jsonschema.validate(graph.to_dict(), schema(), cls=jsonschema.Draft202012Validator)


def test_an_earlier_time_is_told_by_the_runs_until_then(tmp_path: Path) -> None:
    """What a later run of the job tells was not yet told; it is answered as it was answered then."""
    edges = lineage(x=[("s", "a", "TRANSFORMATION"), ("s", "b", "TRANSFORMATION")])
    events = [
        run_event(
            *("load", "COMPLETE", minute),
            run=f"r{minute}",
            inputs=(dataset("s"),),
            outputs=(dataset("t", columnLineage=edges, pyspark_lineage_steps=said),),
        )
        for minute, said in ((1, facet(told("a", "opaque"))), (2, facet()), (9, facet(told("b", "opaque"))))
    ]
    taken(tmp_path / "a.db", events)
    with Store.open(tmp_path / "a.db") as store:
        times = (at(1), at(5), "")
        shown = [
            [(edge.source[-1], edge.kind, edge.last_run) for edge in to_x(store.graph(as_of=time))] for time in times
        ]
        answers = [store.upstream("t.x", as_of=time).links for time in times]
        assert [{edge for link in links for edge in link.edges} for links in answers] == [
            set(to_x(store.graph(as_of=time))) for time in times
        ]
    taken(tmp_path / "then.db", events[:2])
    with Store.open(tmp_path / "then.db") as store:
        assert [(edge.source[-1], edge.kind, edge.last_run) for edge in to_x(store.graph())] == shown[1]
    run = "run|r{}".format
    assert shown == [
        [("b", EdgeKind.DERIVED, run(1)), ("a", EdgeKind.EXTERNAL, run(1))],
        [("a", EdgeKind.DERIVED, run(2)), ("b", EdgeKind.DERIVED, run(2))],
        [("a", EdgeKind.DERIVED, run(9)), ("b", EdgeKind.EXTERNAL, run(9))],
    ]


@pytest.mark.parametrize(
    ("certainty", "kind", "value", "reason"),
    [
        ("opaque", EdgeKind.EXTERNAL, 0.7, "It passes code that can't be read: Project#1."),
        ("guessed", EdgeKind.UNKNOWN, 0.5, "It passes an operator that is not understood: Project#1."),
        (
            *("unknown", EdgeKind.DERIVED, 0.1),
            "It was taken from the text of the statement, which was not analyzed: Project#1.",
        ),
    ],
)
def test_each_certainty_has_its_confidence_and_reason(
    tmp_path: Path, certainty: str, kind: EdgeKind, value: float, reason: str
) -> None:
    (edge,) = [each for each in to_x(graph_of(tmp_path, facet(told("a", certainty)))) if each.source[-1] == "a"]

    assert (edge.kind, edge.confidence.value, edge.confidence.reason) == (kind, value, reason)


def test_an_answer_tells_of_its_edges_what_the_graph_tells(tmp_path: Path) -> None:
    """As values, as a graph, and as a table."""
    graph = graph_of(tmp_path, facet(told("a", "opaque"), told("b", "exact")))
    with Store.open(tmp_path / "a.db") as store:
        answers = [store.upstream("t.x"), store.downstream("s", by="column"), store.between("s.a", "t")]
        shown = [{edge for edge in to_x(answer.graph()) if edge.source == "column|lake|s|a"} for answer in answers]
        assert shown == [{edge for edge in to_x(graph) if edge.source == "column|lake|s|a"}] * 3
        upstream = answers[0]
        assert set(to_x(upstream.graph())) == set(to_x(graph))
        assert {(link.source.column, link.certainty) for link in upstream.links} == {
            *(("a", "opaque"), ("b", "exact"), ("c", "exact")),
        }
        columns, rows = upstream.table()
        assert [row[columns.index("certainty")] for row in rows] == ["opaque", "exact", "exact"]
        assert ">certainty</th>" in upstream._repr_html_()
        assert ">certainty</th>" not in store.upstream("t")._repr_html_()
        assert {link.certainty for link in store.upstream("t").links} == {""}


def test_a_run_with_a_remark_makes_its_other_edges_doubtful(tmp_path: Path) -> None:
    gap = {"errors": [{"task": "Their", "errorMessage": "no rule"}]}
    graph = graph_of(tmp_path, facet(told("a", "guessed"), told("b", "exact")), extractionError=gap)

    assert {edge.source[-1]: edge.confidence for edge in to_x(graph)} == {
        "a": sure("guessed", [EdgeStep("Project#1", certainty="guessed")]),
        "b": in_part("Their"),
        "c": in_part("Their"),
    }


@pytest.mark.parametrize(
    "strange",
    [
        *(7, {}, {**facet(), "columns": 7}, {**facet(), "rows": None}, facet({"field": "a"})),
        *(facet(told("a", "opaque", operators=[9])), facet(told("a", "opaque", steps=7))),
    ],
)
def test_a_facet_of_another_shape_is_left_out(tmp_path: Path, strange: Any) -> None:
    assert {edge.confidence for edge in to_x(graph_of(tmp_path, strange))} == {sure("exact")}


def test_a_run_has_the_line_of_python_that_ran_it(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, facet(), pyspark_call_site={"file": "etl/load.py", "line": 30, "function": "sql"})

    assert [node.call_site for node in graph.nodes if isinstance(node, RunNode)] == ["etl/load.py:30"]


@pytest.mark.parametrize("strange", [7, {}, {"file": "a", "line": "b"}])
def test_a_line_in_another_shape_is_left_out(tmp_path: Path, strange: Any) -> None:
    graph = graph_of(tmp_path, facet(), pyspark_call_site=strange)

    assert [node.call_site for node in graph.nodes if isinstance(node, RunNode)] == [""]
