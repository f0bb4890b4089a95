"""
The spool of one application: its undelivered events in a SQLite database, which survives the sudden end of the process.

Each application has its own directory below the spool's root, with one database in WAL mode and a lock file, which the
owner keeps locked while it runs. SQLite does not work on most network file systems: the root must be on a local disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.spool.damage import FAULTS, checksum, committed_frames, damage_reason_of, is_damage
from openlineage_pyspark.transport.spool.place import DATABASE, UNREADABLE, hold, holds, release, remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

_log = logging.getLogger(__name__)

DEAD_LETTER_SECONDS = 30 * 86_400
"""How long events that the receiver refused for good are kept."""

# How long a call waits while another process locks the database.
_BUSY_SECONDS = 0.5
# How long nothing is written after a failed write, since each failure may cost the wait above.
_REST_SECONDS = 5.0
_SCHEMA = """
BEGIN;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS waiting (
    number INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, parent_run_id TEXT, event_type TEXT NOT NULL,
    id TEXT NOT NULL, body BLOB NOT NULL, since REAL NOT NULL, reads TEXT NOT NULL, writes TEXT NOT NULL,
    checksum INTEGER
);
CREATE TABLE IF NOT EXISTS dead (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, parent_run_id TEXT, event_type TEXT NOT NULL,
    id TEXT NOT NULL, body BLOB NOT NULL, since REAL NOT NULL, reads TEXT NOT NULL, writes TEXT NOT NULL,
    reason TEXT NOT NULL, answer TEXT NOT NULL, checksum INTEGER
);
COMMIT;
"""
_TABLES = {"about", "waiting", "dead"}
# A moment after the year 5000, in seconds since the epoch.
_LATEST = 1e11
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
        since: when it arrived, in seconds since the epoch.
        reads: the datasets that its run reads.
        writes: the datasets that its run writes.
    """

    number: int
    run_id: str
    parent_run_id: str | None
    event_type: str
    size: int
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    since: float = attrs.field(default=0.0, eq=False)


