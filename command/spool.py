"""`spool ls`: where the spool is, what waits in it, and what was refused."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.configured import add_options, read
from openlineage_pyspark.command.screen import Column, Screen, complain
from openlineage_pyspark.listener.start.delivery import named_root
from openlineage_pyspark.transport.spool.content import Content, content, dead_letters
from openlineage_pyspark.transport.spool.place import UNREADABLE, SpoolError, default_root, directories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openlineage_pyspark.listener.settings.settings import Settings

_DESCRIPTION = "Looks into the spool, in which events wait until the receiver has them."
_LS = """\
Lists the applications that have events in the spool: how many wait to be sent, how many the receiver refused for good,
their bytes, the age of the oldest, whether the application still runs, and where they go."""
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("spool", help="what waits on disk", description=_DESCRIPTION)
    below = parser.add_subparsers(metavar="ls", required=True)
    ls = below.add_parser("ls", help="list it", description=_LS)
    add_spool_option(ls)
    ls.add_argument("--dead", action="store_true", help="list the refused events too, with what was answered")
    add_options(ls)
    ls.set_defaults(run=run)


def add_spool_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the spool's directory."""
    parser.add_argument(
        "--spool", type=_directory, metavar="DIR", help="the spool's directory; by default what is configured"
    )


def run(options: argparse.Namespace) -> int:
    """
    List what is in the spool.

    Args:
        options: `spool`, `dead` and the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if something in it can't be read, 2 if there can be no spool.
    """
    screen = Screen()
    try:
        root = root_for(read(options, os.environ).settings, options.spool)
    except SpoolError as problem:
        complain(str(problem))
        return 2
    held = contents(root)
    try:
        if held:
            _list(screen, held)
        else:
            screen.line(f"nothing in {root}")
        if options.dead:
            _list_dead(screen, [each for each in held if each.dead])
    except SpoolError as problem:
        complain(str(problem))
        return 1
    damaged = unreadable(root)
    for name in damaged:
        complain(f"{root / name} was damaged and set aside; nothing in it is sent any more")
    return int(bool(damaged) or any(each.problem for each in held))


def root_for(settings: Settings, named: Path | None) -> Path:
    """
    Return the spool's root for a command; if the spool is switched off, the one that may hold older events.

    Args:
        settings: the settings, which may name one.
        named: the root named on the command line, which takes precedence.

    Raises:
        SpoolError: there is no home directory for the default root, or the configured root can't be read.
    """
    root = named or named_root(settings) or default_root()
    if problem := _problem_with(root):
        raise SpoolError(f"{root} can't be read ({problem})")
    return root


def contents(root: Path) -> list[Content]:
    """Return what each application has in a spool, oldest first."""
    return [content(directory) for directory in directories(root)]


def unreadable(root: Path) -> list[str]:
    """Return the names of the directories that were set aside because their database was damaged."""
    return sorted(path.name for path in root.glob(f"*{UNREADABLE}"))


def age(seconds: float) -> str:
    """Format a time span in its largest unit, such as `3 h`."""
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{max(0, int(seconds // size))} {unit}"


def _age_of(time_of_epoch: float) -> str:
    return age(time.time() - time_of_epoch)


def _directory(text: str) -> Path:
    path = Path(text)
    # A configured directory is created when it is needed; if the one named here does not exist, the name is wrong.
    problem = _problem_with(path) or ("" if path.exists() else "it is not there")
    if problem:
        raise argparse.ArgumentTypeError(f"{text} can't be read ({problem})")
    return path


def _problem_with(directory: Path) -> str:
    """Return why a directory can't be read; empty if it can, or does not exist."""
    try:
        next(directory.iterdir(), None)
    except FileNotFoundError:
        return ""
    except OSError as problem:
        return str(problem.strerror)
    return ""


def _list(screen: Screen, held: Sequence[Content]) -> None:
    from rich.filesize import decimal

    rows = []
    for each in held:
        owner = "running" if each.in_use else "gone"
        oldest = "-" if each.oldest is None else _age_of(each.oldest)
        size = decimal(each.size)
        to = f"can't be read: {each.problem}" if each.problem else each.destination
        rows.append((each.directory.name, owner, f"{each.waiting:,}", f"{each.dead:,}", size, oldest, to))
    numbers = (Column(title, 0.1, right=True) for title in ("waiting", "refused", "size", "oldest"))
    screen.heading(f"{held[0].directory.parent}")
    screen.table((Column("application", 0.35), Column("owner", 0.1), *numbers, Column("to")), rows)


def _list_dead(screen: Screen, held: Sequence[Content]) -> None:
    for each in held:
        screen.line()
        screen.heading(f"refused, of {each.directory.name}")
        rows = []
        for letter in dead_letters(each.directory):
            event = letter.event
            rows.append((event.event_type, _age_of(letter.since), event.run_id, letter.reason))
            if letter.answer:
                rows.append(("", "", "", f"-> {letter.answer}"))
        columns = (Column("event", 0.1), Column("since", 0.1, right=True), Column("run", 0.35), Column("why"))
        screen.table(columns, rows, wrap=True)
