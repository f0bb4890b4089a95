"""
Records of nested executions that were heard before their root could be told apart.

Spark forgets a query as soon as it has ended. Where the listener is late, the plan comes with the end alone, and the
executions within another end first. What they are depends on the one around them: a part of its run, a write of its
micro-batch, or a run of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.plan_lineage import PlanLineage


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
        time: when it began, in milliseconds since the epoch.
        sql: text of its statement.
        stream: of the streaming query's run whose micro-batch it is.
        unresolved: class of the plan, where that could not be analysed.
        settled: whether its plan was seen.
        plan_lineage: what that says.
        statement: which it is one of several executions of.
    """

    id: int
    root: int
    time: int
    sql: str | None = None
    stream: str | None = None
    unresolved: str | None = None
    settled: bool = False
    plan_lineage: PlanLineage | None = None
    statement: Statement | None = None

    @property
    def key(self) -> str:
        """What the run is found by that it began or is a part of."""
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
        self._open: dict[tuple[int, str], Statement] = {}

    def of(self, record: Mapping[str, Any]) -> Statement | None:
        """
        The statement that an execution is a part of.

        Args:
            record: of its start or end, with its plan.

        Returns:
            None for an execution that is its whole statement.
        """
        text = record.get("sql") or record.get("querySql")
        inserts = record.get("statement", {}).get("inserts", 0)
        if not record.get("command") or text is None or inserts < 2:
            return None
        return self._open.setdefault((record["text"], text), Statement(inserts))

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


class Undecided:
    """Keeps the records of nested executions until their root is known."""

    def __init__(self) -> None:
        """Begin without any."""
        self._records: dict[int, list[Mapping[str, Any]]] = {}
        self._roots: dict[int, int] = {}

    def begin(self, root: int) -> None:
        """From now on, keep what is heard of the executions within a root."""
        self._records[root] = []

    def keeps(self, record: Mapping[str, Any]) -> bool:
        """
        Keep a record of an execution, if it belongs to such a root.

        Args:
            record: of a start or an end.

        Returns:
            whether it is kept.
        """
        id_ = record["id"]
        if record["k"] == "start" and record["root"] != id_ and record["root"] in self._records:
            self._roots[id_] = record["root"]
        root = self._roots.get(id_)
        if root is None:
            return False
        self._records[root].append(record)
        return True

    def release(self, root: int) -> list[Mapping[str, Any]]:
        """Give back what was kept for a root, in order, and keep no more for it."""
        records = self._records.pop(root, [])
        for record in records:
            self._roots.pop(record["id"], None)
        return records

    def release_all(self) -> list[Mapping[str, Any]]:
        """Give back what was kept for all roots."""
        return [record for root in list(self._records) for record in self.release(root)]
