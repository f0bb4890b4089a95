"""
The values of a lineage graph, and their JSON. `lineage-graph.schema.json` beside this module describes that.

A graph has nodes (datasets, their columns, operators of plans, jobs and runs), edges between them, and warnings. It
says nothing of where it was made: from a store, from event files, or from a plan.
"""

from __future__ import annotations

import enum
import json
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

GRAPH_VERSION = "1-1-0"
"""The version of the JSON. Its first number changes when a reader of the earlier one would read it wrong."""

_SCHEMA = "lineage-graph.schema.json"
_ROLES = {"CTE": "CTE", "VIEW": "View", "SUBQUERY": "Subquery"}


class EdgeKind(enum.Enum):
    """
    How an edge makes its target from its source, in plain words; in the order in which they are preferred.

    The first five are edges of values. Those from `JOIN` on decide which rows there are, or which value is taken; the
    last two lead from a dataset to a job, and from there to a dataset.
    """

    DIRECT = "DIRECT"
    """The value arrives as it is."""
    DERIVED = "DERIVED"
    """It is computed from the value."""
    AGG = "AGG"
    """It is computed from the values of several rows."""
    EXTERNAL = "EXTERNAL"
    """It is computed by code that can't be read."""
    UNKNOWN = "UNKNOWN"
    """It arrives, and nothing says how."""
    CONDITIONAL = "CONDITIONAL"
    JOIN = "JOIN"
    FILTER = "FILTER"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"
    WINDOW = "WINDOW"
    INFLUENCE = "INFLUENCE"
    """It decides, and nothing says how."""
    READ = "READ"
    WRITE = "WRITE"


FLOWS = (EdgeKind.READ, EdgeKind.WRITE)
"""The kinds of edges between a dataset and a job."""
PREFERENCE = {kind: place for place, kind in enumerate(EdgeKind)}
"""The place of each kind where one target has edges of several: the first is shown first."""

_OF_VALUES = {"IDENTITY": EdgeKind.DIRECT, "TRANSFORMATION": EdgeKind.DERIVED, "AGGREGATION": EdgeKind.AGG}
_OF_DOUBT = {"opaque": EdgeKind.EXTERNAL, "guessed": EdgeKind.UNKNOWN}
_OF_ROWS = {
    kind.value: kind
    for kind in EdgeKind
    if PREFERENCE[EdgeKind.CONDITIONAL] <= PREFERENCE[kind] < PREFERENCE[EdgeKind.READ]
}


def edge_kind_of(type_: str, subtype: str, certainty: str = "") -> EdgeKind:
    """
    Return the plain word for a transformation of OpenLineage.

    Args:
        type_: DIRECT or INDIRECT; empty if the event does not say.
        subtype: such as IDENTITY or FILTER; empty if the event does not say.
        certainty: how sure its way is, such as `opaque`; empty if nothing says so.
    """
    if type_ == "INDIRECT":
        return _OF_ROWS.get(subtype, EdgeKind.INFLUENCE)
    return _OF_DOUBT.get(certainty) or _OF_VALUES.get(subtype, EdgeKind.UNKNOWN)


@attrs.frozen
class Confidence:
    """
    How sure an edge is.

    Args:
        value: from 0 to 1.
        reason: why, for people.
        certainty: the same in a word: `exact`, `opaque`, `guessed`, `not said` or `unknown`.
    """

    value: float
    reason: str
    certainty: str = "exact"


READ_FROM_PLAN = Confidence(1.0, "It was read from the plan.")
STATED = Confidence(1.0, "The run states it.")
NOT_SAID_HOW = Confidence(0.3, "The run states it, but does not say how the value arrives.", "not said")
# A version that was guessed is no surer than an operator that was: if it is wrong, so is the edge. Code that can't be
# read is surer, because the value does pass it.
INFERRED_VERSION = Confidence(
    0.5, "No event names the version that was read: this one was current when the run began to read.", "guessed"
)


