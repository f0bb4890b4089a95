"""
Find out how the user's script ends: the outcome of the application's run.

The interpreter stores an uncaught exception in `sys.last_exc`. It does not store the status passed to `sys.exit`, so
`sys.exit` is wrapped. A script that raises SystemExit itself, or ends with `exit` or `quit`, leaves no trace and counts
as complete. No signal is handled: `last_words` reports a process that a signal kills.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import Any, NoReturn

from openlineage_pyspark.facets.model.run import Outcome
from openlineage_pyspark.listener.start.uncaught import beginning_of, failed_outcome


class ScriptEnd:
    """Remembers each status passed to `sys.exit`, until the SystemExit that carries it is caught."""

    def __init__(self) -> None:
        """Start watching; a process needs only one of these."""
        self._process = os.getpid()
        self._statuses: dict[object, object] = {}
        original = sys.exit

        @functools.wraps(original)
        def remembering_exit(status: Any = None, /) -> NoReturn:
            try:
                original(status)
            except SystemExit as exit_:
                self._remember(exit_)
                raise

        sys.exit = remembering_exit

    def outcome(self) -> Outcome:
        """Return how the script ended; call this when the interpreter exits."""
        if is_interactive():
            return Outcome("COMPLETE")
        problem = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if isinstance(problem, BaseException) and not isinstance(problem, SystemExit):
            return failed_outcome("ABORT" if isinstance(problem, KeyboardInterrupt) else "FAIL", problem)
        # The last one: any before it were caught, but something still refers to them.
        status = next(reversed(self._statuses.values()), None)
        if status in (None, 0):
            return Outcome("COMPLETE")
        message = (
            f"the script ended with exit status {int(status)}" if isinstance(status, int) else beginning_of(str(status))
        )
        return Outcome("FAIL", message)

    def _remember(self, exit_: SystemExit) -> None:
        # In another thread, SystemExit ends only that thread.
        if threading.current_thread() is threading.main_thread() and os.getpid() == self._process:
            vars(exit_)["_openlineage"] = _PassingStatus(self._statuses, exit_.code)


class _PassingStatus:
    """
    Represents a status while the SystemExit that carries it propagates.

    An exit that is caught is freed while Python code still runs. The exit that ends the script is freed by the
    interpreter, when no Python code runs any more, so its status stays remembered.
    """

    def __init__(self, statuses: dict[object, object], status: object) -> None:
        self._statuses = statuses
        self._key = object()
        statuses[self._key] = status

    def __del__(self) -> None:
        if sys._getframe().f_back is not None:
            self._statuses.pop(self._key, None)


def is_interactive() -> bool:
    """Return whether this is a shell or notebook, where an error does not end the application."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or _is_kernel()


def _is_kernel() -> bool:
    # A script may import the notebook kernel's library without running in a notebook.
    kernel = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    return kernel is not None and bool(kernel.initialized())
