"""A notebook in a real kernel, and each way in which such a kernel ends without `spark.stop()`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from support.spark_jobs import QUICK, without_foreign

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.any_spark, pytest.mark.long, pytest.mark.usefixtures("real_spark")]

CELL = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("notebook").getOrCreate()
spark.range(3).write.parquet("out")
"""
NOTEBOOK = {
    "cells": [
        {"id": "a", "cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": CELL},
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
KERNEL = str(Path(__file__).parent / "jobs" / "kernel.py")
WAYS = {
    "shut down": [KERNEL, "shutdown", CELL],
    "restarted": [KERNEL, "restart", CELL],
    "executed by nbclient": ["-c", "from nbclient.cli import main; main()", "notebook.ipynb"],
    "executed by nbconvert": ["-m", "nbconvert", "--execute", "--to", "notebook", "--output=done", "notebook.ipynb"],
}


@attrs.frozen
class Ran:
    code: int
    said: str
    events: list[dict[str, Any]]


def start(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start a Python process in a folder with the notebook; its kernels listen, and write to a file there."""
    folder.mkdir()
    (folder / "notebook.ipynb").write_text(json.dumps(NOTEBOOK), "utf-8")
    transport = {"type": "file", "location": str(folder / "events.ndjson")}
    # All kernels start at once here, and may take longer than a job is made to wait.
    conf = QUICK | {"spark.openlineage.start.timeoutInMillis": "120000"}
    conf |= {f"spark.openlineage.transport.{name}": value for name, value in transport.items()}
    environment = without_foreign() | {
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": " ".join(f'--conf "{key}={value}"' for key, value in conf.items()) + " pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Ran]:
    """Give what became of the notebook in one of the ways; all run at once."""
    folder = tmp_path_factory.mktemp("notebooks")
    started = {way: start(arguments, folder / way.replace(" ", "_")) for way, arguments in WAYS.items()}
    ran: dict[str, Ran] = {}
    for way, process in started.items():
        try:
            said, _ = process.communicate(timeout=300)
        finally:
            process.kill()
        file = folder / way.replace(" ", "_") / "events.ndjson"
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        ran[way] = Ran(process.returncode, said, [json.loads(line) for line in lines])
    return ran.__getitem__


@pytest.mark.parametrize("way", WAYS)
def test_the_application_of_a_notebook_is_complete_without_a_remark(
    notebooks: Callable[[str], Ran], way: str, violations: Callable[[list[dict]], list[str]]
) -> None:
    """The kernel ends the JVM first, by a signal, and is often ended by one itself."""
    ran = notebooks(way)

    assert ran.code == 0, ran.said
    assert [event["eventType"] for event in ran.events] == ["START", "START", "COMPLETE", "COMPLETE"], ran.said
    assert ran.events[0]["run"]["runId"] == ran.events[-1]["run"]["runId"]
    assert [name for event in ran.events for name in event["run"]["facets"] if "rror" in name] == []
    assert "openlineage" not in ran.said.lower().replace("openlineage-pyspark", ""), ran.said
    assert violations(ran.events) == []
