"""
Read which columns a CREATE TABLE computes from others with each write, in the SQL of any engine.

Delta Lake, MySQL, PostgreSQL, Oracle, BigQuery and Db2 have `GENERATED ALWAYS AS (...)`, of which some leave out the
first words; SQL Server and Flink have `name AS ...`, and ClickHouse has `MATERIALIZED ...` and `ALIAS ...`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens, unquoted
from openlineage_pyspark.workbench.predict.sql.parts import closing, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_CREATES = re.compile(r"(?:CREATE|REPLACE)\s+(?:\w+\s+){0,5}?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?", re.IGNORECASE)
_NO_COLUMN = frozenset(
    "CHECK CONSTRAINT EXCLUDE FOREIGN FULLTEXT INDEX KEY LIKE PERIOD PRIMARY PROJECTION SPATIAL UNIQUE "
    "WATERMARK".split()
)
_COMPUTES = frozenset({"ALIAS", "MATERIALIZED"})
# What may follow an expression that is not in parentheses.
_AFTER = frozenset(
    "CODEC COMMENT CONSTRAINT INVISIBLE NOT PERSISTED PRIMARY REFERENCES STORED TTL UNIQUE VIRTUAL VISIBLE".split()
)


def computed_columns(text: str) -> tuple[tuple[str, str], ...]:
    """
    Return the columns that a table computes from its others, each with its expression.

    Args:
        text: a CREATE TABLE. Any other text computes none.
    """
    return tuple(found for each in _columns_in(text) if (found := _computed(each)) is not None)


def _columns_in(text: str) -> Iterator[str]:
    """Yield the items in the parentheses after the name of a table that is created."""
    at = 0
    for token in tokens(text):
        if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT):
            break
        at += len(token.text)
    found = _CREATES.match(text, at)
    if found is None:
        return
    at = found.end()
    for token in tokens(text, at):
        at += len(token.text)
        if token.text == "(":
            yield from parts_of(text[at : closing(text, at)])
            return
        if token.kind is TokenKind.WORD and token.text.upper() in ("AS", "CLONE", "LIKE", "SELECT"):
            return


def _computed(column: str) -> tuple[str, str] | None:
    """Return the name and the expression of an item, if it is a computed column."""
    placed = list(_placed(column))
    if len(placed) < 3 or placed[0][1].text.upper() in _NO_COLUMN:
        return None
    (_, first), *rest = placed
    name = unquoted(first) if first.kind is TokenKind.NAME else first.text.strip("\"'")
    depth = 0
    for number, (at, token) in enumerate(rest):
        depth += (token.text in "([<") - (token.text in ")]>")
        word = token.text.upper() if token.kind is TokenKind.WORD and not depth else ""
        begin = at + len(token.text)
        if word in _COMPUTES or (word == "AS" and number == 0):
            return name, column[begin : _end_of(column, begin)].strip()
        if word == "AS":
            opened = re.match(r"\s*\(", column[begin:])
            if opened is None:
                # Such as `AS IDENTITY` and `AS ROW START`.
                return None
            inside = begin + opened.end()
            return name, column[inside : closing(column, inside)].strip()
    return None


def _end_of(column: str, begin: int) -> int:
    """Return the position at which an expression ends that is not in parentheses."""
    depth = 0
    for at, token in _placed(column, begin):
        depth += (token.text == "(") - (token.text == ")")
        if not depth and token.kind is TokenKind.WORD and token.text.upper() in _AFTER:
            return at
    return len(column)


def _placed(text: str, begin: int = 0) -> Iterator[tuple[int, Token]]:
    """Yield the tokens of a text that are neither spaces nor comments, each after its position."""
    at = begin
    for token in tokens(text, begin):
        if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT):
            yield at, token
        at += len(token.text)