def in_part(operator: str) -> Confidence:
    """Return the confidence of what a run states that did not understand an operator of its plan."""
    return Confidence(0.5, f"The run states it, but a part of its plan was not understood: {operator}.", "guessed")


_OF_CERTAINTY = {
    "opaque": (0.7, "It passes code that can't be read"),
    "guessed": (0.5, "It passes an operator that is not understood"),
    "unknown": (0.1, "It was taken from the text of the statement, which was not analyzed"),
}


def sure(certainty: str, steps: Iterable[EdgeStep] = ()) -> Confidence:
    """
    Return the confidence of an edge whose way is known.

    Args:
        certainty: how sure the way is: `exact`, `opaque`, `guessed` or `unknown`.
        steps: its steps; those of this certainty are named in the reason.
    """
    if certainty not in _OF_CERTAINTY:
        return READ_FROM_PLAN
    value, reason = _OF_CERTAINTY[certainty]
    operators = ", ".join(dict.fromkeys(step.operator for step in steps if step.certainty == certainty))
    return Confidence(value, f"{reason}: {operators}." if operators else f"{reason}.", certainty)


@attrs.frozen
class EdgeStep:
    """
    What one operator does to a value on its way.

    Args:
        operator: its class and its index in the plan, such as `Aggregate#1`.
        expression: the text of the expression there; empty if there is none.
        certainty: how sure the step is: `exact`, `opaque`, `guessed` or `unknown`.
        call_site: the line of the user's Python that made it, such as `jobs/daily.py:12`; empty if it is not known.
    """

    operator: str
    expression: str = ""
    certainty: str = "exact"
    call_site: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        known = {"expression": self.expression, "callSite": self.call_site}
        doubt = {"certainty": self.certainty} if self.certainty != "exact" else {}
        return {"operator": self.operator, **{key: value for key, value in known.items() if value}, **doubt}


@attrs.frozen
class OperatorColumn:
    """
    A column of the rows that an operator gives.

    Args:
        name: its name.
        data_type: its type; empty if it is not known.
    """

    name: str
    data_type: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"name": self.name, **({"dataType": self.data_type} if self.data_type else {})}


@attrs.frozen
class DatasetNode:
    """
    A dataset.

    Args:
        namespace: the namespace of its own name.
        name: its own name.
        label: its name as people know it.
        other_names: its other names, such as that of the table for a path.
        format: how it is stored; empty if it is not known.
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
        return {
            "id": self.id,
            "type": "dataset",
            "namespace": self.namespace,
            "name": self.name,
            "label": self.label,
            **({"otherNames": list(self.other_names)} if self.other_names else {}),
            **({"format": self.format} if self.format else {}),
        }


@attrs.frozen
class ColumnNode:
    """
    A column of a dataset; where a graph is unfolded, also one of a CTE, a view or a subquery.

    Args:
        dataset: the id of the dataset, or of the operator that gives the rows.
        name: its name; `a.b` for the field b of the struct a.
        data_type: its type; empty if it is not known.
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
        data_type = {"dataType": self.data_type} if self.data_type else {}
        return {"id": self.id, "type": "column", "dataset": self.dataset, "name": self.name, **data_type}


