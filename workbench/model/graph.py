"""
The values of a lineage graph, and their JSON, which `lineage-answer.schema.json` beside this module describes.

A graph has nodes (datasets, their columns and versions, operators of plans, jobs and runs), edges between them, and
diagnostics. Nothing in it depends on where it was made: from a store, from event files, or from a plan.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from openlineage_pyspark.workbench.model.document import document_of_fields, from_document
from openlineage_pyspark.workbench.model.kinds import Certainty, Diagnostic, Kind, NodeId, best, rank, worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ROLES = {"CTE": "CTE", "VIEW": "View", "SUBQUERY": "Subquery"}


@attrs.frozen
class OperatorColumn:
    """
    A column of the rows that an operator returns.

    Args:
        name: its name.
        data_type: its type; empty if it is unknown.
    """

    name: str
    data_type: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return document_of_fields(self, ("name",))


@attrs.frozen
class DatasetNode:
    """
    A dataset.

    Args:
        namespace: the namespace of its own name.
        name: its own name.
        label: its name for people.
        other_names: its other names, such as that of the table for a path.
        format: how it is stored; empty if it is unknown.
    """

    namespace: str
    name: str
    label: str
    other_names: tuple[str, ...] = ()
    format: str = ""

    @property
    def id(self) -> str:
        """Return its id."""
        return node_id("dataset", self.namespace, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return _document_of_node(self, "dataset", "namespace", "name", "label")


@attrs.frozen
class ColumnNode:
    """
    A column of a dataset; where a graph is unfolded, also one of a CTE, a view or a subquery.

    Args:
        dataset: the id of the dataset, or of the operator that returns the rows.
        name: its name; `a.b` for the field b of the struct a.
        data_type: its type; empty if it is unknown.
    """

    dataset: str
    name: str
    data_type: str = ""

    @property
    def id(self) -> str:
        """Return its id."""
        return column_id(self.dataset, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return _document_of_node(self, "column", "dataset", "name")


@attrs.frozen
class OperatorNode:
    """
    An operator of a plan.

    Args:
        job: the id of the job whose plan it is; empty for a query that is not run.
        index: its place in the plan.
        name: its class, such as `Aggregate`.
        role: `CTE`, `VIEW` or `SUBQUERY` if its rows are those of one; else empty.
        label: the name of the CTE, view or subquery; empty if it has none.
        columns: the columns of these rows, if it is one; empty if they are unknown.
    """

    job: str
    index: int
    name: str
    role: str = ""
    label: str = ""
    columns: tuple[OperatorColumn, ...] = ()

    @property
    def id(self) -> str:
        """Return its id."""
        return node_id("operator", self.job, self.text)

    @property
    def text(self) -> str:
        """Return its name in paths: its class and its index."""
        return f"{self.name}#{self.index}"

    @property
    def title(self) -> str:
        """Return its name for people, such as `CTE x`; its name in paths, if it has no other."""
        return f"{_ROLES.get(self.role, '')} {self.label or self.text}".lstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return _document_of_node(self, "operator", "index", "name")


@attrs.frozen
class JobNode:
    """
    A job.

    Args:
        namespace: its namespace.
        name: its name.
        processing: BATCH or STREAMING; empty if it is unknown.
        kind: the type of job that its integration states, such as QUERY.
        sql: the text of its statement; empty without one.
        last_seen: the time of its last event, ISO 8601; empty if it is unknown.
    """

    namespace: str
    name: str
    processing: str = ""
    kind: str = ""
    sql: str = ""
    last_seen: str = ""

    @property
    def id(self) -> str:
        """Return its id."""
        return node_id("job", self.namespace, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return _document_of_node(self, "job", "namespace", "name")


@attrs.frozen
class RunNode:
    """
    A run of a job.

    Args:
        run_id: its id in events.
        job: the id of its job.
        state: the type of its last event: COMPLETE, FAIL or ABORT, else it has not ended; empty if it is unknown.
        started: when it began, ISO 8601; empty if it is unknown.
        ended: when it ended; empty if no event states it.
        parent: the id of the run that started it; empty without one.
        error: the error message; empty without one.
        call_site: the line of the user's Python that ran it, such as `jobs/daily.py:12`; empty if it is unknown.
    """

    run_id: str
    job: str
    state: str
    started: str = ""
    ended: str = ""
    parent: str = ""
    error: str = ""
    call_site: str = ""

    @property
    def id(self) -> str:
        """Return its id."""
        return node_id("run", self.run_id)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return _document_of_node(self, "run", "run_id", "job", "state")


@attrs.frozen
class VersionNode:
    """
    A version of a dataset.

    Args:
        dataset: the id of the dataset.
        version: the version; empty for the content before the first known version.
        made: the run, the time and the operation that made it, for people; empty if unknown.
    """

    dataset: NodeId
    version: str
    made: str = ""

    @property
    def id(self) -> NodeId:
        """Return its id."""
        return f"version|{self.dataset.removeprefix('dataset|')}|{node_id('', self.version)[1:]}"

    @property
    def name(self) -> str:
        """Return its name beneath that of its dataset."""
        return f"@{self.version}" if self.version else "before the first version"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return _document_of_node(self, "version", "dataset")


Node: TypeAlias = DatasetNode | ColumnNode | VersionNode | OperatorNode | JobNode | RunNode


@attrs.frozen
class Step:
    """
    One operator on a path.

    Args:
        operator: its class and its index in the plan, such as `Aggregate#1`; empty for the last step of a path through
            relations, which is how the target comes from the last of these.
        expression: the text of the expression there; empty if the value is unchanged.
        relation: the CTE, view or subquery whose rows these are; empty for another operator.
        column: the column of the relation; empty if the path passes none of its columns, as that of a filter inside.
        kind: at a relation, and at the end of a path through relations: how the value comes from the relation before.
        certainty: how sure the step is.
        call_site: the line of the user's Python that made it, such as `jobs/daily.py:12`; empty if it is unknown.
    """

    operator: str
    expression: str = ""
    relation: str = ""
    column: str = ""
    kind: Kind | None = None
    certainty: Certainty = "exact"
    call_site: str = ""

    @property
    def is_passing(self) -> bool:
        """Whether the operator only passes the value on."""
        return not (self.expression or self.relation or self.call_site) and self.certainty == "exact"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        known = {
            "operator": self.operator,
            "expression": self.expression,
            "relation": self.relation,
            "column": self.column,
            "callSite": self.call_site,
        }
        return {
            **{key: value for key, value in known.items() if value},
            **(self.kind.to_dict() if self.kind is not None else {}),
            **({"certainty": self.certainty} if self.certainty != "exact" else {}),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Step:
        """Return the step that `to_dict` wrote."""
        texts = {key: document.get(key, "") for key in ("operator", "expression", "relation", "column")}
        return cls(
            **texts,
            kind=Kind.from_dict(document) if "masking" in document else None,
            certainty=document.get("certainty", "exact"),
            call_site=document.get("callSite", ""),
        )


def _steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(steps)


@attrs.frozen
class Path:
    """
    A path from a source to a target.

    Args:
        kind: how the value arrives.
        expression: the text that computes the target, in terms of columns of sources; empty if there is none.
        certainty: how sure it is: as sure as the least sure of its steps.
        steps: the operators on it, from the source to the target; empty if they are unknown.
    """

    kind: Kind
    expression: str = ""
    certainty: Certainty = "exact"
    steps: tuple[Step, ...] = attrs.field(default=(), converter=_steps)

    @property
    def order(self) -> tuple[object, ...]:
        """Return the sort key of an edge's paths: values before indirect paths, then the most certain first."""
        steps = tuple((step.operator, step.relation, step.column, step.expression) for step in self.steps)
        return self.kind.is_influence, rank(self.certainty), self.kind.order, self.expression, steps

    @property
    def text(self) -> str:
        """Return its kind, its certainty unless it is exact, and its expression, for people."""
        certainty = "" if self.certainty == "exact" else f"{', ' if str(self.kind) else ''}{self.certainty}"
        return f"{self.kind}{certainty} {self.expression}".strip()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            **self.kind.to_dict(),
            "certainty": self.certainty,
            **({"expression": self.expression} if self.expression else {}),
            **({"steps": [step.to_dict() for step in self.steps]} if self.steps else {}),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Path:
        """Return the path that `to_dict` wrote."""
        steps = tuple(map(Step.from_dict, document.get("steps", ())))
        return cls(Kind.from_dict(document), document.get("expression", ""), document["certainty"], steps)


