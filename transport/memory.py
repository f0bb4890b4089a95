"""Transport that keeps events in the process, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.transport.base import Transport

if TYPE_CHECKING:
    from openlineage_pyspark.transport.event import Event


class MemoryTransport(Transport):
    """
    Keeps the events that were sent.

    Attributes:
        events: in the order in which they were sent.
        closed_within: the timeout that `close` got, in seconds; None while the transport is open.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed_within: float | None = None

    def send(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def close(self, timeout: float, /) -> None:
        """Note the timeout; the events stay."""
        self.closed_within = timeout
