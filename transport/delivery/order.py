"""
Which event goes next: the order within runs, and between them.

`RunQueue` hands out the events, one at a time for each run; `DatasetBarrier` holds back the START of a run until the
ends of the earlier runs on its datasets have left. Neither is thread-safe: their owner locks.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.transport.event import TERMINAL_TYPES, Event

if TYPE_CHECKING:
    from openlineage_pyspark.transport.spool.store import Spool

# A spool and a dataset: events of different applications have no order between them.
_Key = tuple[int, str]

# Sequence offset that sorts recovered events before all own ones; there will never be this many events.
_FIRST = 1 << 60
# The terminal event of a run stops holding up other runs after so many answers that put it off, or so many attempts
# of any outcome: the event itself may be what is wrong.
_ANSWERS = 3
_ATTEMPTS = 10


@attrs.define(eq=False)
class Entry:
    """
    One waiting event.

    Args:
        run_id: of its run.
        parent_run_id: of the run whose START must be delivered first; None if there is none.
        event_type: its `eventType`.
        size: the bytes that it counts against the limit; 0 for an event in another application's spool.
        event: the event itself; None if it is on disk only.
        number: its number in the spool; None if it is in memory only.
        spool: the spool that holds it; None if there is none. Only events of the same spool are ordered.
        recovered: whether it comes from an orphaned spool.
        reads: the datasets that its run reads.
        writes: the datasets that its run writes.
        attempts: how many attempts have failed.
        strikes: how many of them failed while the receiver was not known to be away.
        others_sent: how many events had been delivered when its first attempt failed.
        sequence: its place in the order; the queue sets it.
        since: when it came into an orphaned spool, in seconds since the epoch.
        put_off: how many times the receiver answered that it can't take it now.
    """

    run_id: str
    parent_run_id: str | None
    event_type: str
    size: int
    event: Event | None = None
    number: int | None = None
    spool: Spool | None = None
    recovered: bool = False
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    attempts: int = 0
    strikes: int = 0
    others_sent: int = 0
    sequence: int = 0
    since: float = 0.0
    put_off: int = 0


class DatasetBarrier:
    """
    The terminal events that have not left yet, by the datasets of their runs.

    A receiver such as Marquez takes events as they come: a reader's START that overtakes the writer's COMPLETE is tied
    to the previous version of the dataset. Runs that share no dataset, or only read the same ones, have no order.
    """

    def __init__(self) -> None:
        # The inner dicts keep the order of arrival: their first entry is the oldest.
        self._writers: dict[_Key, dict[int, Entry]] = {}
        self._readers: dict[_Key, dict[int, Entry]] = {}

    def add(self, end: Entry) -> None:
        """Add a terminal event, newer than all others of its application."""
        for table, datasets in ((self._writers, end.writes), (self._readers, end.reads)):
            for dataset in datasets:
                table.setdefault((id(end.spool), dataset), {})[end.sequence] = end

    def remove(self, end: Entry) -> None:
        """Remove a terminal event; do nothing if it is not here."""
        for table, datasets in ((self._writers, end.writes), (self._readers, end.reads)):
            for dataset in datasets:
                key = (id(end.spool), dataset)
                ends = table.get(key, {})
                ends.pop(end.sequence, None)
                if not ends:
                    table.pop(key, None)

    def before(self, start: Entry) -> Entry | None:
        """Return a terminal event that must leave before this START; None if there is none."""
        for table, datasets in ((self._writers, start.reads | start.writes), (self._readers, start.writes)):
            for dataset in datasets:
                ends = table.get((id(start.spool), dataset))
                oldest = next(iter(ends.values())) if ends else None
                if oldest is not None and oldest.sequence < start.sequence and oldest.run_id != start.run_id:
                    return oldest
        return None


@attrs.define(eq=False)
class _Run:
    """
    The waiting events of one run.

    Args:
        entries: in the order in which they go.
        size: the bytes of all of them.
        whole: whether nothing of the run has left yet, from its START on.
        in_flight: whether the first one is being sent.
        not_before: the time before which the first one is not tried, on a monotonic clock, in seconds.
    """

    entries: deque[Entry]
    size: int = 0
    whole: bool = False
    in_flight: bool = False
    not_before: float = 0.0


class RunQueue:
    """
    The waiting events: those of one run one after the other, those of several runs oldest first.

    A run waits while one of its events is in flight or scheduled for a later attempt, and while the START of its
    parent is still here. Other runs overtake it, except that a run does not begin before earlier runs have ended that
    wrote what it reads, or read or wrote what it writes: see `DatasetBarrier`.
    """

    def __init__(self) -> None:
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._ready: list[tuple[int, str]] = []
        self._barrier = DatasetBarrier()
        # The runs that the barrier holds back, by the sequence of the terminal event that they wait for.
        self._blocked: dict[int, list[str]] = {}
        self._later: list[tuple[float, str]] = []
        # The runs that wait for the START of their parent, by the parent's id.
        self._children: dict[str, list[str]] = {}
        # The runs that wait whole, from START to their terminal event: these may be dropped.
        self._droppable: OrderedDict[str, None] = OrderedDict()
        self._next = 0
        self._count = 0
        self._size = 0
        self._in_flight = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """The bytes that all of them take."""
        return self._size

    @property
    def in_flight(self) -> int:
        """How many of them are being sent."""
        return self._in_flight

    def put(self, entry: Entry, *, first: bool = False) -> None:
        """
        Append an event.

        Args:
            entry: the event.
            first: whether it goes before all events that were put without `first`.
        """
        entry.sequence = self._next - (_FIRST if first else 0)
        self._next += 1
        self._count += 1
        self._size += entry.size
        run = self._runs.get(entry.run_id)
        if run is None:
            run = self._runs[entry.run_id] = _Run(deque(), whole=entry.event_type == "START" and entry.size > 0)
        run.entries.append(entry)
        if entry.event_type in TERMINAL_TYPES:
            self._barrier.add(entry)
        run.size += entry.size
        if run.whole and entry.event_type in TERMINAL_TYPES:
            self._droppable[entry.run_id] = None
        if len(run.entries) == 1:
            self._make_ready(entry.run_id, run)

    def take(self, now: float) -> Entry | None:
        """
        Return the event that goes next, and mark it as in flight.

        Args:
            now: the time on a monotonic clock, in seconds.

        Returns:
            The event; None if none may go now.
        """
        while self._later and self._later[0][0] <= now:
            _, run_id = heapq.heappop(self._later)
            if run_id in self._runs:
                self._make_ready(run_id, self._runs[run_id])
        while self._ready:
            sequence, run_id = heapq.heappop(self._ready)
            run = self._runs.get(run_id)
            # The same run may be here twice, or have moved on since.
            if run is None or run.in_flight or run.entries[0].sequence != sequence or run.not_before > now:
                continue
            run.in_flight = True
            self._in_flight += 1
            run.whole = False
            self._droppable.pop(run_id, None)
            return run.entries[0]
        return None

    def next_time(self) -> float | None:
        """Return the time of the next scheduled attempt, in monotonic seconds; None if none is scheduled."""
        return self._later[0][0] if self._later else None

    def done(self, entry: Entry) -> None:
        """Remove an event that was in flight: it was delivered, or never will be."""
        run = self._runs[entry.run_id]
        run.entries.popleft()
        run.in_flight = False
        run.not_before = 0.0
        self._in_flight -= 1
        run.size -= entry.size
        self._count -= 1
        self._size -= entry.size
        if run.entries:
            self._make_ready(entry.run_id, run)
        else:
            del self._runs[entry.run_id]
        if entry.event_type == "START":
            self._wake(self._children.pop(entry.run_id, []))
        self._unblock(entry)

    def postpone(self, entry: Entry, until: float) -> None:
        """
        Put back an event that was in flight, for a later attempt.

        Args:
            entry: the event.
            until: the earliest time of that attempt, on a monotonic clock, in seconds.
        """
        run = self._runs.get(entry.run_id)
        if run is None or run.entries[0] is not entry:
            # Its sender was stopped after the outcome had been noted.
            return
        run.in_flight = False
        self._in_flight -= 1
        run.not_before = until
        heapq.heappush(self._later, (until, entry.run_id))
        if entry.put_off >= _ANSWERS or entry.attempts >= _ATTEMPTS:
            self._unblock(entry)

    def hurry(self) -> None:
        """Make all scheduled attempts due now."""
        later, self._later = self._later, []
        for _, run_id in later:
            run = self._runs.get(run_id)
            if run is not None:
                run.not_before = 0.0
                self._make_ready(run_id, run)

    def drop_finished(self, excess: int, newcomer: str) -> list[Entry]:
        """
        Remove the oldest runs that wait whole, from START to terminal event, to make room.

        The receiver has seen nothing of them. If dropping all of them is not enough, none is dropped.

        Args:
            excess: the bytes that are needed.
            newcomer: the run that needs them; it is not dropped.

        Returns:
            The removed events.
        """
        victims = []
        for run_id in self._droppable:
            if excess <= 0:
                break
            if run_id != newcomer:
                victims.append(run_id)
                excess -= self._runs[run_id].size
        if excess > 0:
            return []
        return [entry for run_id in victims for entry in self._drop(run_id)]

    def drop_whole(self, run_id: str) -> list[Entry]:
        """Remove a run and return its events if it is whole, with its START; else return an empty list."""
        run = self._runs.get(run_id)
        return self._drop(run_id) if run is not None and run.whole else []

    def _drop(self, run_id: str) -> list[Entry]:
        self._droppable.pop(run_id, None)
        run = self._runs.pop(run_id)
        self._count -= len(run.entries)
        self._size -= run.size
        self._wake(self._children.pop(run_id, []))
        for entry in run.entries:
            self._unblock(entry)
        return list(run.entries)

    def _unblock(self, entry: Entry) -> None:
        """Take a terminal event out of the barrier, and wake the runs that wait for it."""
        if entry.event_type in TERMINAL_TYPES:
            self._barrier.remove(entry)
            self._wake(self._blocked.pop(entry.sequence, []))

    def _wake(self, run_ids: list[str]) -> None:
        for run_id in run_ids:
            if run_id in self._runs:
                self._make_ready(run_id, self._runs[run_id])

    def _make_ready(self, run_id: str, run: _Run) -> None:
        first = run.entries[0]
        parent = self._runs.get(first.parent_run_id or "")
        if parent is not None and parent is not run and parent.entries[0].event_type == "START":
            self._children.setdefault(first.parent_run_id or "", []).append(run_id)
            # The parent's START skips the barrier: it might wait for the end of one of its own children.
            heapq.heappush(self._ready, (parent.entries[0].sequence, first.parent_run_id or ""))
        elif not run.in_flight:
            begins = first.event_type == "START" and run_id not in self._children
            end = self._barrier.before(first) if begins else None
            if end is None:
                heapq.heappush(self._ready, (first.sequence, run_id))
            else:
                self._blocked.setdefault(end.sequence, []).append(run_id)
