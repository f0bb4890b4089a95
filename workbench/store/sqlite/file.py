"""The file of a store in SQLite: how it is opened, read and written by several processes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.sqlite.file_check import refuse_others
from openlineage_pyspark.workbench.store.sqlite.soundness import in_one_line
from openlineage_pyspark.workbench.store.tables import stored

PATIENCE_SECONDS = 60
LOG_PAGES = 16_000
"""
After how many pages the log is copied into the file: a page that several transactions change is then copied once.
"""
_PAUSE_SECONDS = 0.01
_IN_MEMORY = Path("the store in memory")
# With SQLite's 2 MB, each large transaction goes to the disk in parts and is read again from there.
_CACHE_KIB = 65_536
# While the log is copied into the file beside a writer, it grows further, up to this.
_MOST_LOG_PAGES = 4 * LOG_PAGES
# How long a store is checked before a question, and how many steps pass between looks at the clock.
_LOOK_SECONDS = 0.2
_LOOK_STEPS = 10_000


class SqliteFile:
    """
    The file of a store, over one connection. Its content is not checked here.

    Args:
        path: the file; None for a database in memory.
        read_only: whether nothing is to be written.
        create: whether the file is created if it does not exist.
        patience: how many seconds to wait for another process that writes.

    Raises:
        StoreError: there is no such file, or it is another program's.
        sqlite3.Error, UnicodeDecodeError, OSError: it can't be opened.
    """

    def __init__(self, path: Path | None, *, read_only: bool, create: bool, patience: float) -> None:
        self.path = path or _IN_MEMORY
        self._patience = patience
        self._copying: _Copying | None = None
        if path is not None:
            if (read_only or not create) and not path.exists():
                made = f"`openlineage-pyspark ingest FILE --store {path}` makes one"
                raise StoreError(f"there is no store at {path}. {made}")
            refuse_others(path, patience)
        self.connection = sqlite3.connect(
            ":memory:" if path is None else f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
            uri=path is not None,
            timeout=patience,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self.connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        except sqlite3.Error:
            self.connection.close()
            raise

    def query(self, sql: str, parameters: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        """
        Return the rows of a query.

        Args:
            sql: the query, with `?` for parameters.
            parameters: their values.

        Raises:
            StoreError: the file is damaged, or can't be read.
        """
        try:
            return self.connection.execute(sql, parameters).fetchall()
        except UnicodeEncodeError as problem:
            raise StoreError(f"the store has no name such as {problem.object!r}: it is not UTF-8 text") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
            is_moment = isinstance(problem, sqlite3.OperationalError) and "UTF-8" not in str(problem)
            raise StoreError(f"{self.path} can't be read: {problem}{'' if is_moment else self.remedy()}") from None

    def remedy(self) -> str:
        """Return the remedy for damage."""
        return (
            f". It is damaged: move it away, and take its events into a new store: `ingest FILES --store {self.path}`"
        )

    def damage_of_pages(self) -> str:
        """
        Check for a short while how the pages of the queried tables are linked, and not their content.

        Returns:
            The damage; empty if none is found.
        """
        end = time.monotonic() + _LOOK_SECONDS
        self.connection.set_progress_handler(lambda: time.monotonic() > end, _LOOK_STEPS)
        try:
            for name in (*(table.name for table in stored.MERGED), *stored.OF_VERSIONS):
                for (found,) in self.connection.execute(f"PRAGMA quick_check({name})"):
                    if found != "ok":
                        return in_one_line(found)
        except sqlite3.DatabaseError as problem:
            return "" if str(problem) == "interrupted" else str(problem)
        finally:
            self.connection.set_progress_handler(None, 0)
        return ""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that the statements change, or nothing."""
        # IMMEDIATE: a transaction that reads before it writes can't fail because another one wrote in between.
        self.connection.execute("BEGIN IMMEDIATE")
        last = "ROLLBACK"
        try:
            yield
            last = "COMMIT"
        finally:
            # SQLite itself rolls back if the disk is full or can't be written.
            if self.connection.in_transaction:
                self.connection.execute(last)

    @contextmanager
    def copied_beside(self) -> Iterator[None]:
        """
        Copy a transaction's content from the log into the file, while the next one is prepared.

        This happens only within `many`. Otherwise SQLite copies it when the log has grown.
        """
        if self._copying:
            self._copying.begin()
        yield
        if self._copying:
            self._copying.end()

    @contextmanager
    def many(self) -> Iterator[None]:
        """
        Prepare for many transactions.

        A transaction writes to the log, from where the content is copied into the file: within this context, while the
        next transaction is prepared.
        """
        if self.query("PRAGMA journal_mode") != [("wal",)]:
            yield
            return
        with _Copying(self.path) as copying:
            self._copying = copying
            self.connection.execute("PRAGMA wal_autocheckpoint = 0")
            try:
                yield
            finally:
                self._copying = None
                self.connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")

    def use_write_ahead_log(self) -> None:
        """Turn on the write-ahead log, so that readers do not wait for a writer."""
        end = time.monotonic() + self._patience
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:  # noqa: PERF203 (to try again is the point)
                # SQLite does not wait here for another process that creates the store at this moment: it fails at once.
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def copy_log_seldom(self) -> None:
        """Let several transactions share a copy of the log, and only these copies wait for the disk."""
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")

    def shrink(self) -> bool:
        """
        Give the space of deleted rows back to the file system.

        Returns:
            Whether it was possible: not while another process uses the file, or without space for a copy of it.
        """
        try:
            self.connection.execute("VACUUM")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            return False
        return True


class _Copying:
    """
    Copies the log into the file, in its own thread and connection.

    Meanwhile, neither Python nor the database is locked, so that the writer continues.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._thread: threading.Thread | None = None
        self._log_pages = 0

    def __enter__(self) -> _Copying:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until it ends."""
        self._wait()
        self._connection.close()

    def begin(self) -> None:
        """Prepare for a transaction: a log that has grown large is copied first, so that it begins again."""
        if self._log_pages > _MOST_LOG_PAGES:
            self._wait()
            self._copy()

    def end(self) -> None:
        """Copy a transaction's content, unless the one before is still being copied."""
        if self._thread and self._thread.is_alive():
            return
        self._wait()
        self._thread = threading.Thread(target=self._copy, name="openlineage-store-copy", daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        # It waits for no other process, and copies as much as it can. If the disk is full, the writer finds out.
        with suppress(sqlite3.Error):
            _, self._log_pages, _ = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _wait(self) -> None:
        if self._thread:
            self._thread.join()
            self._thread = None


def why_not_opened(path: Path, problem: Exception, read_only: bool) -> str:  # noqa: FBT001
    """Return why a file is not a store: for a wrong path, SQLite reports only that it is unable to open it."""
    folder = path.absolute().parent
    # Path.is_dir raises an error for a name that is too long.
    if os.path.isdir(path):  # noqa: PTH112
        return "it is a folder"
    if not os.path.isdir(folder):  # noqa: PTH112
        return f"there is no folder {folder}"
    if "not a database" in str(problem):
        makes_one = f"if it has events, `openlineage-pyspark ingest {path} --store lineage.db` makes a store of them"
        return f"it is another kind of file; {makes_one if read_only else 'name a store, or a new file'}"
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
