"""A recovery whose Spark is lost, or that is interrupted, ends with a sentence, and another process goes on with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.lakes import LAKE_CONF, LAKE_JARS
from support.spark_jobs import QUICK, SPARK_VERSION, Jobs

pytestmark = [pytest.mark.own_jvm, pytest.mark.long]


@pytest.mark.parametrize("is_killed", [True, False], ids=["its JVM is killed", "it is interrupted"])
def test_a_recovery_that_loses_its_spark_says_so_and_goes_on(packaged, tmp_path: Path, *, is_killed: bool) -> None:
    conf = {
        **QUICK,
        **LAKE_CONF,
        "spark.master": "local[1]",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.catalog.ice.warehouse": str(tmp_path / "ice"),
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.jars": packaged(LAKE_JARS),
    }
    jobs = Jobs(Path(__file__).parent / "jobs", lambda _: tmp_path)
    assert jobs.run("lost.py", str(tmp_path), "plan", conf=conf, lineage=False).code == 0
    plan, journal = tmp_path / "plan.json", tmp_path / "plan.json.journal"
    given = [each for key, value in conf.items() for each in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-Im", "openlineage_pyspark", "recover", "apply", str(plan), "--yes", *given]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        while not journal.exists() and process.poll() is None:
            time.sleep(0.1)
        [jvm] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8").split()
        os.kill(int(jvm) if is_killed else process.pid, signal.SIGKILL if is_killed else signal.SIGINT)
        said, complained = process.communicate()

    # PySpark 3.5 gives no KeyboardInterrupt there.
    is_said = is_killed or SPARK_VERSION.startswith("3.")
    assert process.returncode == (1 if is_said else 130), (said, complained)
    assert "Traceback" not in complained, complained
    assert f"continue with: recover apply {plan} --resume" in complained
    assert ("the JVM of Spark does not answer: it has ended, or" in " ".join((said + complained).split())) is is_said
    resumed = subprocess.run([*command, "--resume"], check=False, capture_output=True, cwd=tmp_path, text=True)
    assert resumed.returncode == 0, resumed
    assert json.loads(journal.read_text("utf-8").splitlines()[-1])["state"] == "finished"
    rows = jobs.run("lost.py", str(tmp_path), "rows", conf=conf, lineage=False).stdout
    assert json.loads(rows.splitlines()[-1]) == [1, 8]
