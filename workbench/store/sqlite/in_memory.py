"""A store in memory, made of files of events: questions about files query it like any other store."""

from __future__ import annotations

import gzip
import zlib
from contextlib import ExitStack
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.events.files import STANDARD_INPUT, database_in
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.store.events.ingest import Ingested, files_of, lines_of, portions, rejection
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from openlineage_pyspark.workbench.store.events.ingest import EventLine


# A file that has no events has a problem in each line.
_SHOWN = 3


@attrs.frozen
class EventsInMemory:
    """
    Files of events as a store.

    Args:
        database: the store. Each answer about it has the diagnostics about the files.
        taken: how many lines are events, and why others are not.
        damaged: a sentence for each file whose end can't be read.
    """

    database: Database
    taken: Ingested
    damaged: tuple[str, ...]


def events_in_memory(paths: Iterable[Path], beside: Database | None = None) -> EventsInMemory:
    """
    Return files of events as a store in memory. The caller closes it.

    Args:
        paths: the files, also gzipped, and folders of them; `-` is standard input.
        beside: another store, which takes the same events.

    Raises:
        StoreError: one of the paths is a store, or a folder without any files of events.
        OSError: one can't be read.
    """
    damaged: list[str] = []
    taken, rejected = Ingested(), list[Diagnostic]()
    with ExitStack() as stack, without_cycle_collection():
        database = stack.enter_context(Database(None))
        for portion in portions(_lines(paths, damaged)):
            for store in filter(None, (database, beside)):
                store.add(portion)
            taken.add(portion)
            rows = portion.rejected.get(schema.REJECTED.name, ())[: _SHOWN - len(rejected)]
            rejected += (rejection(str(source), str(reason)) for _, reason, source, _ in rows)
        stack.pop_all()
    if taken.rejected > _SHOWN:
        more = f"{taken.rejected - _SHOWN:,} more texts are not events: `validate` names them"
        rejected.append(Diagnostic("rejected", more, missing=True))
    database.of_files = (*rejected, *(Diagnostic("damaged", each, missing=True) for each in damaged))
    return EventsInMemory(database, taken, tuple(damaged))


def _lines(paths: Iterable[Path], damaged: list[str]) -> Iterator[EventLine]:
    for path in paths:
        if str(path) != STANDARD_INPUT and (database := database_in(path)):
            raise StoreError(f"{path} is {database}, not an event file: it can't be read together with event files")
        files = files_of(path)
        if not files:
            raise StoreError(f"{path} holds no event files (*.ndjson, *.jsonl or *.json, also with .gz)")
        for file in files:
            yield from _readable(file, damaged)


def _readable(file: Path, damaged: list[str]) -> Iterator[EventLine]:
    """Yield the lines of a file as far as it can be read: a killed process leaves an incomplete gzip file."""
    try:
        yield from lines_of(file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        damaged.append(f"{file}: the gzip data is damaged or cut off ({problem}); only the part before that is read")
