"""One write, and each way in which a script may end: what is told of it, and that nothing else changes."""

from __future__ import annotations

import datetime as dt
import signal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from openlineage_pyspark.listener.runs.open_run import run_id
from openlineage_pyspark.listener.start.last_words import MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.alone import Recordings

pytestmark = [pytest.mark.every_python, pytest.mark.any_spark]


@pytest.fixture(scope="module")
def plain(jobs: Any) -> Any:
    return jobs.run("ending.py", "plain")


@pytest.fixture(scope="module")
def stopped(jobs: Any) -> Any:
    """Give a job of `python app.py` with the configuration in its builder, which forks and stops its session."""
    return jobs.run("ending.py", "stop", submit=False, lineage=False)


def types(events: list[dict]) -> list[tuple[str, str]]:
    return [(event["eventType"], event["job"]["name"].rpartition(".")[0] or event["job"]["name"]) for event in events]


def failure(event: dict) -> dict:
    """Give what an event says of a failure, without the facet's own fields."""
    told = event["run"]["facets"].get("errorMessage", {})
    return {key: value for key, value in told.items() if not key.startswith("_")}


def test_one_write_by_configuration_alone_gives_its_run_inside_the_applications(plain: Any) -> None:
    assert types(plain.events()) == [
        ("START", "ending_app"),
        ("START", "ending_app.execute_insert_into_hadoop_fs_relation_command"),
        ("COMPLETE", "ending_app.execute_insert_into_hadoop_fs_relation_command"),
        ("COMPLETE", "ending_app"),
    ]


