"""Damage: what reading a broken database may raise, and how it differs from a fault that passes."""

from __future__ import annotations

import re
import sqlite3
import zlib
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.transport.spool.place import DATABASE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FAULTS = (sqlite3.Error, ValueError, TypeError, AttributeError, ArithmeticError, LookupError, MemoryError, SystemError)
"""
What working with a database may raise.

Python decodes sqlite's message, which may quote broken bytes (UnicodeDecodeError), and a column may hold any type.
"""

# What the environment does to a healthy database; Python 3.10 has no codes for these, only the texts of sqlite.
_PASSING = re.compile(r"locked|busy|\bfull\b|I/O|unable to open|readonly|interrupted|out of memory|authoriz")
_MAGIC = b"SQLite format 3\0"


def is_damage(problem: BaseException, directory: Path) -> bool:
    """
    Return whether an exception shows that a database is damaged, so that trying again is of no use.

    Args:
        problem: one of `FAULTS`.
        directory: holds the database.
    """
    if isinstance(problem, UnicodeEncodeError | MemoryError | sqlite3.InterfaceError | sqlite3.ProgrammingError):
        return False
    if isinstance(problem, sqlite3.OperationalError) and _PASSING.search(str(problem)):
        # A version that sqlite does not know in the header makes the database "readonly" too.
        return not _has_sound_header(directory / DATABASE)
    return True


def reason_of(problem: BaseException) -> str:
    """Return why a database can't be used, in words."""
    if isinstance(problem, sqlite3.Error) or type(problem) is ValueError:
        return str(problem)
    # Their texts may hold what is in the database.
    return f"its content is damaged: {type(problem).__name__}"


def _has_sound_header(path: Path) -> bool:
    """Return whether the header of a database is possible (https://www.sqlite.org/fileformat.html); True if unknown."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return True
    if not header:
        # Its owner was stopped before the first write.
        return True
    size = int.from_bytes(header[16:18], "big")
    return (
        len(header) == 100
        and header.startswith(_MAGIC)
        and (size == 1 or (512 <= size <= 32768 and size & (size - 1) == 0))
        and set(header[18:20]) <= {1, 2}
        and header[21:24] == bytes((64, 32, 32))
        and int.from_bytes(header[44:48], "big") <= 4
        and int.from_bytes(header[56:60], "big") <= 3
    )


def checksum(row: Sequence[Any]) -> int:
    """
    Return a checksum of the row of an event, whose columns may have any type.

    Args:
        row: the columns run_id, event_type, body, parent_run_id, id, reads, writes.
    """
    body = row[2] if isinstance(row[2], bytes) else repr(row[2]).encode("utf-8", "backslashreplace")
    rest = repr((*row[:2], *row[3:7])).encode("utf-8", "backslashreplace")
    return zlib.crc32(rest, zlib.crc32(body))
