"""
The versions of datasets in a store, and the reads and writes of its runs.

Each query covers many versions at once, and the history of a dataset is read only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.questions.reach.reach import Direction
from openlineage_pyspark.workbench.questions.versions.offsets import versions_read
from openlineage_pyspark.workbench.questions.versions.version_history import (
    REPLACING,
    SinkRow,
    SourceRow,
    VersionHistory,
    VersionLife,
    ordered_history,
    with_lives,
)
from openlineage_pyspark.workbench.questions.versions.versions import (
    DatasetVersion,
    RunPart,
    StreamedRead,
    VersionEdge,
    VersionKey,
    VersionKind,
    VersionPlace,
    VersionRead,
)
from openlineage_pyspark.workbench.store.described import described_by_runs
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH
from openlineage_pyspark.workbench.store.names import datasets_by_name, rows_by_id, rows_by_text
from openlineage_pyspark.workbench.store.tables.checked_sql import (
    ANY,
    MOST_IN_A_LIST,
    CheckedSql,
    checked_sql,
    in_parts,
    sql_list,
)
from openlineage_pyspark.workbench.store.tables.views import made

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.store.names import QueriedTables

_Row = TypeVar("_Row", SinkRow, SourceRow)


class StoredVersions:
    """
    The versions of datasets, and the reads and writes of runs. Results of queries are kept.

    Args:
        tables: the store.
        overwrites_replace: whether an OVERWRITE replaces all rows. Events do not distinguish an overwrite of some
            partitions from one of the whole table: with False, an overwritten version is assumed to keep rows of the
            one before.
    """

    def __init__(self, tables: QueriedTables, *, overwrites_replace: bool = True) -> None:
        self._tables = tables
        self._replacing = REPLACING if overwrites_replace else REPLACING - {"OVERWRITE"}
        self._histories: dict[int, VersionHistory] = {}
        self._readers: dict[int, dict[str, list[VersionRead]]] = {}

    def load(self, dataset_ids: Iterable[int]) -> None:
        """Learn the versions of datasets that are not known yet, all of them at once."""
        wanted = set(dataset_ids) - set(self._histories)
        made: dict[int, dict[str, list[SinkRow]]] = {each: {} for each in wanted}
        made_by = "{sinks} WHERE i.dataset_id IN ({ids}) AND {made}"
        sinks = rows_by_id(self._tables, made_by, wanted, sinks=_SINKS, made=_MADE)
        for row in self._without_summaries(_without_unnamed(map(SinkRow._make, sinks))):
            made[row.dataset_id].setdefault(row.version, []).append(row)
        seen = (
            "SELECT i.dataset_id, l.snapshot, min(l.time) FROM dataset_identity i "
            "JOIN source_snapshot_lineage l ON l.name_id = i.name_id "
            "WHERE i.dataset_id IN ({ids}) AND l.snapshot <> '' GROUP BY i.dataset_id, l.snapshot"
        )
        for dataset_id, snapshot, time in rows_by_id(self._tables, seen, wanted):
            unmade = SinkRow(dataset_id, "", NO_BATCH, snapshot, None, time, None, "", None, None)
            made[dataset_id].setdefault(snapshot, []).append(unmade)
        for dataset_id, rows in made.items():
            ends = sorted(row.time for made in rows.values() for row in made if row.change == "DROP")
            self._histories[dataset_id] = ordered_history(
                dataset_id, with_lives(rows, ends), self._replacing, tuple(ends)
            )

    def of(self, dataset_id: int) -> tuple[DatasetVersion, ...]:
        """Return the versions of a dataset in their order: by their parents, and by time."""
        self.load([dataset_id])
        return self._histories[dataset_id].versions

    def get(self, key: VersionKey) -> DatasetVersion:
        """Return a version; one of the kind UNKNOWN if no event names it."""
        self.load([key.dataset])
        history = self._histories[key.dataset]
        place = history.places.get(key.version)
        return DatasetVersion(*key, VersionKind.UNKNOWN, 0) if place is None else history.versions[place]

    def current(self, dataset_id: int, time: int = FOREVER) -> DatasetVersion | None:
        """Return the version of a dataset that was current at a time, by default now; None if there was none."""
        self.load([dataset_id])
        found = self._histories[dataset_id].current(time)
        return self.get(VersionKey(dataset_id, found)) if found else None

    def made_by(self, parts: Iterable[RunPart]) -> dict[RunPart, tuple[VersionKey, ...]]:
        """Return which versions each of some runs and micro-batches made."""
        rows = _without_unnamed(map(SinkRow._make, self._rows_of(parts, _SINKS, _MADE)))
        self.load(row.dataset_id for row in rows)
        found: dict[RunPart, dict[VersionKey, None]] = {}
        for row in rows:
            history = self._histories[row.dataset_id]
            id_ = history.id_at(row.version, row.time)
            if id_ not in history.places:
                # Another run, within this one, made the version.
                continue
            found.setdefault(row.part, {})[VersionKey(row.dataset_id, id_)] = None
        return {part: tuple(sorted(keys)) for part, keys in found.items()}

    def read_by(self, parts: Iterable[RunPart]) -> dict[RunPart, tuple[VersionRead, ...]]:
        """Return which versions each of some runs and micro-batches read."""
        rows = _without_unnamed(map(SourceRow._make, self._rows_of(parts, _SOURCES)))
        self.load(row.dataset_id for row in rows)
        found: dict[RunPart, list[VersionRead]] = {}
        for row in rows:
            found.setdefault(row.part, []).extend(self._reads(row))
        return {part: tuple(sorted(reads, key=_read_order)) for part, reads in found.items()}

    def streamed(self) -> list[StreamedRead]:
        """
        Return which versions micro-batches read, of all whose offsets are stated.

        Returns:
            The run, the micro-batch, the dataset, the version, which is empty where nothing was read, and whether it is
            inferred.
        """
        rows = _without_unnamed(map(SourceRow._make, self._tables.query(f"{_SOURCES} WHERE l.offset_to IS NOT NULL")))
        self.load(row.dataset_id for row in rows)
        found: list[StreamedRead] = []
        for row in rows:
            unit = (*row.part, row.dataset_id)
            reads = [(*unit, read.version.version, read.inferred) for read in self._reads(row)]
            found += reads or [(*unit, "", False)]
        return found

    def parts_of(self, run_ids: Iterable[str]) -> list[RunPart]:
        """Return the parts of runs that read or made something."""
        sql = "SELECT DISTINCT run_id, batch_id FROM {table} WHERE run_id IN ({marks})"
        runs = sorted(set(run_ids))
        rows = (
            row
            for table in ("source_snapshot_lineage", "sink_snapshot_lineage")
            for row in rows_by_text(self._tables, sql, runs, table=table)
        )
        return sorted({RunPart(run_id, batch_id) for run_id, batch_id in rows})

    def readers(self, keys: Iterable[VersionKey]) -> dict[VersionKey, tuple[VersionRead, ...]]:
        """Return the reads of each of some versions, by whichever run."""
        wanted = set(keys)
        self._learn_readers({dataset_id for dataset_id, _ in wanted})
        return {key: tuple(self._readers[key.dataset].get(key.version, ())) for key in wanted}

    def kept(self, keys: Iterable[VersionKey], direction: Direction) -> list[VersionEdge]:
        """Return the edges to the versions that keep rows of some versions, or from those whose rows these keep."""
        every = list(dict.fromkeys(keys))
        self.load(dataset_id for dataset_id, _ in every)
        targets = [self.get(key) for key in every]
        if direction is Direction.DOWNSTREAM:
            targets = [each for key in every for each in self._histories[key.dataset].following.get(key.version, ())]
        return [
            VersionEdge(
                VersionKey(each.dataset_id, each.parent),
                each.key,
                RunPart(each.run_id, each.batch_id),
                each.job_id,
                kept=True,
                inferred=each.parent_inferred,
            )
            for each in targets
            if each.keeps
        ]

    def used(self, places: Iterable[VersionPlace]) -> list[VersionEdge]:
        """
        Return the edges from versions to those that runs made from them.

        Args:
            places: each version, and whether the rows that it added are meant, and not those that it kept.
        """
        meant = dict(sorted(places))
        readers = self.readers(meant)
        reads = [read for key, added in meant.items() for read in readers[key] if added or not read.added]
        made = self.made_by(read.part for read in reads)
        edges = [
            VersionEdge(read.version, target, read.part, read.job_id, inferred=read.inferred, added=read.added)
            for read in reads
            for target in made.get(read.part, ())
            if target != read.version
        ]
        return self._stated(edges)

    def made_from(self, places: Iterable[VersionPlace]) -> list[VersionEdge]:
        """
        Return the edges to versions from those that runs made them from.

        Args:
            places: each version, and whether only the rows that it added are meant, and not all of its rows.
        """
        keys = sorted({key for key, _ in places})
        self.load(dataset_id for dataset_id, _ in keys)
        parts = {key: self.get(key).parts for key in keys}
        reads = self.read_by(part for each in parts.values() for part in each)
        edges = [
            VersionEdge(read.version, key, part, read.job_id, inferred=read.inferred, added=read.added)
            for key in keys
            for part in parts[key]
            for read in reads.get(part, ())
            if read.version != key
        ]
        return self._stated(edges)

    def _stated(self, edges: list[VersionEdge]) -> list[VersionEdge]:
        """Leave out edges that a run's events do not state: they may state the inputs of each output."""
        described = described_by_runs(self._tables, sorted({edge.part.run_id for edge in edges}), FOREVER)
        stated = [
            (run, name, writing.sources)
            for run, each in described.items()
            for name, writing in each.written.items()
            if writing.sources is not None
        ]
        if not stated:
            return edges
        of_name = datasets_by_name(self._tables, {name for _, target, names in stated for name in (target, *names)})
        sources: dict[tuple[str, int | None], set[int | None]] = {}
        for run, target, names in stated:
            sources.setdefault((run, of_name.get(target)), set()).update(map(of_name.get, names))
        return [
            edge
            for edge in edges
            if edge.source.dataset in sources.get((edge.part.run_id, edge.target.dataset), (edge.source.dataset,))
        ]

    def _without_summaries(self, rows: list[SinkRow]) -> list[SinkRow]:
        """
        Leave out rows without a version of runs within which another run wrote the dataset.

        An orchestrator's task states the writes of the statements in it again: each makes one version, and not two.
        """
        writers: dict[int, set[str]] = {}
        for row in rows:
            writers.setdefault(row.dataset_id, set()).add(row.run_id)
        unnamed = [row for row in rows if not row.snapshot and row.batch_id < 0]
        asked = {row.run_id for row in unnamed if row.run_id and len(writers[row.dataset_id]) > 1}
        within: dict[str, set[str]] = {}
        known: set[tuple[str, str]] = set()
        above = {run_id: {run_id} for run_id in asked}
        while above:
            following: dict[str, set[str]] = {}
            for child, parent in self._children(above):
                for run_id in above[parent]:
                    if (run_id, child) not in known and child != run_id:
                        known.add((run_id, child))
                        within.setdefault(run_id, set()).add(child)
                        following.setdefault(child, set()).add(run_id)
            above = following
        # Of runs that name each other as their parents, none is within another.
        summaries = {
            row
            for row in unnamed
            for each in within.get(row.run_id, set()) & writers[row.dataset_id]
            if row.run_id not in within.get(each, ())
        }
        return [row for row in rows if row not in summaries]

    def _children(self, run_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
        sql = "SELECT run_id, parent_run_id FROM run WHERE parent_run_id IN ({marks})"
        yield from ((child, parent) for child, parent in rows_by_text(self._tables, sql, sorted(run_ids)))

    def _learn_readers(self, dataset_ids: set[int]) -> None:
        wanted = dataset_ids - set(self._readers)
        self.load(wanted)
        self._readers |= {each: {} for each in wanted}
        every = "{plain} AND i.dataset_id IN ({ids}) UNION {stated} AND i.dataset_id IN ({ids})"
        rows = rows_by_id(self._tables, every, wanted, plain=_PLAIN_READS, stated=_STATED_READS)
        for row in _without_unnamed(map(SourceRow._make, rows)):
            for read in self._reads(row):
                self._readers[row.dataset_id].setdefault(read.version.version, []).append(read)
        for dataset_id in wanted:
            for reads in self._readers[dataset_id].values():
                reads.sort(key=_read_order)

    def _reads(self, row: SourceRow) -> Iterator[VersionRead]:
        """Return the reads of one row of a source: a stream's micro-batch may have read several versions."""
        dataset_id, run_id, batch_id, snapshot, job_id, time, offset_from, offset_to, rows = row
        part, history = RunPart(run_id, batch_id), self._histories[dataset_id]
        found = versions_read(VersionLife(history, time), snapshot, offset_from, offset_to, rows)
        inferred = found.ids is None
        ids = [history.current(time, part)]
        if found.ids is not None:
            ids = [history.id_at(each, time) for each in found.ids]
        for each in ids:
            yield VersionRead(
                part,
                VersionKey(dataset_id, each),
                job_id,
                time,
                inferred,
                found.added,
                offset_from or "",
                offset_to or "",
                rows,
            )

    def _rows_of(
        self, parts: Iterable[RunPart], select: CheckedSql, condition: CheckedSql = ANY
    ) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for some in in_parts(sorted(set(parts)), MOST_IN_A_LIST // 2):
            batches = sql_list([batch_id for _, batch_id in some], "), (?, ")
            sql = checked_sql(
                "WITH f (run_id, batch_id) AS (VALUES (?, {batches})) {select} "
                "JOIN f ON f.run_id = l.run_id AND f.batch_id = l.batch_id WHERE {condition}",
                batches=batches,
                select=select,
                condition=condition,
            )
            found += self._tables.query(sql, [run_id for run_id, _ in some])
        return found


_SINKS = CheckedSql(
    "SELECT i.dataset_id, l.run_id, l.batch_id, l.snapshot, l.job_id, l.time, l.parent, l.change, l.row_count, l.bytes "
    "FROM dataset_identity i JOIN sink_snapshot_lineage l ON l.name_id = i.name_id "
    "LEFT JOIN run r ON r.run_id = l.run_id"
)
_MADE = made("l", "r")
# A batch run reads when it begins. A stream without reports of its micro-batches reads continuously.
_READ = CheckedSql(
    "SELECT i.dataset_id, l.run_id, l.batch_id, l.snapshot, l.job_id, "
    "CASE WHEN l.batch_id < 0 AND r.started < l.time AND coalesce(j.processing, '') <> 'STREAMING' "
    "THEN r.started ELSE l.time END, l.offset_from, l.offset_to, l.row_count "
    "FROM dataset_identity i "
)
_READER = CheckedSql("LEFT JOIN run r ON r.run_id = l.run_id LEFT JOIN job j ON j.job_id = l.job_id")
_SOURCES = checked_sql(
    "{read}JOIN source_snapshot_lineage l ON l.name_id = i.name_id {reader}", read=_READ, reader=_READER
)
# Each of the two conditions uses an index.
_PLAIN_READS = checked_sql(
    "{read}JOIN stated_read s ON s.name_id = i.name_id "
    "JOIN source_snapshot_lineage l ON l.job_id = s.job_id AND l.name_id = s.name_id {reader} "
    "WHERE l.snapshot = '' AND l.batch_id = -1",
    read=_READ,
    reader=_READER,
)
_STATED_READS = checked_sql("{sources} WHERE (l.snapshot <> '' OR l.batch_id <> -1)", sources=_SOURCES)


def _without_unnamed(rows: Iterable[_Row]) -> list[_Row]:
    """Leave out rows without a version if another event of the same run names the version of the dataset."""
    every = list(rows)
    named = {(row.dataset_id, row.part) for row in every if row.snapshot}
    return [row for row in every if row.snapshot or (row.dataset_id, row.part) not in named]


def _read_order(read: VersionRead) -> tuple[int, RunPart, VersionKey]:
    return read.time, read.part, read.version