class Spool:
    """
    The events of one application on disk; get one with `create` or `take_over`.

    Any thread may call it; a forked process must not.

    Attributes:
        directory: where it is.
        destination: the receiver of its events; see `Transport.destination`.
        sender: what `is_of_sender` compares with the sender of its events; None if an older version made it.
    """

    def __init__(self, directory: Path, *, checked: bool = False) -> None:
        self.directory = directory
        self.destination = ""
        self.sender: str | None = None
        self._mutex = threading.RLock()
        self._settled: list[int] = []
        self._resting_until = 0.0
        self._is_damaged = False
        # The numbers of events whose rows are damaged.
        self._broken: set[int] = set()
        opened = contextlib.ExitStack()
        try:
            self._connection = opened.enter_context(contextlib.closing(_open(directory / DATABASE, checked=checked)))
            self._dead_bytes = _dead_bytes(self._connection)
            found = about(self._connection)
            self.destination, self.sender = found.get("destination", ""), found.get("sender")
            if checked and "destination" not in found and _is_used(self._connection):
                raise ValueError("it does not state where its events go")
            opened.pop_all()
        except FAULTS as exc:
            opened.close()
            aside = is_damage(exc, directory) and _set_aside(directory)
            release(directory)
            outcome = f"; it is now called {directory.name}{UNREADABLE}" if aside else ""
            raise SpoolError(f"{directory} can't be read ({damage_reason_of(exc)}){outcome}", damaged=aside) from exc

    @classmethod
    def create(cls, root: Path, destination: str, sender: str = "") -> Spool:
        """
        Make and lock a new directory below the root, readable by its owner only.

        Args:
            root: the spool's root; it is made if it does not exist.
            destination: where its events go.
            sender: see `Transport.sender`; only a salted hash of it is stored.

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
        spool.destination, spool.sender = _storable(destination), _salted(sender, secrets.token_hex(16))
        rows = [("destination", spool.destination), ("sender", spool.sender)]
        try:
            spool._run(lambda connection: connection.executemany("INSERT INTO about VALUES (?, ?)", rows))
        except SpoolError:
            spool.close()
            raise
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
        return cls(directory, checked=True) if free else None

    def name_application(self, name: str) -> None:
        """Store the name of the application that this spool belongs to, for people who list spools."""
        with contextlib.suppress(SpoolError):
            self._do("INSERT OR REPLACE INTO about VALUES ('application', ?)", name)

    @property
    def rests_until(self) -> float:
        """When the next write is tried after one that failed, in monotonic seconds; 0 if none has."""
        return self._resting_until

    def append(self, event: Event, *, urgent: bool = False) -> int:
        """
        Write an event, in one transaction; from then on it survives the end of this process.

        Args:
            event: the event.
            urgent: whether to try it even if an earlier write failed a moment ago.

        Returns:
            Its number.

        Raises:
            SpoolError: it could not be written, or an earlier write failed a moment ago and this one is not urgent.
        """
        if not urgent and time.monotonic() < self._resting_until:
            raise SpoolError(f"{self.directory} could not be written a moment ago")
        row = (
            *(event.run_id, event.event_type, event.body, event.parent_run_id, event.id),
            *(" ".join(sorted(event.reads)), " ".join(sorted(event.writes))),
        )
        values = (*row, checksum(row), time.time())
        sql = (
            "INSERT INTO waiting (run_id, event_type, body, parent_run_id, id, reads, writes, checksum, since)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        try:
            return self._run(lambda connection: int(connection.execute(sql, values).lastrowid or 0))
        except SpoolError:
            self._resting_until = time.monotonic() + _REST_SECONDS
            raise

    def read(self, number: int) -> Event:
        """
        Read an event.

        Raises:
            SpoolError: it can't be read, or is missing.
        """
        sql = (
            "SELECT run_id, event_type, body, parent_run_id, id, reads, writes, checksum FROM waiting WHERE number = ?"
        )
        rows = self._do(sql, number)
        if not rows:
            raise SpoolError(f"{self.directory} no longer holds event {number}", damaged=True)
        try:
            return event_from_row(rows[0])
        except ValueError as exc:
            # Its row stays, so that somebody can repair it.
            self._broken.add(number)
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
            number: the number of the event.
            reason: what failed, without credentials.
            answer: the text of the receiver's answer, without credentials.
            max_bytes: the limit on the bodies of all dead letters; beyond it the oldest are deleted.

        Raises:
            SpoolError: it could not be written.
        """
        insert = (
            "INSERT OR REPLACE INTO dead (number, run_id, event_type, body, parent_run_id, id, reads, writes, checksum,"
            " since, reason, answer) SELECT number, run_id, event_type, body, parent_run_id, id, reads, writes,"
            " checksum, ?, ?, ? FROM waiting WHERE number = ?"
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
                    "INSERT OR IGNORE INTO waiting (number, run_id, event_type, body, parent_run_id, id, reads, writes,"
                    " checksum, since) SELECT number, run_id, event_type, body, parent_run_id, id, reads, writes,"
                    " checksum, since FROM dead"
                ).rowcount
                # An event stays if another one has its number: in a damaged database, numbers may be wrong.
                connection.execute(
                    "DELETE FROM dead WHERE (number, id) IN (SELECT number, id FROM waiting WHERE number = dead.number)"
                )
                self._dead_bytes = _dead_bytes(connection)
            return moved

        return self._run(move)

    def waiting(self) -> list[SpooledEvent]:
        """
        Return the events that are still to be delivered, in the order of arrival.

        Raises:
            SpoolError: it can't be read.
        """
        columns = "SELECT number, run_id, parent_run_id, event_type, length(body), since, reads, writes"

        def listed(connection: sqlite3.Connection) -> list[SpooledEvent]:
            return [_spooled(row) for row in connection.execute(columns + " FROM waiting ORDER BY number")]

        return self._run(listed)

    def close(self) -> None:
        """
        Close the database and unlock the directory; a second call does nothing.

        An empty directory is deleted; one with a damaged database is renamed, so that no application opens it again.
        """
        with contextlib.suppress(SpoolError):
            self._settle()
            old = time.time() - DEAD_LETTER_SECONDS
            self._do("DELETE FROM dead WHERE since < ?", old)
        left: set[object] = {None}
        with contextlib.suppress(SpoolError):
            left = {number for (number,) in self._do("SELECT number FROM waiting UNION SELECT number FROM dead")}
        with self._mutex:
            if not holds(self.directory):
                return
            with contextlib.suppress(*FAULTS):
                self._connection.close()
            if not left:
                remove(self.directory)
            elif (self._is_damaged or left <= self._broken) and _set_aside(self.directory):
                _log.warning("%s holds damaged OpenLineage events; it is now called *%s", self.directory, UNREADABLE)
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
            except FAULTS as exc:
                damaged = is_damage(exc, self.directory)
                self._is_damaged = self._is_damaged or damaged
                raise SpoolError(f"{self.directory}: {damage_reason_of(exc)}", damaged=damaged) from exc


