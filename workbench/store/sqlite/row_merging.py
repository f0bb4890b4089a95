"""Merge the rows of events into the tables of a store in SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.store.events.rows import DatasetNameRow, JobMention, named_rows
from openlineage_pyspark.workbench.store.sqlite.event_texts import EventTexts, NewEvent
from openlineage_pyspark.workbench.store.sqlite.statements import upserts
from openlineage_pyspark.workbench.store.sqlite.versions import Versions
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql
from openlineage_pyspark.workbench.store.tables.identity import dataset_ids
from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.ingest import Portion
    from openlineage_pyspark.workbench.store.events.rows import Row
    from openlineage_pyspark.workbench.store.sqlite.file import SqliteFile
    from openlineage_pyspark.workbench.store.tables.schema import StoredTable

_RUNS = "SELECT run_id, run FROM stored_run WHERE run_id IN ({marks})"
_KNOWN_NAMES = "SELECT name_id FROM dataset WHERE name_id IN ({ids})"
_MOVE_TIMES = "UPDATE dataset SET first_time = min(first_time, ?), last_time = max(last_time, ?) WHERE name_id = ?"


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
