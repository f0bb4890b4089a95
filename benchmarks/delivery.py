"""
Check what the delivery promises: count the events that are lost, out of order, after a terminal event, or repeated.

Each scenario sends real events through the spool to a receiver in a separate process: one that is well, one that fails
three requests in ten, one that is away for a while, and one whose sender is killed. For comparison, in the same run,
openlineage-python's own `http` and `async_http` send the same events.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import requests
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import event_id, serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.run import Engine, EventType, Job, RedactedState, RunInput, RunOutput, RunState
from openlineage_pyspark.listener.pipeline import transport_event
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.place import directories
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage.client.event_v2 import RunEvent
    from openlineage_pyspark import EventType

_HERE = Path(__file__).resolve().parent
_BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
_COLUMNS = tuple(Field(f"column_{n}", "string") for n in range(20))
_APPLICATION = "0190a000-0000-7000-8000-000000000000"


@attrs.frozen
class Verdict:
    """What became of the events of one scenario; the first three must be 0."""

    lost: int
    out_of_order: int
    after_terminal: int
    repeats: int


def states(events: int) -> Iterator[RunState]:
    """Yield the states of an application and its runs: the application's START, then START and COMPLETE of each run."""
    yield state(_APPLICATION, "START", 0)
    for number in range((events - 2) // 2):
        run = f"0190a000-0000-7000-8000-{number + 1:012x}"
        yield state(run, "START", number)
        yield state(run, "COMPLETE", number)
    yield state(_APPLICATION, "COMPLETE", events)


def state(run: str, event_type: EventType, second: int) -> RunState:
    """Return one state of one run, with an input and an output of twenty columns each."""
    read = RunInput(Dataset(Identifier("file", "/data/in"), _COLUMNS))
    written = RunOutput(Dataset(Identifier("file", f"/data/out_{run}"), _COLUMNS))
    when = _BEGIN + dt.timedelta(milliseconds=second)
    job = Job("bench", "bench.write", "SQL_JOB")
    return RunState(event_type, when, run, job, Engine("4.3.0"), None, (read,), (written,))


def as_event(one: RunState) -> Event:
    """Return the event of a state, as the listener builds it."""
    identity = event_id(one.run_id, one.event_type, one.event_time)
    return transport_event(one, serialise(described(one)), identity, _APPLICATION)


def described(one: RunState) -> RunEvent:
    """Return a state as an OpenLineage event; it contains nothing to redact."""
    return build_event(RedactedState(one), EventOptions())


@contextlib.contextmanager
def receiver(port: int = 0) -> Iterator[str]:
    """Start a receiver, and yield its URL."""
    process = subprocess.Popen(
        [sys.executable, str(_HERE / "receiver.py"), str(port)], stdout=subprocess.PIPE, text=True
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the receiver has no output")
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def judge(expected: list[Event], taken: list[list[str]]) -> Verdict:
    """Compare the events that were received with those that were handed over."""
    seen: Counter[tuple[str, str, str]] = Counter()
    last: dict[str, int] = {}
    order = {(e.run_id, e.event_type, e.id): n for n, e in enumerate(expected)}
    terminal: set[str] = set()
    out_of_order = after_terminal = 0
    for run, kind, identity in taken:
        key = (run, kind, identity)
        seen[key] += 1
        if seen[key] > 1:
            # A receiver can drop a repeated event by its id.
            continue
        out_of_order += order.get(key, -1) <= last.get(run, -1)
        out_of_order += run != _APPLICATION and _APPLICATION not in last
        after_terminal += run in terminal
        last[run] = order.get(key, -1)
        if kind == "COMPLETE":
            terminal.add(run)
    lost = sum(1 for key in order if key not in seen)
    return Verdict(lost, out_of_order, after_terminal, sum(seen.values()) - len(seen))


def report(url: str) -> list[list[str]]:
    """Return what the receiver reports to have received."""
    answer: list[list[str]] = requests.get(f"{url}/report", timeout=60).json()
    return answer


def delivery_to(url: str, root: Path) -> Delivery:
    """Create a delivery with a spool, as the listener does."""
    transport = open_transport("http", {"type": "http", "url": url})
    return Delivery(
        transport,
        spool=Spool.create(root, transport.destination),
        recovery=RecoveryScope(root),
        max_bytes=4 * 1024**3,
    )


def through_the_spool(events: int, root: Path, *, failing: float = 0.0) -> dict[str, Any]:
    """Send all events, and return the figures."""
    expected: list[Event] = []
    with receiver() as url:
        requests.post(f"{url}/fate", data=str(failing), timeout=10)
        delivery = delivery_to(url, root)
        begin = time.perf_counter()
        for one in states(events):
            expected.append(as_event(one))
            delivery.submit(expected[-1])
        submitted = time.perf_counter() - begin
        left = delivery.close(3600)
        seconds = time.perf_counter() - begin
        return _figures(expected, report(url), seconds) | {
            "left": left,
            "submitted per s": round(len(expected) / submitted),
        }


def outage(events: int, root: Path, seconds: float) -> dict[str, Any]:
    """Send a third, stop the receiver for some seconds while the next third comes, restart it, and send the rest."""
    expected = [as_event(one) for one in states(events)]
    third = len(expected) // 3
    port = _free_port()
    begin = time.perf_counter()
    with receiver(port) as url:
        delivery = delivery_to(url, root)
        for event in expected[:third]:
            delivery.submit(event)
        delivery.flush(600)
        taken = report(url)
    for event in expected[third : 2 * third]:
        delivery.submit(event)
    time.sleep(seconds)
    [directory] = directories(root)
    on_disk = sum(file.stat().st_size for file in directory.iterdir())
    with receiver(port) as url:
        for event in expected[2 * third :]:
            delivery.submit(event)
        while delivery.flush(60):
            pass
        left = delivery.close(60)
        return _figures(expected, taken + report(url), time.perf_counter() - begin) | {
            "left": left,
            "spool bytes per event": round(on_disk / third),
        }


def killed(root: Path, moments: int, seed: int) -> dict[str, Any]:
    """Kill a sender at random moments, each time before it is done; then replay what it left, and judge everything."""
    draw = random.Random(seed)  # noqa: S311 - moments, not secrets
    total: Counter[str] = Counter()
    for number in range(moments):
        place, log = root / str(number), root / f"{number}.log"
        with receiver() as url:
            requests.post(f"{url}/fate", data="0.1", timeout=10)
            process = subprocess.Popen(
                [sys.executable, __file__, "--sender", url, str(place), str(log)], stdout=subprocess.PIPE
            )
            if process.stdout is None:
                raise RuntimeError("the sender has no output")
            process.stdout.readline()
            time.sleep(draw.uniform(0.0, 2.0))
            process.send_signal(signal.SIGKILL)
            process.wait()
            requests.post(f"{url}/fate", data="0", timeout=10)
            logged = log.read_text().split("\n")[:-1]
            handed_over = set(logged)
            expected = [as_event(one) for one in itertools.islice(states(100_000), len(logged))]
            transport = open_transport("http", {"type": "http", "url": url})
            delivery = Delivery(transport, recovery=RecoveryScope(place))
            delivery.start()
            left = delivery.close(600)
            # The sender may have been killed after it put one more event into the spool, but before it noted that.
            extra = {identity for *_, identity in report(url)} - handed_over
            taken = [one for one in report(url) if one[2] in handed_over]
            verdict = attrs.asdict(judge(expected, taken))
            total.update(verdict | {"events": len(expected), "left": left, "not said": len(extra)})
    return {"moments": moments, **total}


def send_until_killed(url: str, root: Path, log: Path) -> None:
    """Act as the sender: note the id of each event after it was handed over, in a file that outlives this process."""
    delivery = delivery_to(url, root)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    print("begun", flush=True)
    for one in states(100_000):
        event = as_event(one)
        delivery.submit(event)
        os.write(descriptor, f"{event.id}\n".encode())


def peer(kind: str, events: int, *, failing: float = 0.0) -> dict[str, Any]:
    """Send the same events with openlineage-python's own transport of this kind."""
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport import get_default_factory

    expected: list[Event] = []
    with receiver() as url:
        requests.post(f"{url}/fate", data=str(failing), timeout=10)
        config = {"type": kind, "url": url, "endpoint": "api/v1/lineage"}
        client = OpenLineageClient(transport=get_default_factory().create(config))
        begin = time.perf_counter()
        raised: Counter[str] = Counter()
        for one in states(events):
            event = described(one)
            expected.append(Event(one.run_id, one.event_type, b"", None, event.run.facets["pyspark_event"].id))
            try:
                client.emit(event)
            except (requests.RequestException, OSError, RuntimeError, ValueError) as problem:
                raised[type(problem).__name__] += 1
        submitted = time.perf_counter() - begin
        client.close(timeout=600)
        seconds = time.perf_counter() - begin
        return _figures(expected, report(url), seconds) | {
            "submitted per s": round(len(expected) / submitted),
            "raised": dict(raised),
        }


def _figures(expected: list[Event], taken: list[list[str]], seconds: float) -> dict[str, Any]:
    size = sum(len(event.body) for event in expected)
    return {
        "events": len(expected),
        **attrs.asdict(judge(expected, taken)),
        "seconds": round(seconds, 1),
        "events per s": round(len(expected) / seconds),
        "bytes per event": round(size / len(expected)),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    """Run the scenarios, print a table, and return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="events of the first two scenarios")
    parser.add_argument("--outage", type=float, default=60.0, help="seconds that the receiver is away")
    parser.add_argument("--moments", type=int, default=20, help="how often the sender is killed")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--only", default="", metavar="TEXT", help="the scenarios whose name has this in it")
    parser.add_argument("--output", type=Path, help="a file for the figures, as JSON")
    parser.add_argument("--sender", nargs=3, metavar=("URL", "SPOOL", "LOG"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sender:
        send_until_killed(options.sender[0], Path(options.sender[1]), Path(options.sender[2]))
        return 0
    root = Path(tempfile.mkdtemp(prefix="delivery-"))
    few = max(20, options.events // 20)
    scenarios = {
        "a receiver that is well": lambda: through_the_spool(options.events, root / "well"),
        "one that fails 30 %": lambda: through_the_spool(options.events, root / "failing", failing=0.3),
        f"one that is away for {options.outage:g} s": lambda: outage(few, root / "outage", options.outage),
        f"kill -9 at {options.moments} moments, replay": lambda: killed(root, options.moments, options.seed),
        "openlineage-python http": lambda: peer("http", few),
        "openlineage-python async_http": lambda: peer("async_http", few),
        "openlineage-python http, 30 % fail": lambda: peer("http", few // 10, failing=0.3),
        "openlineage-python async_http, 30 % fail": lambda: peer("async_http", few // 10, failing=0.3),
    }
    measured: dict[str, dict[str, Any]] = {}
    try:
        for name, run in scenarios.items():
            if options.only not in name:
                continue
            measured[name] = run()
            print(name, json.dumps(measured[name]), flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(measured, indent=1))
    print(table(measured))
    ours = [figures for name, figures in measured.items() if not name.startswith("openlineage-python")]
    return int(any(f[broken] for f in ours for broken in ("lost", "out_of_order", "after_terminal", "left")))


def table(measured: dict[str, dict[str, Any]]) -> str:
    """Return the figures as a Markdown table."""
    columns = ("events", "lost", "out_of_order", "after_terminal", "repeats", "events per s", "submitted per s")
    lines = [
        "| scenario | " + " | ".join(column.replace("_", " ") for column in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    lines += [
        f"| {name} | " + " | ".join(f"{figures[c]:,}" if c in figures else "" for c in columns) + " |"
        for name, figures in measured.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
