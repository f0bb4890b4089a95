"""What the events of runs told of paths, of gaps, and of lines of Python."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists

Query: TypeAlias = "Callable[[str, Sequence[str | int]], list[tuple[Any, ...]]]"
"""Returns the rows of a query, with `?` for parameters."""


class ToldStep(NamedTuple):
    """An operator that does something to a value: its name, its expression, how sure it is, and its line of Python."""

    operator: str
    expression: str
    certainty: str
    call_site: str


class ToldPath(NamedTuple):
    """
    A path from a column to another one.

    Args:
        source_id: the name of the dataset that is read.
        source: its column.
        target_id: the name of the dataset that is written.
        target: its column; empty for all rows.
        type: DIRECT or INDIRECT; empty if the event does not state it.
        subtype: such as AGGREGATION.
        masking: whether the value can't be recognized afterwards.
        certainty: how sure it is.
        operators: the operators that it passes.
        steps: those of them that do more than pass the value on.
    """

    source_id: int
    source: str
    target_id: int
    target: str
    type: str
    subtype: str
    masking: bool
    certainty: str
    operators: tuple[str, ...]
    steps: tuple[ToldStep, ...]


class ToldVersion(NamedTuple):
    """What events that say the same told: pairs of an operator and a message, of what was not understood; and paths."""

    gaps: tuple[tuple[str, str], ...]
    paths: tuple[ToldPath, ...]


class Told(NamedTuple):
    """
    What the events of runs told.

    Args:
        of_run: the keys of what the events of each run told, in the order of time.
        versions: key -> what was told.
    """

    of_run: Mapping[str, tuple[Hashable, ...]]
    versions: Mapping[Hashable, ToldVersion]


_VERSIONS = (
    "SELECT r.run_id, v.version FROM stored_run r JOIN run_version v ON v.run = r.run "
    "WHERE r.run_id IN ({}) AND v.first_time <= ? ORDER BY v.first_time, v.version"
)
_CALL_SITES = "SELECT run_id, call_site FROM stored_run WHERE run_id IN ({}) AND call_site <> ''"
_GAPS = "SELECT version, operator, message FROM gap WHERE version IN ({}) ORDER BY version, number"
_PATHS = (
    "SELECT v.version, e.input_id, e.input_column, d.name_id, e.output_column, e.type, e.subtype, e.masking, p.steps "
    "FROM version_description v JOIN description d ON d.description = v.description "
    "JOIN edge e ON e.description = d.description JOIN path p ON p.path = e.path WHERE v.version IN ({}) "
    "ORDER BY v.version, v.description, e.number"
)


def told_by_versions(query: Query, runs: Iterable[str], time: int) -> Told:
    """
    Return what the events of runs told, from the tables of versions.

    Args:
        query: asks the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    of_run: dict[str, tuple[Hashable, ...]] = {}
    for marks, part in marked_lists(sorted(set(runs))):
        for run, version in query(_VERSIONS.format(marks), (*part, time)):
            of_run[run] = (*of_run.get(run, ()), version)
    gaps: dict[int, list[tuple[str, str]]] = {}
    paths: dict[int, list[ToldPath]] = {}
    every = {version for versions in of_run.values() for version in versions if isinstance(version, int)}
    for listed in id_lists(every):
        for version, *gap in query(_GAPS.format(listed), ()):
            gaps.setdefault(version, []).append((gap[0], gap[1]))
        for version, *ends, masking, steps in query(_PATHS.format(listed), ()):
            source_id, source, target_id, target, type_, subtype = ends
            words = (type_, subtype, bool(masking))
            paths.setdefault(version, []).append(ToldPath(source_id, source, target_id, target, *words, *_path(steps)))
    versions: dict[Hashable, ToldVersion] = {
        each: ToldVersion(tuple(gaps.get(each, ())), tuple(paths.get(each, ()))) for each in every
    }
    return Told(of_run, versions)


def call_sites_of_runs(query: Query, runs: Iterable[str]) -> dict[str, str]:
    """Return the line of the user's Python that ran each run, if an event told it, from the table of runs."""
    found: dict[str, str] = {}
    for marks, part in marked_lists(sorted(set(runs))):
        found |= dict(query(_CALL_SITES.format(marks), part))
    return found


@functools.lru_cache(maxsize=10_000)
def _path(text: str) -> tuple[str, tuple[str, ...], tuple[ToldStep, ...]]:
    certainty, operators, steps = json.loads(text)
    return certainty, tuple(operators), tuple(ToldStep(*step) for step in steps)