def test_the_events_of_a_job_keep_the_specification(
    plain: Any, specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    assert specification.violations(plain.events()) == violations(plain.events()) == []


def test_a_query_names_the_application_as_parent_and_root(plain: Any) -> None:
    application = plain.application()[0]
    itself = {
        "run": {"runId": application["run"]["runId"]},
        "job": {"namespace": application["job"]["namespace"], "name": "ending_app"},
    }
    for event in plain.queries():
        parent = event["run"]["facets"]["parent"]
        assert {key: parent[key] for key in ("run", "job", "root")} == {**itself, "root": itself}
    assert [event["run"]["facets"].get("parent") for event in plain.application()] == [None, None]


def test_run_ids_follow_from_what_spark_says_of_the_application(plain: Any) -> None:
    """A replay then gives the same ids."""
    start = plain.events()[0]
    when = dt.datetime.fromisoformat(start["eventTime"].replace("Z", "+00:00"))
    application = start["run"]["facets"]["spark_applicationDetails"]["applicationId"]

    ids = [event["run"]["runId"] for event in plain.events()]

    whole, query = run_id(when, application, "application"), run_id(when, application, "execution 0")
    assert ids == [whole, query, query, whole]
    assert UUID(whole).version == UUID(query).version == 7


def test_the_output_has_the_figures_of_what_was_written(plain: Any) -> None:
    start, complete = plain.queries()
    files = list((plain.folder / "out").glob("part-*"))

    statistics = complete["outputs"][0]["outputFacets"]["outputStatistics"]

    assert complete["outputs"][0]["name"] == str(plain.folder / "out")
    assert (statistics["rowCount"], statistics["fileCount"]) == (10, len(files))
    assert statistics["size"] == sum(file.stat().st_size for file in files)
    assert "outputFacets" not in start["outputs"][0]


def test_a_plain_end_changes_neither_exit_code_nor_output(jobs: Any, alone: Recordings, plain: Any) -> None:
    without = alone.of(jobs, "ending.py", "plain")

    assert (plain.code, plain.stdout) == (without.code, without.stdout) == (0, "rows 10\nend\n")


@pytest.mark.long
def test_without_a_transport_there_is_no_event(jobs: Any) -> None:
    assert jobs.run("ending.py", "plain", lineage=False).events() == []


@pytest.mark.long
def test_a_script_of_its_own_builder_is_heard_and_ends_with_its_stop(
    stopped: Any, specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    assert specification.violations(stopped.events()) == violations(stopped.events()) == []
    assert (stopped.code, stopped.stdout) == (0, "rows 10\nchild 0\nend\n")
    assert [event["eventType"] for event in stopped.application()] == ["START", "COMPLETE"]
    assert stopped.said() == []


@pytest.mark.long
def test_a_forked_child_that_ends_repeats_no_event(stopped: Any) -> None:
    """The forked process inherits the functions of `atexit`."""
    runs = [(event["run"]["runId"], event["eventType"]) for event in stopped.events()]

    assert len(runs) == len(set(runs)) == 6
    written = [event["outputs"][0]["name"] for event in stopped.queries() if event["eventType"] == "COMPLETE"]
    assert written == [str(stopped.folder / "out"), str(stopped.folder / "out2")]


@pytest.mark.long
def test_an_uncaught_exception_fails_the_application_even_after_a_stop(jobs: Any, alone: Recordings) -> None:
    with_lineage, without = jobs.run("ending.py", "raise"), alone.of(jobs, "ending.py", "raise")

    end = with_lineage.application()[-1]

    assert end["eventType"] == "FAIL"
    told = failure(end)
    assert (told["message"], told["programmingLanguage"]) == ("ValueError: no such luck", "PYTHON")
    assert told["stackTrace"].startswith("Traceback (most recent call last):\n")
    # The line of source between them may hold anything, and is left out.
    assert told["stackTrace"].endswith("in <module>\nValueError: no such luck\n")
    assert [event["eventType"] for event in with_lineage.queries()] == ["START", "COMPLETE"]
    # spark-submit puts both of Python's streams into its standard output.
    assert (with_lineage.code, with_lineage.stdout) == (without.code, without.stdout)
    assert with_lineage.code == 1


@pytest.mark.long
def test_an_exit_with_a_status_fails_the_application_and_keeps_the_status(jobs: Any) -> None:
    """test_exit_status.py has all the other exits, in interpreters without Spark."""
    job = jobs.run("ending.py", "exit-3")

    end = job.application()[-1]

    assert end["eventType"] == "FAIL"
    assert failure(end) == {"message": "the script ended with exit status 3", "programmingLanguage": "PYTHON"}
    assert (job.code, job.stdout) == (3, "rows 10\n")


DONE = ["START", "COMPLETE"]


@pytest.mark.long
def test_an_interrupt_aborts_the_application(jobs: Any) -> None:
    # Not while it writes: in the middle of a call, Spark 3.5 often turns an interrupt into an error of its own.
    job = jobs.run("ending.py", "idle", submit=False, stop_by=signal.SIGINT)

    assert (job.code, job.stdout) == (-signal.SIGINT, "rows 10\n")
    assert [event["eventType"] for event in job.queries()] == DONE
    end = job.application()[-1]
    assert (end["eventType"], failure(end)["message"]) == ("ABORT", "KeyboardInterrupt")
    assert job.said() == []


@pytest.mark.long
def test_the_jvm_ends_what_a_killed_process_leaves_open(
    jobs: Any, specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    """The JVM gets the signal too. Whoever may write into the working directory has none of his code run."""
    planted = dict.fromkeys(("json.py", "runpy.py", "sitecustomize.py"), "open('planted', 'w')")
    job = jobs.run("ending.py", "writing", submit=False, stop_by=signal.SIGTERM, files=planted)

    assert not (job.folder / "planted").exists()
    assert (job.code, job.stdout) == (-signal.SIGTERM, "rows 10\n")
    assert [event["eventType"] for event in job.queries()] == [*DONE, "START", "ABORT"]
    start, abort = job.queries()[2:]
    assert {key: abort[key] for key in ("run", "job", "inputs", "outputs")} == {
        **{key: start[key] for key in ("job", "inputs", "outputs")},
        "run": {"runId": start["run"]["runId"], "facets": abort["run"]["facets"]},
    }
    assert [event["eventType"] for event in job.application()] == ["START", "ABORT"]
    assert job.events()[-2:] == [abort, job.application()[-1]]
    assert [failure(event)["message"] for event in job.events()[-2:]] == [MESSAGE, MESSAGE]
    assert specification.violations(job.events()) == []
    assert violations(job.events()) == []
    assert job.said() == []


@pytest.mark.long
def test_processes_that_hang_in_c_die_of_sigterm_as_they_do_without_the_listener(jobs: Any) -> None:
    """Forked ones, with and without the GIL held, and then the driver, with the GIL held."""
    with jobs.start("stuck.py", submit=False) as job:
        job.wait_for("ready")
        job.process.terminate()
        job.wait_for_jvm()
        ended = job.end()

    assert ended.code == -signal.SIGTERM
    assert ended.stdout == "by a fork: -15\nby a fork in C: -15\nwith the GIL held: -15\n"
    assert [event["eventType"] for event in ended.application()] == ["START", "ABORT"]
