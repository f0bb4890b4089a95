"""Strict mode: a lineage fault makes a job fail at its end that is otherwise as it would be."""

from __future__ import annotations

from typing import Any

import pytest

# Which faults count, and what becomes of the status, does not depend on Spark.
pytestmark = [pytest.mark.any_spark, pytest.mark.long]

STRICT = {"spark.openlineage.strict": "true"}
# What the interpreter does behind the functions of `atexit` is left out where strict mode ends the process.
FAILED = ["rows 10", "atexit, after the session", "atexit, before the session"]
WELL = [*FAILED, "let go of"]


def listed(job: Any) -> list[str]:
    """Give the list that strict mode writes at the end, its heading first."""
    lines = job.stderr.splitlines() + job.stdout.splitlines()
    begin = [at for at, line in enumerate(lines) if line.startswith("openlineage: strict: ")]
    return [line.removeprefix("openlineage: ") for line in lines[begin[0] :]] if begin else []


@pytest.fixture(scope="module")
def failed(faults: Any) -> Any:
    return faults.pair("strict.py", "operator", "end", conf=STRICT)


def test_an_unknown_operator_makes_the_process_fail_behind_the_functions_of_atexit(failed: Any) -> None:
    assert (failed.heard.code, failed.alone.code) == (70, 0)
    assert (failed.heard.stdout.splitlines(), failed.alone.stdout.splitlines()) == (FAILED, WELL)
    assert [event["eventType"] for event in failed.heard.application()] == ["START", "COMPLETE"]


def test_without_strict_mode_the_interpreter_closes_what_the_job_left_open(failed: Any) -> None:
    assert (failed.alone.ran.folder / "unclosed").read_text() == "all of it"


def test_the_faults_are_listed(failed: Any) -> None:
    heading, *faults = listed(failed.heard)[:2]

    assert heading == "strict: 1 lineage fault, the exit status is 70"
    assert faults[0].startswith("foreign.Mystery: an operator without a rule")


def test_spark_submit_passes_the_status_on(faults: Any) -> None:
    job = faults.run("strict.py", "operator", "zero", conf=STRICT, submit=True)

    assert job.code == 70
    assert listed(job)[0] == "strict: 1 lineage fault, the exit status is 70"


def test_a_job_without_a_fault_is_as_it_was(faults: Any) -> None:
    job = faults.run("strict.py", "none", "stop", conf=STRICT)

    assert (job.code, job.stdout.splitlines()) == (0, WELL)
    assert listed(job) == []


def test_a_job_that_fails_by_itself_keeps_its_status(faults: Any) -> None:
    job = faults.run("strict.py", "operator", "exit", conf=STRICT)

    assert job.code == 3
    assert listed(job)[0] == "strict: 1 lineage fault, the exit status stays"


def test_what_is_not_delivered_is_a_fault(faults: Any, tmp_path: Any) -> None:
    conf = {
        **STRICT,
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": "http://127.0.0.1:9",
        "spark.openlineage.spool.path": str(tmp_path / "spool"),
        "spark.openlineage.flush.timeoutInMillis": "500",
    }

    job = faults.run("strict.py", "none", "end", conf=conf)

    assert (job.code, job.stdout.splitlines()) == (70, FAILED)
    left = "delivery: 4 of 4 events were not sent to http://127.0.0.1:9/api/v1/lineage"
    assert left in listed(job)


def test_a_listener_that_can_not_be_put_on_is_a_fault(faults: Any) -> None:
    conf = {**STRICT, "spark.openlineage.transport.type": "filo"}

    job = faults.run("strict.py", "none", "end", conf=conf)

    assert (job.code, job.stdout.splitlines()) == (70, FAILED)
    assert listed(job)[1].startswith("no lineage of this application: ")
