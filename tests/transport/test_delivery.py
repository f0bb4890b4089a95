"""Delivery in the background: order, counts, limits in time, failures, fork."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.transport import (
    Delivery,
    DeliveryCounts,
    Event,
    Transport,
    TransportError,
    open_transport,
)
from openlineage_pyspark.transport.backlog import DropReason
from openlineage_pyspark.transport.memory import MemoryTransport

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest


class GatedTransport(MemoryTransport):
    """Keeps events like its parent, but only while `gate` is open: a receiver that hangs at will."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()

    def send(self, event: Event) -> None:
        self.entered.set()
        self.gate.wait(30)
        super().send(event)


class FailingTransport(Transport):
    """Raises what it is given, one for each event, and takes the event where that is None."""

    def __init__(self, *errors: BaseException | None) -> None:
        self.errors = list(errors)

    def send(self, _event: Event) -> None:
        error = self.errors.pop(0)
        if error is not None:
            raise error

    def close(self, _timeout: float, /) -> None:
        raise OSError("key=canary")


def events(count: int) -> list[Event]:
    return [Event(f"r{n % 3}", "RUNNING", str(n).encode()) for n in range(count)]


def submit_all(delivery: Delivery, what: Iterable[Event]) -> None:
    for event in what:
        delivery.submit(event)


def test_events_are_shipped_in_the_order_of_submission_and_the_transport_is_closed() -> None:
    transport = MemoryTransport()
    delivery = Delivery(transport)
    submit_all(delivery, events(500))
    assert delivery.close(10) == 0
    assert transport.events == events(500)
    assert transport.closed_within is not None
    assert 0 < transport.closed_within <= 10
    assert delivery.counts() == DeliveryCounts(sent=500)


