"""Receivers and spools that misbehave in every way: the job's statements neither fail nor wait, nothing is lost."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import sqlite3
import ssl
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import UNREADABLE, directories
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What ships events knows nothing of Spark: one version of it is enough, and a minute less.
pytestmark = [pytest.mark.any_spark, pytest.mark.long]

FLUSH_SECONDS = 1.0
# Whatever hangs here hangs for longer: a receiver for 30 s, which is when its silence ends in an error.
PATIENCE = 25.0
# The application's START and COMPLETE, and those of one write.
EVENTS = 4


def status(line: str, *fields: str, length: int = 0) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {line}", f"Content-Length: {length}", *fields, "", ""]).encode()


ANSWERS = {
    "answers 500": status("500 Internal Server Error"),
    "answers 503": status("503 Service Unavailable"),
    "answers 400": status("400 Bad Request"),
    "answers 401": status("401 Unauthorized"),
    "answers 403": status("403 Forbidden"),
    "answers 404": status("404 Not Found"),
    "moves away": status("302 Found", "Location: http://127.0.0.1:1/login"),
    "asks for an hour": status("429 Too Many Requests", "Retry-After: 3600"),
    "answers garbage": b"\x00\xffno HTTP at all\r\n\r\n",
    "answers half a head": b"HTTP/1.",
    "answers half a body": status("500 Internal Server Error", "Connection: close", length=1000) + b"half",
    "redirects in a circle": status("307 Temporary Redirect", "Location: URL/api/v1/lineage"),
}
REFUSED_FOR_GOOD = ("answers 400",)
ELSEWHERE = ("refuses", "hangs", "closes in the middle", "has no name", "has a stranger's certificate")
AWAY = (*ELSEWHERE, *ANSWERS)
NO_SPOOL = ("is full", "is read-only", "is below a file")
DAMAGED = ("fills up", "is overwritten", "is locked")
UNUSABLE = (*NO_SPOOL, *DAMAGED, "has a corrupt rest")
SPOOLS = (*UNUSABLE, "has a locked rest")


@attrs.frozen
class Fault:
    """
    What the job is to bear.

    Args:
        url: of the receiver.
        spool: the spool's root.
        damage: what the job does to the spool once it is used.
        receiver: which it is, where there is one.
    """

    url: str
    spool: Path
    damage: str | None = None
    receiver: Any = None

    @property
    def options(self) -> dict[str, str]:
        """The listener's configuration."""
        options = {
            "transport.type": "http",
            "transport.url": self.url,
            "spool.path": str(self.spool),
            "flush.timeoutInMillis": str(round(FLUSH_SECONDS * 1000)),
        }
        return {f"spark.openlineage.{key}": value for key, value in options.items()}


@attrs.frozen
class Report:
    """
    What became of it.

    Args:
        job: that bore all faults.
        faults: by name.
        times: of each step, in seconds, by the fault's name.
    """

    job: Any
    faults: dict[str, Fault]
    times: dict[str, dict[str, float]]

    def said(self, name: str) -> list[str]:
        """Give the lines of the listener while a fault was borne."""
        part = self.job.stderr.partition(f"fault {name}\n")[2].partition("\nfault ")[0]
        return [line for line in part.splitlines() if "openlineage" in line.lower()]

    def fault(self, name: str) -> Fault:
        """Give a fault, and skip the test where it could not be brought about."""
        if name not in self.faults:
            pytest.skip("it needs the openssl command" if "certificate" in name else "it needs the right to mount")
        return self.faults[name]


def own_certificate(folder: Path) -> ssl.SSLContext | None:
    """Give a context whose certificate nobody vouches for; None without the command that makes it."""
    if shutil.which("openssl") is None:
        return None
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=stranger -keyout key.pem -out cert.pem"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """Give the address of somebody who has a port and does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture(scope="module")
def away(refusing: str, wire: Any, receivers: Callable[..., Any], folder: Path) -> dict[str, Fault]:
    """Give the receivers that misbehave."""
    found = {
        "refuses": Fault(refusing, folder / "refuses"),
        "has no name": Fault("http://no-such-host.invalid", folder / "has no name"),
    }
    behaviours = {"hangs": wire.hanging, "closes in the middle": wire.closing}
    behaviours |= {name: wire.answering(answer) for name, answer in ANSWERS.items()}
    for name, behaviour in behaviours.items():
        receiver = receivers(behaviour)
        found[name] = Fault(receiver.url, folder / name, receiver=receiver)
    context = own_certificate(folder)
    if context is not None:
        name = "has a stranger's certificate"
        receiver = receivers(wire.answering(status("201 Created")), context)
        found[name] = Fault(receiver.url, folder / name, receiver=receiver)
    return found


