"""What is not of the specification's shape is found: by its own JSON Schemas, and without them by ours."""

from __future__ import annotations

import pytest
from openlineage_pyspark.workbench.events.schemas import Shape


def lineage(event):
    return event["outputs"][0]["facets"]["columnLineage"]


def test_events_of_ours_have_the_shape(events):
    assert [Shape().problems(event) for event in events] == [[], []]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda event: event.pop("eventTime"), "$: 'eventTime' is a required property"),
        (lambda event: event.pop("producer"), "$: 'producer' is a required property"),
        (lambda event: event.pop("schemaURL"), "$: 'schemaURL' is a required property"),
        (lambda event: event.pop("run"), "$: 'run' is a required property"),
        (lambda event: event.pop("job"), "$: 'job' is a required property"),
        (lambda event: event.update(eventTime="now"), "$.eventTime: 'now' is not a 'date-time'"),
        (
            lambda event: event.update(eventTime="2026-01-02T03:04:05"),
            "$.eventTime: '2026-01-02T03:04:05' is not a 'date-time'",
        ),
        (lambda event: event.update(producer="me"), "$.producer: 'me' is not a 'uri'"),
        (lambda event: event.update(schemaURL="RunEvent"), "$.schemaURL: 'RunEvent' is not a 'uri'"),
        (
            lambda event: event.update(eventType="BEGIN"),
            "$.eventType: 'BEGIN' is not one of ['START', 'RUNNING', 'COMPLETE', 'ABORT', 'FAIL', 'OTHER']",
        ),
        (lambda event: event.update(run=[]), "$.run: [] is not of type 'object'"),
        (lambda event: event["run"].pop("runId"), "$.run: 'runId' is a required property"),
        (lambda event: event["run"].update(runId="7"), "$.run.runId: '7' is not a 'uuid'"),
        (lambda event: event["run"].update(facets=None), "$.run.facets: None is not of type 'object'"),
        (
            lambda event: event["run"]["facets"]["processing_engine"].pop("_producer"),
            "$.run.facets.processing_engine: '_producer' is a required property",
        ),
        (lambda event: event["run"]["facets"].update(mine=3), "$.run.facets.mine: 3 is not of type 'object'"),
        (lambda event: event["job"].pop("namespace"), "$.job: 'namespace' is a required property"),
        (lambda event: event["job"].update(name=3), "$.job.name: 3 is not of type 'string'"),
        (lambda event: event.update(inputs=None), "$.inputs: None is not of type 'array'"),
        (lambda event: event["inputs"].append("rates"), "$.inputs[2]: 'rates' is not of type 'object'"),
        (lambda event: event["outputs"][0].pop("name"), "$.outputs[0]: 'name' is a required property"),
        (lambda event: event["inputs"][0].update(facets=[]), "$.inputs[0].facets: [] is not of type 'object'"),
        (
            lambda event: event["inputs"][0].update(inputFacets={"mine": {}}),
            "$.inputs[0].inputFacets.mine: '_producer' is a required property",
        ),
        (
            lambda event: event["outputs"][0]["outputFacets"]["outputStatistics"].pop("_schemaURL"),
            "$.outputs[0].outputFacets.outputStatistics: '_schemaURL' is a required property",
        ),
        (
            lambda event: event["inputs"][0]["facets"]["schema"].pop("_producer"),
            "$.inputs[0].facets.schema: '_producer' is a required property",
        ),
        (
            lambda event: event["inputs"][0]["facets"]["schema"]["fields"][2]["fields"][0].pop("name"),
            "$.inputs[0].facets.schema.fields[2].fields[0]: 'name' is a required property",
        ),
        (
            lambda event: event["inputs"][0]["facets"]["symlinks"]["identifiers"][0].pop("namespace"),
            "$.inputs[0].facets.symlinks.identifiers[0]: 'namespace' is a required property",
        ),
        (
            lambda event: lineage(event).pop("fields"),
            "$.outputs[0].facets.columnLineage: 'fields' is a required property",
        ),
        (
            lambda event: lineage(event)["fields"]["total"].pop("inputFields"),
            "$.outputs[0].facets.columnLineage.fields.total: 'inputFields' is a required property",
        ),
        (
            lambda event: lineage(event)["fields"]["total"]["inputFields"][0].pop("field"),
            "$.outputs[0].facets.columnLineage.fields.total.inputFields[0]: 'field' is a required property",
        ),
        (
            lambda event: lineage(event)["dataset"][0]["transformations"][0].pop("type"),
            "$.outputs[0].facets.columnLineage.dataset[0].transformations[0]: 'type' is a required property",
        ),
    ],
)
def test_what_breaks_the_shape_is_found_without_the_specifications_schemas(events, change, problem):
    change(events[1])

    problems = Shape().problems(events[1])

    assert problem in problems
    # A facet that is empty lacks both of its properties.
    assert len(problems) == (2 if problem.endswith("mine: '_producer' is a required property") else 1)


@pytest.mark.parametrize("name", ["_producer", "_schemaURL"])
def test_a_facet_says_by_uris_where_it_comes_from(events, name):
    events[1]["job"]["facets"]["jobType"][name] = "job type"

    (problem,) = Shape().problems(events[1])

    # How a path is written where a name begins with _ depends on the version of jsonschema.
    assert problem.startswith("$.job.facets.jobType")
    assert problem.endswith(": 'job type' is not a 'uri'")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda event: event.pop("producer"), "$: 'producer' is a required property"),
        (lambda event: event["run"].update(runId="7"), "$.run.runId: '7' is not a 'uuid'"),
        (lambda event: event.update(eventTime="now"), "$.eventTime: 'now' is not a 'date-time'"),
        (
            lambda event: event.update(eventType="BEGIN"),
            "$.eventType: 'BEGIN' is not one of ['START', 'RUNNING', 'COMPLETE', 'ABORT', 'FAIL', 'OTHER']",
        ),
        (lambda event: event.update(inputs=None), "$.inputs: None is not of type 'array'"),
        (lambda event: event["job"].update(name=3), "$.job.name: 3 is not of type 'string'"),
        (
            lambda event: event["run"]["facets"]["processing_engine"].pop("version"),
            "run: processing_engine: $: 'version' is a required property",
        ),
        (
            lambda event: event["outputs"][0]["outputFacets"]["outputStatistics"].update(rowCount="4"),
            "outputs file /data/totals: outputStatistics: $.rowCount: '4' is not of type 'integer'",
        ),
        (
            lambda event: event["outputs"][0]["facets"].update(event["outputs"][0]["outputFacets"]),
            "outputs file /data/totals: outputStatistics: no schema for a DatasetFacet of this name",
        ),
        (
            lambda event: lineage(event)["fields"]["total"]["inputFields"][0].pop("field"),
            ("outputs file /data/totals: columnLineage: $.fields.total.inputFields[0]: 'field' is a required property"),
        ),
        (
            lambda event: event["inputs"][0]["facets"]["dataSource"].update(uri="file"),
            "inputs s3://shop warehouse/orders: dataSource: $.uri: 'file' is not a 'uri'",
        ),
        (
            lambda event: event.update(schemaURL="https://example.com/RunEvent"),
            (
                "schemaURL is https://example.com/RunEvent, "
                "not https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
            ),
        ),
    ],
)
def test_what_is_missing_or_of_the_wrong_kind_is_found(events, specification, change, problem):
    assert specification.schemas.problems(events[1]) == []
    change(events[1])

    assert specification.schemas.problems(events[1]) == [problem]
