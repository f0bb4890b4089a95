"""What waits in memory: in order, bounded, and never half a run dropped."""

from __future__ import annotations

from openlineage_pyspark.transport.backlog import Backlog, DropReason
from openlineage_pyspark.transport.event import Event

START, RUNNING, COMPLETE = "START", "RUNNING", "COMPLETE"


def event(run: str, kind: str, size: int = 10) -> Event:
    return Event(run, kind, b"x" * size)


def waiting(backlog: Backlog) -> list[tuple[str, str]]:
    found = []
    while (taken := backlog.pop()) is not None:
        found.append((taken.run_id, taken.event_type))
    return found


def filled(max_bytes: int, *events: Event) -> Backlog:
    backlog = Backlog(max_bytes)
    for one in events:
        assert backlog.put(one) == {}
    return backlog


def test_events_leave_in_the_order_in_which_they_came() -> None:
    backlog = filled(99, event("a", START), event("b", START), event("a", COMPLETE), event("b", COMPLETE))
    assert waiting(backlog) == [("a", START), ("b", START), ("a", COMPLETE), ("b", COMPLETE)]
    assert len(backlog) == 0
    assert backlog.put(event("c", START, 99)) == {}


def test_the_oldest_finished_run_goes_as_a_whole_and_no_more_than_needed() -> None:
    backlog = filled(
        60,
        event("app", START),
        event("a", START),
        event("b", START),
        event("b", COMPLETE),
        event("a", COMPLETE),
    )
    assert backlog.put(event("c", START, 15)) == {DropReason.FINISHED_RUN: 2}
    assert waiting(backlog) == [("app", START), ("b", START), ("b", COMPLETE), ("c", START)]


def test_a_run_whose_start_has_left_keeps_its_end() -> None:
    backlog = filled(20, event("a", START), event("a", COMPLETE))
    assert backlog.pop() == event("a", START)
    assert backlog.put(event("b", START, 11)) == {DropReason.NO_ROOM: 1}
    assert waiting(backlog) == [("a", COMPLETE)]


def test_a_run_whose_start_left_before_its_end_came_keeps_it_too() -> None:
    backlog = filled(20, event("a", START))
    assert backlog.pop() == event("a", START)
    assert backlog.put(event("a", COMPLETE)) == {}
    assert backlog.put(event("b", START, 11)) == {DropReason.NO_ROOM: 1}
    assert waiting(backlog) == [("a", COMPLETE)]


def test_nothing_is_dropped_in_vain_for_an_event_that_does_not_fit_anyway() -> None:
    backlog = filled(30, event("a", START), event("a", COMPLETE), event("b", START))
    assert backlog.put(event("c", START, 21)) == {DropReason.NO_ROOM: 1}
    assert backlog.put(event("c", START, 31)) == {DropReason.NO_ROOM: 1}
    assert waiting(backlog) == [("a", START), ("a", COMPLETE), ("b", START)]


def test_an_event_never_drops_its_own_run() -> None:
    backlog = filled(20, event("a", START), event("a", COMPLETE))
    assert backlog.put(event("a", COMPLETE, 5)) == {DropReason.NO_ROOM: 1}
    assert len(backlog) == 2
