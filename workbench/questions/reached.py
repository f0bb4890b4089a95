"""Answers to `upstream`, `downstream` and `between` as values: made coarser, as a table, and as a graph."""

from __future__ import annotations

import enum
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.answer import Reach
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    JobNode,
    VersionNode,
    column_id,
    node_id,
    united,
)
from openlineage_pyspark.workbench.model.kinds import worst
from openlineage_pyspark.workbench.pictures.figure import FigureTable, ShownGraph, figure
from openlineage_pyspark.workbench.questions.reach import Direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.model import graph as model
    from openlineage_pyspark.workbench.model.graph import Graph, Path
    from openlineage_pyspark.workbench.model.kinds import Certainty, Diagnostic


class Grain(enum.Enum):
    """What the nodes of an answer are."""

    TABLE = "table"
    COLUMN = "column"
    SNAPSHOT = "snapshot"
    JOB = "job"


@attrs.frozen(cache_hash=True)
class AnswerNode:
    """
    A dataset, a column, a version of a dataset, a job or a run.

    Args:
        dataset: the dataset's name as people know it; empty for a job and a run.
        column: the column; empty for the whole dataset, or for all of its rows.
        namespace: the namespace of the dataset's own name, or that of the job.
        name: its own name, or the name of the job.
        depth: the number of jobs between it and the requested node.
        version: the version; empty if none is meant, or if the store knows none.
        kind: `dataset`, `column`, `version`, `job` or `run`.
        run: the run's id; empty if this is no run.
    """

    dataset: str
    column: str
    namespace: str
    name: str
    depth: int
    version: str = ""
    kind: str = "dataset"
    run: str = ""

    @property
    def label(self) -> str:
        """Return the name with the column or the version."""
        if self.kind == "version":
            return f"{self.dataset}@{self.version or '?'}"
        if self.kind in ("job", "run"):
            return f"run:{self.run}" if self.run else f"job:{self.name}"
        return f"{self.dataset}.{self.column}" if self.column else self.dataset

    @property
    def id(self) -> str:
        """Return the id of the node, unique in the store."""
        if self.kind in ("job", "run"):
            return f"run:{self.run}" if self.run else f"job:{self.namespace}/{self.name}"
        whole = f"{self.namespace}/{self.name}"
        return f"{whole}@{self.version}" if self.kind == "version" else f"{whole}#{self.column}"


