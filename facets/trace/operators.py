"""What each logical operator means for lineage, by class name.

A rule is local: it says how the attributes that an operator puts out come from those of its children, and what
decides about its rows. It knows nothing of what lies above or below; `trace` alone composes. It takes no argument and
no child for granted: of a plan that was cut, any may be missing. `RULES` is the list of what is supported: an operator
that isn't in it is taken as "everything to everything" and named in the event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
from openlineage_pyspark.facets.model.lineage import Kind
from openlineage_pyspark.facets.model.plan import (
    AttributeRef,
    ExpressionRef,
    Operator,
    OperatorRef,
    Plan,
    Value,
)


@attrs.frozen
class Computed:
    """An attribute that an expression over the children's attributes gives."""

    value: Value
    kind: Kind = Kind.IDENTITY


@attrs.frozen
class Passed:
    """An attribute that is another operator's, under another id."""

    operator: int
    id: int
    kind: Kind = Kind.IDENTITY


Definition = Computed | Passed


@attrs.frozen
class Meaning:
    """What one operator means.

    Args:
        defines: exprId -> what it is made of; several where rows of several kinds meet (union, expand).
        passes: the operators whose attributes it hands on under their own ids.
        rows: what decides which rows there are, or their order: argument and kind.
        scope: the operators whose attributes its expressions may read; None for its children.
        known: whether there is a rule for the operator.
    """

    defines: Mapping[int, tuple[Definition, ...]] = attrs.Factory(dict)
    passes: tuple[int, ...] = ()
    rows: tuple[tuple[Value, Kind], ...] = ()
    scope: tuple[int, ...] | None = None
    known: bool = True


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


Rule = Callable[[Plan, Operator], Meaning]


def meaning(plan: Plan, operator: Operator) -> Meaning:
    """What an operator of a plan means for lineage.

    Args:
        plan: the plan that it stands in.
        operator: the operator.

    Returns:
        the meaning by its rule; without one, that every output column is made of every input column (`known` False).
    """
    return RULES.get(operator.name, _unknown)(plan, operator)


def _unknown(plan: Plan, operator: Operator) -> Meaning:
    children = operator.children
    return attrs.evolve(_opaque(plan, operator), known=not children and not operator.output)


def _opaque(plan: Plan, operator: Operator) -> Meaning:
    """Rows go through code that can't be read: every column in may be in every column out."""
    everything: tuple[Definition, ...] = tuple(
        Passed(child, column.id, Kind.TRANSFORMATION)
        for child in operator.children
        for column in plan.operators[child].output
    )
    return Meaning(defines={column.id: everything for column in operator.output})


def _leaf(_plan: Plan, _operator: Operator) -> Meaning:
    """A source of rows, or rows that the plan itself holds."""
    return Meaning()


def _pass(_: Plan, operator: Operator) -> Meaning:
    """Rows and columns go through as they are, all or some of them."""
    return Meaning(passes=operator.children[:1])


def _named(plan: Plan, values: tuple[Value, ...]) -> dict[int, tuple[Definition, ...]]:
    """The named expressions of a list that aren't just an attribute."""
    found: dict[int, tuple[Definition, ...]] = {}
    for value in values:
        if isinstance(value, ExpressionRef):
            expression = plan.expressions[value.index]
            if expression.id is not None:
                found[expression.id] = (Computed(value),)
    return found


def _project(plan: Plan, operator: Operator) -> Meaning:
    """SELECT: each column is an expression."""
    return Meaning(_named(plan, operator.sequence("projectList")), operator.children)


def _filter(_: Plan, operator: Operator) -> Meaning:
    """WHERE, HAVING, QUALIFY: the condition decides about rows."""
    return Meaning(passes=operator.children, rows=((operator.arguments.get("condition"), Kind.FILTER),))


def _sort(_: Plan, operator: Operator) -> Meaning:
    """ORDER BY, SORT BY: the order's columns."""
    return Meaning(passes=operator.children, rows=((operator.arguments.get("order"), Kind.SORT),))


