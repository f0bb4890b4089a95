"""
Attach the listener to a Spark application, and detach it.

If the configuration enables lineage, the work starts before the context is created and runs alongside, so that the
user's thread only has to put a compiled probe on the listener bus. `register` does the same for a running session.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import NotConfiguredError, ProbeError, RegistrationError
from openlineage_pyspark.facets.model.run import Outcome
from openlineage_pyspark.listener.guard import LOG, Guard
from openlineage_pyspark.listener.start.imports import import_all
from openlineage_pyspark.listener.start.leaving import leave_last
from openlineage_pyspark.listener.start.prepare import ListenerParts, Preparation, StillPreparingError
from openlineage_pyspark.listener.start.script_end import ScriptEnd, is_interactive
from openlineage_pyspark.listener.start.strict import STRICT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.facets.model.run import RunState
    from openlineage_pyspark.listener.metrics import Metrics
    from openlineage_pyspark.listener.worker import Worker
    from pyspark.sql import SparkSession


_START_SECONDS = 10.0
"""The longest wait for the listener's thread to create its worker."""
_PAUSES = (0.1, 1.0)
"""The seconds between the attempts to make the worker."""


class Handle:
    """
    A listener that is attached to a Spark application.

    It closes itself at the end of the script; call `close` to close it earlier.
    """

    def __init__(self, context: Any, java_context: Any, prepared: ListenerParts, guard: Guard) -> None:
        """
        Start listening to the context; everything else is done on the listener's own thread.

        Raises:
            ProbeError: the JVM rejects the probe.
        """
        self._context = context
        self._java_context = java_context
        self._prepared = prepared
        self._guard = guard
        self._pid = os.getpid()
        # Reentrant: a signal handler of the user's may end the script while this same thread holds the lock.
        self._lock = threading.RLock()
        self._closed = False
        self._ready = threading.Event()
        self._made_worker: Worker | None = None
        # The seconds left for all waits at the end together: first at the end of the context, then of the script.
        self._patience = prepared.settings.flush_timeout
        prepared.probe.attach(self._java_context)
        self._start()

    @property
    def is_open(self) -> bool:
        """Whether the listener is attached; always False in a forked process."""
        return not self._closed and os.getpid() == self._pid

    def flush(self, timeout_seconds: float = 10.0) -> bool:
        """
        Wait until the events for everything that Spark has done so far are delivered.

        Args:
            timeout_seconds: the longest time to wait.

        Returns:
            Whether everything was delivered within that time; True if the handle is already closed.
        """
        if not self.is_open:
            return True
        end = time.monotonic() + timeout_seconds
        self._guard.run("waiting for Spark's events", self._settle, timeout_seconds)
        worker = self._worker
        return worker is not None and worker.flush(max(0.0, end - time.monotonic()))

    def close(self) -> bool:
        """
        Deliver the pending events, end the application's run as COMPLETE, and stop listening.

        Returns:
            Whether everything was delivered within `spark.openlineage.flush.timeoutInMillis`; in strict mode also False
            after any lineage fault. A second call does nothing and returns True.
        """
        if not self.is_open:
            return True
        done = self._end(Outcome("COMPLETE"))
        self._guard.run("detaching", self._prepared.probe.detach, self._java_context)
        return done

    def metrics(self) -> Metrics:
        """
        Return the listener's counters so far, also after it was closed.

        This queries neither Spark nor a receiver.

        Returns:
            The metrics; zeros if the listener has not started, and in a forked process.
        """
        from openlineage_pyspark.listener.metrics import Metrics

        if os.getpid() != self._pid or self._made_worker is None:
            return Metrics()
        return self._made_worker.metrics()

    def last_run(self, timeout_seconds: float = 10.0) -> RunState | None:
        """
        Return the final state of the run that ended most recently; the package's `last_run` adds its lineage.

        Args:
            timeout_seconds: the longest time to wait for what Spark has not reported yet.

        Returns:
            The state, after redaction; None if no run has ended, and in a forked process.
        """
        if self.is_open:
            end = time.monotonic() + timeout_seconds
            self._guard.run("waiting for Spark's events", self._settle, timeout_seconds)
            if self._worker is not None:
                self._worker.handle(max(0.0, end - time.monotonic()))
        if os.getpid() != self._pid or self._made_worker is None:
            return None
        return self._made_worker.last

    @property
    def _worker(self) -> Worker | None:
        """The worker of this listener; None if it could not be started."""
        self._ready.wait(_START_SECONDS)
        return self._made_worker

    def _start(self) -> None:
        threading.Thread(target=self._work, name="openlineage", daemon=True).start()

    def _work(self) -> None:
        try:
            if not self._ready.is_set():
                self._made_worker = self._made()
                self._ready.set()
            if self._made_worker is not None:
                self._made_worker.run()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        """Start a new thread to replace one that was killed by a BaseException other than Exception."""
        killer = sys.exc_info()[1]
        self._ready.set()
        if killer is not None:
            self._guard.report("the listener's thread", killer)
        if self._made_worker is not None and not self._made_worker.has_ended:
            self._guard.run("starting the listener's thread again", self._start)

    def _made(self) -> Worker | None:
        """
        Return the worker; None if it can't be made.

        A call to a JVM that is busy may fail. The probe keeps what it records meanwhile, so only the last attempt is
        reported.
        """
        quiet = Guard()
        quiet.expected = (Exception,)
        for seconds in _PAUSES:
            made = quiet.run("starting", self._make)
            if made is not None or self._closed:
                return made
            time.sleep(seconds)
        return self._guard.run("starting", self._make)

    def _make(self) -> Worker:
        import_all()
        from openlineage_pyspark.listener.probe.client import context_facts
        from openlineage_pyspark.listener.start.application import worker_of

        prepared = self._prepared
        facts = context_facts(self._java_context)
        attempt = _REGISTRATIONS[facts.application_id] + 1
        worker = worker_of(facts, prepared.settings, prepared.probe, prepared.delivery, self._guard, attempt)
        _REGISTRATIONS[facts.application_id] = attempt
        return worker

    def _end(self, outcome: Outcome) -> bool:
        """
        Deliver the pending events and end the application's run; the process may be about to end.

        This makes no call to the JVM on this thread: a signal may have interrupted one.

        Args:
            outcome: how the application ended.

        Returns:
            The same as `close`.
        """
        with self._lock:
            if not self.is_open:
                return True
            self._closed = True
        if self in _HANDLES:
            _HANDLES.remove(self)
        worker = self._worker
        delivered = False
        try:
            if worker is not None:
                delivered = worker.finish(outcome, self._settle, self._patience)
        finally:
            if self._prepared.settings.strict:
                faults = worker.faults if worker is not None else ("the listener could not be started",)
                delivered = STRICT.blame(faults) and delivered
        return delivered

    def _stopped(self) -> None:
        """Close in a shell or notebook, where the application ends with its context; elsewhere only await delivery."""
        if is_interactive():
            self.close()
        else:
            begin = time.monotonic()
            self.flush(self._patience)
            self._patience = max(0.0, self._patience - (time.monotonic() - begin))

    def _settle(self, seconds: float) -> None:
        self._prepared.probe.settle(self._java_context, seconds)


