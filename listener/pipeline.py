"""
The way of one event, on one screen: take a record, decode it, assemble the run, trace and describe it, ship it.

It runs on a thread of its own. Nothing of it is ever done on the user's thread, and none of it can raise there.
"""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections.abc import Callable, Iterable

import attrs
from openlineage_pyspark.facets.custom import Provider, contribute, failed
from openlineage_pyspark.facets.event import describe
from openlineage_pyspark.facets.options import DescribeOptions
from openlineage_pyspark.facets.run import Failure, Job, NotUnderstood, Parent, RunState
from openlineage_pyspark.facets.serialise import serialise
from openlineage_pyspark.listener.exit_status import Outcome
from openlineage_pyspark.listener.guard import LOG, Guard
from openlineage_pyspark.listener.jvm import Probe
from openlineage_pyspark.listener.runs import Application, Runs
from openlineage_pyspark.transport import Delivery, Event

_WAIT_MILLISECONDS = 100


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
        delivery: Delivery,
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
        self._runs = Runs(application)
        self._records = self._events = self._lost = 0
        self._ending = threading.Event()
        self._ended = threading.Event()
        self._deadline = 0.0
        self._outcome = Outcome("COMPLETE")
        self._settle: Callable[[float], None] = lambda _seconds: None
        self._barriers: list[threading.Event] = []

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
        self._deadline = time.monotonic() + timeout_seconds
        self._outcome, self._settle = outcome, settle
        # No JVM call here: under a signal this thread may be in the middle of one of the user's.
        self._ending.set()
        self._ended.wait(timeout_seconds)
        left = self._delivery.close(max(0.0, self._deadline - time.monotonic()))
        if left or not self._ended.is_set():
            LOG.warning("openlineage: %d events were not delivered within %.1f s", left, timeout_seconds)
        return left == 0 and self._ended.is_set()

    def flush(self, timeout_seconds: float) -> None:
        """Wait until what Spark has told so far is shipped, or the time is over."""
        end = time.monotonic() + timeout_seconds
        barrier = threading.Event()
        self._barriers.append(barrier)
        self.guard.run("waking the worker", self._probe.wake)
        barrier.wait(timeout_seconds)
        self._delivery.flush(max(0.0, end - time.monotonic()))

    @property
    def counts(self) -> Counts:
        """What was done so far."""
        return Counts(self._records, self._events, self._lost, tuple(sorted(self.guard.caught.items())))

    def run(self) -> None:
        """Work until `finish` is called; the application's START is the first event, its terminal one the last."""
        self.guard.run("describing the application", self._emit, self._application_state("START", None))
        while not self._ending.is_set():
            waiting = self._barriers[:]
            taken = self._take(0 if waiting else _WAIT_MILLISECONDS)
            if taken is None:
                self._release(waiting)
            elif not taken:
                break
        self._release(self._barriers[:])
        self._ending.wait()
        self.guard.run("waiting for Spark's last events", self._settle, max(0.0, self._deadline - time.monotonic()))
        while time.monotonic() < self._deadline and self._take(0):
            pass
        self.guard.run("ending the runs that are open", self._abandon)
        self.guard.run("describing the application", lambda: self._emit(self._terminal()))
        self._ended.set()

    def _release(self, barriers: list[threading.Event]) -> None:
        for barrier in barriers:
            barrier.set()
            self._barriers.remove(barrier)

    def _take(self, wait_milliseconds: int) -> bool | None:
        """Handle what waits: True where there was something, None for nothing, False where the JVM is gone."""
        taken = self.guard.run("taking records", self._probe.take, wait_milliseconds)
        if taken is None:
            return False
        for record in taken:
            self._records += 1
            self.guard.run("handling a record", self._handle, record)
        return True if taken else None

    def _handle(self, text: str) -> None:
        record = json.loads(text)
        if record["k"] == "fault":
            self.guard.say(f"the probe ({record['where']})", RuntimeError(record["message"]))
            return
        for state in self._runs.feed(record):
            self._emit(state)

    def _emit(self, state: RunState) -> None:
        contributions = []
        for provider in self._providers:
            made = self.guard.run(f"facets of {provider.name}", contribute, provider, state)
            contributions.append(made if made is not None else failed(provider, RuntimeError("see the log")))
        event = describe(state, self._options, tuple(contributions))
        self._events += 1
        self._delivery.submit(Event(state.run_id, state.event_type, serialise(event)))

    def _abandon(self) -> None:
        for state in self._runs.abandon(_now()):
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
        lost = self.guard.run("counting lost records", self._probe.lost) or 0
        self._lost = lost
        remarks = [NotUnderstood(kind, f"{count} times") for kind, count in self.counts.caught]
        if lost:
            remarks.append(
                NotUnderstood("records", f"{lost} records of the probe were dropped: nobody took them in time")
            )
        return attrs.evolve(state, not_understood=tuple(remarks), operators=self._records)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
