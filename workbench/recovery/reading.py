"""Read the facts of a recovery plan from a store: everything downstream of a bad version, and its streams."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
from openlineage_pyspark.errors import AmbiguousNameError, NameNotFoundError, StoreError
from openlineage_pyspark.facets.sql_names import name_parts
from openlineage_pyspark.workbench.events.facts import SubmittedAs
from openlineage_pyspark.workbench.model.times import FOREVER, time_of_micros
from openlineage_pyspark.workbench.questions.oddities import bounded
from openlineage_pyspark.workbench.questions.reach.reach import Direction, Limits, reach
from openlineage_pyspark.workbench.questions.resolve import LATEST, is_called, version_called
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.questions.versions.versions import RunPart, VersionKey, VersionKind
from openlineage_pyspark.workbench.recovery.model.affected import Passes, everything
from openlineage_pyspark.workbench.recovery.model.facts import (
    ApplicationFacts,
    DatasetFacts,
    Effect,
    Facts,
    HistoryPlace,
    MadeVersion,
    ReadFacts,
    RunFacts,
    effect,
    registers_files,
    restored,
)
from openlineage_pyspark.workbench.recovery.model.statements import quoted_part
from openlineage_pyspark.workbench.store.events.memory import EventMemory
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH, identity
from openlineage_pyspark.workbench.store.names import datasets, find, name_with_namespace, rows_by_id
from openlineage_pyspark.workbench.store.tables.checked_sql import (
    CheckedSql,
    checked_sql,
    marked_lists,
    marks_for,
)
from openlineage_pyspark.workbench.store.tables.views import made

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.events.read import DatasetOfEvent, EventFacts
    from openlineage_pyspark.workbench.questions.versions.versions import DatasetVersion
    from openlineage_pyspark.workbench.store.names import DatasetName, QueriedTables, ResolvedPlace

_LAKES = frozenset({"iceberg", "delta"})
_QUERY = re.compile(r"[\s(]*SELECT\b", re.IGNORECASE)
_WORDED = frozenset({"ALTER", "CREATE"})


@attrs.frozen
class BadVersion:
    """
    Which version of a dataset is bad, as a user names it. Without any of these, it is the newest one.

    Args:
        version: the version, its first or last characters, `latest`, or a time, for the version that was current then;
            empty if it is not named.
        run: the run that made it: its id, or the beginning or the end of that.
        batch: the micro-batch that made it.
        time: when it was current, in microseconds since 1970.
    """

    version: str = ""
    run: str = ""
    batch: int | None = None
    time: int | None = None


def read_facts(tables: QueriedTables, name: str, bad: BadVersion, column: str) -> tuple[Facts, HistoryPlace, Passes]:
    """
    Return the facts of a plan, the bad version, and a function that returns whether data reach an output.

    Args:
        tables: the store.
        name: the dataset, as a user names it.
        bad: the bad version.
        column: the only column that is bad; empty if all are.

    Raises:
        StoreError: there is no such dataset or version, or more than one.
    """
    reader = _FactsReader(tables)
    found = _found(tables, reader, name, column)
    if bad == BadVersion() and (present := bounded(tables, Limits()).now) != FOREVER:
        # A version with a time in the future is not the newest one.
        bad = BadVersion(time=present)
    if bad.version:
        dataset, version = _version_called(reader, found.dataset, bad.version)
        found, bad = attrs.evolve(found, dataset=dataset), attrs.evolve(bad, version=version.id)
    versions = reader.versions.of(found.dataset.id)
    place = _place(versions, bad, found.dataset) if versions else 0
    if versions and (older := _made_before(reader, found.dataset, versions[place])):
        found, bad = attrs.evolve(found, dataset=older[0]), BadVersion(version=older[1].id)
        versions = reader.versions.of(found.dataset.id)
        place = _place(versions, bad, found.dataset)
    begin = versions[place].time if versions else (bad.time or 0)
    facts = reader.facts(found.dataset.id, begin)
    places = [at for at, made in enumerate(facts.histories[found.dataset.id]) if not made.idle]
    place = places[place]
    if not bad.run and bad.batch is None:
        written = _written(facts.histories[found.dataset.id], place)
        if written != place:
            place = written
            facts = reader.facts(found.dataset.id, facts.histories[found.dataset.id][place].time)
    passes = _passes(tables, (found.dataset.id, found.column)) if found.column else everything
    return facts, HistoryPlace(found.dataset.id, place), passes


def _found(tables: QueriedTables, reader: _FactsReader, name: str, column: str) -> ResolvedPlace:
    """
    Return the dataset or column that a user names as events do, or as statements do, with its catalog.

    Raises:
        NameNotFoundError: nothing has this name, or several datasets have it.
    """
    end = f".{column}" if column else ""
    try:
        return find(tables, f"{name}{end}")
    except NameNotFoundError as problem:
        catalog, *rest = name_parts(name) if "/" not in name else ()
        if not rest:
            raise
        with suppress(NameNotFoundError):
            found = find(tables, f"{'.'.join(map(quoted_part, rest))}{end}")
            # Another catalog may have a table of the same name.
            if name_parts(reader.dataset(found.dataset).sql)[0].lower() == catalog.lower():
                return found
        raise problem from None


def _version_called(reader: _FactsReader, dataset: DatasetName, wanted: str) -> tuple[DatasetName, DatasetVersion]:
    """
    Return the version that a user names, and the table under the name that it had when the version was made.

    Raises:
        NameNotFoundError: the dataset has no such version under any of its names, or several have it.
    """
    try:
        found = version_called(dataset, reader.versions, wanted)
    except AmbiguousNameError:
        raise
    except NameNotFoundError:
        if older := _under_old_name(reader, dataset, wanted):
            return older
        raise
    return dataset, found


def _made_before(
    reader: _FactsReader, dataset: DatasetName, version: DatasetVersion
) -> tuple[DatasetName, DatasetVersion] | None:
    """Return a version that a table has had since before it got its name; None if it was made under this name."""
    if version.change == "RENAME":
        return _under_old_name(reader, dataset, LATEST)
    return None if version.run_id else _under_old_name(reader, dataset, version.id)


def _under_old_name(
    reader: _FactsReader, dataset: DatasetName, wanted: str
) -> tuple[DatasetName, DatasetVersion] | None:
    for old in reader.old_names(dataset):
        with suppress(NameNotFoundError):
            if (found := version_called(old, reader.versions, wanted)).run_id:
                return old, found
    return None


def _place(versions: tuple[DatasetVersion, ...], bad: BadVersion, dataset: DatasetName) -> int:
    matching = [
        place
        for place, version in enumerate(versions)
        if bad.version in ("", version.id)
        and (not bad.run or is_called(version.run_id, bad.run))
        and (bad.batch is None or version.batch_id == bad.batch)
        and (bad.time is None or version.time <= bad.time)
    ]
    if not matching:
        latest = ", ".join(version.id for version in versions[:-6:-1])
        raise StoreError(f"{dataset.label} has no version{_asked(bad)}; its versions, the latest first: {latest}")
    # If a run made several versions, the first one is bad.
    return matching[0] if bad.run or bad.batch is not None else matching[-1]


def _written(history: Sequence[MadeVersion], place: int) -> int:
    """Return the place of a version, or of the earlier one whose rows it has because no run since wrote any."""
    places = {made.snapshot: at for at, made in enumerate(history) if made.snapshot}
    while place and (history[place].idle or (history[place].nothing and history[place].whole is not True)):
        parent = places.get(history[place].parent, place)
        place = parent if parent < place else place - 1
    return place


def _asked(bad: BadVersion) -> str:
    """Return the requested version, as the end of a sentence."""
    found = f" {bad.version!r}" if bad.version else ""
    found += f" that the run {bad.run!r} made" if bad.run else ""
    found += f" of micro-batch {bad.batch}" if bad.batch is not None else ""
    return found + (f" at {time_of_micros(bad.time).isoformat()}" if bad.time is not None else "")


def _passes(tables: QueriedTables, start: tuple[int, str]) -> Passes:
    """
    Return a function that returns whether a column's data reach an output of a job.

    Where a job states no column lineage of an output, all of its inputs count as sources of each of its columns.
    """
    ever = Limits(ever=True)
    known: dict[tuple[int, int], bool] = {}

    def states_edges(job: int, target: int) -> bool:
        if (job, target) not in known:
            # By the outputs of the job: edges are not searched by jobs.
            edge = (
                "SELECT 1 FROM stated_edge WHERE output_id IN (SELECT name_id FROM dataset_identity "
                "WHERE dataset_id = ?) AND job_id = ? LIMIT 1"
            )
            known[job, target] = bool(tables.query(edge, (target, job)))
        return known[job, target]

    edges: set[tuple[int, int, int]] = set()
    seen, frontier = {start}, {start}
    while frontier:
        columns = reach(tables, frontier, Direction.DOWNSTREAM, ever, by_columns=True)
        edges |= {(edge.job_id, edge.source[0], edge.target[0]) for edge in columns.edges}
        downstream = {(dataset, "") for dataset, _ in columns.depths}
        near = Limits(depth=1, ever=True)
        whole = reach(tables, downstream, Direction.DOWNSTREAM, near, by_columns=False, looks_on=False).edges
        frontier = {edge.target for edge in whole if not states_edges(edge.job_id, edge.target[0])} - seen
        seen |= frontier
    return lambda job, source, target: (job, source, target) in edges or not states_edges(job, target)


@attrs.frozen
class WrittenTable:
    """
    A table that some runs wrote, as their events describe it.

    Args:
        facts: the table.
        ids: a run and a version -> the id that the format gives the table that was written then.
    """

    facts: DatasetFacts
    ids: Mapping[tuple[str, str], str]


def written_table(tables: QueriedTables, dataset: DatasetName, runs: Collection[str]) -> WrittenTable:
    """
    Return a table that some runs wrote, as their events describe it.

    Args:
        tables: the store.
        dataset: the table.
        runs: the ids of the runs.
    """
    read = _FactsReader(tables).runs(runs)
    names = frozenset(_ids(dataset))
    ids = {(run, version): each.table_id for (run, name, version), each in read.writes.items() if name in names}
    facts = _dataset(dataset, _stored(dataset, read.storages))
    return WrittenTable(facts, {key: each for key, each in ids.items() if each})


class _FactsReader:
    def __init__(self, tables: QueriedTables) -> None:
        self._tables = tables
        self.versions = StoredVersions(tables, overwrites_replace=False)

    def facts(self, root: int, begin: int) -> Facts:
        """Return all facts about the datasets downstream of a dataset since a time."""
        touched = self._downstream(root, begin)
        batches, streamed = self._streams(touched)
        written = touched | streamed
        idle = self._idle(written)
        parts = batches | {part for each in written for version in self.versions.of(each) for part in version.parts}
        parts |= {RunPart(run.run_id, NO_BATCH) for runs in idle.values() for run in runs}
        reads = tuple(self._reads(parts, root, begin))
        unfinished = self._unfinished(touched, begin)
        open_readers = self._open_readers(touched, begin)
        ids = {part.run_id for part in parts} | {each for runs in unfinished.values() for each in runs}
        ids |= {run_id for _, run_id, _ in open_readers} | self._makers_of_read(reads)
        of_runs = self.runs(ids)
        applications = self._applications({run.application for run in of_runs.runs.values() if run.application})
        names = datasets(self._tables, written | {read.dataset for read in reads})
        named = {each: _dataset(name, _stored(name, of_runs.storages)) for each, name in names.items()}
        stated = {(read.run_id, read.dataset): read.version for read in reads if not read.inferred}
        histories = {
            each: _with_idle(self._made(named[each], _ids(name), of_runs, stated), idle.get(each, ()))
            for each, name in names.items()
        }
        if not histories[root]:
            histories[root] = (MadeVersion(root, "", NO_BATCH, "", begin),)
        beside, writers = self._beside(applications)
        others = {target for *_, target in open_readers}.union(*beside.values())
        named |= self._written_by(others - set(named), writers)
        return Facts(named, histories, reads, of_runs.runs, applications, unfinished, beside, open_readers)

    def _reads(self, parts: Collection[RunPart], root: int, begin: int) -> Iterator[ReadFacts]:
        """Yield what some runs read, without the reads of the root that were before a time and name no version."""
        for found in self.versions.read_by(parts).values():
            for read in found:
                # A read of a version that no recorded run wrote is not bad if it was earlier.
                if read.version != (root, "") or read.time >= begin:
                    yield ReadFacts(
                        *(read.version.dataset, *read.part, read.version.version, read.inferred),
                        *(read.offset_from, read.offset_to, bool(read.offset_to)),
                    )

    def _makers_of_read(self, reads: Iterable[ReadFacts]) -> set[str]:
        """Return the runs whose statements show whether they wrote anything to a dataset that is read."""
        every = {read.dataset for read in reads}
        return {version.run_id for each in every for version in self.versions.of(each) if version.change in _WORDED}

    def _written_by(self, ids: Collection[int], writers: Mapping[int, str]) -> dict[int, DatasetFacts]:
        """Return datasets as the events of the runs that wrote them describe them."""
        storages = self.runs({writers[each] for each in ids if each in writers}).storages
        return {each: _dataset(name, _stored(name, storages)) for each, name in datasets(self._tables, ids).items()}

    def old_names(self, dataset: DatasetName) -> Iterator[DatasetName]:
        """Yield the datasets that a table was before it was renamed, the latest first."""
        seen, frontier = {dataset.id}, {dataset.id}
        while frontier := self._old_names(frontier) - seen:
            seen |= frontier
            yield from datasets(self._tables, frontier).values()

    def dataset(self, found: DatasetName) -> DatasetFacts:
        """Return a dataset as the events of the runs that wrote it describe it."""
        storages = self.runs({version.run_id for version in self.versions.of(found.id)}).storages
        return _dataset(found, _stored(found, storages))

    def _downstream(self, root: int, begin: int) -> set[int]:
        """
        Return the datasets that may be downstream of a dataset since a time, and those written with them.

        What was made of late versions is late too, whatever its time: another driver may have another clock.
        """
        # Each dataset -> the place of its first late version.
        firsts: dict[int, int] = {}
        frontier = {root}
        made: set[VersionKey] = set()
        while frontier:
            self.versions.load(frontier)
            late = [VersionKey(root, "")] if root in frontier and not self.versions.of(root) else []
            for each in frontier:
                history = self.versions.of(each)
                found = (at for at, version in enumerate(history) if version.time >= begin or version.key in made)
                firsts[each] = next(found, len(history))
                late += [version.key for version in history[firsts[each] :]]
            parts = readers = {read.part for found in self.versions.readers(late).values() for read in found}
            made |= {key for keys in self.versions.made_by(parts).values() for key in keys}
            parts = {part for each in frontier for version in self.versions.of(each) for part in version.parts}
            beside = {key.dataset for keys in self.versions.made_by(parts).values() for key in keys}
            beside |= self._old_names(frontier) | {key.dataset for key in made} | self._idle_outputs(readers)
            frontier = {each for each in beside if each not in firsts or self._is_earlier(each, firsts[each], made)}
        return set(firsts)

    def _idle(self, touched: Collection[int]) -> dict[int, list[_IdleRun]]:
        """
        Return the runs that changed no row of a dataset: with other data they may change some, so they are repeated.

        Delta Lake makes no version of such a run, so questions about versions do not find it.
        """
        found: dict[int, list[_IdleRun]] = {}
        sql = "{idle} AND i.dataset_id IN ({ids}) ORDER BY l.time, l.run_id"
        for dataset, *about in rows_by_id(self._tables, sql, touched, idle=_IDLE):
            found.setdefault(dataset, []).append(_IdleRun(*about))
        return found

    def _idle_outputs(self, parts: Collection[RunPart]) -> set[int]:
        """Return the datasets that runs wrote without changing a row."""
        ids = {part.run_id for part in parts if not part.is_batch}
        return {dataset for dataset, *_ in self._of(ids, "{idle} AND l.run_id IN ({marks})", idle=_IDLE)}

    def _is_earlier(self, dataset: int, place: int, made: Collection[tuple[int, str]]) -> bool:
        """Return whether a version of a dataset before a place was made of late versions."""
        return any(version.key in made for version in self.versions.of(dataset)[:place])

    def _streams(self, touched: Collection[int]) -> tuple[set[RunPart], set[int]]:
        """
        Return the micro-batches whose sources are some datasets, and their outputs; the readers of those; and so on.

        A stream can't continue after a rollback of its source, even if it has read none of the bad rows.
        """
        found: set[RunPart] = set()
        seen, frontier = set(touched), set(touched)
        while frontier:
            keys = [version.key for each in frontier for version in self.versions.of(each)]
            reads = (read for each in self.versions.readers(keys).values() for read in each)
            parts = {read.part for read in reads if read.offset_to} - found
            found |= parts
            frontier = {key.dataset for keys in self.versions.made_by(parts).values() for key in keys} - seen
            seen |= frontier
        return found, seen - set(touched)

    def _old_names(self, touched: Collection[int]) -> set[int]:
        """Return the datasets under their old names: a renamed one may have to be rebuilt from before the change."""
        every = (version for each in touched for version in self.versions.of(each) if version.change == "RENAME")
        parts = {part for version in every for part in version.parts}
        return {read.version.dataset for reads in self.versions.read_by(parts).values() for read in reads}

    def _made(
        self,
        dataset: DatasetFacts,
        names: tuple[int, ...],
        of_runs: _RunsRead,
        read: Mapping[tuple[str, int], str],
    ) -> Iterator[MadeVersion]:
        was_there = False
        every = [*self.versions.of(dataset.id)]
        for version, after in itertools.zip_longest(every, every[1:]):
            sql, job = _text_and_job(of_runs.runs.get(version.run_id))
            part = next((at.replaced for at in self._of_names(of_runs.writes, version.run_id, names, "")), "")
            back = restored(sql, job, read.get((version.run_id, dataset.id), ""))
            did = effect(version.change, sql, job, dataset.format, was_there=was_there, replaced=part)
            was_there = version.change != "DROP"
            # A DROP leaves the files of a table with a location, and a CREATE over them finds its rows there.
            is_kept = (
                after is not None
                and not was_there
                and registers_files(after.change, *_text_and_job(of_runs.runs.get(after.run_id)), dataset.format)
            )
            did = Effect(nothing=True) if is_kept or back is not None else did
            written = next(self._of_names(of_runs.writes, version.run_id, names, version.id), _Written())
            yield MadeVersion(
                dataset.id,
                version.run_id,
                version.batch_id,
                version.id if version.kind is VersionKind.STORAGE else "",
                version.time,
                back or version.storage_parent,
                version.change,
                did.whole,
                bool(part),
                did.empties,
                did.nothing,
                written.branch,
                version.rows,
                written.table_id,
                back,
            )

    @staticmethod
    def _of_names(
        writes: Mapping[tuple[str, int, str], _Written], run_id: str, names: Iterable[int], version: str
    ) -> Iterator[_Written]:
        """Yield how a run wrote a version of a dataset, for each of the dataset's names that events give it."""
        yield from (writes[key] for name in names if (key := (run_id, name, version)) in writes)

    def runs(self, ids: Collection[str]) -> _RunsRead:
        """Return runs, with what their events state about the datasets that they read and wrote."""
        events_of: dict[str, list[EventFacts]] = {}
        storages: dict[int, _Storage] = {}
        writes: dict[tuple[str, int, str], _Written] = {}
        stored: dict[int, list[tuple[int, _Storage, DatasetOfEvent]]] = {}
        for run_id, event in self._events(ids, ("START", "COMPLETE", "FAIL", "ABORT")):
            events_of.setdefault(run_id, []).append(event)
            # Events with the same datasets share one value, which `events_of` keeps.
            if id(event.sides) not in stored:
                stored[id(event.sides)] = [
                    (identity("dataset", each.namespace, each.name), _storage(each), each) for each in event.datasets
                ]
            for name_id, storage, dataset in stored[id(event.sides)]:
                before = storages.get(name_id)
                if before != storage:
                    storages[name_id] = storage if before is None else storage.or_else(before)
                if dataset.branch is not None or dataset.table_id:
                    written = _Written(dataset.branch or "", dataset.table_id)
                    writes |= {(run_id, name_id, version): written for version in dataset.versions}
                if dataset.replaced:
                    writes[run_id, name_id, ""] = _Written(replaced=dataset.replaced)
        found = {row[0]: _run(events_of.get(row[0], []), *row) for row in self._of(ids, _RUNS)}
        return _RunsRead(found, storages, writes)

    def _applications(self, ids: Collection[str]) -> dict[str, ApplicationFacts]:
        return {run_id: _application(run_id, event) for run_id, event in self._events(ids, ("START",))}

    def _events(self, ids: Collection[str], types: Sequence[str]) -> Iterator[tuple[str, EventFacts]]:
        """Yield the events of runs, the oldest first, each with its run."""
        sql = "SELECT time, run_id, json FROM event WHERE type IN ({types}) AND run_id IN ({marks}) ORDER BY time"
        memory = EventMemory()
        rows = self._of(ids, sql, [*types], types=marks_for(types))
        # Each query has some of the runs, so it can't sort all events.
        every = [(time, run_id, memory.facts(text)) for time, run_id, text in rows]
        every.sort(key=operator.itemgetter(0))
        yield from ((run_id, event) for _, run_id, event in every)

    def _of(
        self, ids: Collection[str], sql: str, before: Sequence[str] = (), **parts: CheckedSql
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query for some runs, whose parameters come after some others."""
        for marks, part in marked_lists(sorted(ids)):
            yield from self._tables.query(checked_sql(sql, marks=marks, **parts), [*before, *part])

    def _unfinished(self, touched: Collection[int], begin: int) -> dict[int, tuple[str, ...]]:
        found: dict[int, list[str]] = {}
        sql = (
            "SELECT DISTINCT i.dataset_id, r.run_id FROM dataset_identity i "
            "JOIN stated_write l ON l.name_id = i.name_id JOIN run r ON r.job_id = l.job_id "
            "WHERE i.dataset_id IN ({ids}) AND r.state IN ('START', 'RUNNING') "
            "AND coalesce(r.started, r.first_time) >= ? "
            "AND r.run_id NOT IN (SELECT s.run_id FROM sink_snapshot_lineage s WHERE s.run_id = r.run_id) "
            "ORDER BY r.run_id"
        )
        for dataset, run_id in rows_by_id(self._tables, sql, touched, (begin,)):
            found.setdefault(dataset, []).append(run_id)
        return {dataset: tuple(runs) for dataset, runs in found.items()}

    def _open_readers(self, touched: Collection[int], begin: int) -> tuple[tuple[int, str, int], ...]:
        """Return runs that began to read datasets and never reported an end, with what else their jobs write."""
        sql = (
            "SELECT DISTINCT i.dataset_id, r.run_id, d.dataset_id FROM dataset_identity i "
            "JOIN stated_read l ON l.name_id = i.name_id JOIN run r ON r.job_id = l.job_id "
            "JOIN stated_write s ON s.job_id = r.job_id JOIN dataset_identity d ON d.name_id = s.name_id "
            "WHERE i.dataset_id IN ({ids}) AND r.state IN ('START', 'RUNNING') "
            "AND coalesce(r.started, r.first_time) >= ? "
            "AND r.run_id NOT IN (SELECT w.run_id FROM sink_snapshot_lineage w WHERE w.run_id = r.run_id)"
        )
        rows = rows_by_id(self._tables, sql, touched, (begin,))
        return tuple(sorted({(source, run_id, target) for source, run_id, target in rows if target not in touched}))

    def _beside(self, applications: Collection[str]) -> tuple[dict[str, tuple[int, ...]], dict[int, str]]:
        """Return the datasets that the runs of applications write, and for each dataset the latest of these runs."""
        found: dict[str, set[int]] = {}
        writers: dict[int, str] = {}
        every = self._of(
            applications,
            "SELECT max(l.time), r.run_id, r.parent_run_id, i.dataset_id FROM run r JOIN sink_snapshot_lineage l "
            "ON l.run_id = r.run_id JOIN dataset_identity i ON i.name_id = l.name_id "
            "WHERE r.parent_run_id IN ({marks}) GROUP BY r.run_id, r.parent_run_id, i.dataset_id",
        )
        # The latest one comes last.
        for _, run_id, application, dataset in sorted(every):
            found.setdefault(application, set()).add(dataset)
            writers[dataset] = run_id
        return {application: tuple(sorted(each)) for application, each in found.items()}, writers


class _IdleRun(NamedTuple):
    """A run that changed no row of a dataset, and when it ended, in microseconds since 1970."""

    run_id: str
    time: int
    change: str


_IDLE = checked_sql(
    "SELECT DISTINCT i.dataset_id, l.run_id, l.time, coalesce(l.change, '') FROM dataset_identity i "
    "JOIN sink_snapshot_lineage l ON l.name_id = i.name_id JOIN run r ON r.run_id = l.run_id "
    "WHERE l.snapshot = '' AND r.state = 'COMPLETE' AND NOT {made} AND NOT EXISTS ("
    "SELECT 1 FROM sink_snapshot_lineage n JOIN dataset_identity o ON o.name_id = n.name_id "
    "WHERE n.run_id = l.run_id AND o.dataset_id = i.dataset_id AND n.snapshot <> '')",
    made=made("l", "r"),
)


def _with_idle(made: Iterable[MadeVersion], idle: Iterable[_IdleRun]) -> tuple[MadeVersion, ...]:
    """Return a history with the runs that changed no row, each after the version that was current at its end."""
    history = [*made]
    for run in idle:
        at = max((place + 1 for place, each in enumerate(history) if each.time <= run.time), default=0)
        if at:
            made_of = MadeVersion(history[0].dataset, run.run_id, NO_BATCH, "", run.time, change=run.change, idle=True)
            history.insert(at, made_of)
    return tuple(history)


@attrs.frozen
class _Written:
    """
    How a version was written.

    Args:
        branch: the branch; empty for the main one.
        table_id: the id of the table; empty if it is unknown.
        replaced: for all versions that a run made (version ""), the part that it replaced according to the event.
    """

    branch: str = ""
    table_id: str = ""
    replaced: str = ""


@attrs.frozen
class _Storage:
    """How a dataset is stored: the layer, the format of its files, and its catalog; empty where no event states it."""

    layer: str = ""
    file_format: str = ""
    catalog: str = ""

    def or_else(self, other: _Storage) -> _Storage:
        """Return it with its empty fields filled from the other one."""
        stored = self if self.layer or self.file_format else other
        return _Storage(stored.layer, stored.file_format, self.catalog or other.catalog)


@attrs.frozen
class _RunsRead:
    """
    Runs, and what their events state about datasets.

    Args:
        runs: the id of a run -> the run.
        storages: the id of a dataset's name -> how the dataset is stored.
        writes: a run, the id of a dataset's name and a version -> how the run wrote this version. Two tables of Delta
            Lake have versions of the same numbers, and one run may write both.
    """

    runs: dict[str, RunFacts]
    storages: dict[int, _Storage]
    writes: dict[tuple[str, int, str], _Written]


_RUNS = (
    "SELECT r.run_id, coalesce(j.name, ''), coalesce(r.job_id, 0), coalesce(r.state, ''), "
    "coalesce(r.started, r.first_time, 0), coalesce(r.parent_run_id, ''), coalesce(r.query_id, ''), "
    "coalesce(r.checkpoint, ''), r.ended FROM run r LEFT JOIN job j ON j.job_id = r.job_id WHERE r.run_id IN ({marks})"
)


def _run(
    events: Sequence[EventFacts],
    run_id: str,
    job: str,
    job_id: int,
    state: str,
    started: int,
    application: str,
    query: str,
    checkpoint: str,
    ended: int | None,
) -> RunFacts:
    """Return a run from its events and its row, which `_RUNS` selects."""
    sql = _statement(events)
    # Only the application itself can repeat its work with a query. A query that continues from a copy of its
    # checkpoint has another id.
    known_as = query and (checkpoint or query)
    about_query = (application, known_as, checkpoint, "" if application and _QUERY.match(sql) else sql)
    seconds = (ended - started) / 1_000_000 if ended and started and ended >= started else None
    about = [event.run for event in events if event.run is not None]
    corrects = next((run.corrects for run in about if run.corrects), "")
    session = next((run.session for run in about if run.session is not None), None)
    recovery = next((run.recovery for run in about if run.recovery is not None), None)
    gaps = tuple(dict.fromkeys(_gaps(events)))
    return RunFacts(run_id, job, job_id, state, started, *about_query, gaps, seconds, corrects, session, recovery)


def _text_and_job(run: RunFacts | None) -> tuple[str, str]:
    """Return the statement of a run and the name of its job; empty texts if it is unknown."""
    return (run.sql, run.job) if run is not None else ("", "")


def _ids(dataset: DatasetName) -> tuple[int, ...]:
    """Return the ids of all names of a dataset."""
    return tuple(identity("dataset", *name) for name in ((dataset.namespace, dataset.name), *dataset.others))


def _stored(dataset: DatasetName, about: Mapping[int, _Storage]) -> _Storage:
    """Return how a dataset is stored, as its names show it."""
    storage = _Storage()
    for name in _ids(dataset):
        storage = storage.or_else(about.get(name, _Storage()))
    return storage


def _storage(dataset: DatasetOfEvent) -> _Storage:
    layer, file_format = dataset.storage_layer.lower(), dataset.file_format.lower()
    # The event of a CREATE TABLE ... AS may state no more. Another event of the table may.
    return _Storage("" if layer == "default" and not file_format else layer, file_format, dataset.catalog)


def _dataset(found: DatasetName, storage: _Storage) -> DatasetFacts:
    format_ = storage.layer if storage.layer in _LAKES else storage.file_format
    catalog = storage.catalog
    is_path = "/" in found.name
    table = found.others[0][1] if found.others else ("" if is_path else found.name)
    parts = _parts(table, found.name if is_path else "")
    if catalog and parts and parts[0] != catalog:
        parts.insert(0, catalog)
    name = ".".join(map(quoted_part, parts))
    if table.startswith(f"{format_}.") and "/" in table:
        # A table that is named by its path.
        name = f"{format_}.{quoted_part(table.partition('.')[2])}"
    location = name_with_namespace(found.namespace, found.name) if is_path else ""
    if not name and is_path and format_ == "delta":
        name = f"delta.{quoted_part(found.name if found.namespace == 'file' else location)}"
    return DatasetFacts(found.id, found.label, name, format_, location)


def _parts(table: str, path: str) -> list[str]:
    """
    Return the parts of a table's name in an event, which has no quotes.

    Args:
        table: the name.
        path: where the table is. If its folder has a dot in its name, which is the end of the table's name, and is in
            the folder of the namespace, then the dot belongs to the table's own name.
    """
    folder, _, own = path.rstrip("/").rpartition("/")
    namespace = table.removesuffix(f".{own}")
    above = folder.rpartition("/")[2]
    if "." in own and namespace != table and above in (part := namespace.rpartition(".")[2], f"{part}.db"):
        return [*namespace.split("."), own]
    return table.split(".") if table else []


def _statement(events: Iterable[EventFacts]) -> str:
    """Return the statement of a run, from its own events: the job's other runs may have another."""
    return next((event.job.sql for event in events if event.job is not None and event.job.sql), "")


def _gaps(events: Iterable[EventFacts]) -> Iterator[str]:
    for event in events:
        yield from (message for _, message in (event.run.gaps if event.run is not None else ()))


def _application(run_id: str, event: EventFacts) -> ApplicationFacts:
    job, run = event.job, event.run
    submitted = SubmittedAs() if run is None else run.submission
    return ApplicationFacts(
        run_id,
        "" if job is None else job.name,
        (job.source_url if job is not None else None) or "",
        submitted.command,
        submitted.directory,
        submitted.deploy_mode,
        submitted.is_redacted,
    )
