"""The tables of a store's file: their version, their creation, and rebuilding them from the events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.events.ingest import EventLine, portions
from openlineage_pyspark.workbench.store.sqlite.event_texts import EventTexts, texts_in_order
from openlineage_pyspark.workbench.store.sqlite.file_check import APPLICATION_ID, is_marked
from openlineage_pyspark.workbench.store.sqlite.row_merging import RowMerger
from openlineage_pyspark.workbench.store.sqlite.statements import ddl, index_names, table_ddl, view_statements
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql
from openlineage_pyspark.workbench.store.tables.views import VIEWS

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.sqlite.file import SqliteFile

# Precedes the names of tables while their rows are moved into new ones.
_FORMER = CheckedSql("former_")
_OLD_EVENTS = "SELECT rowid, event_id, json FROM event WHERE rowid > ? ORDER BY rowid LIMIT 2000"
_TEXTS = ("stored_event", "dictionary")
# The first version in which the texts of events are packed.
_FIRST_PACKED = 3


class FileTables:
    """
    The tables of a store's file.

    Args:
        file: the file.
    """

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
