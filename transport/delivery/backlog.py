"""The events that wait to be delivered, on disk and in memory. Not thread-safe: the owner locks."""

from __future__ import annotations

import contextlib
import enum
import logging
import time
from collections import Counter, OrderedDict, deque
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.transport.delivery.order import Entry, RunQueue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openlineage_pyspark.transport.event import Event
    from openlineage_pyspark.transport.spool.store import Spool, SpooledEvent

_log = logging.getLogger(__name__)

MEMORY_BYTES = 64 * 1024 * 1024
"""The bytes of events that may be held in memory, with or without a spool."""


class DropReason(enum.Enum):
    """Why an event was given up without a final answer; the value ends the sentence "an event was ..."."""

    FINISHED_RUN = "dropped, with its finished run, to make room for a newer one"
    NO_ROOM = "dropped: no room, and no finished run to drop in its place"
    CLOSED = "dropped: it came after the delivery was closed"
    EXPIRED = "dropped: an ended application left it too long ago (spool.maxAgeInDays), and it could not be sent"
    UNREADABLE = "lost: the spool can't be read any more"


class Backlog:
    """
    The waiting events: those of this application, and those recovered from the spools of earlier ones.

    If there is no room for a new event, the oldest runs that wait whole are dropped, see `RunQueue.drop_finished`. If
    that is not enough, the new event is dropped with all later ones of its run, and with the earlier ones if none of
    them has left yet: half a run is of no use to a receiver.

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
        """Return when the spool may take what it could not write; None if nothing waits for that."""
        return self._own.rests_until if self._own is not None and self._unkept else None

    def keep_again(self, *, urgent: bool = False) -> None:
        """
        Write the events that only memory holds, as far as the spool takes them.

        Args:
            urgent: whether to try it even if a write failed a moment ago: there is no later.
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
        """Count an event out of its recovered spool, and close that spool after its last event."""
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
