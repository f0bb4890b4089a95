"""
Name the table of a trigger where its statements name the changed rows: NEW and OLD, or `inserted` and `deleted`.

A row before or after a change has the columns of the table that the trigger belongs to.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROWS = ("NEW", "OLD")
_TABLES = ("inserted", "deleted")
_BEFORE_TABLE = frozenset({"FROM", "JOIN", ","})
_BEFORE_KIND = 12
_MARKED = re.compile(rf":(?=(?:{'|'.join(_ROWS)})\s*\.)", re.IGNORECASE)
_WITH = re.compile(r"\s*WITH\b", re.IGNORECASE)


def table_of_trigger(header: Sequence[Token]) -> str:
    """
    Return the name of the table of a trigger, as the text writes it; empty if the header is none of a trigger.

    Args:
        header: the tokens before the body of a routine, without spaces and comments.
    """
    words = [token.text.upper() if token.kind is TokenKind.WORD else "" for token in header]
    behind = words.index("TRIGGER") if "TRIGGER" in words[:_BEFORE_KIND] else len(words)
    if "ON" not in words[behind:]:
        return ""
    at = words.index("ON", behind) + 1
    parts = []
    while at < len(header) and header[at].kind in (TokenKind.WORD, TokenKind.NAME):
        parts.append(header[at].text)
        if at + 1 >= len(header) or header[at + 1].text != ".":
            break
        at += 2
    return ".".join(parts)


def rows_of_trigger(table: str) -> tuple[tuple[str, str], ...]:
    """Return the names of the rows before and after a change of a table, each with a query of its columns."""
    return tuple((name, f"SELECT * FROM {table}") for name in _ROWS)  # noqa: S608 (it is not run)


def without_marks(text: str) -> str:
    """Return a statement in which the rows of a trigger have no colon before their names, as they have in Oracle."""
    return _MARKED.sub("", text)


def with_changed_rows(text: str, found: Sequence[Token], table: str) -> str:
    """
    Return a statement of SQL Server with a CTE for each table of changed rows that it reads.

    Args:
        text: the statement.
        found: its tokens, without spaces and comments.
        table: the table of the trigger.
    """
    read = {
        token.text.strip("`").lower()
        for before, token in itertools.pairwise(found)
        if before.text.upper() in _BEFORE_TABLE and token.kind in (TokenKind.WORD, TokenKind.NAME)
    }
    ctes = ", ".join(f"{name} AS (SELECT * FROM {table})" for name in _TABLES if name in read)  # noqa: S608
    if not ctes:
        return text
    own = _WITH.match(text)
    return f"WITH {ctes} {text}" if own is None else f"WITH {ctes},{text[own.end() :]}"
