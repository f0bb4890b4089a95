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

# Functions that sqlglot does not know -> the position of the argument that only decides, and is not a value.
_DECIDING_PLACES = {"iff": 0, "map_filter": 1}
# Functions whose argument can't be recovered.
_MASKING = frozenset({"md5", "md5digest", "sha", "sha1", "sha2", "crc32", "xxhash64", "hash", "mask"})
# Functions that sqlglot treats as aggregates, but that return the value of one row.
_OF_ONE_ROW = frozenset({"lag", "lead", "nthvalue"})
# Functions, each with an argument that only decides which value is returned.
_DECIDING = frozenset(
    {
        *(("if", "this"), ("case", "this"), ("nullif", "expression"), ("nvl2", "this"), ("havingmax", "expression")),
        *((name, "expression") for name in ("arrayfilter", "arraysort", "argmax", "argmin", "withingroup")),
    }
)
# Functions that count, so that no value can be recovered.
_COUNTING = frozenset(
    "approxdistinct count count_big count_distinct countif hll ndv uniq uniqcombined uniqcombined64 uniqexact "
    "uniqhll12 uniqthetasketch".split()
)
# ClickHouse's aggregates that sqlglot knows as aggregates alone, and those of them with a suffix, such as sumIf.
_OF_CLICKHOUSE: Any = (exp.AnonymousAggFunc, exp.ParameterizedAgg)
_COMBINED: Any = (exp.CombinedAggFunc, exp.CombinedParameterizedAgg)
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
    name = _called(node)
    if name in _OF_GROUPS:
        return
    if isinstance(node, exp.Anonymous) and name in _DECIDING_PLACES:
        decides = _DECIDING_PLACES[name]
        for at, part in enumerate(node.expressions):
            yield part, UseKind.CONDITIONAL if at == decides else UseKind.TRANSFORMATION
        return
    if isinstance(node, exp.WithinGroup) and node.this.find(exp.Column) is None:
        # percentile_cont(0.5), mode(): the value that is aggregated is the one that is ordered.
        yield node.expression.expressions, UseKind.AGGREGATION
        return
    if name == "multiif" or (isinstance(node, _COMBINED) and name.endswith("if")):
        yield from _conditional(node, name)
        return
    if isinstance(node, exp.Order):
        # In an aggregate: the ordered value, and the sort keys.
        yield node.this, UseKind.IDENTITY
        yield node.expressions, UseKind.CONDITIONAL
        return
    if name != "decodecase":
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


def _conditional(node: Any, name: str) -> Iterator[tuple[Any, UseKind]]:
    """Yield the arguments of ClickHouse's multiIf, or of one of its aggregates with a condition, such as sumIf."""
    if name == "multiif":
        last = len(node.expressions) - 1
        for at, part in enumerate(node.expressions):
            yield part, UseKind.CONDITIONAL if at % 2 == 0 and at < last else UseKind.TRANSFORMATION
        return
    # An aggregate may have parameters before its arguments: quantileIf(0.5)(value, condition).
    *values, condition = node.args.get("params") or node.expressions or [None]
    counts = name.removesuffix("if") in _COUNTING
    yield values, UseKind.MASKED_AGGREGATION if counts else UseKind.AGGREGATION
    yield condition, UseKind.CONDITIONAL


def _called(node: Any) -> str:
    """Return the name of a function in lower case, also of an aggregate that only ClickHouse has."""
    return node.name.lower() if isinstance(node, _OF_CLICKHOUSE) else function_name(node)


def _use(node: Any, key: str) -> UseKind:
    """Return how an expression uses one of its arguments."""
    around = (exp.Window, exp.Filter, exp.WithinGroup)
    if isinstance(node, (exp.Paren, exp.Alias)) or (isinstance(node, around) and key == "this"):
        return UseKind.IDENTITY
    if isinstance(node, exp.Window):
        return UseKind.WINDOW
    name = _called(node)
    if isinstance(node, exp.Filter) or (name, key) in _DECIDING:
        return UseKind.CONDITIONAL
    if name in _COUNTING:
        return UseKind.MASKED_AGGREGATION
    if isinstance(node, exp.AggFunc) and name not in _OF_ONE_ROW:
        return UseKind.AGGREGATION
    return UseKind.MASKED_TRANSFORMATION if name in _MASKING else UseKind.TRANSFORMATION
