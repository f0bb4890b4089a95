"""The paths, gaps and lines of Python that the events of runs state."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from openlineage_pyspark.workbench.model.graph import Path, Step, steps_of
from openlineage_pyspark.workbench.model.kinds import Kind, certainty_of
from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists

Query: TypeAlias = "Callable[[str, Sequence[str | int]], list[tuple[Any, ...]]]"
"""Returns the rows of a query, with `?` for parameters."""


class PathOfRun(NamedTuple):
    """
    A path from a column to another one, as the events of a run state it.

    Args:
        source_id: the name of the dataset that is read.
        source: its column.
        target_id: the name of the dataset that is written.
        target: its column; empty for all rows.
        path: the path.
    """

    source_id: int
    source: str
    target_id: int
    target: str
    path: Path


class VersionDetails(NamedTuple):
    """The gaps, as pairs of an operator and a message, and the paths that events of one content state."""

    gaps: tuple[tuple[str, str], ...]
    paths: tuple[PathOfRun, ...]


class DetailsOfRuns(NamedTuple):
    """
    The facts that the events of runs state.

    Args:
        of_run: the keys of the facts that the events of each run state, in the order of time.
        versions: key -> the facts.
    """

    of_run: Mapping[str, tuple[Hashable, ...]]
    versions: Mapping[Hashable, VersionDetails]


_VERSIONS = (
    "SELECT r.run_id, v.version FROM stored_run r JOIN run_version v ON v.run = r.run "
    "WHERE r.run_id IN ({}) AND v.first_time <= ? ORDER BY v.first_time, v.version"
)
_CALL_SITES = "SELECT run_id, call_site FROM stored_run WHERE run_id IN ({}) AND call_site <> ''"
_GAPS = "SELECT version, operator, message FROM gap WHERE version IN ({}) ORDER BY version, number"
_PATHS = (
    "SELECT v.version, e.input_id, e.input_column, d.name_id, e.output_column, "
    "e.type, e.subtype, e.masking, e.expression, p.certainty, p.steps "
    "FROM version_description v JOIN description d ON d.description = v.description "
    "JOIN edge e ON e.description = d.description JOIN path p ON p.path = e.path WHERE v.version IN ({}) "
    "ORDER BY v.version, v.description, e.number"
)


def details_by_versions(query: Query, runs: Iterable[str], time: int) -> DetailsOfRuns:
    """
    Return the facts that the events of runs state, from the tables of versions.

    Args:
        query: runs a query on the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    of_run: dict[str, tuple[Hashable, ...]] = {}
    for marks, part in marked_lists(sorted(set(runs))):
        for run, version in query(_VERSIONS.format(marks), (*part, time)):
            of_run[run] = (*of_run.get(run, ()), version)
    gaps: dict[int, list[tuple[str, str]]] = {}
    paths: dict[int, list[PathOfRun]] = {}
    every = {version for versions in of_run.values() for version in versions if isinstance(version, int)}
    for listed in id_lists(every):
        for version, *gap in query(_GAPS.format(listed), ()):
            gaps.setdefault(version, []).append((gap[0], gap[1]))
        for version, source_id, source, target_id, target, *path in query(_PATHS.format(listed), ()):
            paths.setdefault(version, []).append(PathOfRun(source_id, source, target_id, target, _path(*path)))
    versions: dict[Hashable, VersionDetails] = {
        each: VersionDetails(tuple(gaps.get(each, ())), tuple(paths.get(each, ()))) for each in every
    }
    return DetailsOfRuns(of_run, versions)


def call_sites_of_runs(query: Query, runs: Iterable[str]) -> dict[str, str]:
    """Return the line of the user's Python that ran each run, if an event states it, from the table of runs."""
    found: dict[str, str] = {}
    for marks, part in marked_lists(sorted(set(runs))):
        found |= dict(query(_CALL_SITES.format(marks), part))
    return found


@functools.lru_cache(maxsize=10_000)
def _path(type_: str, subtype: str, masking: int, expression: str, certainty: str, passed: str) -> Path:
    operators, steps = json.loads(passed)
    made = [Step(at, text, certainty=certainty_of(sure), call_site=site) for at, text, sure, site in steps]
    return Path(Kind(type_, subtype, bool(masking)), expression, certainty_of(certainty), steps_of(operators, made))
