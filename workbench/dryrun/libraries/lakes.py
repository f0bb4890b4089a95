"""Delta Lake's own classes for a script: what they do to tables becomes the equivalent SQL statements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.dryrun.libraries.merges import (
    MergeBuilder,
    MergeIntoBuilder,
    MergeStatement,
    set_clause,
    text_of_column,
)
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn, module_of
from openlineage_pyspark.workbench.dryrun.script.answers import DETAIL, HISTORY, OPTIMIZED, RESTORED
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, in_backticks
from openlineage_pyspark.workbench.predict.tables.knowledge import TEXT_TYPE
from openlineage_pyspark.workbench.predict.tables.words import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.dryrun.patches.worlds import Worlds

_CONFLICTS = (
    "ConcurrentAppendException", "ConcurrentDeleteDeleteException", "ConcurrentDeleteReadException",
    "ConcurrentTransactionException", "ConcurrentWriteException", "DeltaConcurrentModificationException",
    "MetadataChangedException", "ProtocolChangedException",
)  # fmt: skip


class Table:
    """Delta Lake's `DeltaTable`, by the table's name in SQL."""

    worlds: Worlds

    def __init__(self, spark: Any, name: str, load: Callable[[], Any], alias: str = "") -> None:
        self._spark = spark
        self._name = name
        self._load = load
        self._alias = alias

    @classmethod
    def forPath(  # noqa: N802 (Delta's)
        cls,
        sparkSession: Any,
        path: str,
        hadoopConf: Any = (),  # noqa: ARG003
    ) -> Any:
        """Return the table at a path, with its columns if they are known."""
        world = cls.worlds.world_of(sparkSession)
        place = world.reads.reader(streamed=False).format("delta").place((str(path),))
        world.reads.know_path(place)
        name = f"delta.{in_backticks(place.paths[0])}"
        return cls(sparkSession, name, lambda: sparkSession.read.format("delta").load(str(path)))

    @classmethod
    def forName(cls, sparkSession: Any, tableOrViewName: str) -> Any:  # noqa: N802
        """Return a table of a catalog."""
        return cls(sparkSession, str(tableOrViewName), lambda: sparkSession.table(str(tableOrViewName)))

    @classmethod
    def isDeltaTable(cls, sparkSession: Any, identifier: str) -> bool:  # noqa: N802
        """Return whether the columns at a path are known, and report that a real run may find otherwise."""
        stage, reads = cls.worlds.stage, cls.worlds.world_of(sparkSession).reads
        place = reads.reader(streamed=False).format("delta").place((str(identifier),))
        is_declared = reads.session.known((SPARK_CATALOG, place.short, place.paths[0])) is not None
        is_known = is_declared or stage.columns_of(place, header=False, inferred=False) is not None
        is_otherwise = stage.decides(f"whether {identifier} is a Delta table", taken=str(is_known).lower())
        return is_known is not is_otherwise

    @classmethod
    def convertToDelta(cls, sparkSession: Any, identifier: str, partitionSchema: Any = None) -> Any:  # noqa: ARG003, N802
        """Return a table of other files, such as ``parquet.`/path` ``, as a table of Delta Lake with their columns."""
        cls.worlds.stage.hides(f"{identifier} is converted")
        names = names_in(str(identifier))
        if len(names) != 2 or "/" not in names[1]:
            return cls.forName(sparkSession, identifier)
        world = cls.worlds.world_of(sparkSession)
        place = world.reads.reader(streamed=False).format(names[0]).place(names[1:])
        columns = world.stage.columns_of(place, header=False, inferred=False)
        if columns is not None:
            world.stage.learn(attrs.evolve(place, format="delta"), columns, ())
        return cls.forPath(sparkSession, names[1])

    @classmethod
    def create(cls, sparkSession: Any = None) -> Any:
        """Begin a new table."""
        return TableBuilder(cls, sparkSession, "CREATE TABLE")

    @classmethod
    def createIfNotExists(cls, sparkSession: Any = None) -> Any:  # noqa: N802
        """Begin a table that an existing one precedes."""
        return TableBuilder(cls, sparkSession, "CREATE TABLE IF NOT EXISTS")

    @classmethod
    def replace(cls, sparkSession: Any = None) -> Any:
        """Begin a table that replaces another one."""
        return TableBuilder(cls, sparkSession, "REPLACE TABLE")

    @classmethod
    def createOrReplace(cls, sparkSession: Any = None) -> Any:  # noqa: N802
        """Begin a table that may replace another one."""
        return TableBuilder(cls, sparkSession, "CREATE OR REPLACE TABLE")

    def alias(self, aliasName: str) -> Any:
        """Return the table with an alias for conditions."""
        return type(self)(self._spark, self._name, self._load, str(aliasName))

    def toDF(self) -> Any:  # noqa: N802
        """Return its rows."""
        found = self._load()
        return found.alias(self._alias) if self._alias else found

    def _statement(self, text: str) -> Any:
        # By the session of the script, so that the answer is a DataFrame of it.
        return self._spark.sql(text)

    @property
    def _target(self) -> str:
        return f"{self._name} AS {in_backticks(self._alias)}" if self._alias else self._name

    def delete(self, condition: Any = None) -> None:
        """Record a DELETE."""
        where = "" if condition is None else f" WHERE {text_of_column(condition)}"
        self._statement(f"DELETE FROM {self._target}{where}")

    def update(self, condition: Any = None, set: Any = None) -> None:  # noqa: A002
        """Record an UPDATE."""
        if set is None:
            condition, set = None, condition  # noqa: A001
        where = "" if condition is None else f" WHERE {text_of_column(condition)}"
        self._statement(f"UPDATE {self._target} SET {set_clause(set)}{where}")

    def merge(self, source: Any, condition: Any) -> Any:
        """Begin a MERGE."""
        return MergeBuilder(MergeStatement(self.worlds.world_of(self._spark), self._target, source, condition))

    def clone(
        self,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Any = None,  # noqa: ARG002
    ) -> Any:
        """Record a copy of the table, and return it."""
        return self._cloned(target, isShallow, replace)

    def cloneAtVersion(  # noqa: N802
        self,
        version: int,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Any = None,  # noqa: ARG002
    ) -> Any:
        """Record a copy of an older version of the table, and return it."""
        return self._cloned(target, isShallow, replace, f" VERSION AS OF {version}")

    def cloneAtTimestamp(  # noqa: N802
        self,
        timestamp: str,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Any = None,  # noqa: ARG002
    ) -> Any:
        """Record a copy of an older version of the table, and return it."""
        return self._cloned(target, isShallow, replace, f" TIMESTAMP AS OF '{timestamp}'")

    def _cloned(self, target: str, is_shallow: bool, is_replaced: bool, at: str = "") -> Any:  # noqa: FBT001
        # As in Delta Lake: a target that is no absolute path is the name of a table.
        is_path = self.worlds.world_of(self._spark).reads.qualified(str(target)) == str(target)
        name = f"delta.{in_backticks(str(target))}" if is_path else str(target)
        kind = "SHALLOW" if is_shallow else "DEEP"
        self._statement(f"CREATE {'OR REPLACE ' * is_replaced}TABLE {name} {kind} CLONE {self._name}{at}")
        return self.forPath(self._spark, target) if is_path else self.forName(self._spark, name)

    def history(self, limit: int | None = None) -> Any:  # noqa: ARG002
        """Return its history, without rows."""
        return self._spark.createDataFrame([], HISTORY)

    def detail(self) -> Any:
        """Return its description, without rows."""
        return self._spark.createDataFrame([], DETAIL)

    def vacuum(self, retentionHours: float | None = None) -> Any:  # noqa: ARG002
        """Return a DataFrame without rows: the rows of the table stay."""
        return self._spark.createDataFrame([], "path STRING")

    def restoreToVersion(self, version: int) -> Any:  # noqa: N802
        """Return the numbers of a restore, without rows."""
        self.worlds.stage.hides(f"{self._name} is restored to {version}")
        return self._spark.createDataFrame([], RESTORED)

    def restoreToTimestamp(self, timestamp: str) -> Any:  # noqa: N802
        """Return the numbers of a restore, without rows."""
        self.worlds.stage.hides(f"{self._name} is restored to {timestamp}")
        return self._spark.createDataFrame([], RESTORED)

    def optimize(self) -> Any:
        """Begin to compact the files."""
        return OptimizeBuilder(self._spark)

    def generate(self, mode: str) -> None:
        """Do nothing: no manifest is written."""

    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:  # noqa: N802
        """Do nothing: the rows and the columns stay."""

    def addFeatureSupport(self, featureName: str) -> None:  # noqa: N802
        """Do nothing: the rows and the columns stay."""

    def dropFeatureSupport(self, featureName: str, truncateHistory: bool | None = None) -> None:  # noqa: FBT001, N802
        """Do nothing: the rows and the columns stay."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.worlds.stage.hides(f"{name}() of a table of Delta Lake")
        return lambda *_, **__: self


