"""The content of spools, read without changing anything, also while the owner is running."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.spool.damage import FAULTS, damage_reason_of, is_damage
from openlineage_pyspark.transport.spool.place import DATABASE, is_held
from openlineage_pyspark.transport.spool.store import about, as_time, event_from_row, is_of_sender, strict_text

if TYPE_CHECKING:
    from collections.abc import Sequence

# How long a call waits while the owner writes to the database.
_BUSY_SECONDS = 2.0
_DEAD = (
    "SELECT run_id, event_type, body, parent_run_id, id, reads, writes, checksum, since, reason, answer FROM dead"
    " ORDER BY number"
)


@attrs.frozen
class Content:
    """
    The content of one directory of a spool.

    Args:
        directory: the directory.
        destination: where its events go; see `Transport.destination`.
        in_use: whether the application that owns it is running.
        waiting: the number of events that are still to be delivered.
        dead: the number of events that were refused for good.
        size: the bytes of the bodies of both.
        oldest: when the oldest of both arrived, in seconds since the epoch; None if there are none.
        problem: why it can't be read; empty if it can.
        newest: when the newest of both arrived, likewise.
        sender: the salted hash of the sender of its events; None if an older version made it.
        application: the name of the application that owns it; empty if it is unknown.
    """

    directory: Path
    destination: str = ""
    in_use: bool = False
    waiting: int = 0
    dead: int = 0
    size: int = 0
    oldest: float | None = None
    problem: str = ""
    newest: float | None = None
    sender: str | None = attrs.field(default=None, repr=False)
    application: str = ""

    def is_meant_for(self, destination: str, sender: str) -> bool:
        """
        Return whether its events may be sent by this sender to this receiver.

        Args:
            destination: see `Transport.destination`.
            sender: see `Transport.sender`.
        """
        return self.destination == destination and is_of_sender(self.sender, sender)


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
    """Return the content of a directory; if it can't be read, `problem` has the reason."""
    in_use = is_held(directory)
    try:
        with contextlib.closing(_read_only(directory)) as connection:
            found = about(connection)
            waiting, dead, size, *times = connection.execute(
                "SELECT count(*) FILTER (WHERE kind = 'w'), count(*) FILTER (WHERE kind = 'd'),"
                " coalesce(sum(size), 0), min(since), max(since) FROM"
                " (SELECT 'w' AS kind, length(body) AS size, since FROM waiting"
                "  UNION ALL SELECT 'd', length(body), since FROM dead)"
            ).fetchone()
            if (waiting or dead) and "destination" not in found:
                raise ValueError("it does not state where its events go")
            oldest, newest = (None if time is None else as_time(time) for time in times)
            size = int(size)
    except FAULTS as exc:
        return Content(directory, in_use=in_use, problem=damage_reason_of(exc))
    return Content(
        directory,
        found.get("destination", ""),
        in_use,
        waiting,
        dead,
        size,
        oldest,
        newest=newest,
        sender=found.get("sender"),
        application=found.get("application", ""),
    )


def spooled_bodies(directory: Path) -> list[tuple[str, bytes]]:
    """
    Return all events, those that wait and those that were refused for good, in the order of arrival.

    Returns:
        For each event, a text that states where it is, and its body; the body is empty if the row is damaged.

    Raises:
        SpoolError: it can't be read at the moment.
    """
    found: list[tuple[int, str, bytes]] = []
    try:
        with contextlib.closing(_read_only(directory)) as connection:
            # One transaction: an event that is refused meanwhile moves from one table to the other.
            connection.execute("BEGIN")
            for table in ("waiting", "dead"):
                has_checksums = any(row[1] == "checksum" for row in connection.execute(f"PRAGMA table_info({table})"))
                rows = connection.execute(
                    "SELECT run_id, event_type, body, parent_run_id, id, reads, writes, "  # noqa: S608 (our own names)
                    f"{'checksum' if has_checksums else 'NULL'}, number FROM {table}"
                )
                for *row, number in rows:
                    try:
                        body = event_from_row(row).body
                    except ValueError:
                        body = b""
                    found.append((number, table, body))
    except FAULTS as exc:
        raise SpoolError(
            f"{directory} can't be read ({damage_reason_of(exc)})", damaged=is_damage(exc, directory)
        ) from exc
    return [(f"{directory}, {table} event {number}", body) for number, table, body in sorted(found)]


def dead_letters(directory: Path) -> list[DeadLetter]:
    """
    Return the events that the receiver refused for good, in the order of arrival.

    A damaged one has no run, and its reason states the damage.

    Raises:
        SpoolError: it can't be read at the moment.
    """
    letters: list[DeadLetter] = []
    try:
        with contextlib.closing(_read_only(directory)) as connection:
            # A spool of an older version has no checksums.
            has_checksums = any(row[1] == "checksum" for row in connection.execute("PRAGMA table_info(dead)"))
            rows = connection.execute(_DEAD if has_checksums else _DEAD.replace("checksum", "NULL"))
            letters.extend(map(_letter, rows))
    except FAULTS as exc:
        if not is_damage(exc, directory):
            raise SpoolError(f"{directory}: {damage_reason_of(exc)}") from exc
        letters.append(_damaged())
    return letters


def _letter(row: Sequence[Any]) -> DeadLetter:
    try:
        return DeadLetter(event_from_row(row[:8]), str(row[9]), str(row[10]), as_time(row[8]))
    except ValueError:
        return _damaged()


def _damaged() -> DeadLetter:
    return DeadLetter(Event("", "", b""), "it is damaged and can't be read", "", time.time())


def _read_only(directory: Path) -> sqlite3.Connection:
    uri = f"{(directory / DATABASE).absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)
    connection.text_factory = strict_text
    return connection
