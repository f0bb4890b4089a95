"""Takes events into a store: from files, compressed ones, whole folders, and standard input."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.workbench.events.files import EVENT_ENDINGS, STANDARD_INPUT, event_texts
from openlineage_pyspark.workbench.store.events.portions import EventLine, portions
from openlineage_pyspark.workbench.store.events.second_process import portions_beside

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.portions import Portion
    from openlineage_pyspark.workbench.store.events.rows import Rows

_SHOWN = 10


@attrs.define
class Ingested:
    """
    What was taken in so far.

    Args:
        events: how many lines were events.
        rejected: how many were none.
        reasons: the first few reasons, with the place.
    """

    events: int = 0
    rejected: int = 0
    reasons: list[str] = attrs.Factory(list)


def files_of(path: Path) -> list[Path]:
    """Return the event files at a path: itself, or those in the folder and below, by their endings, in order."""
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file() and _is_event_file(each))


def lines_of(path: Path, read: Callable[[int], None] = lambda _: None) -> Iterator[EventLine]:
    """
    Return what should be the events of a file, each as one line. `-` is standard input.

    Args:
        path: the file.
        read: is told now and then how many more bytes of the file were read.

    Raises:
        OSError: it can't be read.
        EOFError: it is compressed, and its end is missing.
        zlib.error: it is compressed, and damaged.
    """
    source = "standard input" if str(path) == STANDARD_INPUT else str(path)
    for found in event_texts(str(path), read):
        yield EventLine(f"{source}:{found.line}", found.text, found.problem)


class Sink(Protocol):
    """What takes the rows of events."""

    def add(self, portion: Portion) -> None:
        """Merge the rows of a portion into the tables: all of them or none."""


def take(
    database: Sink,
    lines: Iterable[EventLine],
    *,
    progress: Callable[[Ingested], None] = lambda _: None,
    is_beside: bool = False,
) -> Ingested:
    """
    Take lines into a store. Taking them again changes nothing.

    Args:
        database: the store.
        lines: the lines. Empty ones are skipped.
        progress: is called after each portion that was written.
        is_beside: whether a second process may read events while this one writes. It starts if they are many.

    Returns:
        How many were taken.

    Raises:
        StoreError: the store can't be written.
    """
    taken = Ingested()
    for portion in (portions_beside if is_beside else portions)(lines):
        database.add(portion)
        reasons = portion.reasons
        taken.events += portion.events
        taken.rejected += len(reasons)
        taken.reasons += reasons[: _SHOWN - len(taken.reasons)]
        progress(taken)
    return taken


def rows_by_portion(lines: Iterable[EventLine]) -> Iterator[Rows]:
    """
    Yield the rows of lines, portion by portion, for an engine that merges them itself.

    Args:
        lines: the lines. Empty ones are skipped; of those that are no events come rows of `rejected`.
    """
    for portion in portions(lines):
        yield portion.all_rows()


def rows_of_events(texts: Iterable[str]) -> Iterator[Rows]:
    """
    Yield the rows of events that are in a store, portion by portion, each of which is to be merged into the tables.

    Args:
        texts: their JSON.
    """
    return rows_by_portion(EventLine("the store", text) for text in texts)


@contextmanager
def without_cycle_collection() -> Iterator[None]:
    """
    Leave Python's search for cycles off for a while, in a process of our own.

    Events are large trees without cycles, and the search goes through all that are held: it costs four times what the
    parsing does.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _is_event_file(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    # A rotated file has the time between its name and its ending, and one that is written now may have none.
    return name.endswith(EVENT_ENDINGS)
