"""From the plans that a real probe sent for the cases to lineage and to events, without Java and without Spark."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.plan import Plan
from openlineage_pyspark.facets.model.run import Engine, Job, RedactedState, RunInput, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.workbench.report import lineage_of
from support import cases, recorded_plans
from support.flat_edges import flat

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = cases.all_cases()
VERSIONS = recorded_plans.versions()
RECORDED = [
    pytest.param(version, case, id=f"{version}-{case.name}")
    for version in VERSIONS
    for case in CASES
    if case.runs_on(version)
]
# Python code that only builds a plan, and a function without arguments.
# An exprId, and names that Spark gives to columns, to subqueries, and that the probe writes for attributes.
OF_SPARK = re.compile(r"#\d|\b_w\d|\b__\w|\bol[0-9a-f]{6,}_\d+_")
READABLE_PYTHON = {"python-transform-frame", "python-udf-nothing"}
WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
RUN = "0190a000-0000-7000-8000-000000000002"
read = functools.cache(recorded_plans.read)


@functools.cache
def decoded(version: str, theme: str, id_: str) -> Plan:
    """Return the recorded plan of a case."""
    return decode_plan(read(version, theme)[id_])


@functools.cache
def lineage_in(version: str, theme: str, id_: str) -> PlanLineage:
    """Return what the recorded plan of a case says."""
    plan = decoded(version, theme, id_)
    return lineage_of_plan(plan, session_settings_of(plan, None))


def replayed(version: str, case: cases.Case) -> PlanLineage:
    """Return what the recorded plan of a case says, which several tests ask for."""
    return lineage_in(version, case.theme, case.id)


def event_of(version: str, case: cases.Case) -> bytes:
    """Return the event that a run of a case would end with, without figures of rows and bytes."""
    found = replayed(version, case)
    outputs = tuple(RunOutput(w.write.dataset, w.write.lifecycle, lineage=w.lineage) for w in found.outputs)
    state = RunState(
        event_type="COMPLETE",
        event_time=WHEN,
        run_id=RUN,
        job=Job("cases", case.name, "SQL_JOB"),
        engine=Engine("4.3.0", application=()),
        inputs=tuple(RunInput(dataset) for dataset in found.inputs),
        outputs=outputs,
        gaps=found.gaps,
        operators=found.operators,
    )
    return serialise(build_event(RedactedState(state), EventOptions()))


@functools.cache
def different_events() -> dict[bytes, str]:
    """Return each event once, with the first case that gives it; most are the same on every version."""
    found: dict[bytes, str] = {}
    for version in VERSIONS:
        for case in CASES:
            if case.runs_on(version):
                found.setdefault(event_of(version, case), f"{version}-{case.name}")
    return found


def test_there_are_plans_of_the_oldest_and_of_the_default_spark() -> None:
    """Another version has them as soon as `--regold` is run on it."""
    assert {"3.5", "4.3"} <= set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_there_is_a_plan_of_every_case_that_the_version_knows_and_of_no_other(version: str) -> None:
    """A new case is recorded, and an old one goes with its plan."""
    recorded = [(theme, id_) for theme in sorted({case.theme for case in CASES}) for id_ in read(version, theme)]

    assert recorded == [(case.theme, case.id) for case in CASES if case.runs_on(version)]


def test_every_case_has_an_id_of_its_own() -> None:
    """Otherwise a plan could belong to two cases."""
    ids = [case.id for case in CASES]

    assert len(ids) == len(set(ids))
    assert len(ids) > 300


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_each_edge_names_the_operators_from_its_source_to_the_top_and_its_steps_among_them(version: str) -> None:
    wrong = []
    for case in (case for case in CASES if case.runs_on(version)):
        plan = decoded(version, case.theme, case.id)
        found = lineage_of(lineage_of_plan(plan, session_settings_of(plan, None), paths=True, composed=False), plan)
        for edge in flat(found):
            places = [int(operator.rpartition("#")[2]) for operator in edge.operators]
            # The column of a row that MERGE changes may keep its value: it comes from the target itself.
            leaf = places[:1] == [plan.root] or (places and not plan.operators[places[0]].children)
            names = [f"{plan.operators[at].name}#{at}" for at in places] == list(edge.operators)
            ahead = iter(edge.operators)
            in_order = all(any(step["operator"] == operator for operator in ahead) for step in edge.steps)
            last = next((s["expression"] for s in reversed(edge.steps) if "expression" in s), "")
            told = edge.expression == ("" if edge.subtype == "IDENTITY" else last)
            if not (leaf and names and in_order and told and places[-1] == plan.root):
                wrong.append((case.id, edge))
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_only_code_that_can_not_be_read_makes_an_edge_unsure(version: str) -> None:
    unsure = set()
    for case in (case for case in CASES if case.runs_on(version)):
        found = lineage_of(replayed(version, case), decoded(version, case.theme, case.id))
        if {edge.certainty for edge in flat(found)} - {"exact"}:
            unsure.add(case.name)
    names = {case.name for case in CASES if case.runs_on(version)}
    python = {name for name in names if name.startswith("python-")} - READABLE_PYTHON
    assert unsure == python | {
        "project-script",
        "composed-output-of-a-table-function",
        "composed-python-function",
        "graph-cte-grouped-function",
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_description_is_composed_of_the_columns_of_sources(version: str) -> None:
    composed = [case for case in CASES if case.runs_on(version) and "texts" in case.content]
    found = {case.id: cases.texts(lineage_of(replayed(version, case))) for case in composed}
    expected = {case.id: case.content["texts"] for case in composed}
    assert {id_: {name: texts[name] for name in expected[id_]} for id_, texts in found.items()} == expected


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_no_text_depends_on_the_session(version: str) -> None:
    """Neither the composed texts nor those of the steps have an exprId, or a name that Spark has counted."""
    for case in (case for case in CASES if case.runs_on(version)):
        later = recorded_plans.shifted(read(version, case.theme)[case.id], 1000)
        plans = [decoded(version, case.theme, case.id), decode_plan(later)]
        first, second = (lineage_of_plan(plan, session_settings_of(plan, None), paths=True) for plan in plans)
        edges = [flat(lineage_of(found)) for found in (first, second)]
        assert edges[0] == edges[1], case.id
        composed = [edge.expression for edge in edges[0]]
        assert [text for text in composed if re.search(r"#\d|\b_w\d|__auto_generated|\bolx?\w{8,}_\d+_", text)] == [], (
            case.id
        )


def encoded(first: int, warehouse: str, value: str = "1") -> str:
    """Return a plan as the probe sends it, where Spark's counters stand at a number."""
    table = {"o": "CatalogTable", "locationUri": f"{warehouse}/emp", "created": {"n": str(first)}}
    classes = [["CTERelationDef", "P", ["child", "id"]], ["Relation", "P", ["table"]], ["Alias", "E", ["child"]]]
    return json.dumps(
        {
            "classes": classes,
            "types": ["int"],
            "attributes": [[first + 1, "a", 0], [first, "b", 0]],
            "session": {"warehouse": warehouse, "catalog": "in-memory"},
            "cut": False,
            "nodes": [
                [0, [first, [first + 1, "c"]], [-1, {"n": str(first + 7)}], {}],
                [1, "=", [table], {"id": {"n": str(first + 7)}}],
                [2, [first + 1], {"id": first, "t": 0, "s": f"emp.id#{first + 1} > {value}"}],
                None,
            ],
        }
    )


