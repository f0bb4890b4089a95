"""
Refuse to open a file that is not a store, before SQLite opens it to write.

Opening a database may change it and the files beside it: SQLite plays back a journal, copies a log into the file, and
removes either if the file is empty. So no file is opened for writing before it is clear whose it is.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.tables import schema

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID = 0x4F4C5053
"""`PRAGMA application_id` of our files: "OLPS" in ASCII."""

# The message of SQLite itself.
_NO_DATABASE = "file is not a database"
_MAGIC = b"SQLite format 3\0"
_HEAD_BYTES = 100
_MARK = slice(68, 72)
_BESIDE = ("-wal", "-journal")
# The beginning of a journal, zero until it is complete; then, each in four bytes, how many pages it holds, a number by
# chance, how many pages the database had before, and the size of a sector.
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_PAGES_BEFORE = slice(16, 20)
_SECTOR = slice(20, 24)
_PAUSE_SECONDS = 0.05
# The longest time that a process needs to create a store.
_MOST_SECONDS = 5.0
# The tables that our files had before they were marked. A single name may be another program's.
_BESIDE_EVENTS = (schema.RUN, schema.JOB, schema.DATASET, schema.DATASET_IDENTITY)


def refuse_others(path: Path, patience: float) -> None:
    """
    Refuse a file that is not a store of ours and must not become one. The file and those beside it are only read.

    Args:
        path: the file, which need not exist.
        patience: how many seconds to wait for another process that creates the store.

    Raises:
        StoreError: the file is another program's, or a file beside it is.
        sqlite3.Error: it is a database that can't be read, or not a database.
        OSError: it can't be read.
    """
    head = _head_of(path, min(patience, _MOST_SECONDS))
    if not head:
        return
    if not head.startswith(_MAGIC):
        raise sqlite3.DatabaseError(_NO_DATABASE)
    mark = int.from_bytes(head[_MARK], "big")
    if mark not in (0, APPLICATION_ID) or (mark == 0 and not _is_unmarked_store(path, patience)):
        raise StoreError(f"{path} is a database of another program, and nothing in it was changed")


def is_marked(connection: sqlite3.Connection) -> bool:
    """Return whether a database is marked as ours; or has our tables, from before files were marked."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    if mark or _columns(connection, schema.EVENT) != [each.name for each in schema.EVENT.stored]:
        return bool(mark == APPLICATION_ID)
    return all(set(each.key) <= set(_columns(connection, each)) for each in _BESIDE_EVENTS)


def _columns(connection: sqlite3.Connection, table: schema.StoredTable) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA main.table_info({table.name})")]


def _head_of(path: Path, patience: float) -> bytes:
    """
    Return the first bytes of a file; nothing if it is empty or does not exist.

    The journal of a process that was killed while it created the file has no content: the file had no page before.

    Raises:
        StoreError: it is empty, and SQLite would delete the files beside it.
    """
    end = time.monotonic() + patience
    while True:
        beside = [name for name in _beside(path) if _size(name) and not _is_of_a_new_file(name)]
        is_there = path.exists()
        if is_there and not path.is_file() and not path.is_dir():
            raise sqlite3.DatabaseError(_NO_DATABASE)
        head = _begin_of(path) if is_there else b""
        if head or not beside:
            return head
        # Another process may be creating the store: then the file came before those beside it.
        if not is_there or time.monotonic() > end:
            how = "is empty" if is_there else "is not there"
            raise StoreError(
                f"{path} {how}, but {beside[0]} is: it holds data of another database, which would be deleted. "
                "Name another file, or move that one away"
            )
        time.sleep(_PAUSE_SECONDS)


def _beside(path: Path) -> list[Path]:
    """Return the files that SQLite keeps beside a database: its log and its journal."""
    return [type(path)(f"{path}{ending}") for ending in _BESIDE]


def _is_of_a_new_file(beside: Path) -> bool:
    """Return whether a file is the journal of a database that had no page before, or is gone by now."""
    if not beside.name.endswith("-journal"):
        return False
    try:
        head = _begin_of(beside)
    except FileNotFoundError:
        # The process that wrote it has finished in the meantime.
        return True
    # A journal that is out of use is zero up to here.
    has_begun = any(head[_SECTOR]) and head[: len(_JOURNAL_MAGIC)] in (_JOURNAL_MAGIC, bytes(len(_JOURNAL_MAGIC)))
    return has_begun and not any(head[_PAGES_BEFORE])


def _begin_of(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(_HEAD_BYTES)


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size if path.is_file() else 0
    # It was removed between the two.
    return 0


def _is_unmarked_store(path: Path, patience: float) -> bool:
    """Return whether a database without a mark is an older store, an empty one, or one that was marked just now."""
    # Without a log and a journal, no process writes it at this moment, and none left anything beside it.
    is_whole = not any(map(_size, _beside(path)))
    how = "mode=ro&immutable=1" if is_whole else "mode=ro"
    uri = f"{path.absolute().as_uri()}?{how}"
    with closing(sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)) as connection:
        # In one transaction: another process may create the store between two of these queries.
        connection.execute("BEGIN")
        if is_marked(connection):
            return True
        marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        return not any(marks) and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
