"""
The lineage of each logical operator, by its class.

A rule is local: it returns how the attributes in an operator's output derive from those of its children, and what
influences all of its rows. It knows nothing of the operators above and below; `solve` composes the rules. If the plan
was cut, any argument or child may be missing. `RULES` lists the supported operators: for any other, every input column
counts as a source of every output column, and the event names the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import attrs
from openlineage_pyspark.facets.class_rules import Classes, ClassRules, full_names
from openlineage_pyspark.facets.model.lineage import Certainty, UseKind
from openlineage_pyspark.facets.model.plan import (
    AttributeRef,
    ExpressionRef,
    FrozenMap,
    Operator,
    OperatorRef,
    Plan,
    Sql,
    Value,
)
from openlineage_pyspark.facets.trace.expressions import FieldPath, OpaqueCode, field_names

_OUTER = {
    "Explode": ("explode(", "explode_outer("),
    "PosExplode": ("posexplode(", "posexplode_outer("),
    "Inline": ("inline(", "inline_outer("),
    "VariantExplode": ("variant_explode(", "variant_explode_outer("),
}
"""Simple name of a generator -> the beginning of its call, and of the call of its outer form."""


def sql_of(plan: Plan, operator: Operator, value: Value) -> str | Sql | None:
    """
    Return the SQL of an expression of an operator.

    Spark uses the same expression for `explode` and `explode_outer`: only the operator shows which one it is, as for
    `LATERAL VIEW OUTER`. If a generator has no outer form, the word OUTER precedes its call.
    """
    expression = plan.expressions[value.index] if isinstance(value, ExpressionRef) else None
    sql = expression.sql if expression is not None else None
    if expression is None or operator.name != "Generate" or operator.arguments.get("outer") is not True:
        return sql
    parts = (sql,) if isinstance(sql, str) else sql or ()
    if operator.arguments.get("generator") != value or not parts or not isinstance(parts[0], str):
        return sql
    inner, outer = _OUTER.get(expression.name, ("", "OUTER "))
    return (outer + parts[0].removeprefix(inner), *parts[1:])


_NAME = "__pivot_"


def is_of_pivot(plan: Plan, value: Value) -> bool:
    """
    Return whether Spark created an expression for a PIVOT, so that the user has not written its text.

    Such an expression collects the aggregates of all values of the pivoted column (PivotFirst), or takes one of them.
    """
    expression = plan.expressions[value.index] if isinstance(value, ExpressionRef) else None
    while expression is not None and expression.name == "Alias":
        child = expression.arguments.get("child")
        expression = plan.expressions[child.index] if isinstance(child, ExpressionRef) else None
    if expression is None:
        return False
    if expression.name == "GetArrayItem":
        array = expression.arguments.get("child")
        known = plan.attributes.get(array.id) if isinstance(array, AttributeRef) else None
        return known is not None and known.name.startswith(_NAME)
    function = expression.arguments.get("aggregateFunction")
    return isinstance(function, ExpressionRef) and plan.expressions[function.index].name == "PivotFirst"


@attrs.frozen
class Computed:
    """
    A definition of an attribute by an expression over the children's attributes.

    Args:
        value: the expression.
        kind: how the attribute follows from it.
        path: the names of struct fields, outermost first, if the attribute is only that field of its value.
    """

    value: Value
    kind: UseKind = UseKind.IDENTITY
    path: FieldPath = ()


@attrs.frozen
class Passed:
    """A definition of an attribute as an attribute of another operator, under a new id."""

    operator: int
    id: int
    kind: UseKind = UseKind.IDENTITY


Definition = Computed | Passed


class OperatorLineage(NamedTuple):
    """
    The lineage of one operator.

    Args:
        computes: exprId -> its definitions; several if rows come from several places (union, expand).
        passes_through: the indices of the operators whose attributes are in the output under their own ids.
        influences: the dataset-level, INDIRECT influences: arguments that determine which rows there are, or their
            order, each with its kind.
        inputs: the indices of the operators whose attributes its expressions may read; None for its children.
        known: whether there is a rule for the operator.
        certainty: how sure its definitions are.
        rows_certainty: how sure its influences are.
        rows_from: the indices of the operators whose row influences also apply to its own rows; None if they are
            `inputs`.
        code: the kind of unreadable code that it runs; None if it runs none.
    """

    computes: Mapping[int, tuple[Definition, ...]] = FrozenMap()
    passes_through: tuple[int, ...] = ()
    influences: tuple[tuple[Value, UseKind], ...] = ()
    inputs: tuple[int, ...] | None = None
    known: bool = True
    certainty: Certainty = Certainty.EXACT
    rows_certainty: Certainty = Certainty.EXACT
    rows_from: tuple[int, ...] | None = None
    code: OpaqueCode | None = None


OperatorRule = Callable[[Plan, Operator], OperatorLineage]

RULES: ClassRules[OperatorRule] = ClassRules()
"""Operator class -> its rule."""

SAME_OUTPUT: set[str] = set()
"""Full names of operators with the same output as their first child; the probe does not send it again."""

UNREAD = {"Join": ("joinType", "hint")}
"""Simple name of an operator -> the arguments that the probe leaves out."""

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_EXECUTION = "org.apache.spark.sql.execution"


def rule(classes: Classes, *, output: str = "own") -> Callable[[OperatorRule], OperatorRule]:
    """
    Return a decorator that registers a rule.

    Args:
        classes: the operators that the rule is for.
        output: `child` if their output has the ids and names of their first child's, in the same order; else `own`.
    """
    if output == "child":
        SAME_OUTPUT.update(full_names(classes))
    return RULES.rule(classes)


_DELETE = 1
"""Spark's code for a row to delete (RowDeltaUtils)."""


