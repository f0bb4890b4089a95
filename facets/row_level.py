"""The commands that change rows of a table in place: DELETE, UPDATE and MERGE."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.kinds import Kind
from openlineage_pyspark.facets.relations import Session
from openlineage_pyspark.facets.written import Assigned, Rule, Write, into_relation
from openlineage_pyspark.listener.plan import AttributeRef, ExpressionRef, Operator, Plan, Value


def _row_level(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """DELETE and UPDATE: the columns that are set, and the condition that chooses the rows."""
    target = operator.operator("table")
    if target is None:
        return None
    found = into_relation(plan, target, None, session, None)
    if found is None:
        return None
    condition = operator.arguments.get("condition")
    columns = tuple(_assignments(plan, operator.sequence("assignments"), target))
    rows = ((target, condition, Kind.FILTER),) if condition is not None else ()
    return attrs.evolve(found, query=target, columns=columns, rows=rows)


def _merge(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """MERGE: each action's assignments; the condition joins, the actions' conditions decide."""
    target = operator.operator("targetTable")
    if target is None:
        return None
    found = into_relation(plan, target, None, session, None)
    if found is None:
        return None
    this = plan.operators.index(operator)
    columns: dict[str, Assigned] = {}
    rows: list[tuple[int, Value, Kind]] = [(this, operator.arguments.get("mergeCondition"), Kind.JOIN)]
    for name in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions"):
        for value in operator.sequence(name):
            if not isinstance(value, ExpressionRef):
                continue
            action = plan.expressions[value.index]
            rows.append((this, action.arguments.get("condition"), Kind.FILTER))
            given = action.arguments.get("assignments")
            for assigned in _assignments(plan, given if isinstance(given, tuple) else (), this):
                before = columns.get(assigned.name)
                values = (*(before.values if before else ()), *assigned.values)
                columns[assigned.name] = Assigned(assigned.name, values)
    return attrs.evolve(
        found, query=this, columns=tuple(columns.values()), rows=tuple(r for r in rows if r[1] is not None)
    )


def _assignments(plan: Plan, values: tuple[Value, ...], scope: int) -> list[Assigned]:
    found: list[Assigned] = []
    for value in values:
        if not isinstance(value, ExpressionRef):
            continue
        assignment = plan.expressions[value.index]
        key = assignment.arguments.get("key")
        if isinstance(key, AttributeRef) and key.id in plan.attributes:
            name = plan.attributes[key.id].name
            found.append(Assigned(name, ((scope, assignment.arguments.get("value")),)))
    return found


ROW_LEVEL: dict[str, Rule] = {
    "DeleteFromTable": _row_level,
    "UpdateTable": _row_level,
    "MergeIntoTable": _merge,
}
"""Command -> what it writes."""
