"""The rows of a table that meet a condition, with the versions that wrote them last, read by Spark."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.blame.made import LiveRow
from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
from openlineage_pyspark.workbench.recovery.model.plan import TableId
from openlineage_pyspark.workbench.recovery.model.statements import is_table_of_path, place_of_files, sql_name
from openlineage_pyspark.workbench.store.spark.session import answered_rows, named_failure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from openlineage_pyspark.workbench.recovery.applying.live import LiveTable
    from pyspark.sql import DataFrame, SparkSession

_LONGEST_CONDITION = 10_000
# The parser of Delta Lake takes minutes for thousands of nested brackets.
_MOST_BRACKETS = 200
_LONGEST_VALUE = 200
_LONGEST_SHOWN = 80
_COLUMNS = 4
_ROW_ID = {"iceberg": "_row_id", "delta": "_metadata.row_id"}
_NUMBER = {"iceberg": "_last_updated_sequence_number", "delta": "_metadata.row_commit_version"}
_SWITCH = {"iceberg": ("format-version", "3"), "delta": ("delta.enableRowTracking", "true")}
_OLDEST = {"iceberg": "Iceberg 1.10", "delta": "Delta Lake 3.2"}
# They call any static method of the JVM.
_CALLING_JAVA = frozenset({"reflect", "java_method", "try_reflect"})
_SUBQUERIES = frozenset({"Exists", "ListQuery"})
_UNCHANGED_TYPES = frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "float", "double"})


@attrs.frozen
class Condition:
    """
    A condition on rows.

    Args:
        text: an SQL expression.
        columns: the first parts of the names in it.
    """

    text: str
    columns: tuple[str, ...]


class RowReader:
    """
    Reads the rows of a table.

    Args:
        session: the Spark session.
        table: the table, as the store knows it.
        label: its name, for people.

    Raises:
        StoreError: the session has no such table, has another table of this name, or can't be queried.
    """

    def __init__(self, session: SparkSession, table: TableId, label: str) -> None:
        if not hasattr(session, "_jsparkSession"):
            raise StoreError("rows can't be read through Spark Connect: use a session that has its own driver")
        self._session = session
        self._label = label
        self._name = sql_name(table)
        about = {} if is_table_of_path(self._name) else self._described()
        self._format = (about.get("Provider") or table.format).lower()
        here, known = (place_of_files(each) for each in (about.get("Location", ""), table.location))
        if here and known and here != known:
            raise StoreError(
                f"{self._name} is another table in this session: it is in {here}, and {label} in {known}; configure "
                "the catalog as in the job that wrote it"
            )
        found = LiveSession(session).table(TableId(table.parts, self._format, table.location))
        if found is None:
            raise StoreError(self._missing)
        self.table: LiveTable = found

    def condition(self, text: str) -> Condition:
        """
        Return a condition, after Spark's parser has read it as one expression. It is not evaluated.

        Raises:
            StoreError: it is not a condition, or contains a subquery or a call of Java.
        """
        if not text.strip() or len(text) > _LONGEST_CONDITION:
            raise StoreError(f"a condition has from 1 to {_LONGEST_CONDITION:,} characters, such as id = 1")
        if text.count("(") > _MOST_BRACKETS:
            raise StoreError(f"the condition {_shown(text)} has more than {_MOST_BRACKETS} opening parentheses")
        with _refused(f"Spark can't parse the condition {_shown(text)}"):
            # No function of PySpark parses a text alone.
            tree: Any = self._session._jsparkSession.sessionState().sqlParser().parseExpression(text)
            columns = tuple(dict.fromkeys(_columns_of(tree, text)))
        return Condition(text, columns)

    def lacking(self) -> str:
        """Return why the table keeps no versions of rows, and what would keep them; empty if it keeps them."""
        if self._format not in _SWITCH:
            kind = f"a table of {self._format}" if self._format else "it"
            return (
                f"{kind} has no versions of rows: they need format version 3 on Iceberg, or row tracking on Delta Lake"
            )
        key, value = _SWITCH[self._format]
        if self._properties().get(key, "").lower() != value:
            statement = f"ALTER TABLE {self._name} SET TBLPROPERTIES ('{key}' = '{value}')"
            return f"{statement} keeps them from then on"
        try:
            self._rows_with_numbers()
        except StoreError:
            return f"this session can't read them: use {_OLDEST[self._format]} or newer"
        return ""

    def rows(self, condition: Condition, key: Sequence[str], limit: int) -> tuple[LiveRow, ...]:
        """
        Return rows that meet a condition.

        Args:
            condition: the condition.
            key: the columns to show; none for those of the condition and the first ones.
            limit: the maximum number of rows.

        Raises:
            StoreError: Spark refuses the condition or a column, or can't read the table.
        """
        data = self._rows_with_numbers()
        shown = self._columns(data.columns, condition, key)
        with _refused(f"Spark can't apply the condition {_shown(condition.text)}"):
            kept = data.where(condition.text)
        with named_failure(f"Spark can't read {self._name}"):
            values = [_expression(name, kept.schema[name].dataType.simpleString()) for name in shown]
            found = answered_rows(kept.selectExpr(*values, _ROW_ID[self._format], _NUMBER[self._format]).limit(limit))
        numbers = {row[-1] for row in found if row[-1] is not None}
        versions = self._snapshots(numbers) if self._format == "iceberg" else {each: str(each) for each in numbers}
        return tuple(
            LiveRow(
                {name: _value(value) for name, value in zip(shown, row, strict=False)},
                *(row[-2], row[-1], versions.get(row[-1], "")),
            )
            for row in found
        )

    @property
    def _missing(self) -> str:
        return (
            f"{self._name} is no table of this Spark session: configure its catalog, as in the job that wrote it "
            "(--conf and --packages on the command line)"
        )

    def _described(self) -> dict[str, str]:
        with _refused(self._missing):
            rows = self._session.sql(f"DESCRIBE TABLE EXTENDED {self._name}").collect()
        return {str(row["col_name"]): str(row["data_type"]) for row in rows}

    def _properties(self) -> dict[str, str]:
        with named_failure(f"Spark can't read the properties of {self._name}"):
            rows = self._session.sql(f"SHOW TBLPROPERTIES {self._name}").collect()
        return {str(row["key"]): str(row["value"]) for row in rows}

    def _rows_with_numbers(self) -> DataFrame:
        """Return the table's rows, after checking that Spark can select their ids and numbers."""
        with named_failure(f"Spark can't read {self._name}"):
            data = self._session.table(self._name)
            data.selectExpr(_ROW_ID[self._format], _NUMBER[self._format])
        return data

    def _columns(self, columns: Sequence[str], condition: Condition, key: Sequence[str]) -> tuple[str, ...]:
        by_name = {each.lower(): each for each in columns}
        if unknown := [each for each in key if each.lower() not in by_name]:
            raise StoreError(f"{self._label} has no column {unknown[0]!r}; its columns: {', '.join(columns)}")
        named = [by_name[each.lower()] for each in key or condition.columns if each.lower() in by_name]
        every = dict.fromkeys(named if key else [*named, *columns])
        return tuple(every) if key else tuple(every)[:_COLUMNS]

    def _snapshots(self, numbers: Collection[int]) -> dict[int, str]:
        """Return the snapshot of each sequence number, except for numbers that belong to no snapshot or to several."""
        found: dict[int, set[str]] = {}
        # Most rows are still in the file into which they were written, and there are many entries of all snapshots.
        for entries in ("entries", "all_entries"):
            left = sorted(set(numbers) - found.keys())
            if not left:
                break
            with named_failure(f"Spark can't read the {entries} of {self._name}"):
                # Iceberg caches its metadata tables separately.
                self._session.sql(f"REFRESH TABLE {self._name}.{entries}").collect()
                data = self._session.table(f"{self._name}.{entries}")
                # An entry of a deleted file has the snapshot that deleted it.
                there = data.where(data["status"] < 2).where(data["file_sequence_number"].isin(left))
                for number, snapshot in there.select("file_sequence_number", "snapshot_id").distinct().collect():
                    found.setdefault(number, set()).add(str(snapshot))
        # In tables of format version 1, all snapshots have the sequence number 0.
        return {number: min(each) for number, each in found.items() if len(each) == 1 and number}


