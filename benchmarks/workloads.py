"""The statements to be measured: what a job could run, the same for each way of measuring."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

NamedAction = tuple[str, Callable[[], Any]]

_TWICE = 2
_SMALL_WRITES = 200
_FIRST, _EVERY = 3, 5


@attrs.frozen
class Scene:
    """
    The environment in which the statements run.

    Args:
        spark: the session.
        folder: an empty folder for them.
        tpcds: the folder with `create_tables.py` and `queries/` of TPC-DS.
        all_queries: whether to run every query of TPC-DS, not only every fifth.
    """

    spark: Any
    folder: Path
    tpcds: Path
    all_queries: bool = False


@attrs.frozen
class Workload:
    """
    One workload.

    Args:
        about: a description in one line.
        prepare: creates the tables that it reads; not timed.
        statements: the user's statements, built and run when called; timed.
        plans: the same statements as SQL text that need not be run, to measure the parts of the listener alone.
    """

    about: str
    prepare: Callable[[Scene], None]
    statements: Callable[[Scene], Iterator[NamedAction]]
    plans: Callable[[Scene], Iterable[tuple[str, str]]]


def _tpcds(scene: Scene) -> list[tuple[str, str]]:
    """Return the queries as CREATE TABLE AS SELECT."""
    source = _tables_of(scene.tpcds)
    named = source.queries()
    chosen = named if scene.all_queries else named[_FIRST::_EVERY]
    return [(name, source.as_ctas(sql, f"answer_{name}", len(scene.spark.sql(sql).columns))) for name, sql in chosen]


def _tables_of(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tpcds_tables", folder / "create_tables.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} has no create_tables.py: name the folder of TPC-DS with --tpcds")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _prepare_tpcds(scene: Scene) -> None:
    _tables_of(scene.tpcds).create(scene.spark, database="tpcds")
    scene.spark.sql("USE tpcds")


def _tpcds_statements(scene: Scene) -> Iterator[NamedAction]:
    for name, sql in _tpcds(scene):
        yield name, partial(scene.spark.sql, sql)


def _table(scene: Scene, name: str, columns: list[str]) -> None:
    made = ["id AS k", *(f"id * {at + 2} AS {column}" for at, column in enumerate(columns))]
    scene.spark.range(0, 100, 1, 1).selectExpr(*made).write.parquet(str(scene.folder / name))


def _read(scene: Scene, name: str) -> Any:
    return scene.spark.read.parquet(str(scene.folder / name))


def _prepare_small(scene: Scene) -> None:
    _table(scene, "few", ["a", "b"])


def _small(scene: Scene) -> Any:
    return _read(scene, "few").selectExpr("k", "a + b AS c")


def _prepare_wide(scene: Scene) -> None:
    _table(scene, "wide", [f"c{at}" for at in range(300)])


def _with_columns(scene: Scene) -> Any:
    from pyspark.sql import functions

    frame = _read(scene, "wide")
    for at in range(100):
        frame = frame.withColumn(f"c{at}", functions.col(f"c{at}") + functions.col(f"c{at + 1}"))
    return frame


def _prepare_branches(scene: Scene) -> None:
    _table(scene, "branch", [f"c{at}" for at in range(20)])


def _union(scene: Scene) -> Any:
    frame = _read(scene, "branch").where("c0 > 0")
    reader = scene.spark.read.schema(frame.schema)  # or Spark would look into the files of each branch
    for at in range(1, 100):
        frame = frame.union(reader.parquet(str(scene.folder / "branch")).where(f"c0 > {at}"))
    return frame


def _prepare_joined(scene: Scene) -> None:
    for table in range(10):
        _table(scene, f"side{table}", [f"t{table}_c{at}" for at in range(99)])


def _join(scene: Scene) -> Any:
    frame = _read(scene, "side0")
    for table in range(1, 10):
        frame = frame.join(_read(scene, f"side{table}"), "k")
    return frame


def _build_and_write(make: Callable[[Scene], Any], scene: Scene, target: str) -> None:
    make(scene).write.parquet(target)


def _of_frames(about: str, prepare: Callable[[Scene], None], make: Callable[[Scene], Any], times: int) -> Workload:
    """Return a workload that builds a DataFrame and writes it, several times over."""

    def statements(scene: Scene) -> Iterator[NamedAction]:
        for at in range(times):
            target = str(scene.folder / f"out{at}")
            yield f"write {at}", partial(_build_and_write, make, scene, target)

    def plans(scene: Scene) -> Iterator[tuple[str, str]]:
        make(scene).createOrReplaceTempView("made")
        target = scene.folder / "out"
        yield "write", f"INSERT OVERWRITE DIRECTORY '{target}' USING parquet SELECT * FROM made"

    return Workload(about, prepare, statements, plans)


WORKLOADS = {
    "start": _of_frames("a session and one small write: what is paid once", _prepare_small, _small, 1),
    "tpcds": Workload(
        "TPC-DS queries on empty tables, each as CREATE TABLE AS SELECT", _prepare_tpcds, _tpcds_statements, _tpcds
    ),
    "small-writes": _of_frames(f"{_SMALL_WRITES} small writes", _prepare_small, _small, _SMALL_WRITES),
    "with-columns": _of_frames(
        "300 columns x 100 withColumn, built and written twice", _prepare_wide, _with_columns, _TWICE
    ),
    "union": _of_frames("a union of 100 branches, built and written twice", _prepare_branches, _union, _TWICE),
    "join": _of_frames("a 10-way join of 1,000 columns, built and written twice", _prepare_joined, _join, _TWICE),
}
"""Name on the command line -> the workload."""
