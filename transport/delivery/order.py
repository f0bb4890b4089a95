"""Which event goes next: the order within runs and between them. Not for several threads: its owner locks."""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.transport.event import TERMINAL_TYPES, Event

if TYPE_CHECKING:
    from openlineage_pyspark.transport.spool.store import Spool


# Of one application's events: those of another have no order with them.
_Key = tuple[int, str]


class DatasetBarrier:
    """The terminal events that have not left yet, by the datasets of their runs. Not for several threads.

    A receiver such as Marquez takes events as they come: a reader's START that overtakes the writer's COMPLETE is
    tied to the version of the dataset that was there before. Runs that share no dataset, or only read the same ones,
    have no order.
    """

    def __init__(self) -> None:
        # In the order in which they came, so that the first one is the oldest.
        self._writers: dict[_Key, dict[int, Entry]] = {}
        self._readers: dict[_Key, dict[int, Entry]] = {}

    def add(self, end: Entry) -> None:
        """Note a terminal event, newer than all others of its application."""
        for table, datasets in ((self._writers, end.writes), (self._readers, end.reads)):
            for dataset in datasets:
                table.setdefault((id(end.spool), dataset), {})[end.sequence] = end

    def remove(self, end: Entry) -> None:
        """Forget one, which may be forgotten already."""
        for table, datasets in ((self._writers, end.writes), (self._readers, end.reads)):
            for dataset in datasets:
                key = (id(end.spool), dataset)
                ends = table.get(key, {})
                ends.pop(end.sequence, None)
                if not ends:
                    table.pop(key, None)

    def before(self, start: Entry) -> Entry | None:
        """Give a terminal event that must leave before a START may, None where there is none."""
        for table, datasets in ((self._writers, start.reads | start.writes), (self._readers, start.writes)):
            for dataset in datasets:
                ends = table.get((id(start.spool), dataset))
                oldest = next(iter(ends.values())) if ends else None
                if oldest is not None and oldest.sequence < start.sequence and oldest.run_id != start.run_id:
                    return oldest
        return None


# More than there will ever be events.
_FIRST = 1 << 60
# Answers that put off an end of a run, and attempts of any outcome, after which it holds up no other run any more: it
# may be the event that is wrong.
_ANSWERS = 3
_ATTEMPTS = 10


@attrs.define(eq=False)
class Entry:
    """An event that waits.

    Args:
        run_id: of its run.
        parent_run_id: of the run whose START goes first; None for none.
        event_type: its `eventType`.
        size: the bytes that it takes of the room; 0 where it lies in the spool of another application.
        event: the event itself, None where it is on disk alone.
        number: its number in the spool, None where it is in memory alone.
        spool: which one that is; None without one. The events of one spool have an order, those of two have none.
        recovered: whether an earlier application left it behind.
        reads: the datasets that its run reads.
        writes: those that it writes.
        attempts: how often it was tried in vain.
        others_sent: how many events had been delivered when it was first tried in vain.
        sequence: its place in the order; the queue sets it.
        put_off: how often the receiver answered that it can't take it now.
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
    others_sent: int = 0
    sequence: int = 0
    put_off: int = 0


@attrs.define(eq=False)
class _Run:
    entries: deque[Entry]
    size: int = 0
    whole: bool = False
    in_flight: bool = False
    not_before: float = 0.0


class RunQueue:
    """Events in the order in which they go: of one run one after the other, of several the oldest first.

    A run waits while one of its events is in flight or is to be tried again later, and while the START of its
    parent is still here. The events of other runs pass it by; but no run begins before those that wrote what it reads,
    or touched what it writes, and were over when it began: see `DatasetBarrier`.
    """

    def __init__(self) -> None:
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._ready: list[tuple[int, str]] = []
        self._barrier = DatasetBarrier()
        # The runs that wait for an end, by its place in the order.
        self._blocked: dict[int, list[str]] = {}
        self._later: list[tuple[float, str]] = []
        # The runs that wait for the START of another.
        self._children: dict[str, list[str]] = {}
        # Those of which nothing has left yet, and which are over: what may be dropped as a whole.
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
        """Append an event, or put it before all that came without `first`."""
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
        """Give the event that goes next, which is in flight from then on; None where none may go now.

        Args:
            now: of a monotonic clock, in seconds.
        """
        while self._later and self._later[0][0] <= now:
            _, run_id = heapq.heappop(self._later)
            if run_id in self._runs:
                self._make_ready(run_id, self._runs[run_id])
        while self._ready:
            sequence, run_id = heapq.heappop(self._ready)
            run = self._runs.get(run_id)
            # The same run may stand here twice, or have moved on since.
            if run is None or run.in_flight or run.entries[0].sequence != sequence or run.not_before > now:
                continue
            run.in_flight = True
            self._in_flight += 1
            run.whole = False
            self._droppable.pop(run_id, None)
            return run.entries[0]
        return None

    def next_time(self) -> float | None:
        """Give the time at which a further event may go, None where only an answer can bring that about."""
        return self._later[0][0] if self._later else None

    def done(self, entry: Entry) -> None:
        """Take out an event that was in flight: it was delivered, or never will be."""
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
        """Put back an event that was in flight, to be tried again.

        Args:
            entry: the event.
            until: the time before which it is not tried, of a monotonic clock, in seconds.
        """
        run = self._runs.get(entry.run_id)
        if run is None or run.entries[0] is not entry:
            # Whoever sent it was stopped after all was said.
            return
        run.in_flight = False
        self._in_flight -= 1
        run.not_before = until
        heapq.heappush(self._later, (until, entry.run_id))
        if entry.put_off >= _ANSWERS or entry.attempts >= _ATTEMPTS:
            self._unblock(entry)

    def hurry(self) -> None:
        """Let what is to be tried later be tried now."""
        later, self._later = self._later, []
        for _, run_id in later:
            run = self._runs.get(run_id)
            if run is not None:
                run.not_before = 0.0
                self._make_ready(run_id, run)

    def drop_finished(self, excess: int, newcomer: str) -> list[Entry]:
        """Take out the oldest runs that wait as a whole, from START to their terminal event, to make room.

        A receiver never sees half of them. Where dropping them all would not be enough, none is dropped.

        Args:
            excess: the bytes that are needed.
            newcomer: the run that needs them; it is not dropped.

        Returns:
            what was taken out.
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
        """Take out a run of which nothing has left yet, from its START on, and return it; nothing for any other."""
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
            # What others wait for waits for no end, which might be one of theirs.
            heapq.heappush(self._ready, (parent.entries[0].sequence, first.parent_run_id or ""))
        elif not run.in_flight:
            begins = first.event_type == "START" and run_id not in self._children
            end = self._barrier.before(first) if begins else None
            if end is None:
                heapq.heappush(self._ready, (first.sequence, run_id))
            else:
                self._blocked.setdefault(end.sequence, []).append(run_id)
