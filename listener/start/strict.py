"""
Strict mode, for CI: what went wrong with lineage makes the process fail at its end, and disturbs nothing before.

A function of `atexit` can't change the exit status, and one that leaves the process at once would cut off those that
were registered before it. So the status is changed by an object that the interpreter lets go of when it clears the
module `sys`, the last but one of all: behind every `atexit` function, and behind the objects and open files of all
other modules. What is left to do then is what a C library does at the end of a process (`atexit` of C), which is
left out.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection

from openlineage_pyspark.facets.model.run import Outcome
from openlineage_pyspark.listener.start.script_end import is_interactive

EXIT_STATUS = 70
"""Of a process that ended well but for its lineage (`EX_SOFTWARE` of `sysexits.h`)."""

_MOST = 200


class Strict:
    """The lineage faults of this process that are to make it fail; a forked process has no part in them."""

    def __init__(self) -> None:
        """Begin without any."""
        self._process = os.getpid()
        self._faults: dict[str, None] = {}

    def blame(self, faults: Collection[str]) -> bool:
        """Note faults, each a line of text, and tell whether there are none."""
        self._faults.update(dict.fromkeys(faults))
        return not faults

    def judge(self, outcome: Outcome) -> None:
        """
        List the faults on stderr, and make the process end with `EXIT_STATUS` in place of 0.

        A process that fails by itself keeps its status, and so does a shell or notebook.

        Args:
            outcome: how the script ended.
        """
        if not self._faults or os.getpid() != self._process:
            return
        fails = outcome.event_type == "COMPLETE" and not is_interactive()
        status = f"the exit status is {EXIT_STATUS}" if fails else "the exit status stays"
        lines = [f"strict: {len(self._faults)} lineage faults, {status}", *list(self._faults)[:_MOST]]
        if len(self._faults) > _MOST:
            lines.append(f"and {len(self._faults) - _MOST} more")
        # A stream may be gone, or closed.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stderr.write("".join(f"openlineage: {line}\n" for line in lines))
            sys.stderr.flush()
        if fails:
            vars(sys)["_openlineage_strict"] = _LastWord(EXIT_STATUS)


class _LastWord:
    """Ends the process when it is let go of; it holds all that it needs, for modules are empty by then."""

    def __init__(self, status: int) -> None:
        self._status = status
        self._exit = os._exit
        self._stdout, self._stderr = sys.stdout, sys.stderr

    def __del__(self) -> None:
        try:
            self._stderr.flush()
            self._stdout.flush()
        except (AttributeError, OSError, ValueError):  # it is gone, closed, or a broken pipe
            self._exit(self._status)
        self._exit(self._status)