def operator_lineage(plan: Plan, operator: Operator) -> OperatorLineage:
    """
    Return the lineage of an operator.

    Returns:
        The result of its rule. Without a rule, every input column is a source of every output column, and `known` is
        False.
    """
    return (RULES.get(operator.class_name) or _unknown)(plan, operator)


def _unknown(plan: Plan, operator: Operator) -> OperatorLineage:
    # An operator without children is a source, and its resolver knows its columns.
    if not operator.children:
        return OperatorLineage()
    return _opaque(plan, operator)._replace(known=False, certainty=Certainty.GUESSED, code=OpaqueCode.OPERATOR)


@rule({_LOGICAL: "Project"})
def _project(plan: Plan, operator: Operator) -> OperatorLineage:
    """SELECT: each column is an expression."""
    return OperatorLineage(_named(plan, operator.sequence("projectList")), operator.children)


def _named(plan: Plan, values: tuple[Value, ...]) -> dict[int, tuple[Definition, ...]]:
    """Return the named expressions of a list, by exprId; plain attributes are left out."""
    found: dict[int, tuple[Definition, ...]] = {}
    for value in values:
        if isinstance(value, ExpressionRef):
            expression = plan.expressions[value.index]
            if expression.id is not None:
                found[expression.id] = (Computed(value),)
    return found


@rule({_LOGICAL: "Filter"}, output="child")
def _filter(_: Plan, operator: Operator) -> OperatorLineage:
    """WHERE, HAVING, QUALIFY: the condition is a FILTER influence."""
    return OperatorLineage(
        passes_through=operator.children, influences=((operator.arguments.get("condition"), UseKind.FILTER),)
    )


@rule(
    {
        _LOGICAL: """
            GlobalLimit LocalLimit Tail Offset Sample Repartition RepartitionByExpression RebalancePartitions
            ResolvedHint EventTimeWatermark CollectMetrics SubqueryAlias View WithCTE"""
    },
    output="child",
)
@rule(
    {
        _LOGICAL: """
            LimitAll ReturnAnswer Subquery SQLFunctionNode CTERelationDef UpdateEventTimeWatermarkColumn""",
        "org.apache.spark.sql.catalyst.analysis": "SQLFunctionNode",
        "org.apache.spark.sql.catalyst.expressions": "PipeOperator",
    }
)
def _pass(_: Plan, operator: Operator) -> OperatorLineage:
    """Operators that pass all or some of the rows through, with unchanged columns."""
    return OperatorLineage(passes_through=operator.children[:1])


