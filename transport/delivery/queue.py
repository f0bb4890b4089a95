"""
The events that wait to be delivered, on disk and in memory, and the order in which they are sent.

`RunQueue` hands out the events, one at a time for each run; `DatasetBarrier` holds back the START of a run until the
ends of the earlier runs on its datasets are sent. Nothing here is thread-safe: the owner locks.
"""

from __future__ import annotations

import contextlib
import enum
import heapq
import logging
import time
from collections import Counter, OrderedDict, deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.transport.event import TERMINAL_TYPES, Event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openlineage_pyspark.transport.spool.store import Spool, SpooledEvent


# A spool and a dataset: events of different applications have no order between them.
_Key = tuple[int, str]

# Sequence offset that sorts recovered events before all own ones; there will never be this many events.
_FIRST = 1 << 60
# The terminal event of a run stops holding up other runs after this many answers that put it off, or this many
# attempts of any outcome: the event itself may be the cause.
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
        strikes: how many of them failed while the receiver did not count as unavailable.
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
    The terminal events that have not been sent yet, by the datasets of their runs.

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
        """Return a terminal event that must be sent before this START; None if there is none."""
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
        entries: the events, in the order in which they are sent.
        size: the bytes of all of them.
        whole: whether none of its events has been sent yet, and the first one is its START.
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
    The waiting events: those of one run in order, and among several runs the oldest first.

    A run waits while one of its events is in flight or scheduled for a later attempt, and while the START of its
    parent is still here. Other runs overtake it. But a run does not begin before those earlier runs have ended
    that wrote what it reads, or that read or wrote what it writes: see `DatasetBarrier`.
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
        # The runs that are complete here, from the START to the terminal event: these may be dropped.
        self._droppable: OrderedDict[str, None] = OrderedDict()
        self._next = 0
        self._count = 0
        self._size = 0
        self._in_flight = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """The bytes of all waiting events."""
        return self._size

    @property
    def in_flight(self) -> int:
        """How many events are being sent."""
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
        Return the event to send next, and mark it as in flight.

        Args:
            now: the time on a monotonic clock, in seconds.

        Returns:
            The event; None if none may be sent now.
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
        Remove the oldest runs that are complete here, from START to terminal event, to make room.

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


_log = logging.getLogger(__name__)

MEMORY_BYTES = 64 * 1024 * 1024
"""The bytes of events that may be held in memory, with or without a spool."""


class DropReason(enum.Enum):
    """Why an event was given up without a final answer; the value ends the sentence "an event was ..."."""

    FINISHED_RUN = "dropped, with its finished run, to make room for a newer one"
    NO_ROOM = "dropped: no room, and no finished run to drop in its place"
    CLOSED = "dropped: it came after the delivery was closed"
    EXPIRED = "dropped: an ended application left it, and it could not be sent within spool.maxAgeInDays"
    UNREADABLE = "lost: the spool can't be read any more"


