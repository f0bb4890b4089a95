"""
Trace rows through a FROM: through PIVOT, UNPIVOT, functions that return several rows for one, and new names.

The trees are those of sqlglot. This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from openlineage_pyspark.facets.foreign_sql.rows import ABSENT, ResultColumn, SourceRows, all_of, by_rows, real_sources
from openlineage_pyspark.facets.foreign_sql.trees import function_name, plain_name
from openlineage_pyspark.facets.model.lineage import UseKind, compose
from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openlineage_pyspark.facets.foreign_sql.rows import SourceKinds

Value: TypeAlias = Callable[[Any], "SourceKinds | None"]
"""Returns the sources of an expression."""

_FIXED = frozenset({"stack", "jsontuple"})
"""Functions that return the same number of rows for every row."""
_BUILDERS = frozenset("array map varmap mapfromarrays mapfromentries struct namedstruct arrayszip".split())
"""Functions that combine several values, of which each generated row has only one."""
_SPELLED_OUT = frozenset({"array", "map", "varmap"})


def pivoted(rows: SourceRows, pivot: Any, value: Value) -> SourceRows:
    """
    Return rows after their PIVOT or UNPIVOT.

    Args:
        rows: the rows.
        pivot: the tree of the clause.
        value: returns the sources of an expression over these rows.
    """
    fields = pivot.args.get("fields") or []
    if not fields or pivot.args.get("group") is not None or not all(isinstance(each, exp.In) for each in fields):
        return SourceRows([], None, None)
    if pivot.args.get("unpivot"):
        return _unpivoted(rows, pivot, fields[0], value) if len(fields) == 1 else SourceRows([], None, None)
    return _pivoted(rows, pivot, fields, value)


def _pivoted(rows: SourceRows, pivot: Any, fields: Sequence[Any], value: Value) -> SourceRows:
    """Return the columns by which the rows are grouped, then a column for each value and each aggregate."""
    kept = _without(rows, [*pivot.expressions, *(each.this for each in fields)])
    decides = all_of(*(_composed(value(each.this), UseKind.CONDITIONAL) for each in fields))
    made = [all_of(value(_unnamed(each)), decides) for each in pivot.expressions]
    names = [each.name for each in pivot.args.get("columns") or ()]
    count = len(list(product(*(each.expressions for each in fields)))) * len(made)
    is_listed = not any(isinstance(item, exp.PivotAny) for each in fields for item in each.expressions)
    groups = None if rows.is_open else all_of(rows.rows, *(by_rows(each.kinds, UseKind.GROUP_BY) for each in kept))
    if not is_listed or len(names) != count or not all(names):
        return SourceRows(kept, None, groups)
    columns = [ResultColumn(name, made[at % len(made)]) for at, name in enumerate(names)]
    return SourceRows([*kept, *columns], rows.every, groups)


def _unpivoted(rows: SourceRows, pivot: Any, field: Any, value: Value) -> SourceRows:
    """Return the columns that are in no list, then a column of names and the columns of values."""
    targets = [each.name for target in pivot.expressions for each in _parts(target)]
    lists = [_parts(_unnamed(each)) for each in field.expressions]
    if not field.this.name or any(len(each) != len(targets) for each in lists):
        return SourceRows([], None, None)
    made = [all_of(*(value(each[at]) for each in lists)) for at in range(len(targets))]
    columns = [ResultColumn(name, kinds) for name, kinds in zip(targets, made, strict=True)]
    keeps_nulls = pivot.args.get("include_nulls") is True
    decides = () if keeps_nulls else (by_rows(each, UseKind.FILTER) for each in made)
    kept = _without(rows, [each for parts in lists for each in parts])
    return SourceRows([*kept, ResultColumn(field.this.name, {}), *columns], rows.every, all_of(rows.rows, *decides))


def _without(rows: SourceRows, expressions: Sequence[Any]) -> list[ResultColumn]:
    """Return the columns of rows, except those that expressions name."""
    used = {column.name.lower() for each in expressions for column in each.find_all(exp.Column)}
    return [each for each in rows.items if each.name is None or each.name.lower() not in used]


def _unnamed(node: Any) -> Any:
    return node.this if isinstance(node, exp.Alias) else node


def _parts(node: Any) -> list[Any]:
    """Return the content of brackets, or the node itself without them."""
    return (
        list(node.expressions) if isinstance(node, exp.Tuple) else [node.this if isinstance(node, exp.Paren) else node]
    )


def _composed(sources: SourceKinds | None, kind: UseKind) -> SourceKinds | None:
    """Return sources after a use of this kind; None if they are unknown."""
    if sources is None:
        return None
    return {source: frozenset(compose(kind, each) for each in kinds) for source, kinds in sources.items()}


def renamed(rows: SourceRows, node: Any) -> SourceRows:
    """Return rows with the names of an alias: `q(a, b)`."""
    alias: Any = node.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    names = ["" if isinstance(column, exp.Dot) else column.name for column in columns or ()]
    is_unknown = rows.every is not ABSENT and not rows.items
    if not names or is_unknown or names == [each.name for each in rows.items]:
        return rows
    if rows.is_open or len(names) > len(rows.items):
        return SourceRows([], None, rows.rows)
    items = [attrs.evolve(item, name=name) for name, item in zip(names, rows.items, strict=False)]
    return SourceRows([*items, *rows.items[len(names) :]], rows=rows.rows)


def generated(function: str, arguments: Sequence[Any], names: Sequence[str], value: Value) -> list[ResultColumn]:
    """
    Return the columns that a function such as explode returns.

    Args:
        function: its name, in lower case and without underscores.
        arguments: its arguments.
        names: the names of the columns.
        value: returns the sources of an expression.
    """
    if function == "stack" and arguments and arguments[0].name.isdigit():
        return _stacked(int(arguments[0].name), arguments[1:], names, value)
    made = _composed(all_of(*map(value, arguments)), UseKind.TRANSFORMATION)
    is_mixed = any(_is_builder(node) for each in arguments for node in each.walk())
    if len(names) > 1 and (is_mixed or (made is not None and len(real_sources(made)) > 1)):
        # The names alone do not show which value becomes which column.
        made = None
    return [ResultColumn(name, made) for name in names]


def _stacked(rows: int, arguments: Sequence[Any], names: Sequence[str], value: Value) -> list[ResultColumn]:
    """Return the columns of `stack(n, ...)`: of m columns, each has every m-th argument."""
    width = -(-len(arguments) // rows) if rows else 0
    parts = [_composed(all_of(*map(value, arguments[at::width])), UseKind.TRANSFORMATION) for at in range(width)]
    return [ResultColumn(name, parts[at] if at < width else None) for at, name in enumerate(names)]


def multiplies(function: str, arguments: Sequence[Any]) -> bool:
    """
    Return whether the arguments of a function such as explode decide how many rows it returns.

    Args:
        function: as for `generated`.
        arguments: its arguments.
    """
    return function not in _FIXED and not (arguments and function_name(arguments[0]) in _SPELLED_OUT)


def _is_builder(node: Any) -> bool:
    return plain_name(node) in _BUILDERS