def sorted_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return paths, each once, the preferred first."""
    return tuple(sorted(dict.fromkeys(paths), key=lambda path: path.order))


@attrs.frozen
class Edge:
    """
    An edge: one job makes one node from another.

    Args:
        source: the id of the node from which the data come.
        target: the id of the node to which they go. A dataset represents all of its rows.
        paths: the paths, each once, the preferred first; empty between a dataset and a job, and between versions.
        job: the id of the job; empty for a query that is not run.
        run: the id of the last run that stated it; empty if it is unknown.
        batch: the micro-batch of that run; None if there is none.
        kept: whether the target is the next version of the source's dataset, which keeps the source's rows.
        certainty: that of the best path; without paths, `guessed` if the version is inferred.
        seen: when the last run stated it, microseconds since 1970; 0 if it is unknown. It is not in the JSON.
    """

    source: NodeId
    target: NodeId
    paths: tuple[Path, ...] = attrs.field(default=(), converter=sorted_paths)
    job: NodeId = ""
    run: NodeId = ""
    batch: int | None = None
    kept: bool = False
    certainty: Certainty = attrs.field()
    seen: int = attrs.field(default=0, eq=False, repr=False)

    @certainty.default
    def _best(self) -> Certainty:
        return best(tuple(path.certainty for path in self.paths))

    @property
    def key(self) -> tuple[NodeId, NodeId, NodeId]:
        """Return the key of the edge, unique in a graph; between versions, several runs may make an edge."""
        return self.source, self.target, self.job

    @property
    def source_column(self) -> str:
        """Return the name of the column that it leads from; empty for another node."""
        return place_of_id(self.source)[2] if self.source.startswith("column|") else ""

    @property
    def target_column(self) -> str:
        """Return the name of the column that it leads to; empty for another node, such as all rows of a dataset."""
        return place_of_id(self.target)[2] if self.target.startswith("column|") else ""

    @property
    def run_id(self) -> str:
        """Return the id in events of the last run that stated it; empty if it is unknown."""
        return "".join(names_of_id(self.run))

    @property
    def is_inferred(self) -> bool:
        """Whether no event names the source's version: it was current when the run began to read."""
        return not self.paths and self.certainty == "guessed"

    @property
    def least_certainty(self) -> Certainty | Literal[""]:
        """Return the certainty of the worst path; empty without paths."""
        return worst(tuple(path.certainty for path in self.paths)) if self.paths else ""

    @property
    def is_influence(self) -> bool:
        """Whether its source only decides about rows or a choice."""
        return bool(self.paths) and all(path.kind.is_influence for path in self.paths)

    @property
    def process(self) -> NodeId:
        """Return the end that is a job or a run; empty without one."""
        return next((end for end in (self.target, self.source) if end.startswith(("job|", "run|"))), "")

    @property
    def is_flow(self) -> bool:
        """Whether it leads from a dataset to the job that reads it, or from a job to the dataset that it writes."""
        return bool(self.process)

    @property
    def order(self) -> tuple[object, ...]:
        """Return the sort key of the edges to one target: by the preferred path of each."""
        return self.paths[0].order[:3] if self.paths else ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        document = document_of_fields(self, ("source", "target", "certainty"))
        return {name: value for name, value in document.items() if name != "seen"}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Edge:
        """Return the edge that `to_dict` wrote."""
        return from_document(cls, document)


