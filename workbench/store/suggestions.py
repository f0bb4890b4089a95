"""Suggest known names that are similar to an unknown one, the most similar first. Pure."""

from __future__ import annotations

import heapq
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 5
_LEAST = 0.7
# A name that contains the whole text is similar, however long it is.
_CONTAINS = 0.75
# Equal ends are weaker evidence than equal whole names.
_END = 0.95


def similar_names(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """
    Return names that are similar to a text, the most similar first.

    Args:
        text: the text that the user wrote.
        names: the known names.
    """
    wanted = text.lower().rstrip("/")
    matcher, of_end = SequenceMatcher(autojunk=False), SequenceMatcher(autojunk=False)
    # `SequenceMatcher` prepares its second text only once.
    matcher.set_seq2(wanted)
    of_end.set_seq2(_end_of(wanted))
    scored = ((_score(matcher, of_end, wanted, each), each) for each in dict.fromkeys(names))
    found = heapq.nsmallest(_SHOWN, ((-score, each) for score, each in scored if score >= _LEAST))
    return tuple(each for _, each in found)


def _score(matcher: SequenceMatcher[str], of_end: SequenceMatcher[str], wanted: str, name: str) -> float:
    """Return how similar a name is, 1 for the same."""
    plain = name.lower()
    found = _CONTAINS if wanted and wanted in plain else 0.0
    for each, text, weight in ((matcher, plain, 1.0), (of_end, _end_of(plain), _END)):
        each.set_seq1(text)
        # The quick ratios rule most names out at no cost.
        if weight * each.real_quick_ratio() > max(found, _LEAST) and weight * each.quick_ratio() > max(found, _LEAST):
            found = max(found, weight * each.ratio())
    return found


def _end_of(name: str) -> str:
    return re.split(r"[./]", name)[-1]
