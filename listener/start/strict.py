"""
Strict mode, for CI: a lineage fault makes the process fail when it ends, but disturbs nothing before that.

The only way to change the exit status of a Python process that is about to end is to end it. So the very last `atexit`
function, which the hook registers before all others, exits with a status of its own. This skips what the interpreter
would do after that function: closing the files that are still open.
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
"""The exit status of a process that succeeded except for its lineage (`EX_SOFTWARE` of `sysexits.h`)."""

_MOST = 200


class Strict:
    """Collects the lineage faults that make this process fail; those of a forked process do not count."""

    def __init__(self) -> None:
        """Start with no faults."""
        self._process = os.getpid()
        self._faults: dict[str, None] = {}
        self._fails = False

    def blame(self, faults: Collection[str]) -> bool:
        """Add faults, one line of text each; return True if there are none."""
        self._faults.update(dict.fromkeys(faults))
        return not faults

    def judge(self, outcome: Outcome) -> None:
        """
        List the faults on stderr, and decide whether `leave` ends the process with `EXIT_STATUS`.

        A process that fails anyway keeps its status, and so does a shell or notebook.

        Args:
            outcome: how the script ended.
        """
        if not self._faults or os.getpid() != self._process:
            return
        self._fails = outcome.event_type == "COMPLETE" and not is_interactive()
        status = f"the exit status is {EXIT_STATUS}" if self._fails else "the exit status stays"
        count = f"{len(self._faults)} lineage fault{'' if len(self._faults) == 1 else 's'}"
        lines = [f"strict: {count}, {status}", *list(self._faults)[:_MOST]]
        if len(self._faults) > _MOST:
            lines.append(f"and {len(self._faults) - _MOST} more")
        # A stream may be missing or closed.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stderr.write("".join(f"openlineage: {line}\n" for line in lines))
            sys.stderr.flush()

    def leave(self) -> None:
        """End the process with `EXIT_STATUS` if `judge` has decided so."""
        if not self._fails or os.getpid() != self._process:
            return
        # `logging` registers this with `atexit` itself; if it was imported before the hook, that has not run yet.
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(EXIT_STATUS)


STRICT = Strict()
