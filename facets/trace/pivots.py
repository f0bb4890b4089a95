"""The expressions that Spark puts around the aggregates of a PIVOT."""

from __future__ import annotations

from openlineage_pyspark.facets.model.plan import AttributeRef, ExpressionRef, Plan, Value

_NAME = "__pivot_"


def is_of_pivot(plan: Plan, value: Value) -> bool:
    """
    Return whether an expression is one that Spark has made for a PIVOT, and so has no text of the user's.

    It collects the aggregates of all values of the pivoted column (PivotFirst), or takes that of one value.
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
