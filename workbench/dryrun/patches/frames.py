"""The methods of DataFrames: actions return stand-ins, and of unknown columns nothing is known."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import (
    Unknown,
    UnknownParts,
    UnknownRow,
    UnknownRows,
    maker_of_unknown,
)
from openlineage_pyspark.workbench.dryrun.patches.standins import RowText, row_of
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn, taken_next
from openlineage_pyspark.workbench.dryrun.script.places import DataPlace
from pyspark.rdd import RDD
from pyspark.serializers import CPickleSerializer
from pyspark.sql import Observation, Row
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)
from pyspark.sql.group import GroupedData
from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.patches.worlds import Worlds
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_JOINING = ("crossJoin", "exceptAll", "intersect", "intersectAll", "join", "subtract", "union", "unionAll",
            "unionByName")  # fmt: skip
_VIEWS = ("createOrReplaceTempView", "createTempView", "createGlobalTempView", "createOrReplaceGlobalTempView",
          "registerTempTable")  # fmt: skip
_ROWS = ("collect", "first", "head", "tail", "take", "toArrow", "toLocalIterator", "toPandas")
_SAME = ("cache", "checkpoint", "localCheckpoint", "persist", "unpersist")
_WITHOUT_ROWS = frozenset({"getNumPartitions", "getStorageLevel", "isEmpty", "name", "setName", "toDebugString"})
"""The methods of RDDs that pass no rows on."""
# Some are Databricks' additions to DataFrames.
_QUIET = ("display", "explain", "foreach", "foreachPartition", "printSchema", "show")
_SOME_NUMBER = 1.0

# Statistics of DataFrames, and observed metrics: numbers and columns that depend on data.


class _OneRow(list[Any]):
    """The row of stand-ins that an action returns: a script that takes a further row gets the same one."""

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(at if isinstance(at, slice) else 0)


class _NoColumns(list[str]):
    """The names of unknown columns: a script may take any of them out, or take one by its place."""

    def __getitem__(self, at: Any) -> Any:
        """Return a name that only data show, or such names again."""
        return _NoColumns() if isinstance(at, slice) else RowText("{column}")

    def remove(self, name: str) -> None:
        """Do nothing for a name that is not there."""
        if name in self:
            super().remove(name)


class StandInMetrics(dict[str, Any]):
    """
    The result of an observation: each metric that the script reads is a number that depends on data.

    Args:
        stage: records each decision on one of them.
    """

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def __missing__(self, name: str) -> Any:
        return self._stage.number(f"the metric {name}")


def install_statistics(frame: Any, stage: Stage, without_columns: Callable[[Any], Any]) -> None:
    """
    Make statistics return stand-ins.

    Args:
        frame: PySpark's class of DataFrames.
        stage: records each use.
        without_columns: makes a DataFrame without known columns from another one.
    """

    def report(name: str) -> None:
        stage.problem(
            "STAND_IN", f"{name}() returns {_SOME_NUMBER} in a dry run: what is made from its values is unknown"
        )

    def quantiles(_: Any, col: Any, probabilities: Any, *__: Any, **___: Any) -> Any:
        report("approxQuantile")
        found = [_SOME_NUMBER for _ in probabilities]
        return found if isinstance(col, str) else [list(found) for _ in col]

    def number(name: str) -> Any:
        def statistic(*_: Any, **__: Any) -> float:
            report(name)
            return _SOME_NUMBER

        return statistic

    def crosstab(self: Any, col1: str, col2: str) -> Any:
        rows = F.coalesce(F.col(col1).cast("string"), F.lit("null")).alias(f"{col1}_{col2}")
        return self.groupBy(rows).pivot(col2).agg(F.count(F.lit(1)))

    def transposed(self: Any, *_: Any, **__: Any) -> Any:
        stage.problem("PATTERN", "the columns of transpose() come from values in the data: they are unknown")
        return without_columns(self)

    def files(_: Any) -> list[str]:
        stage.problem(
            "STAND_IN", "inputFiles() returns no files in a dry run: what is made from their names is unknown"
        )
        return []

    def metrics(_: Any) -> StandInMetrics:
        stage.problem(
            "STAND_IN", "an observation returns 1 for each metric in a dry run: what is made from them is unknown"
        )
        return StandInMetrics(stage)

    frame.approxQuantile, frame.crosstab, frame.inputFiles = quantiles, crosstab, files
    frame.transpose = transposed
    frame.corr, frame.cov = number("corr"), number("cov")
    Observation.get = property(metrics)


class FrameMethods:
    """
    Replaces the methods of DataFrames that would run something.

    Args:
        worlds: the worlds of the sessions.
    """

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self.in_batch = 0
        """In how many batches of streams the script is."""
        worlds.unknown = maker_of_unknown(worlds.frame, self._methods_of_unknown(), F.col, worlds.plan)

    def install(self) -> None:
        """Replace the methods, for the rest of the process."""
        frame = self._worlds.frame
        for name in _SAME:
            setattr(frame, name, lambda self_, *_, **__: self_)
        for name in _QUIET:
            setattr(frame, name, lambda *_, **__: None)
        frame.withWatermark = self._watermarking(frame.withWatermark)
        frame.count = self._count
        frame.isStreaming = property(self._is_streaming)
        frame.isEmpty = lambda _: self._worlds.stage.is_empty("isEmpty()")
        for name in _ROWS:
            setattr(frame, name, self._action(name))
        # In newer versions, pandas on Spark calls this method instead.
        frame._to_pandas = self._action("toPandas")
        for name in _JOINING:
            setattr(frame, name, self._joining(name, getattr(frame, name)))
        for name in _VIEWS:
            setattr(frame, name, self._viewing(getattr(frame, name)))
        install_statistics(frame, self._worlds.stage, self._worlds.without_columns)
        pivot = GroupedData.pivot

        def known_pivot(grouped: Any, pivot_col: str, values: Any = None) -> Any:
            if values:
                return pivot(grouped, pivot_col, values)
            message = f"the columns of pivot({pivot_col!r}) are values in the data: one column represents all of them"
            self._worlds.stage.problem("PATTERN", message)
            # PySpark takes only a name; here the column is cast, because the value must have its type.
            java = F.col(pivot_col).cast("string")._jc
            return GroupedData(grouped._jgd.pivot(java, [f"{{{pivot_col}}}"]), grouped._df)

        GroupedData.pivot = known_pivot
        self._patch_rdds_of_frames()
        frame.write = property(DataFrameWriter)
        frame.writeStream = property(DataStreamWriter)
        frame.writeTo = _writer_to

    def _patch_rdds_of_frames(self) -> None:
        frame = self._worlds.frame

        def rdd(self_: Any) -> Any:
            if taken_next(sys._getframe(1)) in _WITHOUT_ROWS:
                # The plan of a declared table can't become an RDD.
                return self_.sparkSession.sparkContext.emptyRDD()
            message = "rows pass through an RDD here: the columns of what is made from them have no known source"
            self._worlds.stage.problem("STAND_IN", message)
            session = self_.sparkSession
            return RDD(self._worlds.world_of(session).writes.rows_of(self_), session.sparkContext, CPickleSerializer())

        frame.rdd = property(rdd)

    @property
    def _count(self) -> Callable[..., Any]:
        return lambda *_: self._worlds.stage.number("count()")

    def _action(self, name: str) -> Callable[..., Any]:
        def action(frame: Any, *arguments: Any, **named: Any) -> Any:
            message = f"{name}() returns one row of stand-ins in a dry run: what is made from its values is unknown"
            self._worlds.stage.problem("STAND_IN", message)
            if Unknown.of(frame) is not None and name in ("toPandas", "toArrow"):
                return StandIn(f"{name}()")
            row = UnknownRow() if Unknown.of(frame) is not None else row_of(frame.schema, Row)
            if any(each in frame.schema.simpleString() for each in ("date", "timestamp")):
                self._worlds.stage.gave_dates = True
            if name == "first" or (name == "head" and not arguments and not named):
                return row
            if name == "toLocalIterator":
                return iter([row])
            if name in ("toPandas", "toArrow"):
                made = importlib.import_module("pandas").DataFrame([row.asDict()])
                return made if name == "toPandas" else sys.modules["pyarrow"].Table.from_pandas(made)
            return _OneRow([row])

        return action

    def _viewing(self, method: Callable[[Any, str], None]) -> Callable[[Any, str], None]:
        def view(frame: Any, name: str) -> None:
            method(frame, name)
            self._worlds.world_of(frame.sparkSession).reads.drop_view(name)

        return view

    def _joining(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def joined(frame: Any, *arguments: Any, **named: Any) -> Any:
            others = [each for each in (*arguments, *named.values()) if Unknown.of(each) is not None]
            if not others:
                return method(frame, *arguments, **named)
            known = Unknown((self._worlds.plan(frame),))
            for each in others:
                known = known.joined(Unknown.of(each) or Unknown())
            return self._worlds.unknown(frame.sparkSession, known)

        joined.__name__ = name
        return joined

    def _watermarking(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def watermarked(frame: Any, eventTime: str, delayThreshold: str) -> Any:
            # Spark removes it from a plan that is no stream, as this one.
            settings = self._worlds.stage.settings
            settings[f"watermark {len(settings)}"] = f"{eventTime} {delayThreshold}"
            return method(frame, eventTime, delayThreshold)

        return watermarked

    def _late(self, name: str) -> Callable[..., Any]:
        def method(frame: Any, *arguments: Any, **named: Any) -> Any:
            return getattr(self._worlds.frame, name)(frame, *arguments, **named)

        return method

    def _is_streaming(self, frame: Any) -> bool:
        """Return whether a stream reads one of the places of a DataFrame; False within a batch of a stream."""
        if self.in_batch:
            return False
        known = Unknown.of(frame)
        places = self._worlds.world.reads.places_of(frame) if known is None else known.places
        return any(DataPlace.of_text(each).streamed for each in places)

    def _methods_of_unknown(self) -> dict[str, Any]:
        def view(frame: Any, name: str) -> None:
            known = Unknown.of(frame)
            if known is not None:
                self._worlds.world_of(frame.sparkSession).reads.put_view(name, known)

        return {
            **dict.fromkeys(_VIEWS, view),
            **{name: self._action(name) for name in _ROWS},
            "_to_pandas": self._action("toPandas"),
            # These methods are replaced later.
            **{name: self._late(name) for name in ("approxQuantile", "corr", "cov", "inputFiles")},
            **dict.fromkeys(_QUIET, lambda *_, **__: None),
            "count": self._count,
            "isEmpty": lambda _: self._worlds.stage.is_empty("isEmpty()"),
            "columns": property(lambda _: _NoColumns()),
            "dtypes": property(lambda _: []),
            "schema": property(lambda _: StructType([])),
            "isStreaming": property(self._is_streaming),
            "sparkSession": property(lambda self_: vars(self_)["_session"]),
            "transform": lambda self_, call, *rest, **named: call(self_, *rest, **named),
            "write": property(DataFrameWriter),
            "writeStream": property(DataStreamWriter),
            "writeTo": _writer_to,
            "na": property(UnknownParts),
            "stat": property(lambda self_: self_),
            "rdd": property(UnknownRows),
        }


def _writer_to(frame: Any, table: str) -> Any:
    return DataFrameWriterV2(frame, table)
