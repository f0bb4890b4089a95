"""The values of the model: their JSON both ways, paths through relations, and differences of graphs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, get_args

import attrs
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.workbench.answer import Answer, Rows, Values, answer_of_graph, schema
from openlineage_pyspark.workbench.model.chains import MOST_PATHS, Segment, paths_of
from openlineage_pyspark.workbench.model.change import Change, difference
from openlineage_pyspark.workbench.model.document import document_of, from_document
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    OperatorColumn,
    OperatorNode,
    Path,
    RunNode,
    Step,
    VersionNode,
    steps_of,
    united,
)
from openlineage_pyspark.workbench.model.kinds import CERTAINTIES, Code, Diagnostic, Kind, Level
from openlineage_pyspark.workbench.model.reach import Reach
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RepeatedRun
from support.lineage_paths import path

TEXT = st.text(max_size=4)
NAME = st.text(min_size=1, max_size=4)
CERTAINTY = st.sampled_from(CERTAINTIES)
KIND = st.builds(Kind, TEXT, TEXT, st.booleans())
STEP = st.builds(Step, TEXT, TEXT, certainty=CERTAINTY, call_site=TEXT) | st.builds(
    Step, TEXT, TEXT, NAME, TEXT, KIND | st.none(), CERTAINTY, TEXT
)
PATH = st.builds(Path, KIND, TEXT, CERTAINTY, st.lists(STEP, max_size=3))
EDGE = st.builds(
    Edge, NAME, NAME, st.lists(PATH, max_size=3), TEXT, TEXT, st.none() | st.integers(), st.booleans(), CERTAINTY
)
NODE = st.one_of(
    st.builds(DatasetNode, TEXT, TEXT, TEXT, st.lists(TEXT, max_size=2).map(tuple), TEXT),
    st.builds(ColumnNode, NAME, TEXT, TEXT),
    st.builds(VersionNode, NAME, TEXT, TEXT),
    st.builds(
        OperatorNode,
        TEXT,
        st.integers(0, 9),
        NAME,
        st.sampled_from(("", "CTE", "VIEW", "SUBQUERY")),
        TEXT,
        st.lists(st.builds(OperatorColumn, TEXT, TEXT), max_size=2).map(tuple),
    ),
    st.builds(JobNode, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT),
    st.builds(RunNode, TEXT, NAME, TEXT, parent=TEXT, error=TEXT, call_site=TEXT),
)
DIAGNOSTIC = st.builds(
    Diagnostic,
    st.sampled_from(get_args(Code)),
    TEXT,
    st.sampled_from(get_args(Level)),
    st.booleans(),
    TEXT,
    TEXT,
    TEXT,
    TEXT,
)
BARE = st.builds(Graph, st.lists(NODE, max_size=4), st.lists(EDGE, max_size=3))
REACH = st.builds(
    Reach, BARE, st.lists(NAME, max_size=2).map(tuple), st.dictionaries(NAME, st.integers(0, 9), max_size=3)
)
JSON = st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT, max_size=2)
OBJECT = st.dictionaries(NAME.filter(lambda name: name != "type"), JSON, max_size=3)
WORD = st.from_regex(r"[a-z][A-Za-z0-9]{0,8}", fullmatch=True).filter(lambda name: name != "type")
RESULT = st.one_of(
    BARE,
    REACH,
    st.builds(Rows, NAME, st.lists(OBJECT, max_size=2)),
    st.builds(Values, st.sampled_from(("diff", "plan", "statements")), st.dictionaries(WORD, JSON, max_size=3)),
)
ANSWER = st.builds(Answer, NAME, OBJECT, RESULT, TEXT, TEXT, st.lists(DIAGNOSTIC, max_size=2).map(tuple))
GRAPH = st.builds(
    Graph, st.lists(NODE, max_size=4), st.lists(EDGE, max_size=3), st.lists(DIAGNOSTIC, max_size=2), st.just("")
)


@given(GRAPH)
def test_a_graph_is_the_same_after_its_json(graph: Graph) -> None:
    assert Graph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph


@pytest.mark.slow
@given(ANSWER)
def test_an_answer_is_the_same_after_its_json_and_that_is_as_its_schema_says(answer: Answer[Any]) -> None:
    document = json.loads(answer.to_json())

    assert Answer.from_dict(document) == answer
    assert document["complete"] == answer.complete == (not any(each.missing for each in answer.diagnostics))
    jsonschema.validate(document, schema(), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", ["run_id", "Run", "last good", ""])
def test_a_name_in_another_case_is_against_the_schema(name: str) -> None:
    document = Answer("recover", {}, Values("plan", {"steps": [{"inputs": {name: 1}}]})).to_dict()

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema(), cls=jsonschema.Draft202012Validator)


def test_frozen_values_are_documents_in_camel_case_and_are_read_back() -> None:
    run = RepeatedRun("r1", "job", (1, 2), seconds=2.5)
    document = document_of(run)

    assert document == {"runId": "r1", "job": "job", "batches": [1, 2], "made": [], "seconds": 2.5, "rows": None}
    assert from_document(RepeatedRun, document) == run
    assert document_of({"a_b": Mode.FULL, "when": datetime(2026, 1, 2)}) == {
        "a_b": "full",
        "when": "2026-01-02T00:00:00",
    }
    assert from_document(RepeatedRun, {**document, "ofALaterVersion": 1}) == run
    with pytest.raises(TypeError, match=r"^3 must be an object$"):
        from_document(RepeatedRun, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'job'"):
        from_document(RepeatedRun, {"runId": "r1"})


def test_what_a_later_version_adds_is_left_out() -> None:
    """Its first number changes where an earlier reader would be wrong."""
    nodes = (DatasetNode("lake", "t", "t"), OperatorNode("", 0, "Project"), VersionNode("dataset|lake|t", ""))
    graph = Graph(nodes, (Edge("a", "b", batch=0),))
    document = graph.to_dict()
    for each in (*document["nodes"], *document["edges"]):
        each["added"] = {"by": "a later version"}
    assert Graph.from_dict(document) == graph


def test_an_answer_of_another_version_is_refused() -> None:
    document = answer_of_graph(Graph([], [])).to_dict()

    with pytest.raises(ValueError, match="the answer must have version 3-0-0, not 2-0-0"):
        Answer.from_dict({**document, "schema": "2-0-0"})
    with pytest.raises(ValueError, match="not none"):
        Answer.from_dict({"nodes": []})
    assert Answer.from_dict({**document, "schema": "3-7-0"}).question == "graph"


@given(EDGE, EDGE)
def test_a_change_is_the_same_after_its_json(before: Edge, after: Edge) -> None:
    for change in (
        Change("added", None, after),
        Change("removed", before, None),
        Change("changed", before, after, "a:1"),
    ):
        assert Change.from_dict(json.loads(json.dumps(change.to_dict()))) == change


def test_values_are_hashable_and_can_not_be_changed() -> None:
    steps = [Step("A#0")]
    edge = Edge("a", "b", [Path(Kind("DIRECT", "IDENTITY"), steps=steps)])
    graph = Graph([], [edge])
    steps.clear()

    assert (edge.paths[0].steps, graph.edges, len({graph, edge})) == ((Step("A#0"),), (edge,), 2)


def test_the_paths_of_an_edge_are_a_sorted_set_and_it_is_as_sure_as_the_best() -> None:
    by_value, guessed, by_row = path("IDENTITY"), path("IDENTITY", "", "guessed"), path("FILTER")
    edge = Edge("a", "b", (by_row, guessed, by_value, by_row))

    assert (edge.paths, edge.certainty) == ((by_value, guessed, by_row), "exact")
    assert Edge("a", "b", (by_row, by_value, guessed)) == edge
    assert Edge("a", "b", (guessed,)).certainty == "guessed"


def test_edges_of_one_job_between_two_nodes_are_one() -> None:
    first, second = path("IDENTITY"), path("TRANSFORMATION", "f(a)", "opaque")
    made = united([Edge("a", "b", (second,), "j", "run|1"), Edge("a", "b", (first,), "j", "run|2"), Edge("a", "b")])

    assert made == (Edge("a", "b", (first, second), "j", "run|2"), Edge("a", "b"))


def test_steps_are_all_operators_with_what_they_do() -> None:
    does, twice = Step("B#1", "f(a)"), Step("B#1", "g(a)")

    assert steps_of(("C#2", "B#1", "A#0"), (does, twice)) == (Step("C#2"), does, twice, Step("A#0"))
    assert steps_of((), (does,)) == (does,)


IDENTITY = Kind("DIRECT", "IDENTITY")
SUM = Kind("DIRECT", "AGGREGATION")


def test_a_path_through_a_relation_has_its_column_and_how_it_is_made() -> None:
    whole = path("AGGREGATION", "sum(t.a)", steps=("Leaf#3", "Alias#2", Step("Aggregate#1", "sum(x.a)")))
    segments = (Segment(None, ("Alias#2", "a"), IDENTITY), Segment(("Alias#2", "a"), None, SUM, expression="sum(x.a)"))
    [found], left_out = paths_of(whole, segments, {"Alias#2": "x"})

    assert (found.expression, left_out) == ("sum(t.a)", 0)
    assert found.steps == (
        Step("Leaf#3"),
        Step("Alias#2", relation="x", column="a", kind=IDENTITY),
        Step("Aggregate#1", "sum(x.a)"),
        Step("", "sum(x.a)", kind=SUM),
    )


def test_relations_beside_each_other_are_on_paths_of_their_own_and_a_circle_is_passed_once() -> None:
    x, y = ("X#1", "a"), ("Y#2", "a")
    beside = [Segment(None, x, IDENTITY), Segment(None, y, IDENTITY), Segment(x, None, SUM), Segment(y, None, SUM)]
    circle = [Segment(None, x, IDENTITY), Segment(x, y, SUM), Segment(y, x, IDENTITY), Segment(x, None, IDENTITY)]
    names = {"X#1": "x", "Y#2": "y"}

    shown = [
        [[step.relation for step in each.steps if step.relation] for each in paths_of(path("IDENTITY"), some, names)[0]]
        for some in (beside, circle)
    ]
    assert shown == [[["x"], ["y"]], [["x"], ["x", "y", "x"]]]


@given(st.lists(st.tuples(st.none() | st.integers(0, 4), st.none() | st.integers(0, 4)), max_size=14))
def test_each_part_of_a_path_is_on_one_of_its_paths_or_counted(ends: list[tuple[int | None, int | None]]) -> None:
    def place(at: int | None) -> tuple[str, str] | None:
        return None if at is None else (f"R#{at}", "a")

    segments = tuple(dict.fromkeys(Segment(place(source), place(target), IDENTITY) for source, target in ends))
    found, left_out = paths_of(path("IDENTITY"), segments, {f"R#{at}": f"r{at}" for at in range(5)})
    passed = set()
    for each in found:
        stops = [None, *((step.operator, step.column) for step in each.steps if step.relation), None]
        passed |= {(stops[at], stops[at + 1]) for at in range(len(stops) - 1)}

    assert len(found) <= MOST_PATHS
    if segments:
        every = {(segment.source, segment.target) for segment in segments}
        assert passed <= every
        assert len(every - passed) == left_out


def graph_of(*paths: Path, source: str = "a", data_type: str = "") -> Graph:
    dataset = DatasetNode("n", "t", "t")
    columns = [ColumnNode(dataset.id, "a"), ColumnNode(dataset.id, "b", data_type), ColumnNode(dataset.id, "c")]
    edges = [Edge(ColumnNode(dataset.id, source).id, columns[1].id, paths)] if paths else []
    return Graph([dataset, *columns], edges)


MASKED, OPEN = path("TRANSFORMATION", "sha1(a)", masking=True), path("IDENTITY")


@pytest.mark.parametrize(
    ("before", "after", "signs"),
    [
        (graph_of(OPEN), graph_of(OPEN), []),
        (graph_of(OPEN), graph_of(OPEN, path("FILTER")), ["changed"]),
        (graph_of(path("TRANSFORMATION", "a + 1")), graph_of(path("TRANSFORMATION", "a + 2")), ["changed"]),
        (graph_of(path("TRANSFORMATION", steps=("A#0",))), graph_of(path("TRANSFORMATION", steps=("B#1",))), []),
        (graph_of(OPEN), graph_of(path("IDENTITY", "", "guessed")), ["changed"]),
        (graph_of(OPEN), graph_of(OPEN, source="c"), ["removed", "added"]),
        (graph_of(data_type="int"), graph_of(data_type="bigint"), ["changed"]),
        (graph_of(data_type="int"), graph_of(data_type=""), []),
    ],
)
def test_an_edge_has_changed_if_its_paths_have_and_a_column_if_its_type_has(
    before: Graph, after: Graph, signs: list[str]
) -> None:
    assert [change.sign for change in difference(before, after)] == signs


def test_a_value_that_is_no_longer_masked_comes_first() -> None:
    before = graph_of(MASKED)
    after = Graph((*graph_of().nodes, ColumnNode("dataset|n|t", "_new")), graph_of(OPEN).edges)
    changes = difference(before, after)

    assert [(change.sign, change.what, change.is_unmasked) for change in changes] == [
        ("changed", "edge", True),
        ("added", "column", False),
    ]
    assert changes[0].texts == ("TRANSFORMATION (masked) sha1(a)", "IDENTITY")
    assert not difference(after, before)[0].is_unmasked
    assert not difference(before, graph_of(MASKED, path("FILTER")))[0].is_unmasked
    assert difference(graph_of(MASKED, path("FILTER")), graph_of(OPEN))[0].is_unmasked


@pytest.mark.parametrize("paths", [(path("FILTER"),), ()])
def test_a_source_of_which_no_value_arrived_was_not_masked(paths: tuple[Path, ...]) -> None:
    after = graph_of(OPEN)
    before = attrs.evolve(after, edges=[attrs.evolve(edge, paths=paths) for edge in after.edges])

    assert [(change.sign, change.is_unmasked) for change in difference(before, after)] == [("changed", False)]
