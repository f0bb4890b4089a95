"""Parsers of values in a configuration: booleans, sizes and lists; and suggestions for misspelled names."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


def boolean(text: str) -> bool:
    """
    Return the boolean that `true`, `1`, `false` or `0` means, in any case.

    Raises:
        ValueError: the text is none of these.
    """
    word = text.strip().lower()
    if word not in {"true", "1", "false", "0"}:
        raise ValueError("neither true nor false")
    return word in {"true", "1"}


def byte_count(text: str) -> int:
    """
    Return the number of bytes of a text such as `1048576`, `512k`, `32m` or `1g`; units are powers of 1024.

    Raises:
        ValueError: the text is not a size.
    """
    match = re.fullmatch("([0-9]+)([kmg]?)b?", text.strip().lower())
    if not match:
        raise ValueError("not a size")
    return int(match[1]) << _UNITS[match[2]]


def items(text: str, separator: str = "[;,]") -> tuple[str, ...]:
    """Return the items of a list, written `a,b`, `a;b` or `[a;b]`; empty items are left out."""
    whole = text.strip()
    if whole.startswith("[") and whole.endswith("]"):
        whole = whole[1:-1]
    return tuple(item.strip() for item in re.split(separator, whole) if item.strip())


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """
    Return the known name with the spelling closest to a given one, in any case; None if none is close.

    Args:
        name: a name that may be misspelled.
        known: the names that exist.
        cutoff: the minimum similarity, from 0 to 1 (`difflib.get_close_matches`).
    """
    by_lower = {candidate.lower(): candidate for candidate in sorted(known)}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None
