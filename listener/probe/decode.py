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
from openlineage_pyspark.facets.model.variables import VARIABLE_CLASS, with_variables

_MISSING = Expression("Missing", {})
_NOTHING: Mapping[str, Any] = FrozenMap()
_OF_NODE = frozenset(("id", "n", "t", "s", "c", "broken"))
"""The keys of a node besides its arguments and its readings."""
_FOLLOWED = {"=": 1, "+": None}
"""The encoding of an output that follows from the children's -> from how many children; None for all."""
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


# A plan has hundreds of attributes, and creating a named tuple in this way takes a third of the time.
_attribute = cast("Callable[[tuple[str, str, str | None]], Attribute]", functools.partial(tuple.__new__, Attribute))
_mention = cast("Callable[[tuple[int, str, tuple[str, ...]]], Mention]", functools.partial(tuple.__new__, Mention))
_expression = cast("Callable[[tuple[Any, ...]], Expression]", functools.partial(tuple.__new__, Expression))
_operator = cast("Callable[[tuple[Any, ...]], Operator]", functools.partial(tuple.__new__, Operator))
_output = cast("Callable[[tuple[int, str]], Output]", functools.partial(tuple.__new__, Output))


# All plans have the same few thousand references and names.
_operator_ref = functools.lru_cache(maxsize=4096)(OperatorRef)
_expression_ref = functools.lru_cache(maxsize=4096)(ExpressionRef)
_simple_name = functools.lru_cache(maxsize=4096)(simple_name)
_expression_name = functools.lru_cache(maxsize=4096)(expression_name)


