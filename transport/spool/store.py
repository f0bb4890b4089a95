"""
The spool of one application: its undelivered events in a SQLite database, which survives the sudden end of the process.

Each application has its own directory below the spool's root, with one database in WAL mode and a lock file, which the
owner keeps locked while it runs. SQLite does not work on most network file systems: the root must be on a local disk.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.spool.place import (
    DATABASE,
    UNREADABLE,
    SpoolError,
    hold,
    holds,
    release,
    remove,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

DEAD_LETTER_SECONDS = 30 * 86_400
"""How long events that the receiver refused for good are kept."""

# How long a call waits while another process locks the database.
_BUSY_SECONDS = 0.5
# How long nothing is written after a failed write, since each failure may cost the wait above.
_REST_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS waiting (
    number INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, parent_run_id TEXT, event_type TEXT NOT NULL,
    id TEXT NOT NULL, body BLOB NOT NULL, since REAL NOT NULL, reads TEXT NOT NULL, writes TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS dead (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, parent_run_id TEXT, event_type TEXT NOT NULL,
    id TEXT NOT NULL, body BLOB NOT NULL, since REAL NOT NULL, reads TEXT NOT NULL, writes TEXT NOT NULL,
    reason TEXT NOT NULL, answer TEXT NOT NULL
);
"""
_MAKE_ROOM = """
DELETE FROM dead WHERE number IN (
    SELECT number FROM (SELECT number, sum(length(body)) OVER (ORDER BY since DESC, number DESC) AS bytes FROM dead)
    WHERE bytes > ?
)
"""


@attrs.frozen
class SpooledEvent:
    """
    An event in a spool, without its body.

    Args:
        number: its place in the order of arrival.
        run_id: of its run.
        parent_run_id: of the run whose START must be delivered first.
        event_type: its `eventType`.
        size: of its body, in bytes.
        reads: the datasets that its run reads.
        writes: those that it writes.
    """

    number: int
    run_id: str
    parent_run_id: str | None
    event_type: str
    size: int
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