@rule({_LOGICAL: "TypedFilter"})
def _typed_filter(_: Plan, operator: Operator) -> OperatorLineage:
    """Filters by a function over objects: everything that the function may read is a FILTER influence."""
    return OperatorLineage(
        passes_through=operator.children[:1],
        influences=((operator.arguments.get("deserializer"), UseKind.FILTER),),
        rows_certainty=Certainty.OPAQUE,
        code=OpaqueCode.TYPED_OPERATION,
    )


@rule({_LOGICAL: "AttachDistributedSequence"})
def _sequence(_: Plan, operator: Operator) -> OperatorLineage:
    """The index of a pandas-on-Spark frame: an added column of numbers, which has no source."""
    return OperatorLineage(passes_through=operator.children[:1])


@rule({_LOGICAL: "Sort"}, output="child")
def _sort(_: Plan, operator: Operator) -> OperatorLineage:
    """ORDER BY, SORT BY: the order is a SORT influence."""
    return OperatorLineage(
        passes_through=operator.children, influences=((operator.arguments.get("order"), UseKind.SORT),)
    )


@rule({_LOGICAL: "Zip Join AsOfJoin NearestByJoin"})
def _join(_: Plan, operator: Operator) -> OperatorLineage:
    """JOIN of any type: columns of both sides pass through; the condition is a JOIN influence."""
    rows = tuple(
        (operator.arguments[name], UseKind.JOIN)
        for name in ("condition", "asOfCondition", "orderExpression", "rankingExpression")
        if operator.arguments.get(name) is not None
    )
    return OperatorLineage(passes_through=operator.children, influences=rows)


@rule({_LOGICAL: "LateralJoin"})
def _lateral_join(plan: Plan, operator: Operator) -> OperatorLineage:
    """LATERAL join: like JOIN; the subquery on the right side may read columns of the left side."""
    left = operator.children
    right = operator.arguments.get("right")
    inner = plan.expressions[right.index].arguments.get("plan") if isinstance(right, ExpressionRef) else None
    below = (*left, inner.index) if isinstance(inner, OperatorRef) else left
    rows = ((operator.arguments.get("condition"), UseKind.JOIN),)
    return OperatorLineage(passes_through=below, influences=rows, inputs=below)


@rule({_LOGICAL: "Aggregate"})
def _aggregate(plan: Plan, operator: Operator) -> OperatorLineage:
    """GROUP BY: each column is an expression over the group; the grouping is a GROUP_BY influence."""
    return OperatorLineage(
        _named(plan, operator.sequence("aggregateExpressions")),
        operator.children,
        ((operator.arguments.get("groupingExpressions"), UseKind.GROUP_BY),),
        rows_from=_below_pivot(plan, operator),
    )


def _below_pivot(plan: Plan, operator: Operator) -> tuple[int, ...] | None:
    """
    Return the operator below both aggregates if Spark has made two for one PIVOT; None for any other aggregate.

    The lower aggregate also groups by the pivoted column, but its groups are not rows of the result.
    """
    values = operator.sequence("aggregateExpressions")
    if not any(_collects_pivot(plan, value) for value in values) or len(operator.children) != 1:
        return None
    lower = plan.operators[operator.children[0]]
    return lower.children if lower.class_name == operator.class_name else None


def _collects_pivot(plan: Plan, value: Value) -> bool:
    alias = plan.expressions[value.index] if isinstance(value, ExpressionRef) else None
    name = alias.column if alias is not None else None
    return name is not None and name.startswith(_NAME) and is_of_pivot(plan, value)


@rule({_LOGICAL: "Distinct"}, output="child")
def _distinct(_: Plan, operator: Operator) -> OperatorLineage:
    """DISTINCT: a GROUP BY over every column."""
    keys = tuple(AttributeRef(column.id) for column in operator.output)
    return OperatorLineage(passes_through=operator.children, influences=((keys, UseKind.GROUP_BY),))


