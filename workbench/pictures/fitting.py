"""Measure text in columns of a terminal, and break it into lines."""

from __future__ import annotations

import re
import unicodedata


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
