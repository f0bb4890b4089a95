"""Transport that discards events: lineage is computed and goes nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.transport.base import Transport

if TYPE_CHECKING:
    from openlineage_pyspark.transport.event import Event


class NoopTransport(Transport):
    """Nowhere: lineage is computed, and events are discarded."""

    def send(self, event: Event) -> None:
        """Discard the event."""

    def close(self, _timeout: float, /) -> None:
        """Do nothing: there is nothing to close."""
