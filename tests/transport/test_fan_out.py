"""Delivery to several receivers: each gets everything, at its own pace, and is not held up by another."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.composite import FanOut, independent_parts
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

EVENTS = [Event(f"r{number}", kind, b"{}") for number in range(20) for kind in ("START", "COMPLETE")]


class Away(MemoryTransport):
    """Takes nothing."""

    def send(self, event: Event) -> None:
        raise TransportError(f"connection refused to {type(event).__name__}", retryable=True)


class Hanging(MemoryTransport):
    """Answers once it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def send(self, event: Event) -> None:
        self.released.wait(120)
        super().send(event)


def by_run(events: list[Event]) -> dict[str, list[str]]:
    return {run: [event.event_type for event in events if event.run_id == run] for run in {e.run_id for e in events}}


def test_each_receiver_gets_everything_though_another_is_away_or_hangs() -> None:
    here, hanging = MemoryTransport(), Hanging()
    fan_out = FanOut([Delivery(Away()), Delivery(hanging), Delivery(here)])
    for event in EVENTS:
        fan_out.submit(event)
    end = time.monotonic() + 60
    while len(here.events) < len(EVENTS) and time.monotonic() < end:
        time.sleep(0.01)
    assert by_run(here.events) == by_run(EVENTS)
    assert hanging.events == []
    counts = fan_out.counts()
    assert (counts.sent, counts.pending) == (40, 80)
    assert fan_out.close(1.0) == 80
    hanging.released.set()


def test_the_time_to_flush_is_for_all_of_them() -> None:
    hanging = [Hanging(), Hanging(), Hanging()]
    fan_out = FanOut([Delivery(each) for each in hanging])
    fan_out.submit(EVENTS[0])
    begin = time.monotonic()
    assert fan_out.flush(0.6) == 3
    assert time.monotonic() - begin >= 0.6
    for each in hanging:
        each.released.set()
    assert fan_out.flush(60) == 0
    assert fan_out.close(60) == 0
    assert [each.events for each in hanging] == [[EVENTS[0]]] * 3


def test_what_one_receiver_did_not_get_goes_to_that_one_alone_in_the_next_application(
    receiver: Any, second_receiver: Any, answer: Any, tmp_path: Path
) -> None:
    def application() -> FanOut:
        transports = [open_transport("http", {"url": each.url}) for each in (receiver, second_receiver)]
        return FanOut(
            [
                Delivery(each, spool=Spool.create(tmp_path, each.destination), recovery=RecoveryScope(tmp_path))
                for each in transports
            ]
        )

    receiver.answers.extend(answer(status=503) for _ in range(1000))
    first = application()
    for event in EVENTS:
        first.submit(event)
    assert first.close(30) > 0
    receiver.answers.clear()
    before = len(second_receiver.received)
    second = application()
    second.start()
    end = time.monotonic() + 60
    while second.counts().sent < 40 and time.monotonic() < end:
        time.sleep(0.01)
    counts = second.counts()
    assert (counts.recovered, counts.sent, second.close(60)) == (40, 40, 0)
    assert len(second_receiver.received) == before


def test_the_parts_of_a_composite_transport_are_receivers_of_their_own_where_all_get_all() -> None:
    noop = {"type": "noop"}
    inner = {"type": "composite", "transports": [noop, {"type": "memory"}]}
    chain = {"type": "composite", "transports": [noop, noop], "continue_on_success": False}

    def kinds(options: dict[str, Any]) -> list[str]:
        return [type(part).__name__ for part in independent_parts(open_transport(options["type"], options))]

    assert kinds(noop) == ["NoopTransport"]
    assert kinds({"type": "composite", "transports": [noop, inner, chain]}) == [
        "NoopTransport", "NoopTransport", "MemoryTransport", "CompositeTransport",
    ]  # fmt: skip
    assert kinds(chain) == ["CompositeTransport"]
    assert kinds({**inner, "continueOnFailure": False}) == ["CompositeTransport"]
