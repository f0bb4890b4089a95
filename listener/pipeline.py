"""
The way of one event, on one screen: take a record, decode it, assemble the run, trace and describe it, ship it.

It runs on a thread of its own. Nothing of it is ever done on the user's thread, and none of it can raise there.
"""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

import attrs
from openlineage_pyspark.facets.events.build import describe
from openlineage_pyspark.facets.events.ids import event_id
from openlineage_pyspark.facets.events.options import DescribeOptions
from openlineage_pyspark.facets.events.providers import Provider, contribute, failed
from openlineage_pyspark.facets.events.size import serialise_within
from openlineage_pyspark.facets.model.dataset import Dataset
from openlineage_pyspark.facets.model.run import Failure, Gap, Job, Outcome, Parent, RunState
from openlineage_pyspark.facets.redaction.redact import redacted
from openlineage_pyspark.listener.guard import LOG, Caught, Guard
from openlineage_pyspark.listener.probe.client import Probe
from openlineage_pyspark.listener.runs.assemble import Application, Runs
from openlineage_pyspark.transport import Delivery, Event
from openlineage_pyspark.transport.delivery.fan_out import FanOut
from openlineage_pyspark.transport.event import dataset_key

_WAIT_MILLISECONDS = 100
_CAPACITY = f"spark.scheduler.listenerbus.eventqueue.{Probe.QUEUE}.capacity"
# However little time there is to ship, the last events are made, and reach the spool.
_HAND_OVER_SECONDS = 0.6
_CLOSE_SECONDS = 0.1
# What of it is kept for making them, should Spark not get to its own end.
_LAST_EVENTS_SECONDS = 0.3
# How often in a row the JVM is asked in vain, with pauses that double up to the longest, before it counts as gone.
_ATTEMPTS = 9
_LONGEST_PAUSE_SECONDS = 5.0
_ERRORS = "extractionError"
# The different remarks of an application that are kept for the end.
_MOST_REMARKS = 1000


@attrs.frozen
class Counts:
    """
    What a pipeline has done.

    Args:
        records: taken from the probe.
        events: handed to the transport.
        lost: records that the probe had to drop.
        caught: faults, by what was being done and their type.
    """

    records: int
    events: int
    lost: int
    caught: tuple[tuple[str, int], ...]