_HANDLES: list[Handle] = []
# How many times each application was registered.
_REGISTRATIONS: Counter[str] = Counter()
_WATCHING: list[ScriptEnd] = []


# The preparations that the user's thread no longer waits for.
_LATE: list[Preparation] = []
# Guards `_LATE`: the end of the script and the thread of a preparation both change it.
_LATE_LOCK = threading.RLock()


def attach(context: Any, java_context: Any, preparation: Preparation, guard: Guard) -> None:
    """
    Start listening to a context; if that fails, log why.

    If the preparation takes longer than the user's thread may wait, listening starts when it is done.

    Args:
        context: a `pyspark.SparkContext`.
        java_context: its `_jsc`, which may not be set on it yet.
        preparation: the preparation that was started for it.
        guard: keeps faults away from the user's job.
    """
    try:
        _attach_if_configured(context, java_context, preparation, guard)
    except StillPreparingError:
        _LATE.append(preparation)
        _watch()
        preparation.then(lambda: _attach_late(context, java_context, preparation, guard))


def _attach_late(context: Any, java_context: Any, preparation: Preparation, guard: Guard) -> None:
    """Start listening to a context that runs already, unless the script has ended."""
    with _LATE_LOCK:
        if preparation not in _LATE:
            return
        _LATE.remove(preparation)
        if context._jsc is not java_context:
            _give_up(
                preparation, f"the SparkContext stopped before the listener was prepared ({preparation.seconds:.0f} s)"
            )
            return
        missing = TimeoutError(
            f"nothing is known of the first {preparation.seconds:.0f} s; the listener was not prepared within "
            "spark.openlineage.start.timeoutInMillis"
        )
        if handle_of(context) is None and _attach_if_configured(context, java_context, preparation, guard):
            guard.report("listening from the start", missing)


