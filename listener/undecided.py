"""
Records of nested executions that were heard before their root could be told apart.

Spark forgets a query as soon as it has ended. Where the listener is late, the plan comes with the end alone, and the
executions within another end first. What they are depends on the one around them: a part of its run, a write of its
micro-batch, or a run of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
