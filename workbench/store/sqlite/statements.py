"""The statements that create the tables and the views of a store in SQLite, and merge rows into them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, checked_sql, marks_for, sql_list
from openlineage_pyspark.workbench.store.tables.schema import Merge
from openlineage_pyspark.workbench.store.tables.views import view_ddl

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.rows import Row
    from openlineage_pyspark.workbench.store.tables.schema import StoredColumn, StoredTable

# The places of the columns that a row may lack and that come with a companion: most rows lack most of them.
_OPTIONAL = {
    table.name: tuple(
        place
        for place, column in enumerate(table.stored)
        if column.merge is Merge.LATEST and column.ordered_by == f"{column.name}_order"
    )
    for table in stored.MERGED
}


def table_ddl() -> list[str]:
    """Return the statements that create the tables and their indexes."""
    statements = []
    for table in stored.MERGED:
        columns = [f'"{column.name}" {column.type.value[0]}{_not_null(column)}' for column in table.stored]
        statements.append(f'CREATE TABLE IF NOT EXISTS "{table.name}" ({_defined(table, columns)}')
        for index in table.indexes:
            name = f"{table.name}_by_{'_'.join(index)}"
            statements.append(f'CREATE INDEX IF NOT EXISTS "{name}" ON "{table.name}" ({", ".join(index)})')
    statements += [f"CREATE INDEX IF NOT EXISTS {name} ON {what}" for name, what in _further_indexes()]
    no_run = checked_sql(
        "INSERT OR IGNORE INTO {name} (run, run_id) VALUES ({no_run}, '')", name=stored.RUN.name, no_run=stored.NO_RUN
    )
    return [*statements, *stored.definitions(), no_run]


def view_statements() -> list[str]:
    """Return the statements that create the views: the documented tables that are views, and the others on these."""
    return [*stored.views_of_tables(), *view_ddl()]


def ddl() -> list[str]:
    """Return the statements that create the tables and the views."""
    return [*table_ddl(), *view_statements()]


def index_names() -> list[str]:
    """Return the names of the indexes that a store has, without those that SQLite makes for keys."""
    return [*stored.INDEXES, *(name for name, _ in _further_indexes())]


def _defined(table: StoredTable, columns: list[str]) -> str:
    """Return a table's definition: its columns and its key."""
    if table is stored.RUN:
        # Other tables have its number instead of its id.
        return f"run INTEGER PRIMARY KEY, {', '.join(columns)}, UNIQUE ({', '.join(table.key)}))"
    # If the key is most of the row, the table is its own index.
    end = "" if table is schema.REJECTED else " WITHOUT ROWID"
    return f"{', '.join(columns)}, PRIMARY KEY ({', '.join(table.key)})){end}"


def _further_indexes() -> list[tuple[str, str]]:
    """Return the indexes with expressions or conditions: the name and the content of each."""
    found = []
    for table in stored.MERGED:
        found += [(f"{table.name}_by_{name}", f"{table.name} ({expression})") for name, expression in table.computed]
        for name, columns, condition in table.partial:
            found.append((f"{table.name}_by_{name}", f"{table.name} ({', '.join(columns)}) WHERE {condition}"))
    return found


def _not_null(column: StoredColumn) -> str:
    return " NOT NULL" if column.merge is Merge.KEY else ""


def upserts(table: StoredTable, rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the statements that merge rows into a table, each with the rows that lack the same optional columns."""
    optional = _OPTIONAL[table.name]
    parts: dict[tuple[bool, ...], list[Row]] = {}
    if not optional:
        parts[()] = list(rows)
    else:
        for row in rows:
            parts.setdefault(tuple([row[place] is None for place in optional]), []).append(row)
    for missing, part in parts.items():
        yield _statement(table, missing), part


@functools.lru_cache(maxsize=1000)
def _statement(table: StoredTable, missing: tuple[bool, ...]) -> str:
    names = [column.name for column in table.stored]
    found = [names[place] for place, is_missing in zip(_OPTIONAL[table.name], missing, strict=True) if is_missing]
    return _upsert(table, frozenset({*found, *(f"{name}_order" for name in found)}))


def _upsert(table: StoredTable, missing: frozenset[str] = frozenset()) -> str:
    """
    Return the statement that merges one row into a table, by the merge rule of each column.

    Args:
        table: the table.
        missing: the columns that are NULL in the row. A column that is not set needs no change in an index.
    """
    names = [column.name for column in table.stored]
    setting = [
        checked_sql("{column} = {merged}", column=column.name, merged=_merged(table.name, column))
        for column in table.stored
        if column.merge not in (Merge.KEY, Merge.FIXED) and column.name not in missing
    ]
    return checked_sql(
        "INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {setting}",
        table=table.name,
        names=sql_list(names),
        marks=marks_for(names),
        key=sql_list(table.key),
        setting=sql_list(setting),
    )


def _merged(table: str, column: StoredColumn) -> CheckedSql:
    """Return the value of a column after a merge, in SQL."""
    has_order = column.merge in (Merge.EARLIEST, Merge.LATEST)
    place = column.ordered_by if has_order else column.name
    return checked_sql(_MERGED[column.merge], table=table, column=column.name, place=place)


_WINS = (
    "CASE WHEN excluded.{column} IS NOT NULL AND ({table}.{column} IS NULL OR excluded.{place} %s {table}.{place} "
    "OR (excluded.{place} = {table}.{place} AND excluded.{column} %s {table}.{column})) "
    "THEN excluded.{column} ELSE {table}.{column} END"
)
_CHOSEN = "%s(coalesce({table}.{column}, excluded.{column}), coalesce(excluded.{column}, {table}.{column}))"
_MERGED = {
    Merge.FIRST: _CHOSEN % "min",
    Merge.LAST: _CHOSEN % "max",
    Merge.EARLIEST: _WINS % ("<", "<"),
    Merge.LATEST: _WINS % (">", ">"),
}
