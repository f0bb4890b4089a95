"""
Import the modules that the listener needs: on one thread, and a package before its modules.

Python's import system has a lock for each module. A thread that imports `package.module` takes the module's lock, and
then the package's, unless the package is there already. A thread that imports `package`, whose own code imports that
module, takes them in the other order. If two threads do both at once, Python raises an error in one of them, which may
be the user's. Therefore our threads never use the first order: our packages import none of their own modules, and
`openlineage.client` comes before its modules. The user's threads may still use it. Then the error is raised in our
thread: Python raises it in the thread that locks last, and the package takes the longest to import.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# Each imports its own needs. The worker's methods, and those of a handle, import nothing else.
_MODULES = (
    "openlineage.client",
    "openlineage_pyspark.listener.start.application",
    "openlineage_pyspark.listener.metrics",
)
_PAUSES = (0.05, 0.1, 0.2, 0.4)
"""The seconds between the attempts."""
# Held by the one thread that imports. A thread that waits for it holds no lock of the import system.
_IMPORTING = threading.Lock()


def import_all() -> None:
    """
    Import the modules that make, handle and ship events; return when they are loaded, whichever thread loads them.

    This takes half a second. Repeated calls do nothing.
    """
    with _IMPORTING:
        for name in _MODULES:
            importing(functools.partial(importlib.import_module, name))


def importing(function: Callable[[], T]) -> T:
    """
    Call a function that begins with an import; repeat it if a thread of the user's imports the same in the other order.

    Between two calls, this thread holds no lock, so the other one can go on.

    Args:
        function: the function; its part before the import may run several times.

    Returns:
        The function's result.
    """
    orphans: set[str] = set()
    for pause in _PAUSES:
        before = set(sys.modules)
        try:
            made = function()
        except RuntimeError as problem:
            if type(problem).__name__ != "_DeadlockError":
                raise
            orphans |= set(sys.modules) - before
            time.sleep(pause)
        else:
            _give_back(orphans)
            return made
    made = function()
    _give_back(orphans)
    return made


def _give_back(orphans: set[str]) -> None:
    """
    Make modules attributes of their packages again.

    Where the import of a package fails, Python forgets the package, but not those of its modules whose import
    succeeded. When the package is imported again, it does not get them as attributes, which the user's code may use.
    """
    for name in orphans:
        package, _, own_name = name.rpartition(".")
        if package in sys.modules and name in sys.modules and own_name not in vars(sys.modules[package]):
            setattr(sys.modules[package], own_name, sys.modules[name])
