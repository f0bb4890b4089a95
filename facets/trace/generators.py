"""The text of a generator's call, which says whether a row without elements is kept."""

from __future__ import annotations

from openlineage_pyspark.facets.model.plan import ExpressionRef, Operator, Plan, Sql, Value

_OUTER = {
    "Explode": ("explode(", "explode_outer("),
    "PosExplode": ("posexplode(", "posexplode_outer("),
    "Inline": ("inline(", "inline_outer("),
    "VariantExplode": ("variant_explode(", "variant_explode_outer("),
}
"""Simple name of a generator -> how its call begins, and how that of its outer form does."""


def sql_of(plan: Plan, operator: Operator, value: Value) -> str | Sql | None:
    """
    Return the SQL of an expression of an operator.

    Spark has one expression for `explode` and `explode_outer`: the operator says which of them it is, as it does of
    `LATERAL VIEW OUTER`. A generator without an outer form is called with the word OUTER.
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
