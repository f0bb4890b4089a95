"""What a call of the command line takes: the time that passes, and that of processors, also in its JVM."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_SUBREAPER = 36


class Took(NamedTuple):
    """The seconds that passed, and those of processors."""

    seconds: float
    processor: float

    def __str__(self) -> str:
        """Return both, those of processors in parentheses."""
        return f"{self.seconds:.1f} ({self.processor:.1f})"


class Called(NamedTuple):
    """How a call of the command ended, and what it took."""

    code: int
    output: str
    errors: str
    took: Took


def called(folder: Path, *arguments: str, seconds: float | None = None) -> Called:
    """
    Call the command line in a folder.

    Args:
        folder: the folder.
        arguments: the arguments.
        seconds: how long it may take.
    """
    # Processes whose parent has ended become children of this one, so that their time is known. Linux alone has this.
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    begin, before = time.perf_counter(), _processor()
    command = [sys.executable, "-Im", "openlineage_pyspark", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=seconds)
        code, output, errors = done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode()
    except subprocess.TimeoutExpired:
        code, output, errors = -1, "", "it takes too long"
    passed = time.perf_counter() - begin
    # The JVM ends when Python has ended.
    with contextlib.suppress(ChildProcessError):
        while code >= 0:
            os.waitpid(-1, 0)
    return Called(code, output, errors, Took(passed, _processor() - before))


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
