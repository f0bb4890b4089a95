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
RESTORED = (
    "table_size_after_restore BIGINT, num_of_files_after_restore BIGINT, num_removed_files BIGINT, "
    "num_restored_files BIGINT, removed_files_size BIGINT, restored_files_size BIGINT"
)
"""The columns of `RESTORE`."""
_FILES = "STRUCT<min: BIGINT, max: BIGINT, avg: DOUBLE, totalFiles: BIGINT, totalSize: BIGINT>"
OPTIMIZED = (
    f"path STRING, metrics STRUCT<numFilesAdded: BIGINT, numFilesRemoved: BIGINT, filesAdded: {_FILES}, "
    f"filesRemoved: {_FILES}, partitionsOptimized: BIGINT, numBatches: BIGINT, totalConsideredFiles: BIGINT, "
    "totalFilesSkipped: BIGINT, preserveInsertionOrder: BOOLEAN>"
)
"""The columns of `OPTIMIZE`."""
MERGED = "num_affected_rows BIGINT, num_updated_rows BIGINT, num_deleted_rows BIGINT, num_inserted_rows BIGINT"
"""The columns of `MERGE`."""


def columns_of_answer(text: str) -> str:
    """Return the columns of a command's answer in DDL; empty if it is not a command of Delta Lake."""
    words = [each.text.upper() for each in tokens(text) if each.kind is TokenKind.WORD][:3]
    if len(words) == 3 and words[0] in ("DESC", "DESCRIBE"):
        return {"DETAIL": DETAIL, "HISTORY": HISTORY}.get(words[1], "")
    return {"OPTIMIZE": OPTIMIZED, "RESTORE": RESTORED, "MERGE": MERGED}.get("".join(words[:1]), "")
