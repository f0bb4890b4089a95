"""`upstream`, `downstream` and `between`: the origins of data, their products, and the paths between two nodes."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    RunNode,
    VersionNode,
    last_of,
    node_id,
    united,
)
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.reach import Reach
from openlineage_pyspark.workbench.questions.arguments import (
    AsOf,
    Depth,
    Direct,
    Ever,
    Ref,
    Since,
    Source,
    Target,
    limits_of,
)
from openlineage_pyspark.workbench.questions.graph import detailed
from openlineage_pyspark.workbench.questions.oddities import bounded, dropped_of_datasets
from openlineage_pyspark.workbench.questions.reach.reach import (
    Direction,
    Limits,
    datasets_of_job,
    has_gaps,
    limit_diagnostic,
    part_between,
    reach,
    runs_along,
    runs_between,
)
from openlineage_pyspark.workbench.questions.reach.reach_text import REACH_WRITERS, figure_of_reach
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
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
from openlineage_pyspark.workbench.questions.unstated_columns import unstated_along, unstated_between
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.questions.versions.version_reach import (
    reach_places,
    reach_versions,
    versions_lead_on,
)
from openlineage_pyspark.workbench.questions.versions.versions import VersionEdge
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH, identity
from openlineage_pyspark.workbench.store.names import QueriedTables, ResolvedPlace, datasets, find, rows_by_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import Node
    from openlineage_pyspark.workbench.model.kinds import Certainty, NodeId
    from openlineage_pyspark.workbench.questions.reach.reach import Closure, Place, PlaceEdge
    from openlineage_pyspark.workbench.questions.resolve import ResolvedRef
    from openlineage_pyspark.workbench.questions.versions.versions import VersionClosure, VersionKey

_BY = "the unit of the answer; default: columns for a column, snapshots (versions) for a version and a run, else tables"
By: TypeAlias = Annotated[Literal["table", "column", "snapshot", "job"] | None, Help(_BY)]
_NO_JOB = JobNode("", "")

# Aggregate an answer by tables or by jobs.


class Grain(enum.Enum):
    """The unit of an answer's nodes."""

    TABLE = "table"
    COLUMN = "column"
    SNAPSHOT = "snapshot"
    JOB = "job"


def coarser(found: Reach, grain: Grain, *, is_down: bool) -> Reach:
    """
    Return an answer aggregated by tables or by jobs.

    Args:
        found: the answer by columns, by versions, or by tables.
        grain: TABLE or JOB.
        is_down: whether it is downstream of the start.
    """
    made = _by_table(found)
    return (_by_job(made, is_down=is_down) if grain is Grain.JOB else made).nearest_first()


def _by_table(found: Reach) -> Reach:
    tables = {end.id: _table(found, end) for end in found.ends}
    depths: dict[NodeId, int] = {}
    for node, depth in sorted(found.depths.items(), key=lambda each: each[1]):
        depths.setdefault(tables[node], depth)
    same: dict[tuple[NodeId, NodeId, NodeId], list[Edge]] = {}
    for edge in found.graph.edges:
        if not edge.kept:
            same.setdefault((tables[edge.source], tables[edge.target], edge.job), []).append(edge)
    edges = []
    for (source, target, job), each in same.items():
        last = last_of(each)
        certainty: Certainty = "guessed" if all(edge.is_inferred for edge in each) else "exact"
        edges.append(Edge(source, target, job=job, run=last.run, certainty=certainty, seen=last.seen))
    return _evolved(found, found.graph.nodes, edges, tables[found.start[0]], depths)


def _by_job(found: Reach, *, is_down: bool) -> Reach:
    """Return the jobs: one comes after another if it reads what that one writes."""
    [start] = found.start
    is_table = isinstance(found.nodes[start], DatasetNode)
    depths: dict[NodeId, int] = {}
    following: dict[NodeId, list[Edge]] = {}
    for edge in found.graph.edges:
        job, near = edge.job or _NO_JOB.id, edge.source if is_down else edge.target
        # If the user named a job, its own datasets already have the depth 1.
        depth = found.depths[near] + int(is_table)
        depths[job] = min(depth, depths.get(job, depth))
        following.setdefault(edge.source, []).append(edge)
    depths[start] = 0
    made: dict[tuple[NodeId, NodeId], Edge] = {}

    def add(source: NodeId, target: NodeId, edge: Edge) -> None:
        if source != target:
            made.setdefault((source, target), Edge(source, target, job=edge.job, run=edge.run))

    for edge in found.graph.edges:
        job, near = edge.job or _NO_JOB.id, edge.source if is_down else edge.target
        if near == start and not isinstance(found.nodes[start], JobNode):
            add(*((start, job) if is_down else (job, start)), edge)
        for each in following.get(edge.target, ()):
            add(job, each.job or _NO_JOB.id, each)
    return _evolved(found, (*found.graph.nodes, _NO_JOB), made.values(), start, depths)


