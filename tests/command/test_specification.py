"""The specification finds what is not of its shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from openlineage_pyspark.command.specification import Schemas, class_of, class_problems

SCHEMAS = Path(__file__).parents[3] / "shared" / "spec"
needs_schemas = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason="the specification's JSON Schemas are not there: ../shared/spec beside the repository"
)


def lineage(event):
    return event["outputs"][0]["facets"]["columnLineage"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda event: event.pop("producer"), "the event: 'producer' is missing"),
        (lambda event: event["run"].update(runId="7"), "run.runId: '7' is not what runId must be"),
        (lambda event: event.update(eventTime="now"), "eventTime: 'now' is not what eventTime must be"),
        (
            lambda event: event.update(eventType="BEGIN"),
            "eventType: is none of START, RUNNING, COMPLETE, ABORT, FAIL, OTHER",
        ),
        (lambda event: event.update(inputs=None), "inputs: is not a list"),
        (lambda event: event["job"].update(name=3), "job.name: is not text"),
        (
            lambda event: event["run"]["facets"]["processing_engine"].pop("version"),
            "run: processing_engine: 'version' is missing",
        ),
        (
            lambda event: event["outputs"][0]["outputFacets"]["outputStatistics"].update(rowCount="4"),
            "outputs file /data/totals: outputStatistics.rowCount: is not a whole number",
        ),
        (
            lambda event: event["outputs"][0]["facets"].update(event["outputs"][0]["outputFacets"]),
            (
                "outputs file /data/totals: outputStatistics: is a facet of OutputDatasetFacet, and stands among "
                "those of DatasetFacet"
            ),
        ),
        (
            lambda event: lineage(event)["fields"]["total"]["inputFields"][0].pop("field"),
            "outputs file /data/totals: columnLineage.fields.total.inputFields[0]: 'field' is missing",
        ),
    ],
)
def test_the_classes_find_what_is_missing_or_of_the_wrong_kind(events, change, problem):
    assert class_problems(events[1]) == []
    change(events[1])

    assert class_problems(events[1]) == [problem]


@needs_schemas
def test_the_classes_know_each_facet_of_the_specification():
    """A facet whose class is not found would be taken for one of the user's own."""
    unknown = {key for key in Schemas(SCHEMAS).by_facet if class_of(key) is None}

    assert unknown == {("InputDatasetFacet", "icebergScanReport"), ("OutputDatasetFacet", "icebergCommitReport")}
