"""Hold back the records of nested executions until the plan of their root is known."""

from __future__ import annotations

import datetime
from typing import TypeAlias

import attrs
from openlineage_pyspark.facets.model.session import StatementSession
from openlineage_pyspark.listener.probe.records import (
    ExecutionEnded,
    ExecutionStarted,
    QueryExecution,
    Record,
    TableDropped,
)


@attrs.frozen
class ExecutionAnalyzed:
    """
    The plan that came with the end of an execution: a separate step, before the end itself.

    Args:
        id: the execution's id.
        time: when the execution ended (timezone-aware).
        query: the query as reported at the end.
        is_checkpoint: whether later plans use the execution's rows under this plan's exprIds.
        session: the settings of its session, if the start did not have them; else None.
        rdd: the number of the RDD with the rows of a checkpoint; None if it is unknown.
    """

    id: int
    time: datetime.datetime
    query: QueryExecution
    is_checkpoint: bool
    session: StatementSession | None = None
    rdd: int | None = None


RecordStep: TypeAlias = Record | ExecutionAnalyzed


class NestedRecordBuffer:
    """Buffers the records of nested executions until the plan of their root is known."""

    def __init__(self) -> None:
        """Start with nothing buffered."""
        # Records by root; and for each nested execution, the root that it waits for.
        self._records: dict[int, list[ExecutionStarted | ExecutionEnded | TableDropped]] = {}
        self._roots: dict[int, int] = {}

    def in_order(self, record: Record) -> list[RecordStep]:
        """
        Return the steps that can be handled now that a record has arrived.

        Args:
            record: the next record; pass every record, in the probe's order.

        Returns:
            Nothing if the record must wait for its root. At the end of an execution: its plan, then the records that
            waited for it, then the end.
        """
        if isinstance(record, TableDropped):
            # It concerns the executions that have been handled, and also those that wait.
            for waiting in self._records.values():
                waiting.append(record)
        if not isinstance(record, (ExecutionStarted, ExecutionEnded)):
            return [record]
        if self._waits(record):
            return []
        if isinstance(record, ExecutionStarted):
            if record.id == record.root and not (record.query.has_plan or record.query.is_read):
                self._records[record.id] = []
            return [record]
        analyzed = ExecutionAnalyzed(
            *(record.id, record.time, record.query, record.is_checkpoint, record.session, record.rdd)
        )
        return [analyzed, *self._release(record.id), record]

    def release_all(self) -> list[RecordStep]:
        """Return everything still buffered, since no more roots will end."""
        return [step for root in list(self._records) for step in self._release(root)]

    def _waits(self, record: ExecutionStarted | ExecutionEnded) -> bool:
        """Buffer a record if its root is not yet known; return whether it was buffered."""
        if isinstance(record, ExecutionStarted) and record.root != record.id and record.root in self._records:
            self._roots[record.id] = record.root
        root = self._roots.get(record.id)
        if root is None:
            return False
        self._records[root].append(record)
        return True

    def _release(self, root: int) -> list[RecordStep]:
        """Return the records buffered for a root, in order, and stop buffering for it."""
        records = self._records.pop(root, [])
        found: list[RecordStep] = []
        for record in records:
            if not isinstance(record, TableDropped):
                self._roots.pop(record.id, None)
        for record in records:
            found += [record] if isinstance(record, TableDropped) else self.in_order(record)
        return found