def _table(found: Reach, node: Node) -> NodeId:
    """Return the dataset that a node is or belongs to; a job or a run itself."""
    owner = found.owner(node.id)
    return owner.id if isinstance(owner, DatasetNode) else node.id


def _evolved(
    found: Reach, nodes: Iterable[Node], edges: Iterable[Edge], start: NodeId, depths: dict[NodeId, int]
) -> Reach:
    return Reach(attrs.evolve(found.graph, nodes=nodes, edges=edges), (start,), depths)


@question(REACH_WRITERS, figure=figure_of_reach)
def upstream(
    tables: QueriedTables,
    ref: Ref,
    *,
    depth: Depth = None,
    by: By = None,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[Reach]:
    """Show the sources of a dataset, a column, a version, a job or a run, nearest first."""
    limits = limits_of(depth, as_of, direct=direct, ever=ever, since=since)
    found = _reached_from(tables, ref, Direction.UPSTREAM, limits, Grain(by) if by else None)
    return _answer_of(tables, limits, found)


@question(REACH_WRITERS, figure=figure_of_reach)
def downstream(
    tables: QueriedTables,
    ref: Ref,
    *,
    depth: Depth = None,
    by: By = None,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[Reach]:
    """Show everything that depends on a dataset, a column, a version, a job or a run, nearest first."""
    limits = limits_of(depth, as_of, direct=direct, ever=ever, since=since)
    found = _reached_from(tables, ref, Direction.DOWNSTREAM, limits, Grain(by) if by else None)
    return _answer_of(tables, limits, found)


@question(REACH_WRITERS, figure=figure_of_reach)
def between(
    tables: QueriedTables,
    source: Source,
    target: Target,
    *,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[Reach]:
    """Show the paths from one dataset or column to another."""
    limits = limits_of(None, as_of, direct=direct, ever=ever, since=since)
    return _answer_of(tables, limits, _paths_between(tables, source, target, limits))


@attrs.frozen
class _Traversed:
    """
    The result of a traversal.

    Args:
        reach: the nodes and edges, with the diagnostics about them.
        runs: the runs whose gaps may hide more of it.
    """

    reach: Reach
    runs: frozenset[str]


def _answer_of(tables: QueriedTables, limits: Limits, traversed: _Traversed) -> Answer[Reach]:
    """
    Return the result of a traversal as an answer, with all that the store knows of it, and with its diagnostics.

    Args:
        tables: the store.
        limits: those that the question had.
        traversed: the result.
    """
    found = traversed.reach
    nodes = found.graph.nodes
    graph = detailed(tables, limits, found.graph, traversed.runs)
    dropped: Iterable[Diagnostic] = ()
    # Runs that are kept always state the current lineage. They may not state an earlier one.
    if limits.ever or limits.as_of is not None or any(isinstance(node, (VersionNode, RunNode)) for node in nodes):
        ids = {identity("dataset", node.namespace, node.name) for node in nodes if isinstance(node, DatasetNode)}
        dropped = dropped_of_datasets(tables, ids)
    result = Reach(attrs.evolve(graph, diagnostics=()), found.start, found.depths)
    return answered(result, (*found.graph.diagnostics, *graph.diagnostics, *dropped), as_of=limits.as_of)


def _reached_from(
    tables: QueriedTables, text: str, direction: Direction, limits: Limits, by: Grain | None
) -> _Traversed:
    """
    Return the nodes upstream or downstream of a node.

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
    elif isinstance(asked, ResolvedVersion):
        answer = traversal.of_version(versions, asked)
    else:
        answer = traversal.of_run(versions, asked)
    if grain in (Grain.TABLE, Grain.JOB):
        answer = coarser(answer, grain, is_down=direction is Direction.DOWNSTREAM)
    return _Traversed(answer, frozenset(traversal.runs))


def _paths_between(tables: QueriedTables, source: str, target: str, limits: Limits) -> _Traversed:
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
    unstated = unstated_between(tables, start.dataset.id, end.dataset.id, limits) if by_columns else ()
    found = _Traversal(tables, Direction.DOWNSTREAM, limits).of_closure(begin, part, unstated)
    return _Traversed(found, frozenset(runs_between(tables, start.dataset.id, end.dataset.id, limits)))


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


class _Traversal:
    """
    Traverses the lineage from a node, and collects nodes and edges with names instead of ids.

    Attributes:
        runs: the runs whose gaps may hide more of the result.
    """

    def __init__(self, tables: QueriedTables, direction: Direction, limits: Limits) -> None:
        self._tables = tables
        self._direction = direction
        self._is_down = direction is Direction.DOWNSTREAM
        self._limits = limits
        self._nodes: dict[NodeId, Node] = {}
        self._depths: dict[NodeId, int] = {}
        self._edges: list[Edge] = []
        self.runs: set[str] = set()

    def of_place(self, start: Place, *, by_columns: bool) -> Reach:
        found = reach(self._tables, [start], self._direction, self._limits, by_columns=by_columns)
        self.runs = runs_along(self._tables, found, self._direction, self._limits)
        unstated = unstated_along(self._tables, found, self._direction, self._limits) if by_columns else ()
        return self.of_closure(start, found, unstated)

    def of_closure(self, start: Place, reached: Closure, unstated: Iterable[Diagnostic]) -> Reach:
        ids = self._add_places({**reached.passed, **reached.depths})
        self._add_edges(reached.edges, ids)
        return self._reach(ids[start], (*self._limit(leads_on=reached.goes_on), *unstated))

    def of_job(self, job: ResolvedJob) -> Reach:
        start = self._add(0, JobNode(job.namespace, job.name))
        within = {
            each: datasets_of_job(self._tables, each, self._direction, self._limits)
            for each in jobs_within(self._tables, job.job_id)
        }
        first = sorted({place for places in within.values() for place in places})
        reached = reach(self._tables, first, self._direction, self._further, by_columns=False)
        self.runs = runs_along(self._tables, reached, self._direction, self._further)
        ids = self._add_places({place: depth + 1 for place, depth in reached.depths.items()})
        self._add_edges(reached.edges, ids)
        jobs = self._add_jobs(within)
        for each, places in within.items():
            self._edges += (Edge(*self._from(start, ids[place]), job=jobs[each]) for place in places)
        return self._reach(start, self._limit(leads_on=reached.goes_on))

    def of_version(self, versions: StoredVersions, asked: ResolvedVersion) -> Reach:
        key, limits = asked.version.key, self._limits
        reached = reach_versions(versions, [key], self._direction, depth=limits.depth, as_of=limits.as_of)
        ids = self._add_versions(reached, 0)
        return self._reach(ids[key], self._missing(versions, reached, ids))

    def of_run(self, versions: StoredVersions, asked: ResolvedRun) -> Reach:
        job = JobNode(asked.job.namespace, asked.job.name)
        start = self._add(0, RunNode(asked.run_id, job.id, ""), job)
        parts = versions.parts_of(runs_within(self._tables, asked.run_id))
        if self._is_down:
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
        places = [(edge.source, self._is_down or edge.added) for edge in first]
        limits = self._further
        reached = reach_places(versions, places, self._direction, depth=limits.depth, as_of=limits.as_of)
        ids = self._add_versions(reached, 1)
        jobs = self._add_jobs(edge.job_id for edge in first)
        for edge in first:
            self._edges.append(_version_edge(*self._from(start, ids[edge.source]), edge, jobs))
        return self._reach(start, self._missing(versions, reached, ids))

    @property
    def _further(self) -> Limits:
        """Return the limits after the first job."""
        depth = self._limits.depth
        return attrs.evolve(self._limits, depth=None if depth is None else depth - 1)

    def _from(self, start: NodeId, other: NodeId) -> tuple[NodeId, NodeId]:
        """Return the source and the target of an edge at the start."""
        return (start, other) if self._is_down else (other, start)

    def _reach(self, start: NodeId, missing: Iterable[Diagnostic]) -> Reach:
        graph = Graph(self._nodes.values(), self._edges, missing)
        return Reach(graph, (start,), self._depths).nearest_first()

    def _limit(self, *, leads_on: bool) -> list[Diagnostic]:
        """Return the diagnostic about an answer that stops at its depth."""
        return [limit_diagnostic(self._direction, self._limits)] if leads_on else []

    def _missing(
        self, versions: StoredVersions, reached: VersionClosure, ids: dict[VersionKey, NodeId]
    ) -> list[Diagnostic]:
        """Return the diagnostics about missing nodes: beyond the depth, and versions without a known run."""
        limits = self._limits
        leads_on = limits.depth is not None and versions_lead_on(versions, reached, self._direction, limits.as_of)
        missing = self._limit(leads_on=leads_on)
        if has_gaps(self._tables):
            last = {key for key, _ in reached.last}
            self.runs = self._runs_of(versions, [key for key in reached.depths if key not in last])
        labels = Reach(Graph(self._nodes.values(), ()), (), {})
        for key in reached.depths:
            if not self._is_down and key[1] and not versions.get(key).parts:
                message = f"no run is known that made {labels.label(ids[key])}"
                missing.append(Diagnostic("unknown-writer", message, missing=True, node=ids[key]))
        return missing

    def _runs_of(self, versions: StoredVersions, keys: Iterable[VersionKey]) -> set[str]:
        """Return the runs that read versions, or that made them."""
        if self._is_down:
            return {read.part.run_id for reads in versions.readers(keys).values() for read in reads}
        return {part.run_id for key in keys for part in versions.get(key).parts}

    def _add(self, depth: int, *nodes: Node) -> NodeId:
        """Add a node of the result, before others that it belongs to."""
        self._nodes |= {node.id: node for node in nodes}
        self._depths[nodes[0].id] = depth
        return nodes[0].id

    def _add_places(self, depths: dict[Place, int]) -> dict[Place, NodeId]:
        named = self._datasets(place[0] for place in depths)
        return {
            place: self._add(depth, *([ColumnNode(named[place[0]].id, place[1])] if place[1] else []), named[place[0]])
            for place, depth in depths.items()
        }

    def _add_versions(self, reached: VersionClosure, more: int) -> dict[VersionKey, NodeId]:
        named = self._datasets(dataset for dataset, _ in reached.depths)
        ids = {
            key: self._add(depth + more, VersionNode(named[key[0]].id, key[1]), named[key[0]])
            for key, depth in reached.depths.items()
        }
        jobs = self._add_jobs(edge.job_id for edge in reached.edges)
        self._edges += (_version_edge(ids[edge.source], ids[edge.target], edge, jobs) for edge in reached.edges)
        return ids

    def _datasets(self, ids: Iterable[int]) -> dict[int, DatasetNode]:
        named = datasets(self._tables, ids)
        return {id_: DatasetNode(each.namespace, each.name, each.label) for id_, each in named.items()}

    def _add_edges(self, edges: Iterable[PlaceEdge], ids: dict[Place, NodeId]) -> None:
        every = list(edges)
        jobs = self._add_jobs(edge.job_id for edge in every)
        made: list[Edge] = []
        job_of_run: dict[str, int] = {}
        for edge in every:
            ends = ids[edge.source], ids[edge.target]
            if not edge.rows:
                self._edges.append(Edge(*ends, job=jobs[edge.job_id]))
            made += [stored_edge(*ends, row, jobs[edge.job_id]) for row in edge.rows]
            job_of_run |= {row.run: edge.job_id for row in edge.rows if row.run}
        self._edges += united(self._explained(made, job_of_run))

    def _explained(self, edges: list[Edge], job_of_run: dict[str, int]) -> list[Edge]:
        """Return edges between columns as the events of their runs state them."""
        if not edges:
            return []
        time, earlier, until = self._limits.time, {}, {}
        if self._limits.as_of is not None:
            until = runs_until(self._tables, job_of_run.values(), time)
            earlier = earlier_runs(self._tables, job_of_run, until, time)
        details = details_of_runs(self._tables, {*job_of_run, *(run for runs in until.values() for run in runs)}, time)
        return explained(edges, details, earlier)

    def _add_jobs(self, ids: Iterable[int | None]) -> dict[int | None, NodeId]:
        """Add jobs, and return their nodes."""
        found: dict[int | None, NodeId] = {None: ""}
        sql = "SELECT job_id, namespace, name FROM job WHERE job_id IN ({ids})"
        for job_id, namespace, name in rows_by_id(self._tables, sql, (each for each in ids if each is not None)):
            node = JobNode(namespace, name)
            self._nodes[node.id] = node
            found[job_id] = node.id
        return found


def _version_edge(source: NodeId, target: NodeId, edge: VersionEdge, jobs: dict[int | None, NodeId]) -> Edge:
    """Return an edge between versions, or between one and a run."""
    run, batch = edge.part
    return Edge(
        *(source, target),
        job=jobs[edge.job_id],
        run=node_id("run", run) if run else "",
        batch=None if batch == NO_BATCH else batch,
        kept=edge.kept,
        certainty="guessed" if edge.inferred else "exact",
    )
