"""What a real driver leaves when it is killed reaches the receiver with the next application, and in order."""

from __future__ import annotations

import json
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import directories
from support.spark_jobs import PATIENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.any_spark

# START and COMPLETE of three writes, and START of the application.
HANDED_OVER = 7


class Receiver(ThreadingHTTPServer):
    """Has a port, and listens once it is asked to; `events` holds the events with the `Idempotency-Key` of each."""

    daemon_threads = True

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), _Taking, bind_and_activate=False)
        self.server_bind()

    def listen(self) -> None:
        """Take events from now on."""
        self.server_activate()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Taking(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.events.append((self.headers["Idempotency-Key"], json.loads(body)))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server() -> Iterator[Receiver]:
    with Receiver() as bound:
        yield bound


def _kept(spool: Path) -> list[tuple[str, int]]:
    """Give the application and the number of the waiting events of each directory that has events."""
    found = [content(directory) for directory in directories(spool)]
    return [(each.application, each.waiting) for each in found if each.waiting]


@pytest.mark.long
def test_what_killed_drivers_had_in_the_spool_is_sent_by_the_next_one(
    jobs: Any, server: Receiver, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    conf = {
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": f"http://127.0.0.1:{server.server_port}",
        "spark.openlineage.spool.path": str(spool),
        **PATIENT,
    }
    killed = jobs.run(
        "killed.py", "kill", str(spool), str(HANDED_OVER), conf=conf, lineage=False, stop_by=signal.SIGKILL
    )
    assert killed.code == -signal.SIGKILL
    left = jobs.run("killed.py", "exit", str(spool), str(2 * HANDED_OVER), conf=conf, lineage=False)
    assert left.code == 0, left.stderr

    # The JVM of a process that ended by itself tells the application's end; one that was killed too tells nothing.
    until = time.monotonic() + 180
    while len(_kept(spool)) < 3 and time.monotonic() < until:
        time.sleep(0.1)
    assert _kept(spool) == [("Killed App", HANDED_OVER)] * 2 + [("Killed App", 1)], killed.stderr + left.stderr
    server.listen()
    ended = jobs.run("killed.py", "end", str(spool), "0", conf=conf, lineage=False)
    server.shutdown()

    assert ended.code == 0
    runs: dict[str, list[str]] = {}
    for key, event in server.events:
        assert key == event["run"]["facets"]["pyspark_event"]["id"]
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    applications = {event["run"]["runId"] for _, event in server.events if event["job"]["name"] == "killed_app"}
    assert sorted(runs.pop(run) for run in applications) == [["START"], ["START", "ABORT"], ["START", "COMPLETE"]]
    assert list(runs.values()) == [["START", "COMPLETE"]] * 9
    assert len({key for key, _ in server.events}) == len(server.events) == 3 * HANDED_OVER + 2
    assert list(spool.iterdir()) == []
