"""The order in which events go: within a run, between runs, and what is dropped for want of room."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.transport.delivery.queue import Entry, RunQueue


def entry(
    run: str, kind: str = "RUNNING", parent: str | None = None, size: int = 1, reads: str = "", writes: str = ""
) -> Entry:
    return Entry(run, parent, kind, size, reads=frozenset(reads.split()), writes=frozenset(writes.split()))


def waiting(*entries: Entry) -> RunQueue:
    queue = RunQueue()
    for one in entries:
        queue.put(one)
    return queue


def drain(queue: RunQueue) -> list[str]:
    order = []
    while (one := queue.take(0.0)) is not None:
        order.append(f"{one.run_id} {one.event_type}")
        queue.done(one)
    return order


def test_the_oldest_goes_first_whatever_its_run() -> None:
    queue = waiting(entry("a", "START"), entry("b", "START"), entry("a", "COMPLETE"), entry("b", "FAIL"))
    assert (len(queue), queue.size) == (4, 4)
    assert drain(queue) == ["a START", "b START", "a COMPLETE", "b FAIL"]
    assert (len(queue), queue.size, queue.in_flight) == (0, 0, 0)


def test_a_run_has_one_event_in_flight_at_a_time_and_others_pass_it() -> None:
    queue = waiting(entry("a", "START"), entry("b", "START"), entry("a", "COMPLETE"))
    first = queue.take(0.0)
    second = queue.take(0.0)
    assert first is not None
    assert second is not None
    assert (first.run_id, second.run_id, queue.in_flight) == ("a", "b", 2)
    assert queue.take(0.0) is None
    queue.done(first)
    assert drain(queue) == ["a COMPLETE"]


def test_what_is_to_be_tried_again_holds_its_own_run_alone_until_its_time() -> None:
    queue = waiting(entry("a", "START"), entry("b", "START"), entry("a", "COMPLETE"))
    first = queue.take(0.0)
    assert first is not None
    queue.postpone(first, 5.0)
    assert queue.next_time() == 5.0
    assert drain(queue) == ["b START"]
    assert queue.take(4.9) is None
    assert queue.take(5.0) is first
    queue.postpone(first, 9.0)
    queue.hurry()
    assert drain(queue) == ["a START", "a COMPLETE"]


def ends_and_begins(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Return whether a second run begins while the end of the first is still in flight."""
    reads, writes = first
    queue = waiting(
        entry("a", "START", reads=reads, writes=writes),
        entry("a", "COMPLETE", reads=reads, writes=writes),
        entry("b", "START", reads=second[0], writes=second[1]),
    )
    start = queue.take(0.0)
    assert start is not None
    queue.done(start)
    complete = queue.take(0.0)
    assert complete is not None
    assert (complete.run_id, complete.event_type) == ("a", "COMPLETE")
    begins = queue.take(0.0) is not None
    queue.done(complete)
    assert drain(queue) == ([] if begins else ["b START"])
    return begins


def test_no_run_begins_before_those_are_over_that_wrote_what_it_reads_or_touched_what_it_writes() -> None:
    assert not ends_and_begins(("", "t"), ("t", "u"))
    assert not ends_and_begins(("", "t"), ("", "t"))
    assert not ends_and_begins(("t", "u"), ("", "t"))
    assert ends_and_begins(("s", "t"), ("s", "u"))
    assert ends_and_begins(("", "t"), ("", ""))


def test_a_run_waits_for_the_end_of_one_before_it_through_every_attempt_and_not_for_one_beside_it() -> None:
    queue = waiting(
        entry("a", "START", writes="t"),
        entry("a", "COMPLETE", writes="t"),
        entry("b", "START", reads="t", writes="u"),
        entry("c", "START", reads="u"),
        entry("b", "COMPLETE", reads="t", writes="u"),
    )
    start = queue.take(0.0)
    assert start is not None
    queue.postpone(start, 5.0)
    # The third run began before the second was over; the second began after the first was.
    only = queue.take(1.0)
    assert only is not None
    assert only.run_id == "c"
    queue.done(only)
    assert queue.take(1.0) is None
    assert queue.take(5.0) is start
    queue.done(start)
    assert drain(queue) == ["a COMPLETE", "b START", "b COMPLETE"]


def test_an_end_that_the_receiver_keeps_putting_off_holds_up_its_own_run_alone() -> None:
    for answers, attempts, waits in ((1, 1, True), (2, 9, True), (3, 3, False), (0, 10, False)):
        queue = waiting(entry("a", "COMPLETE", writes="t"), entry("b", "START", reads="t"))
        complete = queue.take(0.0)
        assert complete is not None
        complete.put_off, complete.attempts = answers, attempts
        queue.postpone(complete, 9.0)
        queue.hurry()
        assert queue.take(0.0) is complete
        assert (queue.take(0.0) is None) == waits


