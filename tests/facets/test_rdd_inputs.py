"""What is told of rows that come out of an RDD: its inputs, and what is not known of them."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import Attribute, Described, Operator, Output, Plan
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage

COLUMNS = "the rows come from an RDD: its inputs are known, its columns are not"
QUERY = (
    "the rows come from an RDD: its columns are unknown, and so are the tables that its query reads by a "
    "broadcast join or a subquery"
)
UNKNOWN = "the rows come from an RDD (FileScanRDD, more inputs than are inspected) whose inputs are unknown"
QUERY_RDD = "?SQLExecutionRDD"


def of_rdd(*sources: str, streaming: bool = False) -> PlanLineage:
    """Return what is told of the rows of an RDD with those sources, which has a column."""
    rdd = Described("org.apache.spark.rdd.MapPartitionsRDD", {"id": 1, "sources": sources})
    leaf = Operator(
        "LogicalRDD",
        "org.apache.spark.sql.execution.LogicalRDD",
        {"rdd": rdd, "isStreaming": streaming},
        (Output(1, "a"),),
    )
    plan = Plan((leaf,), (), {1: Attribute("a", "int")})
    return lineage_of_plan(plan, Session("file:/w", None, "in-memory"))


@pytest.mark.parametrize(
    ("sources", "inputs", "remarks"),
    [
        ([], [], []),
        (["file:/lake/in"], ["/lake/in"], [COLUMNS]),
        (["file:/lake/in", QUERY_RDD], ["/lake/in"], [QUERY]),
        ([QUERY_RDD], [], [QUERY]),
        (["?EmptyRDD", QUERY_RDD], [], ["the rows come from an RDD (EmptyRDD) whose inputs are unknown"]),
        (["?FileScanRDD", "?..."], [], [UNKNOWN]),
        (["?checkpoint"], [], ["the rows come from an RDD (checkpoint) whose inputs are unknown"]),
        (["?checkpoint", "file:/lake/in"], ["/lake/in"], [COLUMNS]),
    ],
)
def test_the_inputs_of_an_rdd_are_told_and_what_is_not_known_of_it(
    sources: list[str], inputs: list[str], remarks: list[str]
) -> None:
    """An RDD that is empty because the driver has no rows is not told of: only that of a query has read something."""
    found = of_rdd(*sources)
    assert [dataset.identifier.name for dataset in found.inputs] == inputs
    assert [gap.message for gap in found.gaps] == remarks


def test_a_stream_of_version_one_is_not_taken_for_a_query_of_the_user() -> None:
    """Its source may make the rows of a micro-batch by a query of its own, which joins nothing."""
    assert [gap.message for gap in of_rdd("file:/lake/in", QUERY_RDD, streaming=True).gaps] == [COLUMNS]
