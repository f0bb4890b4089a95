"""`ingest`: adds events to a store."""

from __future__ import annotations

import argparse
import gzip
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.store.spark_ingest import add_ingest_options, refuse_ingest_options, run_ingest
from openlineage_pyspark.command.store_option import (
    add_store,
    is_in_spark,
    path_of,
    refuse_spark_options,
    refuse_stores,
)
from openlineage_pyspark.errors import SpoolError, StoreError
from openlineage_pyspark.transport.spool.content import spooled_bodies
from openlineage_pyspark.transport.spool.place import DATABASE, directories
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.events.files import STANDARD_INPUT
from openlineage_pyspark.workbench.store.events.ingest import EventLine, Ingested, files_of, lines_of, take
from openlineage_pyspark.workbench.store.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DESCRIPTION = """\
Adds events to a lineage store, which `upstream`, `downstream` and the other questions query. The events may come from
any producer. Adding the same events again changes nothing."""
_PATHS = "event files, also gzipped; folders of them; a spool, whose events stay in it; - for standard input"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("ingest", description=_DESCRIPTION)
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE", help=_PATHS)
    add_store(parser)
    add_ingest_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Add events to a store.

    Args:
        options: `paths`, `store`, and those of `add_spark` and `add_ingest_options`.

    Returns:
        The exit code: 1 if a line was not an event or a file could not be read, 2 if no store or no file is named, or
        an option can't be used with a store in a file.
    """
    if is_in_spark(options):
        return run_ingest(options)
    unread: list[str] = []
    try:
        refuse_ingest_options(options)
        paths = _named(options.paths)
        path = Path(path_of(options))
        refuse_spark_options(options, str(path))
        refuse_stores(each for each in paths if str(each) != STANDARD_INPUT)
        with Database(path) as database, database.many(), without_cycle_collection():
            taken = _take(database, paths, unread)
    except StoreError as problem:
        complain(str(problem))
        return 2
    screen = Screen()
    screen.line(f"{taken.events:,} event{'' if taken.events == 1 else 's'} added to {path}")
    for reason in taken.reasons:
        complain(reason)
    if taken.rejected:
        are = "is not an event; it is" if taken.rejected == 1 else "are not events; they are"
        complain(f"{taken.rejected:,} of the lines {are} in the store's table `rejected`")
    for problem_of_file in unread:
        complain(problem_of_file)
    return int(bool(taken.rejected or unread))


def _named(paths: list[Path]) -> list[Path]:
    """
    Return the paths to read.

    Raises:
        StoreError: no path is named, or none exists. Then no store is created.
    """
    if not paths:
        raise StoreError("name event files, folders of them, or - for standard input")
    if not any(str(path) == STANDARD_INPUT or path.exists() for path in paths):
        raise StoreError("; ".join(f"{path} can't be read: No such file or directory" for path in paths))
    return paths


def _take(database: Database, paths: list[Path], unread: list[str]) -> Ingested:
    """Ingest paths, with a bar on the terminal, if there is one."""
    if not sys.stderr.isatty():
        return take(database, _lines(paths, unread, lambda _: None))
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        *(BarColumn(), DownloadColumn(), TimeRemainingColumn()),
        TextColumn("{task.fields[events]:,} events"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=_size(paths), events=0)
        lines = _lines(paths, unread, lambda count: progress.advance(task, count))
        return take(database, lines, progress=lambda taken: progress.update(task, events=taken.events))


def _size(paths: list[Path]) -> int | None:
    """Return how many bytes there are to read; None if that is unknown in advance."""
    if any(str(path) == STANDARD_INPUT for path in paths):
        return None
    size = 0
    for path in paths:
        for file in (*files_of(path), *(each / DATABASE for each in _spools(path))):
            with suppress(OSError):
                size += file.stat().st_size
    return size


def _lines(paths: list[Path], unread: list[str], read: Callable[[int], None]) -> Iterator[EventLine]:
    for path in paths:
        spools = _spools(path)
        for spool in spools:
            yield from _spooled(spool, unread)
            read((spool / DATABASE).stat().st_size if (spool / DATABASE).exists() else 0)
        files = files_of(path)
        if not files and not spools:
            unread.append(
                f"{path} holds no event files (*.ndjson, *.jsonl or *.json, also with .gz), and is not a spool"
            )
        for file in files:
            yield from _readable(file, unread, read)


def _spools(path: Path) -> list[Path]:
    """Return the folders of the applications in a spool; if the path is such a folder itself, only that."""
    if not path.is_dir():
        return []
    return [path.absolute()] if (path / DATABASE).is_file() else directories(path)


def _spooled(directory: Path, unread: list[str]) -> Iterator[EventLine]:
    """Yield the events of one application in a spool. They stay there, because they are still to be sent."""
    try:
        bodies = spooled_bodies(directory)
    except SpoolError as problem:
        unread.append(str(problem))
        return
    for place, body in bodies:
        yield EventLine(place, body.decode(errors="replace"), "" if body else "it is damaged")


def _readable(file: Path, unread: list[str], read: Callable[[int], None]) -> Iterator[EventLine]:
    """Yield the lines of a file as far as it can be read; if its end is damaged, that is one that is not an event."""
    name, last = "standard input" if str(file) == STANDARD_INPUT else str(file), 0
    try:
        for line in lines_of(file, read):
            last = int(line.source.rpartition(":")[2])
            yield line
    except (OSError, EOFError, zlib.error) as problem:
        why = f"can't be read: {getattr(problem, 'strerror', None) or problem}"
        unread.append(f"{file} {why}")
        if not isinstance(problem, OSError) or isinstance(problem, gzip.BadGzipFile):
            yield EventLine(f"{name}:{last + 1}", "", f"the rest of the file {why}")
