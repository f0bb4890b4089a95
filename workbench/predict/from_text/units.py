"""
Units of time that other databases write as plain words: `DATE_TRUNC(day, MONTH)`, `DATE_DIFF(a, b, DAY)`.

Spark's functions take the unit first. By Spark's grammar, the word would be a column, and the value would be the unit.
"""

from __future__ import annotations

import re

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.parts import closing, parts_of

_UNITS = frozenset(
    """
    CENTURY DAY DAYOFWEEK DAYOFYEAR DECADE HOUR ISOWEEK ISOYEAR MICROSECOND MILLENNIUM MILLISECOND MINUTE MONTH
    NANOSECOND QUARTER SECOND WEEK YEAR
    """.split()
)
_UNIT_LAST = frozenset({"DATE_DIFF", "DATE_TRUNC"})
_UNIT_FIRST = frozenset({"DATENAME", "DATEPART", "DATE_BUCKET", "DATE_PART"})
_ANY = re.compile(rf"\b(?:{'|'.join(sorted(_UNIT_FIRST | _UNIT_LAST))})\s*\(", re.IGNORECASE)
_UNIT = re.compile(r"\s*(\w+)\s*(?:\(\s*\w+\s*\)\s*)?")


def with_units_first(text: str) -> str:
    """Return a statement in which the units of time in calls of functions are strings, and their first arguments."""
    if _ANY.search(text) is None:
        return text
    places = list(_calls(text))
    # The last call comes first: a change of it moves no earlier call, and a call within another one comes later.
    for function, begin in reversed(places):
        end = closing(text, begin)
        made = _with_unit(function, [*parts_of(text[begin:end])])
        text = f"{text[:begin]}{made}{text[end:]}"
    return text


def _calls(text: str) -> list[tuple[str, int]]:
    """Return the calls of such functions: each name, and the position after its opening parenthesis."""
    found, at, last = [], 0, ""
    for token in tokens(text):
        at += len(token.text)
        if token.text == "(" and last in _UNIT_FIRST | _UNIT_LAST:
            found.append((last, at))
        if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT):
            last = token.text.upper() if token.kind is TokenKind.WORD else ""
    return found


def _with_unit(function: str, parts: list[str]) -> str:
    """Return the arguments of a call, with the unit as a string and in the first position."""
    place = -1 if function in _UNIT_LAST else 0
    unit = _UNIT.fullmatch(parts[place])
    if len(parts) < 2 or unit is None or unit[1].upper() not in _UNITS:
        return ",".join(parts)
    others = parts[:-1] if function in _UNIT_LAST else parts[1:]
    return ",".join([f"'{unit[1]}'", *others])
