"""
The versions of datasets: their order, which run read and made which, and what comes from what.

A version is the snapshot or the version that the storage gave it, else the run, or the micro-batch of a run, that wrote
the dataset. A run that states no version read the current one of its beginning: such a read is marked as inferred.

Rows of one version continue on two paths: a run reads them and makes another version, or the dataset's next version
keeps them. A stream reads only the rows that versions added, so rows that a version kept do not arrive there. This is
why a place here is a version together with a part of its rows.

Each query covers many versions at once, and the history of a dataset is read only once.
"""

from __future__ import annotations

import bisect
import enum
import heapq
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.questions.offsets import versions_read
from openlineage_pyspark.workbench.questions.reach import Direction
from openlineage_pyspark.workbench.store.described import described_by_runs
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH
from openlineage_pyspark.workbench.store.names import datasets_by_name
from openlineage_pyspark.workbench.store.tables.ids import MOST_IN_A_LIST, id_lists, in_parts, marked_lists
from openlineage_pyspark.workbench.store.tables.views import MADE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.workbench.store.names import QueriedTables


class VersionKey(NamedTuple):
    """
    A version of a dataset.

    Args:
        dataset: the dataset's id.
        version: the version's id; empty for what the dataset held before the first version that is known.
    """

    dataset: int
    version: str


class RunPart(NamedTuple):
    """
    A run, or one of its micro-batches.

    Args:
        run_id: the run.
        batch_id: the micro-batch's number; NO_BATCH for a run that has none.
    """

    run_id: str
    batch_id: int

    @property
    def is_batch(self) -> bool:
        """Return whether it is a micro-batch."""
        return self.batch_id != NO_BATCH


StreamedRead: TypeAlias = "tuple[str, int, int, str, bool]"
"""A run, a micro-batch, a dataset, the version that was read, and whether it is inferred."""

VersionPlace: TypeAlias = "tuple[VersionKey, bool]"
"""A version, and whether the rows are meant that it added."""

# Between a version's number and the life of its table, as in `3~1`.
_LIFE = "~"
# CREATE is not among them: it may find the table there. The DROP before it has already removed the older rows.
_REPLACING = frozenset({"DROP", "OVERWRITE", "TRUNCATE"})


class VersionKind(enum.Enum):
    """The origin of a version's id."""

    STORAGE = "storage"
    RUN = "run"
    UNKNOWN = "unknown"


@attrs.frozen
class DatasetVersion:
    """
    A version of a dataset.

    Args:
        dataset_id: the dataset.
        id: the snapshot or version of the storage; else the run's id, and with a micro-batch, a slash and its number.
        kind: which of the two.
        time: when it was made, microseconds since 1970, as far as is known: no later than its run, or than a later
            version. If no event states when it was made: when it was first read.
        parts: the runs and micro-batches that claim to have made it, the best known one first. None if no event states
            who did.
        job_id: the job of the first of them; None if it is not known.
        parent: the version before it, which the storage or the order states; empty if there is none that is known.
        parent_inferred: whether the order states it, and not the storage.
        storage_parent: the version before it in the storage, even if the store knows nothing else of that one; empty if
            the storage does not state it.
        keeps: whether it keeps rows of the version before.
        change: such as OVERWRITE or DROP; empty for an append.
        rows: how many rows were written; None if it is not known.
        bytes: how many bytes were written; None if it is not known.
    """

    dataset_id: int
    id: str
    kind: VersionKind
    time: int
    parts: tuple[RunPart, ...] = ()
    job_id: int | None = None
    parent: str = ""
    parent_inferred: bool = False
    storage_parent: str = ""
    keeps: bool = False
    change: str = ""
    rows: int | None = None
    bytes: int | None = None

    @property
    def key(self) -> VersionKey:
        """Return the dataset and the id."""
        return VersionKey(self.dataset_id, self.id)

    @property
    def run_id(self) -> str:
        """Return the run that made it; empty if it is not known."""
        return self.parts[0][0] if self.parts else ""

    @property
    def batch_id(self) -> int:
        """Return the micro-batch that made it; NO_BATCH if there is none."""
        return self.parts[0][1] if self.parts else NO_BATCH