@pytest.fixture(scope="module")
def spools(wire: Any, receivers: Callable[..., Any], folder: Path) -> Iterator[dict[str, Fault]]:
    """Give the spools that misbehave, each with a receiver of its own that takes everything."""
    with contextlib.ExitStack() as stack:

        def mounted(name: str, *options: str) -> Path | None:
            place = folder / name
            place.mkdir()
            command = ["mount", "-t", "tmpfs", "-o", ",".join(("mode=700", *options)), "tmpfs", str(place)]
            if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
                return None
            stack.callback(subprocess.run, ["umount", "--lazy", str(place)], check=True)
            return place / "spool"

        places = {
            "is full": mounted("is full", "size=64k"),
            "is read-only": mounted("is read-only", "ro"),
            "fills up": mounted("fills up", "size=512k"),
            "is below a file": folder / "file" / "spool",
            **{
                name: folder / name
                for name in ("is overwritten", "is locked", "has a corrupt rest", "has a locked rest")
            },
        }
        (folder / "file").write_text("no directory")
        if places["is full"] is not None:
            (folder / "is full" / "filler").write_bytes(b"x" * (64 << 10))
        damages = {"fills up": "fill", "is overwritten": "corrupt", "is locked": "hold"}
        found = {}
        for name, place in places.items():
            receiver = receivers(wire.answering(status("201 Created")))
            if place is not None:
                found[name] = Fault(receiver.url, place, damages.get(name), receiver)
        rest = found["has a corrupt rest"].spool / "20260101T000000Z-1-00000000"
        rest.mkdir(parents=True)
        (rest / "events.sqlite").write_bytes(b"no database " * 1000)
        fault = found["has a locked rest"]
        spool = Spool.create(fault.spool, open_transport("http", {"url": fault.url}).destination)
        spool.append(Event("0190a000-0000-7000-8000-000000000001", "START", b"{}"))
        spool.close()
        holder = stack.enter_context(contextlib.closing(sqlite3.connect(spool.directory / "events.sqlite")))
        holder.isolation_level = None
        holder.execute("BEGIN EXCLUSIVE")
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spools")


@pytest.fixture(scope="module")
def report(faults: Any, away: dict[str, Fault], spools: dict[str, Fault]) -> Report:
    """Give the report of one job that bears one fault after the other."""
    both = away | spools
    entries: list[dict[str, Any]] = [{"name": "none", "options": None}]
    entries += [{"name": name, "options": fault.options, "damage": fault.damage} for name, fault in both.items()]
    job = faults.run("backends.py", "faults.json", lineage=False, files={"faults.json": json.dumps(entries)})
    lines = (job.folder / "times.ndjson").read_text().splitlines()
    times = {entry.pop("name"): entry for entry in map(json.loads, lines)}
    return Report(job, both, times)


def test_all_statements_give_what_they_give_without_the_listener(report: Report) -> None:
    assert report.job.code == 0
    assert report.job.stdout.splitlines() == [*(f"{name} 5" for name in ("none", *report.faults)), "end"]


@pytest.mark.parametrize("name", [*AWAY, *SPOOLS])
def test_nothing_waits(report: Report, name: str) -> None:
    report.fault(name)
    times = report.times[name]

    assert times["statements"] < report.times["none"]["statements"] + PATIENCE
    assert times["register"] < PATIENCE
    assert times["close"] < FLUSH_SECONDS + PATIENCE


@pytest.mark.parametrize("name", AWAY)
def test_what_a_receiver_does_not_take_is_kept_and_said(report: Report, name: str) -> None:
    spool = report.fault(name).spool
    kept = [content(directory) for directory in directories(spool)]

    assert [(found.problem, found.in_use) for found in kept] == [("", False)]
    refused = EVENTS if name in REFUSED_FOR_GOOD else 0
    assert (kept[0].waiting, kept[0].dead) == (EVENTS - refused, refused)
    assert report.said(name) != []


def test_a_receiver_that_asks_for_an_hour_is_asked_once(report: Report) -> None:
    assert report.faults["asks for an hour"].receiver.asked == 1


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_spool_that_can_not_be_used_keeps_no_event_from_the_receiver(report: Report, name: str) -> None:
    assert report.fault(name).receiver.asked == EVENTS
    assert report.said(name) != []


def test_a_rest_that_is_locked_can_be_sent_but_not_forgotten(report: Report) -> None:
    fault = report.faults["has a locked rest"]
    (directory,) = directories(fault.spool)

    assert fault.receiver.asked == EVENTS + 1
    assert content(directory).waiting == 1


def test_a_rest_that_is_corrupt_is_set_aside(report: Report) -> None:
    (directory,) = report.faults["has a corrupt rest"].spool.iterdir()

    assert directory.name.endswith(UNREADABLE)
