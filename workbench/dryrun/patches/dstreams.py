"""
The streams of RDDs (`pyspark.streaming`): they do not start, because they would contact their sources.

What a script does for each RDD is done once, with an RDD without rows, as `foreachBatch` is called once.
"""

from __future__ import annotations

import datetime
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

DSTREAMS = "pyspark.streaming"
"""The module of these streams."""
_SOME_TIME = datetime.datetime(2000, 1, 1)


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
