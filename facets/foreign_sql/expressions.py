"""
The inputs of an expression's value: its arguments, and how it uses each of them.

The trees are those of sqlglot. This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openlineage_pyspark.facets.foreign_sql.trees import function_name
from openlineage_pyspark.facets.model.lineage import UseKind
from sqlglot import exp

# Aggregates of the values after WITHIN GROUP (ORDER BY ...), which for all others only decide about the order.
_OF_ORDERED = frozenset({"mode", "percentilecont", "percentiledisc"})
# Functions that sqlglot does not know -> the position of the argument that only decides, and is not a value.
_DECIDING_PLACES = {"iff": 0, "map_filter": 1}
# Functions whose argument can't be recovered.
_MASKING = frozenset({"md5", "md5digest", "sha", "sha1", "sha2", "crc32", "xxhash64", "hash", "mask"})
# Functions that sqlglot treats as aggregates, but that return the value of one row.
_OF_ONE_ROW = frozenset({"lag", "lead", "nthvalue"})
# Functions, each with an argument that only decides which value is returned.
_DECIDING = frozenset(
    {
        *(("if", "this"), ("case", "this"), ("nullif", "expression"), ("nvl2", "this")),
        *((name, "expression") for name in ("arrayfilter", "arraysort", "argmax", "argmin", "withingroup")),
    }
)
# Functions that count, so that no value can be recovered.
_COUNTING = frozenset({"count", "countif", "approxdistinct", "hll"})
# Functions about the grouping, and not about a value.
_OF_GROUPS = frozenset({"grouping", "groupingid", "grouping_id"})


def is_field(node: Any) -> bool:
    """Return whether a node takes a field of an expression that is not a name."""
    return (
        isinstance(node, exp.Dot)
        and isinstance(node.expression, exp.Identifier)
        and not isinstance(node.this, exp.Column)
    )


def struct_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of the struct that an expression builds, as far as it names them."""
    while isinstance(value, exp.Paren):
        value = value.this
    for each in value.expressions if isinstance(value, exp.Struct) else ():
        if isinstance(each, exp.PropertyEQ):
            yield each.name, each.expression


def aggregates(value: Any) -> bool:
    """Return whether an expression is an aggregate of the rows of a group."""
    return any(
        isinstance(each, exp.AggFunc) and not (isinstance(each.parent, exp.Window) and each.arg_key == "this")
        for each in value.find_all(exp.AggFunc)
    )


def grouped_by(node: Any) -> Iterator[Any]:
    """Yield the expressions in ROLLUP, CUBE and GROUPING SETS."""
    if not isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)):
        yield node
        return
    for each in node.expressions or ([node.this] if node.this is not None else []):
        yield from grouped_by(each)


def used_arguments(node: Any) -> Iterator[tuple[Any, UseKind]]:
    """Yield the arguments that influence the value of an expression, each with the kind of its use."""
    if function_name(node) in _OF_GROUPS:
        return
    if isinstance(node, exp.Anonymous) and function_name(node) in _DECIDING_PLACES:
        decides = _DECIDING_PLACES[function_name(node)]
        for at, part in enumerate(node.expressions):
            yield part, UseKind.CONDITIONAL if at == decides else UseKind.TRANSFORMATION
        return
    if isinstance(node, exp.WithinGroup) and function_name(node.this) in _OF_ORDERED:
        yield [each.this for each in node.expression.expressions], UseKind.AGGREGATION
        yield node.this, UseKind.IDENTITY
        return
    if isinstance(node, exp.Order):
        # In an aggregate: the ordered value, and the sort keys.
        yield node.this, UseKind.IDENTITY
        yield node.expressions, UseKind.CONDITIONAL
        return
    if function_name(node) != "decodecase":
        yield from ((part, _use(node, key)) for key, part in node.args.items())
        # Whether such an argument is NULL, or equal to the other one, decides too.
        chosen = (
            node.args.values()
            if isinstance(node, exp.Coalesce)
            else (node.this,)
            if isinstance(node, exp.Nullif)
            else ()
        )
        yield from ((part, UseKind.CONDITIONAL) for part in chosen)
        return
    for at, part in enumerate(node.expressions):
        # The decoded value, then pairs of a compared value and a result, then the result if none matches.
        is_result = at > 0 and (at % 2 == 0 or at == len(node.expressions) - 1)
        yield part, UseKind.TRANSFORMATION if is_result else UseKind.CONDITIONAL


def _use(node: Any, key: str) -> UseKind:
    """Return how an expression uses one of its arguments."""
    around = (exp.Window, exp.Filter, exp.WithinGroup)
    if isinstance(node, (exp.Paren, exp.Alias)) or (isinstance(node, around) and key == "this"):
        return UseKind.IDENTITY
    if isinstance(node, exp.Window):
        return UseKind.WINDOW
    if isinstance(node, exp.Filter) or (function_name(node), key) in _DECIDING:
        return UseKind.CONDITIONAL
    name = function_name(node)
    if name in _COUNTING:
        return UseKind.MASKED_AGGREGATION
    if isinstance(node, exp.AggFunc) and name not in _OF_ONE_ROW:
        return UseKind.AGGREGATION
    return UseKind.MASKED_TRANSFORMATION if name in _MASKING else UseKind.TRANSFORMATION
