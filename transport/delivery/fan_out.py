"""Delivery to several receivers at once, none of which holds up another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from openlineage_pyspark.transport.composite import CompositeTransport
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.delivery.worker import Delivery
    from openlineage_pyspark.transport.event import Event


class FanOut:
    """Hands each event to several deliveries, each with a queue, a spool and retries of its own.

    Args:
        deliveries: one a receiver; from now on they belong to this one.
    """

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self._deliveries = tuple(deliveries)

    def start(self) -> None:
        """Begin with what earlier applications left behind; the first event does the same."""
        for delivery in self._deliveries:
            delivery.start()

    def submit(self, event: Event) -> None:
        """Hand an event over; this never waits for a receiver and never raises."""
        for delivery in self._deliveries:
            delivery.submit(event)

    def flush(self, timeout_seconds: float) -> int:
        """Wait until each event has all its answers, but not longer than this, as `Delivery.flush` does.

        Args:
            timeout_seconds: the limit for all of them together; 0 does not wait.

        Returns:
            How many answers are missing.
        """
        return self._shared(timeout_seconds, [delivery.flush for delivery in self._deliveries])

    def close(self, timeout_seconds: float) -> int:
        """Ship what waits and close, as `Delivery.close` does.

        Args:
            timeout_seconds: the limit for all of them together; 0 does not wait.

        Returns:
            How many answers are missing.
        """
        return self._shared(timeout_seconds, [delivery.close for delivery in self._deliveries])

    def counts(self) -> DeliveryCounts:
        """Return what became of the events so far, each counted once a receiver."""
        return DeliveryCounts.total(delivery.counts() for delivery in self._deliveries)

    def _shared(self, seconds: float, calls: Sequence[Callable[[float], int]]) -> int:
        """Make the calls one after the other, with an equal share of the time; what one leaves is for the rest.

        All of them ship meanwhile, so that the last one waits no longer than the first.
        """
        end = time.monotonic() + seconds
        left = 0
        for position, call in enumerate(calls):
            left += call(max(0.0, end - time.monotonic()) / (len(calls) - position))
        return left


def independent_parts(transport: Transport) -> list[Transport]:
    """Return the transports that are each to get every event, whatever becomes of it at the others.

    Args:
        transport: of which that is itself alone, unless it is a composite one that sends to all.
    """
    if isinstance(transport, CompositeTransport) and transport.independent:
        return [inner for part in transport.parts for inner in independent_parts(part.transport)]
    return [transport]
