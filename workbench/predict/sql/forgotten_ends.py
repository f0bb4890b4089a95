"""Split a text in which no `;` is between statements, by the words at the beginnings of lines."""

from __future__ import annotations

import re

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

# Which no statement of these kinds has within it; a TRIGGER or a TASK does.
_BEGIN = (
    r"(?:CREATE\s+(?:OR\s+REPLACE\s+)?(?:EXTERNAL\s+|TEMP(?:ORARY)?\s+|MATERIALIZED\s+)?(?:TABLE|VIEW)|"
    r"INSERT\s+(?:INTO|OVERWRITE))\b"
)
_FIRST = re.compile(rf"(?:\s|--[^\n]*\n|/\*.*?\*/)*{_BEGIN}", re.IGNORECASE | re.DOTALL)
_NEXT = re.compile(rf"^[ \t]*({_BEGIN})", re.IGNORECASE | re.MULTILINE)


def without_forgotten_ends(text: str) -> tuple[str, ...]:
    """
    Return the statements in a text that begins with a CREATE TABLE, a CREATE VIEW or an INSERT, and which is refused.

    Args:
        text: the text of one statement, according to each `;` of its file.

    Returns:
        Each of them begins on a line of its own, outside of parentheses. The text alone if there is only one.
    """
    first = _FIRST.match(text)
    places = set() if first is None else {found.start(1) for found in _NEXT.finditer(text, first.end())}
    if not places:
        return (text,)
    begins = [0]
    at = depth = 0
    for token in tokens(text):
        if at in places and token.kind is TokenKind.WORD and not depth:
            begins.append(at)
        depth += (token.text == "(") - (token.text == ")")
        at += len(token.text)
    return tuple(text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True))
