"""The columns of the answers of Delta Lake's commands, which Spark itself does not know."""

from __future__ import annotations

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

DETAIL = (
    "format STRING, id STRING, name STRING, description STRING, location STRING, createdAt TIMESTAMP, "
    "lastModified TIMESTAMP, partitionColumns ARRAY<STRING>, clusteringColumns ARRAY<STRING>, numFiles BIGINT, "
    "sizeInBytes BIGINT, properties MAP<STRING, STRING>, minReaderVersion INT, minWriterVersion INT, "
    "tableFeatures ARRAY<STRING>, statistics MAP<STRING, BIGINT>"
)
"""The columns of `DESCRIBE DETAIL`."""
HISTORY = (
    "version BIGINT, timestamp TIMESTAMP, userId STRING, userName STRING, operation STRING, "
    "operationParameters MAP<STRING, STRING>, readVersion BIGINT, isolationLevel STRING, isBlindAppend BOOLEAN, "
    "operationMetrics MAP<STRING, STRING>, userMetadata STRING, engineInfo STRING"
)
"""The columns of `DESCRIBE HISTORY`."""


def columns_of_answer(text: str) -> str:
    """Return the columns of a command's answer in DDL; empty if it is not a command of Delta Lake."""
    words = [each.text.upper() for each in tokens(text) if each.kind is TokenKind.WORD][:3]
    if len(words) < 3 or words[0] not in ("DESC", "DESCRIBE"):
        return ""
    return {"DETAIL": DETAIL, "HISTORY": HISTORY}.get(words[1], "")