@contextmanager
def _refused(what: str) -> Iterator[None]:
    """
    Turn an error of Spark into a StoreError, without its plan and its copy of the query.

    Raises:
        StoreError: Spark raised something.
    """
    try:
        with named_failure(what):
            yield
    except StoreError as problem:
        raise StoreError(re.split(r";\n|\n\n== SQL", str(problem))[0].rstrip()) from None


def _shown(text: str) -> str:
    """Return a condition in quotes, for messages; a long one is cut."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")


def _columns_of(tree: Any, text: str) -> Iterator[str]:
    """
    Yield the first parts of the names in a parsed condition.

    Raises:
        StoreError: it is not a condition on one row, or calls Java.
    """
    left = [tree]
    while left:
        node = left.pop()
        kind = str(node.getClass().getSimpleName())
        if kind in _SUBQUERIES or "Subquery" in kind:
            raise StoreError(f"the condition {_shown(text)} has a subquery: a condition reads the columns of one row")
        if kind in ("Alias", "MultiAlias", "UnresolvedStar"):
            raise StoreError(
                f"{_shown(text)} is no condition: it has {'a *' if kind == 'UnresolvedStar' else 'a name'}"
            )
        if kind == "UnresolvedFunction":
            name = str(node.nameParts().last()).lower()
            if name in _CALLING_JAVA:
                raise StoreError(f"the condition {_shown(text)} calls {name}, which runs any code")
        if kind == "UnresolvedAttribute":
            yield str(node.nameParts().head())
        children = node.children()
        left += [children.apply(at) for at in reversed(range(children.size()))]


def _expression(column: str, type_: str) -> str:
    """Return the SQL expression that shows a column: a number or a boolean unchanged, any other value as a text."""
    name = f"`{column.replace('`', '``')}`"
    if type_ in _UNCHANGED_TYPES:
        return name
    text = f"hex({name})" if type_ == "binary" else f"CAST({name} AS STRING)"
    return f"substring({text}, 1, {_LONGEST_VALUE + 1})"


def _value(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str) and len(value) > _LONGEST_VALUE:
        return f"{value[:_LONGEST_VALUE]}…"
    return value