def _set_aside(directory: Path) -> bool:
    try:
        directory.rename(directory.with_name(directory.name + UNREADABLE))
    except OSError:
        return False
    return True


def about(connection: sqlite3.Connection) -> dict[str, str]:
    """
    Return what a database states about its events: their `destination`, and the salted hash of their `sender`.

    Raises:
        ValueError: it is damaged.
    """
    found = dict(connection.execute("SELECT name, value FROM about").fetchall())
    if not all(isinstance(text, str) for pair in found.items() for text in pair):
        raise ValueError("its receiver is damaged")
    return found


def is_of_sender(stored: str | None, sender: str) -> bool:
    """
    Return whether events were stored for this sender.

    Args:
        stored: the salted hash; None in a spool of an older version. Only a sender without any key, header or parameter
            may send its events, because then nothing distinguishes tenants.
        sender: see `Transport.sender`.
    """
    if stored is None:
        return not sender
    salt = stored.partition(":")[0]
    return hmac.compare_digest(stored.encode(), _salted(sender, salt).encode())


def _salted(sender: str, salt: str) -> str:
    digest = hashlib.sha256(f"{salt}:{sender}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{salt}:{digest}"


def _storable(text: str) -> str:
    """Return a text as SQLite can store it: the name of a file need not be valid Unicode."""
    return text.encode("utf-8", "backslashreplace").decode()


def event_from_row(row: Sequence[Any]) -> Event:
    """
    Return the event in a row of the table `waiting` or `dead`.

    Args:
        row: the columns run_id, event_type, body, parent_run_id, id, reads, writes, checksum; the last is None if an
            older version wrote the row.

    Raises:
        ValueError: the row is damaged.
    """
    run_id, event_type, body, parent, identity, reads, writes, expected = row
    texts = (run_id, event_type, identity, reads, writes, "" if parent is None else parent)
    whole = all(isinstance(text, str) for text in texts) and isinstance(body, bytes)
    if not whole or expected not in (None, checksum(row)):
        raise ValueError("the row is damaged")
    return Event(run_id, event_type, body, parent, identity, *_datasets((reads, writes)))


def _spooled(row: Sequence[Any]) -> SpooledEvent:
    """Return the event of a row without its body; raise ValueError if the row is damaged."""
    number, run_id, parent, event_type, size, since, reads, writes = row
    whole = all(isinstance(text, str) for text in (run_id, event_type, reads, writes, "" if parent is None else parent))
    if not (whole and isinstance(number, int) and isinstance(size, int)):
        raise ValueError("a row is damaged")
    read, written = _datasets((reads, writes))
    return SpooledEvent(number, run_id, parent, event_type, size, read, written, as_time(since))


def as_time(value: object) -> float:
    """
    Return a time in a row.

    Raises:
        ValueError: it can't be one.
    """
    if not (isinstance(value, int | float) and 0 <= value < _LATEST):
        raise ValueError("a time is damaged")
    return float(value)


def _datasets(columns: Sequence[str]) -> Iterator[frozenset[str]]:
    return (frozenset(column.split()) for column in columns)


def _dead_bytes(connection: sqlite3.Connection) -> int:
    [(total,)] = connection.execute("SELECT coalesce(sum(length(body)), 0) FROM dead")
    return int(total)


def _open(path: Path, *, checked: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.text_factory = strict_text
        frames = committed_frames(path.with_name(f"{path.name}-wal")) if checked else 0
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit survives the end of the process at once, and a loss of power once the log is checkpointed.
        connection.execute("PRAGMA synchronous = NORMAL")
        if checked:
            _check(connection, frames)
        connection.executescript(_SCHEMA)
        for table in ("waiting", "dead"):
            if "checksum" not in _columns(connection, table):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER")
    except FAULTS:
        connection.close()
        raise
    return connection


def strict_text(value: bytes) -> str:
    """Return a text of a database; sqlite3's own conversion raises an error that looks like a temporary one."""
    return value.decode()


def _check(connection: sqlite3.Connection, frames: int) -> None:
    """
    Raise ValueError if a database is damaged in a way that would hide events.

    Args:
        connection: the connection to the database.
        frames: how many frames its log should have.
    """
    [(busy, found, _)] = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    if not busy and 0 <= found < frames:
        raise ValueError("its log is damaged")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not tables >= _TABLES:
        raise ValueError("a table is missing")
    [(answer,)] = connection.execute("PRAGMA quick_check(1)").fetchall()
    if answer != "ok":
        raise ValueError("a page is damaged")


def _is_used(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM waiting UNION ALL SELECT 1 FROM dead LIMIT 1").fetchall())


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
