"""Streams: each query is finished when it has started, after one batch; those of RDDs do not start."""

from __future__ import annotations

import datetime
import importlib
import uuid
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage


DSTREAMS = "pyspark.streaming"
"""The module of these streams."""
_SOME_TIME = datetime.datetime(2000, 1, 1)

# The streams of RDDs (`pyspark.streaming`): they do not start, because they would contact their sources.
# What a script does for each RDD is done once, with an RDD without rows, as `foreachBatch` is called once.


def install_dstreams(stage: Stage, write: Callable[[Any, str], None]) -> None:
    """
    Keep streams of RDDs from starting, for the rest of the process.

    Args:
        stage: records each use.
        write: records that an RDD would be written to a path.
    """
    context, stream = (importlib.import_module(f"{DSTREAMS}.{name}") for name in ("context", "dstream"))

    def report() -> None:
        message = "a DStream has no rows in a dry run: what is made from them has no known source"
        stage.problem("STAND_IN", message)

    def for_each(self: Any, call: Callable[..., Any]) -> None:
        report()
        rows = self._sc.emptyRDD()
        takes_time = getattr(getattr(call, "__code__", None), "co_argcount", 1) > 1
        call(*((_SOME_TIME, rows) if takes_time else (rows,)))

    def save(self: Any, prefix: str, suffix: str | None = None) -> None:
        report()
        write(self._sc.emptyRDD(), f"{prefix}-{{time}}{f'.{suffix}' if suffix else ''}")

    contexts, streams = context.StreamingContext, stream.DStream
    for name in ("start", "awaitTermination", "stop", "checkpoint", "addStreamingListener"):
        setattr(contexts, name, lambda *_, **__: None)
    contexts.awaitTerminationOrTimeout = lambda *_: True
    contexts.getOrCreate = classmethod(lambda _, __, make: make())
    streams.foreachRDD, streams.saveAsTextFiles, streams.pprint = for_each, save, lambda *_: None
    streams.checkpoint = lambda self, _: self


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
