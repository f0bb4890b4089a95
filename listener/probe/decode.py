"""Decode the probe's JSON into frozen values. Pure: it takes text and returns a `Plan`."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

from openlineage_pyspark.facets.model.plan import (
    CTE_DEFINITION,
    UNION_LOOP,
    Attribute,
    AttributeRef,
    CutText,
    Described,
    Expression,
    ExpressionRef,
    FrozenMap,
    Keys,
    Mention,
    Operator,
    OperatorRef,
    Output,
    Plan,
    Sql,
    StructSql,
    SubqueryText,
    Value,
    common_id,
    expression_name,
    simple_name,
)

_MISSING = Expression("Missing", {})
_OF_NODE = frozenset(("id", "n", "t", "s", "c", "broken"))
"""What a node says of itself, besides its arguments and its readings."""
_FOLLOWED = {"=": 1, "+": None}
"""The output of an operator -> how many of its children have it together; None for all."""


def decode_plan(encoded: str | Mapping[str, Any], place: Callable[[str], str] = lambda _site: "") -> Plan:
    """
    Return the plan that the probe encoded.

    Args:
        encoded: the result of `Probe.encode`, as text or parsed.
        place: shortens the line of Python that made an expression; by default it is left out.

    Returns:
        The plan; operators and expressions keep the order in which the probe met them.
    """
    raw: Mapping[str, Any] = json.loads(encoded) if isinstance(encoded, str) else encoded
    return _Decoding(raw, place).plan()


def cut_text(raw: Mapping[str, Any]) -> CutText:
    """Return the value of a text that the probe has cut."""
    return CutText(f"{raw['cut']}...")


class _Decoding:
    def __init__(self, raw: Mapping[str, Any], place: Callable[[str], str]) -> None:
        self._place = functools.cache(place)
        self._classes = [
            (name, simple_name(name) if kind == "P" else expression_name(name), kind == "P", fields)
            for name, kind, fields in raw["classes"]
        ]
        self._types: list[str] = raw["types"]
        self._nodes: list[list[Any] | None] = raw["nodes"]
        self._attributes = {
            int(id_): Attribute(row[0], self._types[row[1]], row[2] if len(row) > 2 else None)
            for id_, row in raw["attributes"].items()
        }
        self._cut = bool(raw["cut"])
        self._session: dict[str, Any] = dict(raw.get("session") or {})
        self._case_sensitive = self._session.pop("caseSensitive", False) is True
        self._places: list[OperatorRef | ExpressionRef] = []
        self._broken: list[str] = []
        self._mentions: dict[int, AttributeRef] = {}
        self._outputs = {id_: Output(id_, attribute.name) for id_, attribute in self._attributes.items()}
        # Operators whose output follows from those of their children -> how many of these.
        self._following: dict[int, int | None] = {}

    def plan(self) -> Plan:
        plans = expressions = 0
        for node in self._nodes:
            if node is not None and self._classes[node[0]][2]:
                self._places.append(OperatorRef(plans))
                plans += 1
            else:
                self._places.append(ExpressionRef(expressions))
                expressions += 1
        operators: list[Operator] = []
        found: list[Expression] = []
        for node in self._nodes:
            if node is None:
                found.append(_MISSING)
            elif self._classes[node[0]][2]:
                if isinstance(node[1], str):
                    self._following[len(operators)] = _FOLLOWED[node[1]]
                operators.append(self._operator(node))
            else:
                found.append(self._expression(node))
        self._pass_through(operators)
        return Plan(
            operators=tuple(operators),
            expressions=tuple(found),
            attributes=self._attributes,
            session=self._session,
            case_sensitive=self._case_sensitive,
            cut=self._cut,
            broken=tuple(sorted(set(self._broken))),
            ctes=_ctes(operators),
            common={common_id(e): e.arguments.get("child") for e in found if e.name == "CommonExpressionDef"},
        )

    def _arguments(self, node: list[Any]) -> FrozenMap[str, Value]:
        name, _, _, fields = self._classes[node[0]]
        arguments = zip(fields, map(self._value, node[2]), strict=False)
        if "broken" in node[3]:
            self._broken.append(f"{name}: {node[3]['broken']}")
        if node[3].keys() <= _OF_NODE:
            return FrozenMap(arguments)
        read = {key: self._value(value) for key, value in node[3].items() if key not in _OF_NODE}
        return FrozenMap({**dict(arguments), **read})

    def _operator(self, node: list[Any]) -> Operator:
        name, simple, _, _ = self._classes[node[0]]
        output: tuple[Output, ...] = ()
        if isinstance(node[1], list):
            known = self._outputs
            output = tuple([known[o] if isinstance(o, int) else Output(o[0], o[1]) for o in node[1] if o is not None])
        return Operator(simple, name, self._arguments(node), output)

    def _expression(self, node: list[Any]) -> Expression:
        name, extra = self._classes[node[0]][1], node[3]
        if not extra:
            return Expression(name, self._arguments(node))
        type_ = extra.get("t")
        return Expression(
            name,
            self._arguments(node),
            extra.get("id"),
            extra.get("n"),
            None if type_ is None else self._types[type_],
            _sql(extra.get("s")),
            self._place(extra["c"]) if "c" in extra else "",
        )

    def _value(self, raw: Any) -> Value:
        # JSON has no other types than these.
        kind = type(raw)
        if kind is dict:
            # Most objects are these.
            return self._places[raw["r"]] if "r" in raw else self._object(raw)
        if kind is int:
            known = self._mentions.get(raw)
            if known is None:
                known = self._mentions[raw] = AttributeRef(raw)
            return known
        if kind is list:
            return tuple([self._value(item) for item in raw])
        atom: bool | str | None = raw
        return atom

    def _object(self, raw: Mapping[str, Any]) -> Value:
        if "n" in raw:
            number = raw["n"]
            return int(number) if number.lstrip("-").isdigit() else str(number)
        if "o" in raw:
            return Described(raw["o"], FrozenMap({k: self._value(v) for k, v in raw.items() if k != "o"}))
        if "t" in raw:
            return self._types[int(raw["t"])]
        if "cut" in raw:
            return cut_text(raw)
        keys = raw["keys"]
        return Keys(tuple(keys)) if isinstance(keys, list) else Keys(())

    def _pass_through(self, operators: list[Operator]) -> None:
        """Set the outputs that the probe left out, because they follow from those of the children."""
        for first in list(self._following):
            stack = [first]
            while stack:
                at = stack[-1]
                if at not in self._following:
                    stack.pop()
                    continue
                here = operators[at]
                below = here.children[: self._following[at]]
                open_ = [child for child in below if child in self._following]
                if open_:
                    stack += open_
                    continue
                outputs = [operators[child].output for child in below]
                # Operators that share one output can be told by that.
                output = outputs[0] if len(outputs) == 1 else tuple(itertools.chain.from_iterable(outputs))
                operators[at] = Operator(here.name, here.class_name, here.arguments, output, here.children)
                del self._following[at]


def _sql(raw: str | list[Any] | None) -> str | Sql | None:
    """Return the SQL of an expression: a text, or parts."""
    return _parts(raw) if isinstance(raw, list) else raw


def _parts(raw: list[Any]) -> Sql:
    """Return parts: texts, a subquery as `[text]`, an attribute as `[exprId, text, field...]`, a struct as lists."""
    return tuple(
        [
            part
            if isinstance(part, str)
            else SubqueryText(part[0])
            if len(part) == 1 and isinstance(part[0], str)
            else StructSql(_parts(part[0]), tuple([(name, _parts(field)) for name, *field in part[1:]]))
            if isinstance(part[0], list)
            else Mention(part[0], part[1], tuple(part[2:]))
            for part in raw
        ]
    )


def _ctes(operators: list[Operator]) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for at, operator in enumerate(operators):
        id_ = operator.arguments.get("id")
        if operator.class_name in (CTE_DEFINITION, UNION_LOOP) and isinstance(id_, int):
            found[operator.name, id_] = at
    return found
