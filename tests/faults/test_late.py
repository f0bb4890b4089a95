"""A listener that is behind tells of the same runs as one that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.any_spark, pytest.mark.long]


@pytest.fixture(scope="module")
def late(faults: Any) -> Any:
    return faults.run("late.py")


@pytest.mark.parametrize(
    ("output", "processing", "read"),
    [("saved", "BATCH", "rows"), ("made", "BATCH", "saved"), ("batches", "STREAMING", "rows")],
)
def test_a_write_that_had_ended_before_its_beginning_was_heard_is_one_run(
    late: Any, output: str, processing: str, read: str
) -> None:
    """Spark runs an inner execution for the rows, and forgets the plans of both when they end."""
    events = [e for e in late.queries() if [Path(written["name"]).name for written in e["outputs"]] == [output]]

    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert len({event["run"]["runId"] for event in events}) == 1
    assert [event["job"]["facets"]["jobType"]["processingType"] for event in events] == [processing] * 2
    assert [Path(dataset["name"]).name for dataset in events[1]["inputs"]] == [read]
    assert list(events[1]["outputs"][0]["facets"]["columnLineage"]["fields"]) == ["id"]
    assert events[1]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 5


def test_nothing_else_is_told_of_and_the_job_is_as_it_is(late: Any, violations: Any) -> None:
    written = {Path(output["name"]).name for event in late.queries() for output in event["outputs"]}

    assert written == {"rows", "held", "saved", "made", "batches"}
    assert len({event["run"]["runId"] for event in late.queries()}) == 5
    assert violations(late.events()) == []
    assert (late.code, late.stdout) == (0, "rows 5 5 5\n")
