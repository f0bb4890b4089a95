"""A wall clock that is set while the job runs: events go out as they do without, each once and in order."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    # What ships events knows nothing of Spark: one version of it is enough.
    pytest.mark.any_spark,
    pytest.mark.skipif(sys.platform != "linux", reason="the clock is set by LD_PRELOAD, which is of Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="the clock is written in C, and there is no compiler"),
]


@pytest.mark.long
def test_a_clock_that_jumps_delays_and_loses_nothing(faults: Any, receivers: Any, wire: Any, tmp_path: Path) -> None:
    library = tmp_path / "clock.so"
    source = Path(__file__).parent / "jobs" / "clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    (tmp_path / "shift").write_text("0")
    receiver = receivers(wire.unsteady)
    conf = {
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": receiver.url,
        "spark.openlineage.spool.path": str(tmp_path / "spool"),
    }

    job = faults.run(
        "clock.py",
        conf=conf,
        environment={"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(tmp_path / "shift")},
    )

    assert (job.code, job.stdout) == (0, "before 5 on day 0\non 5 on day 3\nback 5 on day -3\n")
    events = [json.loads(body) for body in receiver.taken]
    found: dict[str, list[str]] = {}
    for event in events:
        found.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert list(found.values()) == [["START", "COMPLETE"]] * 4
    assert list((tmp_path / "spool").iterdir()) == []