class _Decoding:
    def __init__(self, raw: Mapping[str, Any], place: Callable[[str], str]) -> None:
        self._place = functools.cache(place)
        self._classes = [
            (name, _simple_name(name) if kind == "P" else _expression_name(name), kind == "P", fields)
            for name, kind, fields in raw["classes"]
        ]
        types: list[str] = raw["types"]
        self._types = types
        self._nodes: list[list[Any] | None] = raw["nodes"]
        attributes: list[list[Any]] = raw["attributes"]
        self._attributes: dict[int, Attribute] = {
            each[0]: _attribute((each[1], types[each[2]], each[3] if len(each) > 3 else None)) for each in attributes
        }
        self._outputs: dict[int, Output] = {each[0]: _output((each[0], each[1])) for each in attributes}
        self._cut = bool(raw["cut"])
        self._session: dict[str, Any] = dict(raw.get("session") or {})
        self._case_sensitive = self._session.pop("caseSensitive", False) is True
        self._broken: list[str] = []
        self._referred: dict[int, Reference] = {}

    def plan(self) -> Plan:
        plans = expressions = 0
        for at, node in enumerate(self._nodes):
            if node is not None and self._classes[node[0]][2]:
                self._referred[-at] = _operator_ref(plans)
                plans += 1
            else:
                self._referred[-at] = _expression_ref(expressions)
                expressions += 1
        # Nothing refers to the root: 0 is an exprId.
        self._referred.pop(0, None)
        decoded: list[_Decoded] = []
        found: list[Expression] = []
        for node in self._nodes:
            if node is None:
                found.append(_MISSING)
            elif self._classes[node[0]][2]:
                decoded.append(self._operator(node[0], node[1], node[2], node[3] if len(node) > 3 else _NOTHING))
            else:
                found.append(self._expression(node[0], node[1], node[2] if len(node) > 2 else _NOTHING))
        operators = [
            _operator((simple, name, arguments, output, children, held))
            for (simple, name, arguments, held, children, _), output in zip(decoded, _outputs(decoded), strict=True)
        ]
        plan = Plan(
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
        return with_variables(plan) if any(each[0] == VARIABLE_CLASS for each in self._classes) else plan

    def _arguments(
        self, class_: int, given: list[Any], further: Mapping[str, Any]
    ) -> tuple[FrozenMap[str, Value], tuple[Reference, ...]]:
        """Return the arguments of a node with its readings, and the references in them."""
        name, _, _, fields = self._classes[class_]
        held: list[Reference] = []
        values: list[Value] = []
        for raw in given[: len(fields)]:
            if raw is None:
                values.append(None)
            elif type(raw) is int:
                # Most arguments are references.
                found = self._referred.get(raw) or self._attribute(raw)
                held.append(found)
                values.append(found)
            else:
                values.append(self._value(raw, held))
        # Passing strict=False would double the time of this call.
        arguments = FrozenMap(zip(fields, values))  # noqa: B905
        if not further:
            return arguments, tuple(held)
        if "broken" in further:
            self._broken.append(f"{name}: {further['broken']}")
        if further.keys() <= _OF_NODE:
            return arguments, tuple(held)
        # A reading may replace an argument.
        read = {key: self._value(value, held) for key, value in further.items() if key not in _OF_NODE}
        whole = FrozenMap({**arguments, **read})
        return whole, tuple(references(whole.values()))

    def _operator(self, class_: int, stated: Any, given: list[Any], further: Mapping[str, Any]) -> _Decoded:
        name, simple, _, _ = self._classes[class_]
        arguments, held = self._arguments(class_, given, further)
        output: tuple[Output, ...] | str = ()
        if isinstance(stated, list):
            known = self._outputs
            output = tuple([known[o] if type(o) is int else Output(o[0], o[1]) for o in stated if o is not None])
        elif isinstance(stated, str):
            output = stated
        children = tuple([reference.index for reference in held if type(reference) is OperatorRef])
        return simple, name, arguments, held, children, output

    def _expression(self, class_: int, given: list[Any], further: Mapping[str, Any]) -> Expression:
        name = self._classes[class_][1]
        arguments, held = self._arguments(class_, given, further)
        if not further:
            return _expression((name, arguments, None, None, None, None, "", held))
        type_ = further.get("t")
        named = further.get("id"), further.get("n"), None if type_ is None else self._types[type_]
        site = self._place(further["c"]) if "c" in further else ""
        return _expression((name, arguments, *named, _sql(further.get("s")), site, held))

    def _value(self, raw: Any, held: list[Reference]) -> Value:
        """Return the value that JSON encodes, and add the references in it to `held`."""
        kind = type(raw)
        if kind is int:
            found = self._referred.get(raw) or self._attribute(raw)
            held.append(found)
            return found
        if kind is dict:
            return self._object(raw, held)
        if kind is list:
            return tuple([self._value(item, held) for item in raw])
        # The probe writes no other types.
        atom: bool | str | None = raw
        return atom

    def _attribute(self, id_: int) -> AttributeRef:
        if id_ < 0:
            raise ValueError(f"the plan refers to node {-id_}, which it does not contain")
        found = self._referred[id_] = AttributeRef(id_)
        return found

    def _object(self, raw: Mapping[str, Any], held: list[Reference]) -> Value:
        if "n" in raw:
            number = raw["n"]
            return int(number) if number.lstrip("-").isdigit() else str(number)
        if "o" in raw:
            values: dict[str, Value] = {}
            for name, value in raw.items():
                # Most values are texts.
                values[name] = value if type(value) is str else self._value(value, held)
            del values["o"]
            return Described(raw["o"], FrozenMap(values))
        if "t" in raw:
            return self._types[int(raw["t"])]
        if "cut" in raw:
            return cut_text(raw)
        keys = raw["keys"]
        return Keys(tuple(keys)) if isinstance(keys, list) else Keys(())


def _outputs(decoded: Sequence[_Decoded]) -> list[tuple[Output, ...]]:
    """Return the outputs of operators; derive those that the probe left out from the outputs of the children."""
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
            # The same object, by which operators with the same output are recognized.
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
            if type(part) is str
            else SubqueryText(part[0])
            if len(part) == 1 and isinstance(part[0], str)
            else StructSql(_parts(part[0]), tuple([(name, _parts(field)) for name, *field in part[1:]]))
            if isinstance(part[0], list)
            else _mention((part[0], part[1], tuple(part[2:])))
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
