"""Versions of tables of Delta Lake in their names, such as `orders@v3`, as clauses of Spark's grammar."""

from __future__ import annotations

import re

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens

_VERSION = r"(?:v(\d+)|(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3}))"
_OF_TABLE = re.compile(_VERSION, re.IGNORECASE)
_OF_PATH = re.compile(rf"(.+)@{_VERSION}", re.DOTALL)
_NAMES = (TokenKind.WORD, TokenKind.NAME)


def without_version(path: str) -> tuple[str, str]:
    """
    Return the path of a table, and the clause for the version that the end of a path names.

    Args:
        path: a path such as `/orders@v3` or `/orders@20240131235959000`; the clause is empty for any other.
    """
    found = _OF_PATH.fullmatch(path)
    return (path, "") if found is None else (found[1], _clause(*found.groups()[1:]))


def with_versions(text: str) -> str:
    """
    Return a statement with a clause for each version that is a part of a name.

    As the source of a MERGE, where no clause may be, the table becomes a query.

    Args:
        text: the statement.
    """
    if "@" not in text:
        return text
    every = list(tokens(text))
    parts = [each.text for each in every]
    for at in range(2, len(every)):
        before, token = every[at - 1], every[at]
        begin, clause = _first_of_name(every, at), ""
        if token.kind is TokenKind.NAME and [each.lower() for each in parts[begin:at]] == ["delta", "."]:
            path, clause = without_version(token.text[1:-1])
            parts[at] = f"`{path}`"
        elif before.text == "@" and every[at - 2].kind in _NAMES:
            found = _OF_TABLE.fullmatch(token.text)
            begin, clause = _first_of_name(every, at - 2), "" if found is None else _clause(*found.groups())
            if clause:
                parts[at - 1] = parts[at] = ""
        if clause and _is_source_of_merge(every, begin):
            parts[begin] = f"(SELECT * FROM {parts[begin]}"  # noqa: S608 (only analyzed)
            clause = f"{clause})"
        parts[at] += clause and f" {clause}"
    return "".join(parts)


def _clause(version: str | None, *time: str | None) -> str:
    if version:
        return f"VERSION AS OF {version}"
    year, month, day, hour, minute, second, fraction = time
    return f"TIMESTAMP AS OF '{year}-{month}-{day} {hour}:{minute}:{second}.{fraction}'"


def _first_of_name(every: list[Token], last: int) -> int:
    """Return the position of the first part of a dotted name."""
    at = last
    while at > 1 and every[at - 1].text == "." and every[at - 2].kind in _NAMES:
        at -= 2
    return at


def _is_source_of_merge(every: list[Token], begin: int) -> bool:
    words = [each.text.upper() for each in every[:begin] if each.kind is TokenKind.WORD]
    return words[-1:] == ["USING"] and "MERGE" in words
