"""The datasets that the events of runs describe, as values; a SQLite file stores them by the versions of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists

Query: TypeAlias = "Callable[[str, Sequence[str | int]], list[tuple[Any, ...]]]"
"""Returns the rows of a query, with `?` for parameters."""


class Writing(NamedTuple):
    """
    How events describe a dataset that is written.

    Args:
        change: what became of it, such as DROP; empty for an append.
        sources: the names that it is made from, if the events state them; None for all that is read.
    """

    change: str
    sources: frozenset[int] | None = None

    def __or__(self, other: Writing) -> Writing:
        """Return the union of two descriptions; the first stated value of each field counts."""
        stated = [each for each in (self.sources, other.sources) if each is not None]
        return Writing(max(self.change, other.change), frozenset().union(*stated) if stated else None)


class JobDatasets(NamedTuple):
    """
    What events describe of the datasets of a job.

    Args:
        descriptions: which rows of `stated_edge` are theirs, by the column `description`.
        read: the ids of the names that are read.
        written: the id of a name that is written -> how.
    """

    descriptions: frozenset[int | str] = frozenset()
    read: frozenset[int] = frozenset()
    written: Mapping[int, Writing] = {}

    def __or__(self, other: JobDatasets) -> JobDatasets:
        """Return the union of two descriptions."""
        written = {**self.written}
        for name, output in other.written.items():
            written[name] = written[name] | output if name in written else output
        return JobDatasets(self.descriptions | other.descriptions, self.read | other.read, written)


class RunlessDatasets(NamedTuple):
    """The datasets that a job's events without a run describe, and the time of the last of these events."""

    described: JobDatasets
    last_time: int


_OF_RUNS = (
    "SELECT r.run_id, v.version FROM stored_run r JOIN run_version v ON v.run = r.run "
    "WHERE r.run_id IN ({}) AND v.first_time <= ?"
)
_ALONE = (
    "SELECT job_id, version, alone_time FROM job_version "
    "WHERE job_id IN ({}) AND alone_time IS NOT NULL AND first_time <= ?"
)
_DESCRIPTIONS = "SELECT version, description FROM version_description WHERE version IN ({})"
_READ = "SELECT description, name_id FROM reading WHERE description IN ({})"
_WRITTEN = "SELECT description, name_id, change, states_sources FROM writing WHERE description IN ({})"


class DatasetsByVersions:
    """
    The datasets that runs and jobs describe, from the tables of versions. Nothing is queried twice.

    Args:
        query: runs a query on the store.
    """

    def __init__(self, query: Query) -> None:
        self._query = query

    def of_runs(self, runs: Iterable[str], time: int) -> dict[str, JobDatasets]:
        """Return the descriptions in events of runs until a time, in microseconds since 1970."""
        versions: dict[str, list[int]] = {}
        for marks, part in marked_lists(runs):
            for run, version in self._query(_OF_RUNS.format(marks), (*part, time)):
                versions.setdefault(run, []).append(version)
        known = self._versions({each for listed in versions.values() for each in listed})
        found = {}
        for run, listed in versions.items():
            described = known[listed[0]]
            for version in listed[1:]:
                described |= known[version]
            found[run] = described
        return found

    def alone(self, jobs: Iterable[int], time: int) -> dict[int, list[RunlessDatasets]]:
        """Return the descriptions in events of jobs without a run, until a time."""
        rows = [row for listed in id_lists(jobs) for row in self._query(_ALONE.format(listed), (time,))]
        known = self._versions({version for _, version, _ in rows})
        found: dict[int, list[RunlessDatasets]] = {}
        for job, version, last_time in rows:
            found.setdefault(job, []).append(RunlessDatasets(known[version], last_time))
        return found

    def _versions(self, versions: set[int]) -> dict[int, JobDatasets]:
        """Return the descriptions of versions of jobs."""
        parts: dict[int, list[int]] = {version: [] for version in versions}
        for listed in id_lists(versions):
            for version, description in self._query(_DESCRIPTIONS.format(listed), ()):
                parts[version].append(description)
        every = {each for found in parts.values() for each in found}
        read: dict[int, list[int]] = {}
        written: dict[int, list[tuple[int, str, int]]] = {}
        for listed in id_lists(every):
            for description, name in self._query(_READ.format(listed), ()):
                read.setdefault(description, []).append(name)
            for description, *output in self._query(_WRITTEN.format(listed), ()):
                written.setdefault(description, []).append((output[0], output[1], output[2]))
        return {version: _described(found, read, written) for version, found in parts.items()}


def _described(
    descriptions: Sequence[int],
    read: Mapping[int, Sequence[int]],
    written: Mapping[int, Sequence[tuple[int, str, int]]],
) -> JobDatasets:
    outputs: dict[int, Writing] = {}
    for description in descriptions:
        for name, change, states in written.get(description, ()):
            output = Writing(change, frozenset(read.get(description, ())) if states else None)
            outputs[name] = outputs[name] | output if name in outputs else output
    every = frozenset(name for description in descriptions for name in read.get(description, ()))
    return JobDatasets(frozenset(descriptions), every, outputs)
