"""
Find the datasets that a leaf of a plan reads, and the column that each attribute comes from.

Inputs, outputs and column lineage share the resolvers, so that a dataset has the same name in all of them.
"""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import files, jdbc, kafka, local, rdd, socket, tables, v2
from openlineage_pyspark.facets.datasets.source import SOURCES, Relation, Session
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan

__all__ = ["BUILT_IN", "SOURCES", "Relation", "Session", "relation"]

BUILT_IN = (files, tables, v2, jdbc, kafka, socket, rdd, local)
"""The modules whose import registers their sources."""


def relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """
    Return what a leaf operator reads.

    Args:
        plan: the plan of the operator.
        operator: the leaf; the resolver of a value in it takes precedence over the resolver of its own class.
        session: the session's settings.

    Returns:
        NO_DATASETS if the plan itself holds the rows; None for an operator without a resolver.
    """
    held = (value.class_name for value in operator.arguments.values() if isinstance(value, Described))
    names = (*held, operator.class_name)
    resolver = next((found for found in map(SOURCES.get, names) if found is not None), None)
    return None if resolver is None else resolver(plan, operator, session)
