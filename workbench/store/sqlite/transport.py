"""A transport that takes events directly into a lineage store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import StoreError, TransportConfigError, TransportError
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.options import OURS, Option, text
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

_PATH = Option(
    "path",
    text,
    text="The file of the store. Several applications may write one at once.",
    default="",
    example="lineage.db",
    source=OURS,
)
# The delivery tries again: a call must not take long, as the application may be about to end.
_PATIENCE_SECONDS = 5.0


class StoreTransport(Transport):
    """A lineage store: one SQLite file, which `openlineage-pyspark upstream` and the other questions query."""

    OPTIONS = (_PATH,)

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def destination(self) -> str:
        """Return the path of the file."""
        return f"store {self._database.path}"

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from `path`.

        Raises:
            TransportConfigError: the path is missing, or can't be opened as a store.
        """
        path = _PATH.required(options, "Set it to the file of the store.")
        try:
            # The thread that sends migrates a store of an older version. Here the application would wait for that.
            return cls(Database(Path(path).expanduser(), migrate=False, patience=_PATIENCE_SECONDS))
        except (StoreError, RuntimeError) as problem:
            raise TransportConfigError(
                "path", f"is {path!r}: {problem}", "The driver's user must be able to write it."
            ) from None

    def send(self, event: Event) -> None:
        """
        Take the event in.

        Raises:
            TransportError: the store can't be written, or the event is not valid.
        """
        try:
            taken = take(self._database, [EventLine("the driver", event.body.decode())])
        except StoreError as problem:
            raise TransportError(str(problem), retryable=True) from None
        if taken.rejected:
            raise TransportError("the store rejected the event", retryable=False, answer=taken.reasons[0])

    def close(self, _timeout: float, /) -> None:
        """Close the file."""
        self._database.close()