@rule({_LOGICAL: "Deduplicate DeduplicateWithinWatermark"}, output="child")
def _deduplicate(_: Plan, operator: Operator) -> OperatorLineage:
    """dropDuplicates: a GROUP BY over its keys."""
    return OperatorLineage(
        passes_through=operator.children, influences=((operator.arguments.get("keys"), UseKind.GROUP_BY),)
    )


@rule({_LOGICAL: "Window"})
def _window(plan: Plan, operator: Operator) -> OperatorLineage:
    """Window functions: added as columns; all others pass through."""
    return OperatorLineage(_named(plan, operator.sequence("windowExpressions")), operator.children)


@rule({_LOGICAL: "BinBy"})
def _bin_by(_: Plan, operator: Operator) -> OperatorLineage:
    """BIN BY: each row becomes one row per bin; bins and distributed shares are computed from the range."""
    bounds = tuple(operator.arguments.get(name) for name in ("rangeStart", "rangeEnd"))
    share = tuple(Computed(bound, UseKind.TRANSFORMATION) for bound in bounds)
    defines: dict[int, tuple[Definition, ...]] = {
        added.id: share for added in operator.sequence("appendedAttributes") if isinstance(added, AttributeRef)
    }
    scaled, whole = operator.sequence("scaledDistributeColumns"), operator.sequence("distributeColumns")
    for after, before in zip(scaled, whole, strict=False):
        if isinstance(after, AttributeRef):
            defines[after.id] = (Computed(before, UseKind.TRANSFORMATION), *share)
    # The range of a row decides how many bins it is in.
    return OperatorLineage(defines, operator.children, tuple((bound, UseKind.GENERATE) for bound in bounds))


@rule({_LOGICAL: "Expand"})
def _expand(_: Plan, operator: Operator) -> OperatorLineage:
    """ROLLUP, CUBE, GROUPING SETS, UNPIVOT: each row becomes several rows, one per list of expressions."""
    lists = [row for row in operator.sequence("projections") if isinstance(row, tuple)]
    defines = {
        column.id: tuple(Computed(row[at]) for row in lists if at < len(row))
        for at, column in enumerate(operator.output)
    }
    return OperatorLineage(defines)


@rule({_LOGICAL: "Union"}, output="child")
@rule({_LOGICAL: "SequentialStreamingUnion UnionLoop"})
def _union(plan: Plan, operator: Operator) -> OperatorLineage:
    """UNION, and the steps of a recursive CTE: columns are matched by position."""
    children = operator.children
    # A union reuses the ids of its first branch, so no attribute may pass through by id.
    return OperatorLineage(
        {
            column.id: tuple(
                Passed(child, plan.operators[child].output[at].id)
                for child in children
                if at < len(plan.operators[child].output)
            )
            for at, column in enumerate(operator.output)
        }
    )


@rule({_LOGICAL: "Intersect Except"}, output="child")
def _set_difference(plan: Plan, operator: Operator) -> OperatorLineage:
    """INTERSECT, EXCEPT: columns of the left side pass through; all columns of both sides are a JOIN influence."""
    left, right = operator.operator("left"), operator.operator("right")
    sides = tuple(side for side in (left, right) if side is not None)
    values = tuple(AttributeRef(column.id) for side in sides for column in plan.operators[side].output)
    return OperatorLineage(
        passes_through=() if left is None else (left,), influences=((values, UseKind.JOIN),), inputs=sides
    )


@rule({_LOGICAL: "Generate"})
def _generate(plan: Plan, operator: Operator) -> OperatorLineage:
    """LATERAL VIEW, explode etc.: columns are computed from the arguments, which also decide the number of rows."""
    generator = operator.arguments.get("generator")
    made = [value.id for value in operator.sequence("generatorOutput") if isinstance(value, AttributeRef)]
    defines: dict[int, tuple[Definition, ...]] = {id_: (Computed(generator, UseKind.TRANSFORMATION),) for id_ in made}
    if isinstance(generator, ExpressionRef) and plan.expressions[generator.index].name == "Stack":
        defines = _stack(plan, generator, made)
    elif isinstance(generator, ExpressionRef) and plan.expressions[generator.index].name == "Inline":
        defines = _inline(plan, generator, made) or defines
    elif isinstance(generator, ExpressionRef):
        defines = {**defines, **_entries(plan, generator, made)}
    return OperatorLineage(defines, operator.children, _multiplied(plan, generator))


