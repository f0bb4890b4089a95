"""Some of the random queries by which `./run truth structs` proves the sources of struct fields."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.spark_jobs import clean_environment

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parents[1] / "truth" / "structs.py"


def test_what_differs_if_a_field_is_changed_has_that_field_as_its_source(real_spark: None, tmp_path: Path) -> None:
    command = [sys.executable, "-I", str(SCRIPT), "--queries", "40", "--seed", "3"]

    done = subprocess.run(command, env=clean_environment(), cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.splitlines()[-1].endswith("0 findings")) == (0, True), done.stdout