def steps_of(operators: Iterable[str], steps: Sequence[Step]) -> tuple[Step, ...]:
    """
    Return the steps of a path: each operator in order, with what it does.

    An operator that a path passes again, as in a recursive CTE, is repeated only if it does something then.

    Args:
        operators: all operators of the path, from the source to the target.
        steps: those that do more than pass the value on, in the same order.
    """
    passed = (*operators,)
    known = {*passed}
    waiting = deque(step for step in steps if step.operator in known)
    found: list[Step] = []
    seen: set[str] = set()
    for operator in passed:
        if operator not in seen and not (waiting and waiting[0].operator == operator):
            found.append(Step(operator))
        while waiting and waiting[0].operator == operator:
            found.append(waiting.popleft())
        seen.add(operator)
    return (*found, *waiting, *(step for step in steps if step.operator not in known))


def last_of(edges: Iterable[Edge]) -> Edge:
    """Return the edge that a run stated last. The ids of runs may not be in the order of time."""
    return max(edges, key=lambda edge: (edge.seen, edge.run))


def united(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Join the edges of each pair of nodes and each job into one, with all of their paths and their last run."""
    same: dict[tuple[NodeId, NodeId, NodeId], list[Edge]] = {}
    for edge in edges:
        same.setdefault(edge.key, []).append(edge)
    return tuple(each[0] if len(each) == 1 else _as_one(each) for each in same.values())


def _as_one(edges: list[Edge]) -> Edge:
    last = last_of(edges)
    return attrs.evolve(
        edges[0],
        paths=tuple(path for edge in edges for path in edge.paths),
        run=last.run,
        seen=last.seen,
        certainty=best(tuple(edge.certainty for edge in edges)),
    )


def through_jobs(graph: Graph) -> Graph:
    """Return a graph to draw, in which edges between datasets or versions lead through their jobs or runs."""
    runs = graph.drawn_runs()
    edges: list[Edge] = []
    for edge in graph.edges:
        process = edge.run if edge.run in runs else edge.job
        ends = [edge.source, edge.target]
        if process and not (edge.paths or edge.kept or edge.is_flow):
            ends.insert(1, process)
        edges += (attrs.evolve(edge, source=source, target=target) for source, target in pairwise(ends))
    return attrs.evolve(graph, edges=united(edges))


def names_of_processes(graph: Graph) -> dict[NodeId, str]:
    """Return the names of jobs and runs for people, such as `job daily`, or `run 1f of daily`."""
    jobs = {node.id: node.name for node in graph.nodes if isinstance(node, JobNode)}
    names = {id_: f"job {name}" for id_, name in jobs.items()}
    for node in graph.nodes:
        if isinstance(node, RunNode):
            names[node.id] = f"run {node.run_id} of {jobs[node.job]}" if jobs.get(node.job) else f"run {node.run_id}"
    return names


def _nodes(nodes: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(nodes)


def _edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(edges)


def _diagnostics(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(diagnostics)


@attrs.frozen
class Graph:
    """
    A lineage graph.

    Args:
        nodes: its nodes. Ids are unique.
        edges: its edges; both ends are among the nodes.
        diagnostics: findings about it, such as what it may lack.
        time: the time for which it holds, ISO 8601; empty for a query that is not run.
    """

    nodes: tuple[Node, ...] = attrs.field(converter=_nodes)
    edges: tuple[Edge, ...] = attrs.field(converter=_edges)
    diagnostics: tuple[Diagnostic, ...] = attrs.field(default=(), converter=_diagnostics)
    time: str = ""

    def ends(self) -> tuple[Node, ...]:
        """Return the nodes at which edges begin or end, their jobs, and the datasets that they belong to."""
        ends = {end for edge in self.edges for end in (edge.source, edge.target, edge.job)}
        ends |= {node.dataset for node in self.nodes if isinstance(node, ColumnNode) and node.id in ends}
        return tuple(node for node in self.nodes if node.id in ends)

    def drawn_runs(self) -> dict[NodeId, RunNode]:
        """Return the runs at which edges begin or end: only these are drawn."""
        ends = {edge.process for edge in self.edges}
        return {node.id: node for node in self.nodes if isinstance(node, RunNode) and node.id in ends}

    def processes(self) -> tuple[JobNode | RunNode, ...]:
        """Return the jobs and runs to draw: instead of a job that has no edges itself, its runs that have some."""
        runs = self.drawn_runs()
        hidden = {run.job for run in runs.values()} - {edge.process for edge in self.edges}
        return tuple(
            node
            for node in self.nodes
            if (isinstance(node, RunNode) and node.id in runs) or (isinstance(node, JobNode) and node.id not in hidden)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, as the JSON Schema describes them."""
        return {
            "type": "graph",
            **({"time": self.time} if self.time else {}),
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict() for edge in self.edges],
            **({"diagnostics": [each.to_dict() for each in self.diagnostics]} if self.diagnostics else {}),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Graph:
        """Return the graph that `to_dict` wrote."""
        return cls(
            tuple(map(node_of, document["nodes"])),
            tuple(map(Edge.from_dict, document["edges"])),
            tuple(map(Diagnostic.from_dict, document.get("diagnostics", ()))),
            document.get("time", ""),
        )


_NODES: dict[str, type[Any]] = {
    "dataset": DatasetNode,
    "column": ColumnNode,
    "version": VersionNode,
    "operator": OperatorNode,
    "job": JobNode,
    "run": RunNode,
}


def _document_of_node(node: Node, type_: str, *always: str) -> dict[str, Any]:
    return {"id": node.id, "type": type_, **document_of_fields(node, always)}


def node_of(document: dict[str, Any]) -> Node:
    """Return the node that its `to_dict` wrote."""
    made: Node = from_document(_NODES[document["type"]], {"job": "", "version": "", **document})
    return made


def node_id(type_: str, *names: str) -> str:
    """
    Return the id of a node: its type and its names, with `|` between them.

    Two nodes never have the same id: a `|` in a name is written as `%7C`, and a `%` as `%25`.
    """
    return "|".join((type_, *(name.replace("%", "%25").replace("|", "%7C") for name in names)))


def names_of_id(id_: NodeId) -> tuple[str, ...]:
    """Return the names from which `node_id` made an id."""
    return tuple(name.replace("%7C", "|").replace("%25", "%") for name in id_.split("|")[1:])


def place_of_id(id_: NodeId) -> tuple[str, str, str]:
    """Return the namespace, the name and the column in an id; the column is empty in the id of a dataset."""
    namespace, name, *column = names_of_id(id_)
    return namespace, name, "".join(column)


def column_id(dataset: str, name: str) -> str:
    """
    Return the id of a column.

    Args:
        dataset: the id of the dataset, or of the operator whose rows have the column.
        name: the column's name; if it is empty, the id of the dataset itself is returned.
    """
    if not name:
        return dataset
    owner = dataset.removeprefix("dataset|")
    return f"column|{owner}|{node_id('', name)[1:]}"
