"""The builders of MERGE: those of Delta Lake and of Spark itself become the equivalent SQL statement."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.script.values import with_quoted_operators
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.workbench.dryrun.empty_spark.world import World

_VIEW = "openlineage_merge_source"


def text_of_column(column: Any) -> str:
    """Return the SQL of a column, as it may appear in a statement; any other value as a text."""
    # The tests of the builders need no PySpark; a script that has a column has imported it.
    spark_sql = sys.modules.get("pyspark.sql")
    if spark_sql is None or not isinstance(column, spark_sql.Column):
        return str(column)
    java = column._jc
    if sys.modules["pyspark"].__version__.startswith("3."):
        return str(java.expr().sql())
    return with_quoted_operators(str(java.node().sql()))


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

    def adds_columns(self) -> None:
        """Report that the statement may add columns to its target, which no plan shows."""
        self._world.stage.hides("the columns that a MERGE adds")

    def insert(self, condition: Any, values: Mapping[Any, Any]) -> Any:
        """Add an INSERT of some values."""
        columns, given = ", ".join(map(_column, values)), ", ".join(map(text_of_column, values.values()))
        return self.add("NOT MATCHED", condition, f"INSERT ({columns}) VALUES ({given})")

    def execute(self) -> Any:
        """Record the statement, and return its answer, without rows."""
        alias = self._alias or _alias_of(self._source) or "source"
        self._source.createOrReplaceTempView(_VIEW)
        text = (
            f"MERGE INTO {self._target} USING {_VIEW} AS {in_backticks(alias)} "
            f"ON {text_of_column(self._condition)} {' '.join(self.clauses)}"
        )
        if self._world.statements.is_readable(text):
            return self._world.spark.sql(text)
        return self._world.statements.record_merge(text, self._source)


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
        self._merge.adds_columns()
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
        self._merge.adds_columns()
        return self

    def merge(self) -> None:
        """Record the statement."""
        self._merge.execute()
