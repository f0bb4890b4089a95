"""Read the text of an INSERT of VALUES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_OPEN, _CLOSE = "([{", ")]}"
_BRACKET = Token(TokenKind.SYMBOL, "(")
_BETWEEN = (TokenKind.SPACE, TokenKind.COMMENT)
_NAMES = (TokenKind.WORD, TokenKind.NAME)


def insert_of_queries(text: str, variables: Collection[str]) -> str | None:
    """
    Return the INSERT of queries that is equivalent to an INSERT of VALUES with variables; None for any other.

    While Spark analyzes VALUES, it replaces variables by their values.

    Args:
        text: the INSERT.
        variables: the names of variables, in lower case.
    """
    at = depth = 0
    for token in tokens(text):
        if token.kind is TokenKind.WORD and token.text.upper() == "VALUES" and depth == 0:
            rows = list(_rows(text[at:]))
            used = {each.text.strip("`").lower() for row in rows for expression in row for each in expression}
            if used.isdisjoint(variables):
                return None
            expressions = ([" ".join(each.text for each in expression) for expression in row] for row in rows)
            return text[:at] + " UNION ALL ".join(f"SELECT {', '.join(row)}" for row in expressions)
        depth += (token.text == "(") - (token.text == ")")
        at += len(token.text)
    return None


def _rows(text: str) -> Iterator[Sequence[Sequence[Token]]]:
    """Yield the rows of a text that begins with VALUES: the tokens of each of their expressions, without spaces."""
    rest = [token for token in tokens(text) if token.kind not in _BETWEEN][1:]
    while rest:
        row = rest[: _outside(rest, ",")]
        rest = rest[len(row) + 1 :]
        # The bracket that closes the first one.
        end = _outside(row, ")") + 1
        # Behind a row may be the alias of the table. Other brackets belong to the only expression of a row.
        is_row = row[:1] == [_BRACKET] and (end >= len(row) or row[end].kind in _NAMES)
        yield list(_parts(row[1 : end - 1])) if is_row else [row[: _outside(row, "as")]]


def _parts(row: Sequence[Token]) -> Iterator[Sequence[Token]]:
    rest = row
    while rest:
        part = rest[: _outside(rest, ",")]
        rest = rest[len(part) + 1 :]
        yield part


def _outside(row: Sequence[Token], text: str) -> int:
    """Return the place of the first token with a text, in lower case, that is not in brackets; else the length."""
    depth = 0
    for at, token in enumerate(row):
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0 and token.text.casefold() == text:
            return at
    return len(row)
