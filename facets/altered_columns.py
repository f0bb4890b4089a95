"""What an ALTER TABLE of a DataSource V2 catalog makes of the columns that the table had when it was analyzed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs
from openlineage_pyspark.facets.dataset import Field
from openlineage_pyspark.facets.schema import field
from openlineage_pyspark.listener.plan import Described, ExpressionRef, Operator, Plan, Value

_Change = Callable[[Field | None], Field | None]
"""From a field as it was, or None where there was none, to what it is now."""


def altered(plan: Plan, operator: Operator, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """
    The columns after a command.

    Args:
        plan: which it stands in.
        operator: the command; AddColumns, ReplaceColumns, DropColumns, RenameColumn, AlterColumn and AlterColumns
            change columns, and after any other one they are the same.
        fields: those before.
    """
    if operator.name == "ReplaceColumns":
        fields = ()
    for path, change in _changes(plan, operator):
        fields = _changed(fields, path, change)
    return fields


def _changes(plan: Plan, operator: Operator) -> Iterator[tuple[tuple[str, ...], _Change]]:
    """The path of each field that is changed, with what becomes of it."""
    for value in operator.sequence("columnsToAdd"):
        column = _arguments(plan, value)
        name, type_ = column.get("colName"), column.get("dataType")
        if isinstance(name, str) and isinstance(type_, str):
            yield (*_path(plan, column.get("path")), name), _becoming(field(name, type_, _text(column.get("comment"))))
    for value in operator.sequence("columnsToDrop"):
        yield _path(plan, value), _becoming(None)
    if operator.name == "RenameColumn":
        yield _path(plan, operator.arguments.get("column")), _renamed(operator.text("newName"))
    if operator.name == "AlterColumn":
        given = operator.arguments
        yield _path(plan, given.get("column")), _retyped(given.get("dataType"), given.get("comment"))
    for spec in plan.expressions_of(operator.sequence("specs")):
        given = spec.arguments
        yield _path(plan, given.get("column")), _retyped(given.get("newDataType"), given.get("newComment"))


def _arguments(plan: Plan, value: Value) -> Mapping[str, Value]:
    """What is known of a column that is added: an expression, or before Spark 4 a value."""
    if isinstance(value, ExpressionRef):
        return plan.expressions[value.index].arguments
    return value.values if isinstance(value, Described) else {}


def _path(plan: Plan, name: Value) -> tuple[str, ...]:
    """The names down to a field that the analyzer has found (ResolvedFieldName); empty for any other value."""
    resolved = _arguments(plan, name)
    around, found = resolved.get("path"), resolved.get("field")
    last = found.text("name") if isinstance(found, Described) else None
    return (*(part for part in around if isinstance(part, str)), last) if isinstance(around, tuple) and last else ()


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _becoming(new: Field | None) -> _Change:
    return lambda _: new


def _renamed(name: str | None) -> _Change:
    return lambda old: old if old is None or name is None else attrs.evolve(old, name=name)


def _retyped(type_: Value, comment: Value) -> _Change:
    def change(old: Field | None) -> Field | None:
        if old is None:
            return None
        said = comment if isinstance(comment, str) else old.description
        return field(old.name, type_, said) if isinstance(type_, str) else attrs.evolve(old, description=said)

    return change


def _changed(fields: tuple[Field, ...], path: tuple[str, ...], change: _Change) -> tuple[Field, ...]:
    """The fields with what a change makes of the one at a path; without a path, as they are."""
    if not path:
        return fields
    # Spark calls an array's elements `element`.
    wanted = {path[0].casefold(), f"_{path[0]}".casefold() if path[0] == "element" else ""}
    place = next((n for n, known in enumerate(fields) if known.name.casefold() in wanted), None)
    old = None if place is None else fields[place]
    if len(path) == 1:
        new = change(old)
    elif old is None:
        return fields
    else:
        new = attrs.evolve(old, fields=_changed(old.fields, path[1:], change))
    made = () if new is None else (new,)
    return (*fields, *made) if place is None else (*fields[:place], *made, *fields[place + 1 :])
