"""Read the content of Spark's parsed plans through py4j."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.sql_lexer import dotted
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable, Parts, name_key

if TYPE_CHECKING:
    from collections.abc import Iterable

_OF_EXPRESSION = "PlanWithUnresolvedIdentifier"
"""The name in `IDENTIFIER(...)`, which is an expression."""


def written_name(parsed: Any) -> Parts:
    """Return the name in a parsed plan as it is written: that of an unresolved identifier, table, view or namespace."""
    kind = str(parsed.nodeName())
    if kind == _OF_EXPRESSION:
        return dotted(str(parsed.identifierExpr().eval(None)))
    return text_items(parsed.nameParts() if kind == "UnresolvedIdentifier" else parsed.multipartIdentifier())


def text_items(sequence: Any) -> Parts:
    """Return the items of a Scala sequence as texts."""
    return tuple(str(each) for each in items_of(sequence))


def items_of(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence."""
    return [sequence.apply(at) for at in range(sequence.size())]


def typed_columns(columns: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Return the names and the types of the columns that a statement defines."""
    return tuple((str(column.name()), str(column.dataType().sql())) for column in columns)


def with_changes(table: DeclaredTable, parsed: Any) -> DeclaredTable:
    """Return a table with the types and the positions that ALTER COLUMN gives its columns."""
    is_one = str(parsed.nodeName()) == "AlterColumn"
    for each in [parsed] if is_one else items_of(parsed.specs()):
        names = text_items(each.column().name())
        known = next((column for column in table.columns if (column[0].lower(),) == name_key(names)), None)
        if known is None:
            continue
        type_ = each.dataType() if is_one else each.newDataType()
        place = column_before(each.position() if is_one else each.newPosition())
        if type_.isDefined():
            changed = tuple((n, str(type_.get().sql()) if n == known[0] else t) for n, t in table.columns)
            table = attrs.evolve(table, columns=changed)
        if place is not None:
            column = next(column for column in table.columns if column[0] == known[0])
            table = table.without_columns([known[0]]).with_column(column, place)
    return table


def column_before(position: Any) -> str | None:
    """Return the column after which another is placed; empty for the first position, None if no position is named."""
    if not position.isDefined():
        return None
    place = position.get().position()
    return "" if str(place.toString()) == "FIRST" else str(place.column())


def is_nested(column: Any) -> bool:
    """Return whether a column that ALTER TABLE adds is a field of another column."""
    return bool(column.path().isDefined())


def is_literal(expression: Any) -> bool:
    """Return whether an expression is a literal, perhaps with a sign or a cast around it."""
    while str(expression.nodeName()) in ("Cast", "UnaryMinus", "UnaryPositive"):
        expression = expression.children().apply(0)
    return str(expression.nodeName()) == "Literal"
