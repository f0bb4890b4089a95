"""
The process from which those of scripts are forked: it has imported what they need, which may take longer than a script.

It reads a `Fork` on each line of its standard input, and writes two lines for it: the number of the new process, and
its exit status. It ends with its standard input.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from typing import NoReturn

from openlineage_pyspark.workbench.dryrun.child import run_script
from openlineage_pyspark.workbench.dryrun.empty_spark.session import import_converters
from openlineage_pyspark.workbench.dryrun.script.request import KILL, Fork

_STDIN, _STDERR = 0, 2


def main() -> None:
    """Fork the processes of scripts; the argument is the descriptor for the lines about them."""
    out = int(sys.argv[1])
    import_converters()
    # A collection would write to all objects, and so copy the memory that the processes share.
    gc.freeze()
    for line in sys.stdin.buffer:
        fork = Fork(**json.loads(line))
        number = os.fork()
        if number == 0:
            os.close(out)
            _become(fork)
        _write_line(out, number)
        _write_line(out, _status_of(number))


def _become(fork: Fork) -> NoReturn:
    """Run a script in this process."""
    os.setsid()
    for path, flags, target in ((os.devnull, os.O_RDONLY, _STDIN), (fork.errors, os.O_WRONLY | os.O_APPEND, _STDERR)):
        opened = os.open(path, flags)
        os.dup2(opened, target)
        os.close(opened)
    os.chdir(fork.folder)
    run_script(fork, os.open(fork.records, os.O_WRONLY | os.O_APPEND))


def _status_of(number: int) -> int:
    """Wait for a process, end all processes that it has left, and return its exit status."""
    if hasattr(os, "waitid"):
        # Until it is reaped, its group keeps its number. macOS has this from Python 3.13 on.
        os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
        _end_group(number)
        _, status = os.waitpid(number, 0)
    else:
        _, status = os.waitpid(number, 0)
        _end_group(number)
    return os.waitstatus_to_exitcode(status)


def _end_group(number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, KILL)


def _write_line(out: int, number: int) -> None:
    os.write(out, f"{number}\n".encode())


if __name__ == "__main__":
    main()
