"""Apache Hudi's own commands, which replace Spark's for its tables."""

from __future__ import annotations

from openlineage_pyspark.facets.commands.row_level import merge, row_level
from openlineage_pyspark.facets.commands.target import (
    LOGICAL,
    Target,
    command,
    unnamed,
    write_to_relation,
    write_to_table,
)
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import Operator, OperatorRef, Plan
from openlineage_pyspark.facets.model.run import Lifecycle

HUDI = "org.apache.spark.sql.hudi.command"


@command({HUDI: "CreateHoodieTableCommand CreateHoodieTableAsSelectCommand"})
def _create(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE TABLE of Hudi, with or without a query."""
    table, query = operator.described("table"), operator.operator("query")
    if table is None:
        return unnamed(None, query)
    lifecycle: Lifecycle | None = None if query is None and table.text("kind") == "EXTERNAL" else "CREATE"
    return write_to_table(plan, table, query, (), session, lifecycle)


@command({HUDI: "InsertIntoHoodieTableCommand"})
def _insert(plan: Plan, operator: Operator, session: Session) -> Target:
    """INSERT into a table of Hudi."""
    target, query = operator.operator("logicalRelation"), operator.operator("query")
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.arguments.get("overwrite") is True else None
    return write_to_relation(plan, target, query, session, lifecycle)


@command({HUDI: "MergeIntoHoodieTableCommand UpdateHoodieTableCommand DeleteHoodieTableCommand"})
def _row_level(plan: Plan, operator: Operator, session: Session) -> Target:
    """MERGE, UPDATE and DELETE of Hudi: each contains Spark's own command."""
    for value in operator.arguments.values():
        inner = plan.operators[value.index] if isinstance(value, OperatorRef) else None
        if inner is not None and inner.class_name == f"{LOGICAL}.MergeIntoTable":
            return merge(plan, inner, session)
        if inner is not None and inner.class_name in (f"{LOGICAL}.UpdateTable", f"{LOGICAL}.DeleteFromTable"):
            return row_level(plan, inner, session)
    return unnamed(None, None)


@command({HUDI: "AlterTableCommand"})
def _alter(plan: Plan, operator: Operator, session: Session) -> Target:
    """ALTER TABLE of Hudi with `hoodie.schema.on.read.enable`: it states the table as it was before."""
    table = operator.described("table")
    return unnamed(None, None) if table is None else write_to_table(plan, table, None, (), session, "ALTER")


@command({HUDI: "CompactionHoodieTableCommand CreateIndexCommand DropIndexCommand RefreshIndexCommand"})
def _maintain(plan: Plan, operator: Operator, session: Session) -> Target:
    """RUN COMPACTION of Hudi, and its indices: the rows stay the same."""
    table = operator.described("table")
    return unnamed(None, None) if table is None else write_to_table(plan, table, None, (), session, None)
