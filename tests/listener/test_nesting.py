"""Records of nested executions wait until the plan of their root is known, and no longer."""

from __future__ import annotations

import datetime as dt

from openlineage_pyspark.listener.probe.records import (
    ApplicationEnded,
    ExecutionEnded,
    ExecutionStarted,
    QueryExecution,
)
from openlineage_pyspark.listener.runs.executions import ExecutionAnalyzed, NestedRecordBuffer, RecordStep

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
FAULT = QueryExecution(fault="x.Error: no")


def start(id_: int, root: int | None = None, query: QueryExecution | None = None) -> ExecutionStarted:
    return ExecutionStarted(id_, id_ if root is None else root, NOW, query or QueryExecution())


def shown(steps: list[RecordStep]) -> list[str]:
    """Give the kind of each step with the id of its execution."""
    kinds = {ExecutionStarted: "start", ExecutionAnalyzed: "plan", ExecutionEnded: "end", ApplicationEnded: "app"}
    return [f"{kinds[type(step)]} {getattr(step, 'id', '')}".strip() for step in steps]


def test_what_is_nested_in_a_root_without_a_plan_comes_between_its_plan_and_its_end() -> None:
    buffer = NestedRecordBuffer()

    assert shown(buffer.in_order(start(1))) == ["start 1"]
    assert shown(buffer.in_order(start(2, root=1))) == []
    assert shown(buffer.in_order(ExecutionEnded(2, NOW))) == []
    assert shown(buffer.in_order(start(3, root=1))) == []
    assert shown(buffer.in_order(ExecutionEnded(1, NOW))) == [
        "plan 1",
        "start 2",
        "plan 2",
        "end 2",
        "start 3",
        "end 1",
    ]
    assert shown(buffer.in_order(ExecutionEnded(3, NOW))) == ["plan 3", "end 3"]
    assert buffer.release_all() == []


def test_nothing_waits_for_a_root_that_is_known() -> None:
    for query in (FAULT, QueryExecution(is_read=True)):
        buffer = NestedRecordBuffer()
        assert shown(buffer.in_order(start(1, query=query))) == ["start 1"]
        assert shown(buffer.in_order(start(2, root=1))) == ["start 2"]
        assert shown(buffer.in_order(ExecutionEnded(2, NOW))) == ["plan 2", "end 2"]


def test_nothing_waits_for_a_root_that_was_never_heard() -> None:
    assert shown(NestedRecordBuffer().in_order(start(2, root=1))) == ["start 2"]


def test_other_records_do_not_wait() -> None:
    buffer = NestedRecordBuffer()
    buffer.in_order(start(1))

    assert shown(buffer.in_order(ApplicationEnded(NOW))) == ["app"]


def test_what_waits_for_several_roots_is_released_root_by_root() -> None:
    buffer = NestedRecordBuffer()
    for record in (start(1), start(2), start(3, root=2), start(4, root=1), ExecutionEnded(4, NOW)):
        buffer.in_order(record)

    assert shown(buffer.release_all()) == ["start 4", "plan 4", "end 4", "start 3"]
    assert buffer.release_all() == []


def test_the_plan_of_an_end_is_a_step_with_all_that_the_end_says_of_it() -> None:
    analyzed, end = NestedRecordBuffer().in_order(ExecutionEnded(1, NOW, FAULT, is_checkpoint=True))

    assert analyzed == ExecutionAnalyzed(1, NOW, FAULT, is_checkpoint=True)
    assert isinstance(end, ExecutionEnded)
