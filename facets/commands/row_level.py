"""The commands that change rows in place: DELETE, UPDATE and MERGE, as written and as Spark rewrites them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import attrs
from openlineage_pyspark.facets.commands.target import (
    LOGICAL,
    Assigned,
    Scoped,
    Target,
    Write,
    command,
    reads,
    write_to_relation,
)
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.facets.model.plan import PROJECT, UNION, AttributeRef, ExpressionRef, Operator, Plan, Value


class Setting(NamedTuple):
    """An expression that becomes a part of a column's value: all of it, unless only a field of the column is set."""

    name: str
    value: Value
    kind: UseKind = UseKind.IDENTITY


def changed(plan: Plan, found: Write, target: int, assigned: Iterable[Setting], operator: Operator) -> Write:
    """
    Return the write of a DELETE or an UPDATE.

    Rows that the condition does not choose stay unchanged: there, the columns that the command sets keep their values.

    Args:
        plan: the plan.
        found: the write of the target.
        target: the index of the target's operator.
        assigned: the assigned values of the columns; empty for a DELETE.
        operator: the command, whose `condition` chooses the rows.
    """
    values: dict[str, tuple[Scoped, ...]] = {}
    for each in assigned:
        values[each.name] = (*values.get(each.name, ()), Scoped(each.value, (target,), each.kind))
    columns = tuple(Assigned(name, each) for name, each in values.items())
    chosen = _chosen(operator, target)
    keeps = _leaves_rows(plan, operator)
    return attrs.evolve(found, reads=(target,), columns=columns, influences=chosen, changes=target, keeps_rows=keeps)


@command({LOGICAL: "DeleteFromTable UpdateTable"})
def row_level(plan: Plan, operator: Operator, session: Session) -> Target:
    """DELETE and UPDATE: the columns that are set, and the condition that chooses the rows."""
    target = operator.operator("table")
    found = write_to_relation(plan, target, None, session, None)
    if target is None or not isinstance(found, Write):
        return found
    return changed(plan, found, target, _assigned(plan, operator.sequence("assignments")), operator)


@attrs.frozen
class Action:
    """
    An action of a MERGE on some of the rows.

    Args:
        condition: the condition on the rows, in addition to the merge condition; None for all rows.
        assigned: the assigned values of the columns, without those that keep their value.
        rows: the rows that it applies to: Spark's name of the list of all actions on them.
        deletes: whether it deletes the rows.
    """

    condition: Value
    assigned: tuple[Setting, ...]
    rows: str
    deletes: bool

    @property
    def inserts(self) -> bool:
        """Return whether it inserts the rows."""
        return self.rows.startswith("notMatched") and "BySource" not in self.rows


def merged(found: Write, both: tuple[int, int], condition: Value, actions: Iterable[Action]) -> Write:
    """
    Return the write of a MERGE.

    A MERGE that does more than insert leaves some rows unchanged: there, the columns that it sets keep their values.
    Spark turns a MERGE that only inserts into an append.

    Args:
        found: the write of the target.
        both: the indices of the target's and the source's operators.
        condition: the merge condition.
        actions: the actions, in order, those on the same rows together.
    """
    columns: dict[str, tuple[Scoped, ...]] = {}
    rows = [Scoped(condition, both, UseKind.JOIN)]
    keeps = False
    for _, group in groupby(actions, key=lambda action: action.rows):
        # Spark performs the first action whose condition holds, so the conditions of earlier actions decide too.
        before: tuple[Value, ...] = ()
        for action in group:
            keeps = keeps or not action.inserts
            conditions = (*before, *([action.condition] if action.condition is not None else []))
            if action.deletes:
                rows += (Scoped(each, both, UseKind.FILTER) for each in conditions)
                # It changes no value in the rows that it leaves.
                continue
            decides = tuple(Scoped(each, both, UseKind.CONDITIONAL) for each in conditions)
            for name, value, kind in action.assigned:
                columns[name] = (*columns.get(name, ()), Scoped(value, both, kind), *decides)
            before = conditions
    made = tuple(Assigned(name, tuple(dict.fromkeys(values))) for name, values in columns.items())
    influences = tuple(dict.fromkeys(rows))
    return attrs.evolve(found, reads=both, columns=made, influences=influences, changes=both[0], keeps_rows=keeps)


@command({LOGICAL: "MergeIntoTable"})
def merge(plan: Plan, operator: Operator, session: Session) -> Target:
    """MERGE: the assignments of each action, under its own condition; the merge condition is a JOIN influence."""
    target, source = operator.operator("targetTable"), operator.operator("sourceTable")
    # A MERGE into an unknown table still reads its source.
    found = write_to_relation(plan, target, source, session, None)
    if target is None or source is None or not isinstance(found, Write):
        return found
    actions = (
        Action(
            action.arguments.get("condition"),
            tuple(_assigned(plan, action.sequence("assignments"))),
            name,
            deletes=action.name == "DeleteAction",
        )
        for name in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions")
        for action in plan.expressions_of(operator.sequence(name))
    )
    return merged(found, (target, source), operator.arguments.get("mergeCondition"), actions)


