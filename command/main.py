"""The command line: the list of commands, and their common options."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from contextlib import nullcontext
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.progress import working
from openlineage_pyspark.errors import MissingExtraError
from openlineage_pyspark.workbench.questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "openlineage-pyspark"
"""The name of the command and of the distribution that it comes with."""

_QUESTIONS = "questions"
_COMMANDS = {
    "doctor": ("doctor.doctor", "find out why there is no lineage"),
    "show": ("events.show", "print the lineage in event files"),
    "validate": ("events.validate", "check event files"),
    "send": ("delivery.send", "send event files to a receiver"),
    "replay": ("delivery.replay", "send the events that jobs left in the spool"),
    "spool": ("delivery.spool", "list or delete events that wait on disk"),
    "ingest": ("store.ingest", "add events to a lineage store"),
    "store": ("store.store", "rebuild, shrink and maintain a lineage store"),
    **{name: (_QUESTIONS, line) for name, (_, line) in QUESTIONS.items()},
    "recover": ("store.recover", "plan and carry out the recovery from a wrong version"),
    "checkpoint": ("store.checkpoint", "reset a streaming query's checkpoint"),
    "view": ("view", "write lineage as a page for the browser"),
    "lineage": ("lineage", "show the lineage of SQL files and PySpark scripts before they run"),
    "completion": ("completion", "print a completion script for a shell"),
}
"""Each command: the module below `command` that adds it, and its line in the help."""

_WITHOUT_EXTRA = frozenset({"completion", "doctor", "replay", "send", "spool"})
"""The commands that need no extra."""

_WITH_OWN_PROGRESS = frozenset({"ingest", "replay", "store"})
"""The commands that show their own progress."""

_INTERRUPTED = 130
_LINEAGE = "lineage"


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command.

    Args:
        arguments: the arguments of the command line, without the program's name; None for those of this process.

    Returns:
        The exit code: 0 for success, 1 if the command found a problem, 2 for an invalid command line, 130 after Ctrl-C;
        3 as `lineage --diff` and `recover apply` define it.
    """
    options = _parsed(sys.argv[1:] if arguments is None else arguments)
    # Names in events may have characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        if options.command not in _WITHOUT_EXTRA:
            from openlineage_pyspark.workbench.extras import WORKBENCH, require

            require(WORKBENCH)
        with nullcontext() if options.command in _WITH_OWN_PROGRESS else working(f"{PROGRAM}: {options.command}"):
            status: int = options.run(options)
        sys.stdout.flush()
    except MissingExtraError as problem:
        sys.stderr.write(f"{PROGRAM}: {options.command}: {problem}\n")
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of the output closed the pipe; without this, the interpreter complains when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line. Only the module of the given command is imported."""
    named = next((at for at, text in enumerate(arguments) if not text.startswith("-")), len(arguments))
    command: str = _list_of_commands().parse_args(arguments[: named + 1]).command
    own = list(arguments[named:])
    # The arguments after `--` are for the analyzed scripts.
    end = own.index("--") if command == _LINEAGE and "--" in own else len(own)
    options = parser_of(command).parse_args(own[:end])
    options.command, options.passed_on = command, own[end + 1 :]
    return options


def parser_of(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command, whose name comes first."""
    parser = _Parser(prog=PROGRAM)
    name = _COMMANDS[command][0]
    module, below = import_module(f"openlineage_pyspark.command.{name}"), parser.add_subparsers()
    module.add_question(below, command) if name == _QUESTIONS else module.add_to(below)
    return parser


def commands() -> tuple[str, ...]:
    """Return the names of the commands."""
    return tuple(_COMMANDS)


def _list_of_commands() -> argparse.ArgumentParser:
    """Return the parser of the options before a command."""
    parser = _Parser(
        prog=PROGRAM,
        description="Inspect, check and send the lineage of PySpark jobs.",
        epilog=f"`{PROGRAM} COMMAND --help` describes a command and its options.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for name, (_, help_) in _COMMANDS.items():
        commands.add_parser(name, help=help_, add_help=False)
    return parser


class _Version(argparse.Action):
    """Prints the version. Only then is it looked up, by a module that takes longer to import than all others."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib import metadata

        try:
            version = metadata.version(PROGRAM)
        except metadata.PackageNotFoundError:
            version = "unknown"
        sys.stdout.write(f"{PROGRAM} {version}\n")
        parser.exit()


class _Help(argparse.HelpFormatter):
    """Help without breaks inside a word with a hyphen, such as the value of an option."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = textwrap.wrap(
            " ".join(text.split()), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        return "\n".join(filled)


class _Parser(argparse.ArgumentParser):
    """A parser that accepts no abbreviated options, and that reports unknown ones with the usage of their command."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Help, **options})

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return found, []

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as problem:
            near = get_close_matches(str(value), map(str, action.choices or ()), n=1)
            if near:
                problem.message = f"invalid choice: {value!r}; did you mean {near[0]}?"
            raise

    def _meant(self, unknown: Sequence[str]) -> str:
        """Return a question that names the options nearest to unknown ones; empty if none is near."""
        known = [each for each in self._option_string_actions if each.startswith("--")]
        names = [each.partition("=")[0] for each in unknown if each.startswith("--")]
        near = [match for name in names for match in self._near(name, known)]
        if near:
            return f"; did you mean {' and '.join(dict.fromkeys(near))}?"
        return "; options come after the command" if names and self.prog == PROGRAM else ""

    @staticmethod
    def _near(name: str, known: Sequence[str]) -> list[str]:
        if name == "--json":
            return ["--format json"] if "--format" in known else []
        longer = [each for each in known if each.startswith(name)]
        return longer[:1] or get_close_matches(name, known, n=1)


if __name__ == "__main__":
    sys.exit(main())
