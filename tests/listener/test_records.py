"""What the probe's records say in common."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.model.run import Failure
from openlineage_pyspark.listener.probe.records import end_with, sql_of


def statement(*, writes: bool) -> dict[str, object]:
    return {"class": "CreateTableAsSelect" if writes else "Project", "writes": writes, "inserts": 0}


def test_the_text_of_a_query_within_is_the_statements_where_that_writes() -> None:
    text = "CREATE TABLE t AS SELECT 1"

    assert sql_of({"querySql": text, "statement": statement(writes=True)}) == text


@pytest.mark.parametrize("known", [{}, {"statement": statement(writes=False)}])
def test_the_text_of_a_mere_query_or_of_what_is_not_known_is_not(known: dict[str, object]) -> None:
    assert sql_of({"querySql": "SELECT 1", **known}) is None


def test_the_statements_own_text_goes_before_all() -> None:
    assert sql_of({"sql": "SELECT 1", "statement": statement(writes=False)}) == "SELECT 1"
    assert sql_of({}) is None


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
