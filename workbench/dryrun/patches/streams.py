"""Streaming queries: each is finished when it has started, after one batch."""

from __future__ import annotations

import uuid
from typing import Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn


class FinishedQuery:
    """A query that has ended."""

    def __init__(self) -> None:
        self.id = self.runId = str(uuid.UUID(int=0))
        self.name = None
        self.isActive = False
        # Only data show how many rows there were.
        self.lastProgress = StandIn("lastProgress")
        self.recentProgress = StandIn("recentProgress")
        self.status = {"message": "Stopped", "isDataAvailable": False, "isTriggerActive": False}

    def awaitTermination(self, _timeout: float | None = None) -> bool:  # noqa: N802 (Spark's name)
        """Return at once."""
        return True

    def exception(self) -> None:
        """Return None: the query has not failed."""
        return

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: None


class NoQueries:
    """The query manager of a session, in which no query is active."""

    active: tuple[Any, ...] = ()

    def awaitAnyTermination(self, _timeout: float | None = None) -> bool:  # noqa: N802 (Spark's name)
        """Return at once."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: None