def test_events_of_many_threads_all_arrive_each_thread_in_order() -> None:
    transport = MemoryTransport()
    delivery = Delivery(transport)
    streams = [[Event(f"t{n}", "RUNNING", str(i).encode()) for i in range(100)] for n in range(8)]
    threads = [threading.Thread(target=submit_all, args=(delivery, stream)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert delivery.flush(10) == 0
    for n, stream in enumerate(streams):
        assert [event for event in transport.events if event.run_id == f"t{n}"] == stream
    delivery.close(1)


def test_submit_returns_while_the_transport_hangs_and_flush_and_close_keep_their_limits() -> None:
    transport = GatedTransport()
    delivery = Delivery(transport)
    begin = time.monotonic()
    submit_all(delivery, events(3))
    assert time.monotonic() - begin < 0.5
    assert transport.entered.wait(5)
    begin = time.monotonic()
    assert delivery.flush(0.2) == 3
    assert delivery.flush(0) == 3
    assert delivery.close(0.3) == 3
    assert 0.5 <= time.monotonic() - begin < 2
    assert delivery.counts() == DeliveryCounts(pending=3)
    transport.gate.set()


def test_what_was_left_at_the_limit_is_not_shipped_later() -> None:
    transport = GatedTransport()
    delivery = Delivery(transport)
    submit_all(delivery, events(3))
    assert transport.entered.wait(5)
    assert delivery.close(0) == 3
    transport.gate.set()
    assert delivery.close(5) == 2
    assert transport.events == events(1)
    assert delivery.counts() == DeliveryCounts(sent=1, pending=2)


def test_flush_waits_for_the_event_that_is_being_sent() -> None:
    transport = GatedTransport()
    delivery = Delivery(transport)
    submit_all(delivery, events(1))
    assert transport.entered.wait(5)
    threading.Timer(0.2, transport.gate.set).start()
    assert delivery.flush(10) == 0
    assert transport.events == events(1)
    delivery.close(1)


def test_an_idle_delivery_closes_at_once_and_twice() -> None:
    transport = MemoryTransport()
    delivery = Delivery(transport)
    begin = time.monotonic()
    assert delivery.close(10) == 0
    assert delivery.close(10) == 0
    assert time.monotonic() - begin < 1
    assert transport.closed_within is not None


def test_failures_are_counted_each_and_logged_once_per_kind(caplog: pytest.LogCaptureFixture) -> None:
    def refused(run: str) -> TransportError:
        return TransportError("http://h answered 400", retryable=False, status=400, answer=f"run {run}")

    def unexpected() -> Exception:
        return KeyError("api-key-canary")

    delivery = Delivery(
        FailingTransport(
            refused("1"),
            refused("2"),
            None,
            TransportError("http://h is silent", retryable=True),
            unexpected(),
            unexpected(),
        )
    )
    submit_all(delivery, events(6))
    assert delivery.close(10) == 0
    assert delivery.counts() == DeliveryCounts(sent=1, failed=5)
    told = [record.getMessage() for record in caplog.records]
    rest = "further failures of this kind are only counted"
    never = "(a further attempt would fail too)"
    assert told[0] == f"delivery of OpenLineage events: http://h answered 400: run 1 {never}; {rest}"
    assert told[1] == f"delivery of OpenLineage events: http://h is silent (a later attempt could succeed); {rest}"
    assert told[2].startswith(f"the transport of OpenLineage events failed with KeyError at {__file__}:")
    assert told[3].startswith(f"the transport of OpenLineage events failed with OSError at {__file__}:")
    assert told[4] == "OpenLineage events: 1 sent, 5 failed, 0 dropped, 0 left unsent"
    assert len(told) == 5
    assert "canary" not in caplog.text


def test_a_transport_that_words_each_failure_anew_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    delivery = Delivery(FailingTransport(*(TransportError(f"failure {n}", retryable=True) for n in range(100))))
    submit_all(delivery, events(100))
    assert delivery.flush(10) == 0
    assert len(caplog.records) == 20
    assert delivery.counts() == DeliveryCounts(failed=100)
    delivery.close(1)


def test_a_worker_that_was_killed_is_started_again() -> None:
    """In a process of its own, since the dying thread may outlast the test."""
    program = """
from openlineage_pyspark.transport import Delivery, Event
from openlineage_pyspark.transport.memory import MemoryTransport
class Deadly(MemoryTransport):
    def send(self, event):
        if event.event_type == "START":
            raise SystemExit
        super().send(event)
delivery = Delivery(Deadly())
left = []
for _ in range(50):
    for kind in ("START", "COMPLETE"):
        delivery.submit(Event("r", kind, b"1"))
        left.append(delivery.flush(1))
print(sum(left), delivery.counts())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"0 {DeliveryCounts(sent=50, failed=50)}\n"


def test_what_is_dropped_is_counted_by_reason_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    transport = GatedTransport()
    delivery = Delivery(transport, max_bytes=10)
    delivery.submit(Event("app", "START", b"0"))
    assert transport.entered.wait(5)
    for run in ("a", "b"):
        delivery.submit(Event(run, "START", b"12345"))
        delivery.submit(Event(run, "COMPLETE", b"12345"))
    delivery.submit(Event("c", "START", b"12345678901"))
    delivery.submit(Event("d", "START", b"12345678901"))
    transport.gate.set()
    assert delivery.close(10) == 0
    delivery.submit(Event("e", "START", b"1"))
    assert [event.run_id for event in transport.events] == ["app", "b", "b"]
    drops = {DropReason.FINISHED_RUN: 2, DropReason.NO_ROOM: 2, DropReason.CLOSED: 1}
    assert delivery.counts() == DeliveryCounts(sent=3, dropped=5, drops=drops)
    rest = "further ones are only counted"
    assert [record.getMessage() for record in caplog.records] == [
        f"an OpenLineage event was dropped, with its finished run, to make room for a newer one; {rest}",
        f"an OpenLineage event was dropped: no room, and no finished run to drop in its place; {rest}",
        "OpenLineage events: 3 sent, 0 failed, 4 dropped, 0 left unsent",
        f"an OpenLineage event was dropped: it came after the delivery was closed; {rest}",
    ]


def test_a_dead_receiver_costs_the_submitter_nothing(receiver: Any, answer: Any) -> None:
    receiver.answers.extend([answer(status=503), answer(hang=True), answer()])
    delivery = Delivery(open_transport("http", {"url": receiver.url, "timeoutInMillis": 200}))
    begin = time.monotonic()
    submit_all(delivery, events(3))
    assert time.monotonic() - begin < 0.15
    assert delivery.close(10) == 0
    assert delivery.counts() == DeliveryCounts(sent=1, failed=2)
    assert [got.body for got in receiver.received] == [b"0", b"1", b"2"]


FORK = """
import os, sys, threading, time
from openlineage_pyspark.transport import Delivery, DeliveryCounts, Event, open_transport
from openlineage_pyspark.transport.file import FileTransport

class SlowFile(FileTransport):
    def send(self, event):
        time.sleep(0.005)
        super().send(event)

delivery = Delivery(SlowFile.from_options({"location": sys.argv[1]}))
stop = threading.Event()
def flood():
    n = 0
    while not stop.is_set():
        delivery.submit(Event("r", "RUNNING", b"%d" % n))
        n += 1
        time.sleep(0.001)
flooder = threading.Thread(target=flood)
flooder.start()
children = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        begin = time.monotonic()
        delivery.submit(Event("r", "RUNNING", b"-1"))
        ok = delivery.flush(60) == 0 and delivery.counts() == DeliveryCounts() and delivery.close(60) == 0
        os._exit(0 if ok and time.monotonic() - begin < 5 else 1)
    children.append(child)
    time.sleep(0.005)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
stop.set()
flooder.join()
print(delivery.close(30), delivery.counts().sent)
"""


def test_forked_children_neither_ship_nor_hang(tmp_path: Any) -> None:
    """Forks happen while the worker sends and another thread submits, so that the lock may be held."""
    path = tmp_path / "events"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(path)],
        capture_output=True, text=True, check=True, timeout=90,
    )  # fmt: skip
    numbers = [int(line) for line in path.read_text().splitlines()]
    assert numbers == list(range(len(numbers)))
    assert done.stdout == f"{[0] * 20}\n0 {len(numbers)}\n"


def test_an_open_delivery_does_not_keep_the_process_alive() -> None:
    program = """
import threading
from openlineage_pyspark.transport import Delivery, Event
from openlineage_pyspark.transport.memory import MemoryTransport
class Hanging(MemoryTransport):
    def send(self, event):
        threading.Event().wait()
delivery = Delivery(Hanging())
delivery.submit(Event("r", "START", b"1"))
print(delivery.close(0.1))
"""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "1\n"
    assert done.stderr == "OpenLineage events: 0 sent, 0 failed, 0 dropped, 1 left unsent\n"
    assert time.monotonic() - begin < 10
