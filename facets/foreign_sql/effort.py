"""
Limit the effort for one query: count the nodes of its trees, and the sources in its unions.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from openlineage_pyspark.facets.foreign_sql.expressions import is_field, used_arguments
from openlineage_pyspark.facets.foreign_sql.rows import ABSENT, SourceColumn, SourceKinds
from openlineage_pyspark.facets.foreign_sql.trees import NODE, QUERIES
from openlineage_pyspark.facets.model.lineage import UseKind, compose
from sqlglot import exp

MOST_STEPS = 300_000
"""The maximum number of nodes and sources that are read for one query."""


class TooLargeError(Exception):
    """The query is too long to be read, or has too many sources."""


class Effort:
    """Walk the trees of one query, unite its sources, and count both: more than `MOST_STEPS` are refused."""

    def __init__(self) -> None:
        self._steps = 0

    def count(self, steps: int) -> None:
        """
        Count more steps.

        Raises:
            TooLargeError: there are more than `MOST_STEPS`.
        """
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise TooLargeError

    def walk(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the nodes of expressions, in order; a query is yielded, but not entered."""
        waiting = [iter(values)]
        while waiting:
            node = next(waiting[-1], ABSENT)
            if node is ABSENT:
                waiting.pop()
            elif isinstance(node, list):
                waiting.append(iter(node))
            elif isinstance(node, NODE):
                self.count(1)
                yield node
                # The parts of a name are not names themselves.
                if not isinstance(node, QUERIES) and not isinstance(node, exp.Column):
                    waiting.append(iter(node.args.values()))

    def parts(self, value: Any) -> Iterator[tuple[Any, UseKind]]:
        """Yield the nodes of an expression, each with the kind of its influence on it; a query is not entered."""
        waiting: list[Iterator[tuple[Any, UseKind]]] = [iter([(value, UseKind.IDENTITY)])]
        while waiting:
            node, kind = next(waiting[-1], (ABSENT, UseKind.IDENTITY))
            if node is ABSENT:
                waiting.pop()
            elif isinstance(node, list):
                waiting.append(iter([(each, kind) for each in node]))
            elif isinstance(node, NODE):
                self.count(1)
                yield node, kind
                # The parts of a name are not names themselves.
                if not isinstance(node, (*QUERIES, exp.Column)) and not is_field(node):
                    waiting.append(iter([(part, compose(kind, use)) for part, use in used_arguments(node)]))

    def joined(self, parts: Iterable[Any], kind: UseKind) -> SourceKinds | None:
        """Return the union of sources after a use of this kind; None if one of them is unknown."""
        found: dict[SourceColumn, frozenset[UseKind]] = {}
        for part in parts:
            if part is None or part is ABSENT:
                return None
            self.count(len(part))
            for column, kinds in part.items():
                used = kinds if kind is UseKind.IDENTITY else frozenset([compose(kind, each) for each in kinds])
                found[column] = found.get(column, used) | used
        return found

    def all(self, parts: Iterable[SourceKinds | None]) -> SourceKinds | None:
        """Return the union of sources, with their own kinds; None if one of them is unknown."""
        return self.joined(parts, UseKind.IDENTITY)

    def composed(self, sources: SourceKinds | None, kind: UseKind) -> SourceKinds | None:
        """Return sources after a use of this kind; None if they are unknown."""
        return self.joined([sources], kind)
