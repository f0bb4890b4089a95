"""RDDs of a script: they have no rows here, but their sources stay known."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.empty_spark.reads import NAME_OF_UNKNOWN
from openlineage_pyspark.workbench.dryrun.sandbox.modules import NoPairs, NoRows, StandIn
from openlineage_pyspark.workbench.dryrun.script.places import DataPlace, qualified
from pyspark import SparkContext, SparkFiles
from pyspark.accumulators import Accumulator
from pyspark.rdd import RDD, PipelinedRDD
from pyspark.sql.types import StringType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_OF_PATHS = ("binaryFiles", "binaryRecords", "pickleFile", "sequenceFile", "textFile", "wholeTextFiles")
_NOT_DONE = ("addArchive", "addJar", "cancelAllJobs", "setCheckpointDir", "setLogLevel")
_LISTS = ("collect", "take", "takeOrdered", "takeSample", "toLocalIterator", "top")
_MAPS = ("collectAsMap", "countByKey", "countByValue")
_SINGLE = ("aggregate", "countApprox", "countApproxDistinct", "first", "fold", "histogram", "max", "mean", "meanApprox",
           "min", "reduce", "sum", "sumApprox", "treeAggregate", "treeReduce")  # fmt: skip
_SAVES = ("saveAsPickleFile", "saveAsSequenceFile", "saveAsTextFile")
_NOTHING = ("foreach", "foreachPartition")
_SHIPPED = "/{SparkFiles}"
_COMMA = re.compile(r",(?![^{}]*\})")
"""A comma between paths, and not in an unknown value or in a pattern."""


def install_rdds(stage: Stage, write: Callable[[Any, str], None]) -> None:
    """
    Make actions on RDDs return no rows, and relative paths begin at the folder in which the script runs.

    Args:
        stage: records each action.
        write: records that an RDD would be written to a path.
    """

    def without_rows(name: str, value: Callable[[], Any]) -> Callable[..., Any]:
        def action(*_: Any, **__: Any) -> Any:
            message = f"{name}() of an RDD returns no rows in a dry run: what is made from them is unknown"
            stage.problem("STAND_IN", message)
            return value()

        return action

    for name in _NOT_DONE:
        setattr(SparkContext, name, lambda *_, **__: None)
    SparkContext.runJob = without_rows("runJob", list)
    for name in _OF_PATHS:
        setattr(SparkContext, name, _of_path(getattr(SparkContext, name), stage))
    _install_files(stage)
    for names, value in ((_LISTS, NoRows), (_MAPS, NoPairs), (_NOTHING, _nothing)):
        for name in names:
            setattr(RDD, name, without_rows(name, value))
    for name in _SINGLE:
        setattr(RDD, name, without_rows(name, functools.partial(StandIn, f"RDD.{name}()")))
    # The folder of checkpoints is not set.
    RDD.checkpoint = RDD.localCheckpoint = lambda _: None
    for name in _SAVES:
        setattr(RDD, name, lambda rdd, path, *_, **__: write(rdd, str(path)))
    Accumulator.value = property(lambda total: _accumulated(total, stage), Accumulator.value.fset)
    RDD.count = lambda _: stage.number("the count() of an RDD")
    RDD.isEmpty = lambda _: stage.is_empty("isEmpty() of an RDD")
    # What Spark knows of the partitions of a file is unknown until it is opened.
    RDD.toDebugString = lambda _: b"{toDebugString}"
    RDD.getNumPartitions = PipelinedRDD.getNumPartitions = lambda _: 1


def _install_files(stage: Stage) -> None:
    """Make `SparkFiles` find the files that a script ships: where the script names them, or where it runs."""
    shipped: dict[str, str] = {}

    def add(_: SparkContext, path: str, *__: Any, **___: Any) -> None:
        shipped[path.rstrip("/").rpartition("/")[2]] = qualified(path, stage.request.folder)

    def get(filename: str) -> str:
        beside = qualified(filename, stage.request.folder)
        for each in (shipped.get(filename, beside), beside):
            if os.path.exists(each):  # noqa: PTH110 (a text)
                return each
        message = f"the file {filename} is not shipped here: its path is assumed to be {_SHIPPED}/{filename}"
        stage.problem("STAND_IN", message)
        return f"{_SHIPPED}/{filename}"

    SparkContext.addFile = add
    SparkFiles.get = staticmethod(get)
    SparkFiles.getRootDirectory = staticmethod(lambda: _SHIPPED)


def _accumulated(total: Any, stage: Stage) -> Any:
    """Return the first value of an accumulator, because no rows are counted here."""
    value = total._value
    return stage.number("the value of an accumulator", value) if type(value) in (int, float) else value


def _nothing() -> None:
    return None


def _of_path(read: Callable[..., Any], stage: Stage) -> Callable[..., Any]:
    """Return a reader for which relative paths are below the folder in which the script runs, as for DataFrames."""

    def reading(context: Any, *given: Any, **named: Any) -> Any:
        # Spark calls it `name` or `path`.
        key = next((each for each in ("name", "path") if each in named), None)
        path, rest = (given[0], given[1:]) if key is None else (named.pop(key), given)
        paths = [qualified(each, stage.request.folder) for each in _COMMA.split(str(path))]
        for each in paths:
            stage.opens_data(each)
        whole = ",".join(_file_instead(each, stage) if NAME_OF_UNKNOWN.search(each) else each for each in paths)
        return read(context, whole, *rest, **named)

    return reading


def _file_instead(path: str, stage: Stage) -> str:
    """Return a file that stands for one whose path contains an unknown value: Hadoop takes braces for a pattern."""
    file = stage.file_of_rows()
    stage.record("frame", file=file, place=DataPlace("text", {}, (path,)).to_text())
    return file


def schema_of_names(names: Any) -> Any:
    """Return a schema of strings if the names of columns are given; None if they are not."""
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(each, str) for each in names):
        return None
    return StructType([StructField(each, StringType()) for each in names])