def _join(_: Plan, operator: Operator) -> Meaning:
    """A join of any type: both sides' columns pass, the condition decides."""
    rows = tuple(
        (operator.arguments[name], Kind.JOIN)
        for name in ("condition", "asOfCondition", "orderExpression", "rankingExpression")
        if operator.arguments.get(name) is not None
    )
    return Meaning(passes=operator.children, rows=rows)


def _lateral_join(plan: Plan, operator: Operator) -> Meaning:
    """A lateral join: the right side is a subquery that reads the left one's columns."""
    left = operator.children
    right = operator.arguments.get("right")
    inner = plan.expressions[right.index].arguments.get("plan") if isinstance(right, ExpressionRef) else None
    below = (*left, inner.index) if isinstance(inner, OperatorRef) else left
    rows = ((operator.arguments.get("condition"), Kind.JOIN),)
    return Meaning(passes=below, rows=rows, scope=below)


def _aggregate(plan: Plan, operator: Operator) -> Meaning:
    """GROUP BY: each column is an expression over the group, the grouping decides which rows there are."""
    return Meaning(
        _named(plan, operator.sequence("aggregateExpressions")),
        operator.children,
        ((operator.arguments.get("groupingExpressions"), Kind.GROUP_BY),),
    )


def _distinct(_: Plan, operator: Operator) -> Meaning:
    """DISTINCT: a grouping by every column."""
    keys = tuple(AttributeRef(column.id) for column in operator.output)
    return Meaning(passes=operator.children, rows=((keys, Kind.GROUP_BY),))


def _deduplicate(_: Plan, operator: Operator) -> Meaning:
    """dropDuplicates: a grouping by its keys."""
    return Meaning(passes=operator.children, rows=((operator.arguments.get("keys"), Kind.GROUP_BY),))


def _bin_by(_: Plan, operator: Operator) -> Meaning:
    """BIN BY: each row becomes one a bin, with its share of what is distributed; the range tells bins and shares."""
    bounds = tuple(operator.arguments.get(name) for name in ("rangeStart", "rangeEnd"))
    share = tuple(Computed(bound, Kind.TRANSFORMATION) for bound in bounds)
    defines: dict[int, tuple[Definition, ...]] = {
        added.id: share for added in operator.sequence("appendedAttributes") if isinstance(added, AttributeRef)
    }
    scaled, whole = operator.sequence("scaledDistributeColumns"), operator.sequence("distributeColumns")
    for after, before in zip(scaled, whole, strict=False):
        if isinstance(after, AttributeRef):
            defines[after.id] = (Computed(before, Kind.TRANSFORMATION), *share)
    return Meaning(defines, operator.children)


def _window(plan: Plan, operator: Operator) -> Meaning:
    """Window functions: further columns beside those that pass."""
    return Meaning(_named(plan, operator.sequence("windowExpressions")), operator.children)


def _expand(_: Plan, operator: Operator) -> Meaning:
    """ROLLUP, CUBE, GROUPING SETS, UNPIVOT: each row becomes several, one a list of expressions."""
    lists = [row for row in operator.sequence("projections") if isinstance(row, tuple)]
    defines = {
        column.id: tuple(Computed(row[at]) for row in lists if at < len(row))
        for at, column in enumerate(operator.output)
    }
    return Meaning(defines)


def _union(plan: Plan, operator: Operator) -> Meaning:
    """UNION, and the steps of a recursive CTE: by position; the ids are those of the first branch, so none may pass."""
    children = operator.children
    return Meaning(
        {
            column.id: tuple(
                Passed(child, plan.operators[child].output[at].id)
                for child in children
                if at < len(plan.operators[child].output)
            )
            for at, column in enumerate(operator.output)
        }
    )