@attrs.frozen
class OperatorNode:
    """
    An operator of a plan.

    Args:
        job: the id of the job whose plan it is; empty for a query that is not run.
        index: its place in the plan.
        name: its class, such as `Aggregate`.
        role: `CTE`, `VIEW` or `SUBQUERY` if its rows are those of one; else empty.
        label: the name of that; empty without one.
        columns: the columns of these rows, if it is one; empty if they are not known.
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
        """Return how paths name it: its class and its index."""
        return f"{self.name}#{self.index}"

    @property
    def title(self) -> str:
        """Return its name for people, such as `CTE x`; how paths name it, if it has none."""
        return f"{_ROLES.get(self.role, '')} {self.label or self.text}".lstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        known = {"job": self.job, "role": self.role, "label": self.label}
        return {
            "id": self.id,
            "type": "operator",
            "index": self.index,
            "name": self.name,
            **{key: value for key, value in known.items() if value},
            **({"columns": [column.to_dict() for column in self.columns]} if self.columns else {}),
        }


@attrs.frozen
class JobNode:
    """
    A job.

    Args:
        namespace: its namespace.
        name: its name.
        processing: BATCH or STREAMING; empty if it is not known.
        kind: what kind of job its integration calls it, such as QUERY.
        sql: the text of its statement; empty without one.
    """

    namespace: str
    name: str
    processing: str = ""
    kind: str = ""
    sql: str = ""

    @property
    def id(self) -> str:
        """Return its id."""
        return node_id("job", self.namespace, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        known = {"processing": self.processing, "kind": self.kind, "sql": self.sql}
        return {
            "id": self.id,
            "type": "job",
            "namespace": self.namespace,
            "name": self.name,
            **{key: value for key, value in known.items() if value},
        }


@attrs.frozen
class RunNode:
    """
    A run of a job.

    Args:
        run_id: its id in events.
        job: the id of its job.
        state: the type of its last event: COMPLETE, FAIL or ABORT, else it has not ended.
        started: when it began, ISO 8601; empty if it is not known.
        ended: when it ended; empty if no event tells.
        parent: the id of the run that started it; empty without one.
        error: the error message; empty without one.
        call_site: the line of the user's Python that ran it, such as `jobs/daily.py:12`; empty if it is not known.
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
        known = {
            "started": self.started,
            "ended": self.ended,
            "parent": self.parent,
            "error": self.error,
            "callSite": self.call_site,
        }
        return {
            "id": self.id,
            "type": "run",
            "runId": self.run_id,
            "job": self.job,
            "state": self.state,
            **{key: value for key, value in known.items() if value},
        }


Node: TypeAlias = DatasetNode | ColumnNode | OperatorNode | JobNode | RunNode


@attrs.frozen
class Passage:
    """
    A column of a CTE, a view or a subquery through which an edge comes.

    Args:
        operator: the operator whose rows these are, such as `SubqueryAlias#4`.
        column: the name of the column.
    """

    operator: str
    column: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"operator": self.operator, "column": self.column}


@attrs.frozen
class Leg:
    """
    A part of the way of an edge: from one of its ends, or from a column that it comes through, to the next.

    Args:
        source: the column of a CTE, a view or a subquery where it begins; None if that is the source of the edge.
        target: the column where it ends; None if that is the target of the edge.
        kind: how.
        confidence: how sure that is.
        masking: whether the value can't be recognized afterwards.
        expression: the text that makes its end; empty without one.
        passing: the operators of the CTEs, views and subqueries that it passes by none of their columns, in order.
    """

    source: Passage | None
    target: Passage | None
    kind: EdgeKind
    confidence: Confidence
    masking: bool = False
    expression: str = ""
    passing: tuple[str, ...] = ()


