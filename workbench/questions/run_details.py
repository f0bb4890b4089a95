"""
The facts that the events of runs state beyond the edges: gaps, and the paths of edges.

The facet `pyspark_lineage_steps` names the operators that an edge passes, and how sure it is.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.workbench.events.facts import StatedGap
from openlineage_pyspark.workbench.events.read import LEFT_OUT
from openlineage_pyspark.workbench.model.graph import Edge, OperatorNode, Path, Step, column_id, node_id, steps_of
from openlineage_pyspark.workbench.model.kinds import Diagnostic, Kind, certainty_of
from openlineage_pyspark.workbench.store.names import datasets, datasets_by_name, rows_by_id, rows_by_text
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.store.current import EdgeRow
    from openlineage_pyspark.workbench.store.names import QueriedTables

RUNS_OF_A_JOB = 5
"""How many of the latest runs of a job a graph has; any of these may state the steps of an edge at an earlier time."""

_ROLES = {"CTERelationDef": "CTE", "View": "VIEW"}

_Job = TypeVar("_Job")
_Key: TypeAlias = "tuple[str, str, Kind, str]"
"""The ids of both ends of an edge, and the kind and the expression of a path."""

# The paths and gaps that the events of runs state.


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
    for run, version in rows_by_text(tables, _VERSIONS, sorted(set(runs)), (time,)):
        of_run[run] = (*of_run.get(run, ()), version)
    gaps: dict[int, list[StatedGap]] = {}
    paths: dict[int, list[PathOfRun]] = {}
    every = {version for versions in of_run.values() for version in versions}
    for version, *gap in rows_by_id(tables, _GAPS, every):
        gaps.setdefault(version, []).append(StatedGap(*gap))
    for version, source_id, source, target_id, target, *path in rows_by_id(tables, _PATHS, every):
        paths.setdefault(version, []).append(PathOfRun(source_id, source, target_id, target, _path(*path)))
    versions = {each: VersionDetails(tuple(gaps.get(each, ())), tuple(paths.get(each, ()))) for each in every}
    return DetailsOfRuns(of_run, versions)


@functools.lru_cache(maxsize=10_000)
def _path(type_: str, subtype: str, masking: int, expression: str, certainty: str, passed: str) -> Path:
    operators, steps = json.loads(passed)
    made = [Step(at, text, certainty=certainty_of(sure), call_site=site) for at, text, sure, site in steps]
    return Path(Kind(type_, subtype, bool(masking)), expression, certainty_of(certainty), steps_of(operators, made))


@attrs.frozen
class RunDetails:
    """
    The facts that the events of a run state.

    Args:
        gaps: the parts of the plan that the producer of the events could not trace.
        paths: edge -> its paths of one kind and one expression.
    """

    gaps: tuple[StatedGap, ...] = ()
    paths: dict[_Key, list[Path]] = attrs.Factory(dict)


_NOTHING = RunDetails()


def details_of_runs(tables: QueriedTables, runs: Iterable[str], time: int) -> dict[str, RunDetails]:
    """
    Return the facts that the events of some runs state, by run; runs without any are left out.

    Args:
        tables: the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    details = details_stated_by(tables, runs, time)
    paths = {id(path): path for version in details.versions.values() for path in version.paths}.values()
    nodes = _nodes(tables, {name_id for path in paths for name_id in (path.source_id, path.target_id)})
    by_edge = {key: _paths_by_edge(version.paths, nodes) for key, version in details.versions.items()}
    found = {}
    for run, keys in details.of_run.items():
        gaps = tuple(dict.fromkeys(gap for key in keys for gap in details.versions[key].gaps))
        keyed = {edge: every for key in keys for edge, every in by_edge[key].items()}
        if keyed or gaps:
            found[run] = RunDetails(gaps, keyed)
    return found


def stored_edge(source: str, target: str, row: EdgeRow, job: str) -> Edge:
    """
    Return the edge of the graph for a row of column lineage. It has one path, without its steps.

    Args:
        source: the id of the node of the source column.
        target: the id of the node of the target column.
        row: the row.
        job: the id of the job's node.
    """
    kind = Kind(row.type, row.subtype, bool(row.masking))
    path = Path(kind, row.expression, "exact" if kind.is_stated else "unstated")
    return Edge(source, target, (path,), job, node_id("run", row.run) if row.run else "", seen=row.time)


def explained(
    edges: Iterable[Edge], details: dict[str, RunDetails], earlier: Mapping[str, Sequence[str]]
) -> list[Edge]:
    """
    Return edges with their steps and their certainty, as events state them, in the same order.

    Args:
        edges: the edges, each with one path. Events may state several of its kind and its expression.
        details: the facts that the events of their last runs state, by the id of the run.
        earlier: what `earlier_runs` returned. For an edge of such a run, the latest of the others that states its path
            counts.
    """
    known = {node_id("run", run): each for run, each in details.items()}
    made = []
    for edge in edges:
        runs = earlier.get(edge.run)
        if runs is not None:
            stating = (run for run in runs if _key(edge) in known.get(run, _NOTHING).paths)
            edge = attrs.evolve(edge, run=next(stating, runs[0] if runs else ""))  # noqa: PLW2901 (as it was then)
        made.append(_explained(edge, known.get(edge.run, _NOTHING)))
    return made


