"""What the listener stands on breaks: its threads, its connection, the session. The job is the same."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.any_spark, pytest.mark.long]


def written(job: Any) -> dict[str, list[str]]:
    """Give the event types of each run that writes, by the last part of what it writes."""
    found: dict[str, list[str]] = {}
    for event in job.queries():
        found.setdefault(event["outputs"][0]["name"].rpartition("/")[2], []).append(event["eventType"])
    return found


def applications(job: Any) -> list[str]:
    return [event["eventType"] for event in job.application()]


WHOLE = ["START", "COMPLETE"]


def test_threads_that_are_killed_are_replaced_and_lose_nothing(faults: Any) -> None:
    pair = faults.pair("breaks.py", "threads")

    assert pair.same()
    assert pair.heard.code == 0
    assert "0 threads of the listener" not in pair.heard.stderr
    assert written(pair.heard) == {"before": WHOLE, "woken": WHOLE, "after": WHOLE, "last": WHOLE}
    assert applications(pair.heard) == WHOLE
    assert [line for line in pair.heard.said() if "the listener's thread failed" in line] != []


def test_the_job_says_where_it_killed_no_thread(faults: Any) -> None:
    """Otherwise it would prove nothing that it does not say so with the listener."""
    assert "0 threads of the listener" in faults.alone("breaks.py", "threads").ran.stderr


def test_broken_connections_to_the_jvm_are_made_anew_and_lose_nothing(faults: Any) -> None:
    pair = faults.pair("breaks.py", "connections")

    assert pair.same()
    assert pair.heard.code == 0
    assert written(pair.heard) == {"before": WHOLE, "after": WHOLE, "last": WHOLE}
    assert applications(pair.heard) == WHOLE


@pytest.fixture(scope="module")
def stop(faults: Any) -> Any:
    return faults.pair("breaks.py", "stop")


def test_a_stop_in_the_middle_of_a_write_ends_as_it_does_without_the_listener(stop: Any) -> None:
    assert stop.same()
    assert stop.heard.code == 0


def test_a_stop_in_the_middle_of_a_write_ends_its_run_and_the_applications(stop: Any) -> None:
    found = written(stop.heard)

    assert found["before"] == WHOLE
    assert found["never"] == ["START", "ABORT"]


def test_a_second_context_is_an_application_of_its_own(stop: Any) -> None:
    found = written(stop.heard)
    first, second = (event["run"]["runId"] for event in stop.heard.application() if event["eventType"] == "START")

    assert (found["after"], found["last"]) == (WHOLE, WHOLE)
    assert applications(stop.heard) == WHOLE * 2
    assert first != second
