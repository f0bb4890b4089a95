"""Events that wait in memory, in order and bounded in bytes. Not for several threads: its owner locks."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, deque

import attrs
from openlineage_pyspark.transport.event import TERMINAL_TYPES, Event


class DropReason(enum.Enum):
    """Why an event was never tried."""

    FINISHED_RUN = "dropped, with its finished run, to make room for a newer one"
    NO_ROOM = "dropped: no room, and no finished run to drop in its place"
    CLOSED = "dropped: it came after the delivery was closed"


@attrs.define
class _WaitingRun:
    """What waits of one run; whole where nothing of it has left yet."""

    sequence: deque[int]
    size: int
    whole: bool
    finished: bool = False


class Backlog:
    """Events in the order of their arrival.

    When a new event finds no room, the oldest runs that wait as a whole, from START to their terminal
    event, are dropped until it fits: a receiver never sees half of them. Where dropping them all would
    not be enough, none is dropped and the new event is.

    Args:
        max_bytes: the bound on the bodies of all events that wait.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._next = 0
        self._events: OrderedDict[int, Event] = OrderedDict()
        self._runs: dict[str, _WaitingRun] = {}

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Event) -> Counter[DropReason]:
        """Append the event, and return how many events were dropped for it and why."""
        excess = self._size + len(event.body) - self._max_bytes
        dropped = Counter[DropReason]()
        if excess > 0:
            victims = self._victims(excess, event.run_id)
            if not victims:
                return Counter({DropReason.NO_ROOM: 1})
            dropped[DropReason.FINISHED_RUN] = sum(self._drop(run_id) for run_id in victims)
        self._append(event)
        return dropped

    def pop(self) -> Event | None:
        """Take the oldest event out, None where there is none."""
        if not self._events:
            return None
        _, event = self._events.popitem(last=False)
        self._size -= len(event.body)
        run = self._runs[event.run_id]
        run.sequence.popleft()
        run.size -= len(event.body)
        run.whole = False
        if not run.sequence:
            del self._runs[event.run_id]
        return event

    def _append(self, event: Event) -> None:
        run = self._runs.get(event.run_id)
        if run is None:
            run = self._runs[event.run_id] = _WaitingRun(deque(), 0, whole=event.event_type == "START")
        run.sequence.append(self._next)
        run.size += len(event.body)
        run.finished = run.finished or event.event_type in TERMINAL_TYPES
        self._events[self._next] = event
        self._next += 1
        self._size += len(event.body)

    def _victims(self, excess: int, newcomer: str) -> list[str]:
        victims = []
        for run_id, run in self._runs.items():
            if run.whole and run.finished and run_id != newcomer:
                victims.append(run_id)
                excess -= run.size
                if excess <= 0:
                    return victims
        return []

    def _drop(self, run_id: str) -> int:
        run = self._runs.pop(run_id)
        for number in run.sequence:
            del self._events[number]
        self._size -= run.size
        return len(run.sequence)
