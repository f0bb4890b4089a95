"""The store in one SQLite file: for one machine, for CI, and beside the driver."""

from __future__ import annotations

import functools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.described import DatasetsByVersions
from openlineage_pyspark.workbench.store.event_texts import EventTexts, NewEvent, texts_in_order
from openlineage_pyspark.workbench.store.events.ingest import EventLine, portions
from openlineage_pyspark.workbench.store.events.rows import JobMention, named_rows
from openlineage_pyspark.workbench.store.names import ALL_DROPPED, DROPPED, DroppedRuns
from openlineage_pyspark.workbench.store.own_queries import MOST_SECONDS, Answered, StreamedRow, answer_to
from openlineage_pyspark.workbench.store.soundness import damage_of, in_one_line
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.identity import dataset_ids
from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists
from openlineage_pyspark.workbench.store.tables.schema import Merge
from openlineage_pyspark.workbench.store.tables.views import VIEWS, view_ddl
from openlineage_pyspark.workbench.store.told import call_sites_of_runs, told_by_versions
from openlineage_pyspark.workbench.store.versions import Versions
from openlineage_pyspark.workbench.store.whose import APPLICATION_ID, is_marked, refuse_others

if TYPE_CHECKING:
    from types import TracebackType

    from openlineage_pyspark.workbench.store.events.ingest import Portion
    from openlineage_pyspark.workbench.store.events.rows import Row
    from openlineage_pyspark.workbench.store.tables.schema import StoredColumn, StoredTable
    from openlineage_pyspark.workbench.store.told import Told

_PATIENCE_SECONDS = 60
_PAUSE_SECONDS = 0.01
# With SQLite's 2 MB, each large transaction goes to the disk in parts and is read again from there.
_CACHE_KIB = 65_536
# A page that several transactions change is copied from the log into the file once. By default the log ends after each.
_LOG_PAGES = 16_000
# While the log is copied into the file beside a writer, it grows further, up to this.
_MOST_LOG_PAGES = 4 * _LOG_PAGES
# So long a store is looked at before it is asked, and so often the clock.
_LOOK_SECONDS = 0.2
_LOOK_STEPS = 10_000
# What stands before the names of tables while their rows are moved into new ones.
_FORMER = "former_"
_OLD_EVENTS = "SELECT rowid, event_id, json FROM event WHERE rowid > ? ORDER BY rowid LIMIT 2000"
_DROPPED = (
    f"CREATE TABLE IF NOT EXISTS {DROPPED} "
    "(namespace TEXT, name TEXT, name_id INTEGER, runs INTEGER, last_time INTEGER)"
)
_RUNS = "SELECT run_id, run FROM stored_run WHERE run_id IN ({})"


_TEXTS = ("stored_event", "dictionary")
# The first version in which the texts of events are packed.
_FIRST_PACKED = 3
_KNOWN_NAMES = "SELECT name_id FROM dataset WHERE name_id IN ({})"
_MOVE_TIMES = "UPDATE dataset SET first_time = min(first_time, ?), last_time = max(last_time, ?) WHERE name_id = ?"


