"""What starts the jobs of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="session")
def jobs(spark_jobs: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give what starts jobs of the folder `jobs`, on a real Spark."""
    return spark_jobs.Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
