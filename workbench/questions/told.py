"""
What the events of runs tell beyond the tables: what was not understood, and the ways of edges.

The facet `pyspark_lineage_steps` names the operators that an edge passes, and how sure it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.workbench.events.read import LEFT_OUT
from openlineage_pyspark.workbench.model.graph import (
    Edge,
    OperatorNode,
    Path,
    Step,
    column_id,
    node_id,
    steps_of,
)
from openlineage_pyspark.workbench.model.kinds import Diagnostic, Kind, certainty_of, rank
from openlineage_pyspark.workbench.store.names import datasets, datasets_by_name
from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.store.current import EdgeRow
    from openlineage_pyspark.workbench.store.names import QueriedTables
    from openlineage_pyspark.workbench.store.told import ToldPath

RUNS_OF_A_JOB = 5
"""How many of the latest runs of a job a graph has; so many may tell how an edge came at an earlier time."""

_ROLES = {"CTERelationDef": "CTE", "View": "VIEW"}

_Job = TypeVar("_Job")
_Key: TypeAlias = "tuple[str, str, str, str, bool]"
"""The ids of both ends of an edge, type, subtype and masking."""


@attrs.frozen
class ToldByRun:
    """
    What the events of a run tell.

    Args:
        remarks: what was not understood, as pairs of an operator and a message.
        ways: edge -> its paths of one kind, without their texts: how the value gets to the target.
    """

    remarks: tuple[tuple[str, str], ...] = ()
    ways: dict[_Key, list[Path]] = attrs.Factory(dict)

    def way_of(self, edge: Edge) -> Path | None:
        """Return the least sure of the ways of an edge; None if none is told."""
        return max(self.ways.get(_key(edge), ()), key=lambda way: rank(way.certainty), default=None)


_NOTHING = ToldByRun()


def told_by(tables: QueriedTables, runs: Iterable[str], time: int) -> dict[str, ToldByRun]:
    """
    Return what the events of some runs tell, by run; runs of which there is nothing to tell are left out.

    Args:
        tables: the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    told = tables.told(runs, time)
    paths = {id(path): path for version in told.versions.values() for path in version.paths}.values()
    nodes = _nodes(tables, {name_id for path in paths for name_id in (path.source_id, path.target_id)})
    ways = {key: _ways(version.paths, nodes) for key, version in told.versions.items()}
    found = {}
    for run, keys in told.of_run.items():
        remarks = tuple(dict.fromkeys(gap for key in keys for gap in told.versions[key].gaps))
        keyed = {edge: every for key in keys for edge, every in ways[key].items()}
        if keyed or remarks:
            found[run] = ToldByRun(remarks, keyed)
    return found


def stored_edge(source: str, target: str, row: EdgeRow, job: str) -> Edge:
    """
    Return the edge of the graph that a row of column lineage stands for. It has one path.

    Args:
        source: the id of the node of the source column.
        target: that of the target.
        row: the row.
        job: the id of the job's node.
    """
    kind = Kind(row.type, row.subtype, bool(row.masking))
    path = Path(kind, row.expression, "exact" if kind.is_stated else "unstated")
    return Edge(source, target, (path,), job, node_id("run", row.run) if row.run else "")


def explained(edges: Iterable[Edge], told: dict[str, ToldByRun], earlier: Mapping[str, Sequence[str]]) -> list[Edge]:
    """
    Return edges with the steps that events tell and with their certainty, in the same order.

    Args:
        edges: the edges, each with one path.
        told: what the events of their last runs tell, by the id of the run.
        earlier: what `earlier_runs` returned. An edge that such a run told is told by the latest of the others that
            tells its way.
    """
    known = {node_id("run", run): each for run, each in told.items()}
    made = []
    for edge in edges:
        runs = earlier.get(edge.run)
        if runs is not None:
            telling = (run for run in runs if _key(edge) in known.get(run, _NOTHING).ways)
            edge = attrs.evolve(edge, run=next(telling, runs[0] if runs else ""))  # noqa: PLW2901 (as it was then)
        made.append(_explained(edge, known.get(edge.run, _NOTHING)))
    return made


