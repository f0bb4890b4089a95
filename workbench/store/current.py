"""
What holds at a time, of all that was ever said of jobs.

For each job and each dataset that it writes, that is what the last complete run said that wrote it, and the other runs
of the same parent: two statements of one application may be runs of one job. So a job that is called once for each
table keeps all of them. A run that failed changes nothing, and what was said before the dataset was dropped is over, or
before another job has overwritten it; but not if its name or its statement says that it overwrites partitions alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.store.tables.ids import id_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openlineage_pyspark.workbench.store.names import QueriedTables

_STARTED = "coalesce({0}.started, {0}.first_time)"
_R, _S = _STARTED.format("r"), _STARTED.format("s")


@attrs.frozen
class Span:
    """
    When something must have been said to hold, in microseconds since 1970.

    Args:
        since: what was last said before it, a job does no longer.
        until: what was first said after it, only runs say that failed.
    """

    since: int = 0
    until: int = FOREVER

    def has(self, first: int, last: int) -> bool:
        """Return whether what was said from a first to a last time holds."""
        return last >= self.since and first <= self.until


_NEVER = Span(since=FOREVER)
PARTITION_OPERATORS = ("overwrite_partitions_dynamic", "dynamic_partition_overwrite")
"""The operators, as names of jobs have them, that replace those partitions alone of which they write rows."""
_PARTITIONS = re.compile(r"\bPARTITION\s*\(|\bREPLACE\s+(WHERE|USING)\b", re.IGNORECASE)
_FAILED = frozenset(("FAIL", "ABORT"))


@attrs.frozen
class _LastRuns:
    """
    The last complete runs of jobs, or of jobs and datasets, and the runs beside them.

    Args:
        started: when the last one started.
        span: from the first of all to the end of the last that is complete.
    """

    started: int
    span: Span


class Current:
    """
    Tells what holds; what it has learnt of a job, it does not ask for again.

    Args:
        tables: the store.
        time: for which to tell, microseconds since 1970.
        ever: whether everything holds that was said until then.
    """

    def __init__(self, tables: QueriedTables, time: int, *, ever: bool) -> None:
        self._tables = tables
        self._time = time
        self._ever = ever
        self._of_jobs: dict[int, Span] = {}
        # A job -> the datasets that it writes, each with its span.
        self._of_outputs: dict[int, dict[int, Span]] = {}

    def learn(self, jobs: Iterable[int]) -> None:
        """Ask for what is needed to tell of some jobs, all at once."""
        unknown = set(jobs) - self._of_jobs.keys()
        if self._ever or not unknown:
            self._of_jobs |= dict.fromkeys(unknown, Span())
            return
        last = self._last_runs(unknown)
        later = self._later_runs(unknown, last)
        # Only runs that failed came later: what they alone have said does not hold.
        failed = {job for job, states in later.items() if states <= _FAILED}
        for job in unknown:
            found = last.get(job)
            span = Span() if found is None else found.span
            self._of_jobs[job] = span if job in failed else attrs.evolve(span, until=FOREVER)
        written: dict[tuple[int, int], int] = {}
        for listed in id_lists(unknown):
            rows = self._tables.query(
                "SELECT l.job_id, i.dataset_id, max(l.last_time) FROM told_write l "  # noqa: S608 (numbers alone)
                f"JOIN dataset_identity i ON i.name_id = l.name_id WHERE l.job_id IN ({listed}) AND l.first_time <= ? "
                "GROUP BY l.job_id, i.dataset_id",
                (self._time,),
            )
            written |= {(job, dataset): time for job, dataset, time in rows}
        # What was said of an output since the last complete runs began, these have said: there are no later ones.
        sure = () if self._time != FOREVER else last.keys() - later.keys()
        apart = {pair for pair, time in written.items() if pair[0] not in sure or time < last[pair[0]].span.since}
        own = self._own_spans(apart, later.keys() - failed)
        in_vain = {pair for pair in apart - own.keys() if pair[0] in failed - last.keys()}
        own |= dict.fromkeys(in_vain - self._unwritten(in_vain), _NEVER)
        dropped = self._dropped({dataset for _, dataset in written})
        replaced = self._replaced({dataset for _, dataset in written})
        for job, dataset in written:
            span = own.get((job, dataset), self._of_jobs[job])
            others = (time for other, time in replaced.get(dataset, {}).items() if other != job)
            over = max(dropped.get(dataset, -1), *others, -1)
            if over >= span.since:
                span = attrs.evolve(span, since=over + 1)
            self._of_outputs.setdefault(job, {})[dataset] = span

    def holds(self, job: int, output: int, first: int, last: int, *, by_run: bool = True) -> bool:
        """
        Return whether what was said of a job and of a dataset that it writes holds.

        Args:
            job: the job, of those that were learnt.
            output: the dataset.
            first: when it was first said, microseconds since 1970.
            last: when it was last said.
            by_run: whether a run said it, and not an event of the job alone.
        """
        span = self._of_outputs.get(job, {}).get(output, self._of_jobs[job])
        return first <= self._time and span.has(first if by_run else 0, last)

    def holds_read(self, job: int, first: int, last: int) -> bool:
        """Return whether what was said of a dataset that a job reads holds: for one at least that it writes."""
        spans = self._of_outputs.get(job, {}).values() or [self._of_jobs[job]]
        return first <= self._time and any(span.has(first, last) for span in spans)

    def _last_runs(self, jobs: Iterable[int]) -> dict[int, _LastRuns]:
        found: dict[int, _LastRuns] = {}
        for listed in id_lists(jobs):
            rows = self._tables.query(
                f"SELECT r.job_id, l.started, min({_S}), max(CASE WHEN s.state = 'COMPLETE' "  # noqa: S608 (numbers)
                f"AND {_S} <= ? THEN coalesce(s.ended, s.last_time) END) FROM ("
                f"SELECT r.job_id, max({_R}) AS started FROM run r "
                f"WHERE r.job_id IN ({listed}) AND r.state = 'COMPLETE' AND {_R} <= ? GROUP BY r.job_id) l "
                f"JOIN run r ON r.job_id = l.job_id AND r.state = 'COMPLETE' AND {_R} = l.started "
                "JOIN run s ON s.job_id = r.job_id AND (s.run_id = r.run_id OR s.parent_run_id = r.parent_run_id) "
                "GROUP BY r.job_id, l.started",
                (self._time, self._time),
            )
            found |= {job: _LastRuns(started, Span(since, until)) for job, started, since, until in rows}
        return found

    def _later_runs(self, jobs: Iterable[int], last: Mapping[int, _LastRuns]) -> dict[int, set[str]]:
        """Return the states of the runs that started after the last complete ones of their jobs."""
        found: dict[int, set[str]] = {}
        for listed in id_lists(jobs):
            rows = self._tables.query(
                f"SELECT r.job_id, r.state, max({_R}) FROM run r WHERE r.job_id IN ({listed}) "  # noqa: S608 (numbers)
                f"AND r.state IN ('FAIL', 'ABORT', 'START', 'RUNNING', 'OTHER') AND {_R} <= ? "
                "GROUP BY r.job_id, r.state",
                (self._time,),
            )
            for job, state, started in rows:
                if job not in last or started > last[job].started:
                    found.setdefault(job, set()).add(state)
        return found

    def _unwritten(self, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """Return those pairs of a job and a dataset whose dataset no complete run has written."""
        written: set[int] = set()
        for listed in id_lists(dataset for _, dataset in pairs):
            rows = self._tables.query(
                "SELECT DISTINCT i.dataset_id FROM dataset_identity i "  # noqa: S608 (numbers alone)
                "JOIN sink_snapshot_lineage w ON w.name_id = i.name_id "
                f"JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' AND {_R} <= ? "
                f"WHERE i.dataset_id IN ({listed})",
                (self._time,),
            )
            written |= {dataset for (dataset,) in rows}
        return {pair for pair in pairs if pair[1] not in written}

    def _own_spans(self, pairs: set[tuple[int, int]], running: set[int]) -> dict[tuple[int, int], Span]:
        """Return the spans of jobs and datasets by the last complete runs that wrote these; `running` go on."""
        found: dict[tuple[int, int], Span] = {}
        wrote = (
            "FROM dataset_identity i JOIN sink_snapshot_lineage w ON w.name_id = i.name_id "
            f"JOIN run r ON r.run_id = w.run_id WHERE {_R} <= ? AND i.dataset_id IN "
        )
        jobs = ",".join(map(str, sorted({job for job, _ in pairs})))
        for listed in id_lists(dataset for _, dataset in pairs):
            rows = self._tables.query(
                f"SELECT l.job_id, l.dataset_id, min({_S}), max(CASE WHEN s.state = 'COMPLETE' "  # noqa: S608 (numbers)
                f"AND {_S} <= ? THEN coalesce(s.ended, s.last_time) END) FROM ("
                f"SELECT r.job_id, i.dataset_id, max({_R}) AS started {wrote} ({listed}) AND r.job_id IN ({jobs}) "
                "AND r.state = 'COMPLETE' GROUP BY r.job_id, i.dataset_id) l "
                f"JOIN run r ON r.job_id = l.job_id AND r.state = 'COMPLETE' AND {_R} = l.started "
                "JOIN run s ON s.job_id = r.job_id AND (s.run_id = r.run_id OR s.parent_run_id = r.parent_run_id) "
                "GROUP BY l.job_id, l.dataset_id",
                (self._time, self._time),
            )
            for job, dataset, since, until in rows:
                found[job, dataset] = Span(since, FOREVER if job in running else until)
        return found

    def _replaced(self, datasets: Iterable[int]) -> dict[int, dict[int, int]]:
        """Return when jobs last replaced datasets as a whole: dataset -> job -> time."""
        found: dict[int, dict[int, int]] = {}
        for listed in id_lists(datasets):
            rows = self._tables.query(
                "SELECT i.dataset_id, w.job_id, j.name, j.sql, max(w.time) FROM dataset_identity i "  # noqa: S608 (numbers alone)
                "JOIN sink_snapshot_lineage w ON w.name_id = i.name_id AND w.change = 'OVERWRITE' "
                "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' JOIN job j ON j.job_id = w.job_id "
                f"WHERE i.dataset_id IN ({listed}) AND w.time <= ? GROUP BY i.dataset_id, w.job_id, j.name, j.sql",
                (self._time,),
            )
            for dataset, job, name, sql, time in rows:
                if not any(operator in name for operator in PARTITION_OPERATORS) and not _PARTITIONS.search(sql or ""):
                    found.setdefault(dataset, {})[job] = time
        return found

    def _dropped(self, datasets: Iterable[int]) -> dict[int, int]:
        """Return when datasets were dropped last."""
        found: dict[int, int] = {}
        for listed in id_lists(datasets):
            found |= dict(
                self._tables.query(
                    "SELECT i.dataset_id, max(w.time) FROM dataset_identity i "  # noqa: S608 (numbers alone)
                    "JOIN sink_snapshot_lineage w ON w.name_id = i.name_id AND w.change = 'DROP' "
                    "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' "
                    f"WHERE i.dataset_id IN ({listed}) AND w.time <= ? GROUP BY i.dataset_id",
                    (self._time,),
                )
            )
        return found
