"""Ask before anything is deleted or overwritten. With `--yes`, a program answers in advance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import complain, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from pathlib import Path

_AGREED = frozenset({"y", "yes"})


def add_yes(parser: argparse._ActionsContainer) -> None:
    """Add the option that answers the question."""
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def add_consent(parser: argparse._ActionsContainer) -> None:
    """Add the options of a command that asks before it deletes or changes data."""
    parser.add_argument("--dry-run", action="store_true", help="only list what would be done")
    add_yes(parser)


def is_agreed(question: str, options: argparse.Namespace) -> bool:
    """
    Return whether the user agrees to what was listed; if not, report that nothing was done.

    With `--dry-run`, nothing is asked and nothing is done.

    Args:
        question: a question to be answered with y or yes.
        options: those of `add_consent`.
    """
    if options.dry_run:
        return False
    agreed = bool(options.yes) or is_answered_yes(question)
    if not agreed:
        complain("nothing was done")
    return agreed


def may_overwrite(path: Path, text: str, beginnings: Iterable[str], options: argparse.Namespace) -> bool:
    """
    Return whether a text may be written to a file; ask if the file holds another text that is not ours.

    Args:
        path: the file.
        text: the text.
        beginnings: how our own texts begin; if empty, ask about every other text.
        options: those of `add_yes`.
    """
    if not path.is_file():
        return True
    new = text.encode()
    with path.open("rb") as file:
        there = file.read(len(new) + 1)
    if there in (new, b"") or there.startswith(tuple(each.encode() for each in beginnings)):
        return True
    if options.yes or is_answered_yes(f"{path} already exists. Overwrite it?"):
        return True
    complain(f"{path} is unchanged")
    return False


def is_answered_yes(question: str) -> bool:
    """Return whether a person at the terminal answers a question with y or yes; report it if there is no terminal."""
    # The subject of the question was printed before.
    sys.stdout.flush()
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        complain(f"{question} There is no terminal on which to ask: add --yes")
        return False
    # Standard output may be read by a program.
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _AGREED
