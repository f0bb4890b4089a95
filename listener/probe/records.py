"""What the probe's records say in common: times, failures, and the text of statements."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from openlineage_pyspark.facets.model.run import Failure
from openlineage_pyspark.facets.sql_lexer import TokenKind, outside_parentheses

_WRITES = frozenset("CREATE REPLACE INSERT MERGE UPDATE DELETE".split())
# What Spark says of what it cancels when it is stopped (DAGScheduler.cleanUpAfterSchedulerStop), and of what asks
# for more once it is (SparkContext.assertNotStopped, SparkContext.runJob).
_STOPPED = (
    "because SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "SparkContext has been shutdown",
)
# What either a query or a statement that writes begins with: `WITH q AS (...) INSERT`, `FROM t INSERT`.
_EITHER = frozenset(("WITH", "FROM"))


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
    """The text of the statement that began an execution, where it was one; the text of a mere query in it is not."""
    if "sql" in record:
        return str(record["sql"])
    inner = record.get("querySql")
    return str(inner) if inner is not None and _writes(str(inner)) else None


def _writes(text: str) -> bool:
    """Whether a text is a statement that writes, by the words outside of its parentheses."""
    first = ""
    for word in _words(text):
        if word in _WRITES:
            return True
        first = first or word
        if first not in _EITHER:
            return False
    return False


def _words(text: str) -> Iterator[str]:
    """The words outside of parentheses, in capitals."""
    return (token.text.upper() for token in outside_parentheses(text) if token.kind is TokenKind.WORD)


def time_of(milliseconds: int) -> datetime.datetime:
    """A time of Spark's, which counts from the epoch, as an aware one."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
