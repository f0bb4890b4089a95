"""A listener on a session that runs already, and on a context that the JVM made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.any_spark


@pytest.fixture(scope="module")
def by_hand(jobs: Any) -> Any:
    return jobs.run("by_hand.py", submit=False, lineage=False)


def test_the_handle_does_what_it_says(by_hand: Any) -> None:
    assert by_hand.code == 0
    assert by_hand.stdout.splitlines() == [
        (
            "refused: no transport is configured; the shortest configuration is "
            "spark.openlineage.transport.type=file with spark.openlineage.transport.location=PATH"
        ),
        (
            "refused: spark.openlineage.transport.type is 'filo', unknown. Did you mean 'file'? "
            "Use one of: amazon_datazone_api, async_http, composite, console, datadog, file, gcplineage, http, kafka, "
            "memory, noop, store."
        ),
        "refused: spark.openlineage.disabled is true",
        "refused: transport.type has no prefix; did you mean spark.openlineage.transport.type?",
        "wrong: expected a SparkSession, got NoneType",
        "wrong: expected a SparkSession, got pyspark.core.context.SparkContext",
        "the same handle: True",
        "delivered by the flush: True",
        "events after the flush: 5",
        "all shipped: True True",
        "events after the closing: 6",
        "another handle: True",
        "events after the stop: 9",
        "refused: this session is stopped: create a new one with SparkSession.builder.getOrCreate()",
    ]


def test_registering_twice_costs_one_warning_and_nothing_else_is_said(by_hand: Any) -> None:
    assert by_hand.said() == [
        (
            "openlineage: a listener is already registered, its handle is returned; "
            "the new settings are ignored, close() it first to change them"
        )
    ]


def test_what_runs_between_registering_and_closing_is_heard_in_every_session(by_hand: Any) -> None:
    written = [
        (Path(event["outputs"][0]["name"]).name, event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"])
        for event in by_hand.queries()
        if event["eventType"] == "COMPLETE"
    ]

    assert written == [("during", 2), ("elsewhere", 3), ("again", 5), ("handed over", 6)]


def test_each_registration_is_a_run_of_the_application_of_its_own(
    by_hand: Any, specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    """A run that has ended can't begin again."""
    first, second, third = ([by_hand.application()[at], by_hand.application()[at + 1]] for at in (0, 2, 4))

    for run in (first, second, third):
        assert [event["eventType"] for event in run] == ["START", "COMPLETE"]
        assert run[0]["run"]["runId"] == run[1]["run"]["runId"]
    assert len({run[0]["run"]["runId"] for run in (first, second, third)}) == 3
    assert [run[0]["job"]["name"] for run in (first, second, third)] == ["by_hand", "by_hand", "handed_over"]
    assert violations(by_hand.events()) == []
    assert specification.violations(by_hand.events()) == []