class OptimizeBuilder:
    """Delta Lake's builder of an OPTIMIZE, with its names."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def where(self, partitionFilter: str) -> Any:  # noqa: ARG002 (Delta's)
        """Return the same: no file is compacted."""
        return self

    def executeCompaction(self) -> Any:  # noqa: N802
        """Return the numbers of an OPTIMIZE, without rows."""
        return self._spark.createDataFrame([], OPTIMIZED)

    def executeZOrderBy(self, *cols: Any) -> Any:  # noqa: ARG002, N802
        """Return the numbers of an OPTIMIZE, without rows."""
        return self.executeCompaction()


@attrs.define
class IdentityGenerator:
    """
    Delta Lake's description of a column that numbers the rows.

    Args:
        start: the first number.
        step: the difference between two numbers.
    """

    start: int = 1
    step: int = 1


class TableBuilder:
    """
    Delta Lake's builder of a table, with its names.

    Args:
        table: the class of the table that it makes.
        spark: the session; None for the current one.
        begin: the first words of the statement that makes the table.
    """

    def __init__(self, table: type[Table], spark: Any, begin: str) -> None:
        self._table = table
        self._spark = spark or table.worlds.world.spark
        self._world = table.worlds.world_of(self._spark)
        self._begin = begin
        self._name = ""
        self._path = ""
        self._columns: list[str] = []
        self._partitions: tuple[str, ...] = ()

    def tableName(self, identifier: str) -> Any:  # noqa: N802 (Delta's)
        """Set the name."""
        self._name = str(identifier)
        return self

    def location(self, location: str) -> Any:
        """Set the path."""
        self._path = self._world.reads.qualified(str(location))
        return self

    def comment(self, comment: str) -> Any:  # noqa: ARG002
        """Return the same: a comment changes neither rows nor columns."""
        return self

    def addColumn(  # noqa: N802
        self,
        colName: str,
        dataType: Any,
        nullable: bool = True,  # noqa: ARG002, FBT001, FBT002
        generatedAlwaysAs: Any = None,
        generatedByDefaultAs: Any = None,
        comment: str | None = None,  # noqa: ARG002
    ) -> Any:
        """Add a column."""
        if generatedAlwaysAs is not None or generatedByDefaultAs is not None:
            self._world.stage.hides(f"how the column {colName} is generated")
        given = TEXT_TYPE if isinstance(dataType, StandIn) else dataType
        type_ = given if isinstance(given, str) else self._world.reads.type_in_sql(given)
        made = f" GENERATED ALWAYS AS ({generatedAlwaysAs})" if isinstance(generatedAlwaysAs, str) else ""
        self._columns.append(f"{in_backticks(str(colName))} {type_}{made}")
        return self

    def addColumns(self, cols: Any) -> Any:  # noqa: N802
        """Add the columns of a schema."""
        for each in getattr(cols, "fields", cols):
            self.addColumn(each.name, each.dataType)
        return self

    def partitionedBy(self, *cols: Any) -> Any:  # noqa: N802
        """Set the partition columns."""
        self._partitions = tuple(str(name) for each in cols for name in ([each] if isinstance(each, str) else each))
        return self

    def clusterBy(self, *cols: Any) -> Any:  # noqa: ARG002, N802
        """Return the same: a layout changes neither rows nor columns."""
        return self

    def property(self, key: str, value: str) -> Any:
        """Return the same: a property changes no columns."""
        self._world.stage.settings[f"property {self._name or self._path} {key}"] = str(value)
        return self

    def execute(self) -> Any:
        """Declare the table."""
        name = self._name or f"delta.{in_backticks(self._path)}"
        self._world.statements.record(self._text(name))
        return self._table.forName(self._spark, name) if self._name else self._table.forPath(self._spark, self._path)

    def _text(self, name: str) -> str:
        columns = ", ".join(self._columns)
        partitions, path = ", ".join(map(in_backticks, self._partitions)), self._path.replace("\\", "\\\\")
        return "".join(
            (
                f"{self._begin} {name}{f' ({columns})' if columns else ''} USING delta",
                f" PARTITIONED BY ({partitions})" if partitions else "",
                f' LOCATION "{path}"' if path and self._name else "",
            )
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._world.stage.hides(f"{name}() of a table of Delta Lake")
        return lambda *_, **__: self


def _with_packages(spark_session_builder: Any, extra_packages: Any = None) -> Any:  # noqa: ARG001
    """Return a builder unchanged: no package is loaded."""
    return spark_session_builder


def members_of_delta() -> Mapping[str, Any]:
    """Return the public members of `delta.tables`, by their names."""
    return {
        "DeltaTable": Table,
        "DeltaMergeBuilder": MergeBuilder,
        "DeltaTableBuilder": TableBuilder,
        "DeltaOptimizeBuilder": OptimizeBuilder,
        "IdentityGenerator": IdentityGenerator,
        "configure_spark_with_delta_pip": _with_packages,
    }


def install_lakes(worlds: Worlds) -> None:
    """Put these classes where a script imports Delta Lake's."""
    Table.worlds = worlds

    def merge_into(frame: Any, table: str, condition: Any) -> Any:
        return MergeIntoBuilder(MergeStatement(worlds.world_of(frame.sparkSession), table, frame, condition))

    worlds.frame.mergeInto = merge_into
    for name, each in members_of_delta().items():
        each.__name__ = each.__qualname__ = name
    modules = {
        "delta.tables": module_of("delta.tables", **members_of_delta()),
        "delta.pip_utils": module_of("delta.pip_utils", configure_spark_with_delta_pip=_with_packages),
        "delta.exceptions": module_of(
            "delta.exceptions", **{name: type(name, (Exception,), {}) for name in _CONFLICTS}
        ),
    }
    top = module_of(
        "delta",
        DeltaTable=Table,
        configure_spark_with_delta_pip=_with_packages,
        __path__=[],
        **{name.rpartition(".")[2]: module for name, module in modules.items()},
    )
    sys.modules.update({"delta": top, **modules})