class Backlog:
    """
    The waiting events: those of this application, and those recovered from the spools of earlier ones.

    If there is no room for a new event, the oldest complete runs are dropped, see `RunQueue.drop_finished`. If
    that is not enough, the new event is dropped with all later ones of its run, and with the earlier ones if none of
    them has been sent yet: half a run is of no use to a receiver.

    Args:
        spool: keeps events until they are delivered; None for memory only. The backlog owns and closes it.
        max_bytes: the limit on the bodies of this application's waiting events.
    """

    def __init__(self, spool: Spool | None, max_bytes: int) -> None:
        self._own = spool
        self._max_bytes = max_bytes
        self._queue = RunQueue()
        # How many events are left in each recovered spool.
        self._left: dict[Spool, int] = {}
        self._recovered = 0
        # When this application's own events came in, by identity, on a monotonic clock; the oldest is the first.
        self._arrivals: OrderedDict[int, float] = OrderedDict()
        self._in_memory = 0
        # The events that could not be written to the spool, by identity, and their bytes.
        self._unkept: dict[int, Entry] = {}
        self._unkept_bytes = 0
        self._cut_runs: set[str] = set()
        self._held: deque[Entry] = deque()
        self._has_failed = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def recovered(self) -> int:
        """The number of waiting events that come from orphaned spools."""
        return self._recovered

    @property
    def oldest(self) -> float | None:
        """When the oldest of this application's own events came in, in monotonic seconds; None if none waits."""
        return next(iter(self._arrivals.values()), None)

    @property
    def in_flight(self) -> int:
        """The number of events that are being sent."""
        return self._queue.in_flight

    @property
    def directory(self) -> Path | None:
        """The directory that keeps undelivered events; None if they are lost with the process."""
        return None if self._own is None else self._own.directory

    def put(self, event: Event) -> Counter[DropReason]:
        """Append an event; return how many events were dropped for it, by reason."""
        excess = self._queue.size + len(event.body) - self._max_bytes
        victims: list[Entry] = []
        cut = event.run_id in self._cut_runs
        if excess > 0 and not cut:
            victims = self._queue.drop_finished(excess, event.run_id)
            cut = not victims
        size = max(len(event.body), 1)
        of_run = (event.run_id, event.parent_run_id, event.event_type)
        entry = Entry(*of_run, size, event, spool=self._own, reads=event.reads, writes=event.writes)
        cut = cut or not self._keep(entry)
        if cut:
            self._cut_runs.add(event.run_id)
            victims += self._queue.drop_whole(event.run_id)
        for victim in victims:
            self._forget(victim)
        if cut:
            return Counter({DropReason.NO_ROOM: 1 + len(victims)})
        # A copy in memory saves reading the event from the spool.
        if entry.number is not None and self._in_memory + size > MEMORY_BYTES:
            entry.event = None
        self._in_memory += size if entry.event is not None else 0
        self._arrivals[id(entry)] = time.monotonic()
        self._queue.put(entry)
        return Counter({DropReason.FINISHED_RUN: len(victims)} if victims else {})

    def take(self, now: float) -> Entry | None:
        """Return the next event to send; see `RunQueue.take`."""
        return self._queue.take(now)

    def next_time(self) -> float | None:
        """Return the time of the next scheduled attempt; see `RunQueue.next_time`."""
        return self._queue.next_time()

    def load(self, entry: Entry) -> Event:
        """
        Return the event of an entry; this may be called without the owner's lock.

        Raises:
            SpoolError: it can no longer be read.
        """
        if entry.event is not None:
            return entry.event
        if entry.spool is None or entry.number is None:
            raise SpoolError("an event is neither in memory nor in a spool", damaged=True)
        return entry.spool.read(entry.number)

    def delivered(self, entry: Entry, held: int) -> None:
        """
        Remove an event that the receiver has taken.

        Args:
            entry: the event.
            held: how many of the last delivered events still stay in the spool; see `Transport.held`.
        """
        self._done(entry)
        self._held.append(entry)
        self.release(held)

    def lost(self, entry: Entry) -> None:
        """Remove an event that can no longer be read; its row stays in the spool, which is set aside at the end."""
        self._done(entry)
        self._leave_behind(entry)

    def expired(self, entry: Entry) -> None:
        """Remove an event that has waited for too long."""
        self._done(entry)
        self._settle(entry)

    def release(self, held: int) -> None:
        """Delete delivered events from the spool, except for the last `held` ones."""
        while len(self._held) > held:
            self._settle(self._held.popleft())

    def refused(self, entry: Entry, reason: str, answer: str) -> None:
        """
        Remove an event that was refused for good, and move it to the spool's dead letters.

        Args:
            entry: the event.
            reason: what failed, without credentials.
            answer: the text of the receiver's answer.
        """
        self._done(entry)
        if entry.spool is not None and entry.number is not None:
            # If this fails, the event stays among the waiting ones, and the next application gets the same answer.
            with contextlib.suppress(SpoolError):
                entry.spool.bury(entry.number, reason, answer, self._max_bytes)
        self._leave_behind(entry)

    def postpone(self, entry: Entry, until: float) -> None:
        """Put an event back for a later attempt; see `RunQueue.postpone`."""
        self._queue.postpone(entry, until)

    def hurry(self) -> None:
        """Make all scheduled attempts due now."""
        self._queue.hurry()

    def recover(self, spool: Spool, events: Sequence[SpooledEvent]) -> None:
        """
        Queue the events of an orphaned spool before all others.

        Args:
            spool: the spool. The backlog owns it, and closes it once it is empty.
            events: what waits in it, in the order of arrival.
        """
        self._left[spool] = len(events)
        self._recovered += len(events)
        for kept in events:
            of_run = (kept.run_id, kept.parent_run_id, kept.event_type)
            entry = Entry(*of_run, 0, None, kept.number, spool, recovered=True, reads=kept.reads, writes=kept.writes)
            entry.since = kept.since
            self._queue.put(entry, first=True)

    def next_keep(self) -> float | None:
        """Return the time at which the spool is tried again; None if nothing waits for it."""
        return self._own.rests_until if self._own is not None and self._unkept else None

    def keep_again(self, *, urgent: bool = False) -> None:
        """
        Write the events that only memory holds, as far as the spool takes them.

        Args:
            urgent: whether to try even if a write failed a moment ago, because this is the last chance.
        """
        if self._own is not None:
            with contextlib.suppress(SpoolError):
                self._write_unkept(self._own, urgent=urgent)

    def close(self) -> None:
        """Close the spools; the events in them stay."""
        self.keep_again(urgent=True)
        for spool in [*self._left, *([] if self._own is None else [self._own])]:
            spool.close()
        self._left.clear()

    def _keep(self, entry: Entry) -> bool:
        """Write an event to the spool, or hold it in memory; return False if there is no room in either."""
        if self._own is None:
            return True
        try:
            # Earlier events first: the order in the spool is that of arrival.
            self._write_unkept(self._own)
            self._write(entry, self._own)
        except SpoolError as exc:
            if not self._has_failed:
                self._has_failed = True
                _log.warning("the spool can't keep OpenLineage events, so memory holds them until it can: %s", exc)
            if self._unkept_bytes + entry.size > MEMORY_BYTES:
                return False
            self._unkept[id(entry)] = entry
            self._unkept_bytes += entry.size
        return True

    def _write_unkept(self, spool: Spool, *, urgent: bool = False) -> None:
        for earlier in list(self._unkept.values()):
            self._write(earlier, spool, urgent=urgent)

    def _write(self, entry: Entry, spool: Spool, *, urgent: bool = False) -> None:
        if entry.event is not None:
            entry.number = spool.append(entry.event, urgent=urgent)
        self._no_longer_unkept(entry)

    def _no_longer_unkept(self, entry: Entry) -> None:
        if self._unkept.pop(id(entry), None) is not None:
            self._unkept_bytes -= entry.size

    def _done(self, entry: Entry) -> None:
        self._queue.done(entry)
        self._recovered -= entry.recovered
        self._release_memory(entry)

    def _forget(self, entry: Entry) -> None:
        self._release_memory(entry)
        self._settle(entry)

    def _settle(self, entry: Entry) -> None:
        if entry.spool is not None and entry.number is not None:
            entry.spool.settle(entry.number)
        self._leave_behind(entry)

    def _leave_behind(self, entry: Entry) -> None:
        """Note that an event has left its recovered spool, and close the spool after its last event."""
        if not entry.recovered or entry.spool is None:
            return
        self._left[entry.spool] -= 1
        if not self._left[entry.spool]:
            del self._left[entry.spool]
            entry.spool.close()

    def _release_memory(self, entry: Entry) -> None:
        self._arrivals.pop(id(entry), None)
        self._no_longer_unkept(entry)
        if entry.event is not None:
            self._in_memory -= entry.size
