"""Prepare a listener for an application: settings, a transport, a compiled probe."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import NotConfiguredError, ProbeError, RegistrationError
from openlineage_pyspark.listener.guard import LOG, Guard
from openlineage_pyspark.listener.start.enabled import means_lineage
from openlineage_pyspark.listener.start.imports import import_all, importing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.listener.probe.client import Probe
    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport.composite import FanOut
    from openlineage_pyspark.transport.delivery.worker import Delivery

_JAVA_LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
_READ_SECONDS = 10.0
"""The longest time to wait for the settings, which limit the wait for the rest."""
_TO_DO = (
    "the shortest configuration is spark.openlineage.transport.type=file with spark.openlineage.transport.location=PATH"
)


@attrs.frozen
class ListenerParts:
    """
    The parts that make up a listener.

    Args:
        settings: the application's settings.
        probe: the compiled probe, not on a listener bus yet.
        delivery: the delivery, which has no events yet.
    """

    settings: Settings
    probe: Probe
    delivery: Delivery | FanOut


class StillPreparingError(Exception):
    """The work takes longer than the user's thread may wait."""


class Preparation:
    """
    The background work that needs no context: reading the settings, opening the transport, compiling the probe.

    Attributes:
        strict: whether the settings ask for strict mode; False until they are read.
    """

    def __init__(self, gateway: Any, spark_conf: Mapping[str, str], guard: Guard) -> None:
        """Start the work on a separate thread."""
        self.strict = False
        self._gateway = gateway
        self._conf = dict(spark_conf)
        self._guard = guard
        self._parts: ListenerParts | None = None
        self._problem = RegistrationError("preparing it failed")
        self._begin = time.monotonic()
        self._wait_seconds = 0.0
        self._read = threading.Event()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._then: Callable[[], None] | None = None
        threading.Thread(target=self._work, name="openlineage-prepare", daemon=True).start()

    @property
    def seconds(self) -> float:
        """How long ago the work began."""
        return time.monotonic() - self._begin

    def result(self) -> ListenerParts:
        """
        Wait for the work, for at most `spark.openlineage.start.timeoutInMillis`, and return the parts.

        Raises:
            NotConfiguredError: lineage is not configured, or is switched off.
            RegistrationError: the work failed.
            StillPreparingError: the work goes on; `then` is called when it is done.
        """
        if not self._read.wait(_READ_SECONDS) or not self._done.wait(max(0.0, self._wait_seconds - self.seconds)):
            raise StillPreparingError
        if self._parts is None:
            raise self._problem
        return self._parts

    def then(self, function: Callable[[], None]) -> None:
        """Call a function when the work is done: on the thread that did it, or at once."""
        with self._lock:
            if not self._done.is_set():
                self._then = function
                return
        function()

    def _work(self) -> None:
        try:
            self._guard.run("preparing the listener", self._prepare)
        finally:
            # No matter what ended this thread, the user's thread must not wait for it.
            with self._lock:
                self._done.set()
            self._read.set()
        if self._then is not None:
            self._guard.run("registering", self._then)
        if self._parts is not None:
            # Slow, and needed at the first event.
            self._guard.run("preparing the listener", import_all)

    def _prepare(self) -> None:
        from openlineage_pyspark.listener.settings.settings import default_search, load

        settings = load(self._conf, os.environ, default_search())
        if settings.disabled:
            # Before anything else is imported: whoever switches lineage off does not want to pay for it.
            self._problem = NotConfiguredError("spark.openlineage.disabled is true")
            return
        self._wait_seconds = settings.start_timeout
        self.strict = settings.strict
        self._read.set()
        from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values

        hide_in_logs(secret_values(self._conf, os.environ, sys.argv[1:], settings.transport))
        origins = sorted({origin for _, origin in settings.sources})
        LOG.info("openlineage: the configuration comes from %s", ", ".join(origins) or "nowhere")
        try:
            self._parts = _prepare(self._gateway, self._conf, settings)
        except RegistrationError as problem:
            self._problem = problem


def _prepare(gateway: Any, spark_conf: Mapping[str, str], settings: Settings) -> ListenerParts:
    from openlineage_pyspark.errors import TransportConfigError
    from openlineage_pyspark.listener.probe.client import Probe
    from openlineage_pyspark.listener.probe.hadoop_files import HadoopFiles
    from openlineage_pyspark.listener.probe.limits import ProbeLimits
    from openlineage_pyspark.listener.start.delivery import open_delivery
    from openlineage_pyspark.transport.file.filesystem import offered

    for warning in settings.warnings:
        LOG.warning("openlineage: %s", warning if warning.endswith("?") else f"{warning}.")
    if _JAVA_LISTENER in spark_conf.get("spark.extraListeners", ""):
        raise RegistrationError(
            "spark.extraListeners names the Java listener, so this one stays off; "
            "remove it from spark.extraListeners to use this one"
        )
    if "type" not in settings.transport:
        # An environment variable or a file may be meant for another client.
        kind = RegistrationError if any(means_lineage(key) for key in spark_conf) else NotConfiguredError
        raise kind(f"no transport is configured; {_TO_DO}")
    try:
        with offered(lambda location: HadoopFiles(gateway, location)):
            opened = functools.partial(open_delivery, settings, spark_conf.get("spark.app.name", ""))
            delivery = importing(opened)
        limits = ProbeLimits(
            settings.plan_max_nodes,
            settings.plan_max_bytes,
            reads=settings.reads_enabled,
            options=settings.trimming.options,
        )
        prepared = ListenerParts(settings, Probe(gateway, limits, cached=settings.class_cache_enabled), delivery)
    except TransportConfigError as problem:
        raise RegistrationError(str(problem)) from problem
    except ProbeError as problem:
        raise RegistrationError(f"the probe can't be put into this JVM: {problem}") from problem
    # Not later: an interpreter that is shutting down can't start threads any more (Python 3.12 and later).
    delivery.start()
    return prepared
