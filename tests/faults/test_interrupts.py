"""Ctrl-C, wherever it comes: the job ends, or goes on, as it does without the listener."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import directories

# How an interrupt reaches the interpreter is the same with every Spark: one version is enough.
pytestmark = pytest.mark.any_spark


@pytest.mark.long
def test_an_interrupt_that_the_job_catches_does_not_concern_the_listener(faults: Any) -> None:
    pair = faults.pair("interrupts.py", "caught", stop_by=signal.SIGINT)
    heard, alone = pair.heard, pair.alone

    assert (heard.code, heard.stdout) == (alone.code, alone.stdout) == (0, "before 5\ncaught\nafter 5\nend\n")
    assert [event["eventType"] for event in heard.events()] == ["START", *["START", "COMPLETE"] * 2, "COMPLETE"]


@pytest.mark.long
def test_an_interrupt_in_the_middle_of_a_query_ends_the_job_as_it_does_without_the_listener(faults: Any) -> None:
    pair = faults.pair("interrupts.py", "query", stop_by=signal.SIGINT)
    heard, alone = pair.heard, pair.alone

    # Which of the two it is, is for the JVM and the interpreter to race for.
    assert {heard.code, alone.code} <= {1, -signal.SIGINT}
    assert heard.stdout == alone.stdout == "before 5\n"
    assert heard.application()[-1]["eventType"] in ("FAIL", "ABORT")


def waits(process: int) -> bool:
    """Whether the main thread of a process has been asleep on a lock for a while."""
    state = Path(f"/proc/{process}/task/{process}/wchan")
    for _ in range(20):
        if "futex" not in state.read_text():
            return False
        time.sleep(0.05)
    return True


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/wchan").exists(), reason="what a thread waits for is read from Linux's /proc")
def test_an_interrupt_of_the_last_flush_ends_the_wait_and_keeps_the_status_and_the_events(
    faults: Any, receivers: Any, wire: Any, tmp_path: Path
) -> None:
    conf = {
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": receivers(wire.hanging).url,
        "spark.openlineage.transport.timeoutInMillis": "600000",
        "spark.openlineage.spool.path": str(tmp_path),
        "spark.openlineage.flush.timeoutInMillis": "600000",
    }

    with faults.jobs.start("interrupts.py", "end", conf=conf, submit=False) as job:
        job.wait_for("ending")
        job.wait_until(lambda: waits(job.process.pid), "it waited for the receiver")
        os.kill(job.process.pid, signal.SIGINT)
        ended = job.end()

    assert (ended.code, ended.stdout) == (0, "before 5\nend\n")
    assert "Traceback" not in ended.stderr
    assert [line for line in ended.said() if "interrupted before all events were sent" in line] != []
    (directory,) = directories(tmp_path)
    assert content(directory).waiting >= 3
