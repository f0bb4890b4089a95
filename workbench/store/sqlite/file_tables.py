"""The tables of a store's file: their version, their creation, and rebuilding them from the events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.events.ingest import EventLine, portions
from openlineage_pyspark.workbench.store.events.rows import DatasetNameRow, JobMention, named_rows
from openlineage_pyspark.workbench.store.sqlite.event_texts import EventTexts, NewEvent, texts_in_order
from openlineage_pyspark.workbench.store.sqlite.file_check import APPLICATION_ID, is_marked
from openlineage_pyspark.workbench.store.sqlite.statements import ddl, index_names, table_ddl, upserts, view_statements
from openlineage_pyspark.workbench.store.sqlite.versions import Versions
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, checked_sql, id_lists, marked_lists
from openlineage_pyspark.workbench.store.tables.identity import dataset_ids
from openlineage_pyspark.workbench.store.tables.views import VIEWS

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.ingest import Portion
    from openlineage_pyspark.workbench.store.events.rows import Row
    from openlineage_pyspark.workbench.store.sqlite.file import SqliteFile
    from openlineage_pyspark.workbench.store.tables.schema import StoredTable

# Precedes the names of tables while their rows are moved into new ones.
_FORMER = CheckedSql("former_")
_OLD_EVENTS = "SELECT rowid, event_id, json FROM event WHERE rowid > ? ORDER BY rowid LIMIT 2000"
_TEXTS = ("stored_event", "dictionary")
# The first version in which the texts of events are packed.
_FIRST_PACKED = 3
_RUNS = "SELECT run_id, run FROM stored_run WHERE run_id IN ({marks})"
_KNOWN_NAMES = "SELECT name_id FROM dataset WHERE name_id IN ({ids})"
_MOVE_TIMES = "UPDATE dataset SET first_time = min(first_time, ?), last_time = max(last_time, ?) WHERE name_id = ?"

# Merge the rows of events into the tables of a store in SQLite.


class RowMerger:
    """
    Merges portions of rows over one connection, and remembers the existing rows.

    Args:
        file: the store.
        texts: the texts of its events.
    """

    def __init__(self, file: SqliteFile, texts: EventTexts) -> None:
        self._connection = file.connection
        self._query = file.query
        self._versions = Versions(file.connection)
        self._texts = texts
        self._writes_of_others = -1

    def merge(self, portion: Portion) -> None:
        """Merge the rows of a portion into the tables, in a transaction."""
        self._notice_others()
        named = named_rows(portion.mentions)
        own = portion.own_rows()
        datasets = [*map(DatasetNameRow._make, named.get(schema.DATASET.name, []))]
        self._upsert(schema.ODD_FACET, own.get(schema.ODD_FACET.name, []))
        before = self._pointers(datasets)
        known = self._known_names(datasets)
        self._drop_rejected(portion)
        self._upsert(schema.REJECTED, portion.rejected.get(schema.REJECTED.name, []))
        self._upsert(schema.JOB, named.get(schema.JOB.name, []))
        self._upsert(schema.OWNER, named.get(schema.OWNER.name, []))
        self._upsert(stored.RUN, own.get(schema.RUN.name, []))
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

    def forget(self) -> None:
        """Forget the existing rows: the tables were changed, or a change of them was rolled back."""
        self._versions.forget()
        self._texts.forget()
        self._writes_of_others = -1

    def _notice_others(self) -> None:
        """Drop the caches if other processes have written the tables since."""
        (writes,) = self._connection.execute("PRAGMA data_version").fetchone()
        if writes != self._writes_of_others:
            self.forget()
            self._writes_of_others = writes

    def _drop_rejected(self, portion: Portion) -> None:
        """Drop the texts that were rejected earlier and are whole now."""
        rows = self._query("SELECT rejected_id, source, text FROM rejected")
        whole = [(id_,) for id_, source, text in rows if portion.has_now(source, text)]
        self._connection.executemany("DELETE FROM rejected WHERE rejected_id = ?", whole)

    def _upsert(self, table: StoredTable, rows: Iterable[Row]) -> None:
        for statement, found in upserts(table, rows):
            self._connection.executemany(statement, found)

    def _numbers_of(self, runs: set[str]) -> dict[str, int]:
        """Return the numbers of runs by their ids, including the number that means no run."""
        found = {"": stored.NO_RUN}
        for marks, part in marked_lists(sorted(runs - {""})):
            found |= dict(self._query(checked_sql(_RUNS, marks=marks), part))
        return found

    def _known_names(self, datasets: Iterable[DatasetNameRow]) -> set[int]:
        return {name_id for (name_id,) in self._rows_of((row.name_id for row in datasets), _KNOWN_NAMES)}

    def _without_known(self, datasets: Iterable[DatasetNameRow], known: set[int]) -> list[DatasetNameRow]:
        """
        Update the times of names that are stored already, and return the rows of all others.

        Most events name known datasets. If a whole row is merged, SQLite also computes the entries of all indexes.
        """
        others: list[DatasetNameRow] = []
        moved: list[Row] = []
        for row in datasets:
            if row.name_id in known and row.same_as is None and row.format is None:
                moved.append((row.first_time, row.last_time, row.name_id))
            else:
                others.append(row)
        self._connection.executemany(_MOVE_TIMES, moved)
        return others

    def _pointers(self, datasets: Iterable[DatasetNameRow]) -> dict[int, int | None]:
        """Return the earlier targets of the names that point to another one."""
        names = {row.name_id for row in datasets if row.same_as is not None}
        return dict(self._rows_of(names, "SELECT name_id, same_as FROM dataset WHERE name_id IN ({ids})"))

    def _identify(self, datasets: Sequence[DatasetNameRow], known: set[int], before: dict[int, int | None]) -> None:
        """
        Update `dataset_identity`: only names whose pointers changed may belong to another dataset.

        Args:
            datasets: the rows that were merged.
            known: the names that were stored before.
            before: what names pointed to before.
        """
        self._connection.executemany(
            "INSERT OR IGNORE INTO dataset_identity (name_id, dataset_id) VALUES (?, ?)",
            [(each, each) for each in {row.name_id for row in datasets} - known],
        )
        names = {row.name_id for row in datasets if row.same_as is not None}
        now = dict(
            self._rows_of(
                names, "SELECT name_id, same_as FROM dataset WHERE same_as IS NOT NULL AND name_id IN ({ids})"
            )
        )
        pointers: dict[int, int | None] = {}
        asked = set[int]()
        unknown = {name for name, pointer in now.items() if before.get(name) != pointer}
        while unknown:
            found = dict(
                self._rows_of(
                    unknown, "SELECT name_id, same_as FROM dataset WHERE name_id IN ({ids}) OR same_as IN ({ids})"
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
            yield from self._query(checked_sql(sql, ids=listed))


class FileTables:
    """The tables of a store's file."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self.is_old = False
        """Whether the tables are those of an older version."""

    def prepare(self, *, read_only: bool) -> None:
        """
        Create the tables if there are none; add missing indexes and views of this version.

        Args:
            read_only: whether nothing is to be written.

        Raises:
            StoreError: the file is not a store, or is one that can't be used in this way.
        """
        version = self._version()
        self._refuse(version, read_only=read_only)
        self._file.connection.create_function(stored.EVENT_TEXT, 3, self._text_of_event)
        if read_only:
            self._show_texts()
            return
        self.is_old = 0 < version < schema.VERSION
        if version == 0:
            self._file.use_write_ahead_log()
            with self._file.transaction():
                self._execute(ddl())
                self._mark()
        elif not self.is_old and not (self._has_indexes() and self._has_views()):
            with self._file.transaction():
                self._execute([*(f'DROP VIEW IF EXISTS main."{view.name}"' for view in VIEWS), *ddl()])
        self._show_texts()
        self._file.copy_log_seldom()

    @functools.cached_property
    def _texts(self) -> EventTexts:
        return EventTexts(self._file.connection)

    def _text_of_event(self, base: int, shared: int, packed: bytes) -> str:
        """Return the text of an event, for SQL. Most questions need none, and so no cache of texts."""
        return self._texts.text(base, shared, packed)

    @functools.cached_property
    def rows(self) -> RowMerger:
        """Return the merger of rows into the tables. Read-only use needs none."""
        return RowMerger(self._file, self._texts)

    def make_current(self, *, only_if_old: bool, progress: Callable[[int], None]) -> int:
        """
        Rebuild all tables but `rejected`, in a transaction.

        Args:
            only_if_old: whether to skip tables that already have this version.
            progress: is called with the number of events so far.

        Returns:
            How many events there are; 0 if the tables are left unchanged.
        """
        return 0 if only_if_old and self._version() == schema.VERSION else self.rebuild(progress)

    def finish(self) -> None:
        """Mark the tables as those of this version, after the transaction that rebuilt them."""
        self.is_old = False
        self._show_texts()

    def rebuild(self, progress: Callable[[int], None] = lambda _: None, without: Container[str] = frozenset()) -> int:
        """
        Rebuild all tables but `rejected` from the events, in a transaction.

        Args:
            progress: is called with the number of events so far.
            without: the ids of events to leave out.

        Returns:
            How many events stay.
        """
        self.rows.forget()
        are_packed = self._version() >= _FIRST_PACKED
        sources = self._sources()
        self._set_events_aside(are_packed=are_packed)
        self._execute(table_ddl())
        texts = texts_in_order(self._file.connection, _FORMER) if are_packed else self._old_texts()
        count = 0
        lines = (EventLine(sources.get(id_, "the store"), text) for id_, text in texts if id_ not in without)
        for portion in portions(lines):
            self.rows.merge(portion)
            count += len(portion.events)
            progress(count)
        for name in [f"{_FORMER}{name}" for name in _TEXTS] if are_packed else (schema.EVENT.name,):
            self._file.connection.execute(f"DROP TABLE main.{name}")
        self._execute(view_statements())
        self._mark()
        self.rows.forget()
        return count

    def _sources(self) -> dict[str, str]:
        """Return where those events came from of which parts are left out."""
        if not self._file.query("SELECT 1 FROM sqlite_master WHERE name = ?", (schema.ODD_FACET.name,)):
            return {}
        return dict(self._file.query("SELECT event_id, source FROM odd_facet"))

    def _set_events_aside(self, *, are_packed: bool) -> None:
        """Drop all of our tables and views, except the events and the rejected lines."""
        own = {*stored.own_names(), *(table.name for table in schema.TABLES), *(view.name for view in VIEWS)}
        kept = {schema.REJECTED.name, *(_TEXTS if are_packed else (schema.EVENT.name,))}
        for type_, name in self._file.query("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'table')"):
            # A user may have added tables and views to ours.
            if name in own and (name not in kept or type_ == "view"):
                self._file.connection.execute(f'DROP {type_.upper()} main."{name}"')
        if are_packed:
            # Users' views must not be changed, and need not be valid meanwhile.
            self._file.connection.execute("PRAGMA legacy_alter_table = ON")
            for name in _TEXTS:
                self._file.connection.execute(f"ALTER TABLE {name} RENAME TO {_FORMER}{name}")
            self._file.connection.execute("PRAGMA legacy_alter_table = OFF")

    def _old_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the ids and the texts of the events of a store before version 3."""
        place = 0
        while found := self._file.query(_OLD_EVENTS, (place,)):
            place = found[-1][0]
            yield from ((event_id, text) for _, event_id, text in found)

    def _version(self) -> int:
        return int(self._file.query("PRAGMA user_version")[0][0])

    def _mark(self) -> None:
        """Mark the file's head with its owner and its version."""
        self._file.connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._file.connection.execute(f"PRAGMA user_version = {schema.VERSION}")

    def _refuse(self, version: int, *, read_only: bool) -> None:
        """Raise an error if the file is not a store of ours, or can't be used in this way."""
        is_empty = not self._file.query("SELECT count(*) FROM sqlite_master")[0][0]
        if (version or not is_empty) and not is_marked(self._file.connection):
            raise StoreError(f"{self._file.path} is a database of another program, and nothing in it was changed")
        if version > schema.VERSION:
            raise StoreError(
                f"{self._file.path} is a store of version {version}, and this package knows versions up to "
                f"{schema.VERSION}: upgrade the package"
            )
        if read_only and version == 0:
            raise StoreError(f"{self._file.path} is not a store")
        if read_only and version < schema.VERSION:
            raise StoreError(
                f"{self._file.path} is a store of version {version}, and this package reads version {schema.VERSION}: "
                f"`openlineage-pyspark store rebuild --store {self._file.path}` migrates it"
            )

    def _show_texts(self) -> None:
        """Let `event` have the texts on this connection: others can't unpack them."""
        if not self.is_old:
            # SQLite looks for temporary views before those of the file.
            self._file.connection.execute(f"CREATE TEMP VIEW IF NOT EXISTS event AS {stored.EVENTS_WITH_TEXT}")

    def _has_indexes(self) -> bool:
        """Return whether all indexes exist: some were added without a new version of the schema."""
        found = {name for (name,) in self._file.query("SELECT name FROM sqlite_master WHERE type = 'index'")}
        return found.issuperset(index_names())

    def _has_views(self) -> bool:
        """Return whether the views for people are this package's."""
        found = dict(self._file.query("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
        return all(str(found.get(view.name)).endswith(view.sql.strip()) for view in VIEWS)

    def _execute(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self._file.connection.execute(statement)
