"""Delta Lake's own commands for MERGE, UPDATE and DELETE, which replace Spark's."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from openlineage_pyspark.facets.commands.row_level import Action, changed, merged
from openlineage_pyspark.facets.commands.target import Target, Write, command, write_to_relation
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import schema_fields
from openlineage_pyspark.facets.model.plan import AttributeRef, Expression, Operator, Plan, Value

_DELTA = "org.apache.spark.sql.delta.commands"
_CLAUSES = ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses")


@command({_DELTA: "MergeIntoCommand"})
def _merge(plan: Plan, operator: Operator, session: Session) -> Target:
    """MERGE of Delta Lake: each clause's actions, one for each column of the table."""
    target, source = operator.operator("target"), operator.operator("source")
    found = write_to_relation(plan, target, None, session, None)
    if target is None or source is None or not isinstance(found, Write):
        return found
    kept = _columns(plan, target)
    actions = (
        Action(
            clause.arguments.get("condition"),
            tuple(_assigned(plan, clause, kept)),
            deletes=clause.name.endswith("DeleteClause"),
            inserts=name == "notMatchedClauses",
        )
        for name in _CLAUSES
        for clause in plan.expressions_of(operator.sequence(name))
    )
    made = merged(found, (target, source), operator.arguments.get("condition"), actions)
    # The table's schema afterwards, if the MERGE adds columns to it.
    fields = schema_fields(operator.text("migratedSchema"))
    return attrs.evolve(made, dataset=attrs.evolve(made.dataset, fields=fields)) if fields else made


def _assigned(plan: Plan, clause: Expression, kept: dict[int, str]) -> Iterator[tuple[str, Value]]:
    for action in plan.expressions_of(clause.sequence("actions")):
        parts, value = action.sequence("targetColNameParts"), action.arguments.get("expr")
        name = parts[0] if parts else None
        if isinstance(name, str) and not _keeps(kept, name, value):
            yield name, value


@command({_DELTA: "UpdateCommand DeleteCommand"})
def _row_level(plan: Plan, operator: Operator, session: Session) -> Target:
    """DELETE and UPDATE of Delta Lake: an expression for each column of the table, and the condition."""
    target = operator.operator("target")
    found = write_to_relation(plan, target, None, session, None)
    if target is None or not isinstance(found, Write):
        return found
    kept = _columns(plan, target)
    names = (column.name for column in plan.operators[target].output)
    values = operator.sequence("updateExpressions")
    assigned = ((name, value) for name, value in zip(names, values, strict=False) if not _keeps(kept, name, value))
    return changed(found, target, assigned, operator)


def _columns(plan: Plan, target: int) -> dict[int, str]:
    return {column.id: column.name for column in plan.operators[target].output}


def _keeps(kept: dict[int, str], name: str, value: Value) -> bool:
    """Return whether a column is set to itself; Delta does so with each column that keeps its value."""
    return isinstance(value, AttributeRef) and kept.get(value.id, "").casefold() == name.casefold()
