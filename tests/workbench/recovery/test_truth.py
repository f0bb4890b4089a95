"""A few of the random pipelines by which `./run truth recover` proves recovery, with kills."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.spark_jobs import SPARK_VERSION, clean_environment

pytestmark = pytest.mark.own_jvm

SCRIPT = Path(__file__).parents[2] / "truth" / "recover.py"
# Each takes minutes.
LAKES = [each for each in os.environ.get("RECOVERY_LAKES", "").split(",") if each in ("iceberg", "delta")]


@pytest.mark.skipif(not LAKES, reason="it takes minutes: RECOVERY_LAKES=iceberg,delta asks for it")
@pytest.mark.skipif(SPARK_VERSION[:3] != "3.5", reason="the pipelines are those of Spark 3.5")
@pytest.mark.parametrize("lake", LAKES or ["iceberg"])
@pytest.mark.parametrize(
    ("pipelines", "which"), [(3, ("--seed", "1")), (1, ("--seed", "3", "--shop"))], ids=["random", "shop"]
)
def test_a_pipeline_is_right_after_a_recovery_that_was_killed_now_and_then(
    real_spark: None, lake: str, pipelines: int, which: tuple[str, ...]
) -> None:
    command = [sys.executable, "-I", str(SCRIPT), "--lake", lake, "--pipelines", str(pipelines), *which, "--kills"]

    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)

    found = re.search(
        rf"^{lake}: (\d+) right, (\d+) declined, 0 WRONG, 0 TOUCHED, 0 BROKEN$", done.stdout, re.MULTILINE
    )
    assert (done.returncode, found is not None) == (0, True), done.stdout + done.stderr[-3000:]
    assert found is not None
    right, declined = map(int, found.groups())
    # A plan that can't be finished is declined. The shop on Delta Lake needs a version that VACUUM has removed.
    least = 0 if (lake, "--shop" in which) == ("delta", True) else 1
    assert (right >= least, right + declined) == (True, pipelines), done.stdout
