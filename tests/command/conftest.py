"""What the tests of the commands share: events on disk, a receiver, and a machine of files to look at."""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM, WARNING
from openlineage_pyspark.command.main import main
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.run import RedactedState, RunState
from openlineage_pyspark.transport.event import Event as Shipped
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Event = dict[str, Any]


class Receiver(ThreadingHTTPServer):
    """Answers with `status` and `text` once `gate` is open; `received` holds method, path, headers and body."""

    daemon_threads = True

    def __init__(self) -> None:
        self.status = 200
        self.text = ""
        self.gate = threading.Event()
        self.gate.set()
        self.received: list[tuple[str, str, dict[str, str], bytes]] = []
        super().__init__(("127.0.0.1", 0), _Exchange)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def events(self) -> list[Event]:
        """The events that were posted, in their order."""
        return [json.loads(body) for method, _, _, body in self.received if method == "POST"]


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.received.append((self.command, self.path, dict(self.headers), body))
        self.server.gate.wait(60)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.text)))
        self.end_headers()
        self.wfile.write(self.server.text.encode())

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@contextmanager
def serving() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serving() as server:
        yield server


@pytest.fixture
def second_receiver() -> Iterator[Receiver]:
    with serving() as server:
        yield server


@pytest.fixture
def nobody() -> Iterator[str]:
    """Give an address that is taken by somebody who does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def events(full_run: tuple[RunState, RunState]) -> list[Event]:
    """Give the events of one run that has something in every facet."""
    return [json.loads(serialise(build_event(RedactedState(state), EventOptions()))) for state in full_run]


_APPLICATION = "0190a000-0000-7000-8000-000000000001"


@pytest.fixture
def job(events):
    """Give an application's events with those of its query between them."""
    begin, end = ({**copy.deepcopy(event), "inputs": [], "outputs": []} for event in events)
    for event in (begin, end):
        event["run"] = {"runId": _APPLICATION, "facets": {}}
        event["job"] = {"namespace": "shop", "name": "nightly"}
    return [begin, *events, end]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Give what writes events as the file transport does, and gives the path."""

    def write(*events: Event, name: str = "events.ndjson") -> str:
        path = tmp_path / name
        path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def findings(events: list[Event]) -> Callable[[str], list[str]]:
    """Give what takes from an output the lines about the run of `events`, each without the run's name at its end."""
    end = f" [{events[0]['job']['name']}, run {events[0]['run']['runId']}]"
    return lambda shown: [line.removesuffix(end) for line in shown.splitlines() if line.endswith(end)]


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the width that the environment gives."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def process() -> Callable[..., tuple[int, str, str]]:
    """Give what runs a command line in a process of its own: exit code, output, errors."""

    def call(*command: str, given: str = "") -> tuple[int, str, str]:
        # As Python sees it: readline puts a COLUMNS into what a process inherits, which nobody has set.
        done = subprocess.run(
            command, input=given, env=dict(os.environ), capture_output=True, text=True, check=False, timeout=120
        )
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.fixture
def installed(process: Callable[..., tuple[int, str, str]]) -> Callable[..., tuple[int, str, str]]:
    """Give what runs the command as it is installed."""
    return functools.partial(process, str(Path(sys.executable).with_name("openlineage-pyspark")))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Give what runs a command with an output that is no terminal: exit code, output, errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return code, *capsys.readouterr()

    return call


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """Leave out what the machine has configured; a job would start in the folder that is given."""
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def wide(monkeypatch):
    """Keep each finding on one line, whose words are compared."""
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture
def doctor(run):
    """Give what runs the command: exit code, what was found by subject, the keys, and all of the output."""

    def call(*conf):
        code, shown, errors = run("doctor", *(part for pair in conf for part in ("-c", pair)))
        found, keys, _ = shown.split("\n\n")
        rows = {}
        for line in found.splitlines()[1:]:
            level, subject, text, *_ = [*re.split(r"  +", line.strip(), maxsplit=2), "", ""]
            if level in (OK, NOTE, WARNING, PROBLEM):
                rows.setdefault(subject, []).append((level, text))
        set_keys = [re.split(r"  +", line.strip()) for line in keys.splitlines()[2:]]
        return code, rows, set_keys, shown + errors

    return call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give the place of a spool."""
    return tmp_path / "spool"


@pytest.fixture
def run_of() -> Callable[..., list[Shipped]]:
    """Give what makes events of one run, by their types."""

    def make(*kinds: str, run_id: str = "a", parent: str | None = None) -> list[Shipped]:
        job = {"namespace": "shop", "name": f"job {run_id}"}
        bodies = [{"eventType": kind, "run": {"runId": run_id}, "job": job} for kind in kinds]
        return [
            Shipped(run_id, kind, json.dumps(body).encode(), parent) for kind, body in zip(kinds, bodies, strict=True)
        ]

    return make


@pytest.fixture
def leave() -> Callable[..., Spool]:
    """Give what leaves events behind as an application does that has ended, or as one that still runs."""

    def left(root: Path, destination: str, *events: Shipped, owner_lives: bool = False, name: str = "") -> Spool:
        spool = Spool.create(root, destination)
        if name:
            spool.name_application(name)
        for each in events:
            spool.append(each)
        if not owner_lives:
            spool.close()
        return spool

    return left
