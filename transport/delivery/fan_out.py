"""Delivery to several independent receivers at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from openlineage_pyspark.transport.composite import CompositeTransport
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts, ReceiverMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.delivery.worker import Delivery
    from openlineage_pyspark.transport.event import Event


class FanOut:
    """
    Hands each event to several deliveries, each with its own queue, spool and retries.

    Args:
        deliveries: one for each receiver; the fan-out owns and closes them.
    """

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self._deliveries = tuple(deliveries)

    def start(self) -> None:
        """Start sending what earlier applications left in the spool; the first `submit` does so too."""
        for delivery in self._deliveries:
            delivery.start()

    def submit(self, event: Event) -> None:
        """Queue an event; this never waits for a receiver and never raises."""
        for delivery in self._deliveries:
            delivery.submit(event)

    def flush(self, timeout_seconds: float) -> int:
        """
        Wait until every event has an answer from every receiver; see `Delivery.flush`.

        Args:
            timeout_seconds: the limit for all deliveries together; 0 does not wait.

        Returns:
            The number of missing answers.
        """
        return self._shared(timeout_seconds, [delivery.flush for delivery in self._deliveries])

    def close(self, timeout_seconds: float) -> int:
        """
        Send what waits, and close; see `Delivery.close`.

        Args:
            timeout_seconds: the limit for all deliveries together; 0 does not wait.

        Returns:
            The number of missing answers.
        """
        return self._shared(timeout_seconds, [delivery.close for delivery in self._deliveries])

    def counts(self) -> DeliveryCounts:
        """Return the outcomes so far, counting every event once for each receiver."""
        return DeliveryCounts.total(delivery.counts() for delivery in self._deliveries)

    def metrics(self) -> tuple[ReceiverMetrics, ...]:
        """Return the outcomes of this application's own events so far, one value for each receiver."""
        return tuple(each for delivery in self._deliveries for each in delivery.metrics())

    def _shared(self, seconds: float, calls: Sequence[Callable[[float], int]]) -> int:
        """
        Make the calls one after the other, each with an equal share of the remaining time; return the sum.

        All deliveries send in the meantime, so the last call is no worse off than the first.
        """
        end = time.monotonic() + seconds
        left = 0
        for position, call in enumerate(calls):
            left += call(max(0.0, end - time.monotonic()) / (len(calls) - position))
        return left


def independent_parts(transport: Transport) -> list[Transport]:
    """
    Return the transports that each get every event, whatever the outcome at the others.

    Args:
        transport: as configured.

    Returns:
        The parts of a composite transport that sends to all of them, recursively; else the transport itself.
    """
    if isinstance(transport, CompositeTransport) and transport.independent:
        return [inner for part in transport.parts for inner in independent_parts(part.transport)]
    return [transport]
