"""A write may add columns to a table: the plan has the schema from before."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import Attribute, Described, Operator, OperatorRef, Output, Plan, Value
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
RELATION = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation"
TABLE = "org.apache.spark.sql.delta.catalog.DeltaTableV2"


@pytest.mark.parametrize(
    ("by_name", "written", "expected"),
    [
        (True, ("A", "id"), ["id", "a"]),
        (True, ("c", "ID", "a", "b"), ["id", "a", "c", "b"]),
        (True, ("b",), ["id", "a", "b"]),
        (False, ("x", "y"), ["id", "a"]),
        (False, ("x", "y", "z"), ["id", "a", "z"]),
    ],
)
def test_the_columns_that_a_write_adds_are_in_the_schema_of_its_table(
    by_name: bool,  # noqa: FBT001 (a parameter of pytest)
    written: tuple[str, ...],
    expected: list[str],
) -> None:
    target, source = (Described(TABLE, {"name": at, "location": f"/{at}", "provider": "delta"}) for at in "ts")
    there = ("id", "a")
    attributes = {at: Attribute(name, "int") for at, name in enumerate((*there, *written))}
    columns = tuple(Output(at, name) for at, name in enumerate(there))
    read = tuple(Output(len(there) + at, name) for at, name in enumerate(written))
    arguments: dict[str, Value] = {"table": OperatorRef(1), "query": OperatorRef(2), "isByName": by_name}
    operators = (
        Operator("AppendData", f"{LOGICAL}AppendData", arguments, (), (2,)),
        Operator("DataSourceV2Relation", RELATION, {"table": target}, columns, ()),
        Operator("DataSourceV2Relation", RELATION, {"table": source}, read, ()),
    )
    (output,) = lineage_of_plan(Plan(operators, (), attributes), Session("file:/wh")).outputs
    assert [(field.name, field.type) for field in output.write.dataset.fields] == [(name, "int") for name in expected]
