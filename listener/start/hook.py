"""
Registration by configuration only: the wheel's `.pth` file calls this when pyspark's context module is imported.

`install` does the same where `.pth` files are not read. Every job of the environment loads this module, so it imports
little but the standard library until a configuration key, an environment variable or a file enables lineage.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from openlineage_pyspark.listener.start.enabled import is_enabled
from openlineage_pyspark.listener.start.leaving import leave_last

# Spark 4, Spark 3. The `.pth` file repeats these names and `_OF_WORKERS`, because it imports nothing.
_CONTEXT_MODULES = ("pyspark.core.context", "pyspark.context")
# Every Python process that Spark starts for tasks has one of these variables in its environment.
_OF_WORKERS = ("PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR", "PYTHON_WORKER_FACTORY_SOCK_PATH")


class OpenLineageFinder:
    """Finds pyspark's context module, and no other, for the import system."""

    @staticmethod
    def find_spec(name: str, path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module, as `importlib.abc.MetaPathFinder` does."""
        return spec_of(name, path) if name in _CONTEXT_MODULES else None


def install() -> None:
    """
    Attach the listener to every context that this process creates, and to one that is already running.

    In a process that Spark started for tasks, this does nothing.
    """
    if any(name in os.environ for name in _OF_WORKERS) or OpenLineageFinder in sys.meta_path:
        return
    sys.meta_path.insert(0, OpenLineageFinder)
    for name in _CONTEXT_MODULES:
        context_class = getattr(sys.modules.get(name), "SparkContext", None)
        if context_class is not None:
            hook(context_class)
            running = context_class._active_spark_context
            if running is not None and not hasattr(running, "_openlineage_begun"):
                begun = running._openlineage_begun = _begin(running)
                begun(running, running._jsc)


def spec_of(name: str, path: Any) -> ModuleSpec | None:
    """
    Return the import system's spec of pyspark's context module, changed to install the hook when it is loaded.

    Args:
        name: `pyspark.context` or `pyspark.core.context`.
        path: the search path of its package.

    Returns:
        The spec; None if there is no such module.
    """
    spec = PathFinder.find_spec(name, path)
    if spec is None or spec.loader is None:
        return spec
    execute = spec.loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        context = getattr(module, "SparkContext", None)
        if context is not None and context.__module__ == name:
            hook(context)

    spec.loader.exec_module = exec_module  # type: ignore[method-assign] # of this one loader, for this one module
    return spec


def hook(context_class: Any) -> None:
    """
    Wrap the methods that create and stop a context. Repeated calls do nothing.

    Args:
        context_class: `pyspark.SparkContext`.
    """
    if getattr(context_class, "_openlineage", False):
        return
    context_class._openlineage = True
    leave_last()
    initialize, do_init, stop = context_class._initialize_context, context_class._do_init, context_class.stop

    @functools.wraps(initialize)
    def initialize_with_listener(self: Any, conf: Any) -> Any:
        begun = self._openlineage_begun = _begin(self)
        java_context = initialize(self, conf)
        begun(self, java_context)
        return java_context

    @functools.wraps(do_init)
    def do_init_with_listener(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = do_init(self, *args, **kwargs)
        _prefer_lasting_archive()
        # A notebook server may pass in a context that its JVM has created.
        if not hasattr(self, "_openlineage_begun"):
            _begin(self)(self, self._jsc)
        return result

    @functools.wraps(stop)
    def stop_with_listener(self: Any) -> Any:
        result = stop(self)
        _stopped(self)
        return result

    context_class._initialize_context = initialize_with_listener
    context_class._do_init = do_init_with_listener
    context_class.stop = stop_with_listener


def _begin(context: Any) -> Callable[[Any, Any], None]:
    """Start the work that needs no context in the background; return the function that attaches the listener to it."""
    try:
        conf = dict(context._conf.getAll())
        if not is_enabled(conf):
            return _nothing
        from openlineage_pyspark.listener.guard import Guard
        from openlineage_pyspark.listener.start.prepare import Preparation
        from openlineage_pyspark.listener.start.register import attach

        guard = Guard()
        preparation = Preparation(context._gateway, conf, guard)
    except Exception as problem:  # noqa: BLE001 - the boundary to the user's job, where guard itself may be missing
        _report(problem)
        return _nothing

    def finish(made: Any, java_context: Any) -> None:
        guard.run("registering", attach, made, java_context, preparation, guard)

    return finish


def _nothing(_context: Any, _java_context: Any) -> None:
    """Do nothing, instead of attaching a listener."""


def _prefer_lasting_archive() -> None:
    """Import from the zip that contains this module, not from the copy that Spark deletes when the context stops."""
    archive = __file__.partition(f"{os.sep}openlineage_pyspark{os.sep}")[0]
    name = archive.rpartition(os.sep)[2]
    copies = [at for at, path in enumerate(sys.path) if path.rpartition(os.sep)[2] == name and path != archive]
    if name.endswith(".zip") and copies and archive in sys.path[copies[0] :]:
        sys.path.remove(archive)
        sys.path.insert(copies[0], archive)


def _stopped(context: Any) -> None:
    registration = sys.modules.get("openlineage_pyspark.listener.start.register")
    if registration is not None:
        registration.stopped(context)


def _report(problem: Exception) -> None:
    logging.getLogger("openlineage_pyspark").warning(
        "openlineage: no lineage of this application: %s: %s", type(problem).__name__, problem
    )
