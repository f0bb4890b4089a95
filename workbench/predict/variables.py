"""
The variables `${name}` in the statements of scripts, as Spark's own substitution has them.

It takes the environment and the properties of the JVM too, which are none of a script's business: whoever wrote it
could have a secret of the machine shown. And what has no value is empty there, which breaks the statement elsewhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

if TYPE_CHECKING:
    from collections.abc import Callable

_VARIABLE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_OF_SESSION = frozenset({"", "conf", "spark", "sparkconf", "hivevar", "hiveconf"})
_DEEPEST = 40


class UnknownVariableError(ValueError):
    """
    A variable of a statement has no value.

    Args:
        name: the variable, as it is written.
        line: its line within the statement, from 1.
        column: its place on that line, from 0.
    """

    def __init__(self, name: str, line: int, column: int) -> None:
        super().__init__(f"the variable {name} has no value: give it one by --conf {name}=VALUE, or by SET in a file")
        self.line = line
        self.column = column


def substituted(text: str, value_of: Callable[[str], str | None]) -> str:
    """
    Return a statement with the values of its variables.

    Args:
        text: the statement.
        value_of: gives the value of a variable by its name; None if it has none.

    Returns:
        A variable without a value stays as it is in a string or a comment, where it breaks nothing.

    Raises:
        UnknownVariableError: one without a value stands elsewhere.
    """
    if "${" not in text:
        return text
    spans = _harmless(text)

    def value(found: re.Match[str]) -> str:
        known = _value(found, value_of, 0)
        if known is not None:
            return known
        at = found.start()
        if any(begin <= at < end for begin, end in spans):
            return found[0]
        begin = text.rfind("\n", 0, at) + 1
        raise UnknownVariableError(found[2], text.count("\n", 0, at) + 1, at - begin)

    return _VARIABLE.sub(value, text)


def _value(found: re.Match[str], value_of: Callable[[str], str | None], depth: int) -> str | None:
    """Return the value of a variable, in which others may stand; None if one has none."""
    known = value_of(found[2]) if (found[1] or "") in _OF_SESSION and depth < _DEEPEST else None
    if known is None:
        return None
    inner = [_value(each, value_of, depth + 1) for each in _VARIABLE.finditer(known)]
    if None in inner:
        return None
    values = iter(inner)
    return _VARIABLE.sub(lambda _: next(values) or "", known)


def _harmless(text: str) -> list[tuple[int, int]]:
    """Return where the strings and comments of a statement are."""
    spans, at = [], 0
    for token in tokens(text):
        if token.kind in (TokenKind.STRING, TokenKind.COMMENT):
            spans.append((at, at + len(token.text)))
        at += len(token.text)
    return spans
