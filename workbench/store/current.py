"""
Find the lineage that is current at a time, among all that events ever stated about jobs.

A job may write several datasets. For each of them, the last complete run that wrote it is current, and so are the other
complete runs of the same parent that wrote it, since two statements of one application may be runs of one job. A job
that is called once for each table thus keeps all of them. Later runs that are still open are current too; a failed run
changes nothing. A description ends when the dataset is dropped, or when another job overwrites it, unless that job's
name or statement shows that it overwrites partitions only.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from openlineage_pyspark.workbench.model.times import BEFORE_ALL, FOREVER, micros_of_time
from openlineage_pyspark.workbench.store.described import JobDatasets, described_by_runs, described_without_runs
from openlineage_pyspark.workbench.store.names import datasets_by_name, rows_by_id
from openlineage_pyspark.workbench.store.tables.checked_sql import (
    ANY,
    CheckedSql,
    checked_sql,
    id_list,
    id_lists,
    marked_lists,
)

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.described import Writing
    from openlineage_pyspark.workbench.store.names import QueriedTables

JobOutput: TypeAlias = "tuple[int, int]"
"""A job, and a dataset that it writes."""
Flow: TypeAlias = "tuple[int, int, int]"
"""A dataset, one that is made from it, and the job that does it."""

PARTITION_OPERATORS = ("overwrite_partitions_dynamic", "dynamic_partition_overwrite")
"""The operators, as names of jobs have them, that replace only the partitions of which they write rows."""
_PARTITIONS = re.compile(r"\bPARTITION\s*\(|\bREPLACE\s+(WHERE|USING)\b", re.IGNORECASE)

# Clocks differ, and a clock without a time zone by up to 14 hours.
_AHEAD_MICROS = 24 * 60 * 60 * 1_000_000
_NOTHING = JobDatasets()
_COMPLETE = CheckedSql("'COMPLETE'")
_FAILED = CheckedSql("'FAIL', 'ABORT'")
_OPEN = CheckedSql("'START', 'RUNNING', 'OTHER'")


@functools.cache
def _began(run: str) -> CheckedSql:
    return checked_sql("coalesce({run}.started, {run}.first_time)", run=run)


@functools.cache
def _ended(run: str) -> CheckedSql:
    return checked_sql("coalesce({run}.ended, {run}.last_time)", run=run)


_COLUMNS = checked_sql(
    "r.job_id, r.run_id, coalesce(r.parent_run_id, '') AS parent, {began} AS began, r.last_time", began=_began("r")
)
_RUNS = CheckedSql("run r")


def latest_present() -> int:
    """Return the time after which no event can have been made yet, microseconds since 1970."""
    return micros_of_time(datetime.now(timezone.utc)) + _AHEAD_MICROS


def time_of_now(tables: QueriedTables) -> int:
    """Return the time at which to read the current lineage: `FOREVER`, unless an event has a time in the future."""
    present = latest_present()
    [(newest,)] = tables.query("SELECT max(last_time) FROM job")
    return FOREVER if newest is None or newest <= present else present


class EdgeRow(NamedTuple):
    """A row of `stated_edge`, with the datasets that its names belong to."""

    source: int
    read: str
    target: int
    written: str
    job: int
    type: str
    subtype: str
    masking: int
    expression: str
    run: str
    time: int = 0
    description: int = 0


EDGE_COLUMNS = CheckedSql(
    "s.dataset_id, c.input_column, t.dataset_id, c.output_column, c.job_id, coalesce(c.type, ''), "
    "coalesce(c.subtype, ''), coalesce(c.masking, 0), c.expression, coalesce(c.last_run, ''), "
    "c.last_time, c.description"
)
"""The columns of an `EdgeRow` in `EDGES`."""
EDGES = CheckedSql(
    "stated_edge c JOIN dataset_identity s ON s.name_id = c.input_id JOIN dataset_identity t ON t.name_id = c.output_id"
)
"""The edges between columns with the datasets of their names, as SQL lists tables."""


def edges_of_rows(rows: Iterable[tuple[Any, ...]]) -> list[EdgeRow]:
    """Return rows as edges in order. Of rows that differ only in run, time and description, the latest one stays."""
    found: dict[tuple[Any, ...], EdgeRow] = {}
    for row in map(EdgeRow._make, rows):
        before = found.get(row[:9])
        if before is None or (row.time, row.run) > (before.time, before.run):
            found[row[:9]] = row
    return [found[key] for key in sorted(found)]


class _Run(NamedTuple):
    """A run: its job, its id, its parent, when it began, the time of its last event, and whether it is complete."""

    job: int
    id: str
    parent: str
    began: int
    last_time: int
    is_complete: bool


class _Holding(NamedTuple):
    """The description of a job and an output: how it is written, its last time, if its run is complete, and the run."""

    described: JobDatasets
    output: Writing
    last_time: int
    is_done: bool
    run: str


class _Runs:
    """
    The runs of jobs at a time.

    Args:
        tables: the store.
        time: microseconds since 1970. A run that ended later is still open then.
    """

    def __init__(self, tables: QueriedTables, time: int) -> None:
        self._tables = tables
        self._is_now = time == FOREVER
        self._time = int(time)

    def last(self, jobs: Iterable[int]) -> list[_Run]:
        """Return the last complete run of each job; several if they began at the same time."""
        found: list[_Run] = []
        for listed in id_lists(jobs):
            # An engine with indexes finds the greatest value of one job in one step.
            last = checked_sql(
                "SELECT j.job_id, (SELECT max({began}) FROM run m WHERE m.job_id = j.job_id "
                "AND {is_in}) AS began FROM job j WHERE j.job_id IN ({ids})",
                began=_began("m"),
                is_in=self._is_in(_COMPLETE, "m"),
                ids=listed,
            )
            of_last = "({last}) l JOIN run r ON r.job_id = l.job_id AND {began} = l.began"
            found += self._asked(checked_sql(of_last, last=last, began=_began("r")), _COMPLETE)
        return found

    def unfinished(self, jobs: Iterable[int]) -> list[_Run]:
        """Return the runs of jobs that have not ended."""
        return self._of_jobs(jobs, _OPEN)

    def failed(self, jobs: Iterable[int]) -> list[_Run]:
        """Return the runs of jobs that failed or were stopped."""
        return self._of_jobs(jobs, _FAILED)

    def beside(self, runs: Iterable[_Run]) -> list[_Run]:
        """Return the complete and the unfinished runs of the same jobs and parents as some runs."""
        parents = {(run.job, run.parent) for run in runs if run.parent}
        found: list[_Run] = []
        for marks, part in marked_lists(sorted({parent for _, parent in parents})):
            jobs = id_list(job for job, parent in parents if parent in part)
            where = checked_sql("r.parent_run_id IN ({marks}) AND r.job_id IN ({jobs})", marks=marks, jobs=jobs)
            for state in (_COMPLETE, _OPEN):
                found += self._asked(_RUNS, state, where, part)
        return [run for run in found if (run.job, run.parent) in parents]

    def last_that_wrote(self, outputs: Collection[JobOutput]) -> dict[JobOutput, list[_Run]]:
        """Return the last complete run of each job that wrote an output."""
        found: dict[JobOutput, list[_Run]] = {}
        for listed in id_lists(dataset for _, dataset in outputs):
            jobs = id_list(job for job, _ in outputs)
            ranked = checked_sql(
                "SELECT {columns}, i.dataset_id, "
                "rank() OVER (PARTITION BY r.job_id, i.dataset_id ORDER BY {began} DESC) AS place "
                "FROM dataset_identity i JOIN sink_snapshot_lineage w ON w.name_id = i.name_id "
                "JOIN run r ON r.run_id = w.run_id AND r.job_id IN ({jobs}) AND {is_in} "
                "WHERE i.dataset_id IN ({ids})",
                columns=_COLUMNS,
                began=_began("r"),
                jobs=jobs,
                is_in=self._is_in(_COMPLETE, "r"),
                ids=listed,
            )
            last = (
                "SELECT DISTINCT job_id, run_id, parent, began, last_time, dataset_id FROM ({ranked}) o WHERE place = 1"
            )
            rows = self._tables.query(checked_sql(last, ranked=ranked))
            for job, run, parent, began, last_time, dataset in rows:
                if (job, dataset) in outputs:
                    done = _Run(job, run, parent, began, last_time, is_complete=True)
                    found.setdefault((job, dataset), []).append(done)
        return found

    def _of_jobs(self, jobs: Iterable[int], state: CheckedSql) -> list[_Run]:
        return [
            run
            for listed in id_lists(jobs)
            for run in self._asked(_RUNS, state, checked_sql("r.job_id IN ({ids})", ids=listed))
        ]

    def _asked(
        self, tables: CheckedSql, state: CheckedSql, where: CheckedSql = ANY, parameters: Iterable[str] = ()
    ) -> list[_Run]:
        rows = self._tables.query(
            checked_sql(
                "SELECT {columns} FROM {tables} WHERE {where} AND {is_in}",
                columns=_COLUMNS,
                tables=tables,
                where=where,
                is_in=self._is_in(state, "r"),
            ),
            [*parameters],
        )
        return [_Run._make((*row, state == _COMPLETE)) for row in rows]

    def _is_in(self, state: CheckedSql, run: str) -> CheckedSql:
        """Return the condition that a run, by its alias, is in a state at the time."""
        is_in = checked_sql("{run}.state IN ({state})", run=run, state=state)
        if self._is_now:
            return is_in
        at_the_time = "{is_in} AND {began} <= {time} AND {ended} <= {time}"
        if state == _OPEN:
            at_the_time = "{began} <= {time} AND ({is_in} OR {ended} > {time})"
        return checked_sql(at_the_time, is_in=is_in, began=_began(run), ended=_ended(run), time=self._time)


class Current:
    """
    Find the current lineage; each job and output is read from the store once.

    Args:
        tables: the store.
        time: for which to answer, microseconds since 1970.
    """

    def __init__(self, tables: QueriedTables, time: int) -> None:
        self._tables = tables
        self._time = time
        self._runs = _Runs(tables, time)
        # The last complete run of each job, with those of the same parent, and the later ones that have not ended.
        self._last: dict[int, list[_Run]] = {}
        self._began: dict[int, int] = {}
        # The jobs whose runs have all failed.
        self._failing: set[int] = set()
        self._described: dict[str, JobDatasets] = {}
        self._dataset_of: dict[int, int] = {}
        self._writers: dict[int, set[int]] = {}
        self._holding: dict[JobOutput, list[_Holding]] = {}

    def outputs(self, jobs: Iterable[int]) -> set[JobOutput]:
        """Return the datasets that jobs have ever written."""
        return self._written("l.job_id", jobs)

    def writers(self, datasets: Collection[int]) -> set[JobOutput]:
        """Return the jobs that have ever written datasets."""
        unknown = set(datasets) - self._writers.keys()
        self._writers |= {dataset: set() for dataset in unknown}
        for job, dataset in self._written("i.dataset_id", unknown):
            self._writers[dataset].add(job)
        return {(job, dataset) for dataset in datasets for job in self._writers[dataset]}

    def flows_into(self, datasets: Collection[int]) -> set[Flow]:
        """Return the current edges upstream of datasets."""
        outputs = self.writers(datasets)
        self.learn(outputs)
        return {(source, dataset, job) for job, dataset in outputs for source in self.sources(job, dataset)}

    def flows_from(self, datasets: Collection[int]) -> set[Flow]:
        """Return the current edges downstream of datasets."""
        outputs = self.outputs(self._readers(datasets))
        self.learn(outputs)
        return {
            (source, dataset, job)
            for job, dataset in outputs
            for source in self.sources(job, dataset)
            if source in datasets
        }

    def learn(self, outputs: Iterable[JobOutput]) -> None:
        """Load the current lineage of some outputs of jobs, all at once."""
        new = set(outputs) - self._holding.keys()
        if not new:
            return
        jobs = {job for job, _ in new}
        self._learn_jobs(jobs - self._last.keys())
        runs = self._runs_that_hold(new)
        alone = described_without_runs(self._tables, jobs, self._time)
        every = [each for found in alone.values() for each in found]
        self._learn_datasets(name for each in every for name in (*each.described.read, *each.described.written))
        over = self._over({dataset for _, dataset in new})
        for job, dataset in new:
            chosen = runs[job, dataset]
            since = min((run.began for run in chosen if run.is_complete), default=self._began.get(job, BEFORE_ALL))
            stated = [(self._described[run.id], run.last_time, run.is_complete, run.id) for run in chosen]
            stated += [(*each, False, "") for each in alone.get(job, ()) if each.last_time >= since]
            holding = [
                _Holding(described, output, last_time, is_done, run)
                for described, last_time, is_done, run in stated
                for output in self._outputs_of(described, dataset)
            ]
            dropped = max(
                (each.last_time for each in holding if each.is_done and each.output.change == "DROP"),
                default=BEFORE_ALL,
            )
            others = (time for job_over, time in over.get(dataset, {}).items() if job_over != job)
            end = max((dropped, *others))
            self._holding[job, dataset] = [each for each in holding if each.last_time > end]

    def holds(self, job: int, dataset: int) -> bool:
        """Return whether a job currently writes a dataset; `learn` must have loaded both."""
        return bool(self._holding.get((job, dataset)))

    def makers(self, job: int, dataset: int) -> set[str]:
        """Return the runs whose descriptions of a job and a dataset are current; `learn` must have loaded both."""
        return {held.run for held in self._holding.get((job, dataset), ()) if held.run}

    def descriptions(self, job: int, dataset: int) -> set[int]:
        """Return which descriptions of a job and a dataset are current; `learn` must have loaded both."""
        return {each for held in self._holding.get((job, dataset), ()) for each in held.described.descriptions}

    def edges(
        self, outputs: Collection[JobOutput], ask: Callable[[CheckedSql], Iterable[tuple[Any, ...]]]
    ) -> Iterator[tuple[Any, ...]]:
        """
        Yield the rows of edges that are current.

        Args:
            outputs: the jobs and outputs whose edges are wanted.
            ask: returns the rows, with the columns of `EdgeRow`, that meet a condition on `EDGES`.
        """
        self.learn(outputs)
        holding = {output: self.descriptions(*output) for output in outputs}
        for listed in id_lists(each for found in holding.values() for each in found):
            for row in ask(checked_sql("c.description IN ({ids})", ids=listed)):
                _, _, target, _, job, *_, description = row
                if description in holding.get((job, target), ()):
                    yield row

    def sources(self, job: int, dataset: int) -> set[int]:
        """Return the datasets from which a job currently makes a dataset; `learn` must have loaded both."""
        found: set[int] = set()
        for held in self._holding.get((job, dataset), ()):
            names = held.described.read if held.output.sources is None else held.output.sources
            found.update(self._dataset_of[name] for name in names)
        return found

    def reads(self, jobs: Iterable[int]) -> dict[int, set[int]]:
        """Return the datasets that jobs currently read: for one output at least, or at all if they have no output."""
        every = set(jobs)
        outputs = self.outputs(every)
        self.learn(outputs)
        self._learn_jobs(every - self._last.keys())
        writing = {job for job, _ in outputs}
        found: dict[int, set[int]] = {job: set() for job in every}
        for job, dataset in outputs:
            for held in self._holding[job, dataset]:
                found[job].update(self._dataset_of[name] for name in held.described.read)
        silent = every - writing
        alone = described_without_runs(self._tables, silent, self._time)
        self._learn_datasets(name for every in alone.values() for each in every for name in each.described.read)
        for job in silent:
            described = [self._described[run.id] for run in self._last[job]]
            described += [
                each.described for each in alone.get(job, ()) if each.last_time >= self._began.get(job, BEFORE_ALL)
            ]
            found[job].update(self._dataset_of[name] for each in described for name in each.read)
        return found

    def runs_into(self, datasets: Collection[int], but: Collection[int]) -> set[str]:
        """
        Return the runs that state how datasets are currently written.

        Args:
            datasets: the datasets.
            but: the jobs whose runs are left out.
        """
        outputs = {(job, dataset) for job, dataset in self.writers(datasets) if job not in but}
        self.learn(outputs)
        return {run for output in outputs for run in self.makers(*output)}

    def runs_from(self, datasets: Collection[int], but: Collection[int]) -> set[str]:
        """
        Return the runs that state what currently reads datasets, also those that write nothing.

        Args:
            datasets: the datasets.
            but: the jobs whose runs are left out.
        """
        jobs = self._readers(datasets) - {*but}
        outputs = self.outputs(jobs)
        self.learn(outputs)
        self._learn_jobs(jobs - self._last.keys())
        runs = {run for output in outputs for run in self.makers(*output)}
        runs |= {run.id for job in jobs for run in self._last[job] if not self._described[run.id].written}
        return {run for run in runs if not self._inputs(run).isdisjoint(datasets)}

    def without_outputs(self, runs: Iterable[str]) -> set[str]:
        """Return those of some runs that `runs_from` returned whose events state no outputs."""
        return {run for run in runs if not self._described[run].written}

    def _inputs(self, run: str) -> set[int]:
        return {self._dataset_of[name] for name in self._described[run].read}

    def runs(self, jobs: Collection[int]) -> set[str]:
        """Return the runs that state what jobs do, also of outputs that others have dropped or replaced since."""
        self._learn_jobs({*jobs} - self._last.keys())
        every = [*self._runs_that_hold(self.outputs(jobs)).values(), *(self._last[job] for job in jobs)]
        return {run.id for runs in every for run in runs}

    def _written(self, column: str, ids: Iterable[int]) -> set[JobOutput]:
        sql = (
            "SELECT DISTINCT l.job_id, i.dataset_id FROM stated_write l "
            "JOIN dataset_identity i ON i.name_id = l.name_id WHERE {column} IN ({ids}) AND l.first_time <= ?"
        )
        rows = rows_by_id(self._tables, sql, ids, (self._time,), column=column)
        return {(job, dataset) for job, dataset in rows if job is not None}

    def _readers(self, datasets: Iterable[int]) -> set[int]:
        sql = (
            "SELECT DISTINCT l.job_id FROM stated_read l JOIN dataset_identity i ON i.name_id = l.name_id "
            "WHERE i.dataset_id IN ({ids}) AND l.first_time <= ?"
        )
        return {job for (job,) in rows_by_id(self._tables, sql, datasets, (self._time,))}

    def _learn_jobs(self, jobs: Collection[int]) -> None:
        """Load the last runs of jobs, and their descriptions."""
        last = self._runs.last(jobs)
        for run in last:
            self._began[run.job] = run.began
        parents = {(run.job, run.parent) for run in last if run.parent}
        unfinished = [
            run
            for run in self._runs.unfinished(jobs)
            if run.began > self._began.get(run.job, BEFORE_ALL) or (run.job, run.parent) in parents
        ]
        self._last |= {job: [] for job in jobs}
        for run in dict.fromkeys((*last, *self._runs.beside(last), *unfinished)):
            self._last[run.job].append(run)
        for run in self._runs.failed({job for job in jobs if not self._last[job]}):
            self._failing.add(run.job)
            self._last[run.job].append(run)
        self._describe(run for job in jobs for run in self._last[job])

    def _describe(self, runs: Iterable[_Run]) -> None:
        unknown = [run.id for run in runs if run.id not in self._described]
        found = described_by_runs(self._tables, unknown, self._time)
        self._described |= dict.fromkeys(unknown, _NOTHING) | found
        self._learn_datasets(name for each in found.values() for name in (*each.read, *each.written))

    def _learn_datasets(self, names: Iterable[int]) -> None:
        self._dataset_of |= datasets_by_name(self._tables, set(names) - self._dataset_of.keys())

    def _outputs_of(self, described: JobDatasets, dataset: int) -> Iterator[Writing]:
        """Yield how a dataset is written: once for each of its names that is."""
        return (output for name, output in described.written.items() if self._dataset_of[name] == dataset)

    def _writes(self, run: _Run, dataset: int) -> bool:
        return any(True for _ in self._outputs_of(self._described[run.id], dataset))

    def _runs_that_hold(self, outputs: Collection[JobOutput]) -> dict[JobOutput, list[_Run]]:
        """Return the current runs of outputs of jobs, including descriptions that have ended since."""
        found = {pair: [run for run in self._last[pair[0]] if self._writes(run, pair[1])] for pair in outputs}
        older = {
            (job, dataset)
            for (job, dataset), runs in found.items()
            if job in self._began and not any(run.is_complete and run.began == self._began[job] for run in runs)
        }
        last = self._runs.last_that_wrote(older)
        every = [run for runs in last.values() for run in runs]
        beside = self._runs.beside(every)
        self._describe((*every, *beside))
        for (job, dataset), runs in last.items():
            parents = {(job, run.parent) for run in runs if run.parent}
            mates = [run for run in beside if (run.job, run.parent) in parents and self._writes(run, dataset)]
            later = [run for run in found[job, dataset] if not run.is_complete]
            found[job, dataset] = [*dict.fromkeys((*runs, *mates, *later))]
        of_failing = {pair for pair in outputs if pair[0] in self._failing}
        return found | {pair: [] for pair in self._written_by_others(of_failing)}

    def _written_by_others(self, outputs: Collection[JobOutput]) -> set[JobOutput]:
        """Return those outputs of jobs that any complete run has written."""
        sql = (
            "SELECT DISTINCT i.dataset_id FROM dataset_identity i "
            "JOIN sink_snapshot_lineage w ON w.name_id = i.name_id "
            "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' AND {began} <= ? "
            "WHERE i.dataset_id IN ({ids})"
        )
        datasets = (dataset for _, dataset in outputs)
        written = {dataset for (dataset,) in rows_by_id(self._tables, sql, datasets, (self._time,), began=_began("r"))}
        return {pair for pair in outputs if pair[1] in written}

    def _over(self, datasets: Collection[int]) -> dict[int, dict[int, int]]:
        """Return when jobs last dropped datasets, or replaced them as a whole: dataset -> job -> time."""
        self.writers(datasets)
        found: dict[int, dict[int, int]] = {}
        # A job's own runs already show what the job does to its output.
        several = (dataset for dataset in datasets if len(self._writers[dataset]) > 1)
        sql = (
            "SELECT i.dataset_id, w.job_id, w.change, j.name, j.sql, max(w.time) FROM dataset_identity i "
            "JOIN sink_snapshot_lineage w ON w.name_id = i.name_id AND w.change IN ('DROP', 'OVERWRITE') "
            "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' JOIN job j ON j.job_id = w.job_id "
            "WHERE i.dataset_id IN ({ids}) AND w.time <= ? "
            "GROUP BY i.dataset_id, w.job_id, w.change, j.name, j.sql"
        )
        for dataset, job, change, name, statement, time in rows_by_id(self._tables, sql, several, (self._time,)):
            if change == "DROP" or not _is_of_partitions(name, statement or ""):
                times = found.setdefault(dataset, {})
                times[job] = max(time, times.get(job, time))
        return found


def _is_of_partitions(job: str, sql: str) -> bool:
    """Return whether a job overwrites only partitions, by its name or its statement."""
    return any(operator in job for operator in PARTITION_OPERATORS) or bool(_PARTITIONS.search(sql))