def test_runs_of_two_spools_have_no_order() -> None:
    queue = RunQueue()
    queue.put(entry("new", "START", reads="t"))
    old = entry("old", "COMPLETE", writes="t")
    old.spool = cast("Any", object())
    queue.put(old, first=True)
    taken = [queue.take(0.0), queue.take(0.0)]
    assert [one.run_id for one in taken if one is not None] == ["old", "new"]


def test_the_start_that_a_child_waits_for_does_not_wait_for_the_childs_end() -> None:
    queue = waiting(entry("q", "START", "app", writes="t"), entry("q", "COMPLETE", "app", writes="t"))
    start = queue.take(0.0)
    assert start is not None
    queue.put(entry("app", "START", reads="t"))
    queue.postpone(start, 1.0)
    assert queue.take(0.0) is None
    queue.hurry()
    assert drain(queue) == ["app START", "q START", "q COMPLETE"]


def test_children_wait_for_the_start_of_their_parent_and_not_for_its_end() -> None:
    queue = waiting(
        entry("app", "START"), entry("q", "START", "app"), entry("app", "COMPLETE"), entry("r", "START", "app")
    )
    start = queue.take(0.0)
    assert start is not None
    assert queue.take(0.0) is None
    queue.postpone(start, 5.0)
    assert queue.take(1.0) is None
    start = queue.take(5.0)
    assert start is not None
    queue.done(start)
    queue.put(entry("s", "START", "app"))
    assert drain(queue) == ["q START", "app COMPLETE", "r START", "s START"]


def test_what_was_left_behind_goes_before_all_that_came_since() -> None:
    queue = waiting(entry("new", "START"))
    for kind in ("START", "COMPLETE"):
        queue.put(entry("old", kind, size=0), first=True)
    assert drain(queue) == ["old START", "old COMPLETE", "new START"]


def test_only_finished_runs_that_wait_as_a_whole_are_dropped_the_oldest_first_and_no_more_than_needed() -> None:
    queue = waiting(
        entry("begun", "START"),
        *(entry(run, kind, size=10) for run in ("a", "b", "c") for kind in ("START", "COMPLETE")),
        entry("open", "START", size=10),
        entry("tail", "COMPLETE", size=10),
    )
    first = queue.take(0.0)
    assert first is not None
    queue.put(entry("begun", "COMPLETE"))
    assert queue.drop_finished(1000, "new") == []
    assert [one.run_id for one in queue.drop_finished(21, "a")] == ["b", "b", "c", "c"]
    assert [one.run_id for one in queue.drop_finished(20, "new")] == ["a", "a"]
    assert queue.drop_finished(1, "new") == []
    assert [one.run_id for one in queue.drop_whole("open")] == ["open"]
    assert queue.drop_whole("tail") == []
    assert queue.drop_whole("begun") == []
    queue.done(first)
    assert drain(queue) == ["tail COMPLETE", "begun COMPLETE"]


def test_the_children_of_a_dropped_parent_go_on() -> None:
    queue = waiting(entry("p", "START"), entry("p", "COMPLETE"), entry("q", "START", "p"))
    assert len(queue.drop_finished(2, "q")) == 2
    assert drain(queue) == ["q START"]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.sampled_from("RW -")), max_size=40),
    st.lists(st.integers(0, 2), max_size=200),
)
def test_whatever_fails_each_run_goes_in_order_and_nothing_is_lost(
    arrivals: list[tuple[int, bool, str]], fates: list[int]
) -> None:
    queue = RunQueue()
    expected: dict[str, list[int]] = {}
    seen: dict[str, list[int]] = {}
    numbers: dict[int, int] = {}
    in_flight: list[Entry] = []
    clock = 0.0
    for number, (run, has_parent, use) in enumerate(arrivals):
        one = entry(
            f"r{run}",
            "START" if f"r{run}" not in expected else "COMPLETE" if use == "-" else "RUNNING",
            "r0" if has_parent and run else None,
            reads="t" * (use != "W"),
            writes="t" * (use != "R"),
        )
        numbers[id(one)] = number
        expected.setdefault(one.run_id, []).append(number)
        queue.put(one)
    for fate in [*fates, *([0] * 3 * len(arrivals))]:
        clock += 1.0
        taken = queue.take(clock)
        if taken is not None:
            assert taken.run_id not in {other.run_id for other in in_flight}
            in_flight.append(taken)
        if in_flight and fate < 2:
            one = in_flight.pop(0)
            if fate:
                queue.postpone(one, clock + 2.0)
            else:
                seen.setdefault(one.run_id, []).append(numbers[id(one)])
                queue.done(one)
    while (taken := queue.take(clock := clock + 1.0)) is not None or queue.next_time() is not None or in_flight:
        for one in [*in_flight, *([taken] if taken else [])]:
            seen.setdefault(one.run_id, []).append(numbers[id(one)])
            queue.done(one)
        in_flight.clear()
    assert seen == expected
    assert (len(queue), queue.size, queue.in_flight) == (0, 0, 0)
