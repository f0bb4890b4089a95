"""Take events into a store: from files, also compressed ones, whole folders, and standard input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.errors import InvalidEventError
from openlineage_pyspark.workbench.events.files import EVENT_ENDINGS, STANDARD_INPUT, event_texts
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.store.events.memory import EventMemory
from openlineage_pyspark.workbench.store.events.rows import described_rows, named_rows, read_event, rejected
from openlineage_pyspark.workbench.store.tables import schema

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.rows import (
        DatasetMention,
        EventRows,
        JobMention,
        Mentioned,
        Mentions,
        Rows,
        TimeSpan,
    )

_SHOWN = 10
_MOST_LINES = 5000
_MOST_CHARACTERS = 32_000_000


@attrs.frozen
class EventLine:
    """
    A text that should be an event.

    Args:
        source: where it is, for people: a file and a line.
        text: its text; empty for the end of a file that can't be read.
        problem: why the line is not an event; empty if only parsing can show it.
    """

    source: str
    text: str
    problem: str = ""


@attrs.frozen
class Portion:
    """
    The rows that are merged into a store in one transaction.

    Args:
        events: the rows of the lines that are events.
        mentions: each job and dataset that these mention -> when.
        rejected: the rows of the lines that are not.
        places: where the events are.
    """

    events: tuple[EventRows, ...]
    mentions: Mentions
    rejected: Rows
    places: tuple[str, ...]

    @property
    def reasons(self) -> list[str]:
        """Return why lines are not events, with their places."""
        return [f"{source}: {reason}" for _, reason, source, _ in self.rejected.get(schema.REJECTED.name, ())]

    def has_now(self, source: str, text: str) -> bool:
        """
        Return whether it has the whole of what was rejected earlier: a file that was still written, or was repaired.

        Args:
            source: where the rejected text was.
            text: its beginning; empty for the end of a file that could not be read.
        """
        file, line = _file_and_line(source)
        begin = text.lstrip("[,\n ")
        places = map(_file_and_line, self.places)
        return any(
            other == file and place >= line and event.text.startswith(begin)
            for (other, place), event in zip(places, self.events, strict=True)
        )

    def own_rows(self) -> Rows:
        """Return the rows of single events, without those of `event`."""
        found: Rows = {}
        for event in self.events:
            for table, rows in event.rows.items():
                found.setdefault(table, []).extend(rows)
        return found

    def all_rows(self) -> Rows:
        """Return the rows of all documented tables."""
        events = {schema.EVENT.name: [event.row for event in self.events]} if self.events else {}
        return {
            **self.own_rows(),
            **events,
            **self.rejected,
            **named_rows(self.mentions),
            **described_rows(self.mentions),
        }


@attrs.define
class Ingested:
    """
    The result of an ingest so far.

    Args:
        events: how many lines were events.
        rejected: how many were not.
        reasons: the first few reasons, with the place.
    """

    events: int = 0
    rejected: int = 0
    reasons: list[str] = attrs.Factory(list)

    def add(self, portion: Portion) -> None:
        """Count a portion that was taken in."""
        reasons = portion.reasons
        self.events += len(portion.events)
        self.rejected += len(reasons)
        self.reasons += reasons[: _SHOWN - len(self.reasons)]


def rejection(source: str, reason: str) -> Diagnostic:
    """
    Return the diagnostic about a text that is not an event.

    Args:
        source: where it is, for people.
        reason: why it is not.
    """
    return Diagnostic("rejected", f"{source} is not an event, and is not counted: {reason}", missing=True, place=source)


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
        read: is called now and then with the number of bytes that were read since the last call.

    Raises:
        OSError: it can't be read.
        EOFError: it is compressed, and its end is missing.
        zlib.error: it is compressed, and damaged.
    """
    source = "standard input" if str(path) == STANDARD_INPUT else str(path)
    for found in event_texts(str(path), read):
        yield EventLine(f"{source}:{found.line}", found.text, found.problem)


class Sink(Protocol):
    """A receiver of the rows of events."""

    def add(self, portion: Portion) -> None:
        """Merge the rows of a portion into the tables: all of them or none."""


def take(
    database: Sink,
    lines: Iterable[EventLine],
    *,
    progress: Callable[[Ingested], None] = lambda _: None,
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
    for portion in portions(lines):
        database.add(portion)
        taken.add(portion)
        progress(taken)
    return taken


def portions(lines: Iterable[EventLine]) -> Iterator[Portion]:
    """Yield the portions of lines. Empty ones are left out."""
    memory = EventMemory()
    made, characters = _Gathered(), 0
    for line in lines:
        text = line.text.strip()
        if not text and not line.problem:
            continue
        made.read(line if text is line.text else attrs.evolve(line, text=text), memory)
        characters += len(text)
        if made.lines >= _MOST_LINES or characters >= _MOST_CHARACTERS:
            yield made.portion()
            made, characters = _Gathered(), 0
    if made.lines:
        yield made.portion()


def _file_and_line(place: str) -> tuple[str, int]:
    """Return the two parts of a place; one without a line is before all lines."""
    file, _, line = place.rpartition(":")
    return (file, int(line)) if line.isdecimal() else (place, 0)


class _Gathered:
    """
    The rows of several lines.

    All mentions of a job or a dataset in several events make its rows once: a run's START and its terminal event
    mention nearly the same, and so do the runs of a job.

    Attributes:
        lines: how many lines were read.
    """

    def __init__(self) -> None:
        self.lines = 0
        self._events: list[EventRows] = []
        self._places: list[str] = []
        self._rejected: Rows = {}
        # By identity: events with the same mentions share one value.
        self._mentioned: dict[int, tuple[Mentioned, TimeSpan]] = {}

    def read(self, line: EventLine, memory: EventMemory) -> None:
        """Read a line."""
        self.lines += 1
        if line.problem:
            self._reject(line, line.problem)
            return
        try:
            event = memory.parse(line.text)
            found = read_event(line.text, event, memory)
        except InvalidEventError as problem:
            self._reject(line, str(problem))
        except RecursionError:
            self._reject(line, "nested too deeply")
        else:
            if found.odd:
                event_id = found.digest.hex()
                rows = [(event_id, each.place, each.message, line.source) for each in found.odd]
                found.rows[schema.ODD_FACET.name] = [*rows]
            self._events.append(found)
            self._places.append(line.source)
            self._mention(found)

    def portion(self) -> Portion:
        """Return all that was read."""
        return Portion(tuple(self._events), self._mentions(), self._rejected, tuple(self._places))

    def _reject(self, line: EventLine, reason: str) -> None:
        for table, rows in rejected(line.text, reason, line.source).items():
            self._rejected.setdefault(table, []).extend(rows)

    def _mention(self, found: EventRows) -> None:
        known = self._mentioned.get(id(found.mentions))
        span = found.span if known is None else known[1] | found.span
        self._mentioned[id(found.mentions)] = found.mentions, span

    def _mentions(self) -> Mentions:
        """Return all that is mentioned -> when."""
        found: dict[JobMention | DatasetMention, TimeSpan] = {}
        for mentions, span in self._mentioned.values():
            for mention in mentions:
                before = found.get(mention)
                found[mention] = span if before is None else before | span
        return found


def rows_of_events(texts: Iterable[str]) -> Iterator[Rows]:
    """
    Yield the rows of a store's events, portion by portion.

    Args:
        texts: their JSON.
    """
    for portion in portions(EventLine("the store", text) for text in texts):
        yield portion.all_rows()


def _is_event_file(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    # A rotated file has the time between its name and its ending, and one that is written now may have none.
    return name.endswith(EVENT_ENDINGS)