@attrs.frozen
class VersionRead:
    """
    A run, or one micro-batch of it, read a version.

    Args:
        part: the run and the micro-batch.
        version: the version. Its id is empty if the store knows none that was there at that time.
        job_id: the job; None if it is not known.
        time: when it was read, microseconds since 1970.
        inferred: whether the event does not name the version: it is the one that was current then.
        added: whether only the rows were read that the version added, as streams do, and not all of the dataset.
        offset_from: where a micro-batch began to read, as JSON; empty if it is not known.
        offset_to: where it ended; empty if it is not known.
        rows: how many rows were read, of all versions of the dataset together; None if it is not known.
    """

    part: RunPart
    version: VersionKey
    job_id: int | None
    time: int
    inferred: bool = False
    added: bool = False
    offset_from: str = ""
    offset_to: str = ""
    rows: int | None = None


@attrs.frozen
class VersionEdge:
    """
    Rows of one version went into another.

    Args:
        source: where they come from.
        target: where they go.
        part: the run and micro-batch that made the target.
        job_id: its job; None if it is not known.
        kept: whether the target is the dataset's next version, which keeps the rows of the one before.
        inferred: whether the events do not name the source: it was current then, or it is the one before by its time.
        added: whether only the rows that the source added went there.
    """

    source: VersionKey
    target: VersionKey
    part: RunPart
    job_id: int | None
    kept: bool = False
    inferred: bool = False
    added: bool = False


@attrs.frozen
class VersionClosure:
    """
    The result of a traversal from versions.

    Args:
        depths: each version of the result, and each start -> how many runs are between, the closest first. An edge that
            only keeps rows counts none.
        edges: all edges that were passed, each one once.
        last: the places at which the depth ends the traversal; none if it is complete.
    """

    depths: dict[VersionKey, int]
    edges: tuple[VersionEdge, ...]
    last: tuple[VersionPlace, ...] = ()


@attrs.frozen
class _History:
    """
    The versions of a dataset.

    Args:
        versions: in their order.
        places: the id of a version -> its place in that order.
        following: the id of a version -> the versions whose parent it is.
        ends: when the dataset was dropped.
    """

    versions: tuple[DatasetVersion, ...]
    places: dict[str, int]
    following: dict[str, tuple[DatasetVersion, ...]]
    ends: tuple[int, ...] = ()

    def knows(self, id_: str) -> bool:
        """Return whether there is such a version."""
        return id_ in self.places

    def parent(self, id_: str) -> str:
        """Return the version before one; empty if there is none that is known."""
        return self.versions[self.places[id_]].parent if id_ in self.places else ""

    def after(self, first: str, last: str) -> list[str] | None:
        """Return the versions after one and up to another in their order; None if they are not in this order."""
        begin, end = self.places.get(first), self.places.get(last)
        if begin is None or end is None or begin > end:
            return None
        return [each.id for each in self.versions[begin + 1 : end + 1]]

    def ids(self) -> Iterable[str]:
        """Return all versions."""
        return self.places

    def id_at(self, id_: str, time: int) -> str:
        """Return the id of the version that had this one at a time: it may have been another life of the dataset."""
        former = _of_life(id_, self.ends, time)
        return former if former in self.places else id_

    def current(self, time: int, reader: RunPart | None = None) -> str:
        """Return the version that was current at a time, without the reader's own; empty if there was none."""
        place = bisect.bisect_right(self.versions, time, key=lambda version: version.time) - 1
        while place >= 0 and reader in self.versions[place].parts:
            place -= 1
        return self.versions[place].id if place >= 0 else ""


class _Sink(NamedTuple):
    """A row of a dataset that a part of a run made, or of a version that is only read; `snapshot` may be empty."""

    dataset_id: int
    run_id: str
    batch_id: int
    snapshot: str
    job_id: int | None
    time: int
    parent: str | None
    change: str | None
    row_count: int | None
    bytes: int | None

    @property
    def part(self) -> RunPart:
        return RunPart(self.run_id, self.batch_id)

    @property
    def version(self) -> str:
        """The id of the version that the row states."""
        return str(self.snapshot or (f"{self.run_id}/{self.batch_id}" if self.batch_id >= 0 else self.run_id))


