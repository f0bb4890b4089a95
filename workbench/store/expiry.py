"""
Drop old events from a store; keep the current lineage and its origins.

Runs are kept or dropped as a whole, with all of their events. All other tables are then rebuilt from the remaining
events, so that each row is stated by an event.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.workbench.events.read import facts
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.store.current import Current, time_of_now
from openlineage_pyspark.workbench.store.events.rows import parse_event
from openlineage_pyspark.workbench.store.names import DroppedRuns, QueriedTables, rows_by_id, rows_by_text
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql, marked_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

_COUNTED = ("event", "run", "job", "dataset", "source_snapshot_lineage", "sink_snapshot_lineage", "column_lineage")


class ExpirableTables(QueriedTables, Protocol):
    """The tables of an engine that can expire."""

    def forget(self, chosen: Callable[[], Iterable[str]], lost: Callable[[], Iterable[DroppedRuns]] = tuple) -> int:
        """
        Delete events, rebuild all other tables, and return how many events were deleted.

        Args:
            chosen: returns the ids of the events.
            lost: returns, after `chosen`, the runs of these events, which the store records as dropped.
        """

    def shrink(self) -> bool:
        """Give the space of deleted rows back to the file system, and return whether it was possible."""

    def size(self) -> int | None:
        """Return how many bytes there are; None if it is unknown."""


@attrs.frozen
class Expired:
    """
    The dropped events and runs, or those that would be dropped.

    Args:
        events: how many events.
        runs: how many runs.
        before: how many rows each table had.
        after: how many it has now; in a dry run, the same as before.
        size_before: the size of the store's file, in bytes; None of one in Spark's tables.
        size_after: the same afterwards.
        shrunk: whether the file was made smaller.
    """

    events: int
    runs: int
    before: dict[str, int]
    after: dict[str, int]
    size_before: int | None
    size_after: int | None
    shrunk: bool


def expire(tables: ExpirableTables, time: int, *, dry_run: bool = False) -> Expired:
    """
    Drop runs that are older than a time and neither current nor the origin of current data.

    Args:
        tables: the store.
        time: microseconds since 1970.
        dry_run: whether to report what would be dropped, and drop nothing.

    Returns:
        The dropped runs and events.

    Raises:
        StoreError: the store can't be written.
    """
    dropped = _Dropped(tables, time)
    before, size = _counts(tables), tables.size()
    if dry_run:
        events = len(dropped.events())
        return Expired(events, dropped.runs, before, before, size, size, shrunk=False)
    events = tables.forget(dropped.events, lambda: lost_runs(tables, dropped.lost))
    shrunk = tables.shrink() if events else False
    return Expired(events, dropped.runs, before, _counts(tables), size, tables.size(), shrunk)


def lost_runs(tables: QueriedTables, lost: Iterable[str], without: Container[int] = ()) -> list[DroppedRuns]:
    """
    Return runs that are about to be dropped, by jobs and by the datasets that they read or wrote.

    Args:
        tables: the store.
        lost: the ids of the runs.
        without: the names of datasets that are not to be named.
    """
    found: dict[tuple[str, str, int], tuple[set[str], int]] = {}
    sql = (
        "SELECT j.namespace, j.name, coalesce(l.name_id, 0), r.run_id, r.last_time FROM run r "
        "JOIN job j ON j.job_id = r.job_id LEFT JOIN (SELECT run_id, name_id FROM source_snapshot_lineage "
        "UNION SELECT run_id, name_id FROM sink_snapshot_lineage) l ON l.run_id = r.run_id "
        "WHERE r.run_id IN ({marks})"
    )
    for namespace, name, name_id, run, time in rows_by_text(tables, sql, sorted(lost)):
        key = (namespace, name, 0 if name_id in without else name_id)
        runs, last = found.setdefault(key, (set(), time))
        found[key] = ({*runs, run}, max(last, time))
    return [DroppedRuns(*key, len(runs), last) for key, (runs, last) in sorted(found.items())]


class _Dropped:
    """
    Which events are dropped.

    Args:
        tables: the store.
        time: runs from then on stay, microseconds since 1970.
    """

    def __init__(self, tables: QueriedTables, time: int) -> None:
        self._tables = tables
        self._time = time
        # The versions of a dataset: when each was written, and by which run.
        self._known: dict[int, list[tuple[int, str]]] = {}
        self.lost: set[str] = set()

    @property
    def runs(self) -> int:
        """Return how many runs are dropped."""
        return len(self.lost)

    def events(self) -> list[str]:
        """Return the ids of the dropped events."""
        kept = self._kept_runs()
        old = self._tables.query("SELECT run_id, event_id FROM event WHERE run_id <> '' ORDER BY run_id")
        found = [(run, event) for run, event in old if run not in kept]
        self.lost = {run for run, _ in found}
        return [event for _, event in found] + self._without_run()

    def _kept_runs(self) -> set[str]:
        recent = self._tables.query("SELECT run_id FROM run WHERE last_time >= ?", (self._time,))
        kept = {run for (run,) in recent}
        # If events have times in the future, keep both their lineage and the lineage that is current until then.
        for now in {FOREVER, time_of_now(self._tables)}:
            kept |= self._newest(now) | self._current(now)
        waiting = kept
        while waiting:
            found = set(self._origins(waiting)) | set(self._parents(waiting))
            waiting = found - kept
            kept |= waiting
        return kept

    def _current(self, now: int) -> set[str]:
        """Return the runs that state what each job does; of a job that never completed, its latest run too."""
        jobs = {job for (job,) in self._tables.query("SELECT DISTINCT job_id FROM run")}
        latest = self._tables.query(
            "SELECT run_id FROM (SELECT r.run_id, row_number() OVER (PARTITION BY r.job_id "
            "ORDER BY coalesce(r.started, r.first_time) DESC, r.run_id) AS place FROM run r WHERE r.job_id NOT IN "
            "(SELECT c.job_id FROM run c WHERE c.state = 'COMPLETE') AND coalesce(r.started, r.first_time) <= ?) o "
            "WHERE place = 1",
            (now,),
        )
        return Current(self._tables, now).runs(jobs) | {run for (run,) in latest}

    def _newest(self, now: int) -> set[str]:
        """Return the runs that wrote the newest version of each dataset."""
        rows = self._tables.query(
            "SELECT run_id FROM (SELECT s.run_id, rank() OVER (PARTITION BY i.dataset_id ORDER BY s.time DESC) "
            "AS place FROM sink_snapshot_lineage s JOIN dataset_identity i ON i.name_id = s.name_id WHERE s.time <= ?) "
            "WHERE place = 1",
            (now,),
        )
        return {run for (run,) in rows}

    def _origins(self, runs: Iterable[str]) -> Iterator[str]:
        """
        Yield the runs that wrote what these runs read.

        Reads of a dataset that the run wrote itself are left out: a MERGE makes each version of a table from the one
        before, and all of them would remain for ever.
        """
        for marks, part in marked_lists(runs):
            read = checked_sql(
                "WITH r AS (SELECT s.run_id, i.dataset_id, s.snapshot, s.time FROM source_snapshot_lineage s "
                "JOIN dataset_identity i ON i.name_id = s.name_id WHERE s.run_id IN ({marks}) "
                "AND NOT EXISTS (SELECT 1 FROM sink_snapshot_lineage o JOIN dataset_identity d "
                "ON d.name_id = o.name_id WHERE o.run_id = s.run_id AND d.dataset_id = i.dataset_id))",
                marks=marks,
            )
            stated = checked_sql(
                "{read} SELECT w.run_id FROM r JOIN dataset_identity d ON d.dataset_id = r.dataset_id "
                "JOIN sink_snapshot_lineage w ON w.name_id = d.name_id AND w.snapshot = r.snapshot "
                "WHERE r.snapshot <> ''",
                read=read,
            )
            yield from (run for (run,) in self._tables.query(stated, part) if run)
            # A read without a version was of the one that was current then.
            current = checked_sql(
                "{read} SELECT DISTINCT r.run_id, r.dataset_id, r.time FROM r WHERE r.snapshot = ''", read=read
            )
            yield from self._writers(self._tables.query(current, part))

    def _writers(self, reads: list[tuple[str, int, int]]) -> Iterator[str]:
        """Yield the last other run that wrote before each read; a read is a run, a dataset and a time."""
        written: dict[int, list[tuple[int, str]]] = {}
        sql = (
            "SELECT d.dataset_id, w.time, w.run_id FROM dataset_identity d "
            "JOIN sink_snapshot_lineage w ON w.name_id = d.name_id WHERE d.dataset_id IN ({ids})"
        )
        unknown = {dataset for _, dataset, _ in reads} - self._known.keys()
        for dataset, time, run in rows_by_id(self._tables, sql, unknown):
            written.setdefault(dataset, []).append((time, run))
        self._known |= {dataset: sorted(found) for dataset, found in written.items()}
        for run, dataset, time in reads:
            found = self._known.get(dataset, [])
            before = bisect.bisect_left(found, (time + 1, ""))
            while before and found[before - 1][1] == run:
                before -= 1
            if before:
                yield found[before - 1][1]

    def _parents(self, runs: Iterable[str]) -> Iterator[str]:
        sql = "SELECT parent_run_id, root_run_id FROM run WHERE run_id IN ({marks})"
        yield from (run for row in rows_by_text(self._tables, sql, runs) for run in row if run)

    def _without_run(self) -> list[str]:
        """Return the events of jobs and datasets whose whole content later events repeat."""
        last: dict[tuple[str, str], str] = {}
        events = self._tables.query("SELECT event_id, time, json FROM event WHERE run_id = '' ORDER BY time, event_id")
        for event_id, _, text in events:
            last |= dict.fromkeys(_subjects(text), event_id)
        kept = set(last.values())
        return [event_id for event_id, time, _ in events if time < self._time and event_id not in kept]


def _subjects(text: str) -> Iterator[tuple[str, str]]:
    """Return the subject of an event of a job or a dataset, and the names of its facets."""
    event = facts(parse_event(text))
    lists = [name for name, found in (("inputs", event.inputs), ("outputs", event.outputs)) if found]
    for kind, owner, more in (("job", event.job, lists), ("dataset", event.dataset, [])):
        if owner is not None:
            subject = f"{kind}\0{owner.namespace}\0{owner.name}"
            yield from ((subject, name) for name in ("", *owner.facet_names, *more))


def _counts(tables: QueriedTables) -> dict[str, int]:
    return {name: tables.query(checked_sql("SELECT count(*) FROM {table}", table=name))[0][0] for name in _COUNTED}