class Spool:
    """
    The events of one application on disk; get one with `create` or `take_over`.

    Any thread may call it; a forked process must not.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._mutex = threading.RLock()
        self._settled: list[int] = []
        self._resting_until = 0.0
        self._is_damaged = False
        try:
            self._connection = _open(directory / DATABASE)
            self._dead_bytes = _dead_bytes(self._connection)
        except sqlite3.Error as exc:
            if aside := _damaged(exc):
                _set_aside(directory)
            release(directory)
            outcome = f"; it is now called {directory.name}{UNREADABLE}" if aside else ""
            raise SpoolError(f"{directory} can't be read ({exc}){outcome}", damaged=aside) from exc

    @classmethod
    def create(cls, root: Path, destination: str) -> Spool:
        """
        Make and lock a new directory below the root, readable by its owner only.

        Args:
            root: the spool's root; it is made if it does not exist.
            destination: where its events go.

        Raises:
            SpoolError: it can't be made or written.
        """
        name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}-{secrets.token_hex(4)}"
        directory = root.absolute() / name
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            directory.mkdir(mode=0o700)
            # Locked before there is a database: other processes ignore a directory without one.
            if not hold(directory, new=True):
                raise SpoolError(f"{directory} is held by another process")
            # SQLite gives its other files the mode of this one.
            os.close(os.open(directory / DATABASE, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as exc:
            release(directory)
            raise SpoolError(f"{exc.filename or directory} can't be made or written ({exc.strerror})") from exc
        spool = cls(directory)
        spool._do("INSERT INTO about VALUES ('destination', ?)", destination)
        return spool

    @classmethod
    def take_over(cls, directory: Path) -> Spool | None:
        """
        Lock and open the directory of another application.

        Returns:
            The spool; None if that application is still running, or the directory is gone.

        Raises:
            SpoolError: it can't be read.
        """
        try:
            free = hold(directory)
        except OSError as exc:
            raise SpoolError(f"{directory} can't be locked ({exc.strerror})") from exc
        return cls(directory) if free else None

    def name_application(self, name: str) -> None:
        """Write down which application this spool belongs to, for people who list spools."""
        with contextlib.suppress(SpoolError):
            self._do("INSERT OR REPLACE INTO about VALUES ('application', ?)", name)

    def append(self, event: Event) -> int:
        """
        Write an event, in one transaction; from then on it survives the end of this process.

        Returns:
            Its number.

        Raises:
            SpoolError: it could not be written, or an earlier write failed a moment ago.
        """
        if time.monotonic() < self._resting_until:
            raise SpoolError(f"{self.directory} could not be written a moment ago")
        row = (
            *(event.run_id, event.parent_run_id, event.event_type, event.id, event.body, time.time()),
            *(" ".join(sorted(event.reads)), " ".join(sorted(event.writes))),
        )
        sql = (
            "INSERT INTO waiting (run_id, parent_run_id, event_type, id, body, since, reads, writes)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        try:
            return self._run(lambda connection: int(connection.execute(sql, row).lastrowid or 0))
        except SpoolError:
            self._resting_until = time.monotonic() + _REST_SECONDS
            raise

    def read(self, number: int) -> Event:
        """
        Read an event.

        Raises:
            SpoolError: it can't be read, or is missing.
        """
        sql = "SELECT run_id, event_type, body, parent_run_id, id, reads, writes FROM waiting WHERE number = ?"
        rows = self._do(sql, number)
        if not rows:
            raise SpoolError(f"{self.directory} no longer holds event {number}", damaged=True)
        try:
            return event_from_row(rows[0])
        except ValueError as exc:
            raise SpoolError(f"{self.directory}, event {number}: {exc}", damaged=True) from exc

    def settle(self, number: int) -> None:
        """Delete an event that was delivered; if that fails now, a later call does it."""
        with self._mutex, contextlib.suppress(SpoolError):
            self._settled.append(number)
            if time.monotonic() >= self._resting_until:
                self._settle()

    def bury(self, number: int, reason: str, answer: str, max_bytes: int) -> None:
        """
        Move an event that was refused for good to the dead letters.

        Args:
            number: of the event.
            reason: what failed, without credentials.
            answer: the text of the receiver's answer, without credentials.
            max_bytes: the limit on the bodies of all dead letters; beyond it the oldest are deleted.

        Raises:
            SpoolError: it could not be written.
        """
        insert = (
            "INSERT OR REPLACE INTO dead"
            " SELECT number, run_id, parent_run_id, event_type, id, body, ?, reads, writes, ?, ?"
            " FROM waiting WHERE number = ?"
        )

        def move(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                [(size,)] = connection.execute("SELECT sum(length(body)) FROM waiting WHERE number = ?", (number,))
                connection.execute(insert, (time.time(), reason, answer, number))
                connection.execute("DELETE FROM waiting WHERE number = ?", (number,))
                self._dead_bytes += size or 0
                if self._dead_bytes > max_bytes:
                    # More room than is needed, so that this happens rarely.
                    connection.execute(_MAKE_ROOM, (max_bytes * 9 // 10,))
                    self._dead_bytes = _dead_bytes(connection)

        self._run(move)

    def revive(self) -> int:
        """
        Move the dead letters back to the waiting events, each to its old place in the order.

        Returns:
            How many there were.

        Raises:
            SpoolError: it could not be written.
        """

        def move(connection: sqlite3.Connection) -> int:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                moved = connection.execute(
                    "INSERT OR IGNORE INTO waiting"
                    " SELECT number, run_id, parent_run_id, event_type, id, body, since, reads, writes FROM dead"
                ).rowcount
                connection.execute("DELETE FROM dead")
            self._dead_bytes = 0
            return moved

        return self._run(move)

    def waiting(self) -> list[SpooledEvent]:
        """
        Return the events that are still to be delivered, in the order of arrival.

        Raises:
            SpoolError: it can't be read.
        """
        columns = "SELECT number, run_id, parent_run_id, event_type, length(body), reads, writes"
        return [
            SpooledEvent(*row[:5], *_datasets(row[5:])) for row in self._do(columns + " FROM waiting ORDER BY number")
        ]

    def close(self) -> None:
        """
        Close the database and unlock the directory; a second call does nothing.

        An empty directory is deleted; one with a damaged database is renamed, so that no application opens it again.
        """
        with contextlib.suppress(SpoolError):
            self._settle()
            old = time.time() - DEAD_LETTER_SECONDS
            self._do("DELETE FROM dead WHERE since < ?", old)
        left = True
        with contextlib.suppress(SpoolError):
            left = bool(self._do("SELECT 1 FROM waiting UNION ALL SELECT 1 FROM dead LIMIT 1"))
        with self._mutex:
            if not holds(self.directory):
                return
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            if not left:
                remove(self.directory)
            elif self._is_damaged:
                _set_aside(self.directory)
            release(self.directory)

    def _settle(self) -> None:
        with self._mutex:
            numbers = [(number,) for number in self._settled]

            def forget(connection: sqlite3.Connection) -> None:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.executemany("DELETE FROM waiting WHERE number = ?", numbers)

            try:
                self._run(forget)
            except SpoolError:
                self._resting_until = time.monotonic() + _REST_SECONDS
                raise
            self._settled.clear()

    def _do(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._run(lambda connection: connection.execute(sql, values).fetchall())

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._mutex:
            try:
                return work(self._connection)
            except sqlite3.Error as exc:
                self._is_damaged = self._is_damaged or _damaged(exc)
                raise SpoolError(f"{self.directory}: {exc}", damaged=_damaged(exc)) from exc


def _damaged(problem: sqlite3.Error) -> bool:
    # A full disk, a lock and the like raise the subclass OperationalError.
    return type(problem) is sqlite3.DatabaseError


def _set_aside(directory: Path) -> None:
    with contextlib.suppress(OSError):
        directory.rename(directory.with_name(directory.name + UNREADABLE))


def event_from_row(row: Sequence[Any]) -> Event:
    """
    Return the event in a row of the table `waiting` or `dead`.

    Args:
        row: the columns run_id, event_type, body, parent_run_id, id, reads, writes.

    Raises:
        ValueError: the row is damaged.
    """
    return Event(*row[:5], *_datasets(row[5:]))


def _datasets(columns: Sequence[str]) -> Iterator[frozenset[str]]:
    return (frozenset(column.split()) for column in columns)


def _dead_bytes(connection: sqlite3.Connection) -> int:
    [(total,)] = connection.execute("SELECT coalesce(sum(length(body)), 0) FROM dead")
    return int(total)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit survives the end of the process at once, and a loss of power once the log is checkpointed.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection
