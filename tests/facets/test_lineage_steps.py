"""The facet with the operators and steps of edges."""

from __future__ import annotations

import importlib.resources
import json
from typing import Any, TypeAlias

import attrs
import pytest
from jsonschema import Draft202012Validator
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    UseKind,
    Way,
    transformation,
)
from openlineage_pyspark.facets.model.run import RedactedState, RunOutput, RunState
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted

SCHEMA = importlib.resources.files("openlineage_pyspark.facets.events").joinpath(
    "schemas/PySparkLineageStepsDatasetFacet.json"
)
Runs: TypeAlias = "tuple[RunState, RunState]"
SOURCE, TARGET = Identifier("file", "/lake/a"), Identifier("file", "/lake/b")
PATH = ("LogicalRelation#3", "Filter#2", "Project#1", "Insert#0")
UDF = OperatorStep("Project#1", "f(a, 's3cr3t')", Certainty.OPAQUE, before=OperatorStep("Filter#2", ""))
OPAQUE = transformation(UseKind.TRANSFORMATION, Way(PATH, UDF, Certainty.OPAQUE))
COPY = transformation(UseKind.IDENTITY, Way(PATH))
LINEAGE = ColumnLineage(
    (
        OutputColumn("x", (InputField(SOURCE, "a", (OPAQUE,)),)),
        OutputColumn("y", (InputField(SOURCE, "b", (COPY,)),)),
        OutputColumn("z", ()),
    ),
    (InputField(SOURCE, "c", (transformation(UseKind.FILTER, Way(PATH, OperatorStep("Filter#2", "(c > 1)"))),)),),
)


def facet(runs: Runs, lineage: ColumnLineage = LINEAGE, **options: Any) -> dict[str, Any] | None:
    """Return the facet of the only output of an event."""
    output = RunOutput(Dataset(TARGET), lineage=lineage)
    event = build_event(RedactedState(attrs.evolve(runs[1], outputs=(output,))), EventOptions(**options))
    found: dict[str, Any] = json.loads(serialise(event))["outputs"][0]["facets"]
    return found.get("pyspark_lineage_steps")


def edge(
    field: str,
    kind: tuple[str, str],
    certainty: str,
    steps: list[dict[str, Any]],
    path: list[int],
    description: int | None = None,
) -> Any:
    return {
        "namespace": "file",
        "name": "/lake/a",
        "field": field,
        "type": kind[0],
        "subtype": kind[1],
        "masking": False,
        "certainty": certainty,
        **({"description": description} if description is not None else {}),
        "operators": path,
        "steps": steps,
    }


X = edge(
    "a",
    ("DIRECT", "TRANSFORMATION"),
    "opaque",
    [{"operator": 1}, {"operator": 2, "expression": 0, "certainty": "opaque"}],
    [0, 1, 2, 3],
    description=0,
)


def test_by_default_only_edges_that_are_not_exact_are_told(full_run: Runs) -> None:
    found = facet(full_run)
    assert found is not None
    assert (found["operators"], found["expressions"]) == (list(PATH), ["f(a, 's3cr3t')"])
    assert (found["columns"], found["rows"]) == ({"x": [X]}, [])


def test_all_edges_are_told_if_asked_for(full_run: Runs) -> None:
    found = facet(full_run, steps="all")
    assert found is not None
    assert found["expressions"] == ["f(a, 's3cr3t')", "(c > 1)"]
    assert found["columns"] == {"x": [X], "y": [edge("b", ("DIRECT", "IDENTITY"), "exact", [], [0, 1, 2, 3])]}
    assert found["rows"] == [
        edge("c", ("INDIRECT", "FILTER"), "exact", [{"operator": 1, "expression": 1}], [0, 1, 2, 3], 1)
    ]


def test_there_is_no_facet_if_nothing_is_to_be_told(full_run: Runs) -> None:
    assert facet(full_run, steps="none") is None
    assert facet(full_run, disabled=frozenset({"pyspark_lineage_steps"})) is None
    assert facet(full_run, disabled=frozenset({"columnLineage"})) is None
    assert facet(full_run, attrs.evolve(LINEAGE, columns=LINEAGE.columns[1:])) is None


def test_of_a_long_way_the_beginning_and_the_end_are_told(full_run: Runs) -> None:
    step, path = OperatorStep("Relation#0", ""), [f"Project#{number}" for number in range(200)]
    for operator in path:
        step = OperatorStep(operator, "", before=step)
    way = Way(tuple(path), step, Certainty.GUESSED)
    lineage = ColumnLineage(
        (OutputColumn("x", (InputField(SOURCE, "a", (transformation(UseKind.TRANSFORMATION, way),)),)),)
    )
    found = facet(full_run, lineage)
    assert found is not None
    (told,) = found["columns"]["x"]
    assert [found["operators"][at] for at in told["operators"]] == path[:25] + path[-25:]
    assert (told["operatorsLeftOut"], len(told["steps"])) == (150, 50)


@pytest.mark.parametrize("steps", ["all", "unsure"])
def test_the_facet_keeps_its_published_schema(full_run: Runs, steps: str) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    (definition,) = [part for part in schema["$defs"]["PySparkLineageStepsDatasetFacet"]["allOf"] if "$ref" not in part]
    found = facet(full_run, steps=steps)
    assert found is not None
    validator = Draft202012Validator({**definition, "$defs": schema["$defs"]})
    assert [problem.message for problem in validator.iter_errors(found)] == []
    assert found["_schemaURL"].startswith(schema["$id"])


def test_expressions_of_steps_are_redacted_and_steps_that_nobody_asked_for_are_gone(full_run: Runs) -> None:
    unasked = transformation(UseKind.TRANSFORMATION, Way((), OperatorStep("Project#1", "concat(a, 's3cr3t')")))
    columns = (LINEAGE.columns[0], OutputColumn("w", (InputField(SOURCE, "a", (unasked,)),)))
    state = attrs.evolve(full_run[1], outputs=(RunOutput(Dataset(TARGET), lineage=ColumnLineage(columns)),))
    lineage = redacted(state, Redaction(known=("s3cr3t",))).outputs[0].lineage
    assert lineage is not None
    (told,), (plain,) = (column.edges[0].transformations for column in lineage.columns)
    assert [step.expression for step in told.way.steps] == ["", "f(a, '***')"]
    assert (told.way.operators, told.way.certainty) == (PATH, Certainty.OPAQUE)
    assert (plain.way, plain.description) == (Way(), "concat(a, '***')")
