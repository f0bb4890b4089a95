"""
Decide which commits to tables an execution has made.

The probe reports the commits that an execution may have made: all those of this application while it ran, to the tables
that it writes (Iceberg), or to any table (Delta Lake). Several threads of one application may write to one
table at the same time. A commit that may be another execution's is assigned to none.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier, TableVersions
from openlineage_pyspark.listener.latest import Latest
from openlineage_pyspark.listener.probe.records import Commit, ExecutionMetrics

_MOST_REPORTED = 10_000


@attrs.frozen
class ConcurrentExecution:
    """
    An execution that runs, or ran, beside others.

    Args:
        root: id of the outermost execution around it.
        outputs: the datasets that it writes; None if they are unknown.
        ended: when it ended (timezone-aware); None if it still runs.
    """

    root: int
    outputs: frozenset[Identifier] | None
    ended: datetime.datetime | None = None

    def contests(self, output: Identifier) -> bool:
        """Return whether it may have written this dataset."""
        return self.outputs is None or output in self.outputs


class Commits:
    """The reported commits, and the ended executions that ran beside those that still run."""

    def __init__(self) -> None:
        """Start with none."""
        # A table that is dropped and created again has the same version numbers again, at another time.
        self._reported: Latest[tuple[str, str, datetime.datetime | None], None] = Latest(_MOST_REPORTED)
        self._ended: list[ConcurrentExecution] = []

    def end(self, writer: ConcurrentExecution, oldest: datetime.datetime | None) -> None:
        """
        Remember an execution that has ended while others run.

        Args:
            writer: the execution.
            oldest: when the oldest of those others began; None if there are none.
        """
        self._ended.append(writer)
        kept = (each for each in self._ended if each.ended is not None and oldest is not None)
        self._ended = [each for each in kept if oldest is not None and each.ended is not None and each.ended >= oldest]

    def own(
        self,
        output: Identifier,
        commits: Iterable[Commit],
        metrics: ExecutionMetrics,
        began: datetime.datetime,
        running: Iterable[ConcurrentExecution],
        root: int,
    ) -> tuple[Commit, ...]:
        """
        Return the commits to one table that an execution has certainly made, oldest first.

        Args:
            output: the table.
            commits: those that it may have made.
            metrics: its metrics.
            began: when it began (timezone-aware).
            running: the executions that run now.
            root: id of the outermost execution around it; executions inside that one do not count as others.
        """
        left = tuple(each for each in commits if _key(each) not in self._reported)
        beside = [*running, *(each for each in self._ended if each.ended is not None and each.ended >= began)]
        contested = any(each.root != root and each.contests(output) for each in beside)
        found = _certain(left, metrics, contested=contested)
        for commit in found:
            self._reported.put(_key(commit), None)
        return found


def _key(commit: Commit) -> tuple[str, str, datetime.datetime | None]:
    return commit.location, commit.version, commit.time


def _certain(commits: tuple[Commit, ...], metrics: ExecutionMetrics, *, contested: bool) -> tuple[Commit, ...]:
    """Return the commits that name a streaming query, that no other execution can have made, or that fit the writes."""
    marked = tuple(each for each in commits if each.query is not None)
    if marked or not contested:
        return marked or commits
    rows = metrics.writes[0].rows if len(metrics.writes) == 1 else None
    fitting = tuple(each for each in commits if rows and each.rows == rows)
    if len(fitting) > 1:
        fitting = tuple(each for each in fitting if each.bytes == metrics.tasks.bytes_written)
    return fitting if len(fitting) == 1 else ()


def versions_of(commits: Sequence[Commit]) -> TableVersions | None:
    """Return the versions that these commits to one table made; None without commits."""
    if not commits:
        return None
    first, last = commits[0], commits[-1]
    ids = tuple(dict.fromkeys(each.version for each in commits))
    return TableVersions(last.format, ids, last.branch, first.parent, last.operation, last.table_id)