@attrs.frozen
class GraphEdge:
    """
    One node is made from another.

    Args:
        source: the id of the node where the data come from: a column, or a dataset.
        target: the id of the node where they go. A dataset stands for all of its rows.
        kind: how.
        confidence: how sure that is.
        type: OpenLineage's type of the transformation; empty if there is none.
        subtype: its subtype.
        masking: whether the value can't be recognized afterwards.
        expression: the text that makes the target; empty without one.
        operator_path: the operators on the way from the source to the target, each with its index in the plan, such as
            `Aggregate#1`; empty if it is not known.
        job: the id of the job that does it; empty for a query that is not run.
        last_run: the id of the last run that said so.
        steps: those of the operators that do more than pass the value on, in order; empty if they are not known.
        change: `came`, `went` or `changed` in a graph of differences; else empty.
        through: the columns of CTEs, views and subqueries through which it comes, in the order of `operator_path`;
            empty if there are none, or if they are not known.
        legs: the parts of its way, if it comes through any of these; empty if they are not known. The JSON leaves them
            out.
    """

    source: str
    target: str
    kind: EdgeKind
    confidence: Confidence
    type: str = ""
    subtype: str = ""
    masking: bool = False
    expression: str = ""
    operator_path: tuple[str, ...] = ()
    job: str = ""
    last_run: str = ""
    steps: tuple[EdgeStep, ...] = ()
    change: str = ""
    through: tuple[Passage, ...] = ()
    legs: tuple[Leg, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        known = {"type": self.type, "subtype": self.subtype}
        openlineage = {key: value for key, value in known.items() if value}
        texts = {"expression": self.expression, "job": self.job, "lastRun": self.last_run, "change": self.change}
        return {
            "from": self.source,
            "to": self.target,
            "type": self.kind.value,
            **({"openlineage": openlineage} if openlineage else {}),
            **{key: value for key, value in texts.items() if value},
            **({"operatorPath": list(self.operator_path)} if self.operator_path else {}),
            **({"steps": [step.to_dict() for step in self.steps]} if self.steps else {}),
            **({"through": [passage.to_dict() for passage in self.through]} if self.through else {}),
            **({"masking": True} if self.masking else {}),
            "confidence": self.confidence.value,
            "reason": self.confidence.reason,
        }


def preferred(edge: GraphEdge) -> tuple[int, float]:
    """Return what sorts the edges to one target: by their kinds, and the surest of a kind first."""
    return PREFERENCE[edge.kind], -edge.confidence.value


@attrs.frozen
class GraphWarning:
    """
    Something that was not understood.

    Args:
        message: what, for people.
        operator: the operator or the part of the event that it is about; empty if none is named.
        job: the id of the job; empty for a query that is not run.
        run: the id of the run.
    """

    message: str
    operator: str = ""
    job: str = ""
    run: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        known = {"operator": self.operator, "job": self.job, "run": self.run}
        return {"message": self.message, **{key: value for key, value in known.items() if value}}


@attrs.frozen
class Graph:
    """
    A lineage graph.

    Args:
        nodes: its nodes. Ids are unique.
        edges: its edges; both ends are among the nodes.
        warnings: what was not understood.
        time: the time for which it holds, ISO 8601; empty for a query that is not run.
    """

    nodes: tuple[Node, ...]
    edges: tuple[GraphEdge, ...]
    warnings: tuple[GraphWarning, ...] = ()
    time: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, as the JSON Schema describes them."""
        return {
            "version": GRAPH_VERSION,
            **({"time": self.time} if self.time else {}),
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict() for edge in self.edges],
            "warnings": [warning.to_dict() for warning in self.warnings],
        }

    def to_json(self) -> str:
        """Return its JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))


def node_id(type_: str, *names: str) -> str:
    """
    Return the id of a node: its type and its names, with `|` between them.

    Two nodes never have the same id: a `|` in a name is written as `%7C`, and a `%` as `%25`.
    """
    return "|".join((type_, *(name.replace("%", "%25").replace("|", "%7C") for name in names)))


def column_id(dataset: str, name: str) -> str:
    """
    Return the id of a column.

    Args:
        dataset: the id of the dataset, or of the operator whose rows have the column.
        name: the column's name. An empty one stands for the dataset as a whole, and gives its id.
    """
    if not name:
        return dataset
    owner = dataset.removeprefix("dataset|")
    return f"column|{owner}|{node_id('', name)[1:]}"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a graph's JSON."""
    text = resources.files(__package__).joinpath(_SCHEMA).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def kind_text(subtype: str, *, masked: bool) -> str:
    """Return the text for a kind of transformation, such as `AGGREGATION (masked)`."""
    return f"{subtype} (masked)" if masked else subtype
