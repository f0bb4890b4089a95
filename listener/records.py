"""What the probe's records say in common: times, failures, and the text of statements."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from openlineage_pyspark.facets.run import Failure
from openlineage_pyspark.facets.sql_tokens import TokenKind, tokens

_WRITES = frozenset("CREATE REPLACE INSERT MERGE UPDATE DELETE WITH FROM".split())


def failure_of(record: Mapping[str, Any]) -> Failure | None:
    """Why what a record ends has failed; None where it has not."""
    error = record.get("error")
    if error is None:
        return None
    language = "PYTHON" if error["class"].endswith(".PythonException") else "JAVA"
    return Failure(error["message"], language, error["stack"] or None)


def sql_of(record: Mapping[str, Any]) -> str | None:
    """The text of the statement that began an execution, where it was one; the text of a mere query in it is not."""
    if "sql" in record:
        return str(record["sql"])
    inner = record.get("querySql")
    return str(inner) if inner is not None and _first_word(str(inner)) in _WRITES else None


def _first_word(text: str) -> str:
    """The word that a statement begins with, behind the comments before it."""
    silent = (TokenKind.SPACE, TokenKind.COMMENT)
    return next((token.text.upper() for token in tokens(text) if token.kind not in silent), "")


def time_of(milliseconds: int) -> datetime.datetime:
    """A time of Spark's, which counts from the epoch, as an aware one."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
