"""
Records of nested executions, buffered until the plan of their root execution is known.

What a nested execution is depends on the one around it: a part of its run, a write of its micro-batch, or a run of its
own. Spark forgets a query as soon as it has ended, so where the listener is late, a plan comes with the end alone, and
the nested executions end before their root does.
"""

from __future__ import annotations

import datetime
from typing import TypeAlias

import attrs
from openlineage_pyspark.listener.probe.records import ExecutionEnded, ExecutionStarted, QueryExecution, Record


@attrs.frozen
class ExecutionAnalyzed:
    """
    What the end of an execution says of its plan: a step of its own, before the end itself.

    Args:
        id: of the execution.
        time: of the end, aware.
        query: what the end says.
        is_checkpoint: whether the execution's rows go on under the plan's exprIds.
    """

    id: int
    time: datetime.datetime
    query: QueryExecution
    is_checkpoint: bool


Step: TypeAlias = Record | ExecutionAnalyzed


class NestedRecordBuffer:
    """Buffers the records of nested executions until the plan of their root is known."""

    def __init__(self) -> None:
        """Begin without any."""
        # By root, and by nested execution the root that it waits for.
        self._records: dict[int, list[ExecutionStarted | ExecutionEnded]] = {}
        self._roots: dict[int, int] = {}

    def in_order(self, record: Record) -> list[Step]:
        """
        Return what can be handled now that a record has come.

        Args:
            record: each one, in the probe's order.

        Returns:
            nothing, if the record has to wait for its root. At the end of an execution: its plan, then the records
            that have waited for it, then the end.
        """
        if not isinstance(record, (ExecutionStarted, ExecutionEnded)):
            return [record]
        if self._waits(record):
            return []
        if isinstance(record, ExecutionStarted):
            if record.id == record.root and not (record.query.has_plan or record.query.is_read):
                self._records[record.id] = []
            return [record]
        analyzed = ExecutionAnalyzed(record.id, record.time, record.query, record.is_checkpoint)
        return [analyzed, *self._release(record.id), record]

    def release_all(self) -> list[Step]:
        """Return all that still waits, because no root will end any more."""
        return [step for root in list(self._records) for step in self._release(root)]

    def _waits(self, record: ExecutionStarted | ExecutionEnded) -> bool:
        """Buffer a record, if its root is not known yet, and return whether it is buffered."""
        if isinstance(record, ExecutionStarted) and record.root != record.id and record.root in self._records:
            self._roots[record.id] = record.root
        root = self._roots.get(record.id)
        if root is None:
            return False
        self._records[root].append(record)
        return True

    def _release(self, root: int) -> list[Step]:
        """Return what has waited for a root, in order, and buffer no more for it."""
        records = self._records.pop(root, [])
        for record in records:
            self._roots.pop(record.id, None)
        return [step for record in records for step in self.in_order(record)]
