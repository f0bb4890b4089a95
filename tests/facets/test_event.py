"""A run's state becomes a valid OpenLineage event that says all that is known."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from importlib import metadata

import attrs
import pytest
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import PACKAGE_VERSION, PRODUCER, serialise
from openlineage_pyspark.facets.events.options import EventOptions, Owner, Tag
from openlineage_pyspark.facets.model.dataset import Identifier, Statistics, Symlink
from openlineage_pyspark.facets.model.run import Engine, Job, RunReference, RunState
from openlineage_pyspark.workbench.events.read import facets_of

CHOSEN = EventOptions(
    owners=(Owner("team:data", "MAINTAINER"), Owner("user:eve")),
    job_tags=(Tag("tier", "gold"), Tag("nightly")),
    run_tags=(Tag("ticket", "42", source="USER"),),
    job_documentation="sums up a day",
)


def as_json(state, options=CHOSEN):
    return json.loads(serialise(build_event(state, options)))


def test_a_full_run_is_valid_against_the_specification(full_run, specification):
    assert specification.violations([as_json(state) for state in full_run]) == []


def test_a_full_run_keeps_the_rules_that_no_schema_can_say(full_run, violations):
    assert violations([as_json(state) for state in full_run]) == []


def test_a_full_event_is_as_in_the_golden_file(full_run, golden):
    """The version is taken out, so that a release changes no golden file."""
    event = as_json(full_run[1])
    engine = event["run"]["facets"]["processing_engine"]
    assert engine["openlineageAdapterVersion"] == PACKAGE_VERSION
    engine["openlineageAdapterVersion"] = "VERSION"
    text = json.dumps(event, indent=1, ensure_ascii=False).replace(PRODUCER, "PRODUCER")
    golden("facets/full_event.json", text + "\n")


def test_the_parts_that_a_run_reads_and_writes_are_in_a_facet(full_run, specification, violations):
    def part(each, path):
        return attrs.evolve(each, dataset=attrs.evolve(each.dataset, locations=(path,)))

    state = full_run[1]
    inputs = (part(state.inputs[0], "/in/2026-01-01"), *state.inputs[1:])
    state = attrs.evolve(state, inputs=inputs, outputs=tuple(part(o, "/out/2026-01-01") for o in state.outputs))
    event = as_json(state)

    assert specification.violations([event]) == violations([as_json(full_run[0]), event]) == []
    found = [dataset["inputFacets"].get("subset", {}) for dataset in event["inputs"] if "inputFacets" in dataset]
    assert found[0]["inputCondition"] == {"type": "location", "locations": ["/in/2026-01-01"]}
    assert [facet for facet in found[1:] if facet] == []
    assert [dataset["outputFacets"]["subset"]["outputCondition"] for dataset in event["outputs"]] == [
        {"type": "location", "locations": ["/out/2026-01-01"]} for _ in state.outputs
    ]


def test_an_output_that_is_made_from_some_inputs_alone_says_so(full_run, specification, violations):
    state = full_run[1]
    sources = tuple(each.dataset.identifier for each in state.inputs[:1])
    event = as_json(attrs.evolve(state, outputs=tuple(attrs.evolve(each, sources=sources) for each in state.outputs)))

    assert specification.violations([event]) == violations([as_json(full_run[0]), event]) == []
    first = {key: event["inputs"][0][key] for key in ("namespace", "name")}
    assert event["outputs"][0]["facets"]["lineage"]["inputs"] == [{"type": "DATASET", **first}]
    assert "lineage" not in as_json(state)["outputs"][0]["facets"]


def test_the_producer_is_this_package_at_its_version(full_run):
    event = as_json(full_run[1])
    version = metadata.version("openlineage-pyspark")
    producer = f"pkg:pypi/openlineage-pyspark@{version}"
    assert {event["producer"]} | {facet["_producer"] for *_, facet in facets_of(event)} == {producer}


def test_the_values_and_options_do_not_load_openlineage_python():
    program = (
        "import sys, openlineage_pyspark.facets.model.run, openlineage_pyspark.facets.events.options; "
        "print([m for m in sys.modules if m[:12] == 'openlineage.'])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_an_application_without_datasets_is_valid(specification):
    state = RunState(
        event_type="START",
        event_time=dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
        run_id="0190a000-0000-7000-8000-000000000001",
        job=Job("shop", "nightly", "APPLICATION", processing_type="NONE"),
        engine=Engine("3.5.9"),
    )
    event = as_json(state, EventOptions())
    assert specification.violations([event]) == []
    assert (event["inputs"], event["outputs"]) == ([], [])
    assert event["run"]["facets"].keys() == {"processing_engine", "pyspark_event"}
    assert event["job"]["facets"].keys() == {"jobType"}


def test_the_time_is_written_in_utc_with_its_zone(full_run):
    east = dt.timezone(dt.timedelta(hours=5, minutes=30))
    state = attrs.evolve(full_run[0], event_time=full_run[0].event_time.astimezone(east))
    assert as_json(state)["eventTime"] == "2026-01-02T03:04:05.678000Z"


def test_a_time_without_a_zone_is_refused(full_run):
    state = attrs.evolve(full_run[0], event_time=dt.datetime(2026, 1, 2, 3))
    with pytest.raises(ValueError, match="event_time 2026-01-02T03:00:00 has no time zone"):
        build_event(state, CHOSEN)


@pytest.mark.parametrize("change", [{"event_type": "STOPPED"}, {"run_id": "run-1"}])
def test_what_the_specification_does_not_know_is_refused(full_run, change):
    with pytest.raises(ValueError, match=r"STOPPED|badly formed"):
        build_event(attrs.evolve(full_run[0], **change), CHOSEN)


def test_an_unknown_lifecycle_change_is_refused(full_run):
    output = attrs.evolve(full_run[0].outputs[0], lifecycle="APPEND")
    with pytest.raises(ValueError, match="APPEND"):
        build_event(attrs.evolve(full_run[0], outputs=(output,)), CHOSEN)


@pytest.mark.parametrize(("event_type", "shown"), [("FAIL", True), ("ABORT", True), ("COMPLETE", False)])
def test_a_failure_is_told_by_the_events_that_end_badly(full_run, event_type, shown):
    event = as_json(attrs.evolve(full_run[1], event_type=event_type))
    assert ("errorMessage" in event["run"]["facets"]) is shown


def test_a_rename_names_the_dataset_as_it_was(full_run):
    output = attrs.evolve(full_run[0].outputs[0], lifecycle="RENAME", renamed_from=Identifier("my disk", "/data/old"))
    event = as_json(attrs.evolve(full_run[0], outputs=(output,)))
    facet = event["outputs"][0]["facets"]["lifecycleStateChange"]
    assert facet["lifecycleStateChange"] == "RENAME"
    assert facet["previousIdentifier"] == {"name": "/data/old", "namespace": "my_disk"}


def test_statistics_of_which_spark_said_nothing_are_no_facet(full_run):
    inputs = (attrs.evolve(full_run[1].inputs[0], statistics=Statistics()),)
    outputs = (attrs.evolve(full_run[1].outputs[0], statistics=Statistics(rows=0)),)
    event = as_json(attrs.evolve(full_run[1], inputs=inputs, outputs=outputs))
    assert "inputFacets" not in event["inputs"][0]
    assert event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 0


def test_failed_tasks_are_never_more_than_all_tasks(full_run):
    event = as_json(attrs.evolve(full_run[0], operators=0))
    facet = event["run"]["facets"]["extractionError"]
    assert (facet["totalTasks"], facet["failedTasks"]) == (1, 1)
    assert [(error["task"], error["errorMessage"]) for error in facet["errors"]] == [
        ("MyOperator", "all inputs are taken to reach all outputs")
    ]


def test_a_run_that_was_understood_has_no_extraction_error(full_run):
    event = as_json(attrs.evolve(full_run[0], gaps=()))
    assert "extractionError" not in event["run"]["facets"]


def test_a_source_location_that_marquez_can_not_store_is_left_out_and_named(full_run):
    job = attrs.evolve(full_run[0].job, source_location="file:///" + "d" * 250)
    event = as_json(attrs.evolve(full_run[0], job=job, gaps=()))
    assert "sourceCodeLocation" not in event["job"]["facets"]
    messages = [error["errorMessage"] for error in event["run"]["facets"]["extractionError"]["errors"]]
    assert messages == ["sourceCodeLocation left out: its url is 258 characters, over 255"]


def test_a_disabled_facet_stands_nowhere_and_the_others_stay(full_run):
    everything = as_json(full_run[1])
    names = {name for _, (_, name), _ in facets_of(everything)}
    assert len(names) == 24
    for disabled in names:
        event = as_json(full_run[1], attrs.evolve(CHOSEN, disabled=frozenset({disabled})))
        assert {name for _, (_, name), _ in facets_of(event)} == names - {disabled}


def test_a_disabled_facet_is_not_named_as_left_out(full_run):
    job = attrs.evolve(full_run[0].job, source_location="file:///" + "d" * 250)
    disabled = frozenset({"columnLineage", "sourceCodeLocation"})
    options = EventOptions(schema_size_limit=1, disabled=disabled)
    event = as_json(attrs.evolve(full_run[0], job=job, gaps=()), options)
    assert "extractionError" not in event["run"]["facets"]


def test_a_namespace_that_marquez_refuses_is_replaced_everywhere_at_once(full_run, specification, violations):
    """Dataset, column lineage, symlink, job, parent and root all change, so the graph stays whole."""
    odd = Identifier("kafka://a:9092,b:9092", "orders")

    def moved(edge):
        return attrs.evolve(edge, dataset=odd)

    state = full_run[0]
    orders = attrs.evolve(state.inputs[0].dataset, identifier=odd, symlinks=(Symlink("größe 1", "o"),))
    lineage = state.outputs[0].lineage
    columns = tuple(attrs.evolve(c, edges=tuple(map(moved, c.edges[:1]))) for c in lineage.columns[:1])
    lineage = attrs.evolve(lineage, columns=columns, dataset=tuple(map(moved, lineage.dataset)))
    odd_job = RunReference(state.parent.run.run_id, "my jobs", "nightly")
    state = attrs.evolve(
        state,
        job=attrs.evolve(state.job, namespace="my jobs"),
        parent=attrs.evolve(state.parent, run=odd_job, root=odd_job),
        inputs=(attrs.evolve(state.inputs[0], dataset=orders),),
        outputs=(attrs.evolve(state.outputs[0], lineage=lineage),),
    )
    events = [as_json(attrs.evolve(state, event_type=kind)) for kind in ("START", "COMPLETE")]
    assert violations(events) == []
    assert specification.violations(events) == []
    assert events[0]["inputs"][0]["namespace"] == "kafka://a:9092_b:9092"
    assert events[0]["inputs"][0]["facets"]["symlinks"]["identifiers"][0]["namespace"] == "gr__e_1"
    parent = events[0]["run"]["facets"]["parent"]
    namespaces = events[0]["job"]["namespace"], parent["job"]["namespace"], parent["root"]["job"]["namespace"]
    assert namespaces == ("my_jobs", "my_jobs", "my_jobs")
