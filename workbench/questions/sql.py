"""`sql`: answer the user's own query."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import chain, count
from typing import Annotated, Any

import attrs
from openlineage_pyspark.errors import QueryError, StoreError
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.model.document import value_from_document
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.row_text import row_writers
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.store.names import QueriedTables
from openlineage_pyspark.workbench.store.own_queries import MOST_SECONDS
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables.schema import SOURCE_SNAPSHOT_LINEAGE

# Translate users' queries into the dialect of the store's engine.


def of_sqlite(query: str, dialect: str) -> str:
    """
    Return a query in SQLite's dialect.

    Args:
        query: one query, and nothing else.
        dialect: the dialect that it is written in, by its name in sqlglot.

    Raises:
        QueryError: it is not a query, or there is no such dialect.
    """
    import sqlglot
    from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed

    try:
        trees = parsed(query, dialect)
    except UnparsableError as problem:
        raise QueryError(f"the query can't be read: {problem}", query=query) from None
    if len(trees) != 1 or not isinstance(trees[0], sqlglot.exp.Query):
        raise QueryError("the query must be one SELECT", query=query)
    for name in list(trees[0].find_all(sqlglot.exp.Identifier)):
        # Some names, such as table, are words of SQLite. In double quotes, it takes an unknown name for a text.
        quoted = "`{}`".format(name.name.replace("`", "``"))
        name.replace(sqlglot.exp.Identifier(this=quoted, quoted=False))
    return str(trees[0].sql(dialect=_sqlite()))


@functools.cache
def _sqlite() -> Any:
    """Return SQLite's dialect, in which older versions of sqlglot leave out the names of a CTE's columns."""
    from sqlglot.dialects.sqlite import SQLite

    class Named(SQLite):
        class Generator(SQLite.Generator):  # type: ignore[misc, valid-type] # newer versions give it by a variable
            SUPPORTS_TABLE_ALIAS_COLUMNS = True

    return Named


@attrs.frozen
class QueryRows(Rows[tuple[Any, ...]]):
    """
    The rows of a query.

    Args:
        columns: the names of its columns.
    """

    columns: tuple[str, ...] = attrs.field(kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain values."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self]
        return {"type": "rows", "of": self.of, "columns": list(self.columns), "rows": rows}

    @classmethod
    def from_dict(cls, document: dict[str, Any], row: Any = Any) -> QueryRows:
        """
        Return the result that `to_dict` wrote.

        Args:
            document: the result.
            row: the type of a value in a row.
        """
        columns = document["columns"]
        rows = (tuple(value_from_document(row, each[column]) for column in columns) for each in document["rows"])
        return cls(document["of"], rows, columns=tuple(columns))

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the names of the columns, and the rows."""
        return self.columns, list(self.rows)


def _table(answer: Answer[QueryRows]) -> TextTable:
    rows = [["" if each is None else str(each) for each in row] for row in answer.result]
    return TextTable([TableColumn(name) for name in answer.result.columns], rows)


@question(row_writers(_table))
def sql(
    tables: QueriedTables,
    query: Annotated[str, Help("a SELECT; - is standard input", "QUERY", reads_input=True)],
    *,
    dialect: Annotated[str, Help("the dialect of the query, by its name in sqlglot; default: spark", "NAME")] = "spark",
    timeout: Annotated[int, Help(f"how long it may take; default: {MOST_SECONDS}", "SECONDS", least=1)] = MOST_SECONDS,
) -> Answer[QueryRows]:
    """
    Query the store's tables and views with your own SQL, written as for Spark.

    The names source_job_lineage, sink_job_lineage, source_snapshot_lineage and sink_snapshot_lineage mean the views
    with the columns job, barrier_id, database, table and snapshot_id here.
    """
    if not isinstance(tables, Database):
        raise StoreError("this store is in Spark's tables: query these with `spark.sql`; `sql` reads a store's file")
    text = of_sqlite(query, dialect)
    streamed = StoredVersions(tables).streamed() if SOURCE_SNAPSHOT_LINEAGE.name in text else ()
    columns, rows = tables.ask(text, timeout, streamed)
    return answered(QueryRows("row", tuple(rows), columns=_distinct(columns)))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of columns of which no two are the same: `a` and `a_2` for two columns `a`."""
    found: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{number}" for number in count(2))
        found[next(each for each in chain((name,), numbered) if each not in found)] = None
    return tuple(found)
