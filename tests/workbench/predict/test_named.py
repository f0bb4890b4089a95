"""DataFrames as sources with a name, on plans that are made here."""

from __future__ import annotations

from openlineage_pyspark.facets.model.plan import (
    LOGICAL_RDD,
    PROJECT,
    Attribute,
    AttributeRef,
    Expression,
    ExpressionRef,
    Operator,
    OperatorRef,
    Output,
    Plan,
)
from openlineage_pyspark.workbench.predict.named import with_sources

AMOUNT = Attribute("amount", "integer")


def source(rdd: int = 7) -> Operator:
    return Operator("LogicalRDD", LOGICAL_RDD, {"rdd": rdd}, (Output(1, "amount"),))


def test_an_expression_that_is_used_twice_at_each_of_its_levels_is_looked_at_once() -> None:
    """As a tree, it has 2 ** 200 parts."""
    levels = 200
    sums = [
        Expression("Add", {"left": ExpressionRef(at + 1), "right": ExpressionRef(at + 1)}) for at in range(1, levels)
    ]
    leaf = Expression("Cast", {"child": AttributeRef(1)})
    alias = Expression("Alias", {"child": ExpressionRef(1)}, 2, "v", "integer")
    top = Operator("Project", PROJECT, {"list": (ExpressionRef(0),), "child": OperatorRef(1)}, (Output(2, "v"),))
    plan = Plan((top, source()), (alias, *sums, leaf), {1: AMOUNT, 2: Attribute("v", "integer")})

    found = with_sources(plan, {"orders": Plan((source(),), (), {1: AMOUNT})})
    (dataset,) = found.earlier.rows[1].inputs
    assert (dataset.identifier.name, [each.name for each in dataset.fields]) == ("orders", ["amount"])


def test_operators_whose_arguments_have_one_hash_are_two() -> None:
    """-1 and -2 have the same hash in Python."""
    low, lower = source(-1), source(-2)._replace(output=(Output(2, "amount"),))
    top = Operator("Union", "a.Union", {"children": (OperatorRef(1), OperatorRef(2))}, (Output(3, "amount"),))
    plan = Plan((top, low, lower), (), dict.fromkeys((1, 2, 3), AMOUNT))
    sources = {"low": Plan((source(-1),), (), {1: AMOUNT})}

    assert with_sources(plan, sources).earlier.rows.keys() == {1}
