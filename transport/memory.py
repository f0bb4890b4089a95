"""
Transport that keeps events in the process, for tests.

To write another transport, copy this module and name the class in `registry.py`. A transport with options declares them
in `OPTIONS` and reads them in `from_options`, as `kafka.py` does; documents and warnings follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.transport.base import Transport

if TYPE_CHECKING:
    from openlineage_pyspark.transport.event import Event


class MemoryTransport(Transport):
    """
    A list in the process, for tests.

    Attributes:
        events: what was sent, in order.
        closed_within: the seconds that `close` was given; None while the transport is open.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed_within: float | None = None

    def send(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def close(self, timeout: float, /) -> None:
        """Record the given seconds; the events stay."""
        self.closed_within = timeout
