"""What the rows of a MERGE are made of, where Spark has rewritten it for a source that changes rows."""

from __future__ import annotations

from openlineage_pyspark.facets.kinds import Kind
from openlineage_pyspark.facets.meanings import Computed, Meaning
from openlineage_pyspark.listener.plan import AttributeRef, ExpressionRef, Operator, Plan, Value

_DELETE = 1
"""Spark's number for a row that is to be deleted (RowDeltaUtils)."""


def merge_rows(plan: Plan, operator: Operator) -> Meaning:
    """The rows of a rewritten MERGE: by position what its actions put out, each where its condition says so."""
    place = next((n for n, o in enumerate(operator.output) if o.name == "__row_operation"), None)
    made: list[tuple[Value, tuple[Value, ...]]] = []
    deleted: list[Value] = []
    for name in ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"):
        for reference in operator.sequence(name):
            action = plan.expressions[reference.index] if isinstance(reference, ExpressionRef) else None
            if action is None:
                continue
            condition = action.arguments.get("condition")
            outputs = [action.arguments.get(part) for part in ("output", "otherOutput")]
            kept = [o for o in outputs if isinstance(o, tuple) and not _deletes(plan, o, place)]
            made += [(condition, output) for output in kept]
            if not kept:
                deleted.append(condition)
    target = _target(plan, operator)
    defines = {
        column.id: tuple(
            definition
            for condition, output in made
            if at < len(output)
            for definition in _definitions(output[at], condition, keeps=_name(target, output[at]) == column.name)
        )
        for at, column in enumerate(operator.output)
    }
    return Meaning(defines, rows=tuple((condition, Kind.FILTER) for condition in deleted))


def _definitions(value: Value, condition: Value, *, keeps: bool) -> tuple[Computed, ...]:
    return (Computed(value),) if keeps else (Computed(value), Computed(condition, Kind.CONDITIONAL))


def _target(plan: Plan, operator: Operator) -> dict[int, str]:
    """The columns of the side of the join that is the target: Spark marks its rows."""
    sides = [plan.operators[side] for child in operator.children for side in plan.operators[child].children]
    outputs = (side.output for side in sides if any(o.name == "__row_from_target" for o in side.output))
    return {column.id: column.name for output in outputs for column in output}


def _name(columns: dict[int, str], value: Value) -> str | None:
    return columns.get(value.id) if isinstance(value, AttributeRef) else None


def _deletes(plan: Plan, output: tuple[Value, ...], place: int | None) -> bool:
    """Whether an action's row is an order to delete one."""
    operation = output[place] if place is not None and place < len(output) else None
    literal = plan.expressions[operation.index] if isinstance(operation, ExpressionRef) else None
    return literal is not None and literal.name == "Literal" and literal.arguments.get("value") == _DELETE
