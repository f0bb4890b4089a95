"""Decode the probe's JSON into frozen values. Pure: it takes text and returns a `Plan`."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

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
    Reference,
    Sql,
    StructSql,
    SubqueryText,
    Value,
    common_id,
    expression_name,
    references,
    simple_name,
)

_MISSING = Expression("Missing", {})
_OF_NODE = frozenset(("id", "n", "t", "s", "c", "broken"))
"""What a node says of itself, besides its arguments and its readings."""
_FOLLOWED = {"=": 1, "+": None}
"""The output of an operator -> how many of its children have it together; None for all."""
_Decoded = tuple[
    str, str, "FrozenMap[str, Value]", "tuple[Reference, ...]", tuple[int, ...], "tuple[Output, ...] | str"
]
"""
An operator: its simple and its full name, its arguments, their references, its children, and its output or how that
follows from theirs.
"""


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


# A plan has hundreds of attributes: made so, a named tuple takes a third of the time.
_attribute = cast("Callable[[tuple[str, str, str | None]], Attribute]", functools.partial(tuple.__new__, Attribute))
_output = cast("Callable[[tuple[int, str]], Output]", functools.partial(tuple.__new__, Output))


# The same few thousand are in all plans.
_operator_ref = functools.lru_cache(maxsize=4096)(OperatorRef)
_expression_ref = functools.lru_cache(maxsize=4096)(ExpressionRef)


class _Decoding:
    def __init__(self, raw: Mapping[str, Any], place: Callable[[str], str]) -> None:
        self._place = functools.cache(place)
        self._classes = [
            (name, simple_name(name) if kind == "P" else expression_name(name), kind == "P", fields)
            for name, kind, fields in raw["classes"]
        ]
        types: list[str] = raw["types"]
        self._types = types
        self._nodes: list[list[Any] | None] = raw["nodes"]
        self._attributes: dict[int, Attribute] = {}
        self._outputs: dict[int, Output] = {}
        for text, row in raw["attributes"].items():
            id_ = int(text)
            self._attributes[id_] = _attribute((row[0], types[row[1]], row[2] if len(row) > 2 else None))
            self._outputs[id_] = _output((id_, row[0]))
        self._cut = bool(raw["cut"])
        self._session: dict[str, Any] = dict(raw.get("session") or {})
        self._case_sensitive = self._session.pop("caseSensitive", False) is True
        self._places: list[OperatorRef | ExpressionRef] = []
        self._broken: list[str] = []
        self._mentions: dict[int, AttributeRef] = {}

    def plan(self) -> Plan:
        plans = expressions = 0
        for node in self._nodes:
            if node is not None and self._classes[node[0]][2]:
                self._places.append(_operator_ref(plans))
                plans += 1
            else:
                self._places.append(_expression_ref(expressions))
                expressions += 1
        decoded: list[_Decoded] = []
        found: list[Expression] = []
        for node in self._nodes:
            if node is None:
                found.append(_MISSING)
            elif self._classes[node[0]][2]:
                decoded.append(self._operator(node))
            else:
                found.append(self._expression(node))
        operators = [
            Operator(simple, name, arguments, output, references=held, children=children)
            for (simple, name, arguments, held, children, _), output in zip(decoded, _outputs(decoded), strict=True)
        ]
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

    def _arguments(self, node: list[Any]) -> tuple[FrozenMap[str, Value], tuple[Reference, ...]]:
        """Return the arguments of a node with its readings, and the references in them."""
        name, _, _, fields = self._classes[node[0]]
        held: list[Reference] = []
        values = [self._value(raw, held) for raw in node[2][: len(fields)]]
        # To say that it is not strict takes as long as the rest of it.
        arguments = FrozenMap(zip(fields, values))  # noqa: B905
        extra = node[3]
        if "broken" in extra:
            self._broken.append(f"{name}: {extra['broken']}")
        if extra.keys() <= _OF_NODE:
            return arguments, tuple(held)
        # A reading may take the place of an argument.
        read = {key: self._value(value, held) for key, value in extra.items() if key not in _OF_NODE}
        whole = FrozenMap({**arguments, **read})
        return whole, tuple(references(whole.values()))

    def _operator(self, node: list[Any]) -> _Decoded:
        name, simple, _, _ = self._classes[node[0]]
        arguments, held = self._arguments(node)
        said = node[1]
        output: tuple[Output, ...] | str = ()
        if isinstance(said, list):
            known = self._outputs
            output = tuple([known[o] if type(o) is int else Output(o[0], o[1]) for o in said if o is not None])
        elif isinstance(said, str):
            output = said
        children = tuple([reference.index for reference in held if type(reference) is OperatorRef])
        return simple, name, arguments, held, children, output

    def _expression(self, node: list[Any]) -> Expression:
        name, extra = self._classes[node[0]][1], node[3]
        arguments, held = self._arguments(node)
        if not extra:
            return Expression(name, arguments, references=held)
        type_ = extra.get("t")
        return Expression(
            name,
            arguments,
            extra.get("id"),
            extra.get("n"),
            None if type_ is None else self._types[type_],
            _sql(extra.get("s")),
            self._place(extra["c"]) if "c" in extra else "",
            references=held,
        )

    def _value(self, raw: Any, held: list[Reference]) -> Value:
        """Return the value that JSON stands for, and add the references in it to `held`."""
        # JSON has no other types than these.
        kind = type(raw)
        if kind is dict:
            # Most objects are these.
            if "r" in raw:
                place: OperatorRef | ExpressionRef = self._places[raw["r"]]
                held.append(place)
                return place
            return self._object(raw, held)
        if kind is int:
            known = self._mentions.get(raw)
            if known is None:
                known = self._mentions[raw] = AttributeRef(raw)
            held.append(known)
            return known
        if kind is list:
            return tuple([self._value(item, held) for item in raw])
        atom: bool | str | None = raw
        return atom

    def _object(self, raw: Mapping[str, Any], held: list[Reference]) -> Value:
        if "n" in raw:
            number = raw["n"]
            return int(number) if number.lstrip("-").isdigit() else str(number)
        if "o" in raw:
            return Described(raw["o"], FrozenMap({k: self._value(v, held) for k, v in raw.items() if k != "o"}))
        if "t" in raw:
            return self._types[int(raw["t"])]
        if "cut" in raw:
            return cut_text(raw)
        keys = raw["keys"]
        return Keys(tuple(keys)) if isinstance(keys, list) else Keys(())


def _outputs(decoded: Sequence[_Decoded]) -> list[tuple[Output, ...]]:
    """Return the outputs of operators: of those that the probe left out, what follows from the children."""
    found: list[tuple[Output, ...] | None] = [None if isinstance(each[5], str) else each[5] for each in decoded]
    for first, known in enumerate(found):
        stack = [first] if known is None else []
        while stack:
            at = stack[-1]
            output = decoded[at][5]
            if found[at] is not None or not isinstance(output, str):
                stack.pop()
                continue
            below = decoded[at][4][: _FOLLOWED[output]]
            open_ = [child for child in below if found[child] is None]
            if open_:
                stack += open_
                continue
            outputs = [each for child in below if (each := found[child]) is not None]
            # Operators that share one output can be told by that.
            found[at] = outputs[0] if len(outputs) == 1 else tuple(itertools.chain.from_iterable(outputs))
    return [output or () for output in found]


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
