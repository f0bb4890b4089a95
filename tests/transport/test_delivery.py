"""Delivery in the background: order, counts, limits in time, failures, fork."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.attempt import RetryPolicy
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts
from openlineage_pyspark.transport.delivery.queue import DropReason
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.slow


class GatedTransport(MemoryTransport):
    """Keeps events like its parent, but only while `gate` is open: a receiver that hangs at will."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()

    def send(self, event: Event) -> None:
        self.entered.set()
        self.gate.wait(300)
        super().send(event)


class FailingTransport(MemoryTransport):
    """Raises what it is given, one for each attempt, and takes the event where that is None or nothing is left."""

    def __init__(self, *errors: BaseException | None) -> None:
        super().__init__()
        self.errors = list(errors)

    def send(self, event: Event) -> None:
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        super().send(event)

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
    assert delivery.close(60) == 0
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
    assert delivery.flush(60) == 0
    for n, stream in enumerate(streams):
        assert [event for event in transport.events if event.run_id == f"t{n}"] == stream
    delivery.close(1)


def test_submit_returns_while_the_transport_hangs_and_flush_and_close_keep_their_limits() -> None:
    transport = GatedTransport()
    delivery = Delivery(transport)
    begin = time.monotonic()
    submit_all(delivery, events(3))
    assert time.monotonic() - begin < 60
    assert transport.entered.wait(60)
    begin = time.monotonic()
    assert delivery.flush(0.2) == 3
    assert delivery.flush(0) == 3
    assert delivery.close(0.3) == 3
    assert 0.5 <= time.monotonic() - begin < 60
    assert delivery.counts() == DeliveryCounts(pending=3)
    transport.gate.set()


def test_what_was_left_at_the_limit_is_not_shipped_later() -> None:
    transport = GatedTransport()
    delivery = Delivery(transport)
    submit_all(delivery, events(3))
    assert transport.entered.wait(60)
    assert delivery.close(0) == 3
    transport.gate.set()
    assert delivery.close(60) == 2
    assert transport.events == events(1)
    assert delivery.counts() == DeliveryCounts(sent=1, pending=2)


def test_flush_waits_for_the_event_that_is_being_sent() -> None:
    transport = GatedTransport()
    delivery = Delivery(transport)
    submit_all(delivery, events(1))
    assert transport.entered.wait(60)
    threading.Timer(0.2, transport.gate.set).start()
    assert delivery.flush(60) == 0
    assert transport.events == events(1)
    delivery.close(1)


def test_an_idle_delivery_closes_at_once_and_twice() -> None:
    transport = MemoryTransport()
    delivery = Delivery(transport)
    begin = time.monotonic()
    assert delivery.close(300) == 0
    assert delivery.close(300) == 0
    assert time.monotonic() - begin < 60
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
    submit_all(delivery, [Event(f"r{n}", "RUNNING", b"1") for n in range(6)])
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(sent=4, failed=2, retries=3)
    told = [record.getMessage() for record in caplog.records]
    rest = "further failures of this kind are only counted"
    assert told[0] == f"an event was not delivered: http://h answered 400: run 1. It is given up; {rest}"
    assert told[1] == f"an event was not delivered: http://h is silent. It is tried again; {rest}"
    assert told[2].startswith(f"the transport of OpenLineage events failed in sending with KeyError at {__file__}:")
    assert told[3].startswith(f"the transport of OpenLineage events failed in closing with OSError at {__file__}:")
    assert told[4] == "OpenLineage events for FailingTransport: 4 sent, 2 refused, 0 dropped, 0 left unsent"
    assert len(told) == 5
    assert "canary" not in caplog.text


def test_a_transport_that_words_each_failure_anew_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    delivery = Delivery(FailingTransport(*(TransportError(f"failure {n}", retryable=False) for n in range(100))))
    submit_all(delivery, events(100))
    assert delivery.flush(60) == 0
    assert len(caplog.records) == 20
    assert delivery.counts() == DeliveryCounts(failed=100)
    delivery.close(1)


