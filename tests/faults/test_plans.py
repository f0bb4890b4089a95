"""Plans that are unknown, that fail whoever reads them, or that are far too large: the job is the same."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

# An expression so deep overflows Spark's own stacks, and 100 MB of rows its own heap, as they are by default.
ROOM = {
    "spark.driver.extraJavaOptions": "-Xss16m",
    "spark.driver.memory": "2g",
}


@pytest.fixture(scope="module")
def plans(faults: Any) -> Any:
    return faults.pair("plans.py", conf=ROOM)


def runs(plans: Any) -> dict[str, list[dict]]:
    """Give the events of each run that writes, by the last part of what it writes in the end."""
    found: dict[str, list[dict]] = {}
    for event in plans.heard.queries():
        found.setdefault(event["run"]["runId"], []).append(event)
    return {output["name"].rpartition("/")[2]: run for run in found.values() for output in run[-1]["outputs"]}


def remarks(event: dict) -> list[tuple[str, str]]:
    facet = event["run"]["facets"].get("extractionError", {"errors": []})
    return [(error["task"], error["errorMessage"]) for error in facet["errors"]]


def test_the_job_gives_the_same_output_and_exit_code(plans: Any) -> None:
    assert plans.same()
    assert plans.heard.code == 0
    assert plans.heard.stdout.endswith("end\n")


def test_no_statement_waits_for_whoever_reads_its_plan(plans: Any) -> None:
    heard, alone = (
        dict(line.split() for line in (job.folder / "seconds").read_text().splitlines())
        for job in (plans.heard, plans.alone.ran)
    )

    assert heard.keys() == alone.keys()
    # Far above noise, and below anything that hangs.
    assert [name for name, seconds in heard.items() if float(seconds) > float(alone[name]) + 30] == []


def test_a_plan_that_fails_its_reader_has_a_run_that_names_the_fault(plans: Any) -> None:
    told = [
        (event["eventType"], message)
        for event in plans.heard.queries()
        for _, message in remarks(event)
        if "could not be read" in message
    ]

    assert [event_type for event_type, _ in told] == ["START", "COMPLETE"] * 3
    for fault, (_, message) in zip(("IllegalState", "StackOverflow", "NoClassDefFound"), told[1::2], strict=True):
        assert f"could not be read (java.lang.{fault}" in message


def test_the_application_ends_well(plans: Any) -> None:
    assert [event["eventType"] for event in plans.heard.application()] == ["START", "COMPLETE"]
    assert remarks(plans.heard.application()[-1]) == []
    assert plans.heard.said() == []


@pytest.mark.parametrize("name", ["operator", "reader", "writer", "nodes", "deep", "wide", "local"])
def test_a_plan_that_can_be_read_has_its_run(plans: Any, name: str) -> None:
    assert [event["eventType"] for event in runs(plans)[name]] == ["START", "COMPLETE"]


def test_what_follows_a_fault_has_its_lineage(plans: Any) -> None:
    start, complete = runs(plans)["afterwards"]

    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert [field["name"] for field in complete["outputs"][0]["facets"]["schema"]["fields"]] == ["id", "twice"]
    assert remarks(complete) == []


@pytest.mark.parametrize(
    ("name", "task"), [("operator", "foreign.Mystery"), ("reader", "org.apache.spark.sql.execution.datasources.")]
)
def test_what_is_unknown_is_named(plans: Any, name: str, task: str) -> None:
    assert [found for found, _ in remarks(runs(plans)[name][-1]) if found.startswith(task)] != []


def test_a_command_that_is_unknown_is_named_and_has_what_spark_wrote_for_it(plans: Any) -> None:
    start, complete = (
        event for event in plans.heard.queries() if [task for task, _ in remarks(event)] == ["foreign.Smuggle"]
    )

    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["outputs"] == []
    assert runs(plans)["command"] == [start, complete]


def test_an_event_of_many_columns_has_its_schema_and_says_what_is_missing(plans: Any) -> None:
    complete = runs(plans)["wide"][-1]

    assert len(complete["outputs"][0]["facets"]["schema"]["fields"]) == 5000
    assert "5000 columns are more than the limit of 1000" in remarks(complete)[0][1]


def test_rows_of_the_driver_are_never_sent(plans: Any) -> None:
    assert "xxxx" not in (plans.heard.folder / "events.ndjson").read_text("utf-8")
