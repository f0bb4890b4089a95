"""Executions that have begun, and statements that Spark runs as several of them."""

from __future__ import annotations

import datetime

import attrs
from openlineage_pyspark.facets.plan_lineage import PlanLineage
from openlineage_pyspark.listener.probe.records import QueryExecution


@attrs.define(eq=False)
class Statement:
    """
    A statement of several executions, one after the other.

    Args:
        left: how many have still to end.
        run: key of the run that they all belong to, once there is one.
    """

    left: int
    run: str | None = None


@attrs.define
class Execution:
    """
    An execution that has begun.

    Args:
        id: Spark's.
        root: id of the execution around all others that it is in; its own where there is none.
        time: when it began, aware.
        sql: text of its statement.
        stream: id of the streaming query's run whose micro-batch it is.
        unresolved: full JVM name of the parsed plan's root, where the analysis failed.
        settled: whether its plan was seen, or is of no interest.
        plan_lineage: what the plan says.
        statement: the statement that it is one of several executions of.
    """

    id: int
    root: int
    time: datetime.datetime
    sql: str | None = None
    stream: str | None = None
    unresolved: str | None = None
    settled: bool = False
    plan_lineage: PlanLineage | None = None
    statement: Statement | None = None

    @property
    def key(self) -> str:
        """The key of the run that it began or is a part of."""
        if self.statement is not None and self.statement.run is not None:
            return self.statement.run
        return str(self.id) if self.stream is None else self.stream


class Statements:
    """
    The statements of several executions that have not ended.

    Up to Spark 3.5, each INSERT of `FROM t INSERT INTO a ... INSERT INTO b ...` is an execution of its own; later they
    are one, whose plan is no command. All have one text, which is the very same object in the JVM.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._open: dict[tuple[int | None, str], Statement] = {}

    def of(self, query: QueryExecution) -> Statement | None:
        """
        Return the statement that an execution is a part of.

        Args:
            query: of the execution, with its plan.

        Returns:
            None for an execution that is its whole statement.
        """
        text = query.sql or query.query_sql
        inserts = query.statement.inserts if query.statement is not None else 0
        if not query.is_command or text is None or inserts < 2:
            return None
        return self._open.setdefault((query.text_identity, text), Statement(inserts))

    def end(self, statement: Statement, *, failed: bool) -> bool:
        """
        Count the end of an execution; where one has failed, Spark begins no other.

        Returns:
            whether the statement has ended with it.
        """
        statement.left -= 1
        if statement.left > 0 and not failed:
            return False
        self._open = {key: other for key, other in self._open.items() if other is not statement}
        return True
