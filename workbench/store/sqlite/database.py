"""The store in one SQLite file: for one machine, for CI, and beside the driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.names import ALL_DROPPED, DROPPED, DroppedRuns
from openlineage_pyspark.workbench.store.own_queries import MOST_SECONDS, Answered, StreamedRow, answer_to
from openlineage_pyspark.workbench.store.sqlite.file import PATIENCE_SECONDS, SqliteFile, why_not_opened
from openlineage_pyspark.workbench.store.sqlite.file_tables import FileTables
from openlineage_pyspark.workbench.store.sqlite.soundness import damage_of
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql

if TYPE_CHECKING:
    from types import TracebackType

    from openlineage_pyspark.workbench.model.kinds import Diagnostic
    from openlineage_pyspark.workbench.store.events.ingest import Portion

_DROPPED = (
    f"CREATE TABLE IF NOT EXISTS {DROPPED} "
    "(namespace TEXT, name TEXT, name_id INTEGER, runs INTEGER, last_time INTEGER)"
)


class Database:
    """
    A store in one file. Several processes may read and write it at once.

    Args:
        path: the file; None for a store in memory.
        read_only: whether nothing is to be written.
        migrate: whether a store of an older version is migrated at once, which takes as long as ingesting all of its
            events again. With False, it is migrated before the first rows are added.
        create: whether the file is created if it does not exist.
        patience: how many seconds to wait for another process that writes.

    Raises:
        StoreError: the file can't be opened, is not a store, or is one of a newer version; or it is one of an older
            version, and `read_only` is set.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        read_only: bool = False,
        migrate: bool = True,
        create: bool = True,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.damage = ""
        self.of_files: tuple[Diagnostic, ...] | None = None
        """The diagnostics about the files that a store in memory was made of; None for a store in a file."""
        try:
            self._file = SqliteFile(path, read_only=read_only, create=create, patience=patience)
        except (sqlite3.Error, UnicodeDecodeError, OSError) as problem:
            why = str(problem) if path is None else why_not_opened(path, problem, read_only)
            raise StoreError(f"{path} can't be opened as a store: {why}") from None
        self.path = path = self._file.path
        self.query = self._file.query
        self.many = self._file.many
        self.shrink = self._file.shrink
        self._tables = FileTables(self._file)
        try:
            self._tables.prepare(read_only=read_only)
            if self._tables.is_old and migrate:
                self.rebuild(only_if_old=True)
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            self.close()
            raise StoreError(f"{path} can't be opened as a store: {why_not_opened(path, problem, read_only)}") from None
        except StoreError:
            self.close()
            raise

    def __enter__(self) -> Database:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """
        Close it.

        Raises:
            StoreError: something in this package failed because the file is damaged.
        """
        is_unexpected = isinstance(problem, Exception) and not isinstance(problem, StoreError) and _is_ours(traceback)
        damage = damage_of(self._file.connection) if is_unexpected and not self._tables.is_old else ""
        self.close()
        if damage:
            raise StoreError(f"{self.path} can't be used: {damage}{self._file.remedy()}") from problem

    def close(self) -> None:
        """Close the file."""
        self._file.connection.close()

    def ask(self, sql: str, seconds: float = MOST_SECONDS, streamed: Iterable[StreamedRow] = ()) -> Answered:
        """
        Return the names of the columns of a person's query, and its rows.

        Args:
            sql: the query. It may only read the store's tables; the names of the proposal's tables mean the views here.
            seconds: how long it may take.
            streamed: as `own_queries.answer_to` takes them.

        Raises:
            QueryError: the query is wrong, reads something else, or takes too long.
        """
        return answer_to(self._file.connection, sql, seconds, streamed)

    def look(self) -> None:
        """
        Check for a short while whether the file is damaged, and set `damage`.

        This checks how the pages of the queried tables are linked, and not their content.
        """
        self.damage = self._file.damage_of_pages()

    def add(self, portion: Portion) -> None:
        """
        Merge the rows of a portion into the tables, all of them or none.

        Args:
            portion: the rows.

        Raises:
            StoreError: the file can't be written.
        """
        if self._tables.is_old:
            self.rebuild(only_if_old=True)
        with self._file.copied_beside(), self._writing():
            self._tables.rows.merge(portion)

    def rebuild(self, *, only_if_old: bool = False, progress: Callable[[int], None] = lambda _: None) -> int:
        """
        Rebuild all tables from the stored events, in one transaction. The table `rejected` stays.

        Args:
            only_if_old: whether to skip a store that already has this version, such as one that another process has
                just migrated.
            progress: is called with the number of events so far.

        Returns:
            How many events there are.

        Raises:
            StoreError: the file can't be written.
        """
        with self._writing():
            count = self._tables.make_current(only_if_old=only_if_old, progress=progress)
        self._tables.finish()
        return count

    def forget(self, chosen: Callable[[], Iterable[str]], lost: Callable[[], Iterable[DroppedRuns]] = tuple) -> int:
        """
        Delete events, and rebuild all other tables from those that stay: all of it or nothing.

        Args:
            chosen: returns the ids of the events to delete. It may query the store: no other process writes meanwhile.
            lost: returns, after `chosen`, the runs of these events, which the store records as dropped.

        Returns:
            How many events were deleted.

        Raises:
            StoreError: the file can't be written.
        """
        with self._writing():
            ids = frozenset(chosen())
            if ids:
                runs = [*lost()]
                self._tables.rebuild(without=ids)
                self._file.connection.execute(_DROPPED)
                self._file.connection.executemany(
                    checked_sql("INSERT INTO {dropped} VALUES (?, ?, ?, ?, ?)", dropped=DROPPED), runs
                )
            return len(ids)

    def dropped(self) -> list[DroppedRuns]:
        """Return the runs that are no longer kept, by jobs and datasets."""
        if not self.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (DROPPED,)):
            return []
        return [DroppedRuns(*row) for row in self.query(f"{ALL_DROPPED} FROM {DROPPED} GROUP BY 1, 2, 3")]

    def size(self) -> int:
        """Return how many bytes the file has."""
        return self.path.stat().st_size

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write all that the statements change, or nothing."""
        is_written = False
        try:
            with self._file.transaction():
                yield
                is_written = True
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise StoreError(f"{self.path} can't be written: {problem}") from None
        finally:
            if not is_written:
                self._tables.rows.forget()


def _is_ours(trace: TracebackType | None) -> bool:
    """Return whether an error came from this package, and not from the caller's own work."""
    package = f"{__name__.partition('.')[0]}."
    return any(str(frame.f_globals.get("__name__")).startswith(package) for frame, _ in walk_tb(trace))
