"""
Putting the listener to a Spark application, and taking it off again.

By configuration, the work is begun before the context is made and goes on beside it, so that what is left on the
user's thread is to hang a compiled probe on the listener bus. `register` does the same on a session that runs.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.facets.model.run import Outcome
from openlineage_pyspark.listener.guard import LOG, Guard
from openlineage_pyspark.listener.start.prepare import (
    COMPILE_SECONDS,
    NotAskedForError,
    Preparation,
    Prepared,
    RegistrationError,
)
from openlineage_pyspark.listener.start.script_end import ScriptEnd, is_interactive, on_terminate
from openlineage_pyspark.listener.start.strict import Strict

if TYPE_CHECKING:
    from openlineage_pyspark.listener.worker import Worker


class Handle:
    """
    A listener on one Spark application.

    `close` takes it off; at the end of the script it is closed by itself.
    """

    def __init__(self, context: Any, java_context: Any, prepared: Prepared, guard: Guard) -> None:
        """Hear the context from now on; all but that is done on a thread of the listener's own."""
        self._context = context
        self._java_context = java_context
        self._prepared = prepared
        self._guard = guard
        self._pid = os.getpid()
        # Reentrant: SIGTERM may come while this very thread is in here.
        self._lock = threading.RLock()
        self._closed = False
        self._ready = threading.Event()
        self._worker: Worker | None = None
        # What is left of the seconds that all ends together may wait: that of the context, then that of the script.
        self._patience = prepared.settings.flush_timeout
        prepared.probe.attach(self._java_context)
        self._start()

    def _start(self) -> None:
        threading.Thread(target=self._work, name="openlineage", daemon=True).start()

    def _work(self) -> None:
        try:
            if not self._ready.is_set():
                self._worker = self._guard.run("starting", self._make)
                self._ready.set()
            if self._worker is not None:
                self._worker.run()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        """Put another thread in the place of one that something has killed, which is no Exception."""
        killer = sys.exc_info()[1]
        self._ready.set()
        if killer is not None:
            self._guard.report("the listener's thread", killer)
        if self._worker is not None and not self._worker.has_ended:
            self._guard.run("starting the listener's thread again", self._start)

    def _make(self) -> Worker:
        from openlineage_pyspark.listener.probe.client import context_facts
        from openlineage_pyspark.listener.start.application import worker_of

        prepared = self._prepared
        facts = context_facts(self._java_context)
        _TIMES[facts.application_id] += 1
        attempt = _TIMES[facts.application_id]
        return worker_of(facts, prepared.settings, prepared.probe, prepared.delivery, self._guard, attempt)

    @property
    def worker(self) -> Worker | None:
        """The worker behind it; None where it could not be started."""
        self._ready.wait(COMPILE_SECONDS)
        return self._worker

    def close(self) -> bool:
        """
        Ship what is on its way, end the application's run as COMPLETE, and hear nothing any more.

        Returns:
            whether all was shipped within `spark.openlineage.flush.timeoutInMillis`, and in strict mode whether there
            was no lineage fault at all. A second call does nothing.
        """
        if not self.is_open:
            return True
        done = self.end(Outcome("COMPLETE"))
        self._guard.run("detaching", self._prepared.probe.detach, self._java_context)
        return done

    def end(self, result: Outcome) -> bool:
        """
        Ship what is on its way and end the application's run, with the process about to end.

        No call to the JVM is made on this thread: a signal may have come in the middle of one.

        Args:
            result: how the application ended.

        Returns:
            as `close`.
        """
        with self._lock:
            if not self.is_open:
                return True
            self._closed = True
        if self in _HANDLES:
            _HANDLES.remove(self)
        worker = self.worker
        shipped = False
        try:
            if worker is not None:
                shipped = worker.finish(result, self._settle, self._patience)
        finally:
            if self._prepared.settings.strict:
                faults = worker.faults if worker is not None else ("the listener could not be started",)
                shipped = _STRICT.blame(faults) and shipped
        return shipped

    def flush(self, timeout_seconds: float = 10.0) -> None:
        """Wait until all that Spark has done so far is shipped, at most that long."""
        if not self.is_open:
            return
        end = time.monotonic() + timeout_seconds
        self._guard.run("waiting for Spark's events", self._settle, timeout_seconds)
        if self.worker is not None:
            self.worker.flush(max(0.0, end - time.monotonic()))

    def stopped(self) -> None:
        """The context has stopped: in a shell or notebook the application is over; a script's outcome is still open."""
        if is_interactive():
            self.close()
        else:
            begin = time.monotonic()
            self.flush(self._patience)
            self._patience = max(0.0, self._patience - (time.monotonic() - begin))

    @property
    def is_open(self) -> bool:
        """Whether it listens; never in a process that was forked from the one that it was made in."""
        return not self._closed and os.getpid() == self._pid

    def hears(self, context: Any) -> bool:
        """Whether it is on that context."""
        return self._context is context

    def _settle(self, seconds: float) -> None:
        self._prepared.probe.settle(self._java_context, seconds)


