"""The content of spools, read without changing anything, also while the owner is running."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import attrs
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.spool.place import DATABASE, SpoolError, is_held
from openlineage_pyspark.transport.spool.store import event_from_row

# How long a call waits while the owner writes to the database.
_BUSY_SECONDS = 2.0


@attrs.frozen
class Content:
    """
    What one directory of a spool holds.

    Args:
        directory: the directory.
        destination: where its events go; see `Transport.destination`.
        in_use: whether the application that owns it is running.
        waiting: the number of events that are still to be delivered.
        dead: the number of events that were refused for good.
        size: the bytes of the bodies of both.
        oldest: when the oldest of both arrived, in seconds since the epoch; None if there are none.
        problem: why it can't be read; empty if it can.
        application: the name of the application that owns it; empty if it is not known.
    """

    directory: Path
    destination: str = ""
    in_use: bool = False
    waiting: int = 0
    dead: int = 0
    size: int = 0
    oldest: float | None = None
    problem: str = ""
    application: str = ""


@attrs.frozen
class DeadLetter:
    """
    An event that the receiver refused for good.

    Args:
        event: the event.
        reason: what failed, as in the log.
        answer: the text of the receiver's answer.
        since: when it was refused, in seconds since the epoch.
    """

    event: Event
    reason: str
    answer: str
    since: float


def content(directory: Path) -> Content:
    """Return what a directory holds; if it can't be read, `problem` says why."""
    in_use = is_held(directory)
    try:
        with contextlib.closing(_read_only(directory)) as connection:
            row = connection.execute(
                "SELECT (SELECT value FROM about WHERE name = 'application'),"
                " (SELECT value FROM about WHERE name = 'destination'), count(*) FILTER (WHERE kind = 'w'),"
                " count(*) FILTER (WHERE kind = 'd'), coalesce(sum(size), 0), min(since) FROM"
                " (SELECT 'w' AS kind, length(body) AS size, since FROM waiting"
                "  UNION ALL SELECT 'd', length(body), since FROM dead)"
            ).fetchone()
    except sqlite3.Error as exc:
        return Content(directory, in_use=in_use, problem=str(exc))
    application, destination, waiting, dead, size, oldest = row
    return Content(directory, destination or "", in_use, waiting, dead, size, oldest, application=application or "")


def dead_letters(directory: Path) -> list[DeadLetter]:
    """
    Return the events that the receiver refused for good, in the order of arrival.

    Raises:
        SpoolError: it can't be read.
    """
    sql = (
        "SELECT run_id, event_type, body, parent_run_id, id, reads, writes, reason, answer, since FROM dead"
        " ORDER BY number"
    )
    try:
        with contextlib.closing(_read_only(directory)) as connection:
            return [DeadLetter(event_from_row(row[:7]), *row[7:]) for row in connection.execute(sql)]
    except sqlite3.Error as exc:
        raise SpoolError(f"{directory}: {exc}") from exc


def _read_only(directory: Path) -> sqlite3.Connection:
    uri = f"{(directory / DATABASE).absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)