def latest_runs(jobs: str) -> str:
    """
    Return a query for the runs of some jobs until a time, which is its parameter, with the `place` of each one.

    Args:
        jobs: the ids of the jobs, as SQL lists them. The latest run of each has the place 1.
    """
    return (
        "SELECT r.*, row_number() OVER (PARTITION BY job_id "  # noqa: S608 (numbers alone)
        "ORDER BY coalesce(started, first_time) DESC, run_id) AS place FROM run r "
        f"WHERE job_id IN ({jobs}) AND coalesce(started, first_time) <= ?"
    )


def runs_until(tables: QueriedTables, jobs: Iterable[int], time: int) -> dict[int, list[str]]:
    """Return the last runs of some jobs until a time, microseconds since 1970, newest first."""
    found: dict[int, list[str]] = {}
    for listed in id_lists(jobs):
        rows = tables.query(
            f"SELECT job_id, run_id FROM ({latest_runs(listed)}) t "  # noqa: S608 (numbers alone)
            "WHERE place <= ? ORDER BY job_id, place",
            (time, RUNS_OF_A_JOB),
        )
        for job, run in rows:
            found.setdefault(job, []).append(run)
    return found


def earlier_runs(
    tables: QueriedTables, job_of_run: Mapping[str, _Job], until: Mapping[_Job, Sequence[str]], time: int
) -> dict[str, list[str]]:
    """
    Return what was last of the jobs of some runs that began after a time.

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
    told: dict[str, ToldByRun], jobs: Mapping[str, str], needed: Collection[str]
) -> tuple[Diagnostic, ...]:
    """
    Return what was not understood as diagnostics.

    Args:
        told: what the events of runs tell.
        jobs: run -> the id of its job's node.
        needed: the runs without which something is missing.
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
        for run in sorted(told)
        for operator, message in told[run].remarks
    )


def call_sites_of(tables: QueriedTables, runs: Iterable[str], time: int) -> dict[str, str]:
    """
    Return the line of the user's Python that ran each run, such as `jobs/daily.py:12`, if an event tells it.

    Args:
        tables: the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    return tables.call_sites(runs, time)


def _later_runs(tables: QueriedTables, runs: Iterable[str], time: int) -> set[str]:
    found: set[str] = set()
    for marks, part in marked_lists(sorted(set(runs))):
        sql = f"SELECT run_id FROM run WHERE run_id IN ({marks}) AND coalesce(started, first_time) > ?"  # noqa: S608
        found.update(row[0] for row in tables.query(sql, (*part, time)))
    return found


def _key(edge: Edge) -> _Key:
    kind = edge.paths[0].kind
    return edge.source, edge.target, kind.type, kind.subtype, kind.masking


def _explained(edge: Edge, told: ToldByRun) -> Edge:
    path = edge.paths[0]
    way = told.way_of(edge)
    if way is not None:
        certainty = path.certainty if way.certainty == "exact" else way.certainty
        path = attrs.evolve(path, steps=way.steps, certainty=certainty)
    if path.certainty == "exact" and any(operator not in LEFT_OUT for operator, _ in told.remarks):
        path = attrs.evolve(path, certainty="guessed")
    return edge if path is edge.paths[0] else Edge(edge.source, edge.target, (path,), edge.job, edge.run, edge.batch)


def _nodes(tables: QueriedTables, name_ids: Iterable[int]) -> dict[int, str]:
    """Return the node of each dataset by the ids of its names."""
    belongs = datasets_by_name(tables, name_ids)
    named = datasets(tables, belongs.values())
    return {
        name_id: node_id("dataset", named[dataset].namespace, named[dataset].name)
        for name_id, dataset in belongs.items()
        if dataset in named
    }


def _ways(paths: Iterable[ToldPath], nodes: Mapping[int, str]) -> dict[_Key, list[Path]]:
    """Return the ways of edges that paths are."""
    found: dict[_Key, list[Path]] = {}
    for path in paths:
        if path.source_id in nodes and path.target_id in nodes:
            ends = column_id(nodes[path.source_id], path.source), column_id(nodes[path.target_id], path.target)
            steps = [
                Step(step.operator, step.expression, certainty=certainty_of(step.certainty), call_site=step.call_site)
                for step in path.steps
            ]
            kind = (path.type, path.subtype, path.masking)
            way = Path(Kind(*kind), "", certainty_of(path.certainty), steps_of(path.operators, steps))
            found.setdefault((*ends, *kind), []).append(way)
    return found
