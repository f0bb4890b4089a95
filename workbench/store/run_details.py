"""The paths and gaps that the events of runs state."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, NamedTuple

from openlineage_pyspark.workbench.events.facts import StatedGap
from openlineage_pyspark.workbench.model.graph import Path, Step, steps_of
from openlineage_pyspark.workbench.model.kinds import Kind, certainty_of
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql
from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openlineage_pyspark.workbench.store.names import QueriedTables


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
    """The gaps and the paths that events of one content state."""

    gaps: tuple[StatedGap, ...]
    paths: tuple[PathOfRun, ...]


class DetailsOfRuns(NamedTuple):
    """
    The facts that the events of runs state.

    Args:
        of_run: the versions that the events of each run state, in the order of time.
        versions: version -> the facts.
    """

    of_run: Mapping[str, tuple[int, ...]]
    versions: Mapping[int, VersionDetails]


_VERSIONS = (
    "SELECT run_id, version FROM stated_version WHERE run_id IN ({marks}) AND first_time <= ? "
    "ORDER BY first_time, version"
)
_GAPS = "SELECT version, operator, message FROM gap WHERE version IN ({ids}) ORDER BY version, number"
_PATHS = (
    "SELECT v.version, p.input_id, p.input_column, p.output_id, p.output_column, "
    "p.type, p.subtype, p.masking, p.expression, p.certainty, p.steps "
    "FROM version_description v JOIN stated_path p ON p.description = v.description WHERE v.version IN ({ids}) "
    "ORDER BY v.version, v.description, p.number"
)


def details_stated_by(tables: QueriedTables, runs: Iterable[str], time: int) -> DetailsOfRuns:
    """
    Return the facts that the events of runs state.

    Args:
        tables: the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    of_run: dict[str, tuple[int, ...]] = {}
    for marks, part in marked_lists(sorted(set(runs))):
        for run, version in tables.query(checked_sql(_VERSIONS, marks=marks), (*part, time)):
            of_run[run] = (*of_run.get(run, ()), version)
    gaps: dict[int, list[StatedGap]] = {}
    paths: dict[int, list[PathOfRun]] = {}
    every = {version for versions in of_run.values() for version in versions}
    for listed in id_lists(every):
        for version, *gap in tables.query(checked_sql(_GAPS, ids=listed)):
            gaps.setdefault(version, []).append(StatedGap(*gap))
        for version, source_id, source, target_id, target, *path in tables.query(checked_sql(_PATHS, ids=listed)):
            paths.setdefault(version, []).append(PathOfRun(source_id, source, target_id, target, _path(*path)))
    versions = {each: VersionDetails(tuple(gaps.get(each, ())), tuple(paths.get(each, ()))) for each in every}
    return DetailsOfRuns(of_run, versions)


@functools.lru_cache(maxsize=10_000)
def _path(type_: str, subtype: str, masking: int, expression: str, certainty: str, passed: str) -> Path:
    operators, steps = json.loads(passed)
    made = [Step(at, text, certainty=certainty_of(sure), call_site=site) for at, text, sure, site in steps]
    return Path(Kind(type_, subtype, bool(masking)), expression, certainty_of(certainty), steps_of(operators, made))