@attrs.frozen
class AnswerLink:
    """
    One job makes one node from another.

    Args:
        source: where the data come from.
        target: where they go.
        job: the job's name.
        job_namespace: its namespace.
        last_run: the last run that reported it, or the run that made this version; empty if unknown.
        batch: the micro-batch of that run; None if there is none.
        kept: whether the target is the dataset's next version, which keeps the rows of the source.
        inferred: whether no event names the source's version: it was current when the run began to read.
        edge: between columns, the edge of the graph; else None.
        last_seen: when the job was last seen, ISO 8601; empty if that is not known.
    """

    source: AnswerNode
    target: AnswerNode
    job: str
    job_namespace: str
    last_run: str
    batch: int | None = None
    kept: bool = False
    inferred: bool = False
    edge: Edge | None = None
    last_seen: str = ""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths between columns; empty between datasets."""
        return self.edge.paths if self.edge is not None else ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of the paths, such as `AGGREGATION`; empty between datasets."""
        return tuple(path.kind.subtype or path.kind.type for path in self.paths)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Return the expressions, in the order of the kinds."""
        return tuple(path.expression for path in self.paths)

    @property
    def kind_texts(self) -> tuple[str, ...]:
        """Return the kinds as people read them, such as `TRANSFORMATION (masked)`."""
        return tuple(str(path.kind) for path in self.paths)

    @property
    def certainty(self) -> str:
        """Return the lowest certainty of its paths, such as `opaque`; empty without a path."""
        return worst(tuple(path.certainty for path in self.paths)) if self.paths else ""

    @property
    def depth(self) -> int:
        """Return the distance of the end from the start."""
        return max(self.source.depth, self.target.depth)


@attrs.frozen
class LinkedNodes:
    """
    The nodes and links upstream or downstream of a node.

    Args:
        question: `upstream` or `downstream`.
        start: what was asked for.
        nodes: what is reached, the closest first.
        links: how it is reached, the closest first.
        details: the graph with all that the store knows of its nodes; None for the names alone.
        diagnostics: what is missing. Those of an answer stand in its envelope.
    """

    question: str
    start: AnswerNode
    nodes: tuple[AnswerNode, ...]
    links: tuple[AnswerLink, ...]
    details: Graph | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def all_nodes(self) -> tuple[AnswerNode, ...]:
        """Return the start, the found nodes, and the other ends of links: all rows of a dataset, parts of structs."""
        ends = sorted({node for link in self.links for node in (link.source, link.target)}, key=closest)
        return tuple(dict.fromkeys((self.start, *self.nodes, *ends)))

    @property
    def job_labels(self) -> dict[tuple[str, str], str]:
        """Return the namespace and the name of each job -> its shortest name that no other one here has."""
        jobs = {(link.job_namespace, link.job) for link in self.links}
        often = Counter(name for _, name in jobs)
        return {
            (namespace, name): f"{namespace}/{name}" if name and often[name] > 1 else name for namespace, name in jobs
        }

    def graph(self) -> Graph:
        """Return the answer as a graph. A run is shown as its job."""
        return graph_of_links(self) if self.details is None else self.details

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return reach_of(self, self.graph()).to_dict()

    def _repr_html_(self) -> str:
        """Return the graph and the table of edges, for a notebook."""
        columns, rows = self.table()
        told = [at for at in range(len(columns)) if any(row[at] not in (None, "", "exact") for row in rows)]
        cells = [["" if row[at] is None else str(row[at]) for at in told] for row in rows]
        headings = [columns[at].replace("_", " ") for at in told]
        caption = f"{self.question} of {self.start.label}" if self.question != "between" else "from one to the other"
        remarks = () if rows else (f"nothing in the store is {self.question} of {self.start.label}",)
        return figure(
            self.graph(),
            [FigureTable(headings, cells, caption)] if rows else [],
            around=id_of(self.start),
            remarks=remarks,
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str | int | bool | None, ...]]]:
        """Return the edges as a table: the names of its columns, and its rows."""
        by_version = any(node.kind == "version" for node in self.all_nodes)
        rows: list[tuple[str | int | bool | None, ...]] = []
        jobs = self.job_labels
        for link in self.links:
            ends = [(node.dataset or node.label, node.column) for node in (link.source, link.target)]
            texts = ["; ".join(filter(None, dict.fromkeys(each))) for each in (link.kind_texts, link.expressions)]
            told = (*texts, jobs[link.job_namespace, link.job], link.last_run, link.certainty)
            row: tuple[str | int | bool | None, ...] = (link.depth, *ends[0], *ends[1], *told)
            if by_version:
                row = (*row, link.source.version, link.target.version, link.batch, link.kept, link.inferred)
            rows.append(row)
        return (*_COLUMNS, *(_VERSION_COLUMNS if by_version else ())), rows


_COLUMNS = (
    *("depth", "source", "source_column", "target", "target_column"),
    *("kinds", "expression", "job", "last_run", "certainty"),
)
_VERSION_COLUMNS = ("source_version", "target_version", "batch", "kept", "inferred")


def coarser(answer: LinkedNodes, grain: Grain) -> LinkedNodes:
    """
    Return an answer by tables or by jobs.

    Args:
        answer: one by columns, by versions, or by tables.
        grain: TABLE or JOB.
    """
    made = _by_job(answer) if grain is Grain.JOB else _by_table(answer)
    return attrs.evolve(made, diagnostics=answer.diagnostics)


def closest(node: AnswerNode) -> tuple[int, str, str, str, str, str]:
    """Return the sort key of nodes, nearest first."""
    return node.depth, node.dataset, node.column, node.version, node.name, node.run


def closest_link(link: AnswerLink) -> tuple[object, ...]:
    """Return the sort key of links, nearest first."""
    return link.depth, closest(link.source), closest(link.target), link.job, link.last_run


def _by_table(answer: LinkedNodes) -> LinkedNodes:
    every = answer.all_nodes
    tables: dict[tuple[str, str, str, str], AnswerNode] = {}
    for node in sorted(every, key=lambda each: each.depth):
        key = _table_key(node)
        if key not in tables:
            tables[key] = attrs.evolve(node, column="", version="", kind=node.kind if not node.dataset else "dataset")
    links: dict[tuple[AnswerNode, AnswerNode, str, str], list[AnswerLink]] = {}
    for link in answer.links:
        if not link.kept:
            ends = (tables[_table_key(link.source)], tables[_table_key(link.target)])
            links.setdefault((*ends, link.job, link.job_namespace), []).append(link)
    merged = [
        AnswerLink(
            *key,
            max(each.last_run for each in same),
            inferred=all(each.inferred for each in same),
            last_seen=max(each.last_seen for each in same),
        )
        for key, same in links.items()
    ]
    start = tables[_table_key(answer.start)]
    reached = {tables[_table_key(node)] for node in answer.nodes} - {start}
    return _sorted(answer.question, start, reached, merged)


def _by_job(answer: LinkedNodes) -> LinkedNodes:
    """Return the jobs of an answer: one comes after another if it reads what that one writes."""
    by_table = _by_table(answer)
    start = by_table.start
    # A job that was asked for is no step of its own.
    nearer = int(start.kind != "dataset")
    down = answer.question != Direction.UPSTREAM.value
    depths: dict[tuple[str, str], int] = {}
    for link in by_table.links:
        name = (link.job_namespace, link.job)
        depth = (link.source if down else link.target).depth + 1 - nearer
        depths[name] = min(depth, depths.get(name, depth))
    jobs = {name: AnswerNode("", "", *name, depth, kind="job") for name, depth in depths.items()}
    if start.kind == "job":
        jobs[start.namespace, start.name] = start
    from_table: dict[AnswerNode, list[AnswerLink]] = {}
    for link in by_table.links:
        from_table.setdefault(link.source, []).append(link)
    made: dict[tuple[AnswerNode, AnswerNode], AnswerLink] = {}

    def add(source: AnswerNode, target: AnswerNode, link: AnswerLink) -> None:
        if source != target:
            ends = AnswerLink(source, target, link.job, link.job_namespace, link.last_run, last_seen=link.last_seen)
            made.setdefault((source, target), ends)

    for link in by_table.links:
        job = jobs[link.job_namespace, link.job]
        if (link.source if down else link.target) == start and start.kind != "job":
            add(*((start, job) if down else (job, start)), link)
        for following in from_table.get(link.target, ()):
            add(job, jobs[following.job_namespace, following.job], following)
    return _sorted(answer.question, start, set(jobs.values()) - {start}, list(made.values()))


def _table_key(node: AnswerNode) -> tuple[str, str, str, str]:
    return (node.run or node.kind if not node.dataset else "", node.namespace, node.name, node.dataset)


def _sorted(question: str, start: AnswerNode, nodes: Iterable[AnswerNode], links: Iterable[AnswerLink]) -> LinkedNodes:
    return LinkedNodes(question, start, tuple(sorted(nodes, key=closest)), tuple(sorted(links, key=closest_link)))


def reach_of(found: LinkedNodes, graph: Graph) -> Reach:
    """
    Return what is reached as a result.

    Args:
        found: what is reached.
        graph: it as a graph, or one that has more of the same nodes.
    """
    depths = {id_of(node): node.depth for node in sorted(found.all_nodes, key=closest, reverse=True)}
    return Reach(graph, (id_of(found.start),), dict(sorted(depths.items(), key=lambda each: (each[1], each[0]))))


def graph_of_links(answer: LinkedNodes) -> Graph:
    """
    Return an answer as a graph.

    A run stands as its job.

    Args:
        answer: the answer.
    """
    nodes: dict[str, model.Node] = {}
    for node in answer.all_nodes:
        for made in _nodes(node):
            nodes.setdefault(made.id, made)
    edges: list[Edge] = []
    for link in answer.links:
        if link.job:
            job = JobNode(link.job_namespace, link.job)
            nodes.setdefault(job.id, job)
        edges += _edges(link)
    return ShownGraph(tuple(nodes.values()), united(edges))


def id_of(node: AnswerNode) -> str:
    """Return the id that a node of an answer has in its graph."""
    if node.kind in ("job", "run"):
        return node_id("job", node.namespace, node.name)
    dataset = node_id("dataset", node.namespace, node.name)
    return VersionNode(dataset, node.version).id if node.kind == "version" else column_id(dataset, node.column)


def _nodes(node: AnswerNode) -> Iterator[model.Node]:
    if node.kind in ("job", "run"):
        yield JobNode(node.namespace, node.name)
        return
    dataset = DatasetNode(node.namespace, node.name, node.dataset)
    yield dataset
    if node.kind == "version":
        yield VersionNode(dataset.id, node.version)
    elif node.column:
        yield ColumnNode(dataset.id, node.column)


def _edges(link: AnswerLink) -> Iterator[Edge]:
    if link.edge is not None:
        yield link.edge
        return
    source, target = id_of(link.source), id_of(link.target)
    job = node_id("job", link.job_namespace, link.job) if link.job else ""
    run = node_id("run", link.last_run) if link.last_run else ""
    certainty: Certainty = "guessed" if link.inferred else "exact"
    ends = [source, target]
    if not link.kept and job not in ("", source, target):
        ends.insert(1, job)
    for begin, end in pairwise(ends):
        yield Edge(begin, end, job=job, run=run, batch=link.batch, certainty=certainty)