def _attach_if_configured(context: Any, java_context: Any, preparation: Preparation, guard: Guard) -> bool:
    """Start listening to a context, or log why not; return whether it is listened to."""
    try:
        _attach(context, java_context, preparation.result(), guard)
    except NotConfiguredError:
        return False
    except RegistrationError as problem:
        # The preparation holds on to the exception, and its traceback would keep the frames of the user's script alive.
        problem.with_traceback(None)
        _give_up(preparation, str(problem))
        return False
    return True


def _give_up(preparation: Preparation, why: str) -> None:
    LOG.warning("openlineage: no lineage of this application: %s", why)
    if preparation.strict:
        STRICT.blame([f"no lineage of this application: {why}"])
        _watch()


def _attach(context: Any, java_context: Any, prepared: ListenerParts, guard: Guard) -> Handle:
    for earlier in _HANDLES[:]:
        earlier.close()
    try:
        handle = Handle(context, java_context, prepared, guard)
    except ProbeError as problem:
        raise RegistrationError(f"the listener can't be attached in this JVM: {problem}") from problem
    _HANDLES.append(handle)
    _watch()
    return handle


def _watch() -> None:
    """Watch for the end of the process. Repeated calls do nothing."""
    if not _WATCHING:
        _WATCHING.append(ScriptEnd())
        leave_last()


def finish() -> None:
    """Stop listening, at the end of the script."""
    if not _WATCHING:
        return
    outcome = _WATCHING[0].outcome()
    with _LATE_LOCK:
        for preparation in _LATE:
            _give_up(
                preparation, f"the application ended before the listener was prepared ({preparation.seconds:.0f} s)"
            )
        _LATE.clear()
    try:
        for handle in _HANDLES[:]:
            Guard().run("ending", handle._end, outcome)
    except KeyboardInterrupt:
        # A user who interrupts does not want to wait any longer; the exit status stays the script's.
        LOG.warning("openlineage: interrupted before all events were sent")
    STRICT.judge(outcome)


def handle_of(context: Any) -> Handle | None:
    """Return the listener that is attached to a context; None if there is none."""
    return next((handle for handle in _HANDLES if handle._context is context), None)


def stopped(context: Any) -> None:
    """Notify the listener of a context, if there is one, that the context has stopped."""
    handle = handle_of(context)
    if handle is not None:
        Guard().run("stopping", handle._stopped)


def register(spark: SparkSession, options: Mapping[str, str] | None = None) -> Handle:
    """
    Attach the listener to the Spark application of a running session.

    Args:
        spark: a session with a driver JVM; not a Spark Connect session.
        options: configuration keys with their prefix (`spark.openlineage.transport.type`) and values as text; they
            take precedence over the session's configuration.

    Returns:
        A handle, whose `close` detaches the listener; if one is already attached, the existing handle.

    Raises:
        RegistrationError: no transport is configured, a key has no prefix, the session is stopped or is a Spark Connect
            session, or the probe can't be loaded into this JVM.
        TypeError: `spark` is not a session.
    """
    from openlineage_pyspark.listener.probe.client import as_probe_error, context_of

    try:
        context = context_of(spark)
        with as_probe_error():
            conf = {**dict(context.getConf().getAll()), **_with_prefix(options or {})}
    except ProbeError as problem:
        raise RegistrationError(str(problem)) from problem
    known = handle_of(context)
    if known is not None:
        ignored = "; the new settings are ignored, close() it first to change them" if options else ""
        LOG.warning("openlineage: a listener is already registered, its handle is returned%s", ignored)
        return known
    guard = Guard()
    preparation = Preparation(context._gateway, conf, guard)
    try:
        prepared = preparation.result()
    except StillPreparingError:
        late = "the listener was not prepared within spark.openlineage.start.timeoutInMillis; raise it, or try again"
        raise RegistrationError(late) from None
    return _attach(context, context._jsc, prepared, guard)


def _with_prefix(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options unchanged; refuse keys without `spark.`, which would have no effect in Spark's properties."""
    from openlineage_pyspark.listener.settings.given import PREFIX

    for key in options:
        if not key.startswith("spark."):
            raise RegistrationError(f"{key} has no prefix; did you mean {PREFIX}{key}?")
    return options