def _set_difference(plan: Plan, operator: Operator) -> Meaning:
    """INTERSECT, EXCEPT: the left side's rows, kept or not by comparing every column with the right side's."""
    left, right = operator.operator("left"), operator.operator("right")
    sides = tuple(side for side in (left, right) if side is not None)
    values = tuple(AttributeRef(column.id) for side in sides for column in plan.operators[side].output)
    return Meaning(passes=() if left is None else (left,), rows=((values, Kind.JOIN),), scope=sides)


def _generate(plan: Plan, operator: Operator) -> Meaning:
    """LATERAL VIEW, explode and the like: columns made of the generator's arguments."""
    generator = operator.arguments.get("generator")
    made = [value.id for value in operator.sequence("generatorOutput") if isinstance(value, AttributeRef)]
    defines: dict[int, tuple[Definition, ...]] = {id_: (Computed(generator, Kind.TRANSFORMATION),) for id_ in made}
    if isinstance(generator, ExpressionRef) and plan.expressions[generator.index].name == "Stack":
        defines = _stack(plan, generator, made)
    elif isinstance(generator, ExpressionRef) and plan.expressions[generator.index].name == "Inline":
        defines = _inline(plan, generator, made) or defines
    elif isinstance(generator, ExpressionRef):
        defines = {**defines, **_entries(plan, generator, made)}
    return Meaning(defines, operator.children)


def _entries(plan: Plan, generator: ExpressionRef, made: list[int]) -> dict[int, tuple[Definition, ...]]:
    """explode(map(key, value, ...)): keys from keys and values from values, where the map is made in place."""
    child = plan.expressions[generator.index].arguments.get("child")
    entries = plan.expressions[child.index] if isinstance(child, ExpressionRef) else None
    if entries is None or entries.name != "CreateMap" or len(made) < 2:
        return {}
    children = entries.sequence("children")
    return {id_: tuple(Computed(v, Kind.TRANSFORMATION) for v in children[at::2]) for at, id_ in enumerate(made[-2:])}


def _inline(plan: Plan, generator: ExpressionRef, made: list[int]) -> dict[int, tuple[Definition, ...]]:
    """inline(array(struct, ...)): each column has that field of each struct, where the array is made in place."""
    child = plan.expressions[generator.index].arguments.get("child")
    array = plan.expressions[child.index] if isinstance(child, ExpressionRef) else None
    structs = array.arguments.get("children") if array is not None and array.name == "CreateArray" else None
    rows = (
        [plan.expressions[s.index] for s in structs if isinstance(s, ExpressionRef)]
        if isinstance(structs, tuple)
        else []
    )
    if not rows or any(row.name != "CreateNamedStruct" for row in rows):
        return {}
    values = [row.arguments.get("children") for row in rows]
    return {
        id_: tuple(
            Computed(v[2 * at + 1], Kind.TRANSFORMATION) for v in values if isinstance(v, tuple) and 2 * at + 1 < len(v)
        )
        for at, id_ in enumerate(made)
    }


def _stack(plan: Plan, generator: ExpressionRef, made: list[int]) -> dict[int, tuple[Definition, ...]]:
    """stack(n, ...): row after row, so that each column has every so many-th argument."""
    children = plan.expressions[generator.index].arguments.get("children")
    values = children[1:] if isinstance(children, tuple) else ()
    return {
        id_: tuple(Computed(v, Kind.TRANSFORMATION) for v in values[at :: len(made)]) for at, id_ in enumerate(made)
    }


def _python_rows(plan: Plan, operator: Operator) -> Meaning:
    """mapInPandas, applyInPandas, cogroup and their Arrow forms: rows made by Python code."""
    grouping = tuple(
        value
        for name in ("groupingAttributes", "leftAttributes", "rightAttributes")
        for value in operator.sequence(name)
    )
    cogrouped: list[Value] = []
    for length, child in zip(("leftGroupingLen", "rightGroupingLen"), operator.children, strict=False):
        count = operator.arguments.get(length)
        if isinstance(count, int):
            cogrouped += [AttributeRef(column.id) for column in plan.operators[child].output[:count]]
    rows = tuple((keys, Kind.GROUP_BY) for keys in (grouping, tuple(cogrouped)) if keys)
    return attrs.evolve(_opaque(plan, operator), rows=rows)


