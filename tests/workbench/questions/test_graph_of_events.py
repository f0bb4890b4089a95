"""The graph of a store: the operators, the steps and the certainty that events tell of their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from openlineage_pyspark.workbench.answer import answer_of_graph, schema
from openlineage_pyspark.workbench.model.change import difference
from openlineage_pyspark.workbench.model.graph import Edge, Graph, OperatorNode, RunNode, Step
from openlineage_pyspark.workbench.model.graph import Path as EdgePath
from openlineage_pyspark.workbench.model.kinds import Kind
from openlineage_pyspark.workbench.pictures.words import reason_of
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
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
        return with_diagnostics(store.graph())


def facet(*edges: dict[str, Any]) -> dict[str, Any]:
    return {"operators": OPERATORS, "expressions": ["f(a)"], "columns": {"x": list(edges)}, "rows": []}


def to_x(graph: Graph) -> list[Edge]:
    return [edge for edge in graph.edges if edge.target == "column|lake|t|x"]


def test_edges_name_their_operators_and_steps_and_the_preferred_kind_comes_first(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, facet(told("a", "opaque"), told("b", "exact")))

    shown = [
        (edge.source[-1], str(each.kind), each.steps, each.certainty) for edge in to_x(graph) for each in edge.paths
    ]
    opaque = Step("Project#1", "f(a)", certainty="opaque", call_site="etl/load.py:12")
    exact = tuple(map(Step, OPERATORS))
    assert shown == [
        ("c", "IDENTITY", (), "exact"),
        ("b", "TRANSFORMATION", exact, "exact"),
        ("a", "TRANSFORMATION", (*exact[:2], opaque, exact[3]), "opaque"),
    ]
    assert [node for node in graph.nodes if isinstance(node, OperatorNode)] == [
        OperatorNode(JOB, 3, "LogicalRelation"),
        OperatorNode(JOB, 2, "View", "VIEW"),
        OperatorNode(JOB, 1, "Project"),
        OperatorNode(JOB, 0, "Insert"),
    ]
    jsonschema.validate(answer_of_graph(graph).to_dict(), schema(), cls=jsonschema.Draft202012Validator)


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
            [(edge.source[-1], edge.certainty, edge.run) for edge in to_x(store.graph(as_of=time).result)]
            for time in times
        ]
        answers = [store.upstream("t.x", as_of=time) for time in times]
        assert [{*answer.result.graph.edges} for answer in answers] == [
            set(to_x(store.graph(as_of=time).result)) for time in times
        ]
        columns, rows = answers[1].table()
        assert {row[columns.index("last_run")] for row in rows} == {"r2"}
    taken(tmp_path / "then.db", events[:2])
    with Store.open(tmp_path / "then.db") as store:
        assert [(edge.source[-1], edge.certainty, edge.run) for edge in to_x(store.graph().result)] == shown[1]
    run = "run|r{}".format
    assert shown == [
        [("b", "exact", run(1)), ("a", "opaque", run(1))],
        [("a", "exact", run(2)), ("b", "exact", run(2))],
        [("a", "exact", run(9)), ("b", "opaque", run(9))],
    ]


@pytest.mark.parametrize(
    ("word", "certainty", "reason"),
    [
        ("opaque", "opaque", "It passes code that can't be read: Project#1."),
        ("guessed", "guessed", "It passes an operator that is not understood: Project#1."),
        ("text", "text", "It was taken from the text of the statement, which was not analyzed: Project#1."),
        ("magic", "unstated", "The run states it, but not how the value is computed."),
    ],
)
def test_each_word_for_a_certainty_has_its_reason(tmp_path: Path, word: str, certainty: str, reason: str) -> None:
    (edge,) = [each for each in to_x(graph_of(tmp_path, facet(told("a", word)))) if each.source[-1] == "a"]

    [found] = edge.paths
    assert (edge.certainty, found.certainty, reason_of(found.certainty, found.steps)) == (certainty, certainty, reason)


def test_an_answer_tells_of_its_edges_what_the_graph_tells(tmp_path: Path) -> None:
    """As values, as a graph, and as a table."""
    graph = graph_of(tmp_path, facet(told("a", "opaque"), told("b", "exact")))
    with Store.open(tmp_path / "a.db") as store:
        answers = [
            store.upstream("t.x"),
            store.downstream("s", by="column"),
            store.between("s.a", "t"),
        ]
        shown = [{edge for edge in to_x(answer.result.graph) if edge.source == "column|lake|s|a"} for answer in answers]
        assert shown == [{edge for edge in to_x(graph) if edge.source == "column|lake|s|a"}] * 3
        upstream = answers[0]
        assert set(to_x(upstream.result.graph)) == set(to_x(graph))
        edges = upstream.result.graph.edges
        assert {(upstream.result.column(edge.source), edge.least_certainty) for edge in edges} == {
            *(("a", "opaque"), ("b", "exact"), ("c", "exact")),
        }
        columns, rows = upstream.table()
        assert [row[columns.index("certainty")] for row in rows] == ["opaque", "exact", "exact"]
        assert ">certainty</th>" in str(upstream._repr_html_())
        assert ">certainty</th>" not in str(store.upstream("t")._repr_html_())
        assert {edge.least_certainty for edge in store.upstream("t").result.graph.edges} == {""}


def test_a_run_with_a_remark_makes_those_edges_doubtful_whose_paths_it_does_not_state(tmp_path: Path) -> None:
    gap = {"errors": [{"task": "Their", "errorMessage": "no rule"}]}
    graph = graph_of(tmp_path, facet(told("a", "guessed"), told("b", "exact")), extractionError=gap)

    assert {edge.source[-1]: edge.certainty for edge in to_x(graph)} == {"a": "guessed", "b": "exact", "c": "guessed"}
    assert {edge.source[-1]: reason_of(each.certainty, each.steps) for edge in to_x(graph) for each in edge.paths} == {
        "a": "It passes an operator that is not understood: Project#1.",
        "b": "It was read from the plan.",
        "c": "The run states it, but a part of its plan was not understood.",
    }


@pytest.mark.parametrize(
    "strange",
    [
        *(7, {}, {**facet(), "columns": 7}, {**facet(), "rows": None}, facet({"field": "a"})),
        *(facet(told("a", "opaque", operators=[9])), facet(told("a", "opaque", steps=7))),
    ],
)
def test_a_facet_of_another_shape_is_left_out(tmp_path: Path, strange: Any) -> None:
    assert {edge.certainty for edge in to_x(graph_of(tmp_path, strange))} == {"exact"}


def test_a_run_has_the_line_of_python_that_ran_it(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, facet(), pyspark_call_site={"file": "etl/load.py", "line": 30, "function": "sql"})

    assert [node.call_site for node in graph.nodes if isinstance(node, RunNode)] == ["etl/load.py:30"]


@pytest.mark.parametrize("strange", [7, {}, {"file": "a", "line": "b"}])
def test_a_line_in_another_shape_is_left_out(tmp_path: Path, strange: Any) -> None:
    graph = graph_of(tmp_path, facet(), pyspark_call_site=strange)

    assert [node.call_site for node in graph.nodes if isinstance(node, RunNode)] == [""]


def test_an_edge_has_each_of_its_paths_with_its_own_text_and_certainty(tmp_path: Path) -> None:
    facet: dict[str, Any] = {
        "operators": OPERATORS,
        "expressions": ["a + 1", "f(a)"],
        "columns": {"x": [told("a", "exact", description=0), told("a", "opaque", description=1)]},
        "rows": [],
    }
    edges = lineage(x=[("s", "a", "TRANSFORMATION")])
    known = edges["fields"]["x"]["inputFields"][0]
    known["transformations"] = [{**known["transformations"][0], "description": text} for text in ("f(a)", "a + 1")]
    made = dataset("t", columnLineage=edges, pyspark_lineage_steps=facet)
    taken(tmp_path / "a.db", [run_event("load", "COMPLETE", 1, run="r", inputs=(dataset("s"),), outputs=(made,))])
    with Store.open(tmp_path / "a.db") as store:
        found = [(path.expression, path.certainty) for edge in store.graph().result.edges for path in edge.paths]
        [edge] = store.upstream("t.x").result.graph.edges
    assert found == [("a + 1", "exact"), ("f(a)", "opaque")]
    assert [(path.expression, path.certainty) for path in edge.paths] == found
    assert (edge.certainty, edge.least_certainty) == ("exact", "opaque")


def test_paths_that_are_left_out_put_no_edge_in_doubt(tmp_path: Path) -> None:
    errors = [{"task": "paths", "errorMessage": "more than 8 paths of one kind lead from a of s to one target"}]
    remark = {"totalTasks": 4, "failedTasks": 1, "errors": errors}
    graph = graph_of(tmp_path, facet(), extractionError=remark)
    assert {edge.certainty for edge in graph.edges if edge.paths} == {"exact"}
    assert [each.operator for each in graph.diagnostics] == ["paths"]


def test_a_difference_has_each_path_that_changed() -> None:
    def graph(*expressions: str) -> Graph:
        paths = tuple(EdgePath(Kind("DIRECT", "TRANSFORMATION"), each) for each in expressions)
        return Graph((), (Edge("a", "b", paths),))

    def changes(before: Graph, after: Graph) -> list[tuple[str, list[str]]]:
        found = difference(before, after)
        return [(each.sign, [p.expression for p in each.after.paths]) for each in found if isinstance(each.after, Edge)]

    two = graph("a + 1", "a * 2")
    assert changes(two, two) == []
    assert changes(two, graph("a + 1", "a * 3")) == [("changed", ["a * 3", "a + 1"])]
    assert changes(two, graph("a + 3", "a * 2")) == [("changed", ["a * 2", "a + 3"])]
    assert changes(two, graph("a + 1")) == [("changed", ["a + 1"])]
    assert changes(graph("a + 1"), two) == [("changed", ["a * 2", "a + 1"])]
