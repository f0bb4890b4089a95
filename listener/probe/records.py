"""What the probe's records say in common: times, failures, and the text of statements."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from openlineage_pyspark.facets.model.run import Failure

# What Spark says of what it cancels when it is stopped (DAGScheduler.cleanUpAfterSchedulerStop), and of what asks
# for more once it is (SparkContext.assertNotStopped, SparkContext.runJob).
_STOPPED = (
    "because SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "SparkContext has been shutdown",
)


def failure_of(record: Mapping[str, Any]) -> Failure | None:
    """Why what a record ends has failed; None where it has not."""
    error = record.get("error")
    if error is None:
        return None
    language = "PYTHON" if error["class"].endswith(".PythonException") else "JAVA"
    return Failure(error["message"], language, error["stack"] or None)


def end_with(failure: Failure | None) -> str:
    """
    The type of the event that ends a run: COMPLETE, FAIL, or ABORT where Spark was stopped while it ran.

    Args:
        failure: why it failed, if it did.
    """
    if failure is None:
        return "COMPLETE"
    text = f"{failure.message}\n{failure.stack_trace}"
    return "ABORT" if any(stopped in text for stopped in _STOPPED) else "FAIL"


def sql_of(record: Mapping[str, Any]) -> str | None:
    """
    Return the text of the statement that began an execution; None where it was no statement.

    Args:
        record: of its start or end. The text of its query alone is the statement's only if that statement writes.
    """
    if "sql" in record:
        return str(record["sql"])
    return str(record["querySql"]) if record.get("statement", {}).get("writes") else None


def time_of(milliseconds: int) -> datetime.datetime:
    """A time of Spark's, which counts from the epoch, as an aware one."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
