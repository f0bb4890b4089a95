"""Delta Lake's own classes for a script: merges, updates and deletes become the equivalent SQL statements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.patches.patched import text_of_column
from openlineage_pyspark.workbench.dryrun.sandbox.modules import module_of
from openlineage_pyspark.workbench.dryrun.script.answers import DETAIL, HISTORY
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable, in_backticks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.dryrun.empty_spark.world import World
    from openlineage_pyspark.workbench.dryrun.patches.patched import Patches

_VIEW = "openlineage_merge_source"


def set_clause(values: Mapping[Any, Any]) -> str:
    """Return the assignments of an UPDATE."""
    return ", ".join(f"{_column(name)} = {text_of_column(value)}" for name, value in values.items())


def _column(name: Any) -> str:
    return text_of_column(name)


class MergeStatement:
    """
    A MERGE that is being built.

    Args:
        world: the session.
        target: the name of the target in SQL, with its alias.
        source: the DataFrame of the source.
        condition: the condition.
        alias: the name of the source in the condition.
    """

    def __init__(self, world: World, target: str, source: Any, condition: Any, alias: str = "") -> None:
        self._world = world
        self._target = target
        self._source = source
        self._condition = condition
        self._alias = alias
        self.clauses: list[str] = []

    def add(self, when: str, condition: Any, then: str) -> Any:
        """Add an action on rows."""
        also = "" if condition is None else f" AND ({text_of_column(condition)})"
        self.clauses.append(f"WHEN {when}{also} THEN {then}")
        return self

    def insert(self, condition: Any, values: Mapping[Any, Any]) -> Any:
        """Add an INSERT of some values."""
        columns, given = ", ".join(map(_column, values)), ", ".join(map(text_of_column, values.values()))
        return self.add("NOT MATCHED", condition, f"INSERT ({columns}) VALUES ({given})")

    def execute(self, *_: Any) -> None:
        """Record the statement."""
        alias = self._alias or _alias_of(self._source) or "source"
        self._source.createOrReplaceTempView(_VIEW)
        self._world.statement(
            f"MERGE INTO {self._target} USING {_VIEW} AS {in_backticks(alias)} "
            f"ON {text_of_column(self._condition)} {' '.join(self.clauses)}"
        )


def _alias_of(frame: Any) -> str:
    """Return the alias of a DataFrame; empty without one."""
    java = getattr(frame, "_jdf", None)
    plan = java.queryExecution().analyzed() if java is not None else None
    if plan is not None and str(plan.nodeName()) == "SubqueryAlias":
        return str(plan.identifier().name())
    return ""


class MergeBuilder:
    """Delta Lake's builder of a MERGE, with its names."""

    def __init__(self, merge: MergeStatement) -> None:
        self._merge = merge

    def _added(self, when: str, condition: Any, then: str) -> Any:
        self._merge.add(when, condition, then)
        return self

    def whenMatchedUpdate(self, condition: Any = None, set: Any = None) -> Any:  # noqa: A002, N802 (Delta's)
        """Add an UPDATE."""
        return self._added("MATCHED", condition, f"UPDATE SET {set_clause(set or {})}")

    def whenMatchedUpdateAll(self, condition: Any = None) -> Any:  # noqa: N802
        """Add an UPDATE of all columns."""
        return self._added("MATCHED", condition, "UPDATE SET *")

    def whenMatchedDelete(self, condition: Any = None) -> Any:  # noqa: N802
        """Add a DELETE."""
        return self._added("MATCHED", condition, "DELETE")

    def whenNotMatchedInsert(self, condition: Any = None, values: Any = None) -> Any:  # noqa: N802
        """Add an INSERT."""
        self._merge.insert(condition, values or {})
        return self

    def whenNotMatchedInsertAll(self, condition: Any = None) -> Any:  # noqa: N802
        """Add an INSERT of all columns."""
        return self._added("NOT MATCHED", condition, "INSERT *")

    def whenNotMatchedBySourceUpdate(self, condition: Any = None, set: Any = None) -> Any:  # noqa: A002, N802
        """Add an UPDATE of rows that are not in the source."""
        return self._added("NOT MATCHED BY SOURCE", condition, f"UPDATE SET {set_clause(set or {})}")

    def whenNotMatchedBySourceDelete(self, condition: Any = None) -> Any:  # noqa: N802
        """Add a DELETE of rows that are not in the source."""
        return self._added("NOT MATCHED BY SOURCE", condition, "DELETE")

    def withSchemaEvolution(self) -> Any:  # noqa: N802
        """Return the same: the statement shows which columns it adds."""
        return self

    def execute(self) -> Any:
        """Record the statement."""
        return self._merge.execute()


class MergeIntoBuilder:
    """
    Spark's own builder of a MERGE, as `mergeInto` returns it, with its names.

    Args:
        merge: the statement.
        when: the rows of the current clause, as SQL; empty before the first clause.
        condition: the condition on them.
    """

    def __init__(self, merge: MergeStatement, when: str = "", condition: Any = None) -> None:
        self._merge = merge
        self._when = when
        self._condition = condition

    def whenMatched(self, condition: Any = None) -> Any:  # noqa: N802 (Spark's)
        """Select the rows that match."""
        return MergeIntoBuilder(self._merge, "MATCHED", condition)

    def whenNotMatched(self, condition: Any = None) -> Any:  # noqa: N802
        """Select the rows that are not in the target."""
        return MergeIntoBuilder(self._merge, "NOT MATCHED", condition)

    def whenNotMatchedBySource(self, condition: Any = None) -> Any:  # noqa: N802
        """Select the rows that are not in the source."""
        return MergeIntoBuilder(self._merge, "NOT MATCHED BY SOURCE", condition)

    def _then(self, text: str) -> Any:
        self._merge.add(self._when, self._condition, text)
        return self

    def updateAll(self) -> Any:  # noqa: N802
        """Set all columns."""
        return self._then("UPDATE SET *")

    def update(self, assignments: Mapping[Any, Any]) -> Any:
        """Set some columns."""
        return self._then(f"UPDATE SET {set_clause(assignments)}")

    def delete(self) -> Any:
        """Remove the rows."""
        return self._then("DELETE")

    def insertAll(self) -> Any:  # noqa: N802
        """Add rows with all columns."""
        return self._then("INSERT *")

    def insert(self, assignments: Mapping[Any, Any]) -> Any:
        """Add rows with some columns."""
        self._merge.insert(self._condition, assignments)
        return self

    def withSchemaEvolution(self) -> Any:  # noqa: N802
        """Return the same: the statement shows which columns it adds."""
        return self

    def merge(self) -> None:
        """Record the statement."""
        self._merge.execute()


