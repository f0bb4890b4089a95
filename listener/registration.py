"""
Putting the listener to a Spark application, and taking it off again.

By configuration, the work is begun before the context is made and goes on beside it, so that what is left on the
user's thread is to hang a compiled probe on the listener bus. `register` does the same on a session that runs.
"""

from __future__ import annotations

import atexit
import importlib
import os
import threading
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.listener.activation import means_lineage
from openlineage_pyspark.listener.exit_status import Outcome, ScriptEnd, is_interactive, on_terminate
from openlineage_pyspark.listener.guard import LOG, Guard

if TYPE_CHECKING:
    from openlineage_pyspark.listener.jvm import Probe
    from openlineage_pyspark.listener.pipeline import Pipeline
    from openlineage_pyspark.listener.settings import Settings
    from openlineage_pyspark.transport import Delivery

_JAVA_LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
_COMPILE_SECONDS = 10.0
_TO_DO = (
    "the shortest configuration is spark.openlineage.transport.type=file with spark.openlineage.transport.location=PATH"
)


class RegistrationError(RuntimeError):
    """`register` could not put the listener to the session."""


class _NotAskedForError(RegistrationError):
    """There is no listener, and that is what the configuration says."""


@attrs.frozen
class _Prepared:
    settings: Settings
    probe: Probe
    delivery: Delivery


class Preparation:
    """What can be done before the context is there, in the background: settings, transport, compiling the probe."""

    def __init__(self, gateway: Any, spark_conf: Mapping[str, str], guard: Guard) -> None:
        """Begin on a thread of its own."""
        self._gateway = gateway
        self._conf = dict(spark_conf)
        self._guard = guard
        self._result: _Prepared | None = None
        self._problem = RegistrationError(f"preparing it failed or took more than {_COMPILE_SECONDS:.0f} s")
        self._done = threading.Event()
        threading.Thread(target=self._work, name="openlineage-prepare", daemon=True).start()

    def result(self) -> _Prepared:
        """
        What was prepared.

        Raises:
            RegistrationError: there is nothing to listen for, or it went wrong.
        """
        self._done.wait(_COMPILE_SECONDS)
        if self._result is None:
            raise self._problem
        return self._result

    def _work(self) -> None:
        self._guard.run("preparing the listener", self._prepare)
        self._done.set()
        if self._result is not None:
            # Heavy, and wanted at the first event: what describes and ships them.
            self._guard.run("preparing the listener", importlib.import_module, "openlineage_pyspark.listener.pipeline")

    def _prepare(self) -> None:
        try:
            self._result = _prepare(self._gateway, self._conf)
        except RegistrationError as problem:
            self._problem = problem


def _prepare(gateway: Any, spark_conf: Mapping[str, str]) -> _Prepared:
    from openlineage_pyspark.listener.jvm import Probe, ProbeError, ProbeLimits
    from openlineage_pyspark.listener.settings import default_search, load
    from openlineage_pyspark.transport import Delivery, TransportConfigError, open_transport

    settings = load(spark_conf, os.environ, default_search())
    if settings.disabled:
        raise _NotAskedForError("spark.openlineage.disabled is true")
    for warning in settings.warnings:
        LOG.warning("openlineage: %s", warning if warning.endswith("?") else f"{warning}.")
    if _JAVA_LISTENER in spark_conf.get("spark.extraListeners", ""):
        raise RegistrationError(
            "spark.extraListeners names the Java listener, and the job is left to it; "
            "take it out of spark.extraListeners to use this one"
        )
    if "type" not in settings.transport:
        # A variable or a file may be there for another client.
        kind = RegistrationError if any(means_lineage(key) for key in spark_conf) else _NotAskedForError
        raise kind(f"no transport is configured; {_TO_DO}")
    try:
        transport = open_transport(str(settings.transport["type"]), settings.transport)
        limits = ProbeLimits(settings.plan_max_nodes, settings.plan_max_bytes, reads=settings.reads_enabled)
        return _Prepared(settings, Probe(gateway, limits), Delivery(transport))
    except TransportConfigError as problem:
        raise RegistrationError(str(problem)) from problem
    except ProbeError as problem:
        raise RegistrationError(f"the probe can't be put into this JVM: {problem}") from problem


class Handle:
    """
    A listener on one Spark application.

    `close` takes it off; at the end of the script it is closed by itself.
    """

    def __init__(self, context: Any, java_context: Any, prepared: _Prepared, guard: Guard) -> None:
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
        self._pipeline: Pipeline | None = None
        prepared.probe.attach(self._java_context)
        threading.Thread(target=self._work, name="openlineage", daemon=True).start()

    def _work(self) -> None:
        self._pipeline = self._guard.run("starting", self._make)
        self._ready.set()
        if self._pipeline is not None:
            self._pipeline.run()

    def _make(self) -> Pipeline:
        from openlineage_pyspark.listener.application import application_of, pipeline_of
        from openlineage_pyspark.listener.jvm import context_facts

        prepared = self._prepared
        facts = context_facts(self._java_context)
        _TIMES[facts.application_id] += 1
        application = application_of(facts, prepared.settings, _TIMES[facts.application_id])
        return pipeline_of(application, prepared.settings, prepared.probe, prepared.delivery, self._guard)

    @property
    def pipeline(self) -> Pipeline | None:
        """The worker behind it; None where it could not be started."""
        self._ready.wait(_COMPILE_SECONDS)
        return self._pipeline

    def close(self) -> bool:
        """
        Ship what is on its way, end the application's run as COMPLETE, and hear nothing any more.

        Returns:
            whether all was shipped within `spark.openlineage.flush.timeoutInMillis`. A second call does nothing.
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
            whether all was shipped in time.
        """
        with self._lock:
            if not self.is_open:
                return True
            self._closed = True
        if self in _HANDLES:
            _HANDLES.remove(self)
        pipeline = self.pipeline
        if pipeline is None:
            return False
        return pipeline.finish(result, self._settle, self._prepared.settings.flush_timeout)

    def flush(self, timeout_seconds: float = 10.0) -> None:
        """Wait until all that Spark has done so far is shipped, at most that long."""
        if not self.is_open:
            return
        self._guard.run("waiting for Spark's events", self._settle, timeout_seconds)
        if self.pipeline is not None:
            self.pipeline.flush(timeout_seconds)

    def stopped(self) -> None:
        """The context has stopped: in a shell or notebook the application is over; a script's outcome is still open."""
        if is_interactive():
            self.close()
        else:
            self.flush(self._prepared.settings.flush_timeout)

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
    except _NotAskedForError:
        return
    except RegistrationError as problem:
        LOG.warning("openlineage: no lineage of this application: %s", problem)


def _attach(context: Any, java_context: Any, prepared: _Prepared, guard: Guard) -> Handle:
    for earlier in _HANDLES[:]:
        earlier.close()
    handle = Handle(context, java_context, prepared, guard)
    _HANDLES.append(handle)
    if not _WATCHING:
        end = ScriptEnd()
        _WATCHING.append(end)
        on_terminate(_finish)
        atexit.register(lambda: _finish(end.outcome()))
    return handle


def _finish(result: Outcome) -> None:
    for handle in _HANDLES[:]:
        Guard().run("ending", handle.end, result)


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
