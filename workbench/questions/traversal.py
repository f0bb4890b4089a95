"""Traverses the lineage upstream or downstream of a node."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.model.graph import node_id, united
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import time_of_micros
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.questions.graph import detailed
from openlineage_pyspark.workbench.questions.oddities import bounded, dropped_of_datasets
from openlineage_pyspark.workbench.questions.reach import (
    Direction,
    Limits,
    datasets_of_job,
    limit_diagnostic,
    part_between,
    reach,
)
from openlineage_pyspark.workbench.questions.reached import (
    AnswerLink,
    AnswerNode,
    Grain,
    LinkedNodes,
    closest,
    closest_link,
    coarser,
    id_of,
)
from openlineage_pyspark.workbench.questions.registry import answered
from openlineage_pyspark.workbench.questions.resolve import (
    ResolvedJob,
    ResolvedRun,
    ResolvedVersion,
    find_version,
    jobs_within,
    resolve_ref,
    runs_within,
)
from openlineage_pyspark.workbench.questions.run_details import (
    details_of_runs,
    earlier_runs,
    explained,
    runs_until,
    stored_edge,
)
from openlineage_pyspark.workbench.questions.versions import (
    StoredVersions,
    VersionEdge,
    reach_places,
    reach_versions,
    versions_lead_on,
)
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH, identity
from openlineage_pyspark.workbench.store.names import DatasetName, ResolvedPlace, datasets, find
from openlineage_pyspark.workbench.store.tables.ids import id_lists

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.answer import Answer
    from openlineage_pyspark.workbench.model.graph import Edge
    from openlineage_pyspark.workbench.questions.reach import Closure, Place, PlaceEdge
    from openlineage_pyspark.workbench.questions.resolve import ResolvedRef
    from openlineage_pyspark.workbench.questions.versions import VersionClosure, VersionKey
    from openlineage_pyspark.workbench.store.names import QueriedTables


def answer_of(tables: QueriedTables, limits: Limits, found: LinkedNodes) -> Answer[LinkedNodes]:
    """
    Return what is reached as an answer, with all that the store knows of it, and with what is missing.

    Args:
        tables: the store.
        limits: those that the question had.
        found: what is reached.
    """
    graph = detailed(tables, limits, found.graph(), (link.last_run for link in found.links))
    nodes = found.all_nodes
    dropped: Iterable[Diagnostic] = ()
    # What jobs do now, runs tell that are kept.
    if limits.ever or limits.as_of is not None or any(node.kind in ("version", "run") for node in nodes):
        ids = {identity("dataset", node.namespace, node.name) for node in nodes if node.dataset}
        dropped = dropped_of_datasets(tables, ids)
    bare = ShownGraph(graph.nodes, graph.edges, time=graph.time)
    result = attrs.evolve(found, details=bare, diagnostics=())
    return answered(result, (*found.diagnostics, *graph.diagnostics, *dropped), as_of=limits.as_of)


def reached_from(
    tables: QueriedTables, text: str, direction: Direction, limits: Limits, by: Grain | None = None
) -> LinkedNodes:
    """
    Return what is upstream or downstream of a node.

    Args:
        tables: the store.
        text: the reference to the node, as `resolve.resolve_ref` takes it.
        direction: upstream or downstream.
        limits: how far.
        by: what the nodes are; None for what fits the node: columns for a column, versions for a version and for a
            run, tables for a dataset and for a job.

    Raises:
        StoreError: nothing has this name, or several nodes have it; or its answer has no such grain.
    """
    limits = bounded(tables, limits)
    versions = StoredVersions(tables)
    asked = resolve_ref(tables, versions, text, limits.time)
    if isinstance(asked, ResolvedPlace) and not asked.column and by is Grain.SNAPSHOT:
        asked = find_version(tables, versions, f"{text}@latest", limits.time)
    grain = by or _usual_grain(asked)
    if grain in (Grain.COLUMN, Grain.SNAPSHOT) and _finest(asked) is not grain:
        raise StoreError(f"{text} can't be listed by {grain.value}: {_INSTEAD[grain]}")
    traversal = _Traversal(tables, direction, limits)
    if isinstance(asked, ResolvedPlace):
        if asked.column:
            answer = traversal.of_place((asked.dataset.id, asked.column), by_columns=True)
        else:
            answer = traversal.of_place((asked.dataset.id, ""), by_columns=grain is Grain.COLUMN)
    elif isinstance(asked, ResolvedJob):
        answer = traversal.of_job(asked)
    else:
        answer = traversal.of_versions(versions, asked)
    return coarser(answer, grain) if grain in (Grain.TABLE, Grain.JOB) else answer


def paths_between(tables: QueriedTables, source: str, target: str, limits: Limits) -> LinkedNodes:
    """
    Return the paths from one dataset or column to another.

    Args:
        tables: the store.
        source: where they begin.
        target: where they end. If the source is a column and the target a dataset, any column of that.
        limits: which paths count.

    Raises:
        StoreError: nothing has such a name, or several nodes have it.
    """
    limits = bounded(tables, limits)
    start, end = find(tables, source), find(tables, target)
    if end.column and not start.column:
        raise StoreError(f"{source} is a dataset and {target} a column: name a column of {start.dataset.label} too")
    begin, by_columns = (start.dataset.id, start.column), bool(start.column)
    reached = reach(tables, [begin], Direction.DOWNSTREAM, limits, by_columns=by_columns, looks_on=False)
    part = part_between(reached, (end.dataset.id, end.column))
    found = _Traversal(tables, Direction.DOWNSTREAM, limits).of_closure(begin, part)
    return attrs.evolve(found, question="between")


_INSTEAD = {
    Grain.COLUMN: "name a dataset or a column",
    Grain.SNAPSHOT: "name a dataset, a version (DATASET@VERSION) or a run",
}


def _usual_grain(asked: ResolvedRef) -> Grain:
    if isinstance(asked, ResolvedPlace):
        return Grain.COLUMN if asked.column else Grain.TABLE
    return Grain.TABLE if isinstance(asked, ResolvedJob) else Grain.SNAPSHOT


def _finest(asked: ResolvedRef) -> Grain:
    """Return the finest grain of an answer about a node."""
    if isinstance(asked, ResolvedJob):
        return Grain.TABLE
    return Grain.COLUMN if isinstance(asked, ResolvedPlace) else Grain.SNAPSHOT


@attrs.frozen
class _Traversal:
    """Traverses the lineage from a node, and gives what it finds names in the place of ids."""

    tables: QueriedTables
    direction: Direction
    limits: Limits

    def of_place(self, start: Place, *, by_columns: bool) -> LinkedNodes:
        return self.of_closure(start, reach(self.tables, [start], self.direction, self.limits, by_columns=by_columns))

    def of_closure(self, start: Place, reached: Closure) -> LinkedNodes:
        shown = self._places({**reached.passed, **reached.depths})
        nodes = [shown[place] for place in reached.depths if place != start]
        return self._limited(self._answer(shown[start], nodes, self._links(reached.edges, shown)), reached)

    def of_job(self, job: ResolvedJob) -> LinkedNodes:
        limits = self.limits
        start = AnswerNode("", "", job.namespace, job.name, 0, kind="job")
        within = {
            each: datasets_of_job(self.tables, each, self.direction, limits)
            for each in jobs_within(self.tables, job.job_id)
        }
        first = sorted({place for places in within.values() for place in places})
        further = attrs.evolve(limits, depth=None if limits.depth is None else limits.depth - 1)
        reached = reach(self.tables, first, self.direction, further, by_columns=False)
        shown = self._places({place: depth + 1 for place, depth in reached.depths.items()})
        links = [*self._links(reached.edges, shown)]
        named = self._jobs(within)
        for each, places in within.items():
            for place in places:
                ends = (start, shown[place]) if self.direction is Direction.DOWNSTREAM else (shown[place], start)
                links.append(AnswerLink(*ends, *named[each], ""))
        return self._limited(self._answer(start, shown.values(), links), reached)

    def of_versions(self, versions: StoredVersions, asked: ResolvedVersion | ResolvedRun) -> LinkedNodes:
        limits = self.limits
        down = self.direction is Direction.DOWNSTREAM
        if isinstance(asked, ResolvedVersion):
            key = asked.version.key
            reached = reach_versions(versions, [key], self.direction, depth=limits.depth, as_of=limits.as_of)
            shown = self._versions(reached, 0)
            answer = self._answer(shown[key], set(shown.values()) - {shown[key]}, self._version_links(reached, shown))
            return attrs.evolve(answer, diagnostics=self._missing(versions, reached, shown))
        start = AnswerNode("", "", asked.job.namespace, asked.job.name, 0, kind="run", run=asked.run_id)
        parts = versions.parts_of(runs_within(self.tables, asked.run_id))
        if down:
            first = [
                VersionEdge(key, key, part, versions.get(key).job_id)
                for part, keys in versions.made_by(parts).items()
                for key in keys
            ]
        else:
            first = [
                VersionEdge(read.version, read.version, part, read.job_id, inferred=read.inferred, added=read.added)
                for part, reads in versions.read_by(parts).items()
                for read in reads
            ]
        places = [(edge.source, down or edge.added) for edge in first]
        further = None if limits.depth is None else limits.depth - 1
        reached = reach_places(versions, places, self.direction, depth=further, as_of=limits.as_of)
        shown = self._versions(reached, 1)
        links = self._version_links(reached, shown)
        jobs = self._jobs(edge.job_id for edge in first)
        for edge in first:
            ends = (start, shown[edge.source]) if down else (shown[edge.source], start)
            links.append(AnswerLink(*ends, *jobs[edge.job_id], edge.part[0], _batch(edge), inferred=edge.inferred))
        answer = self._answer(start, shown.values(), links)
        return attrs.evolve(answer, diagnostics=self._missing(versions, reached, shown))

    def _limited(self, answer: LinkedNodes, reached: Closure) -> LinkedNodes:
        """Return an answer that says so if its depth ends it."""
        limit = (limit_diagnostic(self.direction, self.limits),) if reached.goes_on else ()
        return attrs.evolve(answer, diagnostics=limit)

    def _missing(
        self, versions: StoredVersions, reached: VersionClosure, shown: dict[VersionKey, AnswerNode]
    ) -> tuple[Diagnostic, ...]:
        """Return the diagnostics about missing nodes: beyond the depth, and versions without a known run."""
        limits = self.limits
        leads_on = limits.depth is not None and versions_lead_on(versions, reached, self.direction, limits.as_of)
        limit = (limit_diagnostic(self.direction, self.limits),) if leads_on else ()
        if self.direction is Direction.DOWNSTREAM:
            return limit
        unknown = (shown[key] for key in reached.depths if key[1] and not versions.get(key).parts)
        return (
            *limit,
            *(
                Diagnostic("unknown-writer", f"no run is known that made {each.label}", missing=True, node=id_of(each))
                for each in unknown
            ),
        )

    def _places(self, depths: dict[Place, int]) -> dict[Place, AnswerNode]:
        named = datasets(self.tables, (place[0] for place in depths))
        return {
            place: _node(named[place[0]], depth, column=place[1], kind="column" if place[1] else "dataset")
            for place, depth in depths.items()
        }

    def _links(self, edges: Iterable[PlaceEdge], shown: dict[Place, AnswerNode]) -> list[AnswerLink]:
        every = list(edges)
        jobs = self._jobs(edge.job_id for edge in every)
        explained_edges = self._explained(every, shown, jobs)
        return [
            AnswerLink(
                shown[edge.source],
                shown[edge.target],
                *jobs[edge.job_id],
                last_run=max((row.run for row in edge.rows), default=""),
                edge=made,
            )
            for edge, made in zip(every, explained_edges, strict=True)
        ]

    def _explained(
        self, edges: list[PlaceEdge], shown: dict[Place, AnswerNode], jobs: dict[int | None, tuple[str, str]]
    ) -> list[Edge | None]:
        """Return the edge of the graph for each edge between columns, as the events of the runs tell it; else None."""
        job_of_run = {row.run: edge.job_id for edge in edges for row in edge.rows if row.run}
        if not job_of_run and not any(edge.rows for edge in edges):
            return [None] * len(edges)
        time, earlier, until = self.limits.time, {}, {}
        if self.limits.as_of is not None:
            until = runs_until(self.tables, job_of_run.values(), time)
            earlier = earlier_runs(self.tables, job_of_run, until, time)
        details = details_of_runs(self.tables, {*job_of_run, *(run for runs in until.values() for run in runs)}, time)
        made = []
        for edge in edges:
            ends = id_of(shown[edge.source]), id_of(shown[edge.target])
            job = node_id("job", *reversed(jobs[edge.job_id]))
            made += [stored_edge(*ends, row, job) for row in edge.rows]
        paths = iter(explained(made, details, earlier))
        each = (united(islice(paths, len(edge.rows))) for edge in edges)
        return [same[0] if same else None for same in each]

    def _versions(self, reached: VersionClosure, more: int) -> dict[VersionKey, AnswerNode]:
        named = datasets(self.tables, (dataset_id for dataset_id, _ in reached.depths))
        return {
            key: _node(named[key[0]], depth + more, version=key[1], kind="version")
            for key, depth in reached.depths.items()
        }

    def _version_links(self, reached: VersionClosure, shown: dict[VersionKey, AnswerNode]) -> list[AnswerLink]:
        jobs = self._jobs(edge.job_id for edge in reached.edges)
        return [
            AnswerLink(
                shown[edge.source],
                shown[edge.target],
                *jobs[edge.job_id],
                last_run=edge.part[0],
                batch=_batch(edge),
                kept=edge.kept,
                inferred=edge.inferred,
            )
            for edge in reached.edges
        ]

    def _answer(self, start: AnswerNode, nodes: Iterable[AnswerNode], links: Iterable[AnswerLink]) -> LinkedNodes:
        every = [(identity("job", each.job_namespace, each.job) if each.job else 0, each) for each in links]
        seen = self._last_seen(job for job, _ in every if job)
        ordered = tuple(
            sorted((attrs.evolve(each, last_seen=seen.get(job, "")) for job, each in every), key=closest_link)
        )
        return LinkedNodes(self.direction.value, start, tuple(sorted(nodes, key=closest)), ordered)

    def _last_seen(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the times when jobs were last seen, in ISO 8601."""
        found: dict[int, str] = {}
        for listed in id_lists(ids):
            rows = self.tables.query(f"SELECT job_id, last_time FROM job WHERE job_id IN ({listed})")  # noqa: S608 (numbers)
            found |= {job: time_of_micros(time).isoformat().replace("+00:00", "Z") for job, time in rows}
        return found

    def _jobs(self, ids: Iterable[int | None]) -> dict[int | None, tuple[str, str]]:
        """Return the name and the namespace of jobs."""
        found: dict[int | None, tuple[str, str]] = {None: ("", "")}
        for listed in id_lists(each for each in ids if each is not None):
            sql = f"SELECT job_id, name, namespace FROM job WHERE job_id IN ({listed})"  # noqa: S608 (numbers alone)
            found |= {job_id: (name, namespace) for job_id, name, namespace in self.tables.query(sql)}
        return found


def _node(
    dataset: DatasetName, depth: int, *, column: str = "", version: str = "", kind: str = "dataset"
) -> AnswerNode:
    return AnswerNode(dataset.label, column, dataset.namespace, dataset.name, depth, version, kind)


def _batch(edge: VersionEdge) -> int | None:
    return None if edge.part[1] == NO_BATCH else edge.part[1]
