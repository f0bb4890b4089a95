"""The commands that change rows of a table in place: DELETE, UPDATE and MERGE."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.kinds import Kind
from openlineage_pyspark.facets.relations import Session
from openlineage_pyspark.facets.written import Assigned, Rule, Scoped, Write, into_relation
from openlineage_pyspark.listener.plan import AttributeRef, ExpressionRef, Operator, Plan, Value


def _row_level(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """DELETE and UPDATE: the columns that are set, and the condition that chooses the rows."""
    target = operator.operator("table")
    found = into_relation(plan, target, None, session, None) if target is not None else None
    if found is None or target is None:
        return None
    columns = _assignments(plan, operator.sequence("assignments"), (target,))
    condition = operator.arguments.get("condition")
    rows = (Scoped(condition, (target,), Kind.FILTER),) if condition is not None else ()
    return attrs.evolve(found, query=target, columns=tuple(columns), rows=rows)


def _merge(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """MERGE: each action's assignments, which its own condition decides about; the merge condition joins."""
    target, source = operator.operator("targetTable"), operator.operator("sourceTable")
    found = into_relation(plan, target, None, session, None) if target is not None else None
    if found is None or target is None or source is None:
        return None
    both = (target, source)
    columns: dict[str, tuple[Scoped, ...]] = {}
    for name in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions"):
        for action in (plan.expressions[v.index] for v in operator.sequence(name) if isinstance(v, ExpressionRef)):
            given, condition = action.arguments.get("assignments"), action.arguments.get("condition")
            decides = (Scoped(condition, both, Kind.CONDITIONAL),) if condition is not None else ()
            for assigned in _assignments(plan, given if isinstance(given, tuple) else (), both):
                columns[assigned.name] = (*columns.get(assigned.name, ()), *assigned.values, *decides)
    joined = (Scoped(operator.arguments.get("mergeCondition"), both, Kind.JOIN),)
    made = tuple(Assigned(name, values) for name, values in columns.items())
    return attrs.evolve(found, query=plan.operators.index(operator), columns=made, rows=joined)


def _assignments(plan: Plan, values: tuple[Value, ...], scope: tuple[int, ...]) -> list[Assigned]:
    found: list[Assigned] = []
    for assignment in (plan.expressions[v.index] for v in values if isinstance(v, ExpressionRef)):
        key = assignment.arguments.get("key")
        if isinstance(key, AttributeRef) and key.id in plan.attributes:
            name = plan.attributes[key.id].name
            found.append(Assigned(name, (Scoped(assignment.arguments.get("value"), scope),)))
    return found


ROW_LEVEL: dict[str, Rule] = {
    "DeleteFromTable": _row_level,
    "UpdateTable": _row_level,
    "MergeIntoTable": _merge,
}
"""Command -> what it writes."""
