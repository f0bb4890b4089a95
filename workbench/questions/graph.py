"""The lineage of a store as a graph: all of it, or what lies around one thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    JobNode,
    RunNode,
    column_id,
    node_id,
    united,
)
from openlineage_pyspark.workbench.model.times import known_time
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.questions.reach import Direction, Limits, reach
from openlineage_pyspark.workbench.questions.told import (
    RUNS_OF_A_JOB,
    call_sites_of,
    diagnostics_of,
    earlier_runs,
    explained,
    latest_runs,
    operators_of_edges,
    stored_edge,
    told_by,
)
from openlineage_pyspark.workbench.store.current import Current, listed_descriptions
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.names import datasets, find, name_with_namespace
from openlineage_pyspark.workbench.store.tables.ids import id_lists

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import Graph, Node
    from openlineage_pyspark.workbench.questions.reached import LinkedNodes
    from openlineage_pyspark.workbench.store.names import DatasetName, QueriedTables

_ENDS = ("COMPLETE", "FAIL", "ABORT")


def whole_graph(tables: QueriedTables, limits: Limits, around: str = "") -> Graph:
    """
    Return the lineage of a store.

    Args:
        tables: the store.
        limits: for which time; with `around`, also how far.
        around: a dataset or a column: what is upstream and downstream of it, and nothing else. Empty for all.

    Raises:
        StoreError: nothing has this name, or several things have it.
    """
    if not around:
        return _Builder(tables, limits).build(None)
    thing = find(tables, around)
    start = (thing.dataset.id, thing.column)
    up, down = ({start[0], *_reached(tables, start, direction, limits)} for direction in Direction)
    return _Builder(tables, limits).build(up | down, up, down)


def graph_of_answer(tables: QueriedTables, limits: Limits, answer: LinkedNodes) -> Graph:
    """
    Return an answer as a graph, with all that the store knows of its nodes and edges.

    Args:
        tables: the store.
        limits: those that the question had.
        answer: the answer. One with versions or runs is given as it is.
    """
    base = answer.graph()
    if any(node.kind in ("version", "run") for node in answer.all_nodes):
        return base
    wanted = {identity("dataset", node.namespace, node.name) for node in answer.all_nodes if node.dataset}
    every = _Builder(tables, limits).build(wanted)
    pairs = {(edge.source, edge.target, edge.job) for edge in base.edges}
    edges = tuple(edge for edge in every.edges if (edge.source, edge.target, edge.job) in pairs)
    ids = {node.id for node in base.nodes}
    operators = {node.id for node in operators_of_edges(edges)}
    nodes = [
        node
        for node in every.nodes
        if (node.job in ids if isinstance(node, RunNode) else node.id in ids or node.id in operators)
    ]
    known = {node.id for node in nodes}
    found = {(edge.source, edge.target, edge.job) for edge in edges}
    return ShownGraph(
        (*nodes, *(node for node in base.nodes if node.id not in known)),
        (*edges, *(edge for edge in base.edges if (edge.source, edge.target, edge.job) not in found)),
        tuple(each for each in every.diagnostics if each.node in ids),
        every.time,
    )


def _reached(tables: QueriedTables, start: tuple[int, str], direction: Direction, limits: Limits) -> Iterator[int]:
    """Yield the datasets upstream or downstream of a dataset or a column."""
    reached = reach(tables, start, direction, limits)
    yield from (place[0] for place in (*reached.depths, *reached.passed))


class _Builder:
    def __init__(self, tables: QueriedTables, limits: Limits) -> None:
        self._tables = tables
        self._limits = limits
        self._current = Current(tables, limits.time)

    def build(self, only: set[int] | None, up: set[int] | None = None, down: set[int] | None = None) -> Graph:
        """
        Return the graph.

        Args:
            only: the datasets that it has; None for all.
            up: those whose writers it has, whatever these read; None for all.
            down: those whose readers it has, whatever these write; None for all.
        """
        name_ids = None if only is None else self._name_ids(only)
        flows = _related(self._flows(name_ids), up, down)
        derived = [row for row in self._derived(name_ids) if only is None or row[0] in only]
        ids = {flow[1] for flow in flows} | {row[place] for row in derived for place in (0, 2)}
        named = datasets(self._tables, only if only is not None else self._every_dataset() | ids)
        jobs = self._jobs({flow[0] for flow in flows} | {row[4] for row in derived}, every=only is None)
        runs = self._runs(jobs)
        sites = call_sites_of(self._tables, (run.run_id for run in runs), self._limits.time)
        runs = [attrs.evolve(run, call_site=sites.get(run.run_id, "")) for run in runs]
        told = told_by(
            self._tables, {run.run_id for run in runs} | {row[9] for row in derived if row[9]}, self._limits.time
        )
        nodes: list[Node] = list(self._datasets(named))
        columns = self._columns(named, derived)
        job_of_run = {run.run_id: run.job for run in runs}
        paths = explained(_column_edges(derived, named, jobs), told, self._earlier(derived, jobs, runs))
        edges = sorted(united(paths), key=lambda each: (each.target, each.order, each.source, each.job))
        nodes += [*columns, *jobs.values(), *runs, *operators_of_edges(edges)]
        every_edge = (*self._flow_edges(flows, named, jobs), *edges)
        time = "" if self._limits.as_of is None else _text_of(self._limits.as_of)
        return ShownGraph(tuple(nodes), every_edge, diagnostics_of(told, job_of_run), time)

    def _earlier(
        self, derived: Iterable[tuple[Any, ...]], jobs: dict[int, JobNode], runs: Sequence[RunNode]
    ) -> dict[str, list[str]]:
        """Return what `explained` needs to tell the edges of an earlier time."""
        if self._limits.as_of is None:
            return {}
        until: dict[str, list[str]] = {}
        for run in runs:
            until.setdefault(run.job, []).append(run.run_id)
        job_of_run = {row[9]: jobs[row[4]].id for row in derived if row[9]}
        return earlier_runs(self._tables, job_of_run, until, self._limits.time)

    def _every_dataset(self) -> set[int]:
        sql = (
            "SELECT i.dataset_id FROM dataset d JOIN dataset_identity i ON i.name_id = d.name_id WHERE first_time <= ?"
        )
        return {row[0] for row in self._tables.query(sql, (self._limits.time,))}

    def _name_ids(self, only: set[int]) -> set[int]:
        """Return the ids of all names of some datasets."""
        found: set[int] = set()
        for listed in id_lists(only):
            sql = f"SELECT name_id FROM dataset_identity WHERE dataset_id IN ({listed})"  # noqa: S608 (numbers alone)
            found |= {row[0] for row in self._tables.query(sql)}
        return found

    def _flows(self, name_ids: set[int] | None) -> list[tuple[int, int, bool]]:
        """Return which job reads or writes which dataset, as job, dataset, and whether it writes."""
        read, written = self._related_datasets("told_read", name_ids), self._related_datasets("told_write", name_ids)
        if not self._limits.ever:
            self._current.learn(written)
            written = [(job, dataset) for job, dataset in written if self._current.holds(job, dataset)]
            reads = self._current.reads(job for job, _ in read)
            read = [(job, dataset) for job, dataset in read if dataset in reads[job]]
        return [(*pair, writes) for pairs, writes in ((read, False), (written, True)) for pair in pairs]

    def _related_datasets(self, table: str, name_ids: set[int] | None) -> list[tuple[int, int]]:
        """Return the datasets that jobs have ever read or written, each with its job."""
        sql = (
            "SELECT DISTINCT l.job_id, i.dataset_id "  # noqa: S608 (our own names alone)
            f"FROM {table} l JOIN dataset_identity i ON i.name_id = l.name_id "
            f"WHERE l.first_time <= {self._limits.time:d}"
        )
        return sorted({(job, dataset) for job, dataset in self._among(sql, "l.name_id", name_ids)})

    def _derived(self, name_ids: set[int] | None) -> list[tuple[Any, ...]]:
        """Return the rows of column lineage that hold: source, column, target, column, job, words, text, run."""
        sql = (
            "SELECT s.dataset_id, c.input_column, t.dataset_id, c.output_column, c.job_id, c.type, c.subtype, "
            "c.masking, c.expression, c.last_run, c.description, c.last_time FROM told_edge c "
            "JOIN dataset_identity s ON s.name_id = c.input_id JOIN dataset_identity t ON t.name_id = c.output_id "
            "WHERE "
        )
        if self._limits.ever:
            rows = self._among(f"{sql}c.first_time <= {self._limits.time:d}", "c.output_id", name_ids)
        else:
            outputs = self._related_datasets("told_write", name_ids)
            self._current.learn(outputs)
            holding = {output: self._current.descriptions(*output) for output in outputs}
            every = {each for found in holding.values() for each in found}
            among = (self._among(f"{sql}{each}", "c.output_id", name_ids) for each in listed_descriptions(every))
            rows = [row for found in among for row in found if row[10] in holding.get((row[4], row[2]), ())]
        rows.sort(key=lambda row: row[-1])
        latest = {row[:8]: row for row in rows if not (self._limits.direct and row[5] == "INDIRECT")}
        return list(latest.values())

    def _among(self, sql: str, column: str, name_ids: set[int] | None) -> list[tuple[Any, ...]]:
        """Return the rows of a query, or those of them that have one of some ids in a column."""
        if name_ids is None:
            return self._tables.query(sql)
        return [row for listed in id_lists(name_ids) for row in self._tables.query(f"{sql} AND {column} IN ({listed})")]

    def _datasets(self, named: dict[int, DatasetName]) -> Iterator[DatasetNode]:
        formats: dict[int, str] = {}
        for listed in id_lists(named):
            formats |= dict(
                self._tables.query(
                    "SELECT i.dataset_id, max(d.format) FROM dataset d "  # noqa: S608 (numbers alone)
                    "JOIN dataset_identity i ON i.name_id = d.name_id "
                    f"WHERE i.dataset_id IN ({listed}) AND d.format IS NOT NULL GROUP BY i.dataset_id"
                )
            )
        for dataset in sorted(named.values(), key=lambda each: (each.label, each.namespace, each.name)):
            others = tuple(name_with_namespace(*names) for names in dataset.others)
            yield DatasetNode(dataset.namespace, dataset.name, dataset.label, others, formats.get(dataset.id, ""))

    def _columns(self, named: dict[int, DatasetName], derived: list[tuple[Any, ...]]) -> Iterator[ColumnNode]:
        """Return the columns of the latest schemas in their order, then those that edges alone name."""
        said: dict[int, list[tuple[int, str, str, int]]] = {}
        for listed in id_lists(named):
            rows = self._tables.query(
                "SELECT i.dataset_id, c.position, c.column_name, c.type, c.last_time FROM told_column c "  # noqa: S608
                f"JOIN dataset_identity i ON i.name_id = c.name_id WHERE i.dataset_id IN ({listed}) "
                "AND c.first_time <= ?",
                (self._limits.time,),
            )
            for dataset, position, name, type_, last in rows:
                said.setdefault(dataset, []).append((position or 0, name, type_, min(last, self._limits.time)))
        used: dict[int, dict[str, None]] = {}
        for row in derived:
            for dataset, column in (row[:2], row[2:4]):
                if column:
                    used.setdefault(dataset, {})[column] = None
        for dataset, name in sorted(named.items(), key=lambda each: (each[1].label, each[1].namespace, each[1].name)):
            rows_of = said.get(dataset, [])
            latest = max((row[3] for row in rows_of), default=0)
            types = {column: type_ for _, column, type_, time in sorted(rows_of) if time == latest}
            types |= {column: "" for column in sorted(used.get(dataset, ())) if column not in types}
            dataset_id = _dataset_id(name)
            yield from (ColumnNode(dataset_id, column, type_) for column, type_ in types.items())

    def _jobs(self, ids: set[int], *, every: bool) -> dict[int, JobNode]:
        """Return jobs by their ids: those that the edges name, or every one that has run."""
        sql = "SELECT job_id, namespace, name, processing, type, sql FROM job"
        if every:
            rows = self._tables.query(f"{sql} WHERE first_time <= ?", (self._limits.time,))
        else:
            rows = [row for listed in id_lists(ids) for row in self._tables.query(f"{sql} WHERE job_id IN ({listed})")]
        return {
            row[0]: JobNode(*row[1:3], *(text or "" for text in row[3:])) for row in sorted(rows, key=lambda r: r[1:3])
        }

    def _runs(self, jobs: dict[int, JobNode]) -> list[RunNode]:
        """Return the latest runs of jobs, the latest first, as they were at the time asked for."""
        time = self._limits.time
        found = []
        for listed in id_lists(jobs):
            rows = self._tables.query(
                "SELECT job_id, run_id, state, started, ended, parent_run_id, error "  # noqa: S608 (numbers alone)
                f"FROM ({latest_runs(listed)}) t WHERE place <= ? ORDER BY job_id, place",
                (time, RUNS_OF_A_JOB),
            )
            for job, run, state, started, ended, parent, error in rows:
                later = ended is not None and ended > time
                found.append(
                    RunNode(
                        *(run, jobs[job].id, "START" if later and state in _ENDS else state or ""),
                        *(_text_of(started), "" if later else _text_of(ended)),
                        *(node_id("run", parent) if parent else "", "" if later else error or ""),
                    )
                )
        return found

    def _flow_edges(
        self, flows: Sequence[tuple[int, int, bool]], named: dict[int, DatasetName], jobs: dict[int, JobNode]
    ) -> Iterator[Edge]:
        for job, dataset, writes in flows:
            ends = _dataset_id(named[dataset]), jobs[job].id
            source, target = reversed(ends) if writes else ends
            yield Edge(source, target, job=jobs[job].id)


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
    derived: Iterable[tuple[Any, ...]], named: dict[int, DatasetName], jobs: dict[int, JobNode]
) -> Iterator[Edge]:
    ids = {dataset: _dataset_id(name) for dataset, name in named.items()}
    for source, read, target, written, job, type_, subtype, masking, text, run, *_ in derived:
        ends = column_id(ids[source], read), column_id(ids[target], written)
        yield stored_edge(*ends, type_, subtype, text or "", masking=bool(masking), job=jobs[job].id, run=run or "")


def _dataset_id(dataset: DatasetName) -> str:
    return node_id("dataset", dataset.namespace, dataset.name)


def _text_of(micros: int | None) -> str:
    time = known_time(micros)
    return "" if time is None else time.isoformat().replace("+00:00", "Z")