_FIXED_ROWS = frozenset(["Stack", "JsonTuple", "SQLKeywords", "Collations"])
"""Generators that return the same number of rows for every row."""


def _multiplied(plan: Plan, generator: Value) -> tuple[tuple[Value, UseKind], ...]:
    """Return what decides the number of rows that a generator returns for a row; nothing if the number is fixed."""
    if not isinstance(generator, ExpressionRef):
        return ()
    expression = plan.expressions[generator.index]
    if expression.name in _FIXED_ROWS:
        return ()
    if expression.name == "ReplicateRows":
        # The first argument is the number of copies.
        return ((expression.sequence("children")[:1], UseKind.GENERATE),)
    child = expression.arguments.get("child")
    made = plan.expressions[child.index].name if isinstance(child, ExpressionRef) else ""
    # An array or a map that the statement spells out always has the same number of elements.
    return () if made in ("CreateArray", "CreateMap") else ((generator, UseKind.GENERATE),)


def _entries(plan: Plan, generator: ExpressionRef, made: list[int]) -> dict[int, tuple[Definition, ...]]:
    """Return the definitions for explode(map(key, value, ...)): keys from keys, values from values."""
    child = plan.expressions[generator.index].arguments.get("child")
    entries = plan.expressions[child.index] if isinstance(child, ExpressionRef) else None
    if entries is None or entries.name != "CreateMap" or len(made) < 2:
        return {}
    children = entries.sequence("children")
    return {
        id_: tuple(Computed(v, UseKind.TRANSFORMATION) for v in children[at::2]) for at, id_ in enumerate(made[-2:])
    }


def _inline(plan: Plan, generator: ExpressionRef, made: list[int]) -> dict[int, tuple[Definition, ...]]:
    """Return the definitions for inline: each column from the same field of each struct."""
    child = plan.expressions[generator.index].arguments.get("child")
    array = plan.expressions[child.index] if isinstance(child, ExpressionRef) else None
    structs = array.arguments.get("children") if array is not None and array.name == "CreateArray" else None
    rows = (
        [plan.expressions[s.index] for s in structs if isinstance(s, ExpressionRef)]
        if isinstance(structs, tuple)
        else []
    )
    if not rows or any(row.name != "CreateNamedStruct" for row in rows):
        names = field_names(plan.expressions[generator.index])
        # If two fields have the same name, a path can't distinguish them.
        if not len(set(names)) == len(names) == len(made):
            return {}
        return {
            id_: (Computed(generator, UseKind.TRANSFORMATION, (name,)),) for id_, name in zip(made, names, strict=True)
        }
    values = [row.arguments.get("children") for row in rows]
    return {
        id_: tuple(
            Computed(v[2 * at + 1], UseKind.TRANSFORMATION)
            for v in values
            if isinstance(v, tuple) and 2 * at + 1 < len(v)
        )
        for at, id_ in enumerate(made)
    }


def _stack(plan: Plan, generator: ExpressionRef, made: list[int]) -> dict[int, tuple[Definition, ...]]:
    """Return the definitions for stack(n, ...): with m columns, each column from every m-th argument."""
    children = plan.expressions[generator.index].arguments.get("children")
    values = children[1:] if isinstance(children, tuple) else ()
    return {
        id_: tuple(Computed(v, UseKind.TRANSFORMATION) for v in values[at :: len(made)]) for at, id_ in enumerate(made)
    }


@rule({_LOGICAL: "CTERelationRef"})
def _cte_reference(plan: Plan, operator: Operator) -> OperatorLineage:
    """References to a CTE: the columns of its definition, by position."""
    return _referred(plan, operator, "CTERelationDef", operator.arguments.get("cteId"))


