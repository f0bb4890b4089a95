"""Leaves that hold or generate their rows, and read no dataset."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets.source import NO_DATASETS, SOURCES, Relation, Session, reads, source
from openlineage_pyspark.facets.model.plan import LOCAL_RELATION, Operator, Plan

SOURCES.unread.update(
    {
        "LocalRelation": ("data", "stream"),
        "CommandResult": ("rows", "commandPhysicalPlan"),
        "Transpose": ("data",),
    }
)


@source(
    {
        "org.apache.spark.sql.catalyst.plans.logical": """
            LocalRelation OneRowRelation Range CommandResult EmptyRelation PythonWorkerLogs""",
        "org.apache.spark.sql.execution.streaming": "MemoryStreamTable MemoryStream",
        "org.apache.spark.sql.execution.streaming.runtime": "MemoryStreamTable MemoryStream",
        # Up to Spark 3.5, a stream's relation has its source and not its table.
        "org.apache.spark.sql.execution.streaming.sources": """
            RateStreamTable RateStreamMicroBatchStream RatePerMicroBatchTable RatePerMicroBatchStream
            ContinuousMemoryStream LowLatencyMemoryStream""",
        "org.apache.spark.sql.execution.streaming.continuous": "RateStreamContinuousStream",
    }
)
@reads({LOCAL_RELATION: {"names": "#namesInValues", "scope": "#variablesInUse"}})
def local_rows(_plan: Plan, _operator: Operator, _session: Session) -> Relation:
    """Resolve a leaf whose rows come from no dataset."""
    return NO_DATASETS


@source({"org.apache.spark.sql.execution.streaming.sources": "MemoryPlan"})
def rows_of_stream(_plan: Plan, _operator: Operator, _session: Session) -> Relation:
    """Resolve the table of a memory sink: it keeps the rows that a stream has written, and nothing of its query."""
    return Relation((), opaque="the rows of a stream's memory sink: what the stream reads is unknown")


@source({"org.apache.spark.sql.catalyst.plans.logical": "Transpose"})
def transposed_rows(_plan: Plan, _operator: Operator, _session: Session) -> Relation:
    """Resolve the rows of `transpose()`: Spark has already run the query, and keeps only its rows."""
    return Relation((), opaque="Spark ran the query of transpose() while analyzing: its inputs are unknown")
