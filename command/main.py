"""The command line: the list of commands, and what they have in common."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from openlineage_pyspark.command import (
    ask,
    catalog,
    checkpoint,
    diff,
    doctor,
    ingest,
    lineage,
    recover,
    replay,
    send,
    show,
    spool,
    sql,
    store,
    validate,
    view,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "openlineage-pyspark"
"""The name of the command and of the distribution that it comes with."""

_COMMANDS = (
    doctor,
    show,
    validate,
    send,
    replay,
    spool,
    ingest,
    store,
    ask,
    catalog,
    sql,
    recover,
    checkpoint,
    view,
    diff,
    lineage,
)
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command.

    Args:
        arguments: the arguments of the command line, without the program's name; None for those of this process.

    Returns:
        The exit code: 0 if all is well, 1 if the command found a problem, 2 for a wrong command line, 130 for Ctrl-C.
    """
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Inspect, check and send the lineage of PySpark jobs.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {metadata.version(PROGRAM)}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_to(commands)
    options = parser.parse_args(arguments)
    # Names in events may have characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of the output closed the pipe; without this, the interpreter complains when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