def test_what_differs_from_run_to_run_is_not_recorded() -> None:
    """Numbers of Spark's counters, times, and the warehouse's place."""
    plan = recorded_plans.normalised(encoded(40, "file:/tmp/one"))

    assert plan == recorded_plans.normalised(encoded(1070, "file:/tmp/another"))
    assert plan["attributes"] == [[0, "b", 0], [1, "a", 0]]
    table = {"o": "CatalogTable", "locationUri": "file:/warehouse/emp", "created": {"n": "0"}}
    assert plan["nodes"] == [
        [0, [0, [1, "c"]], [-1, {"n": "0"}], {}],
        [1, "=", [table], {"id": {"n": "0"}}],
        [2, [1], {"id": 0, "t": 0, "s": "emp.id#0 > 1"}],
        None,
    ]


def test_what_a_plan_says_is_recorded() -> None:
    """The comparison can fail."""
    plans = [recorded_plans.normalised(encoded(40, "file:/tmp/one", value)) for value in ("1", "2")]

    assert plans[0] != plans[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_recording_again_changes_nothing(version: str) -> None:
    """Each file is as it would be written, and each plan as it would be normalised."""
    for theme in {case.theme for case in CASES}:
        plans = read(version, theme)
        again = {id_: recorded_plans.normalised(json.dumps(plan)) for id_, plan in plans.items()}
        assert again == plans
        file = recorded_plans.file_of(version, theme)
        assert recorded_plans.text(plans) == file.read_text(encoding="utf-8")


@pytest.mark.no_cover
@pytest.mark.parametrize(("version", "case"), RECORDED)
def test_a_recorded_plan_has_the_lineage_of_its_case(version: str, case: cases.Case) -> None:
    """All edges and no others, as on a real Spark."""
    plan = decoded(version, case.theme, case.id)
    found = lineage_of_plan(plan, session_settings_of(plan, None), fields=True)
    assert cases.comparable(lineage_of(found)) == case.expected()


@pytest.mark.no_cover
@pytest.mark.parametrize(("version", "case"), RECORDED)
def test_an_event_names_the_columns_of_fields_unless_it_is_asked_for_fields(version: str, case: cases.Case) -> None:
    """The names of the specification: what is taken out of a struct comes from its column."""
    found = cases.comparable(lineage_of(replayed(version, case)))
    assert cases.of_columns(found) == cases.of_columns(case.expected())


@pytest.mark.slow
def test_the_event_of_every_recorded_plan_is_valid(specification: Any) -> None:
    """The JSON Schemas of the specification say what is right."""
    for body, name in different_events().items():
        assert specification.violations([json.loads(body)]) == [], name


@pytest.mark.slow
def test_the_event_of_every_recorded_plan_keeps_the_rules(
    violations: Callable[[list[dict[str, Any]]], list[str]],
) -> None:
    """These rules can't be expressed in a schema."""
    for body, name in different_events().items():
        event = json.loads(body)
        start = {**event, "eventType": "START", "inputs": [], "outputs": []}
        assert violations([start, event]) == [], name


def digest() -> str:
    """Return one checksum of the events of all plans."""
    found = hashlib.sha256()
    for version in VERSIONS:
        for case in CASES:
            if case.runs_on(version):
                found.update(event_of(version, case))
    return found.hexdigest()


@pytest.mark.long
@pytest.mark.slow
def test_every_process_makes_the_same_events() -> None:
    """No event depends on the order of a set, which each process chooses anew."""
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    code = f"import sys; sys.path[:0] = {paths}; import test_recorded_plans; print(test_recorded_plans.digest())"
    others = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]

    assert others == [digest()] * 2
