"""The lines of event files, each with its JSON object or with what is wrong with it."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
from openlineage_pyspark.workbench.store.events.files import (
    STANDARD_INPUT,
    is_store_file,
    numbered_lines,
    why_no_object,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EventJson = dict[str, Any]

_STORE_COMMANDS = "ask it by `upstream`, `downstream`, `datasets`, `runs` and `view`"


class EventFileError(Exception):
    """A file of events can't be read at all; the message says which, why and what to do."""


@attrs.frozen
class EventPlace:
    """
    The location of an event.

    Args:
        file: the file as it was named, `-` for standard input.
        line: the line number, counted from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        """Return it in the form that editors and compilers use."""
        return f"{self.file}:{self.line}"


@attrs.frozen
class FileLine:
    """
    One line of a file.

    Args:
        place: its location.
        event: the JSON object on it; None if there is none.
        problem: why there is none; empty if there is one.
    """

    place: EventPlace
    event: EventJson | None = attrs.field(default=None, repr=False)
    problem: str = ""


def read_lines(files: Sequence[str]) -> Iterator[FileLine]:
    """
    Yield the lines of some files, in order and without blank lines.

    Args:
        files: paths, or `-` for standard input; gzip is recognised by its first bytes, not by the file's name.

    Raises:
        EventFileError: a file can't be opened or read.
    """
    for file in files:
        yield from _read(file)


def _read(file: str) -> Iterator[FileLine]:
    if file != STANDARD_INPUT and is_store_file(Path(file)):
        raise EventFileError(f"{file} is a lineage store, and no event file: {_STORE_COMMANDS}")
    number = 0
    try:
        for number, text in numbered_lines(file):
            if text.strip():
                yield _line(EventPlace(file, number), text)
    # A process that was killed leaves an incomplete gzip file.
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        yield FileLine(EventPlace(file, number + 1), problem=f"the gzip data is damaged or cut off here ({problem})")
    except OSError as problem:
        raise EventFileError(f"{file} can't be read ({problem.strerror or problem})") from problem


def _line(place: EventPlace, text: bytes) -> FileLine:
    try:
        event = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as problem:
        return FileLine(place, problem=why_no_object(text.decode(errors="replace"), problem))
    if not isinstance(event, dict):
        return FileLine(place, problem=why_no_object(text.decode(errors="replace")))
    return FileLine(place, event)


def _object(pairs: list[tuple[str, Any]]) -> EventJson:
    """Return an object; reject duplicate keys, which two readers would read differently."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice in an object")
    return made


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
