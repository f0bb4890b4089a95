"""A listener that is prepared too late listens from then on, and says what is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.any_spark


@pytest.mark.long
def test_a_listener_that_is_prepared_late_tells_what_comes_then_and_that_the_rest_is_missing(faults: Any) -> None:
    job = faults.run("late_start.py", "fill", lineage=False)

    outputs = [Path(written["name"]).name for event in job.queries() for written in event["outputs"]]
    application = job.application()
    missing = (
        r"nothing is known of the first \d+ s; the listener was not prepared within "
        r"spark\.openlineage\.start\.timeoutInMillis"
    )
    (said,) = job.said()
    assert (job.code, job.stdout) == (0, "rows 3\n")
    assert outputs == ["after", "after"]
    assert [event["eventType"] for event in application] == ["START", "COMPLETE"]
    assert re.fullmatch(f".*listening from the start failed, the job goes on: TimeoutError: {missing}", said)
    (gap,) = application[1]["run"]["facets"]["extractionError"]["errors"]
    assert (gap["task"], gap["errorMessage"]) == ("listening from the start: TimeoutError", "1 times")


@pytest.mark.long
def test_a_job_that_ends_before_its_listener_is_prepared_is_as_it_is_and_says_so(faults: Any) -> None:
    job = faults.run("late_start.py", "never", lineage=False)

    (said,) = job.said()
    why = r"the application ended before the listener was prepared \(\d+ s\)"
    assert (job.code, job.stdout) == (0, "rows 3\n")
    assert re.fullmatch(f".*no lineage of this application: {why}", said)
    assert job.events() == []


@pytest.mark.long
def test_a_call_to_the_jvm_that_fails_at_the_start_is_made_again_and_nothing_is_missing(faults: Any) -> None:
    job = faults.run("start_fails.py", "2")

    assert (job.code, job.stdout, job.said()) == (0, "rows 2\n", [])
    assert "extractionError" not in job.application()[1]["run"]["facets"]
    assert [event["eventType"] for event in job.application()] == ["START", "COMPLETE"]
    assert [event["eventType"] for event in job.queries()] == ["START", "COMPLETE"]


@pytest.mark.long
def test_a_listener_that_the_jvm_never_answers_leaves_the_job_as_it_is(faults: Any) -> None:
    job = faults.run("start_fails.py", "9")

    assert (job.code, job.stdout, job.events()) == (0, "rows 2\n", [])
    assert len(job.said()) == 1


@pytest.mark.long
def test_a_job_that_imports_openlineages_modules_meanwhile_gets_no_error_and_has_its_lineage(faults: Any) -> None:
    """Each of two threads would wait for a module that the other one is importing."""
    job = faults.run("imports_meanwhile.py")

    assert (job.code, job.stdout, job.said()) == (0, "imported RunEvent\nrows 2\n", [])
    assert [event["eventType"] for event in job.queries()] == ["START", "COMPLETE"]
    assert "extractionError" not in job.application()[1]["run"]["facets"]
