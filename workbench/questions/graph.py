"""Return the lineage of a store as a graph: all of it, or the surroundings of one node."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import attrs
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    RunNode,
    column_id,
    node_id,
    united,
)
from openlineage_pyspark.workbench.model.times import iso_text
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.questions.arguments import AsOf, Direct, Ever, Since, limits_of
from openlineage_pyspark.workbench.questions.oddities import bounded, dropped_of_datasets, text_only_edges
from openlineage_pyspark.workbench.questions.reach.reach import (
    Direction,
    Limits,
    limit_diagnostic,
    reach,
    runs_along,
    unseen_jobs,
)
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.run_details import (
    RunDetails,
    details_of_runs,
    diagnostics_of,
    earlier_runs,
    explained,
    latest_runs,
    operators_of_edges,
    stored_edge,
)
from openlineage_pyspark.workbench.questions.unstated_columns import unstated_along
from openlineage_pyspark.workbench.store.current import EDGE_COLUMNS, EDGES, Current, edges_of_rows
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.names import (
    QueriedTables,
    datasets,
    find,
    name_with_namespace,
    names_of_datasets,
    rows_by_id,
)
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, checked_sql, id_lists

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.answer import Writer
    from openlineage_pyspark.workbench.model.graph import Node
    from openlineage_pyspark.workbench.model.kinds import Diagnostic
    from openlineage_pyspark.workbench.store.current import EdgeRow
    from openlineage_pyspark.workbench.store.names import DatasetName

_G = TypeVar("_G", bound=Graph)

_ENDS = ("COMPLETE", "FAIL", "ABORT")
_RUN_COLUMNS = CheckedSql("job_id, run_id, state, started, ended, parent_run_id, error, call_site")

_AROUND = "only what is upstream and downstream of a DATASET.COLUMN or a DATASET; the end of a name is enough"
_WRITERS: dict[str, Writer] = {
    "mermaid": lambda answer: text_of_graph(answer.result, "mermaid"),
    "dot": lambda answer: text_of_graph(answer.result, "dot"),
    "html": lambda answer: text_of_graph(with_diagnostics(answer), "html"),
    "svg": lambda answer: text_of_graph(answer.result, "svg"),
}


@question(_WRITERS)
def graph(
    tables: QueriedTables,
    around: Annotated[str, Help(_AROUND, "NAME")] = "",
    *,
    depth: Annotated[int | None, Help("with a name: follow at most N jobs in each direction", "N", least=1)] = None,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[Graph]:
    """Show the lineage of a store as a graph: all of it, or what is around a dataset or a column."""
    limits = bounded(tables, limits_of(depth, as_of, direct=direct, ever=ever, since=since))
    limited: tuple[Diagnostic, ...] = ()
    if not around:
        found = whole_graph(tables, limits)
    else:
        place = find(tables, around)
        start = (place.dataset.id, place.column)
        closures = [
            (direction, reach(tables, [start], direction, limits, by_columns=bool(place.column)))
            for direction in Direction
        ]
        up, down = ({each[0] for each in (*closure.depths, *closure.passed)} for _, closure in closures)
        runs = {run for direction, closure in closures for run in runs_along(tables, closure, direction, limits)}
        found = _Builder(tables, limits, runs).build(up | down, up, down)
        limited = tuple(limit_diagnostic(direction, limits) for direction, closure in closures if closure.goes_on)
        if place.column:
            each = (unstated_along(tables, closure, direction, limits) for direction, closure in closures)
            limited = (*limited, *itertools.chain.from_iterable(each))
    bare = ShownGraph(found.nodes, found.edges, time=found.time)
    dropped: Iterable[Diagnostic] = ()
    if ever or limits.as_of is not None:
        ids = (identity("dataset", node.namespace, node.name) for node in found.nodes if isinstance(node, DatasetNode))
        dropped = dropped_of_datasets(tables, ids)
    return answered(bare, (*limited, *found.diagnostics, *dropped), as_of=limits.as_of)


def whole_graph(tables: QueriedTables, limits: Limits) -> Graph:
    """Return all the lineage of a store."""
    return _Builder(tables, limits).build(None)


def with_diagnostics(answer: Answer[Graph]) -> Graph:
    """Return the graph of an answer with what its envelope states, as pages show it."""
    return attrs.evolve(answer.result, diagnostics=answer.diagnostics)


def detailed(tables: QueriedTables, limits: Limits, named: Graph, along: Iterable[str]) -> Graph:
    """
    Return a graph with all that the store knows of its nodes, and with the gaps of their jobs.

    Args:
        tables: the store.
        limits: those that the question had.
        named: the names of its nodes, and its edges.
        along: the runs whose gaps may hide more of it, whether their jobs are nodes or not.
    """
    return _Builder(tables, limits, along).fill(named)


class _Builder:
    def __init__(self, tables: QueriedTables, limits: Limits, along: Iterable[str] = ()) -> None:
        self._tables = tables
        self._limits = bounded(tables, limits)
        self._along = frozenset(along)
        self._current = Current(tables, self._limits.time)
        self._unseen = unseen_jobs(tables, limits)

    def build(self, only: set[int] | None, up: set[int] | None = None, down: set[int] | None = None) -> Graph:
        """
        Return the graph.

        Args:
            only: the datasets that it has; None for all.
            up: those whose writers it has, whatever these read; None for all.
            down: those whose readers it has, whatever these write; None for all.
        """
        name_ids = None if only is None else names_of_datasets(self._tables, only)
        flows = _related(self._flows(name_ids), up, down)
        derived = [row for row in self._derived(name_ids) if only is None or row.source in only]
        ids = {flow[1] for flow in flows} | {end for row in derived for end in (row.source, row.target)}
        named = datasets(self._tables, only if only is not None else self._every_dataset() | ids)
        jobs = self._jobs({flow[0] for flow in flows} | {row.job for row in derived}, every=only is None)
        runs = self._runs(jobs)
        stating = {row.run for row in derived if row.run} | self._along
        details = details_of_runs(self._tables, {run.run_id for run in runs} | stating, self._limits.time)
        nodes: list[Node] = list(self._datasets(named))
        columns = self._columns(named, derived)
        paths = explained(_column_edges(derived, named, jobs), details, self._earlier(derived, jobs, runs))
        edges = sorted(united(paths), key=lambda each: (each.target, each.order, each.source, each.job))
        nodes += [*columns, *jobs.values(), *runs, *operators_of_edges(edges)]
        every_edge = (*self._flow_edges(flows, named, jobs), *edges)
        gaps = _diagnostics(details, runs, stating)
        return _with_text_only(ShownGraph(tuple(nodes), every_edge, gaps, self._time))

    def fill(self, graph: Graph) -> Graph:
        """Return a graph with the known facts of its nodes, the runs of its jobs, and the gaps of these."""
        own, stating = graph.nodes, {edge.run_id for edge in graph.edges} - {""} | self._along
        named = datasets(
            self._tables, (identity("dataset", n.namespace, n.name) for n in own if isinstance(n, DatasetNode))
        )
        jobs = self._jobs({identity("job", n.namespace, n.name) for n in own if isinstance(n, JobNode)}, every=False)
        columns = self._columns(named, []) if any(isinstance(node, ColumnNode) for node in own) else ()
        runs = self._runs(jobs)
        asked = [self._run(node, jobs) for node in own if isinstance(node, RunNode)]
        every: Iterable[Node] = (*self._datasets(named), *columns, *jobs.values(), *runs, *asked)
        known = {node.id: node for node in every}
        details = details_of_runs(self._tables, {run.run_id for run in runs} | stating, self._limits.time)
        named_nodes = [node for node in own if not isinstance(node, RunNode)]
        # The latest run of each job comes before one that the user named.
        nodes = {node.id: known.get(node.id, node) for node in (*named_nodes, *runs, *asked)}
        nodes |= {node.id: node for node in operators_of_edges(graph.edges)}
        return _with_text_only(Graph(nodes.values(), graph.edges, _diagnostics(details, runs, stating), self._time))

    @property
    def _time(self) -> str:
        return iso_text(self._limits.as_of)

    def _earlier(
        self, derived: Iterable[EdgeRow], jobs: dict[int, JobNode], runs: Sequence[RunNode]
    ) -> dict[str, list[str]]:
        """Return the argument `earlier` of `explained`, for the edges of an earlier time."""
        if self._limits.as_of is None:
            return {}
        until: dict[str, list[str]] = {}
        for run in runs:
            until.setdefault(run.job, []).append(run.run_id)
        job_of_run = {row.run: jobs[row.job].id for row in derived if row.run}
        return earlier_runs(self._tables, job_of_run, until, self._limits.time)

    def _every_dataset(self) -> set[int]:
        sql = (
            "SELECT i.dataset_id FROM dataset d JOIN dataset_identity i ON i.name_id = d.name_id WHERE first_time <= ?"
        )
        return {row[0] for row in self._tables.query(sql, (self._limits.time,))}

    def _flows(self, name_ids: set[int] | None) -> list[tuple[int, int, bool]]:
        """Return which job reads or writes which dataset, as job, dataset, and whether it writes."""
        read, written = (
            self._related_datasets("stated_read", name_ids),
            self._related_datasets("stated_write", name_ids),
        )
        if not self._limits.ever:
            self._current.learn(written)
            written = [(job, dataset) for job, dataset in written if self._current.holds(job, dataset)]
            reads = self._current.reads(job for job, _ in read)
            read = [(job, dataset) for job, dataset in read if dataset in reads[job]]
        both = ((pair, writes) for pairs, writes in ((read, False), (written, True)) for pair in pairs)
        return [(*pair, writes) for pair, writes in both if pair[0] not in self._unseen]

    def _related_datasets(self, table: str, name_ids: set[int] | None) -> list[tuple[int, int]]:
        """Return the datasets that jobs have ever read or written, each with its job."""
        sql = checked_sql(
            "SELECT DISTINCT l.job_id, i.dataset_id "
            "FROM {table} l JOIN dataset_identity i ON i.name_id = l.name_id "
            "WHERE l.first_time <= {time}",
            table=table,
            time=self._limits.time,
        )
        return sorted({(job, dataset) for job, dataset in self._among(sql, "l.name_id", name_ids)})

    def _derived(self, name_ids: set[int] | None) -> list[EdgeRow]:
        """Return the edges between columns that count under the limits."""

        def asked(condition: CheckedSql) -> list[tuple[Any, ...]]:
            return self._among(
                checked_sql(
                    "SELECT {edge_columns} FROM {edges} WHERE {condition}",
                    edge_columns=EDGE_COLUMNS,
                    edges=EDGES,
                    condition=condition,
                ),
                "c.output_id",
                name_ids,
            )

        if self._limits.ever:
            rows: Iterable[tuple[Any, ...]] = asked(checked_sql("c.first_time <= {time}", time=self._limits.time))
        else:
            rows = self._current.edges(self._related_datasets("stated_write", name_ids), asked)
        return [
            row
            for row in edges_of_rows(rows)
            if not (self._limits.direct and row.type == "INDIRECT") and row.job not in self._unseen
        ]

    def _among(self, sql: CheckedSql, column: str, name_ids: set[int] | None) -> list[tuple[Any, ...]]:
        """Return the rows of a query, or only those with one of some ids in a column."""
        if name_ids is None:
            return self._tables.query(sql)
        return [
            row
            for listed in id_lists(name_ids)
            for row in self._tables.query(
                checked_sql("{sql} AND {column} IN ({ids})", sql=sql, column=column, ids=listed)
            )
        ]

    def _datasets(self, named: dict[int, DatasetName]) -> Iterator[DatasetNode]:
        # The latest one comes last.
        sql = (
            "SELECT i.dataset_id, d.format FROM dataset d JOIN dataset_identity i ON i.name_id = d.name_id "
            "WHERE i.dataset_id IN ({ids}) AND d.format IS NOT NULL ORDER BY d.last_time, d.format"
        )
        formats = dict(rows_by_id(self._tables, sql, named))
        for dataset in sorted(named.values(), key=lambda each: (each.label, each.namespace, each.name)):
            others = tuple(name_with_namespace(*names) for names in dataset.others)
            yield DatasetNode(dataset.namespace, dataset.name, dataset.label, others, formats.get(dataset.id, ""))

    def _columns(self, named: dict[int, DatasetName], derived: list[EdgeRow]) -> Iterator[ColumnNode]:
        """Return the columns of the latest schemas in their order, then those that edges alone name."""
        columns_of: dict[int, list[tuple[int, str, str, int]]] = {}
        until = self._limits.time
        sql = (
            "SELECT i.dataset_id, c.position, c.column_name, c.type, c.last_time FROM stated_column c "
            "JOIN dataset_identity i ON i.name_id = c.name_id WHERE i.dataset_id IN ({ids}) AND c.first_time <= ?"
        )
        for dataset, position, name, type_, last in rows_by_id(self._tables, sql, named, (until,)):
            columns_of.setdefault(dataset, []).append((position or 0, name, type_, min(last, until)))
        used: dict[int, dict[str, None]] = {}
        for row in derived:
            for dataset, column in ((row.source, row.read), (row.target, row.written)):
                if column:
                    used.setdefault(dataset, {})[column] = None
        for dataset, name in sorted(named.items(), key=lambda each: (each[1].label, each[1].namespace, each[1].name)):
            rows_of = columns_of.get(dataset, [])
            latest = max((row[3] for row in rows_of), default=0)
            types = {column: type_ for _, column, type_, time in sorted(rows_of) if time == latest}
            types |= {column: "" for column in sorted(used.get(dataset, ())) if column not in types}
            dataset_id = _dataset_id(name)
            yield from (ColumnNode(dataset_id, column, type_) for column, type_ in types.items())

    def _jobs(self, ids: set[int], *, every: bool) -> dict[int, JobNode]:
        """Return jobs by their ids: those that the edges name, or every one that has run."""
        sql = "SELECT namespace, name, job_id, processing, type, sql, last_time FROM job WHERE {condition}"
        conditions = [checked_sql("job_id IN ({ids})", ids=listed) for listed in id_lists(ids)]
        if every:
            conditions = [checked_sql("first_time <= {time}", time=self._limits.time)]
        rows = [row for condition in conditions for row in self._tables.query(checked_sql(sql, condition=condition))]
        return {
            job: JobNode(namespace, name, processing or "", type_ or "", text or "", iso_text(last_time))
            for namespace, name, job, processing, type_, text, last_time in sorted(rows, key=operator.itemgetter(0, 1))
            if job not in self._unseen
        }

    def _runs(self, jobs: dict[int, JobNode]) -> list[RunNode]:
        """Return the latest runs of jobs, the latest first, as they were at the requested time."""
        rows = latest_runs(self._tables, jobs, self._limits.time, _RUN_COLUMNS)
        return [self._run_node(row, jobs) for row in rows]

    def _run(self, run: RunNode, jobs: dict[int, JobNode]) -> RunNode:
        """Return a run with its known facts."""
        rows = self._tables.query(
            checked_sql("SELECT {run_columns} FROM run WHERE run_id = ?", run_columns=_RUN_COLUMNS), (run.run_id,)
        )
        return next((self._run_node(row, jobs) for row in rows if row[0] in jobs), run)

    def _run_node(self, row: tuple[Any, ...], jobs: dict[int, JobNode]) -> RunNode:
        """Return a run as it was at the requested time."""
        job, run, state, started, ended, parent, error, call_site = row
        later = ended is not None and ended > self._limits.time
        return RunNode(
            *(run, jobs[job].id, "START" if later and state in _ENDS else state or ""),
            *(iso_text(started), "" if later else iso_text(ended)),
            *(node_id("run", parent) if parent else "", "" if later else error or ""),
            call_site=call_site or "",
        )

    def _flow_edges(
        self, flows: Sequence[tuple[int, int, bool]], named: dict[int, DatasetName], jobs: dict[int, JobNode]
    ) -> Iterator[Edge]:
        for job, dataset, writes in flows:
            ends = _dataset_id(named[dataset]), jobs[job].id
            source, target = reversed(ends) if writes else ends
            yield Edge(source, target, job=jobs[job].id)


def _with_text_only(graph: _G) -> _G:
    """Return a graph that also names the datasets whose edges are less certain, since they come from a text alone."""
    return attrs.evolve(graph, diagnostics=(*graph.diagnostics, *text_only_edges(graph)))


def _diagnostics(
    details: dict[str, RunDetails], runs: Sequence[RunNode], stating: Iterable[str]
) -> tuple[Diagnostic, ...]:
    """
    Return gaps as diagnostics.

    Args:
        details: what the events of runs state.
        runs: the latest runs of each job.
        stating: the runs that state edges, or what is next to nodes. The gaps of these, and of the current runs of each
            job, may hide lineage.
    """
    needed = {*stating, *_last_runs(runs)}
    return diagnostics_of(details, {run.run_id: run.job for run in runs}, needed)


def _last_runs(runs: Iterable[RunNode]) -> Iterator[str]:
    """Yield the runs that state what each job does: the last complete one with those beside it; else the last one."""
    of_job: dict[str, list[RunNode]] = {}
    for run in runs:
        of_job.setdefault(run.job, []).append(run)
    for found in of_job.values():
        last = next((run for run in found if run.state == "COMPLETE"), found[0])
        yield last.run_id
        yield from (run.run_id for run in found if run.parent and run.parent == last.parent)


def _related(
    flows: list[tuple[int, int, bool]], up: set[int] | None, down: set[int] | None
) -> list[tuple[int, int, bool]]:
    """Return the flows without those of jobs that only read what is upstream, or only write what is downstream."""
    readers, writers = ({job for job, _, writes in flows if writes is kind} for kind in (False, True))
    return [
        (job, dataset, writes)
        for job, dataset, writes in flows
        if job in (readers if writes else writers) or (wanted := up if writes else down) is None or dataset in wanted
    ]


def _column_edges(
    derived: Iterable[EdgeRow], named: dict[int, DatasetName], jobs: dict[int, JobNode]
) -> Iterator[Edge]:
    ids = {dataset: _dataset_id(name) for dataset, name in named.items()}
    for row in derived:
        ends = column_id(ids[row.source], row.read), column_id(ids[row.target], row.written)
        yield stored_edge(*ends, row, jobs[row.job].id)


def _dataset_id(dataset: DatasetName) -> str:
    return node_id("dataset", dataset.namespace, dataset.name)
