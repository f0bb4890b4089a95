"""A standalone Spark cluster on loopback, what submits jobs, and a Python that reads no `.pth` file of ours."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
import requests
from support.ports import free_ports
from support.spark_jobs import Jobs, quick_jvm, spark_submit, without_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

JOBS = Path(__file__).parent / "jobs"
SECONDS = 300
WORKERS = ("first", "second")
DEPLOY = "org.apache.spark.deploy"


@attrs.frozen
class Cluster:
    """
    A standalone cluster.

    Args:
        master: its URL.
        web: the URL of what its page shows, as JSON.
    """

    master: str
    web: str

    def alive(self) -> int:
        """Count the workers that take work."""
        try:
            state = requests.get(self.web, timeout=10).json()
        except (requests.ConnectionError, requests.exceptions.JSONDecodeError):
            return 0
        return sum(worker["state"] == "ALIVE" for worker in state["workers"])


@pytest.fixture(scope="module")
def jobs_in(real_spark: None) -> Callable[[Path], Jobs]:
    """Give what starts jobs in one folder, all of them in that one."""
    return lambda folder: Jobs(JOBS, lambda _name: folder)


@pytest.fixture(scope="module")
def cluster(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Give a master and two workers of one core each, every one a Java process of its own."""
    folder = tmp_path_factory.mktemp("cluster")
    port, web = free_ports(2)
    made = Cluster(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{web}/json/")
    own = {"master": [f"{DEPLOY}.master.Master", "--port", str(port), "--webui-port", str(web)]}
    for name in WORKERS:
        limits = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / name)]
        own[name] = [f"{DEPLOY}.worker.Worker", *limits, "--webui-port", "0", made.master]
    program = str(spark_submit().with_name("spark-class"))
    java = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_JAVA_OPTS": quick_jvm()["SPARK_SUBMIT_OPTS"]}
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, arguments in own.items():
            command = [program, *arguments, "--host", "127.0.0.1"]
            with (folder / f"{name}.log").open("wb") as log:
                processes[name] = subprocess.Popen(
                    command, env={**without_foreign(), **java}, stdout=log, stderr=log, start_new_session=True
                )
        _when_alive(made, processes, folder)
        yield made
    finally:
        for process in processes.values():
            _end_group(process)


def _when_alive(cluster: Cluster, processes: Mapping[str, subprocess.Popen[bytes]], folder: Path) -> None:
    end = time.monotonic() + SECONDS
    while cluster.alive() < len(WORKERS):
        for name, process in processes.items():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the {name} did not start:\n{(folder / f'{name}.log').read_text()}")
        time.sleep(0.2)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a daemon with its executors, which are of its process group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the Python of an environment without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def package() -> Path:
    """Give the folder of the package that is installed."""
    found = importlib.util.find_spec("openlineage_pyspark")
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0])
