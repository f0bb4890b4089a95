"""The answer to each question is read back from its JSON with the types of its values, as its schema describes them."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.model.document import document_of, from_document, is_record, types_of_fields
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Edge, Graph, Path, Step
from openlineage_pyspark.workbench.model.kinds import Diagnostic, Kind
from openlineage_pyspark.workbench.model.reach import Reach
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.questions.changes import BelowChange, ChangeRow, Diff
from openlineage_pyspark.workbench.questions.history import InputVersion
from openlineage_pyspark.workbench.questions.registry import question_called, questions
from openlineage_pyspark.workbench.questions.runs import RunRow
from openlineage_pyspark.workbench.questions.sql import QueryRows
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan
from support.valid_answers import closed_schema, validate

TEXT = st.text(max_size=5)
JSON = st.none() | st.booleans() | st.integers(-9, 9) | TEXT
NODES = (DatasetNode("lake", "t", "t"), ColumnNode("dataset|lake|t", "a", "int"))
GRAPH = Graph(NODES, (Edge(NODES[1].id, NODES[0].id, (Path(Kind("INDIRECT", "FILTER"), "a > 1"),)),))
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(0, 99),
    float: st.floats(0, 99),
    bool: st.booleans(),
    NoneType: st.none(),
    datetime: st.datetimes(timezones=st.just(timezone.utc)),
    Any: JSON,
    # The generator of graphs is that of the tests of the model.
    Graph: st.just(ShownGraph(GRAPH.nodes, GRAPH.edges)),
    Reach: st.just(Reach(GRAPH, (NODES[0].id,), {NODES[0].id: 0, NODES[1].id: 1})),
    Step: st.builds(Step, TEXT, TEXT),
}


def values_of(type_: Any) -> st.SearchStrategy[Any]:
    """Return what makes values of a type."""
    origin, inner = get_origin(type_), get_args(type_)
    if type_ in PLAIN:
        return PLAIN[type_]
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, UnionType):
        return st.one_of(*map(values_of, inner))
    if origin is tuple and inner[-1] is Ellipsis:
        return st.lists(values_of(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, inner))
    if origin is Mapping:
        return st.dictionaries(TEXT, values_of(inner[1]), max_size=2)
    if issubclass(type_, enum.Enum):
        return st.sampled_from(type_)
    assert is_record(type_)
    left_out = {field.name for field in attrs.fields(type_) if not field.eq} if attrs.has(type_) else set()
    fields = {name: each for name, each in types_of_fields(type_).items() if name not in left_out}
    return st.builds(type_, **{name: values_of(each) for name, each in fields.items()})


def query_rows() -> st.SearchStrategy[QueryRows]:
    def of_columns(columns: list[str]) -> st.SearchStrategy[QueryRows]:
        rows = st.lists(st.tuples(*(JSON for _ in columns)), max_size=2)
        return rows.map(lambda found: QueryRows("row", found, columns=tuple(columns)))

    return st.lists(TEXT, max_size=3, unique=True).flatmap(of_columns)


def results_of(name: str) -> st.SearchStrategy[Any]:
    """Return what makes results of a question."""
    type_ = question_called(name).result
    if type_ is QueryRows:
        return query_rows()
    class_ = get_origin(type_) or type_
    if not issubclass(class_, Rows):
        return values_of(type_)
    [row] = get_args(type_) or get_args(class_.__orig_bases__[0])
    types = {each: kind for each, kind in types_of_fields(class_).items() if each not in ("of", "rows")}
    further = {each: values_of(kind) for each, kind in types.items()}
    return st.builds(class_, of=TEXT, rows=st.lists(values_of(row), max_size=2).map(tuple), **further)


DIAGNOSTICS = st.lists(values_of(Diagnostic), max_size=2).map(tuple)


@pytest.mark.slow
@pytest.mark.parametrize("name", questions())
@given(st.data())
def test_each_answer_is_the_same_after_its_json_and_that_is_as_its_schema_describes(
    name: str, data: st.DataObject
) -> None:
    diagnostics = data.draw(DIAGNOSTICS.map(lambda found: tuple(attrs.evolve(e, node="n", run="r") for e in found)))
    answer = Answer(name, {}, data.draw(results_of(name)), diagnostics=diagnostics)
    document = json.loads(answer.to_json())

    validate(document)
    read = Answer.from_dict(document)
    assert read == answer
    assert type(read.result) is type(answer.result)
    assert read.to_dict() == document


def test_each_question_has_a_schema_of_its_own() -> None:
    named = [each["if"]["properties"]["question"]["const"] for each in closed_schema()["allOf"]]

    assert named == [*questions()]


RUN = RunRow("r", "jobs", "j", "COMPLETE", datetime(2026, 1, 2, tzinfo=timezone.utc), None, "")


@pytest.mark.parametrize("wrong", [{"state": "DONE"}, {"more": 1}, {"started": 7}, {"runId": None}])
def test_a_row_with_another_field_or_another_type_is_against_the_schema(wrong: dict[str, Any]) -> None:
    document = Answer("runs", {}, Rows("run", (RUN,))).to_dict()
    validate(document)
    document["result"]["rows"][0] |= wrong

    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def test_the_schema_has_the_meaning_of_each_field_of_a_row() -> None:
    fields = closed_schema()["$defs"]["RunRow"]["properties"]

    assert fields["usualSeconds"]["description"] == (
        "The median of the seconds that the last complete runs of its job took; None if there are too few."
    )
    assert fields["state"]["enum"] == ["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"]


def test_what_a_later_version_adds_to_a_row_or_a_diagnostic_is_left_out() -> None:
    found = Diagnostic("limit", "more", missing=True)
    document = Answer("runs", {}, Rows("run", (RUN,)), diagnostics=(found,)).to_dict()
    document["diagnostics"][0] |= {"ofALaterVersion": 1, "code": "of-a-later-version"}
    document["result"]["rows"][0] |= {"ofALaterVersion": 1}
    read = Answer.from_dict(document)

    assert read.result == Rows("run", (RUN,))
    assert read.diagnostics == (attrs.evolve(found, code="of-a-later-version"),)  # type: ignore[arg-type]


def test_the_answer_of_a_command_keeps_its_plain_values() -> None:
    document = {
        **Answer("lineage", {}, Diff((), ())).to_dict(),
        "result": {"type": "diff", "changes": [], "findings": [1]},
    }

    assert Answer.from_dict(document).result.values == {"changes": [], "findings": [1]}


@pytest.mark.parametrize(
    ("class_", "document"),
    [
        (ChangeRow, []),
        (InputVersion, {"dataset": "t"}),
        (RecoveryPlan, {"mode": "none"}),
        (RecoveryPlan, {"mode": "full", "datasets": {}}),
        (RecoveryPlan, {"mode": "full", "steps": "none"}),
        (RecoveryPlan, {"mode": "full", "cycles": [1]}),
        (RunRow, {"runId": "r", "started": "yesterday"}),
        (BelowChange, {"name": "t"}),
    ],
)
def test_a_document_of_another_shape_is_refused(class_: type, document: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        from_document(class_, document)


def test_a_value_that_is_read_already_stays_as_it_is() -> None:
    path = Path(Kind("DIRECT", "IDENTITY"))

    assert from_document(Edge, {"source": "a", "target": "b", "paths": [path]}) == Edge("a", "b", (path,))
    assert document_of(from_document(ColumnNode, {"dataset": "d", "name": "n"})) == ColumnNode("d", "n").to_dict()