@rule({_LOGICAL: "UnionLoopRef"})
def _loop_reference(plan: Plan, operator: Operator) -> OperatorLineage:
    """References of a recursive CTE to itself: the columns of the previous step, by position."""
    return _referred(plan, operator, "UnionLoop", operator.arguments.get("loopId"))


def _referred(plan: Plan, operator: Operator, name: str, id_: Value) -> OperatorLineage:
    at = plan.ctes.get((name, id_)) if isinstance(id_, int) else None
    return OperatorLineage(known=False) if at is None else _positions(plan, operator, at)


def _positions(plan: Plan, operator: Operator, source: int) -> OperatorLineage:
    output = plan.operators[source].output
    defines: dict[int, tuple[Definition, ...]] = {
        column.id: (Passed(source, output[at].id),) for at, column in enumerate(operator.output) if at < len(output)
    }
    return OperatorLineage(defines, inputs=(source,))


@rule({_LOGICAL: "MergeRows"})
def _merge_rows(plan: Plan, operator: Operator) -> OperatorLineage:
    """MERGE, rewritten by Spark: the outputs of its actions, by position; conditions are CONDITIONAL influences."""
    place = next((n for n, o in enumerate(operator.output) if o.name == "__row_operation"), None)
    made: list[tuple[tuple[Value, ...], tuple[Value, ...]]] = []
    deleting: tuple[Value, ...] = ()
    for name in ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"):
        # Spark performs the first action whose condition holds, so the conditions of earlier actions decide too.
        before: tuple[Value, ...] = ()
        for action in plan.expressions_of(operator.sequence(name)):
            conditions = (*before, action.arguments.get("condition"))
            outputs = [action.arguments.get(part) for part in ("output", "otherOutput")]
            kept = [o for o in outputs if isinstance(o, tuple) and not _deletes(plan, o, place)]
            made += [(conditions, output) for output in kept]
            if kept:
                before = conditions
            else:
                deleting += conditions
    target = _target(plan, operator)
    defines = {
        column.id: tuple(
            dict.fromkeys(
                definition
                for conditions, output in made
                if at < len(output)
                for definition in _definitions(output[at], conditions, keeps=_name(target, output[at]) == column.name)
            )
        )
        for at, column in enumerate(operator.output)
    }
    return OperatorLineage(defines, influences=tuple((each, UseKind.FILTER) for each in dict.fromkeys(deleting)))


def _definitions(value: Value, conditions: tuple[Value, ...], *, keeps: bool) -> tuple[Computed, ...]:
    return (Computed(value), *(() if keeps else (Computed(each, UseKind.CONDITIONAL) for each in conditions)))


def _target(plan: Plan, operator: Operator) -> dict[int, str]:
    """Return the names of the target's columns by exprId: Spark marks the rows of that side of the join."""
    sides = [plan.operators[side] for child in operator.children for side in plan.operators[child].children]
    outputs = (side.output for side in sides if any(o.name == "__row_from_target" for o in side.output))
    return {column.id: column.name for output in outputs for column in output}


def _name(columns: dict[int, str], value: Value) -> str | None:
    return columns.get(value.id) if isinstance(value, AttributeRef) else None


def _deletes(plan: Plan, output: tuple[Value, ...], place: int | None) -> bool:
    """Return whether the output of an action deletes a row."""
    operation = output[place] if place is not None and place < len(output) else None
    literal = plan.expressions[operation.index] if isinstance(operation, ExpressionRef) else None
    return literal is not None and literal.name == "Literal" and literal.arguments.get("value") == _DELETE


