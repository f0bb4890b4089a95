"""Transport that writes events to the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.base import Transport

if TYPE_CHECKING:
    from openlineage_pyspark.transport.event import Event


class ConsoleTransport(Transport):
    """
    Standard error of the driver, one line of JSON per event.

    It is not standard output, because a job's output may be piped into another program.
    """

    def send(self, event: Event) -> None:
        """
        Write the event to the current `sys.stderr`.

        Raises:
            TransportError: standard error is closed, or refuses the write.
        """
        try:
            sys.stderr.write(event.body.decode("utf-8") + "\n")
            sys.stderr.flush()
        # Without a terminal `sys.stderr` may be None; a closed stream raises ValueError.
        except (OSError, ValueError, AttributeError) as exc:
            raise TransportError(f"standard error can't be written ({exc})", retryable=False) from exc

    def close(self, _timeout: float, /) -> None:
        """Do nothing: standard error belongs to the process."""
