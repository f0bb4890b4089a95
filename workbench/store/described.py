"""The datasets that the events of runs and jobs describe, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openlineage_pyspark.workbench.store.names import rows_by_id, rows_by_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.store.names import QueriedTables


class Writing(NamedTuple):
    """
    How events describe a dataset that is written.

    Args:
        change: its change, such as DROP; empty for an append.
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

    descriptions: frozenset[int] = frozenset()
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


_OF_RUNS = "SELECT run_id, version FROM stated_version WHERE run_id IN ({marks}) AND first_time <= ?"
_ALONE = "SELECT job_id, version, last_time FROM stated_alone WHERE job_id IN ({ids}) AND first_time <= ?"
_DESCRIPTIONS = "SELECT version, description FROM version_description WHERE version IN ({ids})"
_DATASETS = (
    "SELECT description, name_id, is_written, change, states_sources FROM stated_dataset WHERE description IN ({ids})"
)


def described_by_runs(tables: QueriedTables, runs: Iterable[str], time: int) -> dict[str, JobDatasets]:
    """
    Return the datasets that the events of runs describe, by run.

    Args:
        tables: the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    versions: dict[str, list[int]] = {}
    for run, version in rows_by_text(tables, _OF_RUNS, runs, (time,)):
        versions.setdefault(run, []).append(version)
    known = _of_versions(tables, {each for listed in versions.values() for each in listed})
    found = {}
    for run, listed in versions.items():
        described = known[listed[0]]
        for version in listed[1:]:
            described |= known[version]
        found[run] = described
    return found


def described_without_runs(tables: QueriedTables, jobs: Iterable[int], time: int) -> dict[int, list[RunlessDatasets]]:
    """
    Return the datasets that events of jobs without a run describe, by job.

    Args:
        tables: the store.
        jobs: the ids of the jobs.
        time: until when, microseconds since 1970.
    """
    rows = [*rows_by_id(tables, _ALONE, jobs, (time,))]
    known = _of_versions(tables, {version for _, version, _ in rows})
    found: dict[int, list[RunlessDatasets]] = {}
    for job, version, last_time in rows:
        found.setdefault(job, []).append(RunlessDatasets(known[version], last_time))
    return found


def _of_versions(tables: QueriedTables, versions: set[int]) -> dict[int, JobDatasets]:
    """Return what versions of jobs describe."""
    parts: dict[int, list[int]] = {version: [] for version in versions}
    for version, description in rows_by_id(tables, _DESCRIPTIONS, versions):
        parts[version].append(description)
    read: dict[int, list[int]] = {}
    written: dict[int, list[tuple[int, str, int]]] = {}
    every = {each for found in parts.values() for each in found}
    for description, name, is_written, change, states in rows_by_id(tables, _DATASETS, every):
        if is_written:
            written.setdefault(description, []).append((name, change, states))
        else:
            read.setdefault(description, []).append(name)
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
