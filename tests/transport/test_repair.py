"""Answers about the login or the address: events wait until that is repaired, and then arrive by themselves."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.attempt import Breaker, RetryPolicy
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import directories
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

QUICK = RetryPolicy(first_seconds=0.01, longest_seconds=0.01, longest_pause_seconds=0.01)
EVENTS = [Event("app", "START", b"1"), Event("r", "START", b"2", "app"), Event("r", "COMPLETE", b"3", "app")]


@pytest.mark.parametrize("status", [302, 401, 403, 404, 405])
def test_events_arrive_once_the_key_or_the_gateway_is_repaired(receiver: Any, answer: Any, status: int) -> None:
    receiver.answers.extend([answer(status=status)] * 40)
    delivery = Delivery(open_transport("http", {"url": receiver.url}), policy=QUICK)
    for event in EVENTS:
        delivery.submit(event)
    while delivery.flush(1):
        pass
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(sent=3, retries=40)
    assert [got.body for got in receiver.received[-3:]] == [b"1", b"2", b"3"]


def test_what_an_expired_key_left_on_disk_is_sent_by_the_next_application(
    tmp_path: Path, receiver: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def delivery() -> Delivery:
        transport = open_transport("http", {"url": receiver.url, "auth": {"type": "api_key", "apiKey": "canary"}})
        spool = Spool.create(tmp_path, transport.destination, transport.sender)
        return Delivery(transport, spool=spool, recovery=RecoveryScope(tmp_path), policy=QUICK)

    receiver.answers.extend([answer(status=401)] * 1000)
    expired = delivery()
    for event in EVENTS:
        expired.submit(event)
    assert expired.close(2) == 3
    [left] = directories(tmp_path)
    assert (content(left).waiting, content(left).dead) == (3, 0)
    ls, replay = "`openlineage-pyspark spool ls` lists it", "`openlineage-pyspark replay` sends it"
    refused, summary = (record.getMessage() for record in caplog.records)
    assert refused == (
        f"an event was not delivered: {receiver.url}/api/v1/lineage answered 401. It is tried again now and then,"
        f" until that is repaired, and kept: {ls}, {replay}, with another key `replay --to URL`;"
        " further failures of this kind are only counted"
    )
    assert summary == (
        f"OpenLineage events for {receiver.url}/api/v1/lineage: 0 sent, 0 refused, 0 dropped, 3 left unsent; what is"
        f" left or was refused stays in {left}: {ls}, {replay}"
    )
    receiver.answers.clear()
    healed = delivery()
    healed.submit(Event("new", "START", b"4"))
    while healed.counts().recovering or healed.flush(1):
        pass
    assert healed.close(60) == 0
    assert healed.counts().sent == 4
    assert directories(tmp_path) == []


def test_what_is_refused_for_good_is_said_with_what_to_do(
    tmp_path: Path, receiver: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answers.append(answer(status=422, text="no such facet"))
    transport = open_transport("http", {"url": receiver.url})
    delivery = Delivery(transport, spool=Spool.create(tmp_path, transport.destination))
    delivery.submit(EVENTS[0])
    assert delivery.close(60) == 0
    assert caplog.records[0].getMessage() == (
        f"an event was not delivered: {receiver.url}/api/v1/lineage answered 422: no such facet. It is kept as a"
        " dead letter: `openlineage-pyspark spool ls --dead` lists it, `openlineage-pyspark replay --dead` sends it;"
        " further failures of this kind are only counted"
    )


def test_a_receiver_that_refuses_the_login_is_asked_slowly() -> None:
    policy = RetryPolicy()
    breaker = Breaker(policy)
    for _ in range(policy.lasting):
        assert not breaker.is_open
        breaker.failed(0.0, answered=True, asked=None, lasting=True)
    assert breaker.is_open
    pauses = []
    for _ in range(50):
        breaker.hurry(0.0)
        breaker.began()
        breaker.failed(0.0, answered=True, asked=None, lasting=True)
        pauses.append(breaker.pause(0.0) or 0.0)
    assert 5.0 < max(pauses) <= policy.longest_pause_seconds


class Filtering(MemoryTransport):
    """A firewall that answers 403 to one event, whatever the login is, and lets all others through."""

    def send(self, event: Event) -> None:
        if event.run_id == "bad":
            raise TransportError("answered 403", retryable=True, status=403, lasting=True)
        super().send(event)


def test_one_event_that_is_always_forbidden_while_others_pass_is_a_dead_letter_at_last(tmp_path: Path) -> None:
    transport = Filtering()
    delivery = Delivery(transport, spool=Spool.create(tmp_path, transport.destination), policy=QUICK)
    delivery.submit(Event("bad", "START", b"0"))
    for number in itertools.count():
        delivery.submit(Event(f"r{number}", "START", b"1"))
        delivery.flush(0.05)
        if delivery.counts().failed:
            break
    assert delivery.close(60) == 0
    [left] = directories(tmp_path)
    assert (content(left).waiting, content(left).dead) == (0, 1)


class Gated(MemoryTransport):
    """Refuses the login while `closed`, and one event once more after that."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = True
        self.flaps = 1

    def send(self, event: Event) -> None:
        if self.closed or (event.run_id == "b" and self.flaps):
            self.flaps -= not self.closed
            raise TransportError("answered 404", retryable=True, status=404, lasting=True)
        super().send(event)


def test_attempts_during_an_outage_do_not_count_against_an_event() -> None:
    transport = Gated()
    delivery = Delivery(transport, policy=QUICK)
    for run in "ab":
        delivery.submit(Event(run, "START", run.encode()))
    while delivery.counts().retries < 200:
        delivery.flush(0.01)
    transport.closed = False
    while delivery.flush(1):
        pass
    assert delivery.close(60) == 0
    assert delivery.counts().failed == 0
    assert {event.run_id for event in transport.events} == {"a", "b"}
