"""Run a function as the last of a process's `atexit` functions. Every job of the environment loads this module."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable

_LEAVING: list[Callable[[], None]] = []


def leave_last() -> None:
    """
    Register `leave` with `atexit`, unless the `.pth` file has done so. Repeated calls do nothing.

    `atexit` functions run in reverse order of registration. The `.pth` file is read before anything of the user's runs;
    without it, functions that the user registers before this call run after the end of the application was reported.
    """
    if not _LEAVING and not any(getattr(finder, "leaves", False) for finder in sys.meta_path):
        _LEAVING.append(leave)
        atexit.register(leave)


def leave() -> None:
    """End the application, as the last of all `atexit` functions; in strict mode, end the process if that is due."""
    registration = sys.modules.get("openlineage_pyspark.listener.start.register")
    if registration is not None:
        registration.finish()
    strict = sys.modules.get("openlineage_pyspark.listener.start.strict")
    if strict is not None:
        strict.STRICT.leave()