class Database:
    """
    A store in one file. Several processes may read and write it at once.

    Args:
        path: the file.
        read_only: whether nothing is to be written.
        migrate: whether a store of an older version is made one of this version at once, which takes as long as taking
            in all of its events again. With False, this is done before the first rows are added.
        create: whether the file is made if it is not there.
        patience: how many seconds to wait for another process that writes.

    Raises:
        StoreError: the file can't be opened, is no store, or is one of a newer version; or it is one of an older
            version, and only to be read.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        migrate: bool = True,
        create: bool = True,
        patience: float = _PATIENCE_SECONDS,
    ) -> None:
        self.path = path
        self._patience = patience
        self.damage = ""
        self._is_old = False
        self._copying: _Copying | None = None
        try:
            if (read_only or not create) and not path.exists():
                raise StoreError(
                    f"there is no store at {path}. `openlineage-pyspark ingest FILE --store {path}` makes one"
                )
            refuse_others(path, patience)
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
                uri=True,
                timeout=patience,
                isolation_level=None,
                check_same_thread=False,
            )
        except (sqlite3.Error, UnicodeDecodeError, OSError) as problem:
            raise StoreError(f"{path} can't be opened as a store: {_why_not(path, problem, read_only)}") from None
        self.described = DatasetsByVersions(self.query)
        self._versions = Versions(self._connection)
        self._texts = EventTexts(self._connection)
        self._writes_of_others = -1
        try:
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._prepare(read_only=read_only)
            if self._is_old and migrate:
                self.rebuild(only_if_old=True)
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            self.close()
            raise StoreError(f"{path} can't be opened as a store: {_why_not(path, problem, read_only)}") from None
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
        damage = damage_of(self._connection) if is_unexpected and not self._is_old else ""
        self.close()
        if damage:
            raise StoreError(f"{self.path} can't be used: {damage}{self._remedy()}") from problem

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

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
            return self._connection.execute(sql, parameters).fetchall()
        except UnicodeEncodeError as problem:
            raise StoreError(f"the store has no name such as {problem.object!r}: it is no text in UTF-8") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
            is_moment = isinstance(problem, sqlite3.OperationalError) and "UTF-8" not in str(problem)
            raise StoreError(f"{self.path} can't be read: {problem}{'' if is_moment else self._remedy()}") from None

    def _remedy(self) -> str:
        """Return the remedy for damage."""
        return (
            f". It is damaged: move it away, and take its events into a new store: `ingest FILES --store {self.path}`"
        )

    def ask(self, sql: str, seconds: float = MOST_SECONDS, streamed: Iterable[StreamedRow] = ()) -> Answered:
        """
        Return the names of a person's query's columns, and its rows.

        Args:
            sql: the query. It may only read the store's tables; the names of the proposal's tables mean the views here.
            seconds: how long it may take.
            streamed: as `own_queries.answer_to` takes them.

        Raises:
            QueryError: the query is wrong, reads something else, or takes too long.
        """
        return answer_to(self._connection, sql, seconds, streamed)

    def look(self) -> None:
        """
        Look for a short while whether the file is damaged, for `damage`.

        It looks at how the pages of the tables that are asked hang together, and not at what stands in them.
        """
        self.damage = self._damage_of_pages()

    def _damage_of_pages(self) -> str:
        end = time.monotonic() + _LOOK_SECONDS
        self._connection.set_progress_handler(lambda: time.monotonic() > end, _LOOK_STEPS)
        try:
            for name in (*(table.name for table in stored.MERGED), *stored.OF_VERSIONS):
                for (said,) in self._connection.execute(f"PRAGMA quick_check({name})"):
                    if said != "ok":
                        return in_one_line(said)
        except sqlite3.DatabaseError as problem:
            return "" if str(problem) == "interrupted" else str(problem)
        finally:
            self._connection.set_progress_handler(None, 0)
        return ""

    def add(self, portion: Portion) -> None:
        """
        Merge the rows of a portion into the tables, all of them or none.

        Args:
            portion: the rows.

        Raises:
            StoreError: the file can't be written.
        """
        if self._is_old:
            self.rebuild(only_if_old=True)
        if self._copying:
            self._copying.begin()
        with self._writing():
            self._merge(portion)
        if self._copying:
            self._copying.end()

    @contextmanager
    def many(self) -> Iterator[None]:
        """
        Add many parts of rows.

        What a transaction writes is in the log, from where it is copied into the file: in these, beside the work for
        the next one.
        """
        if self.query("PRAGMA journal_mode") != [("wal",)]:
            yield
            return
        with _Copying(self.path) as copying:
            self._copying = copying
            self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            try:
                yield
            finally:
                self._copying = None
                self._connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")

    def rebuild(self, *, only_if_old: bool = False, progress: Callable[[int], None] = lambda _: None) -> int:
        """
        Rebuild all tables from the events that are stored, in one transaction. What is in `rejected` stays.

        Args:
            only_if_old: whether to leave a store of this version as it is, such as one that another process has just
                migrated.
            progress: is called with the number of events so far.

        Returns:
            How many events there are.

        Raises:
            StoreError: the file can't be written.
        """
        with self._writing():
            count = 0 if only_if_old and self._version() == schema.VERSION else self._make_anew(progress)
        self._is_old = False
        self._show_texts()
        return count

    def _make_anew(
        self, progress: Callable[[int], None] = lambda _: None, without: Container[str] = frozenset()
    ) -> int:
        """Make all tables but `rejected` again, from the events but those with some ids; return how many stay."""
        self._forget_known()
        are_packed = self._version() >= _FIRST_PACKED
        self._set_events_aside(are_packed=are_packed)
        for statement in table_ddl():
            self._connection.execute(statement)
        texts = texts_in_order(self._connection, _FORMER) if are_packed else self._old_texts()
        count = 0
        for portion in portions(EventLine("the store", text) for event_id, text in texts if event_id not in without):
            self._merge(portion)
            count += len(portion.events)
            progress(count)
        for name in [f"{_FORMER}{name}" for name in _TEXTS] if are_packed else (schema.EVENT.name,):
            self._connection.execute(f"DROP TABLE main.{name}")
        for statement in view_statements():
            self._connection.execute(statement)
        self._mark()
        self._forget_known()
        return count

    def _set_events_aside(self, *, are_packed: bool) -> None:
        """Drop all of our tables and views but what holds the events, and what was no event."""
        own = {*stored.own_names(), *(table.name for table in schema.TABLES), *(view.name for view in VIEWS)}
        kept = {schema.REJECTED.name, *(_TEXTS if are_packed else (schema.EVENT.name,))}
        for type_, name in self.query("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'table')"):
            # A user may have put tables and views beside ours.
            if name in own and (name not in kept or type_ == "view"):
                self._connection.execute(f'DROP {type_.upper()} main."{name}"')
        if are_packed:
            # Views of users are not to be changed, and need not be right meanwhile.
            self._connection.execute("PRAGMA legacy_alter_table = ON")
            for name in _TEXTS:
                self._connection.execute(f"ALTER TABLE {name} RENAME TO {_FORMER}{name}")
            self._connection.execute("PRAGMA legacy_alter_table = OFF")

    def _old_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the ids and the texts of the events of a store before version 3."""
        place = 0
        while found := self.query(_OLD_EVENTS, (place,)):
            place = found[-1][0]
            yield from ((event_id, text) for _, event_id, text in found)

    def forget(self, chosen: Callable[[], Iterable[str]], lost: Callable[[], Iterable[DroppedRuns]] = tuple) -> int:
        """
        Delete events, and make all other tables again from those that stay: all of it or nothing.

        Args:
            chosen: returns the ids of the events to delete. It may ask the store: nobody writes it meanwhile.
            lost: returns, after that, the runs that these events told of: this is kept.

        Returns:
            How many events were deleted.

        Raises:
            StoreError: the file can't be written.
        """
        with self._writing():
            ids = frozenset(chosen())
            if ids:
                runs = [*lost()]
                self._make_anew(without=ids)
                self._connection.execute(_DROPPED)
                self._connection.executemany(f"INSERT INTO {DROPPED} VALUES (?, ?, ?, ?, ?)", runs)  # noqa: S608
            return len(ids)

    def dropped(self) -> list[DroppedRuns]:
        """Return the runs that are no longer kept, by jobs and datasets."""
        if not self.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (DROPPED,)):
            return []
        return [DroppedRuns(*row) for row in self.query(f"{ALL_DROPPED} FROM {DROPPED} GROUP BY 1, 2, 3")]

    def shrink(self) -> bool:
        """
        Give the space of what was deleted back to the file system.

        Returns:
            Whether it was possible: it is not while another process uses the file, or without room for a copy of it.
        """
        try:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            return False
        return True

    def told(self, runs: Iterable[str], time: int) -> Told:
        """Return the gaps and the steps in events of runs until a time."""
        return told_by_versions(self.query, runs, time)

    def call_sites(self, runs: Iterable[str], _time: int, /) -> dict[str, str]:
        """Return the line of Python that ran each run, if an event told it."""
        return call_sites_of_runs(self.query, runs)

    def size(self) -> int:
        """Return how many bytes the file has."""
        return self.path.stat().st_size

    def _merge(self, portion: Portion) -> None:
        """Merge the rows of a portion into the tables, in a transaction."""
        self._notice_others()
        named = named_rows(portion.mentions)
        own = portion.own_rows()
        datasets = named.get(schema.DATASET.name, [])
        before = self._pointers(datasets)
        known = self._known_names(datasets)
        self._upsert(schema.REJECTED, portion.rejected.get(schema.REJECTED.name, []))
        self._upsert(schema.JOB, named.get(schema.JOB.name, []))
        self._upsert(
            stored.RUN,
            [(*row, e.call_site or None) for e in portion.events for row in e.rows.get(schema.RUN.name, ())],
        )
        self._upsert(schema.DATASET, self._without_known(datasets, known))
        self._identify(datasets, known, before)
        runs = self._numbers_of({event.span.first_run for event in portion.events})
        for name in (schema.SOURCE_SNAPSHOT_LINEAGE.name, schema.SINK_SNAPSHOT_LINEAGE.name):
            rows = [(runs[str(row[0])], *row[1:]) for row in own.get(name, [])]
            self._upsert(stored.STORED_AS[name], rows)
        versions = self._versions.add(portion.events, portion.mentions)
        self._versions.add_runs(
            (runs[event.span.first_run], version, event.span.first_time)
            for event, version in zip(portion.events, versions, strict=True)
        )
        self._texts.add(
            NewEvent(
                *(runs[event.span.first_run], event.digest, event.type, event.span.first_time, version),
                job_id=next((each.job_id for each in event.mentions if isinstance(each, JobMention)), None),
                text=event.text.encode(errors="replace"),
            )
            for event, version in zip(portion.events, versions, strict=True)
        )

    def _upsert(self, table: StoredTable, rows: Iterable[Row]) -> None:
        for statement, found in _upserts(table, rows):
            self._connection.executemany(statement, found)

    def _numbers_of(self, runs: set[str]) -> dict[str, int]:
        """Return the numbers of runs by their ids; that of no run too."""
        found = {"": stored.NO_RUN}
        for marks, part in marked_lists(sorted(runs - {""})):
            found |= dict(self.query(_RUNS.format(marks), part))
        return found

    def _notice_others(self) -> None:
        """Drop the caches if other processes have written the tables since."""
        (writes,) = self._connection.execute("PRAGMA data_version").fetchone()
        if writes != self._writes_of_others:
            self._forget_known()
            self._writes_of_others = writes

    def _forget_known(self) -> None:
        self._versions.forget()
        self._texts.forget()
        self._writes_of_others = -1

    def _known_names(self, datasets: Iterable[Row]) -> set[int]:
        return {name_id for (name_id,) in self._rows_of({int(row[0] or 0) for row in datasets}, _KNOWN_NAMES)}

    def _without_known(self, datasets: Iterable[Row], known: set[int]) -> list[Row]:
        """
        Move the times of names that are there, and return the rows of all others.

        Most events name what is known. To merge a whole row, SQLite computes what stands in each of the indexes.
        """
        others: list[Row] = []
        moved: list[Row] = []
        for row in datasets:
            has_times_alone = row[0] in known and row[3] is None and row[5] is None
            (moved if has_times_alone else others).append((row[-2], row[-1], row[0]) if has_times_alone else row)
        self._connection.executemany(_MOVE_TIMES, moved)
        return others

    def _version(self) -> int:
        return int(self.query("PRAGMA user_version")[0][0])

    def _mark(self) -> None:
        """Say in the file's head whose it is, and of which version."""
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {schema.VERSION}")

    def _refuse(self, version: int, *, read_only: bool) -> None:
        """Raise an error if the file is no store of ours, or not one that can be used in this way."""
        is_empty = not self.query("SELECT count(*) FROM sqlite_master")[0][0]
        if (version or not is_empty) and not is_marked(self._connection):
            raise StoreError(f"{self.path} is a database of something else, and nothing in it was changed")
        if version > schema.VERSION:
            raise StoreError(
                f"{self.path} is a store of version {version}, and this package knows versions up to {schema.VERSION}: "
                "upgrade the package"
            )
        if read_only and version == 0:
            raise StoreError(f"{self.path} is no store")
        if read_only and version < schema.VERSION:
            raise StoreError(
                f"{self.path} is a store of version {version}, and this package reads version {schema.VERSION}: "
                f"`openlineage-pyspark store rebuild --store {self.path}` makes it one"
            )

    def _prepare(self, *, read_only: bool) -> None:
        version = self._version()
        self._refuse(version, read_only=read_only)
        self._texts.offer()
        if read_only:
            self._show_texts()
            return
        self._is_old = 0 < version < schema.VERSION
        if version == 0:
            self._use_write_ahead_log()
            with self._transaction():
                for statement in ddl():
                    self._connection.execute(statement)
                self._mark()
        elif not self._is_old and not (self._has_indexes() and self._has_views()):
            with self._transaction():
                for view in VIEWS:
                    self._connection.execute(f'DROP VIEW IF EXISTS main."{view.name}"')
                for statement in ddl():
                    self._connection.execute(statement)
        self._show_texts()
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")

    def _show_texts(self) -> None:
        """Let `event` have the texts, over this connection: another one would not know how to unpack them."""
        if not self._is_old:
            # What is temporary comes before what the file has.
            self._connection.execute(f"CREATE TEMP VIEW IF NOT EXISTS event AS {stored.EVENTS_WITH_TEXT}")

    def _use_write_ahead_log(self) -> None:
        """Turn the write-ahead log on, so that readers do not wait for a writer."""
        end = time.monotonic() + self._patience
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:  # noqa: PERF203 (to try again is the point)
                # SQLite does not wait here for another process, which makes the store at this moment: it fails at once.
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _has_indexes(self) -> bool:
        """Return whether all indexes are there: some were added without a new version of the schema."""
        found = {name for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'index'")}
        return found.issuperset((*stored.INDEXES, *(name for name, _ in _further_indexes())))

    def _has_views(self) -> bool:
        """Return whether the views for people are those of this package."""
        found = dict(self.query("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
        return all(str(found.get(view.name)).endswith(view.sql.strip()) for view in VIEWS)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write all that the statements change, or nothing."""
        try:
            with self._transaction():
                yield
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise StoreError(f"{self.path} can't be written: {problem}") from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # IMMEDIATE: a transaction that reads before it writes can't fail because another one wrote in between.
        self._connection.execute("BEGIN IMMEDIATE")
        last = "ROLLBACK"
        try:
            yield
            last = "COMMIT"
        finally:
            if last == "ROLLBACK":
                self._forget_known()
            # SQLite itself rolls back where the disk is full or can't be written.
            if self._connection.in_transaction:
                self._connection.execute(last)

    def _pointers(self, datasets: Iterable[Row]) -> dict[int, int | None]:
        """Return what those of the names that point to another one pointed to so far."""
        names = {int(row[0] or 0) for row in datasets if row[3] is not None}
        return dict(self._rows_of(names, "SELECT name_id, same_as FROM dataset WHERE name_id IN ({})"))

    def _identify(self, datasets: Sequence[Row], known: set[int], before: dict[int, int | None]) -> None:
        """
        Bring `dataset_identity` up to date: only names whose pointers changed may belong to another dataset.

        Args:
            datasets: the rows that were merged.
            known: the names that were there before.
            before: what names pointed to before.
        """
        self._connection.executemany(
            "INSERT OR IGNORE INTO dataset_identity (name_id, dataset_id) VALUES (?, ?)",
            [(each, each) for each in {int(row[0] or 0) for row in datasets} - known],
        )
        names = {int(row[0] or 0) for row in datasets if row[3] is not None}
        now = dict(
            self._rows_of(names, "SELECT name_id, same_as FROM dataset WHERE same_as IS NOT NULL AND name_id IN ({})")
        )
        pointers: dict[int, int | None] = {}
        asked = set[int]()
        unknown = {name for name, pointer in now.items() if before.get(name) != pointer}
        while unknown:
            found = dict(
                self._rows_of(
                    unknown, "SELECT name_id, same_as FROM dataset WHERE name_id IN ({0}) OR same_as IN ({0})"
                )
            )
            pointers |= found
            asked |= unknown
            unknown = {*found, *(each for each in found.values() if each is not None)} - asked
        self._connection.executemany(
            "UPDATE dataset_identity SET dataset_id = ? WHERE name_id = ?",
            [(end, name) for name, end in dataset_ids(pointers).items()],
        )

    def _rows_of(self, ids: Iterable[int], sql: str) -> Iterator[tuple[Any, ...]]:
        for listed in id_lists(ids):
            yield from self.query(sql.format(listed))


class _Copying:
    """
    Copies the log into the file, in a thread and a connection of its own.

    Python holds no lock meanwhile, and neither does the database: it is written beside.
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
        """Get ready for a transaction: a log that grew large is copied first, so that it begins anew."""
        if self._log_pages > _MOST_LOG_PAGES:
            self._wait()
            self._copy()

    def end(self) -> None:
        """Copy what a transaction wrote, unless the one before is still being copied."""
        if self._thread and self._thread.is_alive():
            return
        self._wait()
        self._thread = threading.Thread(target=self._copy, name="openlineage-store-copy", daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        # It waits for nobody, and copies what it can. If the disk is full, the writer finds out.
        with suppress(sqlite3.Error):
            _, self._log_pages, _ = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _wait(self) -> None:
        if self._thread:
            self._thread.join()
            self._thread = None


def table_ddl() -> list[str]:
    """Return the statements that make the tables and their indexes."""
    statements = []
    for table in stored.MERGED:
        columns = [f'"{column.name}" {column.type.value[0]}{_not_null(column)}' for column in table.stored]
        statements.append(f'CREATE TABLE IF NOT EXISTS "{table.name}" ({_defined(table, columns)}')
        for index in table.indexes:
            name = f"{table.name}_by_{'_'.join(index)}"
            statements.append(f'CREATE INDEX IF NOT EXISTS "{name}" ON "{table.name}" ({", ".join(index)})')
    statements += [f"CREATE INDEX IF NOT EXISTS {name} ON {what}" for name, what in _further_indexes()]
    no_run = f"INSERT OR IGNORE INTO {stored.RUN.name} (run, run_id) VALUES ({stored.NO_RUN}, '')"  # noqa: S608 (our own names alone)
    return [*statements, *stored.definitions(), no_run]


def view_statements() -> list[str]:
    """Return the statements that make the views: the documented tables that are views, and the others on these."""
    return [*stored.views_of_tables(), *view_ddl()]


def ddl() -> list[str]:
    """Return the statements that make the tables and the views."""
    return [*table_ddl(), *view_statements()]


def _defined(table: StoredTable, columns: list[str]) -> str:
    """Return a table's definition: its columns and its key."""
    if table is stored.RUN:
        # Other tables have its number in the place of its id.
        return f"run INTEGER PRIMARY KEY, {', '.join(columns)}, UNIQUE ({', '.join(table.key)}))"
    # Where the key is most of the row, the table is its own index.
    end = "" if table is schema.REJECTED else " WITHOUT ROWID"
    return f"{', '.join(columns)}, PRIMARY KEY ({', '.join(table.key)})){end}"


def _further_indexes() -> list[tuple[str, str]]:
    """Return the indexes by more than columns: the name of each, and what stands in it."""
    found = []
    for table in stored.MERGED:
        found += [(f"{table.name}_by_{name}", f"{table.name} ({expression})") for name, expression in table.computed]
        for name, columns, condition in table.partial:
            found.append((f"{table.name}_by_{name}", f"{table.name} ({', '.join(columns)}) WHERE {condition}"))
    return found


def _not_null(column: StoredColumn) -> str:
    return " NOT NULL" if column.merge is Merge.KEY else ""


def _upsert(table: StoredTable, missing: frozenset[str] = frozenset()) -> str:
    """
    Return the statement that merges one row into a table, as the merges of its columns say.

    Args:
        table: the table.
        missing: the columns that are NULL in the row. What is not set needs no change in an index.
    """
    names = [column.name for column in table.stored]
    marks = ", ".join("?" * len(names))
    setting = ", ".join(
        f'"{column.name}" = {_merged(table.name, column)}'
        for column in table.stored
        if column.merge not in (Merge.KEY, Merge.FIXED) and column.name not in missing
    )
    return (
        f'INSERT INTO "{table.name}" ({", ".join(names)}) VALUES ({marks}) '  # noqa: S608 (our own names alone)
        f"ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET {setting}"
    )


def _upserts(table: StoredTable, rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the statements that merge rows into a table, each with its rows: those that have no value in one column."""
    optional = _OPTIONAL[table.name]
    parts: dict[tuple[bool, ...], list[Row]] = {}
    if not optional:
        parts[()] = list(rows)
    else:
        for row in rows:
            parts.setdefault(tuple([row[place] is None for place in optional]), []).append(row)
    for missing, part in parts.items():
        yield _statement(table, missing), part


@functools.lru_cache(maxsize=1000)
def _statement(table: StoredTable, missing: tuple[bool, ...]) -> str:
    names = [column.name for column in table.stored]
    found = [names[place] for place, is_missing in zip(_OPTIONAL[table.name], missing, strict=True) if is_missing]
    return _upsert(table, frozenset({*found, *(f"{name}_order" for name in found)}))


def _merged(table: str, column: StoredColumn) -> str:
    """Return the value of a column after a merge, in SQL."""
    old, new = f'"{table}"."{column.name}"', f'excluded."{column.name}"'
    if column.merge in (Merge.FIRST, Merge.LAST):
        function = "min" if column.merge is Merge.FIRST else "max"
        return f"{function}(coalesce({old}, {new}), coalesce({new}, {old}))"
    sign = "<" if column.merge is Merge.EARLIEST else ">"
    place = f'excluded."{column.ordered_by}"', f'"{table}"."{column.ordered_by}"'
    wins = f"{old} IS NULL OR {place[0]} {sign} {place[1]} OR ({place[0]} = {place[1]} AND {new} {sign} {old})"
    return f"CASE WHEN {new} IS NOT NULL AND ({wins}) THEN {new} ELSE {old} END"


# The places of the columns that a row may lack and that come with a companion: most rows lack most of them.
_OPTIONAL = {
    table.name: tuple(
        place
        for place, column in enumerate(table.stored)
        if column.merge is Merge.LATEST and column.ordered_by == f"{column.name}_order"
    )
    for table in stored.MERGED
}


def _is_ours(trace: TracebackType | None) -> bool:
    """Return whether an error came out of this package, and not of what the caller does himself."""
    package = f"{__name__.partition('.')[0]}."
    return any(str(frame.f_globals.get("__name__")).startswith(package) for frame, _ in walk_tb(trace))


def _why_not(path: Path, problem: Exception, read_only: bool) -> str:  # noqa: FBT001
    """Return why a file is no store: of a wrong path, SQLite says only that it is unable to open it."""
    folder = path.absolute().parent
    # Path.is_dir raises an error for a name that is too long.
    if os.path.isdir(path):  # noqa: PTH112
        return "it is a folder"
    if not os.path.isdir(folder):  # noqa: PTH112
        return f"there is no folder {folder}"
    if "not a database" in str(problem):
        hint = f". `openlineage-pyspark ingest {path} --store lineage.db` makes one, if it has events"
        return f"it is none{hint if read_only else ''}"
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
