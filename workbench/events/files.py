"""
Read events from any file: one or several per line, one or several documents, or an array, also gzipped.

A line that is an object by itself is an event by itself, whatever surrounds it. Other lines are joined until their
brackets are closed. So a truncated line costs only itself, and neither the events before it nor those after it.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
from openlineage_pyspark.errors import StoreError

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Generator, Iterable, Iterator

STANDARD_INPUT = "-"
"""The file name that means standard input."""
EVENT_ENDINGS = (".ndjson", ".jsonl", ".json")
"""How the names of event files end, before `.gz` if they are gzipped."""
FILE_ENDINGS = (*EVENT_ENDINGS, ".gz", ".db", ".sqlite", ".sqlite3")
"""How the names of files end that hold events, or a store."""
LONGEST_EVENT = 64 << 20
"""The maximum number of bytes of a line, and of characters of an event of several lines. Longer ones are refused."""

_LINES_BETWEEN = 100
_GZIP_MAGIC = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"
# The application id in the header of an SQLite database, and that of stores.
_APPLICATION_ID, _OF_STORES = slice(68, 72), b"OLPS"
_MARK = "\ufeff"
# A string in JSON contains no line break, so no token continues on the next line.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+|"')
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*")
# Python's parser refuses JSON that is nested more deeply.
_DEEPEST = 1_000
_CLOSING = {"}": "{", "]": "["}
_TOO_LONG = f"longer than {LONGEST_EVENT >> 20} MB"


@attrs.frozen
class EventPlace:
    """
    The location of an event.

    Args:
        file: the file as it was named, `-` for standard input.
        line: the number of the line in which it begins, counted from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        """Return it in the form that editors and compilers use."""
        return f"{self.file}:{self.line}"


@attrs.frozen
class EventText:
    """
    A text that should be an event.

    Args:
        line: the number of the line in which it begins, from 1.
        text: the text.
        problem: why it is not an event; empty if it must be parsed to find out.
    """

    line: int
    text: str = attrs.field(repr=False)
    problem: str = ""


def event_texts(file: str, read: Callable[[int], None] = lambda _: None) -> Iterator[EventText]:
    """
    Yield the events of a file, or the problems with them, in order; nothing for blank lines.

    Args:
        file: a path, or `-` for standard input; gzip is recognised by its first bytes, not by the file's name.
        read: called now and then with the number of bytes read since the last call; never for standard input.

    Raises:
        OSError: it can't be opened or read.
        EOFError: its gzip data is cut off.
        zlib.error: its gzip data is damaged.
    """
    return texts_of_lines(_lines(file, read))


def texts_of_lines(lines: Iterable[tuple[int, str]]) -> Iterator[EventText]:
    """
    Yield the texts in lines that should be events.

    Args:
        lines: the lines with their numbers.
    """
    gathered = _Gathered()
    cause: Exception | None = None
    try:
        for number, line in lines:
            text = line.strip()
            if len(line) > LONGEST_EVENT:
                yield from gathered.end()
                yield EventText(number, text, _TOO_LONG)
            elif text:
                yield from gathered.add(number, text)
    except (OSError, EOFError, zlib.error) as problem:
        cause = problem
    # Take whatever can be read of a damaged file.
    yield from gathered.end()
    if cause is not None:
        raise cause


def parsed_event(text: str) -> dict[str, Any]:
    """
    Return a text as a JSON object, strictly.

    Raises:
        ValueError: it is not an object, or an object in it has a key twice, which two readers may read differently. The
            message is for people.
    """
    try:
        event = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as problem:
        raise ValueError(why_no_object(problem)) from None
    if not isinstance(event, dict):
        raise ValueError(why_no_object())  # noqa: TRY004 (of the text, not of an argument)
    return event


def why_no_object(problem: Exception | None = None) -> str:
    """
    Return why a text is not a JSON object, for people.

    Args:
        problem: the error of the JSON parser; None if it is JSON of another kind.
    """
    if problem is None:
        return "not a JSON object"
    if not isinstance(problem, json.JSONDecodeError):
        return f"not JSON: {problem}"
    # The parser counts lines from the beginning of the text, which is not that of the file.
    line = f"line {problem.lineno} of the text, " if problem.lineno > 1 else ""
    return f"not JSON: {problem.msg} at {line}column {problem.colno}"


def database_in(path: Path) -> str:
    """Return which kind of database a file is, as the end of a sentence; empty if it is none."""
    if not path.is_file():
        return ""
    # If the file can't be read, the function that reads it reports that.
    with suppress(OSError), path.open("rb") as opened:
        header = opened.read(_APPLICATION_ID.stop)
        if header.startswith(_SQLITE):
            return "a store" if header[_APPLICATION_ID] == _OF_STORES else "an SQLite database"
    return ""