def _cte_reference(plan: Plan, operator: Operator) -> Meaning:
    """A use of a CTE: by position the columns of its definition, under ids of its own."""
    return _referred(plan, operator, "CTERelationDef", operator.arguments.get("cteId"))


def _loop_reference(plan: Plan, operator: Operator) -> Meaning:
    """A recursive CTE's use of itself: by position its columns of the step before."""
    return _referred(plan, operator, "UnionLoop", operator.arguments.get("loopId"))


def _referred(plan: Plan, operator: Operator, name: str, id_: Value) -> Meaning:
    at = plan.ctes.get((name, id_)) if isinstance(id_, int) else None
    return Meaning(known=False) if at is None else _positions(plan, operator, at)


def _positions(plan: Plan, operator: Operator, source: int) -> Meaning:
    output = plan.operators[source].output
    defines: dict[int, tuple[Definition, ...]] = {
        column.id: (Passed(source, output[at].id),) for at, column in enumerate(operator.output) if at < len(output)
    }
    return Meaning(defines, scope=(source,))


RULES: dict[str, Rule] = {
    "Project": _project,
    "Filter": _filter,
    **dict.fromkeys(
        """
        TypedFilter GlobalLimit LocalLimit LimitAll Tail Offset Sample Repartition RepartitionByExpression
        RebalancePartitions ResolvedHint EventTimeWatermark CollectMetrics SubqueryAlias View WithCTE PipeOperator
        ReturnAnswer Subquery SQLFunctionNode CTERelationDef UpdateEventTimeWatermarkColumn
        """.split(),
        _pass,
    ),
    "Sort": _sort,
    **dict.fromkeys("Zip Join AsOfJoin NearestByJoin".split(), _join),
    **dict.fromkeys("SequentialStreamingUnion UnionLoop Union".split(), _union),
    "CTERelationRef": _cte_reference,
    "UnionLoopRef": _loop_reference,
    "LateralJoin": _lateral_join,
    "Aggregate": _aggregate,
    "Distinct": _distinct,
    **dict.fromkeys("Deduplicate DeduplicateWithinWatermark".split(), _deduplicate),
    "Window": _window,
    "BinBy": _bin_by,
    "MergeRows": merge_rows,
    "Expand": _expand,
    **dict.fromkeys("Intersect Except".split(), _set_difference),
    "Generate": _generate,
    **dict.fromkeys(
        """
        MapInPandas MapInArrow PythonMapInArrow FlatMapGroupsInPandas FlatMapGroupsInArrow FlatMapCoGroupsInPandas
        FlatMapCoGroupsInArrow FlatMapGroupsInPandasWithState TransformWithStateInPandas TransformWithStateInPySpark
        """.split(),
        _python_rows,
    ),
    **dict.fromkeys(
        """
        TransformWithState MapPartitionsExternalUDF AttachDistributedSequence ScriptTransformation MapPartitions
        MapPartitionsInR MapElements DeserializeToObject SerializeFromObject AppendColumns MapGroups
        FlatMapGroupsWithState CoGroup Transpose
        """.split(),
        _opaque,
    ),
    **dict.fromkeys(
        """
        LocalRelation OneRowRelation Range LogicalRDD ExternalRDD CommandResult LogicalRelation
        LogicalRelationWithTable HiveTableRelation DataSourceV2Relation DataSourceV2ScanRelation StreamingRelation
        StreamingRelationV2 StreamingExecutionRelation StreamingDataSourceV2Relation
        StreamingDataSourceV2ScanRelation EmptyRelation MemoryPlan PythonWorkerLogs
        """.split(),
        _leaf,
    ),
}
"""Operator class -> its rule."""