_HANDLES: list[Handle] = []
# How often each application was registered.
_TIMES: Counter[str] = Counter()
_WATCHING: list[ScriptEnd] = []
_STRICT = Strict()


def attach(context: Any, java_context: Any, preparation: Preparation, guard: Guard) -> None:
    """
    Hear a context from now on; where that can't be done, say why.

    Args:
        context: a `pyspark.SparkContext`.
        java_context: its `_jsc`, which may not be set yet.
        preparation: what was begun for it.
        guard: what may not reach the user.
    """
    try:
        _attach(context, java_context, preparation.result(), guard)
    except NotAskedForError:
        return
    except RegistrationError as problem:
        # The preparation lives on, and with a trace the frames of the user's script would.
        problem.with_traceback(None)
        LOG.warning("openlineage: no lineage of this application: %s", problem)
        if preparation.strict:
            _STRICT.blame([f"no lineage of this application: {problem}"])
            _watch()


def _attach(context: Any, java_context: Any, prepared: Prepared, guard: Guard) -> Handle:
    for earlier in _HANDLES[:]:
        earlier.close()
    handle = Handle(context, java_context, prepared, guard)
    _HANDLES.append(handle)
    _watch()
    return handle


def _watch() -> None:
    """Watch for the ways in which the process may end; once is enough."""
    if not _WATCHING:
        end = ScriptEnd()
        _WATCHING.append(end)
        on_terminate(_finish)
        atexit.register(_exit, end)


def _exit(end: ScriptEnd) -> None:
    _finish(end.outcome())
    end.forget()


def _finish(result: Outcome) -> None:
    try:
        for handle in _HANDLES[:]:
            Guard().run("ending", handle.end, result)
    except KeyboardInterrupt:
        # Whoever interrupts does not want to wait any longer; the exit status is the script's all the same.
        LOG.warning("openlineage: interrupted before all was shipped")
    _STRICT.judge(result)


def handle_of(context: Any) -> Handle | None:
    """The listener on a context, where there is one."""
    return next((h for h in _HANDLES if h.hears(context)), None)


def stopped(context: Any) -> None:
    """Tell the listener on a context, if there is one, that the context has stopped."""
    handle = handle_of(context)
    if handle is not None:
        Guard().run("stopping", handle.stopped)


def register(spark: Any, options: Mapping[str, str] | None = None) -> Handle:
    """
    Listen to the Spark application of a running session.

    Args:
        spark: a `pyspark.sql.SparkSession` (not one of Spark Connect, which has no JVM at hand).
        options: configuration keys as in `spark.openlineage.*`, on top of the session's own.

    Returns:
        a handle whose `close` takes the listener off. Registering twice gives the handle that is there.

    Raises:
        RegistrationError: there is no transport configured, or the listener can't be put into this JVM.
    """
    context = getattr(spark, "_sc", None) or getattr(spark, "sparkContext", None)
    if context is None or getattr(context, "_gateway", None) is None:
        raise RegistrationError(
            "this session has no driver JVM at hand (Spark Connect): put the listener on the Connect server instead"
        )
    if context._jsc is None:
        raise RegistrationError("this session is stopped: register one that runs")
    known = handle_of(context)
    if known is not None:
        LOG.warning("openlineage: this application is listened to already; the handle that is there is returned")
        return known
    conf = {**dict(context.getConf().getAll()), **(options or {})}
    guard = Guard()
    preparation = Preparation(context._gateway, conf, guard)
    return _attach(context, context._jsc, preparation.result(), guard)
