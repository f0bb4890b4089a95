"""The value of one field of a struct that a plan puts together."""

from __future__ import annotations

import json
from collections.abc import Iterator

from openlineage_pyspark.listener.plan import Expression, ExpressionRef, Plan, Value


def struct_field(expression: Expression, field: str) -> Value:
    """The value that a CreateNamedStruct gives to a field; None where it has no such field."""
    type_, children = expression.arguments.get("structType"), expression.arguments.get("children")
    if not isinstance(type_, str) or not isinstance(children, tuple):
        return None
    names = [f["name"].lower() for f in json.loads(type_)["fields"]]
    return children[2 * names.index(field.lower()) + 1] if field.lower() in names else None


def updated_field(plan: Plan, expression: Expression, path: tuple[str, ...]) -> Iterator[tuple[Value, tuple[str, ...]]]:
    """
    What a field is after `withField` and `dropFields` (UpdateFields).

    Args:
        plan: the plan.
        expression: the UpdateFields.
        path: the field, and the fields below it.

    Yields:
        the value that it was set to last, or the struct that it was not set in; with the path that is left to go.
    """
    operations = expression.arguments.get("fieldOps")
    for operation in reversed(operations if isinstance(operations, tuple) else ()):
        change = plan.expressions[operation.index] if isinstance(operation, ExpressionRef) else None
        if change is not None and str(change.arguments.get("name")).lower() == path[0].lower():
            yield change.arguments.get("valExpr"), path[1:]
            return
    yield expression.arguments.get("structExpr"), path
