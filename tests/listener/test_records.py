"""What the probe's records say in common."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.model.run import Failure
from openlineage_pyspark.listener.probe.records import end_with, sql_of


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t SELECT 1",
        "  with q AS (SELECT 1) INSERT INTO t SELECT * FROM q",
        "FROM s INSERT INTO t SELECT a INSERT INTO u SELECT b",
        "-- first\n/* then /* inner */ */ create TABLE t",
    ],
)
def test_the_text_of_a_query_within_is_the_statements_where_it_is_one(text: str) -> None:
    assert sql_of({"querySql": text}) == text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "created",
        "",
        "/* INSERT */ SELECT 1",
        "-- INSERT",
        "WITH q AS (SELECT 'INSERT' AS `insert`) SELECT * FROM q",
        "SELECT 1 AS insert",
        "FROM s SELECT a",
    ],
)
def test_the_text_of_a_mere_query_is_not(text: str) -> None:
    assert sql_of({"querySql": text}) is None


def test_the_statements_own_text_goes_before_all() -> None:
    assert sql_of({"sql": "SELECT 1", "querySql": "INSERT INTO t"}) == "SELECT 1"
    assert sql_of({}) is None


def test_many_comments_before_a_query_take_no_time() -> None:
    """A pattern that can divide them in several ways would take years, and hold the user's thread that long."""
    assert sql_of({"querySql": "/* a */ " * 10_000 + "SELECT 1"}) is None


@pytest.mark.parametrize(
    "stopped",
    [
        "Job 3 cancelled because SparkContext was shut down",
        "Task serialization failed: java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
        "SparkContext has been shutdown",
    ],
)
def test_what_ends_because_spark_is_stopped_is_aborted_and_has_not_failed(stopped: str) -> None:
    assert end_with(Failure(stopped, "JAVA")) == "ABORT"
    assert end_with(Failure("Job aborted.", "JAVA", f"x\nCaused by: org.apache.spark.Any: {stopped}")) == "ABORT"


def test_what_ends_for_another_reason_is_complete_or_has_failed() -> None:
    assert end_with(None) == "COMPLETE"
    assert end_with(Failure("Job 3 cancelled", "JAVA", None)) == "FAIL"
