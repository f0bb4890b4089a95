"""A listener queue that is held up: Spark drops what does not fit, the events say so, and the job does not wait."""

from __future__ import annotations

from typing import Any

import pytest

# How the listener shares out the time at the end does not depend on Spark.
pytestmark = [pytest.mark.any_spark, pytest.mark.long]

CAPACITY = "spark.scheduler.listenerbus.eventqueue.openlineage.capacity"


def errors(event: dict) -> list[str]:
    return [error["errorMessage"] for error in event["run"]["facets"]["extractionError"]["errors"]]


def test_what_spark_drops_is_counted_and_said_and_the_job_is_the_same(faults: Any) -> None:
    pair = faults.pair("overflow.py", "6", conf={CAPACITY: "5"})

    assert pair.same()
    assert pair.heard.code == 0
    (told,) = [message for message in errors(pair.heard.application()[-1]) if CAPACITY in message]
    assert int(told.split()[2]) > 0
    assert len([line for line in pair.heard.said() if CAPACITY in line]) == 1


def test_an_application_that_ends_before_spark_has_told_all_of_it_has_its_terminal_event(faults: Any) -> None:
    job = faults.run("overflow.py", "0", conf={"spark.openlineage.flush.timeoutInMillis": "1000"})

    assert (job.code, job.stdout) == (0, "rows 0\n")
    assert [event["eventType"] for event in job.application()] == ["START", "COMPLETE"]
    assert job.events()[-1] == job.application()[-1]
