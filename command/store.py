"""`store`: what is done with a store as a whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.stores import add_store, path_of
from openlineage_pyspark.store.errors import StoreError
from openlineage_pyspark.store.sqlite import Database

if TYPE_CHECKING:
    import argparse

_REBUILD = """\
Makes all tables of a store anew from the events in it. This also makes a store of an older version one of this version.
Other processes may read it meanwhile, and those that write wait for up to a minute."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("store", help="rebuild a lineage store", description="Works on a store as a whole.")
    below = parser.add_subparsers(metavar="COMMAND", required=True)
    rebuild = below.add_parser("rebuild", help="make all tables anew from the events", description=_REBUILD)
    add_store(rebuild)
    rebuild.set_defaults(run=run_rebuild)


def run_rebuild(options: argparse.Namespace) -> int:
    """
    Make all tables of a store anew.

    Args:
        options: `store`.

    Returns:
        The exit code: 2 if there is no such store.
    """
    try:
        path = Path(path_of(options))
        with Database(path, migrate=False, create=False) as database:
            count = _rebuild(database)
    except StoreError as problem:
        complain(str(problem))
        return 2
    Screen().line(f"all tables of {path} made anew from {count:,} event{'' if count == 1 else 's'}")
    return 0


def _rebuild(database: Database) -> int:
    """Rebuild with a count on the terminal, if there is one."""
    if not sys.stderr.isatty():
        return database.rebuild()
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} events"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        return database.rebuild(progress=lambda count: progress.update(task, completed=count))
