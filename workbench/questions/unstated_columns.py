"""Find the outputs of jobs of which events state what they are made from, but not from which columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import node_id
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.pictures.plain import first_of
from openlineage_pyspark.workbench.questions.reach.reach import Direction, datasets_passed, reach, unseen_jobs
from openlineage_pyspark.workbench.store.current import EDGES, Current
from openlineage_pyspark.workbench.store.events.memory import EventMemory
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.names import datasets, names_of_datasets, rows_by_id, rows_by_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from openlineage_pyspark.workbench.questions.reach.reach import Closure, Limits
    from openlineage_pyspark.workbench.store.current import JobOutput
    from openlineage_pyspark.workbench.store.names import QueriedTables

_SHOWN = 3


def unstated_along(tables: QueriedTables, reached: Closure, direction: Direction, limits: Limits) -> list[Diagnostic]:
    """
    Return the diagnostics about the outputs that a result by columns may lack.

    Args:
        tables: the store.
        reached: the result.
        direction: as in `reach`.
        limits: as in `reach`.
    """
    unstated = _Unstated(tables, limits)
    passed = datasets_passed(reached, limits)
    return unstated.diagnostics(unstated.of(passed, direction))


def unstated_between(tables: QueriedTables, source: int, target: int, limits: Limits) -> list[Diagnostic]:
    """
    Return the diagnostics about the outputs through which further paths between columns may go.

    Args:
        tables: the store.
        source: the dataset where the paths begin.
        target: the dataset where they end.
        limits: as in `reach`.
    """
    unstated = _Unstated(tables, limits)

    def closure(dataset: int, direction: Direction) -> set[int]:
        places = reach(tables, [(dataset, "")], direction, limits, by_columns=False, looks_on=False).depths
        return {dataset for dataset, _ in places}

    found = unstated.of(closure(target, Direction.UPSTREAM), Direction.UPSTREAM)
    below = closure(source, Direction.DOWNSTREAM) if found else set()
    return unstated.diagnostics({output: read for output, read in found.items() if read & below})


def unstated_readers(tables: QueriedTables, read: Collection[int], limits: Limits) -> dict[int, set[int]]:
    """
    Return the jobs that make something from datasets without stating from which columns: dataset -> the jobs.

    Args:
        tables: the store.
        read: the datasets.
        limits: as in `reach`.
    """
    found: dict[int, set[int]] = {}
    for (job, _), sources in _Unstated(tables, limits).of(read, Direction.DOWNSTREAM).items():
        for each in sources:
            found.setdefault(each, set()).add(job)
    return found


class _Unstated:
    """
    Finds current outputs of jobs that are made from datasets, but of whose columns nothing is stated.

    Args:
        tables: the store.
        limits: of the question.
    """

    def __init__(self, tables: QueriedTables, limits: Limits) -> None:
        self._tables = tables
        self._time = int(limits.time)
        self._current = Current(tables, limits.time)
        self._unseen = unseen_jobs(tables, limits)
        self._memory = EventMemory()

    def of(self, near: Collection[int], direction: Direction) -> dict[JobOutput, set[int]]:
        """
        Return such outputs, each with the datasets that it is made from.

        Args:
            near: the datasets that are written, or are read if the direction is downstream.
            direction: upstream or downstream.
        """
        if direction is Direction.UPSTREAM:
            outputs = self._without_edges("stated_write", "t", near)
        else:
            outputs = self._current.outputs(job for job, _ in self._without_edges("stated_read", "s", near))
        self._current.learn(outputs)
        found: dict[JobOutput, set[int]] = {}
        for job, dataset in outputs:
            read = self._current.sources(job, dataset)
            # What only rewrites a table, such as its compaction, makes no column from others.
            is_made = bool(read - {dataset}) and (direction is Direction.UPSTREAM or not read.isdisjoint(near))
            if is_made and not self._states_columns(job, dataset):
                found[job, dataset] = read
        return found

    def diagnostics(self, outputs: dict[JobOutput, set[int]]) -> list[Diagnostic]:
        """Return the diagnostics about outputs: one for each of the first ones, and the number of the others."""
        named = datasets(self._tables, {each for (_, dataset), read in outputs.items() for each in (dataset, *read)})
        of_jobs = "SELECT job_id, name FROM job WHERE job_id IN ({ids})"
        jobs = dict(rows_by_id(self._tables, of_jobs, {job for job, _ in outputs}))
        found = []
        for (job, dataset), read in outputs.items():
            sources, target = first_of(sorted(named[each].label for each in read)), named[dataset]
            message = f"no event states from which columns of {sources} the job {jobs[job]} makes {target.label}"
            node = node_id("dataset", target.namespace, target.name)
            found.append(Diagnostic("unknown-columns", message, missing=True, node=node))
        found.sort(key=lambda each: each.message)
        if len(found) > _SHOWN:
            message = f"no event states from which columns {len(found) - _SHOWN:,} more outputs of jobs are made"
            found[_SHOWN:] = [Diagnostic("unknown-columns", message, missing=True)]
        return found

    def _without_edges(self, table: str, end: str, near: Collection[int]) -> set[JobOutput]:
        """Return the jobs that read or write datasets, each with the dataset, if no edge between columns is there."""
        related = (
            "SELECT DISTINCT l.job_id, i.dataset_id FROM {table} l JOIN dataset_identity i ON i.name_id = l.name_id "
            "WHERE i.dataset_id IN ({ids}) AND l.first_time <= ? AND l.job_id IS NOT NULL"
        )
        with_edges = (
            "SELECT DISTINCT c.job_id, {end}.dataset_id FROM {edges} "
            "WHERE {end}.dataset_id IN ({ids}) AND c.first_time <= ?"
        )
        found = {*rows_by_id(self._tables, related, near, (self._time,), table=table)}
        found.difference_update(rows_by_id(self._tables, with_edges, near, (self._time,), end=end, edges=EDGES))
        return {(job, dataset) for job, dataset in found if job not in self._unseen}

    def _states_columns(self, job: int, dataset: int) -> bool:
        """Return whether the current runs of an output state where its columns come from, even if from nowhere."""
        names = names_of_datasets(self._tables, [dataset])
        sql = "SELECT json FROM event WHERE run_id IN ({marks})"
        return any(
            output.has_column_lineage and identity("dataset", output.namespace, output.name) in names
            for (text,) in rows_by_text(self._tables, sql, sorted(self._current.makers(job, dataset)))
            for output in self._memory.facts(text).outputs
        )
