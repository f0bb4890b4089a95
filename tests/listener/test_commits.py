"""Whose the commits are that an execution may have made: nobody's, as soon as they may be another's."""

from __future__ import annotations

import datetime as dt

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Identifier, Statistics, TableVersions
from openlineage_pyspark.listener.probe.records import Commit, ExecutionMetrics, TaskMetrics
from openlineage_pyspark.listener.runs.commits import Commits, ConcurrentExecution, versions_of

TABLE, OTHER = Identifier("file", "/lake/t"), Identifier("file", "/lake/u")


def at(second: int) -> dt.datetime:
    return dt.datetime(2026, 1, 2, 3, 4, second, tzinfo=dt.timezone.utc)


def commit(version: str, rows: int | None = None, size: int | None = None, query: str | None = None) -> Commit:
    return Commit("iceberg", "/lake/t", version, at(2), query=query, rows=rows, bytes=size)


def wrote(rows: int | None, size: int = 0, writes: int = 1) -> ExecutionMetrics:
    return ExecutionMetrics((), (Statistics(rows),) * writes, TaskMetrics(0, rows or 0, size))


def own(
    commits: list[Commit], metrics: ExecutionMetrics, *others: ConcurrentExecution, told: Commits | None = None
) -> list[str]:
    found = (told or Commits()).own(TABLE, commits, metrics, at(1), others, root=5)
    return [each.version for each in found]


HERE, ELSEWHERE, UNKNOWN = (
    ConcurrentExecution(9, outputs) for outputs in (frozenset({TABLE}), frozenset({OTHER}), None)
)


def test_all_are_its_own_if_nothing_else_writes_to_the_table() -> None:
    commits = [commit("1", rows=3), commit("2")]

    inside = ConcurrentExecution(5, frozenset({TABLE}))

    assert own(commits, wrote(3)) == own(commits, wrote(3), ELSEWHERE, inside) == ["1", "2"]


@pytest.mark.parametrize("other", [HERE, UNKNOWN])
@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (wrote(3, 100), ["1"]),
        (wrote(4, 70), ["3"]),
        (wrote(4, 60), []),
        (wrote(5), []),
        (wrote(0), []),
        (wrote(None), []),
        (wrote(3, 100, writes=2), []),
    ],
)
def test_what_another_may_have_committed_is_told_by_rows_and_then_by_bytes_or_not_at_all(
    other: ConcurrentExecution, metrics: ExecutionMetrics, expected: list[str]
) -> None:
    commits = [commit("1", 3, 100), commit("2", 4, 90), commit("3", 4, 70), commit("4", None), commit("5", 0)]

    assert own(commits, metrics, other) == expected


def test_a_commit_that_is_marked_with_the_micro_batch_is_its_own_whoever_writes_too() -> None:
    assert own([commit("1", 3), commit("2", 3, query="q")], wrote(3), HERE) == ["2"]


def test_a_commit_is_told_once() -> None:
    told = Commits()
    first, second = commit("1", 3), commit("2", 3)

    assert own([first], wrote(3), HERE, told=told) == ["1"]
    assert own([first, second], wrote(3), HERE, told=told) == ["2"]
    assert own([first, second], wrote(3), told=told) == []


def test_a_table_that_was_dropped_and_made_again_has_its_numbers_again() -> None:
    told = Commits()
    first = commit("1", 3)
    again = attrs.evolve(first, time=at(4))

    assert own([first], wrote(3), told=told) == ["1"]
    assert own([first, again], wrote(3), told=told) == ["1"]
    assert own([again], wrote(3), told=told) == []


def test_an_execution_that_has_ended_contests_what_was_committed_while_it_ran() -> None:
    told = Commits()
    commits = [commit("1"), commit("2")]
    told.end(ConcurrentExecution(9, frozenset({TABLE}), at(3)), oldest=at(2))

    assert own(commits, wrote(3), told=told) == []
    # It had ended when this one began.
    assert told.own(TABLE, commits, wrote(3), at(4), (), root=5) == (*commits,)


def test_what_ran_inside_of_an_execution_does_not_contest_its_commits_nor_what_nothing_ran_beside() -> None:
    told = Commits()
    told.end(ConcurrentExecution(5, frozenset({TABLE}), at(3)), oldest=at(1))
    assert own([commit("1")], wrote(3), told=told) == ["1"]

    told.end(ConcurrentExecution(9, frozenset({TABLE}), at(9)), oldest=None)
    assert own([commit("2")], wrote(3), told=told) == ["2"]


def test_the_versions_of_commits_are_in_order_with_the_one_before_the_first() -> None:
    first = Commit("iceberg", "/lake/t", "1", parent="0", operation="append")
    last = Commit("iceberg", "/lake/t", "2", parent="1", operation="overwrite", branch="audit")

    assert versions_of([]) is None
    assert versions_of([first, last]) == TableVersions("iceberg", ("1", "2"), "audit", "0", "overwrite")