class _Gathered:
    """The lines of a document or an array whose end was not read yet."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self._length = 0
        self._brackets: list[str] = []
        self._last = ""
        # Where the current event begins: the index of its line in `_lines`, and the position in this line.
        self._begin: tuple[int, int] | None = None

    def add(self, number: int, text: str) -> Iterator[EventText]:
        """Add a line; yield the events that it completes."""
        pending = [(number, text)]
        while pending:
            number, text = pending.pop()
            if self._lines and not self._brackets and text[0] in "{[":
                yield from self._give_up(pending)
            if not self._lines and _may_have_several(text):
                objects, rest = _objects(text)
                yield from (EventText(number, each) for each in objects)
                pending += [(number, rest)] if rest and objects else []
                if objects:
                    continue
            elif not self._lines and _is_object(text):
                yield EventText(number, text)
                continue
            self._lines.append((number, text))
            self._length += len(text)
            if self._brackets or text[0] in "{[":
                is_right = yield from self._read(number, text, pending)
                if not is_right or self._length > LONGEST_EVENT:
                    yield from self._give_up(pending)
            elif self._length > LONGEST_EVENT:
                yield from self._give_up(pending)

    def end(self) -> Iterator[EventText]:
        """Yield the rest at the end of the text."""
        while self._lines:
            pending: list[tuple[int, str]] = []
            yield from self._give_up(pending)
            for number, text in reversed(pending):
                yield from self.add(number, text)

    def _read(self, number: int, text: str, pending: list[tuple[int, str]]) -> Generator[EventText, None, bool]:
        """
        Read a line; yield the events that end in it.

        Args:
            number: its number.
            text: the line.
            pending: gets the rest of the line, if a document ends before it.

        Returns:
            Whether the line may continue the JSON before it.
        """
        for found in _TOKEN.finditer(text):
            part = found[0]
            if part in "{[":
                is_right = self._open(part, found.start())
            elif part in "}]":
                is_right = bool(self._brackets) and self._brackets.pop() == _CLOSING[part]
                if is_right and self._begin is not None and self._brackets in ([], ["["]):
                    yield self._event(found.end())
                if is_right and not self._brackets:
                    self._clear()
                    # Some write a comma after each event.
                    rest = text[found.end() :].lstrip(", \t")
                    pending += [(number, rest)] if rest else []
                    return True
            else:
                is_right = part != '"'
                if is_right and part not in ",:" and self._begin is None:
                    yield EventText(number, part)
            if not is_right:
                return False
            self._last = part
        if self._begin is None:
            # An array may be long: only its opening bracket is kept between events.
            self._lines, self._length = [(number, "[")], 1
        return True

    def _open(self, bracket: str, at: int) -> bool:
        """Add a bracket that opens; return whether it may open here."""
        if self._brackets:
            before = (":",) if self._brackets[-1] == "{" else ("[", ",", ":")
            if self._last not in before or len(self._brackets) >= _DEEPEST:
                return False
        if self._begin is None and (self._brackets or bracket == "{"):
            self._begin = len(self._lines) - 1, at
        self._brackets.append(bracket)
        return True

    def _event(self, end: int) -> EventText:
        """Return the text of the event that ends in the last line."""
        line, at = self._begin or (0, 0)
        texts = [text for _, text in self._lines[line:]]
        texts[-1] = texts[-1][:end]
        texts[0] = texts[0][at:]
        self._begin = None
        return EventText(self._lines[line][0], "\n".join(texts))

    def _clear(self) -> None:
        self._lines, self._length, self._brackets, self._last, self._begin = [], 0, [], "", None

    def _give_up(self, pending: list[tuple[int, str]]) -> Iterator[EventText]:
        """
        Yield the lines as one text that is not an event.

        Args:
            pending: gets the lines from the first one that is an object by itself, in reverse order.
        """
        lines, is_too_long = self._lines, self._length > LONGEST_EVENT
        self._clear()
        whole = next((place for place in range(1, len(lines)) if _is_object(lines[place][1])), len(lines))
        text = "\n".join(each for _, each in lines[:whole])[:LONGEST_EVENT]
        yield EventText(lines[0][0], text, _TOO_LONG if is_too_long else "")
        pending += reversed(lines[whole:])


def _may_have_several(text: str) -> bool:
    """Return whether a line may have objects one after another: some collectors write no line breaks."""
    return text[0] == "{" and ("}{" in text or "} {" in text)


def _objects(text: str) -> tuple[list[str], str]:
    """Return the objects at the beginning of a line, and what is left after them."""
    found: list[str] = []
    at = 0
    # A number or a string may only be the beginning of something that is damaged.
    while text.startswith("{", at):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(text[at:end])
        after = _BETWEEN.match(text, end)
        at = end if after is None else after.end()
    return found, text[at:]


def _is_object(text: str) -> bool:
    """Return whether a line looks like an object by itself."""
    if text[0] != "{" or text[-1] != "}":
        return False
    if text.count("{") == text.count("}"):
        return True
    # It has brackets in its strings, or it is a part of a larger document.
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _lines(file: str, read: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    if file == STANDARD_INPUT:
        yield from _decoded(sys.stdin.buffer)
        return
    with Path(file).open("rb") as opened:
        before = 0
        for number, line in _decoded(opened):
            yield number, line
            if number % _LINES_BETWEEN == 0:
                place = opened.tell()
                read(place - before)
                before = place
        read(opened.tell() - before)


def _decoded(opened: io.BufferedReader | Any) -> Iterator[tuple[int, str]]:
    """Yield the lines of an open file with their numbers; a line that is too long is cut, and stays too long."""
    is_packed = opened.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
    source = gzip.GzipFile(fileobj=opened) if is_packed else opened
    number = 0
    while line := source.readline(LONGEST_EVENT + 2):
        number += 1
        text = line.decode(errors="replace")
        if len(line) > LONGEST_EVENT and not line.endswith(b"\n"):
            text = text.ljust(LONGEST_EVENT + 1)
            while (more := source.readline(LONGEST_EVENT)) and not more.endswith(b"\n"):
                pass
        # Files that were joined to one have their marks within it.
        yield number, text.lstrip(_MARK)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; reject duplicate keys."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice in an object")
    return made


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def refuse_missing_file(text: str) -> None:
    """
    Refuse an argument that is meant as a file, and not as a time, if there is no such file.

    Args:
        text: names no file that exists.

    Raises:
        StoreError: it looks like the name of a file.
    """
    if "/" in text or "\\" in text or text.endswith(FILE_ENDINGS):
        raise StoreError(f"{text} can't be read: No such file or directory")
