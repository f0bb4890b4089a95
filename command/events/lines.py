"""Read files of events line by line: each line with its JSON object, or with the reason why there is none."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import EventError
from openlineage_pyspark.workbench.events.files import (
    STANDARD_INPUT,
    EventPlace,
    database_in,
    event_texts,
    parsed_event,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.workbench.events.files import EventText

EventJson = dict[str, Any]

_STORE_COMMANDS = "query it with commands such as `upstream`, `downstream`, `datasets`, `runs` and `view`"


@attrs.frozen
class FileLine:
    """
    A line that should be an event.

    Args:
        place: its location.
        event: its JSON object; None if there is none.
        problem: why there is none; empty if there is one.
    """

    place: EventPlace
    event: EventJson | None = attrs.field(default=None, repr=False)
    problem: str = ""


def read_lines(files: Sequence[str]) -> Iterator[FileLine]:
    """
    Yield the lines of some files that should be events, in order.

    Args:
        files: paths, or `-` for standard input; gzip is recognised by its first bytes, not by the file's name.

    Raises:
        EventError: a file can't be opened or read.
    """
    for file in files:
        yield from _read(file)


def refuse_store(file: str) -> None:
    """
    Refuse a store where an event file is named.

    Raises:
        EventError: it is a store.
    """
    if file != STANDARD_INPUT and (database := database_in(Path(file))):
        raise EventError(f"{file} is {database}, not an event file: {_STORE_COMMANDS}", place=file)


def _refuse_folder(file: str) -> None:
    """
    Refuse a folder: the order of its files, which matters here, is unknown.

    Raises:
        EventError: it is a folder.
    """
    if file != STANDARD_INPUT and Path(file).is_dir():
        pattern = Path(file, "*.ndjson")
        raise EventError(
            f"{file} is a folder: name its files, in the order of their events, such as {pattern}", place=file
        )


def _read(file: str) -> Iterator[FileLine]:
    refuse_store(file)
    _refuse_folder(file)
    number = 0
    try:
        for found in event_texts(file):
            number = found.line
            yield _line(EventPlace(file, number), found)
    # A process that was killed leaves an incomplete gzip file.
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        yield FileLine(EventPlace(file, number + 1), problem=f"the gzip data is damaged or cut off here ({problem})")
    except OSError as problem:
        raise EventError(f"{file} can't be read: {problem.strerror or problem}", place=file) from problem


def _line(place: EventPlace, found: EventText) -> FileLine:
    if found.problem:
        return FileLine(place, problem=found.problem)
    try:
        return FileLine(place, parsed_event(found.text))
    except ValueError as problem:
        return FileLine(place, problem=str(problem))
