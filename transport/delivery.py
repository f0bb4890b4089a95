"""Delivery in the background: whoever submits never waits for the receiver."""

from __future__ import annotations

import logging
import os
import threading
import time
import traceback
from collections import Counter
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.transport.backlog import Backlog, DropReason
from openlineage_pyspark.transport.base import TransportError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.event import Event

_log = logging.getLogger(__name__)

DEFAULT_MAX_BYTES = 64 * 1024 * 1024
# A transport that words each failure anew must not fill the log.
_MOST_KINDS = 20


@attrs.frozen
class DeliveryCounts:
    """What became of the events, each in exactly one place.

    Args:
        sent: taken by the receiver.
        failed: tried once and not taken.
        dropped: never tried.
        pending: waiting, or being sent at this moment.
        drops: the dropped ones by reason.
    """

    sent: int = 0
    failed: int = 0
    dropped: int = 0
    pending: int = 0
    drops: Mapping[DropReason, int] = attrs.field(factory=dict)


class Delivery:
    """Ships events through one transport, from one daemon thread, in the order of their submission.

    Each event is tried once. Failures are counted, and logged once per kind. A process that was forked
    from this one has no part in it: there, every method returns at once, and nothing is shipped.

    Args:
        transport: what ships; from now on it belongs to the delivery, which closes it.
        max_bytes: the bound on the events that wait; see `Backlog` for what is dropped beyond it.
    """

    def __init__(self, transport: Transport, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._transport = transport
        self._process = os.getpid()
        # Its lock is reentrant: a signal handler may come in while this very thread is in here.
        self._changed = threading.Condition()
        self._backlog = Backlog(max_bytes)
        self._worker: threading.Thread | None = None
        self._in_flight = 0
        self._sent = 0
        self._failed = 0
        self._drops: Counter[DropReason] = Counter()
        self._end: float | None = None
        self._kinds: set[str] = set()

    def submit(self, event: Event) -> None:
        """Hand an event over; this never blocks and never raises."""
        if self._forked():
            return
        with self._changed:
            drops = Counter({DropReason.CLOSED: 1}) if self._end is not None else self._backlog.put(event)
            new = [reason for reason in drops if not self._drops[reason]]
            self._drops += drops
            self._start_worker()
            self._changed.notify_all()
        for reason in new:
            _log.warning("an OpenLineage event was %s; further ones are only counted", reason.value)

    def flush(self, timeout_seconds: float) -> int:
        """Wait until each event has been tried, but not longer than this.

        Args:
            timeout_seconds: the limit; 0 does not wait.

        Returns:
            How many events are left.
        """
        if self._forked():
            return 0
        with self._changed:
            self._start_worker()
            self._changed.wait_for(lambda: not self._pending(), timeout_seconds)
            return self._pending()

    def close(self, timeout_seconds: float) -> int:
        """Ship what waits and close the transport, within the limit even where the transport hangs.

        Args:
            timeout_seconds: the limit; 0 does not wait.

        Returns:
            How many events are left; they will not be shipped any more.
        """
        if self._forked():
            return 0
        with self._changed:
            first = self._end is None
            self._start_worker()
            if first:
                self._end = time.monotonic() + timeout_seconds
            self._changed.notify_all()
            worker = self._worker
        if worker is not None:
            worker.join(timeout_seconds)
        counts = self.counts()
        if first and (counts.pending or counts.failed or counts.dropped):
            _log.warning(
                "OpenLineage events: %d sent, %d failed, %d dropped, %d left unsent",
                counts.sent, counts.failed, counts.dropped, counts.pending,
            )  # fmt: skip
        return counts.pending

    def counts(self) -> DeliveryCounts:
        """Return what became of the events so far; in a forked process, zeros."""
        if self._forked():
            return DeliveryCounts()
        with self._changed:
            drops = dict(self._drops)
            return DeliveryCounts(self._sent, self._failed, sum(drops.values()), self._pending(), drops)

    def _forked(self) -> bool:
        # Asked before the lock is touched: the worker may have held it when the process was forked.
        return os.getpid() != self._process

    def _pending(self) -> int:
        return len(self._backlog) + self._in_flight

    def _start_worker(self) -> None:
        """Start the worker with the first event, and again should something have killed it."""
        if self._end is not None or (self._worker is not None and self._worker.is_alive()):
            return
        worker = threading.Thread(target=self._work, name="openlineage-delivery", daemon=True)
        try:
            worker.start()
        except RuntimeError as exc:
            self._log_once("thread", "can't start the thread that ships OpenLineage events: %s", exc)
            return
        self._worker = worker

    def _work(self) -> None:
        while (event := self._take()) is not None:
            sent: bool | None = None
            try:
                sent = self._attempt(event)
            finally:
                with self._changed:
                    # What is no Exception is about to end this thread: the next call starts another.
                    if sent is None:
                        self._worker = None
                    self._in_flight = 0
                    self._sent += sent is True
                    self._failed += sent is not True
                    self._changed.notify_all()
        self._attempt(None)

    def _take(self) -> Event | None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._backlog) or self._end is not None)
            if self._end is not None and time.monotonic() >= self._end:
                return None
            event = self._backlog.pop()
            self._in_flight = int(event is not None)
            return event

    def _attempt(self, event: Event | None) -> bool:
        """Send the event, or close the transport where there is none; return whether that went well."""
        try:
            if event is not None:
                self._transport.send(event)
            else:
                self._transport.close(max(0.0, (self._end or 0.0) - time.monotonic()))
        except TransportError as exc:
            later = "a later attempt could succeed" if exc.retryable else "a further attempt would fail too"
            self._log_once(exc.message, "delivery of OpenLineage events: %s (%s)", exc, later)
        except Exception as exc:  # noqa: BLE001 - a transport is foreign code, and the worker must outlive it
            # Where, and not what: the text of a foreign exception may hold a key.
            frame = traceback.extract_tb(exc.__traceback__)[-1]
            kind = f"{type(exc).__name__} at {frame.filename}:{frame.lineno}"
            self._log_once(kind, "the transport of OpenLineage events failed with %s", kind)
        else:
            return True
        return False

    def _log_once(self, kind: str, text: str, *args: object) -> None:
        if kind not in self._kinds and len(self._kinds) < _MOST_KINDS:
            self._kinds.add(kind)
            _log.warning("%s; further failures of this kind are only counted", text % args)
