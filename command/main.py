"""The command line: the list of commands, and what they have in common."""

from __future__ import annotations

import argparse
import os
import sys
from difflib import get_close_matches
from importlib import metadata
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command import lineage, view
from openlineage_pyspark.command.delivery import replay, send, spool
from openlineage_pyspark.command.doctor import doctor
from openlineage_pyspark.command.events import show, validate
from openlineage_pyspark.command.store import ask, catalog, checkpoint, diff, ingest, recover, sql, store

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
    parser = _Parser(prog=PROGRAM, description="Inspect, check and send the lineage of PySpark jobs.")
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


class _Parser(argparse.ArgumentParser):
    """A parser that wants options in full, and that says itself which ones it does not know, with its own usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return found, []

    def _meant(self, unknown: Sequence[str]) -> str:
        """Return a question that names the options nearest to unknown ones; empty if none is near."""
        known = [each for each in self._option_string_actions if each.startswith("--")]
        names = [each.partition("=")[0] for each in unknown if each.startswith("--")]
        near = [match for name in names for match in self._near(name, known)]
        return f"; did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""

    @staticmethod
    def _near(name: str, known: Sequence[str]) -> list[str]:
        longer = [each for each in known if each.startswith(name)]
        return longer[:1] or get_close_matches(name, known, n=1)


if __name__ == "__main__":
    sys.exit(main())
