"""A write may add columns to a table: the plan has the schema from before."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from support.delta_append import append_plan


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
    (output,) = lineage_of_plan(append_plan(("id", "a"), written, by_name=by_name), Session("file:/wh")).outputs
    assert [(field.name, field.type) for field in output.write.dataset.fields] == [(name, "int") for name in expected]
