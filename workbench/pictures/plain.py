"""
Make untrusted text safe to show, measure it in columns of a terminal, and break it into lines.

Names and expressions come from events, which anybody can send.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def plain(text: str) -> str:
    """Return a text on one line, with a blank for each character that a terminal acts on, such as a colour code."""
    return text if text.isprintable() else "".join(character if character.isprintable() else " " for character in text)


def csv_of(rows: Iterable[Sequence[object]]) -> str:
    """
    Return rows as CSV that a spreadsheet can open.

    A text that a spreadsheet would evaluate as a formula (https://owasp.org/www-community/attacks/CSV_Injection) gets a
    leading apostrophe, and a blank replaces each character that a terminal would act on; line breaks stay.
    """
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(_cells, rows))
    return stream.getvalue()


def _cells(row: Sequence[object]) -> list[object]:
    return [_cell(value) for value in row]


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = "\n".join(map(plain, value.split("\n")))
    return f"'{text}" if value.startswith(_FORMULA) else text


def first_of(names: Sequence[str], most: int = 5) -> str:
    """Return the first names on one line, and how many more there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


# In pictures and notebooks.


def shown(text: str, most: int, *, end: bool = False) -> str:
    """
    Return an untrusted text as it can be shown: shortened, and without invisible or direction-changing characters.

    Args:
        text: the text.
        most: the maximum number of characters. A character of double width counts twice.
        end: whether the end of a long text is kept, as for a path, instead of its beginning.
    """
    start = text[-2 * most :] if end else text[: 2 * most]
    characters = list(_UNSEEN.sub("\ufffd", start))
    if width_of(characters) <= most and len(start) == len(text):
        return "".join(characters)
    left: list[str] = []
    room = most - 1
    for character in reversed(characters) if end else characters:
        room -= width_of(character)
        if room < 0:
            break
        left.append(character)
    return "…" + "".join(reversed(left)) if end else "".join(left) + "…"


def width_of(characters: Iterable[str]) -> int:
    """Return the width of a text in columns, of which East Asian characters take two (UAX 11)."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in characters)


# Measure text in columns of a terminal, and break it into lines.


def cell_len(text: str) -> int:
    """Return how many columns a text takes: East Asian characters take two, and combining characters none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(each) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines, broken between words; a word that is too long is broken after a character such as `/`."""
    lines = [""]
    for word in text.split(" "):
        for place, piece in enumerate([word] if cell_len(word) <= width else pieces_of(word, width)):
            longer = f"{lines[-1]} {piece}" if lines[-1] and not place else f"{lines[-1]}{piece}"
            if cell_len(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    return lines


def pieces_of(word: str, width: int) -> list[str]:
    """Return the parts of a word, none wider than a line."""
    pieces = []
    for part in re.findall(r"[^/.,_=&?-]*[/.,_=&?-]+|[^/.,_=&?-]+", word):
        begin = 0
        for at in range(1, len(part)):
            if cell_len(part[begin : at + 1]) > width:
                pieces.append(part[begin:at])
                begin = at
        pieces.append(part[begin:])
    return pieces
