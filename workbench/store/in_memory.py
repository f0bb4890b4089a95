"""A store in memory, made of files of events: who asks about files asks it as any other store."""

from __future__ import annotations

import gzip
import zlib
from contextlib import ExitStack
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.events.files import STANDARD_INPUT, is_store_file
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.store.events.ingest import Ingested, files_of, lines_of, portions
from openlineage_pyspark.workbench.store.sqlite import Database

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from openlineage_pyspark.workbench.model.kinds import Code
    from openlineage_pyspark.workbench.store.events.ingest import EventLine

# So many diagnostics of one code are kept: a file of something else has one problem in each line.
_SHOWN = 3
_MORE: dict[Code, str] = {"rejected": "more texts are no events", "odd-facet": "more parts of events are left out"}


@attrs.frozen
class EventsInMemory:
    """
    Files of events as a store.

    Args:
        database: the store. Each answer about it has the diagnostics about the files.
        taken: how many lines are events, and why others are none.
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
    taken, found = Ingested(), _FirstOnes()
    with ExitStack() as stack, without_cycle_collection():
        database = stack.enter_context(Database(None))
        for portion in portions(_lines(paths, damaged), diagnosed=True):
            for store in filter(None, (database, beside)):
                store.add(portion)
            taken.add(portion)
            found.add(portion.diagnostics)
        stack.pop_all()
    found.add(Diagnostic("damaged", each, missing=True) for each in damaged)
    database.of_input = found.diagnostics
    return EventsInMemory(database, taken, tuple(damaged))


class _FirstOnes:
    """The first few diagnostics of each code, and how many more there are."""

    def __init__(self) -> None:
        self._first: dict[Code, list[Diagnostic]] = {}
        self._more: dict[Code, int] = {}

    def add(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add some."""
        for each in diagnostics:
            first = self._first.setdefault(each.code, [])
            if len(first) < _SHOWN or each.code not in _MORE:
                first.append(each)
            else:
                self._more[each.code] = self._more.get(each.code, 0) + 1

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return them, and behind those of a code a sentence with the number of the others."""
        found: list[Diagnostic] = []
        for code, first in self._first.items():
            found += first
            if code in self._more:
                message = f"{self._more[code]:,} {_MORE[code]}: `validate` names them"
                found.append(Diagnostic(code, message, missing=True))
        return tuple(found)


def _lines(paths: Iterable[Path], damaged: list[str]) -> Iterator[EventLine]:
    for path in paths:
        if str(path) != STANDARD_INPUT and is_store_file(path):
            raise StoreError(f"{path} is a store, not an event file: it can't be read together with event files")
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
