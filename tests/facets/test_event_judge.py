"""The checks of events find each fault that they are there for: checks that find none would prove nothing."""

from __future__ import annotations

import copy
import json

import pytest
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions


@pytest.fixture
def events(full_run):
    return [json.loads(serialise(build_event(state, EventOptions()))) for state in full_run]


def lineage(event):
    return event["outputs"][0]["facets"]["columnLineage"]


def drop_an_input(event):
    del event["inputs"][0]


def drop_a_source_field(event):
    del event["inputs"][0]["facets"]["schema"]["fields"][1]


def drop_a_nested_source_field(event):
    del event["inputs"][0]["facets"]["schema"]["fields"][2]["fields"][0]


def drop_an_output_field(event):
    del event["outputs"][0]["facets"]["schema"]["fields"][1]


def invent_a_subtype(event):
    lineage(event)["dataset"][0]["transformations"][0]["subtype"] = "IDENTITY"


def put_direct_in_the_dataset_list(event):
    lineage(event)["dataset"][0]["transformations"][0].update(type="DIRECT", subtype="IDENTITY")


def empty_the_transformations(event):
    lineage(event)["dataset"][0]["transformations"].clear()


def spoil_a_namespace(event):
    event["inputs"][0]["facets"]["symlinks"]["identifiers"][0]["namespace"] = "a b"


def double_an_output(event):
    event["outputs"].append(event["outputs"][0])


def empty_a_name(event):
    event["job"]["name"] = ""


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (drop_an_input, "dataset ('s3://shop', 'warehouse/orders') is not in inputs"),
        (drop_a_source_field, "field 'amount' is not in the schema of ('s3://shop', 'warehouse/orders')"),
        (drop_a_nested_source_field, "field 'buyer.name' is not in the schema"),
        (drop_an_output_field, "column 'total' is not in the output's schema"),
        (invent_a_subtype, "INDIRECT IDENTITY is not a transformation of the specification"),
        (
            put_direct_in_the_dataset_list,
            "dataset list: 'buyer.name' is DIRECT, but a source of all rows must be INDIRECT",
        ),
        (empty_the_transformations, "the edge from 'buyer.name' has no transformation"),
        (spoil_a_namespace, "symlink of warehouse/orders: namespace 'a b' has characters"),
        (double_an_output, "outputs: ('file', '/data/totals') occurs more than once"),
        (empty_a_name, "job: the name is empty"),
    ],
)
def test_a_fault_of_an_event_is_found(events, violations, fault, found):
    assert violations(events) == []
    fault(events[1])
    assert [message for message in violations(events) if found in message]


@pytest.mark.parametrize(
    ("types", "found"),
    [
        (["START"], {"no terminal event"}),
        (["COMPLETE"], {"no START event"}),
        (["START", "START", "FAIL"], {"2 START events"}),
        (["RUNNING", "START", "FAIL"], {"begins with RUNNING"}),
        (["START", "FAIL", "COMPLETE"], {"2 terminal events", "COMPLETE after FAIL"}),
        (["START", "COMPLETE", "RUNNING"], {"RUNNING after COMPLETE"}),
        (["START", "RUNNING", "RUNNING", "ABORT"], set()),
    ],
)
def test_a_run_out_of_order_is_found(events, violations, types, found):
    run = [{**copy.deepcopy(events[0]), "eventType": kind} for kind in types]
    for number, event in enumerate(run):
        event["run"]["facets"]["pyspark_event"]["id"] = str(number)
    assert {message.rsplit(": ", 1)[1] for message in violations(run)} == found


def test_a_run_that_changes_its_job_is_found(events, violations):
    events[1]["job"]["name"] = "another"
    assert [message for message in violations(events) if "belongs to several jobs" in message]


def test_runs_are_judged_apart(events, violations):
    other = copy.deepcopy(events)
    for event in other:
        event["run"]["runId"] = "0190a000-0000-7000-8000-000000000009"
    assert violations([events[0], other[0], other[1], events[1]]) == []


def test_a_source_may_be_the_output_itself(events, violations):
    lineage(events[0])["dataset"][0].update(namespace="file", name="/data/totals", field="total")
    assert violations(events) == []


def test_the_levels_of_arrays_and_maps_may_be_left_out_of_a_path(events, violations):
    for path in ("buyer.phones", "buyer.phones._element", "buyer.marks.value", "buyer"):
        lineage(events[0])["dataset"][0]["field"] = path
        assert violations(events) == []
    lineage(events[0])["dataset"][0]["field"] = "buyer.marks.values"
    assert len(violations(events)) == 1


def remove_a_required_field(event):
    del event["run"]["facets"]["processing_engine"]["version"]


def spoil_a_uri(event):
    event["inputs"][0]["facets"]["dataSource"]["uri"] = "file"


def take_the_zone_off_the_time(event):
    event["eventTime"] = "2026-01-02T03:04:05"


def spoil_the_run_id(event):
    event["run"]["runId"] = "7"


def name_the_schema_of_another_facet(event):
    facet = event["job"]["facets"]["jobType"]
    facet["_schemaURL"] = facet["_schemaURL"].replace("JobType", "SQL")


def put_a_facet_in_the_wrong_place(event):
    output = event["outputs"][0]
    output["facets"]["outputStatistics"] = output["outputFacets"]["outputStatistics"]


def add_an_unknown_facet(event):
    event["run"]["facets"]["mine"] = event["run"]["facets"]["processing_engine"]


def use_the_schema_of_all_events(event):
    event["schemaURL"] = "https://openlineage.io/spec/2-0-2/OpenLineage.json"


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (remove_a_required_field, "'version' is a required property"),
        (spoil_a_uri, "'file' is not a 'uri'"),
        (take_the_zone_off_the_time, "is not a 'date-time'"),
        (spoil_the_run_id, "'7' is not a 'uuid'"),
        (name_the_schema_of_another_facet, "jobType: _schemaURL is"),
        (put_a_facet_in_the_wrong_place, "outputStatistics: no schema for a DatasetFacet of this name"),
        (add_an_unknown_facet, "mine: no schema for a RunFacet of this name"),
        (use_the_schema_of_all_events, "schemaURL is https://openlineage.io/spec/2-0-2/OpenLineage.json"),
    ],
)
def test_what_the_schemas_refuse_is_found(events, specification, fault, found):
    assert specification.violations(events) == []
    fault(events[1])
    messages = specification.violations(events)
    assert len(messages) == 1
    assert found in messages[0]


def test_one_name_has_a_schema_for_each_entity_that_it_is_of(specification):
    entities = {entity for entity, name in specification.schemas.by_facet if name == "tags"}
    assert entities == {"RunFacet", "JobFacet", "DatasetFacet"}
    assert {entity for entity, name in specification.schemas.by_facet if name == "subset"} == {
        "InputDatasetFacet",
        "OutputDatasetFacet",
    }
    assert ("JobFacet", "lineage") in specification.schemas.by_facet