def _assigned(plan: Plan, assignments: tuple[Value, ...]) -> Iterator[Setting]:
    for assignment in plan.expressions_of(assignments):
        key, value = assignment.arguments.get("key"), assignment.arguments.get("value")
        column = _holder(plan, key)
        # Spark assigns each column that keeps its value to itself.
        if column is None or value == key:
            continue
        name = plan.attributes[column.id].name
        if column is key:
            yield Setting(name, value)
        else:
            # The other fields keep their values.
            yield Setting(name, column, UseKind.TRANSFORMATION)
            yield Setting(name, value, UseKind.TRANSFORMATION)


def _holder(plan: Plan, key: Value) -> AttributeRef | None:
    """Return the column that an assignment sets as a whole or in a field; None for anything else."""
    while isinstance(key, ExpressionRef) and plan.expressions[key.index].name == "GetStructField":
        key = plan.expressions[key.index].arguments.get("child")
    return key if isinstance(key, AttributeRef) and key.id in plan.attributes else None


@command({LOGICAL: "ReplaceData WriteDelta"})
def _rewritten(plan: Plan, operator: Operator, session: Session) -> Target:
    """DELETE, UPDATE and MERGE, rewritten by Spark: the same as before the rewrite."""
    target, query = operator.operator("originalTable"), operator.operator("query")
    found = write_to_relation(plan, target, query, session, None)
    if target is None or query is None or not isinstance(found, Write):
        return found
    was = _command(plan, operator)
    if was == "DELETE":
        return changed(plan, found, target, (), operator)
    written = _written(plan, operator, query)
    names = [column.name for column in plan.operators[target].output]
    if was != "UPDATE":
        columns = tuple(
            Assigned(name, (Scoped(AttributeRef(plan.operators[query].output[at].id), (query,)),))
            for name, at in zip(names, written, strict=False)
        )
        return attrs.evolve(found, columns=columns, changes=target, keeps_rows=True)
    columns = tuple(Assigned(name, _updated(plan, query, at)) for name, at in zip(names, written, strict=False))
    chosen = _chosen(operator, target)
    keeps = _leaves_rows(plan, operator)
    return attrs.evolve(found, reads=(target,), columns=columns, influences=chosen, changes=target, keeps_rows=keeps)


@reads({"org.apache.spark.sql.connector.write.RowLevelOperationTable": {"command": "operation.command"}})
def _command(plan: Plan, operator: Operator) -> str | None:
    """Return DELETE, UPDATE or MERGE, as stated by the table that wraps the target."""
    around = operator.operator("table")
    table = plan.operators[around].described("table") if around is not None else None
    return table.text("command") if table is not None else None


def _leaves_rows(plan: Plan, operator: Operator) -> bool:
    """Return whether rows may stay unchanged; Spark gives an UPDATE of all rows the condition `true`."""
    condition = operator.arguments.get("condition")
    literal = next(plan.expressions_of((condition,)), None)
    return condition is not None and (literal is None or literal.arguments.get("value") is not True)


def _chosen(operator: Operator, target: int) -> tuple[Scoped, ...]:
    condition = operator.arguments.get("condition")
    return (Scoped(condition, (target,), UseKind.FILTER),) if condition is not None else ()


@reads(
    {
        "org.apache.spark.sql.catalyst.util.ReplaceDataProjections": {"ordinals": "rowProjection.colOrdinals"},
        "org.apache.spark.sql.catalyst.util.WriteDeltaProjections": {"ordinals": "rowProjection.colOrdinals"},
    }
)
def _written(plan: Plan, operator: Operator, query: int) -> tuple[int, ...]:
    """Return the positions of the table's columns in the query's output; before Spark 4 they are the first ones."""
    projections = operator.described("projections")
    found = projections.values.get("ordinals") if projections is not None else None
    width = len(plan.operators[query].output)
    places = found if isinstance(found, tuple) else tuple(range(width))
    return tuple(at for at in places if isinstance(at, int) and at < width)


def _updated(plan: Plan, at: int, place: int) -> tuple[Scoped, ...]:
    """Return the value that an UPDATE gives to a column; the unchanged rows, which the query also has, are left out."""
    while True:
        operator = plan.operators[at]
        if place >= len(operator.output):
            return ()
        id_ = operator.output[place].id
        if operator.class_name == UNION and operator.children:
            # The other branch has the unchanged rows.
            at = operator.children[0]
            continue
        if operator.class_name != PROJECT or not operator.children:
            return (Scoped(AttributeRef(id_), (at,)),)
        below = operator.children[0]
        value = operator.sequence("projectList")[place]
        if isinstance(value, AttributeRef):
            places = [n for n, column in enumerate(plan.operators[below].output) if column.id == id_]
            if not places:
                return ()
            at, place = below, places[0]
            continue
        chosen = _if_changed(plan, value)
        return (Scoped(value if chosen is None else chosen, (below,)),)


def _if_changed(plan: Plan, value: Value) -> Value:
    """Return the value in `if (condition) value else column`, the form that Spark gives to a column that is set."""
    alias = plan.expressions[value.index] if isinstance(value, ExpressionRef) else None
    child = alias.arguments.get("child") if alias is not None and alias.name == "Alias" else None
    inner = plan.expressions[child.index] if isinstance(child, ExpressionRef) else None
    return inner.arguments.get("trueValue") if inner is not None and inner.name == "If" else None
