"""`ingest`: takes events into a store."""

from __future__ import annotations

import argparse
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.spark_ingest import add_ingest_options, run_ingest
from openlineage_pyspark.command.stores import add_store, is_in_spark, path_of
from openlineage_pyspark.store.errors import StoreError
from openlineage_pyspark.store.ingest import Taken, files_of, lines_of, take
from openlineage_pyspark.store.sqlite import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.store.ingest import EventLine

_DESCRIPTION = """\
Takes events into a lineage store, which `upstream`, `downstream` and the other questions then ask. The events may be of
any producer. Taking the same ones again changes nothing."""
_PATHS = "event files, also gzipped; folders of them; - for standard input"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("ingest", help="take events into a lineage store", description=_DESCRIPTION)
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE", help=_PATHS)
    add_store(parser)
    add_ingest_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Take events into a store.

    Args:
        options: `paths` and `store`.

    Returns:
        The exit code: 1 if a line was no event or a file could not be read, 2 without a store.
    """
    if is_in_spark(options) or options.into:
        return run_ingest(options)
    unread: list[str] = []
    try:
        paths = _named(options.paths)
        path = Path(path_of(options))
        with Database(path) as database:
            taken = _take(database, _lines(paths, unread))
    except StoreError as problem:
        complain(str(problem))
        return 2
    screen = Screen()
    screen.line(f"{taken.events:,} event{'' if taken.events == 1 else 's'} taken into {path}")
    for reason in taken.reasons:
        complain(reason)
    if taken.rejected:
        are = "is no event; it is" if taken.rejected == 1 else "are no events; they are"
        complain(f"{taken.rejected:,} of the lines {are} in the store's table `rejected`")
    for problem_of_file in unread:
        complain(problem_of_file)
    return int(bool(taken.rejected or unread))


def _named(paths: list[Path]) -> list[Path]:
    if not paths:
        raise StoreError("name event files, folders of them, or - for standard input")
    return paths


def _take(database: Database, lines: Iterator[EventLine]) -> Taken:
    """Take lines in with a count on the terminal, if there is one."""
    if not sys.stderr.isatty():
        return take(database, lines)
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} events"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        return take(database, lines, progress=lambda taken: progress.update(task, completed=taken.events))


def _lines(paths: list[Path], unread: list[str]) -> Iterator[EventLine]:
    for path in paths:
        files = files_of(path)
        if not files:
            unread.append(f"{path} holds no event files (*.ndjson, *.jsonl or *.json, also with .gz)")
        for file in files:
            yield from _readable(file, unread)


def _readable(file: Path, unread: list[str]) -> Iterator[EventLine]:
    """Return the lines of a file, as far as it can be read."""
    try:
        yield from lines_of(file)
    except (OSError, EOFError, zlib.error) as problem:
        unread.append(f"{file} can't be read: {getattr(problem, 'strerror', None) or problem}")
