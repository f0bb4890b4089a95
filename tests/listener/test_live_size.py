"""The limit on events that is configured holds for what a job sends."""

from __future__ import annotations

from typing import Any

import pytest

# tests/facets/test_size.py has every cut and every limit, without a Spark.
pytestmark = [pytest.mark.any_spark, pytest.mark.long]

LIMIT = 2_500


def test_no_event_of_a_job_is_larger_than_the_limit_and_each_says_what_was_cut(jobs: Any, specification: Any) -> None:
    job = jobs.run("ending.py", "plain", conf={"spark.openlineage.event.maxBytes": str(LIMIT)})

    assert (job.code, job.stdout, job.said()) == (0, "rows 10\nend\n", [])
    assert [event["eventType"] for event in job.events()] == ["START", "START", "COMPLETE", "COMPLETE"]
    sizes = [len(line) for line in (job.folder / "events.ndjson").read_bytes().splitlines()]
    assert max(sizes) <= LIMIT
    assert specification.violations(job.events()) == []
    for event in job.queries():
        cut = [error["task"] for error in event["run"]["facets"]["extractionError"]["errors"]]
        assert cut[:2] == ["event.maxBytes", "descriptions of edges"]
        assert "properties, owners, tags and the source's location" in cut
