"""
Strict mode, for CI: a lineage fault makes the process fail at its end, and disturbs nothing before.

Python has no way to change the exit status of a process that is about to end but to end it. So the very last function
of `atexit`, which the hook registers before everybody else, leaves the process with a status of its own. What the
interpreter would do after that function is left out: it closes the files that nobody has closed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import TYPE_CHECKING

from openlineage_pyspark.listener.start.script_end import is_interactive

if TYPE_CHECKING:
    from collections.abc import Collection

    from openlineage_pyspark.facets.model.run import Outcome

EXIT_STATUS = 70
"""Of a process that ended well but for its lineage (`EX_SOFTWARE` of `sysexits.h`)."""

_MOST = 200


class Strict:
    """The lineage faults of this process that make it fail; those of a forked process do not count."""

    def __init__(self) -> None:
        """Begin without any."""
        self._process = os.getpid()
        self._faults: dict[str, None] = {}
        self._fails = False

    def blame(self, faults: Collection[str]) -> bool:
        """Note faults, each a line of text; return whether there are none."""
        self._faults.update(dict.fromkeys(faults))
        return not faults

    def judge(self, outcome: Outcome) -> None:
        """
        List the faults on stderr, and decide whether `leave` ends the process with `EXIT_STATUS`.

        A process that fails by itself keeps its status, and so does a shell or notebook.

        Args:
            outcome: how the script ended.
        """
        if not self._faults or os.getpid() != self._process:
            return
        self._fails = outcome.event_type == "COMPLETE" and not is_interactive()
        status = f"the exit status is {EXIT_STATUS}" if self._fails else "the exit status stays"
        lines = [f"strict: {len(self._faults)} lineage faults, {status}", *list(self._faults)[:_MOST]]
        if len(self._faults) > _MOST:
            lines.append(f"and {len(self._faults) - _MOST} more")
        # A stream may be missing, or closed.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stderr.write("".join(f"openlineage: {line}\n" for line in lines))
            sys.stderr.flush()

    def leave(self) -> None:
        """End the process with `EXIT_STATUS` where `judge` has decided so."""
        if not self._fails or os.getpid() != self._process:
            return
        # Registered with `atexit` by the module itself, which may be imported before the hook.
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(EXIT_STATUS)


STRICT = Strict()
