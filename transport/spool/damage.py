"""Distinguish the exceptions that a damaged database raises from temporary faults."""

from __future__ import annotations

import os
import re
import sqlite3
import zlib
from typing import TYPE_CHECKING, Any, Literal

from openlineage_pyspark.transport.spool.place import DATABASE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FAULTS = (sqlite3.Error, ValueError, TypeError, AttributeError, ArithmeticError, LookupError, MemoryError, SystemError)
"""
The exceptions that a database may raise.

Python decodes sqlite's message, which may quote broken bytes (UnicodeDecodeError), and a column may hold any type.
"""

# Faults of the environment of a healthy database; Python 3.10 has no codes for these, only the texts of sqlite.
_PASSING = re.compile(r"locked|busy|\bfull\b|I/O|unable to open|readonly|interrupted|out of memory|authoriz")
_LOG_MAGIC, _LOG_HEADER, _FRAME_HEADER = 0x377F0682, 32, 24
_MAGIC = b"SQLite format 3\0"


def is_damage(problem: BaseException, directory: Path) -> bool:
    """
    Return whether an exception shows that a database is damaged, so that another attempt is of no use.

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


def damage_reason_of(problem: BaseException) -> str:
    """Return why a database can't be used, in words."""
    if isinstance(problem, sqlite3.Error) or type(problem) is ValueError:
        return str(problem)
    # The texts of other exceptions may quote the content of the database.
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


def committed_frames(path: Path) -> int:
    """
    Return how many frames a write-ahead log has up to its last commit, from the headers of the frames only.

    SQLite silently ends a log at the first frame with a wrong checksum: if it counts fewer frames, what follows a
    damaged byte is lost (https://www.sqlite.org/fileformat.html#walformat).

    Args:
        path: the path of the database's log, to which nobody writes.

    Raises:
        ValueError: the header of the log is damaged.
    """
    try:
        log = path.open("rb")
    except OSError:
        return 0
    with log:
        header = log.read(_LOG_HEADER)
        if len(header) < _LOG_HEADER:
            return 0
        if int.from_bytes(header[:4], "big") & ~1 != _LOG_MAGIC or not _has_sound_checksum(header):
            raise ValueError("the header of its log is damaged")
        size, salts = int.from_bytes(header[8:12], "big"), header[16:24]
        frames = commits = 0
        while len(frame := log.read(_FRAME_HEADER)) == _FRAME_HEADER:
            frames += 1
            # A frame of an earlier use of the file differs in both salts; a frame that differs in one salt is damaged.
            if any(frame[4:8]) and (frame[8:12] == salts[:4] or frame[12:16] == salts[4:]):
                commits = frames
            log.seek(size, os.SEEK_CUR)
    return commits


def _has_sound_checksum(header: bytes) -> bool:
    order: Literal["big", "little"] = "big" if header[3] & 1 else "little"
    words = [int.from_bytes(header[at : at + 4], order) for at in range(0, 24, 4)]
    one = two = 0
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return header[24:32] == one.to_bytes(4, "big") + two.to_bytes(4, "big")


def checksum(row: Sequence[Any]) -> int:
    """
    Return a checksum of the row of an event, whose columns may have any type.

    Args:
        row: the columns run_id, event_type, body, parent_run_id, id, reads, writes.
    """
    body = row[2] if isinstance(row[2], bytes) else repr(row[2]).encode("utf-8", "backslashreplace")
    rest = repr((*row[:2], *row[3:7])).encode("utf-8", "backslashreplace")
    return zlib.crc32(rest, zlib.crc32(body))
