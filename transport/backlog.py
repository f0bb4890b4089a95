"""What waits to be delivered, on disk and in memory. Not for several threads: its owner locks."""

from __future__ import annotations

import contextlib
import enum
import logging
from collections import Counter, deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.transport.spool import Kept, Spool
from openlineage_pyspark.transport.spool_content import content
from openlineage_pyspark.transport.spool_place import SpoolError, directories
from openlineage_pyspark.transport.waiting import Entry, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openlineage_pyspark.transport.event import Event

_log = logging.getLogger(__name__)

MEMORY_BYTES = 64 * 1024 * 1024
"""The bytes of events that are held in memory, beside the spool or without one."""


class DropReason(enum.Enum):
    """Why an event was never tried, or not to its end."""

    FINISHED_RUN = "dropped, with its finished run, to make room for a newer one"
    NO_ROOM = "dropped: no room, and no finished run to drop in its place"
    CLOSED = "dropped: it came after the delivery was closed"
    UNREADABLE = "lost: the spool can't be read any more"


@attrs.frozen
class Inheritance:
    """What earlier applications left in a spool, to be delivered first.

    Args:
        root: the spool's root.
        any_destination: whether also what was meant for another receiver.
        dead_letters: whether what was refused for good is tried again.
    """

    root: Path
    any_destination: bool = False
    dead_letters: bool = False


class Backlog:
    """The events that wait: those of this application, and those that earlier ones left behind.

    When a new event finds no room, the oldest runs that wait as a whole are dropped for it, see
    `Waiting.drop_finished`; where that is not enough, the event is, and with it what follows of its run and, where
    nothing of it has left yet, what came before: a receiver could do nothing with half a run.

    Args:
        spool: where events are kept until they are delivered, None for memory alone; from now on it belongs to
            the backlog, which closes it.
        max_bytes: the bound on the bodies of this application's events that wait.
    """

    def __init__(self, spool: Spool | None, max_bytes: int) -> None:
        self._own = spool
        self._spools = [] if spool is None else [spool]
        self._max_bytes = max_bytes
        self._waiting = Waiting()
        self._in_memory = 0
        self._cut_runs: set[str] = set()
        self._held: deque[Entry] = deque()
        self._has_failed = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def in_flight(self) -> int:
        """How many of them are being sent."""
        return self._waiting.in_flight

    @property
    def directory(self) -> Path | None:
        """Where what is not delivered stays; None where it is lost."""
        return None if self._own is None else self._own.directory

    def put(self, event: Event) -> Counter[DropReason]:
        """Append an event, and return how many events were dropped for it and why."""
        excess = self._waiting.size + len(event.body) - self._max_bytes
        victims: list[Entry] = []
        cut = event.run_id in self._cut_runs
        if excess > 0 and not cut:
            victims = self._waiting.drop_finished(excess, event.run_id)
            cut = not victims
        if cut:
            self._cut_runs.add(event.run_id)
            victims = self._waiting.drop_whole(event.run_id)
        for entry in victims:
            self._forget(entry)
        if cut:
            return Counter({DropReason.NO_ROOM: 1 + len(victims)})
        number = self._keep(event)
        # A copy in memory saves reading it again, and holds where the disk fails.
        size = len(event.body)
        copy = event if number is None or self._in_memory + size <= MEMORY_BYTES else None
        self._in_memory += size if copy is not None else 0
        self._waiting.put(Entry(event.run_id, event.parent_run_id, event.event_type, max(size, 1), copy, number))
        return Counter({DropReason.FINISHED_RUN: len(victims)} if victims else {})

    def take(self, now: float) -> Entry | None:
        """Give what goes next, as `Waiting.take` does."""
        return self._waiting.take(now)

    def next_time(self) -> float | None:
        """Give the time at which a further event may go, as `Waiting.next_time` does."""
        return self._waiting.next_time()

    def load(self, entry: Entry) -> Event:
        """Give the event itself; this may be called without the owner's lock.

        Raises:
            SpoolError: it can't be read any more.
        """
        if entry.event is not None:
            return entry.event
        return self._spools[entry.spool].read(entry.number or 0)

    def delivered(self, entry: Entry, held: int) -> None:
        """Take out an event that the receiver has.

        Args:
            entry: the event.
            held: how many of the last ones stay in the spool all the same, see `Transport.held`.
        """
        self._waiting.done(entry)
        self._release_memory(entry)
        self._held.append(entry)
        self.release(held)

    def release(self, held: int) -> None:
        """Let the spool forget what was delivered, but for the last events, as many as are held."""
        while len(self._held) > held:
            self._settle(self._held.popleft())

    def refused(self, entry: Entry, reason: str, answer: str) -> None:
        """Take out an event that was refused for good, and keep it among the spool's dead letters.

        Args:
            entry: the event.
            reason: what failed.
            answer: the text of the receiver's answer.
        """
        self._waiting.done(entry)
        self._release_memory(entry)
        if entry.number is not None:
            # Where that fails it stays among those that wait, and the next application learns the same.
            with contextlib.suppress(SpoolError):
                self._spools[entry.spool].bury(entry.number, reason, answer)

    def postpone(self, entry: Entry, until: float) -> None:
        """Put an event back, as `Waiting.postpone` does."""
        self._waiting.postpone(entry, until)

    def hurry(self) -> None:
        """Let what is to be tried later be tried now."""
        self._waiting.hurry()

    def inherit(self, left: Sequence[tuple[Spool, list[Kept]]]) -> int:
        """Queue, before all else, what `adopt` has found; tell how many events that is."""
        for spool, events in left:
            self._spools.append(spool)
            place = len(self._spools) - 1
            for kept in events:
                entry = Entry(kept.run_id, kept.parent_run_id, kept.event_type, 0, None, kept.number, place)
                self._waiting.put(entry, first=True)
        return sum(len(events) for _, events in left)

    def close(self) -> None:
        """Let go of the spools; what is in them stays there."""
        for spool in self._spools:
            spool.close()

    def _keep(self, event: Event) -> int | None:
        if self._own is None:
            return None
        try:
            return self._own.append(event)
        except SpoolError as exc:
            if not self._has_failed:
                self._has_failed = True
                _log.warning("the spool can't keep OpenLineage events, memory does until it can: %s", exc)
            return None

    def _forget(self, entry: Entry) -> None:
        self._release_memory(entry)
        self._settle(entry)

    def _settle(self, entry: Entry) -> None:
        if entry.number is not None:
            self._spools[entry.spool].settle(entry.number)

    def _release_memory(self, entry: Entry) -> None:
        if entry.event is not None:
            self._in_memory -= len(entry.event.body)


def adopt(inheritance: Inheritance, destination: str) -> list[tuple[Spool, list[Kept]]]:
    """Take over the spools that earlier applications left behind, with what waits in each.

    Args:
        inheritance: what is wanted.
        destination: the receiver that there is, see `Transport.destination`.
    """
    found = []
    for directory in directories(inheritance.root):
        # Looked at before it is taken: whoever else it is meant for may be looking for it at this moment.
        seen = content(directory)
        if seen.in_use or not (seen.problem or inheritance.any_destination or seen.destination == destination):
            continue
        try:
            spool = Spool.adopt(directory)
            if spool is None:
                continue
            if inheritance.dead_letters:
                spool.revive()
            events = spool.waiting()
            if events:
                found.append((spool, events))
            else:
                spool.close()
        except SpoolError as exc:
            _log.warning("OpenLineage events that an earlier application left behind are not sent: %s", exc)
    return found
