"""The plan of an append to a table of Delta Lake, as the probe reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.model.plan import Attribute, Described, Operator, OperatorRef, Output, Plan, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_RELATION = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation"
_TABLE = "org.apache.spark.sql.delta.catalog.DeltaTableV2"


def append_plan(there: Sequence[str], written: Sequence[str], *, by_name: bool = True, generated: Value = None) -> Plan:
    """
    Return the plan of an append of the columns of another table.

    Args:
        there: the columns of the table.
        written: the columns that are appended.
        by_name: whether they are matched by their names.
        generated: the computed columns of the table.
    """
    target = Described(_TABLE, {"name": "t", "location": "/t", "provider": "delta", "generated": generated})
    source = Described(_TABLE, {"name": "s", "location": "/s", "provider": "delta"})
    attributes = {at: Attribute(name, "int") for at, name in enumerate((*there, *written))}
    columns = tuple(Output(at, name) for at, name in enumerate(there))
    read = tuple(Output(len(there) + at, name) for at, name in enumerate(written))
    arguments: dict[str, Value] = {"table": OperatorRef(1), "query": OperatorRef(2), "isByName": by_name}
    operators = (
        Operator("AppendData", f"{_LOGICAL}AppendData", arguments, (), (2,)),
        Operator("DataSourceV2Relation", _RELATION, {"table": target}, columns, ()),
        Operator("DataSourceV2Relation", _RELATION, {"table": source}, read, ()),
    )
    return Plan(operators, (), attributes)
