"""
Events into a file system that is not local, through the driver's own Hadoop client.

Hadoop's `viewfs:` over a folder stands for it: as it is, an object can be read from its end on, as in an object store;
over Hadoop's raw local file system, what is written into an open object is kept, as in HDFS.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.any_spark

LOCATION = "viewfs://lake/lineage"
KEEPING = {"spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Give the folder that the location is mounted on."""
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder


@pytest.fixture
def conf(lake: Path, tmp_path: Path) -> dict[str, str]:
    return {
        "spark.hadoop.fs.viewfs.mounttable.lake.link./lineage": lake.as_uri(),
        "spark.openlineage.transport.location": LOCATION,
        "spark.openlineage.spool.path": str(tmp_path / "spool"),
    }


def objects(lake: Path) -> list[Path]:
    """Give the objects in the order of their names, without Hadoop's own files of checksums."""
    return sorted(file for file in lake.iterdir() if not file.name.startswith("."))


def events(lake: Path) -> list[dict[str, Any]]:
    """Give the events of all whole lines: an object that is being written may end within one."""
    texts = (gzip.decompress(o.read_bytes()) if o.suffix == ".gz" else o.read_bytes() for o in objects(lake))
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def told(lake: Path) -> list[tuple[str, str]]:
    return [(event["eventType"], event["job"]["facets"]["jobType"]["jobType"]) for event in events(lake)]


WHOLE_JOB = [("START", "APPLICATION"), ("START", "SQL_JOB"), ("COMPLETE", "SQL_JOB"), ("COMPLETE", "APPLICATION")]


@pytest.mark.long
def test_at_the_end_of_a_script_one_object_of_the_application_holds_its_events(
    jobs: Any, lake: Path, conf: dict[str, str], specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    job = jobs.run("ending.py", "plain", conf=conf)

    assert (job.code, job.stdout, job.said()) == (0, "rows 10\nend\n", [])
    assert told(lake) == WHOLE_JOB
    (written,) = objects(lake)
    application = events(lake)[0]["run"]["facets"]["spark_applicationDetails"]["applicationId"]
    assert written.name.startswith(f"{application}-")
    assert written.name.endswith("-00001.ndjson")
    assert specification.violations(events(lake)) == []
    assert violations(events(lake)) == []


@pytest.mark.long
def test_after_a_stop_the_outcome_of_the_script_still_gets_there_and_objects_are_rotated(
    jobs: Any, lake: Path, conf: dict[str, str]
) -> None:
    """An uncaught exception is known at the exit of the interpreter alone, when the context is long stopped."""
    rotate = "spark.openlineage.transport.rotate"
    job = jobs.run("ending.py", "raise", conf={**conf, f"{rotate}.maxSeconds": "0", f"{rotate}.compress": "true"})

    assert job.code == 1
    assert job.said() == []
    assert told(lake) == [*WHOLE_JOB[:-1], ("FAIL", "APPLICATION")]
    names = [file.name for file in objects(lake)]
    assert [name[-len("00001.ndjson.gz") :] for name in names] == [f"0000{n}.ndjson.gz" for n in range(1, 5)]


@pytest.mark.long
def test_each_context_of_a_script_has_objects_of_its_own(jobs: Any, lake: Path, conf: dict[str, str]) -> None:
    """The second writes with a client of its own after the first one's context is gone."""
    own = {"spark.openlineage.transport.type": "file", **conf, "spark.master": "local[1]", "spark.ui.enabled": "false"}
    job = jobs.run("contexts.py", json.dumps([{"conf": own}, {"conf": own}]), lineage=False, submit=False)

    assert job.code == 0
    assert len(objects(lake)) == 2
    assert told(lake) == WHOLE_JOB * 2


@pytest.mark.long
def test_where_what_is_written_is_kept_the_death_of_the_driver_loses_nothing(
    jobs: Any, lake: Path, conf: dict[str, str]
) -> None:
    with jobs.start("ending.py", "idle", conf={**conf, **KEEPING}) as job:
        job.wait_for("ready")
        job.wait_until(lambda: told(lake)[-1:] == WHOLE_JOB[2:3], "the query's last event was in the object")
        os.killpg(job.process.pid, signal.SIGKILL)
        assert job.end().code == -signal.SIGKILL

    assert told(lake) == WHOLE_JOB[:3]
    assert len(objects(lake)) == 1


@pytest.mark.long
def test_a_file_system_that_hadoop_does_not_know_costs_one_warning_and_keeps_the_events(
    jobs: Any, tmp_path: Path, conf: dict[str, str]
) -> None:
    location = "nowhere://me:canary@host/lineage"
    conf = {**conf, "spark.openlineage.transport.location": location}
    job = jobs.run("ending.py", "plain", conf=conf, submit=False)

    assert (job.code, job.stdout) == (0, "rows 10\nend\n")
    failures = [line for line in job.said() if "can't be written" in line]
    assert len(failures) == 1
    assert "nowhere://host/lineage can't be written (org.apache.hadoop.fs.UnsupportedFileSystemException" in failures[0]
    assert [line for line in job.said() if "4 left unsent" in line and str(tmp_path / "spool") in line]
    assert "canary" not in job.stderr