@rule(
    {
        _LOGICAL: """
            MapInPandas MapInArrow PythonMapInArrow FlatMapGroupsInPandas FlatMapGroupsInArrow FlatMapCoGroupsInPandas
            FlatMapCoGroupsInArrow FlatMapGroupsInPandasWithState TransformWithStateInPandas
            TransformWithStateInPySpark"""
    }
)
def _python_rows(plan: Plan, operator: Operator) -> OperatorLineage:
    """mapInPandas, applyInPandas, cogroup and their Arrow forms: Python code computes the rows."""
    grouping = tuple(
        value
        for name in ("groupingAttributes", "leftAttributes", "rightAttributes")
        for value in operator.sequence(name)
    )
    cogrouped: list[Value] = []
    # transformWithState has its input rows on the left, and those of its initial state on the right.
    lengths = (("leftGroupingLen", "groupingAttributesLen"), ("rightGroupingLen", "initGroupingAttrsLen"))
    for names, child in zip(lengths, operator.children, strict=False):
        count = next((operator.arguments[name] for name in names if name in operator.arguments), None)
        if isinstance(count, int):
            cogrouped += [AttributeRef(column.id) for column in plan.operators[child].output[:count]]
    rows = tuple((keys, UseKind.GROUP_BY) for keys in (grouping, tuple(cogrouped)) if keys)
    return _opaque(plan, operator)._replace(influences=rows, code=OpaqueCode.PYTHON_ROWS)


_CODE = {
    "MapPartitionsExternalUDF": OpaqueCode.PYTHON_ROWS,
    "ScriptTransformation": OpaqueCode.SCRIPT,
    "DeserializeToObject": None,
    "SerializeFromObject": None,
}
"""Simple name of an operator of `_opaque` -> the kind of code that it runs, unless that is a function over objects."""
_GROUPING = frozenset(("TransformWithState", "FlatMapGroupsWithState", "MapGroups"))
"""The operators of `_opaque` that call code once for each group."""


@rule(
    {
        _LOGICAL: """
            TransformWithState MapPartitionsExternalUDF ScriptTransformation MapPartitions MapPartitionsInR
            MapPartitionsInRWithArrow FlatMapGroupsInR FlatMapGroupsInRWithArrow MapElements DeserializeToObject
            SerializeFromObject AppendColumns MapGroups FlatMapGroupsWithState CoGroup"""
    }
)
def _opaque(plan: Plan, operator: Operator) -> OperatorLineage:
    """Code that can't be analyzed: every input column counts as a source of every output column."""
    everything: tuple[Definition, ...] = tuple(
        Passed(child, column.id, UseKind.TRANSFORMATION)
        for child in operator.children
        for column in plan.operators[child].output
    )
    code = _CODE.get(operator.name, OpaqueCode.TYPED_OPERATION)
    keys = operator.sequence("groupingAttributes") if operator.name in _GROUPING else ()
    return OperatorLineage(
        computes={column.id: everything for column in operator.output},
        influences=((keys, UseKind.GROUP_BY),) if keys else (),
        certainty=Certainty.OPAQUE,
        code=code,
    )


@rule(
    {
        _LOGICAL: "LocalRelation OneRowRelation Range CommandResult EmptyRelation PythonWorkerLogs Transpose",
        _EXECUTION: "LogicalRDD ExternalRDD",
        f"{_EXECUTION}.datasources": "LogicalRelation",
        f"{_EXECUTION}.datasources.v2": "DataSourceV2Relation StreamingDataSourceV2Relation",
        f"{_EXECUTION}.streaming": "StreamingRelation StreamingExecutionRelation",
        f"{_EXECUTION}.streaming.runtime": "StreamingRelation StreamingExecutionRelation",
        f"{_EXECUTION}.streaming.sources": "MemoryPlan",
        "org.apache.spark.sql.catalyst.catalog": "HiveTableRelation",
        "org.apache.spark.sql.catalyst.streaming": "StreamingRelationV2",
    }
)
def _leaf(_plan: Plan, _operator: Operator) -> OperatorLineage:
    """Leaves: sources of rows, or rows that the plan itself contains."""
    return OperatorLineage()


@rule({f"{_EXECUTION}.datasources.v2": "DataSourceV2ScanRelation StreamingDataSourceV2ScanRelation"})
def _scan(_: Plan, operator: Operator) -> OperatorLineage:
    """Scans of DataSource V2 tables: the columns of the relation pass through."""
    return OperatorLineage(passes_through=operator.children[:1])
