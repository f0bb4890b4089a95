"""The plans that the probe sent for the cases, one folder a Spark version, without what differs from run to run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Plan = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "lineage" / "plans"
WAREHOUSE = "file:/warehouse"
# Fields that hold a number of a counter -> the counter; Spark counts on through all that a JVM does. The JVM gives the
# scope of a session's variables its number.
_COUNTERS = {"id": "id", "cteId": "id", "loopId": "id", "dataframeId": "dataframe", "scope": "scope"}
# The exprId of an attribute, in the texts of what Spark has no SQL for.
_MENTION = re.compile(r"(?<=#)\d+")
# A variable of a lambda function, which PySpark counts on through all that a JVM does.
_VARIABLE = re.compile(r"([xyz])_(\d+)")


def versions() -> list[str]:
    """Return the versions of Spark, as "4.3", that there are plans of."""
    return sorted(folder.name for folder in FOLDER.glob("*") if folder.is_dir())


def file_of(version: str, theme: str) -> Path:
    """Return the file that holds the plans of a theme.

    Args:
        version: of Spark, as "4.3.0" or "4.3".
        theme: name of a file of cases, without its ending.
    """
    return FOLDER / ".".join(version.split(".")[:2]) / f"{theme}.json"


def read(version: str, theme: str) -> dict[str, Plan]:
    """Return the plans of a theme by the ids of their cases; none where they were never recorded."""
    file = file_of(version, theme)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def write(version: str, theme: str, plans: Mapping[str, Plan]) -> None:
    """Write the plans of a theme."""
    file = file_of(version, theme)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text(plans), encoding="utf-8")


def text(plans: Mapping[str, Plan]) -> str:
    """Return plans as JSON with one line for each node, so that a difference is readable."""
    cases = [f"{json.dumps(id_)}: {_text(plan)}" for id_, plan in plans.items()]
    return "{\n" + ",\n".join(cases) + "\n}\n"


def _text(plan: Plan) -> str:
    parts = []
    for key, value in plan.items():
        if isinstance(value, list) and key != "attributes":
            lines = ",\n  ".join(_line(item) for item in value)
            parts.append(f" {json.dumps(key)}: [\n  {lines}\n ]" if value else f" {json.dumps(key)}: []")
        else:
            parts.append(f" {json.dumps(key)}: {_line(value)}")
    return "{\n" + ",\n".join(parts) + "\n}"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def normalised(encoded: str) -> Plan:
    """
    Return what the probe sent, without what differs from run to run: numbers, times, and where the warehouse lies.

    Args:
        encoded: what `Probe.encode` gave. Each number that Spark took from a counter becomes the position at which the
            plan has it first, so that two plans are equal if they say the same.
    """
    raw: Plan = json.loads(encoded)
    return _Normalising(raw).plan()


def shifted(plan: Plan, by: int) -> Plan:
    """Return a plan as a session would send it whose counter of exprIds stands higher."""
    return _Shifting(plan, by).plan()


class _Normalising:
    def __init__(self, raw: Plan) -> None:
        self._raw = raw
        self._warehouse = raw["session"]["warehouse"]
        self._numbers: dict[tuple[str, Any], int] = {}

    def plan(self) -> Plan:
        nodes = [None if node is None else self._node(node) for node in self._raw["nodes"]]
        attributes = {self._number("expression", id_): row for id_, *row in self._raw["attributes"]}
        return {
            **self._raw,
            "attributes": [[id_, *self._value(row[:1]), *row[1:]] for id_, row in sorted(attributes.items())],
            "session": self._value(self._raw["session"]),
            "nodes": nodes,
        }

    def _number(self, counter: str, value: Any) -> int:
        known = sum(name == counter for name, _ in self._numbers)
        return self._numbers.setdefault((counter, value), known)

    def _node(self, node: list[Any]) -> list[Any]:
        """Return a node: its class, what it gives if it is an operator, its arguments, and what else is said of it."""
        name, kind, fields = self._raw["classes"][node[0]]
        head, (arguments, *further) = (node[:2], node[2:]) if kind == "P" else (node[:1], node[1:])
        if isinstance(head[-1], list):
            head = [head[0], [self._output(item) for item in head[1]]]
        # The classes of one counter are told apart by the beginning of their names.
        kind = "common" if "CommonExpression" in name else "cte"
        named = [self._field(kind, field, value) for field, value in zip(fields, arguments, strict=False)]
        rest = [self._value(value) for value in arguments[len(fields) :]]
        # Where a case's Python stands is no part of its plan.
        said = [{k: self._further(kind, k, value) for k, value in each.items() if k != "c"} for each in further]
        return [*head, named + rest, *said]

    def _output(self, item: Any) -> Any:
        """Return one column of an output: an exprId, or one with a name of its own."""
        if isinstance(item, list):
            return [self._number("expression", item[0]), *item[1:]]
        return None if item is None else self._number("expression", item)

    def _further(self, kind: str, key: str, value: Any) -> Any:
        """Return what is said of an expression: `t` is the position of a type, `id` an exprId."""
        if key == "t" or isinstance(value, bool):
            return value
        return self._number("expression", value) if isinstance(value, int) else self._field(kind, key, value)

    def _field(self, kind: str, field: str, value: Any) -> Any:
        counter = _COUNTERS.get(field)
        is_number = isinstance(value, dict) and set(value) == {"n"}
        if is_number and field == "created":
            return {"n": "0"}
        if is_number and counter is not None:
            return {"n": str(self._number(kind if counter == "id" else counter, value["n"]))}
        return self._value(value, field if field == "rdd" else kind)

    def _value(self, value: Any, kind: str = "") -> Any:
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            # What is negative refers to a node by its place.
            return value if value < 0 else self._number("expression", value)
        if isinstance(value, str):
            if found := _VARIABLE.fullmatch(value):
                return f"{found[1]}_{self._number('variable', found[2])}"
            placed = value.replace(self._warehouse, WAREHOUSE)
            return _MENTION.sub(lambda match: str(self._number("mention", match[0])), placed)
        if isinstance(value, list):
            return [self._value(item, kind) for item in value]
        return self._object(value, kind)

    def _object(self, value: Mapping[str, Any], kind: str) -> dict[str, Any]:
        """Return an object; what refers by a position (`t`), a number (`n`) or a key (`keys`) stays as it is."""
        if value.keys() & {"n", "t", "keys"} and "o" not in value:
            return dict(value)
        return {key: self._field(kind, key, item) for key, item in value.items()}


class _Shifting(_Normalising):
    def __init__(self, raw: Plan, by: int) -> None:
        super().__init__(raw)
        self._by = by

    def _number(self, _counter: str, value: Any) -> int:
        return int(value) + self._by
