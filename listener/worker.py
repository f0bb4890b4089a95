"""
The listener's own thread: it takes the probe's records and enforces the time limits.

All of the listener's work is done here, so that none of it runs, or can raise, on the user's thread.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections import deque
from collections.abc import Callable

import attrs
from openlineage_pyspark.facets.model.run import Gap, Outcome, RunState
from openlineage_pyspark.listener.guard import LOG, Guard
from openlineage_pyspark.listener.metrics import Metrics
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.probe.client import Probe
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.transport.composite import FanOut
from openlineage_pyspark.transport.delivery.counts import ReceiverMetrics
from openlineage_pyspark.transport.delivery.worker import Delivery

_WAIT_MILLISECONDS = 100
_CAPACITY = f"spark.scheduler.listenerbus.eventqueue.{Probe.QUEUE}.capacity"
# Even if there is hardly any time to ship, the last events are made and reach the spool.
_HAND_OVER_SECONDS = 0.6
_CLOSE_SECONDS = 0.1
# The longest time for the last events after the context was stopped, in a shell or notebook.
_STOPPED_SECONDS = 5.0
# The part of the deadline that is reserved for making the last events, in case Spark does not finish.
_LAST_EVENTS_SECONDS = 0.3
# After this many failed calls in a row the JVM counts as gone; the pauses between them double up to the longest.
_ATTEMPTS = 9
_LONGEST_PAUSE_SECONDS = 5.0


class Worker:
    """Does the work of the listener's thread, between one probe and one delivery."""

    def __init__(
        self,
        probe: Probe,
        application: Application,
        pipeline: Pipeline,
        delivery: Delivery | FanOut,
        guard: Guard,
        ends_with_context: Callable[[], bool] = lambda: False,
        look: Callable[[list[str]], None] = lambda _records: None,
    ) -> None:
        """
        Prepare the worker; `run` does the work.

        Args:
            probe: supplies the records.
            application: the application, whose own run is the parent of all others.
            pipeline: turns records into events.
            delivery: ships the events.
            guard: catches faults.
            ends_with_context: whether the application ends as COMPLETE as soon as its SparkContext is stopped.
            look: looks for the lines of Python that run the executions of new records.
        """
        self._probe = probe
        self._application = application
        self._pipeline = pipeline
        self._delivery = delivery
        self._guard = guard
        self._ends_with_context = ends_with_context
        self._look = look
        self._records = self._lost = 0
        self._ending = threading.Event()
        self._ended = threading.Event()
        self._deadline = 0.0
        self._outcome = Outcome("COMPLETE")
        self._settle: Callable[[float], None] = lambda _seconds: None
        self._barriers: list[threading.Event] = []
        # Records that are not handled yet: if this thread is killed, the next one handles them.
        self._taken: deque[str] = deque()
        self._began = self._finished = self._reported_dropped = False
        self._failures = 0

    def finish(self, outcome: Outcome, settle: Callable[[float], None], timeout_seconds: float) -> bool:
        """
        Handle and ship the pending records, end the application's run, and stop.

        Args:
            outcome: how the application ended.
            settle: waits until Spark has reported everything to the probe, for at most the given number of seconds.
            timeout_seconds: the time limit for all of this.

        Returns:
            Whether everything was shipped in time.
        """
        end = time.monotonic() + timeout_seconds
        self._deadline = max(end, time.monotonic() + _HAND_OVER_SECONDS)
        self._outcome, self._settle = outcome, settle
        # No JVM call here: in a signal handler, this thread may be in the middle of a JVM call of the user's.
        self._ending.set()
        if not self._ended.wait(max(timeout_seconds, _HAND_OVER_SECONDS)):
            LOG.warning("openlineage: the last events could not be made within %.1f s", timeout_seconds)
        left = self._delivery.close(max(_CLOSE_SECONDS, end - time.monotonic()))
        return left == 0 and self._ended.is_set()

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until everything Spark has reported so far is delivered, or time is up; return whether all of it was."""
        end = time.monotonic() + timeout_seconds
        handled = self.handle(timeout_seconds)
        return self._delivery.flush(max(0.0, end - time.monotonic())) == 0 and handled

    def handle(self, timeout_seconds: float) -> bool:
        """Wait until everything Spark has reported so far is in events, or time is up; return whether all of it is."""
        barrier = threading.Event()
        self._barriers.append(barrier)
        self._guard.run("waking the worker", self._probe.wake)
        return barrier.wait(timeout_seconds)

    @property
    def last(self) -> RunState | None:
        """The final state of the run that ended most recently, except the application's; None before one has ended."""
        return self._pipeline.last

    def metrics(self) -> Metrics:
        """Return the counts so far."""
        pipeline = self._pipeline
        return Metrics(
            events=pipeline.events,
            runs=pipeline.runs,
            edges=pipeline.edges,
            edges_in_doubt=pipeline.edges_in_doubt,
            remarks=pipeline.gap_count,
            opaque_code=dict(pipeline.code),
            faults=sum(self._guard.caught.values()),
            lost_records=self._lost,
            dropped_by_spark=pipeline.dropped,
            receivers=self._delivery.metrics(),
        )

    @property
    def has_ended(self) -> bool:
        """Whether the application's terminal event has been made."""
        return self._ended.is_set()

    @property
    def faults(self) -> tuple[str, ...]:
        """All lineage faults and failed deliveries so far, one line of text each."""
        lost = self._losses()
        tasks = {gap.task for gap in lost}
        found = [*(gap for gap in list(self._pipeline.gaps) if gap.task not in tasks), *lost]
        lines = [f"{gap.task}: {gap.message}" for gap in found]
        if not self.has_ended:
            lines.append("the last events could not be made in time")
        for each in self._delivery.metrics():
            if each.waiting:
                receiver = self._shown(each).receiver
                lines.append(f"delivery: {each.waiting} of {each.made} events were not sent to {receiver}")
        return tuple(lines)

    def run(self) -> None:
        """
        Work until `finish` is called. The application's START is the first event, its terminal event the last.

        If something kills the thread that this runs on, call it again on another thread, and the work continues.
        """
        if not self._began:
            self._began = True
            self._guard.run("describing the application", self._pipeline.ship, self._application.started_state())
        while not self._ending.is_set() and self._failures < _ATTEMPTS:
            waiting = self._barriers[:]
            taken = self._take(0 if waiting else _WAIT_MILLISECONDS)
            self._guard.run("reporting micro-batches", self._report_due)
            if not taken:
                self._release(waiting)
            if taken is False:
                self._ending.wait(min(0.1 * 2.0**self._failures, _LONGEST_PAUSE_SECONDS))
        while not self._ending.is_set():
            self._release(self._barriers[:])
            self._ending.wait(_LONGEST_PAUSE_SECONDS)
        self._release(self._barriers[:])
        self._guard.run("cancelling the shutdown events", self._pipeline.withdraw)
        self._end()
        self._ended.set()

    def _report_due(self) -> None:
        for state in self._pipeline.due(_now()):
            self._pipeline.ship(state)

    def _end(self) -> None:
        patience = self._deadline - _LAST_EVENTS_SECONDS - time.monotonic()
        self._guard.run("waiting for Spark's last events", self._settle, max(0.0, patience))
        while time.monotonic() < self._deadline and self._take(0):
            pass
        self._lost = self._guard.run("counting lost records", self._probe.lost) or 0
        self._guard.run("ending the runs that are open", self._abandon)
        if not self._finished:
            self._finished = True
            self._guard.run("describing the application", self._end_application)

    def _abandon(self) -> None:
        for state in self._pipeline.abandon(self._end_time(), self._lost):
            self._pipeline.ship(state)

    def _end_application(self) -> None:
        losses, metrics = self._losses(), self.metrics()
        members = attrs.evolve(metrics, receivers=tuple(map(self._shown, metrics.receivers))).members()
        ended = self._application.ended_state(self._outcome, self._end_time(), losses, self._records, members)
        self._pipeline.ship(ended)

    def _end_time(self) -> datetime.datetime:
        """Return when the context ended or, if it still runs, the present time."""
        # The script may end long after its context, and another context may have begun since.
        return self._pipeline.ended or _now()

    def _shown(self, receiver: ReceiverMetrics) -> ReceiverMetrics:
        """Return the metrics of a receiver without any secret in its address, and with rounded seconds."""
        redaction = self._guard.redaction
        address = receiver.receiver if redaction is None else redaction.text(receiver.receiver)
        return attrs.evolve(receiver, receiver=address, seconds_behind=round(receiver.seconds_behind, 3))

    def _release(self, barriers: list[threading.Event]) -> None:
        for barrier in barriers:
            barrier.set()
            self._barriers.remove(barrier)

    def _take(self, wait_milliseconds: int) -> bool | None:
        """Handle the waiting records; return True if there were any, None if not, False if the JVM does not answer."""
        if not self._taken:
            taken = self._guard.run("taking records", self._probe.take, wait_milliseconds)
            if taken is None:
                self._failures += 1
                return False
            self._failures = 0
            # At once, while the statements still run.
            self._guard.run("looking for lines of Python", self._look, taken)
            self._taken.extend(taken)
        handled = len(self._taken)
        while self._taken:
            self._records += 1
            self._guard.run("handling a record", self._pipeline.take, self._taken.popleft())
        self._warn_of_dropped()
        if self._pipeline.ended is not None:
            self._context_stopped()
        return True if handled else None

    def _context_stopped(self) -> None:
        """
        Expect the end of the JVM, which is no fault from now on.

        When a notebook's kernel is shut down, it ends the JVM first, by SIGTERM, and is soon killed itself. There the
        application ends now.
        """
        self._guard.expected = self._probe.gone
        if not self._ending.is_set() and self._ends_with_context():
            self._deadline = time.monotonic() + _STOPPED_SECONDS
            self._ending.set()

    def _warn_of_dropped(self) -> None:
        if self._pipeline.dropped and not self._reported_dropped:
            self._reported_dropped = True
            LOG.warning(
                "openlineage: Spark drops events because the listener's queue is full, and what it drops is missing "
                "from the lineage; raise %s (10000 by default)",
                _CAPACITY,
            )

    def _losses(self) -> tuple[Gap, ...]:
        """Return a gap for each kind of fault, dropped record or event, and failed delivery so far."""
        gaps = [Gap(kind, f"{count} times") for kind, count in sorted(self._guard.caught.items())]
        dropped = self._pipeline.dropped
        if dropped:
            message = f"Spark dropped {dropped} events because the listener's queue was full: raise {_CAPACITY}"
            gaps.append(Gap("events", message))
        if self._lost:
            gaps.append(
                Gap("records", f"the probe dropped {self._lost} records that the listener did not read in time")
            )
        shipped = self._delivery.counts()
        gaps.extend(Gap("delivery", f"{n} events: {reason.value}") for reason, n in shipped.drops.items())
        # Events left behind by earlier applications are not this one's fault.
        refused = shipped.failed - shipped.recovered_failed
        if refused:
            gaps.append(Gap("delivery", f"{refused} events were refused by the receiver for good"))
        return tuple(gaps)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
