"""The lineage of single fields of structs that a plan builds, chooses between or casts."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

from openlineage_pyspark.facets.model.lineage import Kind
from openlineage_pyspark.facets.model.plan import (
    AttributeRef,
    Described,
    Expression,
    ExpressionRef,
    Plan,
    Value,
    references,
)

Path = tuple[str, ...]

READINGS = {
    "org.apache.spark.sql.catalyst.expressions.ArraysZip": {"structType": "dataType"},
    "org.apache.spark.sql.catalyst.expressions.Inline": {"structType": "elementSchema"},
    "org.apache.spark.sql.catalyst.expressions.CreateNamedStruct": {"structType": "dataType"},
    # Expanding a struct with `.*` gives no name, so the field's own name is read.
    "org.apache.spark.sql.catalyst.expressions.GetStructField": {"field": "extractFieldName"},
    "org.apache.spark.sql.types.StructField": {"name": "name"},
}
"""Class -> what the probe reads from its values to follow paths into structs."""

HOLDING = {
    **dict.fromkeys(("Explode", "PosExplode", "Inline"), ("child",)),
    **dict.fromkeys(("Reverse", "ArrayDistinct", "Flatten", "GetArrayItem", "ArrayMax", "ArrayMin"), ("child",)),
    **dict.fromkeys(("First", "Last", "AnyValue", "CollectList", "CollectSet", "Max", "Min"), ("child",)),
    **dict.fromkeys(("MaxBy", "MinBy", "MaxMinByK"), ("valueExpr",)),
    **dict.fromkeys(("Lag", "Lead"), ("input", "default")),
    **dict.fromkeys(("CreateArray", "Concat"), ("children",)),
    **dict.fromkeys(("ArraySort", "ArrayFilter"), ("argument",)),
    **dict.fromkeys(("ArrayTransform", "ZipWith"), ("function",)),
    "AggregateExpression": ("aggregateFunction",),
    "WindowExpression": ("windowFunction",),
    "NthValue": ("input",),
    "SortArray": ("base",),
    "Slice": ("x",),
    "ElementAt": ("left",),
}
"""Expression class -> the arguments whose structs it returns, alone or in an array, or takes out of an array."""


ACCESSING = frozenset(("GetStructField", "GetArrayStructFields"))
"""The expression classes that take a field from a struct, or from each struct in an array."""


def field_names(expression: Expression) -> tuple[str, ...]:
    """Return the names of the fields of the structs that an expression takes apart or builds; none if not known."""
    return tuple(name for name, _ in _fields(expression.arguments.get("structType")))


def accessed(expression: Expression) -> str | None:
    """Return the field that an expression takes from a struct, or from each struct in an array; None for all others."""
    if expression.name not in ACCESSING:
        return None
    field = expression.arguments.get("field")
    if expression.name == "GetStructField":
        return field if isinstance(field, str) else None
    return field.text("name") if isinstance(field, Described) else None


def held(expression: Expression) -> frozenset[Value]:
    """Return the arguments whose structs, or arrays of structs, an expression passes on with their fields."""
    names = HOLDING.get(expression.name, ())
    return frozenset(references(expression.arguments.get(name) for name in names))


def selected(plan: Plan, expression: Expression, path: Path) -> tuple[tuple[Value, Kind, Path], ...]:
    """
    Return the values that may become a field of the struct that an expression builds, changes or casts.

    Args:
        plan: the plan.
        expression: a CreateNamedStruct, an ArraysZip, an UpdateFields or a cast.
        path: the name of the field, then of the fields below it.

    Returns:
        Each value with its kind and the rest of the path; empty for any other expression.
    """
    if expression.name == "CreateNamedStruct":
        chosen = _struct_field(expression, path[0])
        return ((chosen, Kind.IDENTITY, path[1:]),) if chosen is not None else ()
    if expression.name == "ArraysZip":
        chosen = _zipped_field(expression, path[0])
        return ((chosen, Kind.TRANSFORMATION, path[1:]),) if chosen is not None else ()
    if expression.name == "UpdateFields":
        return tuple((value, Kind.IDENTITY, rest) for value, rest in _updated_field(plan, expression, path))
    if expression.name in ("Cast", "AnsiCast"):
        child = expression.arguments.get("child")
        # A cast between structs matches fields by position.
        for (before, was), (after, now) in zip(
            _fields(known_type(plan, child)), _fields(expression.arguments.get("dataType")), strict=False
        ):
            if after == path[0].casefold():
                return ((child, Kind.IDENTITY if was == now else Kind.TRANSFORMATION, (before, *path[1:])),)
    return ()


def path_in_branch(plan: Plan, above: int, below: int, path: Path) -> Path:
    """Return the path of a field in a branch of a union, which matches the fields of structs by position."""
    if not path or above not in plan.attributes or below not in plan.attributes:
        return path
    fields = zip(_fields(plan.attributes[above].type), _fields(plan.attributes[below].type), strict=False)
    names = (theirs for (ours, _), (theirs, _) in fields if ours == path[0].casefold())
    return (next(names, path[0]), *path[1:])


def known_type(plan: Plan, value: Value) -> Value:
    """Return the type of an attribute, of a column, or of what an expression builds a struct of; None for others."""
    if isinstance(value, AttributeRef):
        known = plan.attributes.get(value.id)
        return known.type if known is not None else None
    expression = plan.expressions[value.index] if isinstance(value, ExpressionRef) else None
    return expression.type or expression.arguments.get("structType") if expression is not None else None


def _fields(type_: Value) -> tuple[tuple[str, Any], ...]:
    """Return the names and types of the fields of a struct, or of the structs in an array; none for any other type."""
    return _parsed(type_) if isinstance(type_, str) and type_.startswith("{") else ()


# A struct with a thousand fields would otherwise be parsed once per field.
@functools.lru_cache(maxsize=64)
def _parsed(type_: str) -> tuple[tuple[str, Any], ...]:
    parsed: Any = json.loads(type_)
    while isinstance(parsed, dict) and parsed.get("type") == "array":
        parsed = parsed["elementType"]
    is_struct = isinstance(parsed, dict) and parsed.get("type") == "struct"
    return tuple((str(field["name"]).casefold(), field["type"]) for field in parsed["fields"]) if is_struct else ()


def _struct_field(expression: Expression, field: str) -> Value:
    """Return the value of a field in a CreateNamedStruct; None if it has no such field."""
    type_, children = expression.arguments.get("structType"), expression.arguments.get("children")
    if not isinstance(type_, str) or not isinstance(children, tuple):
        return None
    names = [name for name, _ in _fields(type_)]
    return children[2 * names.index(field.casefold()) + 1] if field.casefold() in names else None


def _zipped_field(expression: Expression, field: str) -> Value:
    """Return the array whose elements become a field in arrays_zip; None if there is no such field."""
    children = expression.sequence("children")
    names = [name for name, _ in _fields(expression.arguments.get("structType"))]
    at = names.index(field.casefold()) if field.casefold() in names else len(children)
    return children[at] if at < len(children) else None


def _updated_field(plan: Plan, expression: Expression, path: Path) -> Iterator[tuple[Value, Path]]:
    """
    Yield the value of a field after `withField` and `dropFields` (UpdateFields).

    Args:
        plan: the plan.
        expression: the UpdateFields.
        path: the name of the field, then of the fields below it.

    Yields:
        The value that the field was last set to, or else the original struct; with the rest of the path.
    """
    for change in plan.expressions_of(expression.sequence("fieldOps")[::-1]):
        if str(change.arguments.get("name")).lower() == path[0].lower():
            yield change.arguments.get("valExpr"), path[1:]
            return
    yield expression.arguments.get("structExpr"), path
