"""The specification finds what is not of its shape."""

from __future__ import annotations

import pytest


def lineage(event):
    return event["outputs"][0]["facets"]["columnLineage"]


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
