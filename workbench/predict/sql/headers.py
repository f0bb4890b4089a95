"""Reduce the head of a CREATE TABLE ... AS to the name: lineage needs no more, and Spark may not support the rest."""

from __future__ import annotations

import re

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.parts import closing

_QUERY = frozenset({"AS", "SELECT", "VALUES", "FROM", "MAP", "REDUCE"})
_FIRST = frozenset({"CREATE", "REPLACE"})
_NO_QUERY = frozenset({"SERDEPROPERTIES", "DBPROPERTIES"})
_BEFORE_NAME = frozenset({"CREATE", "OR", "REPLACE", "EXTERNAL", "TABLE", "IF", "NOT", "EXISTS", "TEMPORARY", "TEMP"})

_COMPUTED = re.compile(r"\bTABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?IDENTIFIER\Z", re.IGNORECASE)
_OPENED = re.compile(r"\s*\(")


def plainly_created(text: str) -> str:
    """
    Return a statement that creates a table without replacing one, and without the table's storage.

    Spark's own catalog can't replace a table, and a provider may need Hive or a missing connector. Blanks replace the
    removed parts, so that every position in the statement stays the same.

    Args:
        text: a CREATE TABLE ... AS, or a REPLACE TABLE ... AS. Any other text is returned unchanged.
    """
    begin = _end_of_name(text)
    opened = None if begin is None or _COMPUTED.search(text[:begin]) is None else _OPENED.match(text, begin)
    if opened is not None:
        # An expression makes the name.
        begin = closing(text, opened.end()) + 1
    end = None if begin is None else _start_of_query(text, begin)
    if begin is None or end is None:
        return text
    return _created(text[:begin]) + blanked(text[begin:end]) + text[end:]


def _created(head: str) -> str:
    """Return the head of a statement with CREATE instead of REPLACE or CREATE OR REPLACE."""
    parts: list[str] = []
    is_first = True
    is_named = False
    for token in tokens(head):
        word = token.text.upper() if token.kind is TokenKind.WORD else ""
        if not is_named and word in ("CREATE", "REPLACE", "OR"):
            parts.append(("CREATE" if is_first else "").ljust(len(token.text)))
            is_first = False
        else:
            is_named = is_named or word == "TABLE"
            parts.append(token.text)
    return "".join(parts)


def _end_of_name(text: str) -> int | None:
    """Return the position after the table's name; None if there is none."""
    at, begun, named, dot = 0, False, None, False
    for token in tokens(text):
        kind, end = token.kind, at + len(token.text)
        at = end
        if kind in (TokenKind.SPACE, TokenKind.COMMENT):
            continue
        word = token.text.upper() if kind is TokenKind.WORD else ""
        if not begun:
            if word not in _FIRST:
                return None
            begun = True
        elif named is None:
            if word in _BEFORE_NAME:
                continue
            if kind not in (TokenKind.WORD, TokenKind.NAME):
                return None
            named = end
        elif token.text == ".":
            dot = True
        elif dot:
            named, dot = end, False
        else:
            return named
    return None


def _start_of_query(text: str, begin: int) -> int | None:
    """Return the position at which the query or its AS begins; None if there is none."""
    at, depth, last, pending = begin, 0, "", None
    for token in tokens(text[begin:]):
        start = at
        at += len(token.text)
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            continue
        word = token.text.upper() if token.kind is TokenKind.WORD else token.text
        if pending is not None:
            if word not in _NO_QUERY:
                return pending
            pending = None
        elif word == "WITH" and not depth:
            pending = start
        elif word in _QUERY and not depth and last != "STORED":
            return start
        depth += (word == "(") - (word == ")")
        last = word
    return None
