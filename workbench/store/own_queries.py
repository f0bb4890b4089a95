"""Answer a query that a person wrote: it may only read the store's tables, and for a limited time."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from openlineage_pyspark.errors import QueryError
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, checked_sql, quoted, sql_list
from openlineage_pyspark.workbench.store.tables.views import PROPOSAL, VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Answered: TypeAlias = "tuple[tuple[str, ...], list[tuple[Any, ...]]]"
"""The names of a query's columns, and its rows."""

MOST_SECONDS = 60
"""How many seconds a query may take by default."""
MOST_ROWS = 1_000_000
"""How many rows an answer may have: they are all in memory."""

StreamedRow: TypeAlias = "tuple[str, int, int, str, bool]"

_STREAMED = (
    "CREATE TEMP TABLE streamed_read (run_id TEXT, batch_id INTEGER, dataset_id INTEGER, snapshot_id TEXT, "
    "inferred INTEGER, PRIMARY KEY (run_id, batch_id, dataset_id, snapshot_id)) WITHOUT ROWID"
)
# The reads of a micro-batch follow from its offsets and the order of versions, which SQL alone can't find.
_FOUND = ("snapshot_id", "inferred")
_NAMES = sql_list(
    [
        checked_sql("{of}.{column}", of="u" if name in _FOUND else "v", column=quoted(name))
        for name, _ in next(each for each in VIEWS if each.name == "source_snapshot_lineage_by_name").columns
    ]
)
_SAME = CheckedSql("u.run_id = v.run_id AND u.batch_id = v.batch_id AND u.dataset_id = v.dataset_id")
_READS = checked_sql(
    "SELECT * FROM main.source_snapshot_lineage_by_name v "
    "WHERE NOT EXISTS (SELECT 1 FROM temp.streamed_read u WHERE {same}) "
    "UNION ALL SELECT {names} "
    "FROM main.source_snapshot_lineage_by_name v JOIN temp.streamed_read u ON {same} WHERE u.snapshot_id <> ''",
    same=_SAME,
    names=_NAMES,
)
_READABLE = frozenset(
    (
        *(view.name for view in VIEWS),
        *(table.name for table in schema.TABLES),
        *stored.own_names(),
        *("json_each", "json_tree", "streamed_read"),
    )
)
_SHOWN = tuple(dict.fromkeys((*(table.name for table in schema.TABLES), *(view.name for view in VIEWS))))
# For example the file's own list of tables, or its raw pages.
_OF_SQLITE = ("sqlite_", "pragma_", "dbstat")
_REFUSED_FUNCTIONS = frozenset(("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"))
_HARMLESS = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE))
_STEPS = 10_000
_ROWS_AT_ONCE = 10_000
# SQLITE_LIMIT_LENGTH
_LENGTH = 0
_LONGEST_VALUE = 100_000_000


def answer_to(connection: sqlite3.Connection, sql: str, seconds: float, streamed: Iterable[StreamedRow]) -> Answered:
    """
    Return the result of a query. The names of the proposal's tables mean the views here.

    Args:
        connection: the store.
        sql: the query, in SQLite's dialect.
        seconds: how long it may take.
        streamed: which versions micro-batches read: the run, the micro-batch, the dataset, the version, which is empty
            where nothing was read, and whether it is inferred.

    Raises:
        QueryError: the query is wrong, uses anything but the store's tables, or takes too long.
    """
    connection.execute(_STREAMED)
    connection.executemany("INSERT OR IGNORE INTO temp.streamed_read VALUES (?, ?, ?, ?, ?)", streamed)
    for name in PROPOSAL:
        # SQLite looks for temporary views before the tables of the file, on this connection alone.
        is_read = name == schema.SOURCE_SNAPSHOT_LINEAGE.name
        query = _READS if is_read else checked_sql("SELECT * FROM main.{name}_by_name", name=name)
        connection.execute(f"CREATE TEMP VIEW IF NOT EXISTS {name} AS {query}")
    end = time.monotonic() + seconds
    refused: list[str] = []
    try:
        with _restricted(connection, end, refused):
            cursor = connection.execute(sql)
            rows: list[tuple[Any, ...]] = []
            while found := cursor.fetchmany(_ROWS_AT_ONCE):
                rows += found
                if len(rows) > MOST_ROWS:
                    raise QueryError(f"the query finds more than {MOST_ROWS:,} rows: end it with LIMIT", query=sql)
            return tuple(each[0] for each in cursor.description), rows
    except sqlite3.Error as problem:
        if time.monotonic() > end:
            raise QueryError(
                f"the query takes longer than {seconds:g} seconds: restrict it, or allow more time", query=sql
            ) from None
        raise QueryError(f"the query can't be answered: {_reason(problem, refused)}", query=sql) from None
    finally:
        for name in PROPOSAL:
            connection.execute(f"DROP VIEW IF EXISTS temp.{name}")
        connection.execute("DROP TABLE temp.streamed_read")


@contextmanager
def _restricted(connection: sqlite3.Connection, end: float, refused: list[str]) -> Iterator[None]:
    """
    Let a connection only read the store's tables, until a time.

    Args:
        connection: the store.
        end: the time, of the monotonic clock.
        refused: collects the refused accesses.
    """
    every = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master")}
    others = every - _READABLE

    def allowed(action: int, first: str | None, second: str | None, *_: str | None) -> bool:
        if action == sqlite3.SQLITE_READ:
            name = str(first)
            if second:
                return name in _READABLE
            # Without a column, it may be the name of a part of the query.
            return name not in others and not name.startswith(_OF_SQLITE)
        if action == sqlite3.SQLITE_FUNCTION:
            return second not in _REFUSED_FUNCTIONS
        return action in _HARMLESS

    def decided(action: int, first: str | None, second: str | None, *more: str | None) -> int:
        if allowed(action, first, second, *more):
            return sqlite3.SQLITE_OK
        refused.append(str(second if action == sqlite3.SQLITE_FUNCTION else first or "what the query does"))
        return sqlite3.SQLITE_DENY

    # Python 3.10 has no such method.
    set_limit = getattr(connection, "setlimit", lambda *_: 0)
    longest = set_limit(_LENGTH, _LONGEST_VALUE)
    connection.set_authorizer(decided)
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)
        # Python 3.10 does not accept None here.
        connection.set_authorizer(lambda *_: sqlite3.SQLITE_OK)
        set_limit(_LENGTH, longest)


def _reason(problem: sqlite3.Error, refused: list[str]) -> str:
    """Return why a query is refused, for people: with the store's tables, if it names another one."""
    if refused:
        return f"{refused[0]} is not a table of the store; its tables are {', '.join(_SHOWN)}"
    if str(problem).startswith("no such table"):
        return f"{problem}; the store's tables are {', '.join(_SHOWN)}"
    return str(problem)
