"""The threads that send: `Delivery` takes events without making the caller wait, and ships them in the background."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import SpoolError, TransportError
from openlineage_pyspark.transport.attempt import Breaker, ForeignError, RetryPolicy, attempt
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts, ReceiverMetrics
from openlineage_pyspark.transport.delivery.queue import MEMORY_BYTES, Backlog, DropReason
from openlineage_pyspark.transport.log_once import LogOnce
from openlineage_pyspark.transport.spool.recovery import Recovery, RecoveryScope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.delivery.queue import Entry
    from openlineage_pyspark.transport.event import Event
    from openlineage_pyspark.transport.spool.store import Spool

_log = logging.getLogger(__name__)

# How long the end of the application waits for the last attempt at a receiver that is unavailable.
_LAST_ATTEMPT_SECONDS = 1.0
_ABOUT_LOGIN = frozenset({401, 403})


class Delivery:
    """
    Sends events through one transport from daemon threads: those of one run in order, those of several runs at once.

    Delivery is at least once: an event is tried until the receiver takes it or refuses it for good. If the process ends
    between the answer and the event's deletion from the spool, it is sent again with the same id. In a forked process
    every method returns at once and nothing is sent. Orphaned spools go first, one directory after the other; `flush`
    and `close` wait for them only if this delivery has no spool of its own.

    Args:
        transport: sends the events; the delivery owns and closes it.
        spool: keeps events until they are delivered; None for memory only, see `Backlog`.
        recovery: which orphaned spools are sent first; None for none.
        max_bytes: the limit on the waiting events; see `Backlog` for what is dropped beyond it.
        policy: when an attempt is repeated.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        spool: Spool | None = None,
        recovery: RecoveryScope | None = None,
        max_bytes: int = MEMORY_BYTES,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._transport = transport
        self._policy = policy or RetryPolicy()
        self._process = os.getpid()
        # Its lock is reentrant: a signal handler may call in while its thread holds the lock.
        self._changed = threading.Condition()
        self._backlog = Backlog(spool, max_bytes)
        self._breaker = Breaker(self._policy)
        self._recovery = None if recovery is None else Recovery(recovery, transport.destination, transport.sender)
        self._recovering = self._has_recovered = False
        self._retention = None if recovery is None else recovery.retention
        self._deleted = 0
        self._waits_for_all = spool is None
        self._workers: set[threading.Thread] = set()
        self._closing = self._given_up = self._closed = False
        self._sent = self._failed = self._retries = self._made = 0
        self._recovered = self._recovered_sent = self._recovered_failed = self._recovered_lost = 0
        self._drops: Counter[DropReason] = Counter()
        self._warnings = LogOnce(_log)

    def start(self) -> None:
        """Start sending what earlier applications left in the spool; the first `submit` does so too."""
        if self._forked():
            return
        with self._changed:
            self._start_workers()

    def submit(self, event: Event) -> None:
        """Queue an event; this never waits for the receiver and never raises."""
        if self._forked():
            return
        with self._changed:
            self._start_workers()
            self._made += 1
            self._drop(Counter({DropReason.CLOSED: 1}) if self._closing else self._backlog.put(event))
            self._changed.notify_all()

    def flush(self, timeout_seconds: float) -> int:
        """
        Wait until every event has its answer, or the time is up, or the receiver is unavailable.

        A receiver that is unavailable gets one more attempt, for which this waits at most one second.

        Args:
            timeout_seconds: the limit; 0 does not wait.

        Returns:
            The number of awaited events that are still pending.
        """
        if self._forked():
            return 0
        with self._changed:
            self._start_workers()
            self._wait(timeout_seconds)
            return self._awaited

    def close(self, timeout_seconds: float) -> int:
        """
        Send what waits, as `flush` does, and close the transport and the spool, even if the transport hangs.

        Args:
            timeout_seconds: the limit; 0 does not wait.

        Returns:
            The number of awaited events that are still pending. They stay in the spool; without one they are lost.
        """
        if self._forked():
            return 0
        end = time.monotonic() + timeout_seconds
        with self._changed:
            self._start_workers()
            first, self._closing = not self._closing, True
            if first:
                self._wait(timeout_seconds)
                self._given_up = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or not self._alive(), max(0.0, end - time.monotonic()))
        left = self._awaited
        if first:
            self._sum_up()
        return left

    def _sum_up(self) -> None:
        """Log how many events arrived, and the outcomes of those that did not."""
        counts, where = self.counts(), self._transport.destination
        if not (self._awaited or counts.failed or counts.dropped):
            for each in self.metrics():
                if each.made:
                    _log.info("OpenLineage events: %d of %d arrived at %s", each.sent, each.made, where)
            return
        kept = self._backlog.directory
        _log.warning(
            "OpenLineage events for %s: %d sent, %d refused, %d dropped, %d left unsent%s",
            where, counts.sent, counts.failed, counts.dropped, counts.pending,
            _remedy(kept, dead=counts.failed > 0) if kept else "",
        )  # fmt: skip

    def counts(self) -> DeliveryCounts:
        """Return the outcomes so far; in a forked process, zeros."""
        if self._forked():
            return DeliveryCounts()
        with self._changed:
            return DeliveryCounts(
                sent=self._sent,
                failed=self._failed,
                dropped=sum(self._drops.values()),
                pending=len(self._backlog),
                drops=self._drops,
                recovered=self._recovered,
                recovered_failed=self._recovered_failed,
                recovered_pending=self._backlog.recovered,
                recovering=self._recovery is not None,
                retries=self._retries,
                deleted=self._deleted,
            )

    def metrics(self) -> tuple[ReceiverMetrics, ...]:
        """
        Return the outcomes of this application's own events so far, one value for each receiver; here for one.

        The method may be called on any thread, at any time, also after `close`. `FanOut.metrics` has the same form.

        Returns:
            The metrics; in a forked process, none.
        """
        if self._forked():
            return ()
        with self._changed:
            oldest = self._backlog.oldest
            return (
                ReceiverMetrics(
                    receiver=self._transport.destination,
                    made=self._made,
                    sent=self._sent - self._recovered_sent,
                    waiting=len(self._backlog) - self._backlog.recovered,
                    dropped=sum(self._drops.values()) - self._recovered_lost,
                    refused=self._failed - self._recovered_failed,
                    seconds_behind=0.0 if oldest is None else time.monotonic() - oldest,
                    retries=self._retries,
                ),
            )

    @property
    def _awaited(self) -> int:
        return len(self._backlog) - (0 if self._waits_for_all else self._backlog.recovered)

    def _forked(self) -> bool:
        # Checked before the lock is taken: a worker may have held it when the process was forked.
        return os.getpid() != self._process

    def _wait(self, seconds: float) -> None:
        """Make everything due, and wait for the answers as `flush` does."""
        now = time.monotonic()
        end, last_attempt = now + seconds, now + min(seconds, _LAST_ATTEMPT_SECONDS)
        self._backlog.hurry()
        self._breaker.hurry(now)
        self._changed.notify_all()
        while self._awaited or (self._waits_for_all and self._recovery is not None):
            away = self._breaker.is_open
            limit = last_attempt if away else end
            if now >= limit or (away and self._breaker.was_asked_for):
                return
            self._changed.wait(limit - now)
            now = time.monotonic()

    # --- the workers ----------------------------------------------------------------------------------------

    def _alive(self) -> bool:
        return any(worker.is_alive() for worker in self._workers)

    def _start_workers(self) -> None:
        """Start the workers that are missing: all of them at first, later those that something has killed."""
        self._workers = {worker for worker in self._workers if worker.is_alive()}
        if self._closing:
            return
        for number in range(len(self._workers), max(1, self._transport.CONNECTIONS)):
            worker = threading.Thread(target=self._work, name=f"openlineage-delivery-{number}", daemon=True)
            try:
                worker.start()
            except RuntimeError as exc:
                self._warnings.warn("thread", "can't start the thread that ships OpenLineage events: %s", exc)
                return
            self._workers.add(worker)

    def _work(self) -> None:
        while (task := self._next()) is not None:
            done = False
            try:
                if isinstance(task, Recovery):
                    self._recover(task)
                else:
                    self._ship(task)
                done = True
            finally:
                if not done:
                    # Something other than an Exception ends this thread: the next call starts another one.
                    with self._changed:
                        self._workers.discard(threading.current_thread())
                        if not isinstance(task, Recovery):
                            self._judge(task, TransportError("the thread that sends was stopped", retryable=True))
        self._leave()

    def _recover(self, recovery: Recovery) -> None:
        """Take over the next orphaned spool, or note that there is none left."""
        found = None
        try:
            found = recovery.next()
        finally:
            with self._changed:
                self._recovering, self._has_recovered = False, True
                self._deleted = recovery.deleted
                if found is None:
                    self._recovery = None
                else:
                    self._recovered += len(found[1])
                    self._backlog.recover(*found)
                self._changed.notify_all()

    def _next(self) -> Entry | Recovery | None:
        """Return the next task of a worker: an event to send, or an orphaned spool to take over; None to end."""
        with self._changed:
            while not self._given_up:
                now = time.monotonic()
                kept_at = self._backlog.next_keep()
                if kept_at is not None and kept_at <= now:
                    # There may be no later event whose write would include it.
                    self._backlog.keep_again()
                    kept_at = self._backlog.next_keep()
                pause = self._breaker.pause(now)
                if pause == 0.0:
                    if self._may_recover():
                        self._recovering = True
                        return self._recovery
                    # Nothing is sent before the first search for orphaned spools, because those are sent first.
                    is_ready = self._has_recovered or self._recovery is None
                    entry = self._backlog.take(now) if is_ready else None
                    if entry is not None:
                        self._breaker.began()
                        return entry
                    later = self._backlog.next_time() if is_ready else None
                    pause = None if later is None else max(0.0, later - now)
                if self._closing and len(self._backlog) == self._backlog.in_flight and not self._recovering:
                    return None
                pauses = [pause, None if kept_at is None else max(0.0, kept_at - now)]
                self._changed.wait(min((each for each in pauses if each is not None), default=None))
        return None

    def _may_recover(self) -> bool:
        if self._recovery is None or self._recovering or self._backlog.recovered:
            return False
        return self._waits_for_all or not (self._closing and self._has_recovered)

    def _leave(self) -> None:
        """End a worker; the last one to end closes the transport and the spools."""
        me = threading.current_thread()
        with self._changed:
            if any(worker.is_alive() for worker in self._workers - {me}):
                self._workers.discard(me)
                return
        self._attempt("closing", lambda: self._transport.close(_LAST_ATTEMPT_SECONDS))
        with self._changed:
            self._backlog.release(self._transport.held)
        self._backlog.close()
        with self._changed:
            self._closed, self._recovery = True, None
            self._changed.notify_all()

    # --- one event ------------------------------------------------------------------------------------------

    def _ship(self, entry: Entry) -> None:
        try:
            event = self._backlog.load(entry)
        except SpoolError as exc:
            self._warnings.warn("spool", "the spool of OpenLineage events: %s", exc)
            with self._changed:
                self._breaker.stopped()
                if exc.damaged:
                    self._backlog.lost(entry)
                    self._recovered_lost += entry.recovered
                    self._drop(Counter({DropReason.UNREADABLE: 1}))
                else:
                    self._backlog.postpone(entry, time.monotonic() + self._policy.longest_seconds)
                self._changed.notify_all()
            return
        problem = self._attempt("sending", lambda: self._transport.send(event))
        with self._changed:
            self._judge(entry, problem)

    def _judge(self, entry: Entry, problem: TransportError | None) -> None:
        """Note the outcome of an attempt: delivered, to be tried again, or refused for good."""
        if problem is None:
            self._settled(entry)
        elif problem.retryable and self._is_expired(entry):
            self._recovered_lost += 1
            self._breaker.stopped()
            self._backlog.expired(entry)
            self._drop(Counter({DropReason.EXPIRED: 1}))
        elif problem.retryable and not self._is_hopeless(entry):
            self._again(entry, problem)
        else:
            self._refused(entry, problem)
        self._changed.notify_all()

    def _settled(self, entry: Entry) -> None:
        self._sent += 1
        self._recovered_sent += entry.recovered
        self._backlog.delivered(entry, self._transport.held)
        if self._breaker.succeeded():
            # Events that failed because the receiver was unavailable are due at once.
            self._backlog.hurry()

    def _refused(self, entry: Entry, problem: TransportError) -> None:
        self._failed += 1
        self._recovered_failed += entry.recovered
        self._backlog.refused(entry, problem.message, problem.answer)
        if problem.status is not None:
            self._breaker.succeeded()
        else:
            self._breaker.stopped()

    def _is_expired(self, entry: Entry) -> bool:
        if self._retention is None or not entry.recovered:
            return False
        return entry.since < time.time() - self._retention.max_age_seconds

    def _is_hopeless(self, entry: Entry) -> bool:
        return entry.strikes + 1 >= self._policy.attempts and self._sent > entry.others_sent

    def _again(self, entry: Entry, problem: TransportError) -> None:
        self._retries += 1
        if entry.attempts == 0:
            entry.others_sent = self._sent
        entry.attempts += 1
        entry.strikes += not self._breaker.is_open
        answered = problem.status is not None
        entry.put_off += answered and problem.retry_after is None and not problem.lasting
        now = time.monotonic()
        self._breaker.failed(now, answered=answered, asked=problem.retry_after, lasting=problem.lasting)
        self._backlog.postpone(entry, now + self._policy.delay(entry.attempts, problem.retry_after))

    def _attempt(self, what: str, work: Callable[[], None]) -> TransportError | None:
        """Call the transport; return its failure, logged once per kind, or None."""
        problem = attempt(work)
        if isinstance(problem, ForeignError):
            self._warnings.warn(
                problem.place, "the transport of OpenLineage events failed in %s with %s", what, problem.place
            )
        elif problem is not None:
            text = "an event was not delivered: %s. %s"
            self._warnings.warn(problem.message, text, problem, self._consequence(problem))
        return problem

    def _consequence(self, problem: TransportError) -> str:
        """Return the consequence of a failure and the remedy, as a sentence without a full stop."""
        kept = self._backlog.directory is not None
        if not problem.retryable:
            return f"It is kept as a dead letter: {_commands(dead=True)}" if kept else "It is given up"
        if not problem.lasting:
            return "It is tried again"
        later = "It is tried again now and then, until that is repaired"
        # Another key is another sender, whose applications do not send these events.
        new_key = ", with another key `replay --to URL`" if problem.status in _ABOUT_LOGIN else ""
        return f"{later}, and kept: {_commands(dead=False)}{new_key}" if kept else later

    def _drop(self, drops: Counter[DropReason]) -> None:
        for reason in drops:
            if not self._drops[reason]:
                _log.warning("an OpenLineage event was %s; further ones are only counted", reason.value)
        self._drops += drops


def _remedy(directory: Path, *, dead: bool) -> str:
    """Return what to do about the remaining events, as the end of a sentence."""
    return f"; what is left or was refused stays in {directory}: {_commands(dead=dead)}"


def _commands(*, dead: bool) -> str:
    option = " --dead" if dead else ""
    return f"`openlineage-pyspark spool ls{option}` lists it, `openlineage-pyspark replay{option}` sends it"
