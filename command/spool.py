"""`spool ls`: what waits on disk, and what was refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from openlineage_pyspark.command.screen import Screen
    from openlineage_pyspark.transport.spool_content import Content

_DESCRIPTION = "Looks into the spool, in which events wait until the receiver has them."
_LS = """\
Lists the applications that have events in the spool: how many wait to be sent, how many the receiver refused for good,
their bytes, the age of the oldest, whether the application still runs, and where they go."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    from openlineage_pyspark.command.configured import add_options

    parser = commands.add_parser("spool", help="what waits on disk", description=_DESCRIPTION)
    below = parser.add_subparsers(metavar="ls", required=True)
    ls = below.add_parser("ls", help="list it", description=_LS)
    ls.add_argument("--spool", type=Path, metavar="DIR", help="the spool's directory; by default what is configured")
    ls.add_argument("--dead", action="store_true", help="list the refused events too, with what was answered")
    add_options(ls)
    ls.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List what is in the spool.

    Args:
        options: `spool`, `dead` and those of `configured.add_options`.

    Returns:
        The exit code: 1 where something in it can't be read.
    """
    from openlineage_pyspark.command.configured import read
    from openlineage_pyspark.command.screen import Screen, complain
    from openlineage_pyspark.command.spool_state import contents, root_for, unreadable
    from openlineage_pyspark.transport.spool_place import SpoolError

    screen = Screen()
    try:
        root = root_for(read(options, os.environ).settings, options.spool)
        held = contents(root)
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


def _list(screen: Screen, held: Sequence[Content]) -> None:
    from openlineage_pyspark.command.screen import Column
    from openlineage_pyspark.command.spool_state import age, seconds_since
    from rich.filesize import decimal

    rows = []
    for each in held:
        owner = "running" if each.in_use else "gone"
        oldest = "-" if each.oldest is None else age(seconds_since(each.oldest))
        size = decimal(each.size)
        to = f"can't be read: {each.problem}" if each.problem else each.destination
        rows.append((each.directory.name, owner, f"{each.waiting:,}", f"{each.dead:,}", size, oldest, to))
    numbers = (Column(title, 0.1, right=True) for title in ("waiting", "refused", "size", "oldest"))
    screen.heading(f"{held[0].directory.parent}")
    screen.table((Column("application", 0.35), Column("owner", 0.1), *numbers, Column("to")), rows)


def _list_dead(screen: Screen, held: Sequence[Content]) -> None:
    from openlineage_pyspark.command.screen import Column
    from openlineage_pyspark.command.spool_state import age, seconds_since
    from openlineage_pyspark.transport.spool_content import dead_letters

    for each in held:
        screen.line()
        screen.heading(f"refused, of {each.directory.name}")
        rows = []
        for letter in dead_letters(each.directory):
            event = letter.event
            rows.append((event.event_type, age(seconds_since(letter.since)), event.run_id, letter.reason))
            if letter.answer:
                rows.append(("", "", "", f"-> {letter.answer}"))
        columns = (Column("event", 0.1), Column("since", 0.1, right=True), Column("run", 0.35), Column("why"))
        screen.table(columns, rows, wrap=True)
