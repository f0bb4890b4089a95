"""A real Marquez on a PostgreSQL of its own, what it answers, and jobs that send to it."""

from __future__ import annotations

import os
import re
import subprocess
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import attrs
import pytest
import requests
from support.marquez_graph import DEPTH, Edges, columns_told, flows_told
from support.spark_jobs import PATIENT, Jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
SCRIPTS = HERE.parents[2] / "shared" / "marquez"
SECONDS = 180
START_SECONDS = 600


@attrs.frozen
class Marquez:
    """
    A server, and questions to it.

    Args:
        folder: its state and its logs; None if it is a server that was running before.
        url: without a path.
    """

    folder: Path | None
    url: str

    def _own_folder(self) -> Path:
        if self.folder is None:
            pytest.skip("this test needs a Marquez that it can stop, and whose log it can read: unset MARQUEZ_URL")
        return self.folder

    def stop(self) -> None:
        """End it; what it stored is kept."""
        _call("stop", str(self._own_folder()))

    def start(self) -> None:
        """Begin again with what it stored, at the same port."""
        _call("start", str(self._own_folder()), MARQUEZ_PORT=self.url.rpartition(":")[2])

    def answers(self) -> list[tuple[int, str]]:
        """Give the status and the line of each request with an event since its last start, in order."""
        self._own_folder()
        # The log is written late, but in order: with this request's line, all before it are there.
        last = str(uuid.uuid4())
        self.get("tags", last=last)
        self.wait_until(lambda: last in self._log(), "written its log")
        lines = self._log().splitlines()
        found = [re.search(r" (\d{3}) POST /api/v1/lineage ", line) for line in lines]
        return [(int(match[1]), line) for match, line in zip(found, lines, strict=True) if match]

    def _log(self) -> str:
        return (self._own_folder() / "requests.log").read_text("utf-8")

    def post(self, event: dict[str, Any]) -> None:
        """Send an event, as another integration does."""
        requests.post(f"{self.url}/api/v1/lineage", json=event, timeout=60).raise_for_status()

    def get(self, path: str, **query: str | int) -> Any:
        """Give the answer of the API to a question below `/api/v1`."""
        answer = requests.get(f"{self.url}/api/v1/{path}", params=query, timeout=60)
        assert answer.status_code == 200, f"{answer.status_code} for {answer.url}: {answer.text[:500]}"
        return answer.json()

    def wait_until(self, reached: Callable[[], bool], what: str) -> None:
        """Wait for something that it is to have; `what` names it, where that never comes."""
        end = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < end, f"Marquez never had {what}"
            time.sleep(0.2)

    def namespaces(self) -> set[str]:
        """Give the names of those of jobs and those of datasets."""
        return {each["name"] for each in self.get("namespaces", limit=1000)["namespaces"]}

    def jobs(self, namespace: str) -> dict[str, Any]:
        """Give the jobs of a namespace by their full names."""
        listed = self.get(f"namespaces/{_segment(namespace)}/jobs", limit=1000)["jobs"]
        assert len({job["name"] for job in listed}) == len(listed)
        return {job["name"]: job for job in listed}

    def runs(self, namespace: str, job: str) -> list[Any]:
        """Give the runs of a job, oldest first."""
        listed = self.get(f"namespaces/{_segment(namespace)}/jobs/{_segment(job)}/runs", limit=1000)["runs"]
        return sorted(listed, key=lambda run: str(run["createdAt"]))

    def dataset(self, name: str, namespace: str = "file") -> Any:
        """Give what is known of a dataset."""
        return self.get(f"namespaces/{_segment(namespace)}/datasets/{_segment(name)}")

    def versions(self, name: str, namespace: str = "file") -> list[Any]:
        """Give the versions of a dataset, oldest first."""
        path = f"namespaces/{_segment(namespace)}/datasets/{_segment(name)}/versions"
        return sorted(self.get(path, limit=1000)["versions"], key=lambda version: str(version["createdAt"]))

    def lineage(self, node: str) -> Edges:
        """Give the edges of the graph around a job or dataset, as pairs of node ids."""
        return flows_told(self.get("lineage", nodeId=node, depth=DEPTH))

    def column_lineage(self, node: str) -> Edges:
        """Give the edges of the graph behind a dataset's columns, as pairs of `dataset column`."""
        return columns_told(self.get("column-lineage", nodeId=node, depth=DEPTH))

    def events(self, *namespaces: str) -> list[Any]:
        """Give the events of these job namespaces as it has them, oldest first, without what it added."""
        everything = self.get("events/lineage", limit=10_000, sortDirection="asc")["events"]
        return [without_nulls(event) for event in everything if event["job"]["namespace"] in namespaces]


def without_nulls(value: Any) -> Any:
    """Give a JSON value without the fields that are null, which Marquez adds to those that it knows."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


def _segment(text: str) -> str:
    return quote(text, safe="")


def _call(command: str, *arguments: str, **environment: str) -> str:
    """Run one of the two scripts; its output ends only with the server, so it goes to files."""
    out, err = (Path(arguments[-1]).with_suffix(f".{command}.{stream}") for stream in ("out", "err"))
    with out.open("w") as stdout, err.open("w") as stderr:
        subprocess.run(
            [str(SCRIPTS / command), *arguments],
            env=os.environ | environment,
            stdout=stdout,
            stderr=stderr,
            timeout=START_SECONDS,
            check=False,
        ).check_returncode()
    return out.read_text()


@pytest.fixture(scope="session")
def marquez(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marquez]:
    """Give one server for all tests: each uses namespaces and folders of its own."""
    running = os.environ.get("MARQUEZ_URL", "").rstrip("/")
    if running:
        yield Marquez(None, running)
        return
    if not SCRIPTS.is_dir():
        pytest.skip("there is no Marquez: set MARQUEZ_URL to the URL of a running one, such as http://localhost:5000")
    folder = tmp_path_factory.mktemp("server") / "marquez"
    try:
        printed = _call("start", str(folder))
        yield Marquez(folder, printed.strip().removeprefix("MARQUEZ_URL="))
    finally:
        _call("stop", "--rm", str(folder))


@attrs.frozen
class Sending:
    """
    Starts jobs that send to the server.

    Args:
        jobs: starts a script.
        url: of the server.
    """

    jobs: Any
    url: str

    def start(self, script: str, namespace: str, conf: dict[str, str] | None = None, *, copy: bool = True) -> Any:
        """
        Start a script of the folder `jobs`.

        Args:
            script: its name.
            namespace: of its jobs.
            conf: more properties, without `spark.openlineage.`.
            copy: whether the same events go to a file, too.
        """
        transport = {"type": "http", "url": self.url}
        if copy:
            parts = {"marquez": transport, "copy": {"type": "file", "location": "events.ndjson"}}
            transport = {"type": "composite"}
            for name, part in parts.items():
                transport |= {f"transports.{name}.{option}": value for option, value in part.items()}
        own = {"namespace": namespace, "spool.path": "spool", **(conf or {})}
        own |= {f"transport.{option}": value for option, value in transport.items()}
        prefixed = {f"spark.openlineage.{key}": value for key, value in own.items()}
        # A busy server takes its time for a thousand columns.
        return self.jobs.start(script, lineage=False, conf=PATIENT | prefixed)


@pytest.fixture(scope="session")
def sending(real_spark: None, marquez: Marquez, tmp_path_factory: pytest.TempPathFactory) -> Sending:
    """Give what starts jobs that send to the server."""
    return Sending(Jobs(HERE / "jobs", tmp_path_factory.mktemp), marquez.url)
