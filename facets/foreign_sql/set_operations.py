"""
Trace the rows of two queries through UNION, INTERSECT and EXCEPT.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from openlineage_pyspark.facets.foreign_sql.effort import Effort
from openlineage_pyspark.facets.foreign_sql.rows import ABSENT, ResultColumn, SourceKinds, SourceRows, by_rows
from openlineage_pyspark.facets.model.lineage import UseKind
from sqlglot import exp


def both_sides(
    operation: Any, left: SourceRows, right: SourceRows, key: Callable[[str], str], effort: Effort
) -> SourceRows:
    """
    Return the rows of a set operation.

    Args:
        operation: the tree of the operation.
        left: the rows of its left side.
        right: the rows of its right side.
        key: returns the form in which names are compared.
        effort: counts the work.
    """
    rows = _rows_of_both(operation, left, right, effort)
    if isinstance(operation, (exp.Except, exp.Intersect)):
        return attrs.evolve(left, rows=rows)
    is_by_name = operation.args.get("by_name")
    found = _by_name(left, right, key, effort) if is_by_name else _by_place(left, right, effort)
    return attrs.evolve(found, rows=rows)


def in_order(rows: SourceRows, order: Any, key: Callable[[str], str], effort: Effort) -> SourceRows:
    """
    Return the rows of a set operation after its ORDER BY.

    Args:
        rows: the rows of the operation.
        order: the tree of the clause.
        key: as for `both_sides`.
        effort: as for `both_sides`.
    """
    sorts = [by_rows(_place_of(part, rows, key), UseKind.SORT) for part in order.expressions]
    return attrs.evolve(rows, rows=effort.all([rows.rows, *sorts]))


def _place_of(part: Any, rows: SourceRows, key: Callable[[str], str]) -> SourceKinds | None:
    """Return the sources of the result's column that a part of its ORDER BY means, by its name or position."""
    value = part.this
    if isinstance(value, exp.Literal) and value.name.isdigit() and 0 < int(value.name) <= len(rows.items):
        return rows.items[int(value.name) - 1].kinds
    named = rows.columns(key(value.name), key) if isinstance(value, exp.Column) else []
    return named[0].kinds if len(named) == 1 else None


def _rows_of_both(operation: Any, left: SourceRows, right: SourceRows, effort: Effort) -> SourceKinds | None:
    """Return the influences on the rows of UNION, INTERSECT or EXCEPT."""
    kind = UseKind.GROUP_BY if isinstance(operation, exp.Union) else UseKind.JOIN
    whole = kind is UseKind.JOIN or operation.args.get("distinct") is True
    items = [*left.items, *right.items] if whole else []
    parts = [by_rows(item.kinds, kind) for item in items if item.table is None]
    return effort.all([left.rows, right.rows, *parts])


def _by_place(left: SourceRows, right: SourceRows, effort: Effort) -> SourceRows:
    """Return the columns of UNION, which are matched by position."""
    if left.items == right.items and left.every == right.every:
        return left
    if left.is_open or right.is_open or len(left.items) != len(right.items):
        return SourceRows([], None)
    pairs = zip(left.items, right.items, strict=True)
    return SourceRows([ResultColumn(a.name, effort.all([a.kinds, b.kinds])) for a, b in pairs])


def _by_name(left: SourceRows, right: SourceRows, key: Callable[[str], str], effort: Effort) -> SourceRows:
    """Return the columns of UNION BY NAME: those of the left side, then those that only the right side has."""
    keyed: list[dict[str, ResultColumn]] = []
    for rows in (left, right):
        items = {key(item.name): item for item in rows.items if item.name is not None}
        if len(items) < len(rows.items) or rows.every is not ABSENT:
            return SourceRows([], None)
        keyed.append(items)
    made = []
    for each in dict.fromkeys([*keyed[0], *keyed[1]]):
        found = [items[each] for items in keyed if each in items]
        made.append(ResultColumn(found[0].name, effort.all([column.kinds for column in found])))
    return SourceRows(made)