class Table:
    """Delta Lake's `DeltaTable`, by the table's name in SQL."""

    patches: Patches

    def __init__(self, spark: Any, name: str, load: Callable[[], Any], alias: str = "") -> None:
        self._spark = spark
        self._name = name
        self._load = load
        self._alias = alias

    @classmethod
    def forPath(cls, spark: Any, path: str, *_: Any) -> Any:  # noqa: N802
        """Return the table at a path, with its columns if they are known."""
        world = cls.patches.world_of(spark)
        reader = world.reader(streamed=False).format("delta")
        place = reader.place((path,))
        world.know_path(place)
        return cls(spark, f"delta.{in_backticks(place.paths[0])}", lambda: spark.read.format("delta").load(path))

    @classmethod
    def forName(cls, spark: Any, name: str) -> Any:  # noqa: N802
        """Return a table of a catalog."""
        return cls(spark, name, lambda: spark.table(name))

    @classmethod
    def isDeltaTable(cls, _: Any = None, identifier: str = "") -> bool:  # noqa: N802
        """Return True, as on a repeated run; report that a real run may find no Delta table."""
        return not cls.patches.stage.decides(f"whether {identifier} is a Delta table", taken="true")

    @classmethod
    def create(cls, spark: Any = None) -> Any:
        """Begin a new table."""
        return TableBuilder(cls, spark)

    createIfNotExists = createOrReplace = replace = create  # noqa: N815

    def alias(self, name: str) -> Any:
        """Return the table with an alias for conditions."""
        return type(self)(self._spark, self._name, self._load, name)

    def toDF(self) -> Any:  # noqa: N802
        """Return its rows."""
        found = self._load()
        return found.alias(self._alias) if self._alias else found

    def _statement(self, text: str) -> None:
        self.patches.world_of(self._spark).statement(text)

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
        return MergeBuilder(MergeStatement(self.patches.world_of(self._spark), self._target, source, condition))

    def history(self, *_: Any) -> Any:
        """Return its history, without rows."""
        return self._spark.createDataFrame([], HISTORY)

    def detail(self) -> Any:
        """Return its description, without rows."""
        return self._spark.createDataFrame([], DETAIL)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self


class TableBuilder:
    """Delta Lake's builder of a table, with its names."""

    def __init__(self, table: type[Table], spark: Any) -> None:
        self._table = table
        self._spark = spark or table.patches.world.spark
        self._name = ""
        self._columns: list[tuple[str, str]] = []
        self._partitions: tuple[str, ...] = ()

    def tableName(self, name: str) -> Any:  # noqa: N802
        """Set the name."""
        self._name = name
        return self

    def location(self, path: str) -> Any:
        """Set the path."""
        self._name = self._name or f"delta.{in_backticks(path)}"
        return self

    def addColumn(self, name: str, dataType: Any = "STRING", *_: Any, **__: Any) -> Any:  # noqa: N802, N803
        """Add a column."""
        self._columns.append((name, dataType if isinstance(dataType, str) else dataType.simpleString()))
        return self

    def addColumns(self, columns: Any) -> Any:  # noqa: N802
        """Add the columns of a schema."""
        for each in getattr(columns, "fields", columns):
            self._columns.append((each.name, each.dataType.simpleString()))
        return self

    def partitionedBy(self, *columns: Any) -> Any:  # noqa: N802
        """Set the partition columns."""
        self._partitions = tuple(map(str, columns))
        return self

    def execute(self) -> Any:
        """Declare the table."""
        from openlineage_pyspark.workbench.predict.tables.words import names_in

        world = self._table.patches.world_of(self._spark)
        parts = world.session.whole(names_in(self._name))
        if world.session.known(parts) is None:
            world.session.declare(DeclaredTable(parts, tuple(self._columns), self._partitions))
            world.record_tables()
        return self._table.forName(self._spark, self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self


def install_lakes(patches: Patches) -> None:
    """Put these classes where a script imports Delta Lake's."""
    Table.patches = patches

    def merge_into(frame: Any, name: str, condition: Any) -> Any:
        return MergeIntoBuilder(MergeStatement(patches.world_of(frame.sparkSession), name, frame, condition))

    patches.add_method("mergeInto", merge_into)
    Table.__name__ = Table.__qualname__ = "DeltaTable"
    tables = module_of("delta.tables", DeltaTable=Table, DeltaMergeBuilder=MergeBuilder, DeltaTableBuilder=TableBuilder)
    top = module_of(
        "delta",
        tables=tables,
        DeltaTable=Table,
        configure_spark_with_delta_pip=lambda builder, *_, **__: builder,
        __path__=[],
    )
    sys.modules.update({"delta": top, "delta.tables": tables, "delta.pip_utils": top})
