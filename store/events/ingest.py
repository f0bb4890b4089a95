"""Takes events into a store: from files, compressed ones, whole folders, and standard input."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.store.events.files import STANDARD_INPUT, numbered_lines
from openlineage_pyspark.store.events.parts import PartParser
from openlineage_pyspark.store.events.rows import InvalidEventError, mentioned_rows, parse_event, read_event, rejected

if TYPE_CHECKING:
    from openlineage_pyspark.store.events.rows import DatasetMention, EventRows, JobMention, Mentions, Rows, TimeSpan

_SUFFIXES = (".ndjson", ".jsonl", ".json")
_BATCH_EVENTS = 5000
_BATCH_CHARACTERS = 32_000_000
_SHOWN = 10


@attrs.frozen
class EventLine:
    """
    One line that should be an event.

    Args:
        source: where it stands, for people: a file and a line.
        text: its text.
    """

    source: str
    text: str


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
    Return the lines of an event file, plain or compressed by gzip. `-` is standard input.

    Args:
        path: the file.
        read: is told now and then how many more bytes of the file were read.

    Raises:
        OSError: it can't be read.
        EOFError: it is compressed, and its end is missing.
        zlib.error: it is compressed, and damaged.
    """
    source = "standard input" if str(path) == STANDARD_INPUT else str(path)
    for number, text in numbered_lines(str(path), read):
        yield EventLine(f"{source}:{number}", text.decode(errors="replace"))


class Sink(Protocol):
    """What takes the rows of events."""

    def add(self, rows: Rows, mentions: Mentions) -> None:
        """Merge rows, and those that `mentioned_rows` makes of mentions, into the tables: all of them or none."""


def take(
    database: Sink, lines: Iterable[EventLine], *, progress: Callable[[Ingested], None] = lambda _: None
) -> Ingested:
    """
    Take lines into a store. Taking them again changes nothing.

    Args:
        database: the store.
        lines: the lines. Empty ones are skipped.
        progress: is called after each portion that was written.

    Returns:
        How many were taken.

    Raises:
        StoreError: the store can't be written.
    """
    taken = Ingested()
    parser = PartParser()
    portion = _Portion(parser)
    for line in lines:
        if not line.text.strip():
            continue
        reason = portion.take(line)
        taken.events += not reason
        taken.rejected += bool(reason)
        if reason and len(taken.reasons) < _SHOWN:
            taken.reasons.append(f"{line.source}: {reason}")
        if portion.is_full:
            database.add(portion.rows, portion.mentions)
            portion = _Portion(parser)
            progress(taken)
    database.add(portion.rows, portion.mentions)
    progress(taken)
    return taken


def rows_by_portion(lines: Iterable[EventLine]) -> Iterator[Rows]:
    """
    Yield the rows of lines, portion by portion, for an engine that merges them itself.

    Args:
        lines: the lines. Empty ones are skipped; of those that are no events come rows of `rejected`.
    """
    parser = PartParser()
    portion = _Portion(parser)
    for line in lines:
        if line.text.strip():
            portion.take(line)
        if portion.is_full:
            yield portion.all_rows()
            portion = _Portion(parser)
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


class _Portion:
    """
    Events that are written in one transaction.

    What several of them say of a job or a dataset makes its rows once: the START and the end of a run say nearly the
    same, and so do the runs of a job.

    Attributes:
        rows: the rows that are an event's own.
        mentions: what the events say of jobs and datasets, and when.
    """

    def __init__(self, parser: PartParser) -> None:
        self._parser = parser
        self.rows: Rows = {}
        self.mentions: dict[JobMention | DatasetMention, TimeSpan] = {}
        self._lines = 0
        self._characters = 0

    @property
    def is_full(self) -> bool:
        return self._lines >= _BATCH_EVENTS or self._characters >= _BATCH_CHARACTERS

    def take(self, line: EventLine) -> str:
        """Take a line, and return why it is no event; empty if it is one."""
        self._lines += 1
        self._characters += len(line.text)
        try:
            found = read_event(self._parser.parse(line.text) or parse_event(line.text))
        except InvalidEventError as problem:
            reason = str(problem)
        except RecursionError:
            reason = "nested too deeply"
        else:
            self._add(found.rows)
            self._mention(found)
            return ""
        self._add(rejected(line.text, reason, line.source))
        return reason

    def all_rows(self) -> Rows:
        """Return the rows of all events."""
        self._add(mentioned_rows(self.mentions))
        return self.rows

    def _mention(self, found: EventRows) -> None:
        # What the START of a run mentions, its end mentions too: then all of it was said at the same times.
        before: TimeSpan | None = None
        both = found.span
        for mention in found.mentions:
            known = self.mentions.get(mention)
            if known is None:
                self.mentions[mention] = found.span
                continue
            if known is not before:
                before, both = known, known | found.span
            self.mentions[mention] = both

    def _add(self, rows: Rows) -> None:
        for table, found in rows.items():
            self.rows.setdefault(table, []).extend(found)


def _is_event_file(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    # A rotated file has the time between its name and its ending, and one that is written now may have none.
    return name.endswith(_SUFFIXES)