def latest_runs(
    tables: QueriedTables, jobs: Iterable[int], time: int, columns: CheckedSql
) -> Iterator[tuple[Any, ...]]:
    """
    Yield columns of the last runs of some jobs until a time, newest first.

    Args:
        tables: the store.
        jobs: the ids of the jobs.
        time: microseconds since 1970.
        columns: the columns of `run`.
    """
    sql = (
        "SELECT {columns} FROM (SELECT r.*, row_number() OVER (PARTITION BY job_id "
        "ORDER BY coalesce(started, first_time) DESC, run_id) AS place FROM run r "
        "WHERE job_id IN ({ids}) AND coalesce(started, first_time) <= ?) t WHERE place <= ? ORDER BY job_id, place"
    )
    return rows_by_id(tables, sql, jobs, (time, RUNS_OF_A_JOB), columns=columns)


def runs_until(tables: QueriedTables, jobs: Iterable[int], time: int) -> dict[int, list[str]]:
    """Return the last runs of some jobs until a time, microseconds since 1970, newest first."""
    found: dict[int, list[str]] = {}
    for job, run in latest_runs(tables, jobs, time, CheckedSql("job_id, run_id")):
        found.setdefault(job, []).append(run)
    return found


def earlier_runs(
    tables: QueriedTables, job_of_run: Mapping[str, _Job], until: Mapping[_Job, Sequence[str]], time: int
) -> dict[str, list[str]]:
    """
    Return the last runs until a time of the jobs of some runs that began later.

    Args:
        tables: the store.
        job_of_run: run -> its job.
        until: job -> its last runs until that time, newest first.
        time: microseconds since 1970.

    Returns:
        The node of each run that began later -> the nodes of its job's runs until then.
    """
    late = _later_runs(tables, job_of_run, time)
    return {node_id("run", run): [node_id("run", each) for each in until.get(job_of_run[run], ())] for run in late}


def operators_of_edges(edges: Iterable[Edge]) -> list[OperatorNode]:
    """Return the operators that edges pass, each once."""
    found: dict[tuple[str, str], OperatorNode] = {}
    for edge in edges:
        for step in (step for path in edge.paths for step in path.steps):
            name, _, index = step.operator.rpartition("#")
            if index.isdecimal() and (edge.job, step.operator) not in found:
                found[edge.job, step.operator] = OperatorNode(edge.job, int(index), name, _ROLES.get(name, ""))
    return list(found.values())


def diagnostics_of(
    details: dict[str, RunDetails], jobs: Mapping[str, str], needed: Collection[str]
) -> tuple[Diagnostic, ...]:
    """
    Return gaps as diagnostics.

    Args:
        details: the facts that the events of runs state.
        jobs: run -> the id of its job's node.
        needed: the runs whose gaps mean that the answer lacks something.
    """
    return tuple(
        Diagnostic(
            "cut" if operator in LEFT_OUT else "unknown-operator",
            message,
            missing=run in needed,
            node=jobs.get(run, ""),
            run=node_id("run", run),
            operator=operator,
        )
        for run in sorted(details)
        for operator, message in details[run].gaps
    )


def gaps_of(tables: QueriedTables, runs: Iterable[str], time: int) -> tuple[Diagnostic, ...]:
    """
    Return the gaps of runs as diagnostics: each may hide a part of the answer.

    Args:
        tables: the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    every = {*runs}
    return diagnostics_of(details_of_runs(tables, every, time), {}, every)


def _later_runs(tables: QueriedTables, runs: Iterable[str], time: int) -> set[str]:
    sql = "SELECT run_id FROM run WHERE run_id IN ({marks}) AND coalesce(started, first_time) > ?"
    return {run for (run,) in rows_by_text(tables, sql, sorted(set(runs)), (time,))}


def _key(edge: Edge) -> _Key:
    return edge.source, edge.target, edge.paths[0].kind, edge.paths[0].expression


def _explained(edge: Edge, details: RunDetails) -> Edge:
    (path,) = edge.paths
    paths: Sequence[Path] = details.paths.get(_key(edge), ())
    if not paths and path.certainty == "exact" and any(operator not in LEFT_OUT for operator, _ in details.gaps):
        paths = (attrs.evolve(path, certainty="guessed"),)
    return Edge(edge.source, edge.target, paths, edge.job, edge.run, edge.batch, seen=edge.seen) if paths else edge


def _nodes(tables: QueriedTables, name_ids: Iterable[int]) -> dict[int, str]:
    """Return the node of each dataset by the ids of its names."""
    belongs = datasets_by_name(tables, name_ids)
    named = datasets(tables, belongs.values())
    return {
        name_id: node_id("dataset", named[dataset].namespace, named[dataset].name)
        for name_id, dataset in belongs.items()
        if dataset in named
    }


def _paths_by_edge(stated: Iterable[PathOfRun], nodes: Mapping[int, str]) -> dict[_Key, list[Path]]:
    found: dict[_Key, list[Path]] = {}
    for each in stated:
        if each.source_id in nodes and each.target_id in nodes:
            ends = column_id(nodes[each.source_id], each.source), column_id(nodes[each.target_id], each.target)
            found.setdefault((*ends, each.path.kind, each.path.expression), []).append(each.path)
    return found