class Pipeline:
    """The worker between one probe and one transport."""

    def __init__(
        self,
        probe: Probe,
        application: Application,
        parent: Parent | None,
        options: DescribeOptions,
        providers: Iterable[Provider],
        delivery: Delivery | FanOut,
        guard: Guard,
    ) -> None:
        """
        Make ready; `run` works.

        Args:
            probe: what is heard.
            application: what the runs belong to.
            parent: of the application's own run.
            options: how runs are described.
            providers: of the user's own facets.
            delivery: what ships.
            guard: what catches.
        """
        self.guard = guard
        self._probe = probe
        self._application = application
        self._parent = parent
        self._options = options
        self._providers = tuple(providers)
        self._delivery = delivery
        self._runs = Runs(application, guard)
        self._records = self._events = self._lost = self._dropped = 0
        self._ending = threading.Event()
        self._ended = threading.Event()
        self._deadline = 0.0
        self._outcome = Outcome("COMPLETE")
        self._settle: Callable[[float], None] = lambda _seconds: None
        self._barriers: list[threading.Event] = []
        # What a thread that was killed has left to do.
        self._taken: deque[str] = deque()
        self._told_start = self._told_end = False
        self._failures = 0
        self._remarks: dict[Gap, None] = {}

    @property
    def application_id(self) -> str:
        """Spark's id of the application."""
        return self._application.id

    def finish(self, outcome: Outcome, settle: Callable[[float], None], timeout_seconds: float) -> bool:
        """
        Handle and ship what is still on its way, end the application's run, and stop.

        Args:
            outcome: how the application ended.
            settle: waits until Spark has told the probe everything, at most the seconds that it is given.
            timeout_seconds: for all of it.

        Returns:
            whether all was shipped within the time.
        """
        end = time.monotonic() + timeout_seconds
        self._deadline = max(end, time.monotonic() + _HAND_OVER_SECONDS)
        self._outcome, self._settle = outcome, settle
        # No JVM call here: under a signal this thread may be in the middle of one of the user's.
        self._ending.set()
        if not self._ended.wait(max(timeout_seconds, _HAND_OVER_SECONDS)):
            LOG.warning("openlineage: the last events could not be made within %.1f s", timeout_seconds)
        left = self._delivery.close(max(_CLOSE_SECONDS, end - time.monotonic()))
        return left == 0 and self._ended.is_set()

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until what Spark has told so far is shipped, or the time is over; return whether all of it is."""
        end = time.monotonic() + timeout_seconds
        barrier = threading.Event()
        self._barriers.append(barrier)
        self.guard.run("waking the worker", self._probe.wake)
        handled = barrier.wait(timeout_seconds)
        return self._delivery.flush(max(0.0, end - time.monotonic())) == 0 and handled

    @property
    def counts(self) -> Counts:
        """What was done so far."""
        return Counts(self._records, self._events, self._lost, tuple(sorted(self.guard.caught.items())))

    @property
    def has_ended(self) -> bool:
        """Whether the terminal event is made."""
        return self._ended.is_set()

    @property
    def faults(self) -> tuple[str, ...]:
        """What has cost lineage so far, and what was not delivered, each as a line of text."""
        counted = self._counted()
        tasks = {remark.task for remark in counted}
        found = [*(remark for remark in list(self._remarks) if remark.task not in tasks), *counted]
        lines = [f"{remark.task}: {remark.message}" for remark in found]
        if not self.has_ended:
            lines.append("the last events could not be made in time")
        shipped = self._delivery.counts()
        pending = shipped.pending - shipped.inherited_pending
        if pending:
            lines.append(f"delivery: {pending} events were not delivered")
        return tuple(lines)

    def run(self) -> None:
        """
        Work until `finish` is called; the application's START is the first event, its terminal one the last.

        Where something kills the thread that it runs on, it may be run again, and goes on.
        """
        if not self._told_start:
            self._told_start = True
            self.guard.run("describing the application", self._emit, self._application_state("START", None))
        while not self._ending.is_set() and self._failures < _ATTEMPTS:
            waiting = self._barriers[:]
            taken = self._take(0 if waiting else _WAIT_MILLISECONDS)
            if not taken:
                self._release(waiting)
            if taken is False:
                self._ending.wait(min(0.1 * 2.0**self._failures, _LONGEST_PAUSE_SECONDS))
        while not self._ending.is_set():
            self._release(self._barriers[:])
            self._ending.wait(_LONGEST_PAUSE_SECONDS)
        self._release(self._barriers[:])
        patience = self._deadline - _LAST_EVENTS_SECONDS - time.monotonic()
        self.guard.run("waiting for Spark's last events", self._settle, max(0.0, patience))
        while time.monotonic() < self._deadline and self._take(0):
            pass
        self.guard.run("ending the runs that are open", self._abandon)
        if not self._told_end:
            self._told_end = True
            self.guard.run("describing the application", lambda: self._emit(self._terminal()))
        self._ended.set()

    def _release(self, barriers: list[threading.Event]) -> None:
        for barrier in barriers:
            barrier.set()
            self._barriers.remove(barrier)

    def _take(self, wait_milliseconds: int) -> bool | None:
        """Handle what waits: True where there was something, None for nothing, False where the JVM does not answer."""
        if not self._taken:
            taken = self.guard.run("taking records", self._probe.take, wait_milliseconds)
            if taken is None:
                self._failures += 1
                return False
            self._failures = 0
            self._taken.extend(taken)
        handled = len(self._taken)
        while self._taken:
            self._records += 1
            self.guard.run("handling a record", self._handle, self._taken.popleft())
        return True if handled else None

    def _handle(self, text: str) -> None:
        record = json.loads(text)
        if record["k"] == "fault":
            self.guard.say(f"the probe ({record['where']})", RuntimeError(record["message"]))
            return
        if record["k"] == "dropped":
            self._say_dropped(record["count"])
            return
        for state in self._runs.feed(record):
            self._emit(state)

    def _say_dropped(self, count: int) -> None:
        if not self._dropped:
            LOG.warning(
                "openlineage: Spark drops events because the listener's queue is full, and what it drops is missing "
                "from the lineage; raise %s (10000 by default)",
                _CAPACITY,
            )
        self._dropped = count

    def _emit(self, state: RunState) -> None:
        contributions = []
        if self._providers:
            # They may copy any text of it.
            state = redacted(state, self._options.redaction)
        for provider in self._providers:
            made = self.guard.attempt(f"facets of {provider.name}", contribute, provider, state)
            contributions.append(failed(provider, made.name) if isinstance(made, Caught) else made)
        event = describe(state, self._options, tuple(contributions))
        self._events += 1
        body = serialise_within(event, self._options)
        self._delivery.submit(event_of(state, body, self._application.run.run_id))
        self._remember(body)

    def _remember(self, body: bytes) -> None:
        """Keep what an event admits; few have such a facet, and parsing takes time."""
        if _ERRORS.encode() not in body or len(self._remarks) >= _MOST_REMARKS:
            return
        for error in json.loads(body)["run"]["facets"].get(_ERRORS, {}).get("errors", ()):
            self._remarks[Gap(error["task"], error["errorMessage"])] = None

    def _abandon(self) -> None:
        for state in self._runs.abandon(_now(), self._dropped):
            self._emit(state)

    def _application_state(self, event_type: str, failure: Failure | None) -> RunState:
        app = self._application
        job = Job(app.namespace, app.name, "APPLICATION", "NONE", None, app.source_location)
        when = app.started if event_type == "START" else _now()
        return RunState(event_type, when, app.run.run_id, job, app.engine, self._parent, failure=failure)

    def _terminal(self) -> RunState:
        outcome = self._outcome
        failure = None
        if outcome.event_type != "COMPLETE":
            failure = Failure(outcome.message, "PYTHON", outcome.stack_trace)
        state = self._application_state(outcome.event_type, failure)
        self._lost = self.guard.run("counting lost records", self._probe.lost) or 0
        return attrs.evolve(state, gaps=self._counted(), operators=self._records)

    def _counted(self) -> tuple[Gap, ...]:
        """What was caught, dropped or refused so far."""
        remarks = [Gap(kind, f"{count} times") for kind, count in self.counts.caught]
        if self._dropped:
            said = f"Spark dropped {self._dropped} events because the listener's queue was full: raise {_CAPACITY}"
            remarks.append(Gap("events", said))
        if self._lost:
            remarks.append(Gap("records", f"{self._lost} records of the probe were dropped: nobody took them in time"))
        shipped = self._delivery.counts()
        remarks.extend(Gap("delivery", f"{n} events: {reason.value}") for reason, n in shipped.drops.items())
        # What earlier applications left behind is no fault of this one.
        refused = shipped.failed - shipped.inherited_failed
        if refused:
            remarks.append(Gap("delivery", f"{refused} events were refused by the receiver for good"))
        return tuple(remarks)


def event_of(state: RunState, body: bytes, application: str) -> Event:
    """
    What is shipped of a state.

    Args:
        state: which is told.
        body: as JSON.
        application: id of the application's run, which is above all others, and whose START goes first.
    """
    parent = None if state.run_id == application else application
    identity = event_id(state.run_id, state.event_type, state.event_time)
    reads = _datasets(each.dataset for each in state.inputs)
    writes = _datasets(each.dataset for each in state.outputs)
    return Event(state.run_id, state.event_type, body, parent, identity, reads, writes)


def _datasets(datasets: Iterable[Dataset]) -> frozenset[str]:
    return frozenset(dataset_key(each.identifier.namespace, each.identifier.name) for each in datasets)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