class _Source(NamedTuple):
    """A row of a dataset that a part of a run read."""

    dataset_id: int
    run_id: str
    batch_id: int
    snapshot: str
    job_id: int | None
    time: int
    offset_from: str | None
    offset_to: str | None
    row_count: int | None

    @property
    def part(self) -> RunPart:
        return RunPart(self.run_id, self.batch_id)


_Row = TypeVar("_Row", _Sink, _Source)


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
        self._replacing = _REPLACING if overwrites_replace else _REPLACING - {"OVERWRITE"}
        self._histories: dict[int, _History] = {}
        self._readers: dict[int, dict[str, list[VersionRead]]] = {}

    def load(self, dataset_ids: Iterable[int]) -> None:
        """Learn the versions of datasets that are not known yet, all of them at once."""
        wanted = set(dataset_ids) - set(self._histories)
        made: dict[int, dict[str, list[_Sink]]] = {each: {} for each in wanted}
        for listed in id_lists(wanted):
            sinks = self._tables.query(f"{_SINKS} WHERE i.dataset_id IN ({listed}) AND {_MADE}")
            for row in self._without_summaries(_without_unnamed(map(_Sink._make, sinks))):
                made[row.dataset_id].setdefault(row.version, []).append(row)
            seen = (
                "SELECT i.dataset_id, l.snapshot, min(l.time) FROM dataset_identity i "  # noqa: S608 (numbers alone)
                "JOIN source_snapshot_lineage l ON l.name_id = i.name_id "
                f"WHERE i.dataset_id IN ({listed}) AND l.snapshot <> '' GROUP BY i.dataset_id, l.snapshot"
            )
            for dataset_id, snapshot, time in self._tables.query(seen):
                unmade = _Sink(dataset_id, "", NO_BATCH, snapshot, None, time, None, "", None, None)
                made[dataset_id].setdefault(snapshot, []).append(unmade)
        for dataset_id, rows in made.items():
            ends = sorted(row.time for made in rows.values() for row in made if row.change == "DROP")
            self._histories[dataset_id] = _history(dataset_id, _of_lives(rows, ends), self._replacing, tuple(ends))

    def of(self, dataset_id: int) -> tuple[DatasetVersion, ...]:
        """Return the versions of a dataset in their order: by what came before what, and by time."""
        self.load([dataset_id])
        return self._histories[dataset_id].versions

    def get(self, key: VersionKey) -> DatasetVersion:
        """Return a version; one of the kind UNKNOWN if no event names it."""
        self.load([key.dataset])
        history = self._histories[key.dataset]
        place = history.places.get(key.version)
        return DatasetVersion(*key, VersionKind.UNKNOWN, 0) if place is None else history.versions[place]

    def before(self, key: VersionKey) -> DatasetVersion | None:
        """Return the version before one; None if it is the first one that is known."""
        parent = self.get(key).parent
        return self.get(VersionKey(key.dataset, parent)) if parent else None

    def current(self, dataset_id: int, time: int = FOREVER) -> DatasetVersion | None:
        """Return the version of a dataset that was current at a time, by default now; None if there was none."""
        self.load([dataset_id])
        found = self._histories[dataset_id].current(time)
        return self.get(VersionKey(dataset_id, found)) if found else None

    def made_by(self, parts: Iterable[RunPart]) -> dict[RunPart, tuple[VersionKey, ...]]:
        """Return which versions each of some runs and micro-batches made."""
        rows = _without_unnamed(map(_Sink._make, self._rows_of(parts, _SINKS, f"WHERE {_MADE}")))
        self.load(row.dataset_id for row in rows)
        found: dict[RunPart, dict[VersionKey, None]] = {}
        for row in rows:
            history = self._histories[row.dataset_id]
            id_ = history.id_at(row.version, row.time)
            if id_ not in history.places:
                # A run within it made the version.
                continue
            found.setdefault(row.part, {})[VersionKey(row.dataset_id, id_)] = None
        return {part: tuple(sorted(keys)) for part, keys in found.items()}

    def read_by(self, parts: Iterable[RunPart]) -> dict[RunPart, tuple[VersionRead, ...]]:
        """Return which versions each of some runs and micro-batches read."""
        rows = _without_unnamed(map(_Source._make, self._rows_of(parts, _SOURCES)))
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
        rows = _without_unnamed(map(_Source._make, self._tables.query(f"{_SOURCES} WHERE l.offset_to IS NOT NULL")))
        self.load(row.dataset_id for row in rows)
        found: list[StreamedRead] = []
        for row in rows:
            unit = (*row.part, row.dataset_id)
            reads = [(*unit, read.version.version, read.inferred) for read in self._reads(row)]
            found += reads or [(*unit, "", False)]
        return found

    def parts_of(self, run_ids: Iterable[str]) -> list[RunPart]:
        """Return the parts of runs that read or made something."""
        found: set[RunPart] = set()
        for marks, some in marked_lists(sorted(set(run_ids))):
            for table in ("source_snapshot_lineage", "sink_snapshot_lineage"):
                sql = f"SELECT DISTINCT run_id, batch_id FROM {table} WHERE run_id IN ({marks})"  # noqa: S608 (marks)
                found |= {RunPart(run_id, batch_id) for run_id, batch_id in self._tables.query(sql, some)}
        return sorted(found)

    def readers(self, keys: Iterable[VersionKey]) -> dict[VersionKey, tuple[VersionRead, ...]]:
        """Return the reads of each of some versions, by whichever run."""
        wanted = set(keys)
        self._learn_readers({dataset_id for dataset_id, _ in wanted})
        return {key: tuple(self._readers[key.dataset].get(key.version, ())) for key in wanted}

    def forward(self, places: Iterable[VersionPlace]) -> list[VersionEdge]:
        """
        Return the edges that begin at versions: which versions keep their rows, and what runs made from them.

        Args:
            places: each version, with whether the rows are meant that it added, and not those that it kept.
        """
        every = list(places)
        return [*self.kept((key for key, _ in every), Direction.DOWNSTREAM), *self.used(every)]

    def backward(self, places: Iterable[VersionPlace]) -> list[VersionEdge]:
        """
        Return the edges that end at versions: whose rows they keep, and what runs made them from.

        Args:
            places: each version, with whether only the rows are meant that it added, and not all of its rows.
        """
        every = list(places)
        return [*self.kept((key for key, added in every if not added), Direction.UPSTREAM), *self.made_from(every)]

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
        """Return the edges from versions to those that runs made from them; the places are those of `forward`."""
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
        """Return the edges to versions from those that runs made them from; the places are those of `backward`."""
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
        """Leave out edges that a run's events do not have: they may state the inputs of each output."""
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

    def _without_summaries(self, rows: list[_Sink]) -> list[_Sink]:
        """
        Leave out rows without a version of runs within which another run wrote the dataset.

        An orchestrator's task states the writes of the statements in it: that is one version, and not two.
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
        # Runs that name each other as their parents are none of each other.
        summaries = {
            row
            for row in unnamed
            for each in within.get(row.run_id, set()) & writers[row.dataset_id]
            if row.run_id not in within.get(each, ())
        }
        return [row for row in rows if row not in summaries]

    def _children(self, run_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
        for marks, some in marked_lists(sorted(run_ids)):
            sql = f"SELECT run_id, parent_run_id FROM run WHERE parent_run_id IN ({marks})"  # noqa: S608 (marks)
            yield from ((child, parent) for child, parent in self._tables.query(sql, some))

    def _learn_readers(self, dataset_ids: set[int]) -> None:
        wanted = dataset_ids - set(self._readers)
        self.load(wanted)
        self._readers |= {each: {} for each in wanted}
        for listed in id_lists(wanted):
            here = f"i.dataset_id IN ({listed})"
            rows = self._tables.query(f"{_PLAIN_READS} AND {here} UNION {_STATED_READS} AND {here}")
            for row in _without_unnamed(map(_Source._make, rows)):
                for read in self._reads(row):
                    self._readers[row.dataset_id].setdefault(read.version.version, []).append(read)
        for dataset_id in wanted:
            for reads in self._readers[dataset_id].values():
                reads.sort(key=_read_order)

    def _reads(self, row: _Source) -> Iterator[VersionRead]:
        """Return the reads of one row of a source: a stream's micro-batch may have read several versions."""
        dataset_id, run_id, batch_id, snapshot, job_id, time, offset_from, offset_to, rows = row
        part, history = RunPart(run_id, batch_id), self._histories[dataset_id]
        found = versions_read(_Life(history, time), snapshot, offset_from, offset_to, rows)
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

    def _rows_of(self, parts: Iterable[RunPart], select: str, where: str = "") -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for some in in_parts(sorted(set(parts)), MOST_IN_A_LIST // 2):
            values = ", ".join(f"(?, {batch_id:d})" for _, batch_id in some)
            found += self._tables.query(
                f"WITH f (run_id, batch_id) AS (VALUES {values}) {select} "
                f"JOIN f ON f.run_id = l.run_id AND f.batch_id = l.batch_id {where}",
                [run_id for run_id, _ in some],
            )
        return found


def reach_versions(
    versions: StoredVersions,
    start: Iterable[VersionKey],
    direction: Direction,
    *,
    depth: int | None = None,
    as_of: int | None = None,
) -> VersionClosure:
    """
    Return what comes from the rows that versions added, or where all rows of versions come from.

    Args:
        versions: of the store.
        start: where to begin.
        direction: downstream or upstream.
        depth: how many runs to pass at most; None for all.
        as_of: ignore later versions, microseconds since 1970; None to ignore none.
    """
    # Downstream of what a version added is also what is downstream of what it kept; upstream it is the other way round.
    wider = direction is Direction.DOWNSTREAM
    return reach_places(versions, ((key, wider) for key in start), direction, depth=depth, as_of=as_of)


def reach_places(
    versions: StoredVersions,
    places: Iterable[VersionPlace],
    direction: Direction,
    *,
    depth: int | None = None,
    as_of: int | None = None,
) -> VersionClosure:
    """
    Return what comes from rows of versions, or where rows of versions come from.

    Args:
        versions: of the store.
        places: where to begin, as `StoredVersions.forward` and `StoredVersions.backward` take them.
        direction: as in `reach_versions`.
        depth: as in `reach_versions`.
        as_of: as in `reach_versions`.
    """
    down = wider = direction is Direction.DOWNSTREAM

    def shown(edge: VersionEdge) -> bool:
        return as_of is None or versions.get(edge.target).time <= as_of

    level: dict[VersionPlace, None] = dict.fromkeys(places)
    depths: dict[VersionKey, int] = {}
    seen, edges = set[VersionPlace](), dict[VersionEdge, None]()
    for passed in itertools.count():
        kept = list(level)
        while kept:
            seen |= set(kept)
            found = versions.kept((key for key, added in kept if down or not added), direction)
            edges |= dict.fromkeys(filter(shown, found))
            ends = [(edge.target if down else edge.source, False) for edge in filter(shown, found)]
            kept = [place for place in dict.fromkeys(ends) if not seen & {place, (place[0], wider)}]
            level |= dict.fromkeys(kept)
        depths |= {key: passed for key, _ in level if key not in depths}
        if not level or passed == depth:
            break
        using = list(filter(shown, versions.used(level) if down else versions.made_from(level)))
        edges |= dict.fromkeys(using)
        following = [(edge.target, True) if down else (edge.source, edge.added) for edge in using]
        level = dict.fromkeys(place for place in following if not seen & {place, (place[0], wider)})
    return VersionClosure(depths, tuple(edges), tuple(level))


def versions_lead_on(
    versions: StoredVersions, reached: VersionClosure, direction: Direction, as_of: int | None = None
) -> bool:
    """Return whether the lineage continues beyond the depth of a result; the rest is as in `reach_places`."""
    places = dict.fromkeys(reached.last)
    beyond = versions.used(places) if direction is Direction.DOWNSTREAM else versions.made_from(places)
    return any(as_of is None or versions.get(edge.target).time <= as_of for edge in beyond)


_SINKS = (
    "SELECT i.dataset_id, l.run_id, l.batch_id, l.snapshot, l.job_id, l.time, l.parent, l.change, l.row_count, l.bytes "
    "FROM dataset_identity i JOIN sink_snapshot_lineage l ON l.name_id = i.name_id "
    "LEFT JOIN run r ON r.run_id = l.run_id"
)
_MADE = MADE.format("l", "r")
# A batch run reads when it begins. A stream without reports of its micro-batches reads continuously.
_READ = (
    "SELECT i.dataset_id, l.run_id, l.batch_id, l.snapshot, l.job_id, "
    "CASE WHEN l.batch_id < 0 AND r.started < l.time AND coalesce(j.processing, '') <> 'STREAMING' "
    "THEN r.started ELSE l.time END, l.offset_from, l.offset_to, l.row_count "
    "FROM dataset_identity i "
)
_READER = "LEFT JOIN run r ON r.run_id = l.run_id LEFT JOIN job j ON j.job_id = l.job_id"
_SOURCES = f"{_READ}JOIN source_snapshot_lineage l ON l.name_id = i.name_id {_READER}"
# Each of the two conditions uses an index.
_PLAIN_READS = (
    f"{_READ}JOIN stated_read s ON s.name_id = i.name_id "
    f"JOIN source_snapshot_lineage l ON l.job_id = s.job_id AND l.name_id = s.name_id {_READER} "
    "WHERE l.snapshot = '' AND l.batch_id = -1"
)
_STATED_READS = f"{_SOURCES} WHERE (l.snapshot <> '' OR l.batch_id <> -1)"


def _without_unnamed(rows: Iterable[_Row]) -> list[_Row]:
    """Leave out rows without a version where another event of the same run and dataset names it."""
    every = list(rows)
    named = {(row.dataset_id, row.part) for row in every if row.snapshot}
    return [row for row in every if row.snapshot or (row.dataset_id, row.part) not in named]


def _read_order(read: VersionRead) -> tuple[int, RunPart, VersionKey]:
    return read.time, read.part, read.version


@attrs.frozen
class _Life:
    """
    The versions of a dataset in its life at a time: between two drops, the numbers belong to one table.

    Args:
        history: all of its versions.
        time: the time.
    """

    history: _History
    time: int

    def knows(self, id_: str) -> bool:
        return self.history.knows(self.history.id_at(id_, self.time))

    def parent(self, id_: str) -> str:
        return self.history.parent(self.history.id_at(id_, self.time)).partition(_LIFE)[0]

    def after(self, first: str, last: str) -> list[str] | None:
        found = self.history.after(*(self.history.id_at(each, self.time) for each in (first, last)))
        return None if found is None else [each.partition(_LIFE)[0] for each in found]

    def ids(self) -> Iterator[str]:
        life = _of_life("0", self.history.ends, self.time).partition(_LIFE)[2]
        return (number for number, _, own in (each.partition(_LIFE) for each in self.history.ids()) if own == life)


def _of_life(id_: str, ends: Sequence[int], time: int) -> str:
    """
    Return the id of a version with its life: one of an earlier life has its number, as in `3~1`, and others have none.

    Storages that number the versions of a table, as Delta Lake does, begin again when it is dropped and made again.

    Args:
        id_: the id that the storage gives it.
        ends: when the dataset was dropped.
        time: when the version was there.
    """
    before = bisect.bisect_left(ends, time)
    return f"{id_}{_LIFE}{before + 1}" if before < len(ends) and id_.isdecimal() else id_


def _of_lives(rows: dict[str, list[_Sink]], ends: Sequence[int]) -> dict[str, list[_Sink]]:
    """Return the rows of versions by their ids with their lives; as they are if no number comes again."""
    lives: dict[str, list[_Sink]] = {}
    for id_, made in rows.items():
        for row in made:
            lives.setdefault(_of_life(id_, ends, row.time), []).append(row)
    again = {each for each in lives if each in rows}
    comes_again = any(number in again for number, life, _ in (each.partition(_LIFE) for each in lives) if life)
    return lives if comes_again else rows


def _history(
    dataset_id: int, rows: dict[str, list[_Sink]], replacing: frozenset[str], ends: tuple[int, ...] = ()
) -> _History:
    """
    Return the versions of a dataset in order.

    Args:
        dataset_id: the dataset.
        rows: the id of each version -> the rows that state it.
        replacing: the changes that keep no rows.
        ends: when it was dropped.
    """
    found = {}
    for id_, writes in rows.items():
        # Two runs may report one version, as an orchestrator's task and the statement in it do.
        writes.sort(key=lambda row: (not row.run_id, row.row_count is None, -row.batch_id, row.time, row.run_id))
        first, made = writes[0], [row for row in writes if row.run_id]
        parent = next((row.parent for row in writes if row.parent), "")
        if parent and _LIFE in id_:
            parent = f"{parent}{id_[id_.index(_LIFE) :]}"
        found[id_] = DatasetVersion(
            dataset_id,
            id_,
            VersionKind.STORAGE if first.snapshot else VersionKind.RUN,
            min(row.time for row in made or writes),
            tuple(dict.fromkeys(row.part for row in made)),
            first.job_id,
            parent if parent in rows and parent != id_ else "",
            storage_parent=parent,
            change=next((row.change for row in writes if row.change), ""),
            rows=first.row_count,
            bytes=first.bytes,
        )
    versions: list[DatasetVersion] = []
    for version in _in_order(found):
        before = version.parent or (versions[-1].id if versions else "")
        versions.append(
            attrs.evolve(
                version,
                parent=before,
                parent_inferred=bool(before) and not version.parent,
                keeps=bool(before) and version.change not in replacing,
            )
        )
    following: dict[str, tuple[DatasetVersion, ...]] = {}
    for version in versions:
        following[version.parent] = (*following.get(version.parent, ()), version)
    return _History(tuple(versions), {each.id: place for place, each in enumerate(versions)}, following, ends)


def _in_order(found: dict[str, DatasetVersion]) -> list[DatasetVersion]:
    """
    Return versions in order: each after its parent, and otherwise by time.

    A run states its version when it ends. Where a later version was stated before, the earlier one was there by then
    too: its time is brought forward.
    """
    children: dict[str, list[str]] = {}
    for version in found.values():
        if version.parent:
            children.setdefault(version.parent, []).append(version.id)
    times = {id_: version.time for id_, version in found.items()}
    # Each version once, the latest first: the time of a child is final before that of its parent is looked at.
    waiting = {id_: len(children.get(id_, ())) for id_ in found}
    ready = [id_ for id_, count in waiting.items() if not count]
    for id_ in ready:
        parent = found[id_].parent
        if parent:
            times[parent] = min(times[parent], times[id_])
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    heap = [(times[id_], *_natural(id_)) for id_, version in found.items() if not version.parent]
    # No storage has parents in a cycle: each of them is treated as if it had none.
    circle = set(found) - set(ready)
    heap += [(times[id_], *_natural(id_)) for id_ in circle if found[id_].parent]
    heapq.heapify(heap)
    ordered, done = [], set[str]()
    while heap:
        time, _, id_ = heapq.heappop(heap)
        if id_ in done:
            continue
        done.add(id_)
        parent = "" if id_ in circle else found[id_].parent
        ordered.append(attrs.evolve(found[id_], time=time, parent=parent))
        for child in children.get(id_, ()):
            heapq.heappush(heap, (times[child], *_natural(child)))
    return ordered


def _natural(id_: str) -> tuple[int, str]:
    """Return the sort key of versions that were made at one time: numbers by their value."""
    return (len(id_) if id_.isdigit() else 0), id_
