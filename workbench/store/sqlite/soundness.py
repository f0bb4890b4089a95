"""
Find out whether a store in a file is damaged: whether its tables can follow from its events.

SQLite notices broken links between pages, but not a changed value. So the check also covers the types of values, the
hashes of names, the digests of events' texts, and whether each reference has a target.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.sqlite.event_texts import texts_in_order
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, checked_sql, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPES = {"TEXT": CheckedSql("'text'"), "INTEGER": CheckedSql("'integer'"), "BLOB": CheckedSql("'blob'")}
_TABLES = (*(table.name for table in stored.MERGED), *stored.OF_VERSIONS, *stored.OF_EVENTS)
# A column, and the table and the column in which each of its values is.
_REFERENCES = (
    ("dataset_identity", "name_id", "dataset", "name_id"),
    ("dataset_identity", "dataset_id", "dataset", "name_id"),
    ("dataset", "name_id", "dataset_identity", "name_id"),
    ("description", "job_id", "job", "job_id"),
    ("description", "name_id", "dataset", "name_id"),
    ("edge", "input_id", "dataset", "name_id"),
    ("edge", "description", "description", "description"),
    ("edge", "path", "path", "path"),
    ("reading", "name_id", "dataset", "name_id"),
    ("reading", "description", "description", "description"),
    ("writing", "name_id", "dataset", "name_id"),
    ("writing", "description", "description", "description"),
    ("version_description", "description", "description", "description"),
    ("version_description", "version", "job_version", "version"),
    ("job_version", "job_id", "job", "job_id"),
    ("run_version", "version", "job_version", "version"),
    ("stored_run", "job_id", "job", "job_id"),
    ("read_version", "job_id", "job", "job_id"),
    ("read_version", "name_id", "dataset", "name_id"),
    ("read_version", "run", "stored_run", "run"),
    ("made_version", "job_id", "job", "job_id"),
    ("made_version", "name_id", "dataset", "name_id"),
    ("made_version", "run", "stored_run", "run"),
    ("stored_event", "run", "stored_run", "run"),
)


def damage_of(connection: sqlite3.Connection) -> str:
    """Return the damage of a store of this version; empty if there is none. This reads all of it."""
    try:
        return next(_found(connection), "")
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
        return str(problem)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, zlib.error) as problem:
        return f"the text of an event can't be read: {problem}"


def in_one_line(found: str) -> str:
    """Return the result of SQLite's check of a page, without its heading, in one line."""
    return " ".join(found.removeprefix("*** in database main ***").split())


def _found(connection: sqlite3.Connection) -> Iterator[str]:
    for (found,) in connection.execute("PRAGMA integrity_check(1)"):
        if found != "ok":
            yield in_one_line(found)
    yield from _of_types(connection)
    yield from _of_references(connection)
    yield from _of_names(connection)
    for event_id, text in texts_in_order(connection):
        if hashlib.sha256(text.encode(errors="replace")).hexdigest()[: len(event_id)] != event_id:
            yield "the text of an event is not the one that was stored"


def _of_types(connection: sqlite3.Connection) -> Iterator[str]:
    for table in _TABLES:
        for _, name, type_, *_ in connection.execute(f"PRAGMA main.table_info({table})").fetchall():
            sql = checked_sql(
                "SELECT 1 FROM main.{table} WHERE typeof({column}) NOT IN ({type}, 'null') LIMIT 1",
                table=table,
                column=quoted(name),
                type=_TYPES[type_],
            )
            if connection.execute(sql).fetchone():
                yield f"a value of {table}.{name} has another type"


def _of_references(connection: sqlite3.Connection) -> Iterator[str]:
    for table, column, target, key in _REFERENCES:
        sql = checked_sql(
            "SELECT 1 FROM main.{table} s WHERE s.{column} IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM main.{target} t WHERE t.{key} = s.{column}) LIMIT 1",
            table=table,
            column=column,
            target=target,
            key=key,
        )
        if connection.execute(sql).fetchone():
            yield f"{table} refers to a row that {target} does not have"


def _of_names(connection: sqlite3.Connection) -> Iterator[str]:
    for table, column in ((schema.JOB.name, "job_id"), (schema.DATASET.name, "name_id")):
        sql = checked_sql("SELECT {column}, namespace, name FROM main.{table}", column=column, table=table)
        for id_, namespace, name in connection.execute(sql):
            if identity(table, namespace, name) != id_:
                yield f"a name in {table} is not the one that was stored"
