"""Make untrusted texts safe to show in pictures and notebooks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


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
