"""Jobs of RDDs alone, which no SQL execution owns: which of them are runs, and what those say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

FILES = {"in/a.txt": "b\na\n", "in/b.txt": "c\n", "more/d.txt": "d\n"}


@pytest.fixture(scope="module")
def rdds(jobs: Any) -> Any:
    return jobs.run("rdds.py", submit=False, files=FILES)


def runs(job: Any, name: str) -> dict[str, list[dict]]:
    """Give the events of each run but the application's, by what it writes."""
    found: dict[str, list[dict]] = {}
    for event in job.queries(f"{name}.ndjson"):
        written = ", ".join(Path(output["name"]).name for output in event["outputs"])
        found.setdefault(written, []).append(event)
    return found


def kind(event: dict) -> str:
    return event["job"]["facets"]["jobType"]["jobType"]


def inputs(event: dict) -> list[str]:
    return sorted(Path(read["name"]).name for read in event["inputs"])


def statistics(event: dict, side: str) -> dict[str, int]:
    """Give the figures of the one dataset on a side of an event."""
    (dataset,) = event[f"{side}s"]
    facet = dataset[f"{side}Facets"][f"{side}Statistics"]
    return {key: value for key, value in facet.items() if not key.startswith("_")}


WRITES = [
    pytest.param("text", ["in"], "text", (3, 3), id="saveAsTextFile of a directory"),
    pytest.param("counts", ["a.txt"], "text", (2, 2), id="of a shuffle, with a file as the input"),
    pytest.param("sequence", ["in"], "sequencefile", (3, 3), id="saveAsSequenceFile, with wildcards"),
    pytest.param("new", [], "sequencefile", (None, 1), id="saveAsNewAPIHadoopFile of the driver's own rows"),
    pytest.param("pickle", ["in", "more"], "sequencefile", (None, None), id="saveAsPickleFile, in batches, of a union"),
    pytest.param("scala", ["in"], "text", (3, 3), id="without Python"),
    pytest.param("from table", ["table"], "text", (5, 5), id="of a frame's rows"),
    pytest.param("from scan", ["table"], "text", (5, 5), id="of the rows of a scan by DataSource V2"),
]


@pytest.mark.parametrize(("name", "read", "file_format", "rows"), WRITES)
def test_each_write_is_a_run_with_its_inputs_and_its_directory(
    rdds: Any, name: str, read: list[str], file_format: str, rows: tuple[int | None, int | None]
) -> None:
    start, complete = runs(rdds, "quiet")[name]

    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert start["job"]["name"].startswith(f"quiet.save_rdd.{rdds.folder.name}_{name}_")
    for event in (start, complete):
        assert kind(event) == "RDD_JOB"
        assert inputs(event) == read
        assert event["outputs"][0]["facets"]["storage"]["fileFormat"] == file_format
        assert "columnLineage" not in event["outputs"][0]["facets"]
        # What the query of the frame reads besides, by a broadcast join, is not known.
        assert ("extractionError" in event["run"]["facets"]) == name.startswith("from ")
    if rows[0] is not None:
        assert statistics(complete, "input") == {"rowCount": rows[0]}
    if rows[1] is not None:
        assert statistics(complete, "output")["rowCount"] == rows[1]
    assert statistics(complete, "output")["size"] > 0


def test_a_job_of_rdds_that_fails_is_a_failed_run_with_the_python_traceback(rdds: Any) -> None:
    start, fail = runs(rdds, "quiet")["broken"]

    told = fail["run"]["facets"]["errorMessage"]

    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert inputs(fail) == ["in"]
    assert told["programmingLanguage"] == "PYTHON"
    assert "ValueError: *** (withheld" in told["stackTrace"]
    assert 'rdds.py", line' in told["stackTrace"]


def test_a_write_of_a_frame_is_one_run_however_many_jobs_of_rdds_it_takes(rdds: Any) -> None:
    found = runs(rdds, "quiet")

    for name in ("table", "frame"):
        assert [event["eventType"] for event in found[name]] == ["START", "COMPLETE"]
        assert [kind(event) for event in found[name]] == ["SQL_JOB"] * 2
    assert inputs(found["frame"][1]) == ["in"]


def test_jobs_that_write_nothing_are_no_runs(rdds: Any) -> None:
    """Counting, collecting, and the sampling of a sort."""
    names = ["broken", "counts", "frame", "from scan", "from table", "new", "pickle", "scala", "sequence", "table"]
    names.append("text")

    assert sorted(runs(rdds, "quiet")) == names


def test_where_reads_are_asked_for_a_job_of_rdds_is_a_run_if_it_reads_something(rdds: Any) -> None:
    """What Spark SQL runs for itself, to infer a schema, is not one, nor is a job over the driver's own rows."""
    start, complete = runs(rdds, "reads")[""]

    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["job"]["name"] == "reads.read_rdd.in"
    assert inputs(start) == ["in"]
    assert statistics(complete, "input") == {"rowCount": 3}


def test_jobs_of_rdds_can_be_left_out(rdds: Any) -> None:
    assert [event["eventType"] for event in runs(rdds, "left_out")["seen"]] == ["START", "COMPLETE"]
    assert list(runs(rdds, "left_out")) == ["seen"]


def test_the_job_is_as_it_is_without_lineage(rdds: Any) -> None:
    lines = ["broken Py4JJavaError", "lines 3 ['a', 'b', 'c']", "lines 3", "columns ['_c0']", "none 3"]

    assert (rdds.code, rdds.stdout.splitlines()) == (0, lines)
    assert rdds.said() == []


def test_every_event_is_sound(rdds: Any, specification: Any, violations: Any) -> None:
    for name in ("quiet", "reads", "left_out"):
        events = rdds.events(f"{name}.ndjson")
        assert specification.violations(events) == violations(events) == []


@pytest.fixture(scope="module")
def flood(jobs: Any) -> Any:
    return jobs.run("flood.py", submit=False, conf={"spark.scheduler.listenerbus.eventqueue.openlineage.capacity": "1"})


@pytest.mark.long
def test_a_queue_that_overflows_is_counted_and_said_once(flood: Any) -> None:
    (remark,) = flood.application()[-1]["run"]["facets"]["extractionError"]["errors"]

    assert remark["task"] == "events"
    count = int(remark["errorMessage"].removeprefix("Spark dropped ").split()[0])
    assert count > 0
    assert remark["errorMessage"] == (
        f"Spark dropped {count} events because the listener's queue was full: "
        "raise spark.scheduler.listenerbus.eventqueue.openlineage.capacity"
    )
    (line,) = [line for line in flood.said() if line.startswith("openlineage:")]
    assert line == (
        "openlineage: Spark drops events because the listener's queue is full, and what it drops is missing from the "
        "lineage; raise spark.scheduler.listenerbus.eventqueue.openlineage.capacity (10000 by default)"
    )


@pytest.mark.long
def test_a_run_whose_end_spark_dropped_is_ended_and_says_why(flood: Any, violations: Any) -> None:
    aborted = [event for event in flood.queries() if event["eventType"] == "ABORT"]

    assert violations(flood.events()) == []
    assert aborted
    for event in aborted:
        message = event["run"]["facets"]["errorMessage"]["message"]
        assert message.startswith("the end of this run was not reported: Spark dropped ")
        assert message.endswith(" events from the listener's queue")


@pytest.mark.long
def test_a_job_whose_listener_misses_events_gives_what_it_gives_without(flood: Any) -> None:
    assert (flood.code, flood.stdout) == (0, "rows 820 3\n")
