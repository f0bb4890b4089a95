"""What starts the jobs of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.spark_jobs import Jobs


@pytest.fixture(scope="session")
def jobs(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """Give what starts jobs of the folder `jobs`, on a real Spark."""
    return Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
