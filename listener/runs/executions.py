"""The executions that have begun, and the statements that Spark runs as several of them."""

from __future__ import annotations

import datetime
from typing import TypeAlias

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.model.run import CallSite
from openlineage_pyspark.facets.model.session import StatementSession
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.listener.probe.records import (
    BatchExecution,
    ExecutionEnded,
    ExecutionStarted,
    QueryExecution,
    Record,
    TableDropped,
)


@attrs.define(eq=False)
class SplitStatement:
    """
    A statement that Spark runs as several executions, one after the other.

    Args:
        left: how many of them have not ended yet.
        run: key of the run that they all belong to; None until that run begins.
    """

    left: int
    run: str | None = None


@attrs.define
class Execution:
    """
    An execution that has begun.

    Args:
        id: Spark's execution id.
        root: id of the outermost execution around it; its own id if there is none.
        time: when it began (timezone-aware).
        sql: text of its statement.
        stream: id of the streaming query's run, if this is one of its micro-batches.
        batch: which of its micro-batches this is.
        unresolved: full name of the Java class of the parsed plan's root, if the analysis failed.
        settled: whether its plan was seen, or does not matter.
        plan_lineage: the lineage of its plan.
        statement: its statement, if that is run as several executions.
        dropped: the tables that Spark has dropped since it began.
        call_site: the line of Python that runs it; None if it is unknown.
        session: the settings of its session; None if they are unknown.
        held: its query and lineage while it is held back, because only the tables that Spark has dropped by its end
            show whether it did anything.
    """

    id: int
    root: int
    time: datetime.datetime
    sql: str | None = None
    stream: str | None = None
    batch: BatchExecution | None = None
    unresolved: str | None = None
    settled: bool = False
    plan_lineage: PlanLineage | None = None
    statement: SplitStatement | None = None
    dropped: set[str] = attrs.Factory(set)
    call_site: CallSite | None = None
    session: StatementSession | None = None
    held: tuple[QueryExecution, PlanLineage] | None = None

    @property
    def key(self) -> str:
        """The key of the run that it began or belongs to."""
        if self.statement is not None and self.statement.run is not None:
            return self.statement.run
        return str(self.id) if self.stream is None else self.stream


class Executions(dict[int, Execution]):
    """The executions that have begun and not ended, by their ids."""

    def of(self, step: ExecutionStarted | ExecutionAnalyzed) -> Execution:
        """Return the execution of a step, which may not have begun here yet."""
        if isinstance(step, ExecutionStarted):
            return Execution(step.id, step.root, step.time, call_site=step.call_site, session=step.session)
        # An end without a start: the listener was attached after the execution began.
        execution = self.get(step.id) or Execution(step.id, step.id, step.time)
        execution.session = execution.session or step.session
        return execution

    def batch_of(self, execution: Execution) -> BatchExecution | None:
        """Return the micro-batch that an execution is, or in which it writes."""
        around = self.get(execution.root)
        return execution.batch or (around.batch if around is not None else None)

    def repeats(self, execution: Execution, stream: str | None) -> bool:
        """Return whether an execution is inside another one of its micro-batch, and so only fetches its result."""
        around = self.get(execution.root) if execution.root != execution.id else None
        return stream is not None and around is not None and around.stream == stream

    def outputs_of(self, execution: Execution) -> tuple[Identifier, ...]:
        """
        Return the outputs of an execution or, if its plan has none, of the executions with its root.

        Returns:
            The output of each write of the execution's own plan, in their order; of other executions, only if there is
            one.
        """
        own = [execution] if execution.plan_lineage is not None and execution.plan_lineage.outputs else None
        found = own or [each for each in self.values() if each.root == execution.root]
        plans = (each.plan_lineage for each in found if each.plan_lineage is not None)
        outputs = tuple(output.write.dataset.identifier for plan in plans for output in plan.outputs)
        return outputs if own or len(set(outputs)) == 1 else ()


class SplitStatements:
    """
    Keeps the statements that run as several executions and have not ended.

    Up to Spark 3.5, each INSERT of `FROM t INSERT INTO a ... INSERT INTO b ...` is a separate execution; later versions
    run them as one execution, whose plan is not a command. They share one text, which is the same object in the JVM.
    """

    def __init__(self) -> None:
        """Start with no statements."""
        self._open: dict[tuple[int | None, str], SplitStatement] = {}

    def of(self, query: QueryExecution) -> SplitStatement | None:
        """
        Return the statement that an execution is part of.

        Returns:
            The statement; None for an execution that is its whole statement.
        """
        text = query.sql or query.query_sql
        inserts = query.statement.inserts if query.statement is not None else 0
        if not query.is_command or text is None or inserts < 2:
            return None
        return self._open.setdefault((query.text_identity, text), SplitStatement(inserts))

    def end(self, statement: SplitStatement, *, failed: bool) -> bool:
        """
        Count the end of one execution. If it failed, Spark does not begin the remaining ones.

        Returns:
            Whether the statement has ended too.
        """
        statement.left -= 1
        if statement.left > 0 and not failed:
            return False
        self._open = {key: other for key, other in self._open.items() if other is not statement}
        return True


# Hold back the records of nested executions until the plan of their root is known.


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