def test_a_worker_that_was_killed_is_started_again() -> None:
    """In a process of its own, since the dying thread may outlast the test."""
    program = """
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
class Deadly(MemoryTransport):
    def __init__(self):
        super().__init__()
        self.met = set()
    def send(self, event):
        if event.id not in self.met:
            self.met.add(event.id)
            raise SystemExit
        super().send(event)
transport = Deadly()
delivery = Delivery(transport)
for n in range(10):
    delivery.submit(Event("r", "RUNNING", b"%d" % n))
    while delivery.flush(0.1):
        pass
print([event.body for event in transport.events] == [b"%d" % n for n in range(10)], delivery.counts())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == f"True {DeliveryCounts(sent=10, retries=10)}\n"


def test_counts_do_not_change_once_they_are_given() -> None:
    drops = {DropReason.CLOSED: 1}
    counts = DeliveryCounts(dropped=1, drops=drops)
    drops[DropReason.CLOSED] = 2
    assert counts == DeliveryCounts(dropped=1, drops={DropReason.CLOSED: 1})
    with pytest.raises(TypeError, match="does not support item assignment"):
        counts.drops[DropReason.CLOSED] = 2  # type: ignore[index]


def test_what_is_dropped_is_counted_by_reason_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    transport = GatedTransport()
    delivery = Delivery(transport, max_bytes=11)
    delivery.submit(Event("app", "START", b"0"))
    assert transport.entered.wait(60)
    for run in ("a", "b"):
        delivery.submit(Event(run, "START", b"12345"))
        delivery.submit(Event(run, "COMPLETE", b"12345"))
    delivery.submit(Event("c", "START", b"123456789012"))
    delivery.submit(Event("d", "START", b"123456789012"))
    transport.gate.set()
    assert delivery.close(60) == 0
    delivery.submit(Event("e", "START", b"1"))
    delivery.submit(Event("d", "COMPLETE", b"1"))
    assert [event.run_id for event in transport.events] == ["app", "b", "b"]
    drops = {DropReason.FINISHED_RUN: 2, DropReason.NO_ROOM: 2, DropReason.CLOSED: 2}
    assert delivery.counts() == DeliveryCounts(sent=3, dropped=6, drops=drops)
    rest = "further ones are only counted"
    assert [record.getMessage() for record in caplog.records] == [
        f"an OpenLineage event was dropped, with its finished run, to make room for a newer one; {rest}",
        f"an OpenLineage event was dropped: no room, and no finished run to drop in its place; {rest}",
        "OpenLineage events for GatedTransport: 3 sent, 0 refused, 4 dropped, 0 left unsent",
        f"an OpenLineage event was dropped: it came after the delivery was closed; {rest}",
    ]


def test_a_dead_receiver_costs_the_submitter_nothing_and_gets_each_event_when_it_is_back(
    receiver: Any, answer: Any
) -> None:
    receiver.answers.extend([answer(status=503), answer(hang=True), answer()])
    delivery = Delivery(open_transport("http", {"url": receiver.url, "timeoutInMillis": 200}))
    submit_all(delivery, [Event("r", "RUNNING", str(n).encode()) for n in range(3)])
    assert delivery.counts().sent == 0
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(sent=3, retries=2)
    assert [got.body for got in receiver.received] == [b"0", b"0", b"0", b"1", b"2"]


def test_an_event_that_is_refused_for_good_does_not_hold_the_rest_of_its_run() -> None:
    transport = FailingTransport(TransportError("answered 422", retryable=False, status=422))
    delivery = Delivery(transport)
    submit_all(delivery, [Event("r", "START", b"1"), Event("r", "COMPLETE", b"2")])
    assert delivery.close(60) == 0
    assert [event.body for event in transport.events] == [b"2"]
    assert delivery.counts() == DeliveryCounts(sent=1, failed=1)


class Picky(MemoryTransport):
    """Answers 500 to the events of one run, always; it begins to answer when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()

    def send(self, event: Event) -> None:
        self.opened.wait(60)
        if event.run_id == "poison":
            raise TransportError("answered 500", retryable=True, status=500)
        super().send(event)


def test_an_event_that_fails_again_and_again_while_others_go_through_is_given_up() -> None:
    transport = Picky()
    delivery = Delivery(transport, policy=RetryPolicy(first_seconds=0.001, longest_seconds=0.001, attempts=5))
    delivery.submit(Event("poison", "START", b"1"))
    for n in range(100):
        delivery.submit(Event(f"r{n}", "START", b"1"))
    # Failures while nothing else is there to go through don't count.
    transport.opened.set()
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(sent=100, failed=1, retries=4)


def test_the_start_of_a_parent_goes_before_its_children_even_where_it_has_to_be_tried_again() -> None:
    transport = FailingTransport(TransportError("answered 503", retryable=True, status=503))
    delivery = Delivery(transport)
    delivery.submit(Event("app", "START", b"1"))
    delivery.submit(Event("child", "START", b"2", "app"))
    assert delivery.close(60) == 0
    assert [event.run_id for event in transport.events] == ["app", "child"]


def test_a_receiver_that_asked_to_be_left_alone_holds_nobody_up_at_the_end() -> None:
    asked = TransportError("answered 429", retryable=True, status=429, retry_after=3600)
    delivery = Delivery(FailingTransport(asked))
    delivery.submit(Event("r", "START", b"1"))
    begin = time.monotonic()
    while not delivery.counts().retries:
        time.sleep(0.01)
    assert delivery.close(300) == 1
    assert time.monotonic() - begin < 60


def test_a_receiver_that_is_away_gets_one_attempt_at_the_end_and_a_second_at_most() -> None:
    transport = FailingTransport(*(TransportError("no route", retryable=True) for _ in range(1000)))
    delivery = Delivery(transport, policy=RetryPolicy(first_seconds=0.001, longest_pause_seconds=3600, unanswered=1))
    delivery.submit(Event("r", "START", b"1"))
    while not delivery.counts().retries:
        time.sleep(0.01)
    begin = time.monotonic()
    assert delivery.close(300) == 1
    assert time.monotonic() - begin < 60
    transport.errors.clear()


FORK = """
import os, sys, threading, time
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.file.transport import FileTransport

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
        os._exit(0 if ok and time.monotonic() - begin < 30 else 1)
    children.append(child)
    time.sleep(0.005)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
stop.set()
flooder.join()
print(delivery.close(60), delivery.counts().sent)
"""


def test_forked_children_neither_ship_nor_hang(tmp_path: Any) -> None:
    """Forks happen while the worker sends and another thread submits, so that the lock may be held."""
    path = tmp_path / "events"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(path)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    numbers = [int(line) for line in path.read_text().splitlines()]
    assert numbers == list(range(len(numbers)))
    assert done.stdout == f"{[0] * 20}\n0 {len(numbers)}\n"


def test_an_open_delivery_does_not_keep_the_process_alive() -> None:
    program = """
import threading
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
class Hanging(MemoryTransport):
    def send(self, event):
        threading.Event().wait()
delivery = Delivery(Hanging())
delivery.submit(Event("r", "START", b"1"))
print(delivery.close(0.1))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "1\n"
    assert done.stderr == "OpenLineage events for Hanging: 0 sent, 0 refused, 0 dropped, 1 left unsent\n"
