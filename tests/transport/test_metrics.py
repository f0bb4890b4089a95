"""What the delivery tells of itself: numbers for each receiver, and one line at the end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.attempt import RetryPolicy
from openlineage_pyspark.transport.composite import FanOut
from openlineage_pyspark.transport.delivery.counts import ReceiverMetrics
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

HERE = MemoryTransport().destination
QUICK = RetryPolicy(first_seconds=0.01, longest_seconds=0.01, longest_pause_seconds=0.01)


class Judging(MemoryTransport):
    """Refuses the runs called `bad`, is away for those called `later`, and takes all others."""

    destination = "http://receiver/lineage"

    def send(self, event: Event) -> None:
        if event.run_id.startswith("bad"):
            raise TransportError("answered 422", retryable=False, status=422)
        if event.run_id.startswith("later"):
            raise TransportError("no answer", retryable=True)
        super().send(event)


def submit(delivery: Delivery | FanOut, *runs: str) -> None:
    for run in runs:
        delivery.submit(Event(run, "START", b"{}"))


def test_each_event_of_the_application_is_in_exactly_one_number_of_its_receiver() -> None:
    delivery = Delivery(Judging(), policy=QUICK)
    submit(delivery, "good 1", "good 2", "bad", "later")
    assert delivery.close(10) == 1
    submit(delivery, "too late")
    [metrics] = delivery.metrics()
    assert metrics == ReceiverMetrics(
        receiver="http://receiver/lineage",
        made=5,
        sent=2,
        waiting=1,
        dropped=1,
        refused=1,
        seconds_behind=metrics.seconds_behind,
        retries=metrics.retries,
    )
    assert metrics.seconds_behind > 0
    assert metrics.retries > 0


def test_an_application_with_nothing_waiting_is_not_behind() -> None:
    delivery = Delivery(MemoryTransport())
    submit(delivery, "a", "b")
    assert delivery.close(60) == 0
    assert delivery.metrics() == (ReceiverMetrics(receiver=HERE, made=2, sent=2),)


def test_events_of_earlier_applications_are_not_in_the_numbers(tmp_path: Path) -> None:
    for runs in (("good", "bad"), ("later",)):
        spool = Spool.create(tmp_path, Judging.destination)
        for run in runs:
            spool.append(Event(run, "START", b"{}"))
        spool.close()
    recovery = RecoveryScope(tmp_path)
    delivery = Delivery(Judging(), spool=Spool.create(tmp_path, Judging.destination), recovery=recovery, policy=QUICK)
    submit(delivery, "own")
    assert delivery.close(60) == 0
    [metrics] = delivery.metrics()
    assert (metrics.made, metrics.sent, metrics.waiting, metrics.dropped, metrics.refused) == (1, 1, 0, 0, 0)
    assert metrics.seconds_behind == 0


def test_each_of_several_receivers_has_its_own_numbers() -> None:
    fan_out = FanOut([Delivery(MemoryTransport()), Delivery(Judging(), policy=QUICK)])
    submit(fan_out, "good", "bad")
    assert fan_out.close(60) == 0
    assert fan_out.metrics() == (
        ReceiverMetrics(receiver=HERE, made=2, sent=2),
        ReceiverMetrics(receiver="http://receiver/lineage", made=2, sent=1, refused=1),
    )


def test_one_line_says_at_the_end_how_many_events_arrived_and_where(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "openlineage_pyspark"):
        delivery = Delivery(Judging())
        submit(delivery, "good 1", "good 2")
        assert delivery.close(60) == 0
        delivery.close(10)
        silent = Delivery(Judging())
        silent.start()
        assert silent.close(60) == 0
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "OpenLineage events: 2 of 2 arrived at http://receiver/lineage")
    ]


def test_the_last_line_says_what_did_not_arrive_and_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool = Spool.create(tmp_path, Judging.destination)
    delivery = Delivery(Judging(), spool=spool, policy=QUICK)
    submit(delivery, "good", "bad", "later")
    assert delivery.close(10) == 1
    assert caplog.records[-1].getMessage() == (
        "OpenLineage events for http://receiver/lineage: 1 sent, 1 refused, 0 dropped, 1 left unsent; what is left or"
        f" was refused stays in {spool.directory}: `openlineage-pyspark spool ls --dead` lists it,"
        " `openlineage-pyspark replay --dead` sends it"
    )
