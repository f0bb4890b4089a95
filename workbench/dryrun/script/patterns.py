"""Paths with wildcards: those of Python's `glob`, and those that Spark's readers accept."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WILD = re.compile(r"[*?\[]|\{[^{}]*,[^{}]*\}")
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_EVERYWHERE = "**"
_MOST_CHOICES = 1000


def has_wildcards(path: str) -> bool:
    """Return whether a path of a Spark reader is a pattern; a stand-in, such as `{day}`, is none."""
    return _WILD.search(path) is not None


def is_matched(path: str, pattern: str, *, deep: bool) -> bool:
    """
    Return whether a file or a folder matches a pattern of Python's `glob`.

    Args:
        path: its absolute path.
        pattern: the absolute pattern.
        deep: whether `**` stands for any number of folders.
    """
    return _is_matched(path.split("/"), pattern.split("/"), deep=deep)


def _is_matched(parts: Sequence[str], wanted: Sequence[str], *, deep: bool) -> bool:
    if not wanted or not parts:
        return not parts and (not wanted or (deep and set(wanted) == {_EVERYWHERE}))
    if deep and wanted[0] == _EVERYWHERE:
        is_here = not parts[0].startswith(".") and _is_matched(parts[1:], wanted, deep=deep)
        return is_here or _is_matched(parts, wanted[1:], deep=deep)
    return _is_part(parts[0], wanted[0]) and _is_matched(parts[1:], wanted[1:], deep=deep)


def _is_part(part: str, wanted: str) -> bool:
    # A wildcard matches no name of a hidden file.
    is_hidden = part.startswith(".") and not wanted.startswith(".")
    return part == wanted or (not is_hidden and fnmatch.fnmatchcase(part, wanted.replace("[^", "[!")))


def may_overlap(known: str, read: str) -> bool:
    """
    Return whether the files at a path are some of those that a Spark reader reads.

    Args:
        known: the path, or a pattern, of files or of a folder of them.
        read: the path or the pattern that is read; one of the two is a pattern.
    """
    return any(_overlap(one.split("/"), other.split("/")) for one in _choices(known) for other in _choices(read))


def _overlap(known: Sequence[str], read: Sequence[str]) -> bool:
    """Return whether one is the other, or above it, and each wildcard of the pattern stands for a name."""
    pairs = list(zip(known, read, strict=False))
    is_deep = len(pairs) > max(_first_wildcard(known), _first_wildcard(read))
    return is_deep and all(_is_part(one, other) or _is_part(other, one) for one, other in pairs)


def _first_wildcard(parts: Sequence[str]) -> int:
    return next((at for at, part in enumerate(parts) if has_wildcards(part)), -1)


def _choices(pattern: str) -> list[str]:
    """Return the patterns that one with choices, such as `{2025,2026}`, stands for."""
    found = [pattern]
    done: list[str] = []
    while found and len(found) + len(done) < _MOST_CHOICES:
        each = found.pop()
        choice = _CHOICE.search(each)
        if choice is None:
            done.append(each)
        else:
            found += (f"{each[: choice.start()]}{one}{each[choice.end() :]}" for one in choice[1].split(","))
    return [*done, *found]
