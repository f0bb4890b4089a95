"""The datasets that the events of runs describe, from their JSON: Spark's tables have no versions of jobs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import InvalidEventError
from openlineage_pyspark.workbench.store.described import JobDatasets, RunlessDatasets, Writing
from openlineage_pyspark.workbench.store.events.memory import EventMemory
from openlineage_pyspark.workbench.store.events.rows import DatasetMention, read_event
from openlineage_pyspark.workbench.store.tables.ids import marked_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from openlineage_pyspark.workbench.store.events.rows import EventRows, Row

_OF_RUNS = "SELECT run_id, json FROM event WHERE run_id IN ({}) AND time <= ?"
_ALONE = "SELECT run_id, json FROM event WHERE run_id = '' AND type = 'JOB' AND time <= ?"


class DatasetsByEvents:
    """
    What runs and jobs describe, from the JSON of their events.

    Args:
        query: runs a query on the store.
    """

    def __init__(self, query: Callable[[str, Sequence[str | int]], list[tuple[Any, ...]]]) -> None:
        self._query = query
        self._memory = EventMemory()
        self._alone: dict[int, list[RunlessDatasets]] | None = None

    def of_runs(self, runs: Iterable[str], time: int) -> dict[str, JobDatasets]:
        """Return the descriptions in events of runs until a time, in microseconds since 1970."""
        found: dict[str, JobDatasets] = {}
        for marks, part in marked_lists(runs):
            for run, text in self._query(_OF_RUNS.format(marks), (*part, time)):
                for event in self._read(text):
                    described = _described(event)
                    found[run] = found[run] | described if run in found else described
        return found

    def alone(self, jobs: Iterable[int], time: int) -> dict[int, list[RunlessDatasets]]:
        """Return the descriptions in events of jobs without a run, until a time, which is the same for all jobs."""
        if self._alone is None:
            self._alone = {}
            for _, text in self._query(_ALONE, (time,)):
                for event in self._read(text):
                    for job in {each.job_id for each in event.mentions if each.job_id is not None}:
                        runless = RunlessDatasets(_described(event), event.span.last_time)
                        self._alone.setdefault(job, []).append(runless)
        return {job: self._alone[job] for job in jobs if job in self._alone}

    def _read(self, text: str) -> Iterator[EventRows]:
        with suppress(InvalidEventError):
            yield read_event(text, self._memory.parse(text), self._memory)


def _described(event: EventRows) -> JobDatasets:
    lines = [each.lines for each in event.mentions if isinstance(each, DatasetMention)]
    written = {
        name: Writing(each.change, frozenset(each.read) if each.states_sources else None)
        for each in lines
        for name in each.written
    }
    descriptions = frozenset(_description(row) for each in lines for row in each.edges)
    return JobDatasets(descriptions, frozenset(name for each in lines for name in each.read), written)


def _description(edge: Row) -> str:
    """Return the key of an edge, as `sql.DESCRIPTION` makes it from a row of `column_lineage`."""
    return "|".join(map(str, (*edge[:4], *edge[5:9])))
