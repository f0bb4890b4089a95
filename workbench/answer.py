"""Answers: one envelope around the result of every question, and its JSON, with its JSON Schema."""

from __future__ import annotations

import json
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.workbench.model.graph import Graph
from openlineage_pyspark.workbench.model.kinds import Diagnostic, NodeId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ANSWER_VERSION = "2-0-0"
"""The version of the JSON. Its first number changes when a reader of the earlier one would read it wrong."""
_SCHEMA = "lineage-answer.schema.json"


def _frozen(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(values))


def _frozen_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple(map(_frozen, rows))


@attrs.frozen
class Reach:
    """
    What is upstream or downstream of something, or lies between two things.

    Args:
        graph: it as a graph.
        start: the ids of the nodes that were asked for.
        depths: the id of a node -> how many jobs lie between it and the start.
    """

    graph: Graph
    start: tuple[NodeId, ...]
    depths: Mapping[NodeId, int] = attrs.field(converter=_frozen, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        own = {"type": "reach", "start": list(self.start), "depths": dict(self.depths)}
        return {**self.graph.to_dict(), **own}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Reach:
        """Return what `to_dict` wrote."""
        return cls(Graph.from_dict(document), tuple(document["start"]), document["depths"])


@attrs.frozen
class Rows:
    """
    Rows of one kind.

    Args:
        of: what a row is, such as `job` or `run`.
        rows: the rows as plain values.
    """

    of: str
    rows: tuple[Mapping[str, Any], ...] = attrs.field(converter=_frozen_rows, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {"type": "rows", "of": self.of, "rows": [dict(row) for row in self.rows]}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Rows:
        """Return what `to_dict` wrote."""
        return cls(document["of"], document["rows"])


@attrs.frozen
class Values:
    """
    A result that has a shape of its own.

    Args:
        type: `diff`, `plan` or `statements`.
        values: it as plain values.
    """

    type: str
    values: Mapping[str, Any] = attrs.field(converter=_frozen, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"type": self.type, **self.values}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Values:
        """Return what `to_dict` wrote."""
        return cls(document["type"], {key: value for key, value in document.items() if key != "type"})


Result: TypeAlias = Graph | Reach | Rows | Values
R = TypeVar("R", bound=Result)


@attrs.frozen
class Answer(Generic[R]):
    """
    What a question gives.

    Args:
        question: the question, such as `upstream`.
        arguments: what was asked for; arguments that were left out are not among them.
        result: the result.
        as_of: the time that was asked for, ISO 8601; empty for now.
        last_seen: the newest time that the store knows of, ISO 8601; empty if there is no store.
        diagnostics: what somebody should know of it.
    """

    question: str
    arguments: Mapping[str, Any] = attrs.field(converter=_frozen, hash=False)
    result: R
    as_of: str = ""
    last_seen: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is known to be missing."""
        return not any(each.missing for each in self.diagnostics)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, as the JSON Schema describes them."""
        times = {"asOf": self.as_of, "lastSeen": self.last_seen}
        return {
            "schema": ANSWER_VERSION,
            "question": self.question,
            "arguments": dict(self.arguments),
            **{key: value for key, value in times.items() if value},
            "complete": self.complete,
            "diagnostics": [each.to_dict() for each in self.diagnostics],
            "result": self.result.to_dict(),
        }

    def to_json(self) -> str:
        """Return its JSON on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Answer[Any]:
        """
        Return the answer that `to_dict` wrote.

        Raises:
            ValueError: the document is of another version.
        """
        version = str(document.get("schema", ""))
        if version.partition("-")[0] != ANSWER_VERSION.partition("-")[0]:
            raise ValueError(f"this is no answer of version {ANSWER_VERSION}, but of {version or 'none'}")
        result = document["result"]
        return Answer(
            document["question"],
            document["arguments"],
            _READERS.get(result["type"], Values.from_dict)(result),
            document.get("asOf", ""),
            document.get("lastSeen", ""),
            tuple(map(Diagnostic.from_dict, document["diagnostics"])),
        )


_READERS: dict[str, Callable[[dict[str, Any]], Result]] = {
    "graph": Graph.from_dict,
    "reach": Reach.from_dict,
    "rows": Rows.from_dict,
}


def answer_of_graph(
    graph: Graph, question: str = "graph", arguments: Mapping[str, Any] | None = None, last_seen: str = ""
) -> Answer[Graph]:
    """
    Return a graph as an answer, which has its diagnostics.

    Args:
        graph: the graph.
        question: the question.
        arguments: what was asked for; None for nothing.
        last_seen: as in `Answer`.
    """
    bare = Graph(graph.nodes, graph.edges, time=graph.time)
    return Answer(question, arguments or {}, bare, graph.time, last_seen, graph.diagnostics)


def answer_of_reach(reach: Reach, question: str, arguments: Mapping[str, Any], last_seen: str) -> Answer[Reach]:
    """Return what is reached as an answer, which has the diagnostics of its graph; the arguments are as in `Answer`."""
    graph = reach.graph
    bare = Reach(Graph(graph.nodes, graph.edges, time=graph.time), reach.start, reach.depths)
    return Answer(question, arguments, bare, graph.time, last_seen, graph.diagnostics)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of an answer's JSON."""
    text = resources.files(f"{__package__}.model").joinpath(_SCHEMA).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def camel_case(name: str) -> str:
    """Return a name such as `run_id` as JSON has it, `runId`."""
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)
