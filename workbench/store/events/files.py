"""Event files: one event per line, plain or gzipped, or standard input."""

from __future__ import annotations

import gzip
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator

STANDARD_INPUT = "-"
"""The file name that stands for standard input."""
EVENT_ENDINGS = (".ndjson", ".jsonl", ".json")
"""How the names of event files end, before `.gz` if they are gzipped."""
FILE_ENDINGS = (*EVENT_ENDINGS, ".gz", ".db", ".sqlite", ".sqlite3")
"""How the names of files end that hold events, or a store."""

_LINES_BETWEEN = 100
_GZIP_MAGIC = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"


def why_no_object(text: str, problem: Exception | None = None) -> str:
    """
    Return why a line is no JSON object, for people.

    Args:
        text: the line.
        problem: what the JSON parser says; None if it is JSON of another kind.
    """
    begin = text.lstrip()[:1]
    if begin == "[":
        return "a JSON array: each line must be one event, as `jq -c '.[]'` writes them"
    if problem is None:
        return "not a JSON object"
    rest = "; each line must be a whole event" if text.strip() == "{" else ""
    return f"not JSON: {problem}{rest}"


def numbered_lines(file: str, read: Callable[[int], None] = lambda _: None) -> Iterator[tuple[int, bytes]]:
    """
    Yield the lines of a file with their numbers, from 1.

    Args:
        file: a path, or `-` for standard input; gzip is recognised by its first bytes, not by the file's name.
        read: is told now and then how many bytes of the file were read since it was last told; none of standard input.

    Raises:
        OSError: it can't be opened or read.
        EOFError: its gzip data is cut off.
        zlib.error: its gzip data is damaged.
    """
    if file == STANDARD_INPUT:
        yield from _numbered(sys.stdin.buffer)
        return
    with Path(file).open("rb") as opened:
        told = 0
        for number, line in _numbered(opened):
            yield number, line
            if number % _LINES_BETWEEN == 0:
                place = opened.tell()
                read(place - told)
                told = place
        read(opened.tell() - told)


def _numbered(opened: io.BufferedReader | Any) -> Iterator[tuple[int, bytes]]:
    packed = opened.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
    return enumerate(gzip.GzipFile(fileobj=opened) if packed else opened, 1)


def is_store_file(path: Path) -> bool:
    """Return whether a path is that of a store in a file."""
    if not path.is_file():
        return False
    # Who reads one that can't be read says so.
    with suppress(OSError), path.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE
    return False
