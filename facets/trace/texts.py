"""The SQL text of an expression as Spark writes it, without what differs from run to run."""

from __future__ import annotations

import functools

from openlineage_pyspark.facets.model.plan import Mention, Sql, SubqueryText
from openlineage_pyspark.facets.sql_lexer import TokenKind, string_literal, tokens
from openlineage_pyspark.facets.urls import REDACTED

CUT = "..."
"""Stands for what is left out of a text; the probe ends one that is too long with it."""


def own_text(sql: str | Sql | None) -> str:
    """
    Return the text of an expression, with its attributes as Spark names them there.

    Of a text whose end is missing, no literal is shown: the name of a secret that it is compared with may be missing.
    """
    if sql is None or isinstance(sql, str):
        text = without_ids(sql or "")
    else:
        text = "".join(attribute_text(part.text) if isinstance(part, Mention) else shown_text(part) for part in sql)
    return without_literals(text) if text.endswith(CUT) else text


def attribute_text(name: str) -> str:
    """
    Return the name of an attribute, as SQL writes it, without exprIds.

    Spark 3.5 calls an aggregate in HAVING by its text: `max(bonus#6)`.
    """
    if "#" not in name or "(" not in name:
        return name
    parts = (
        f"`{without_ids(token.text[1:-1])}`" if token.kind is TokenKind.NAME and token.whole else token.text
        for token in tokens(name)
    )
    return "".join(parts)


def shown_text(part: str) -> str:
    """Return a text or a subquery within the SQL of an expression as it is shown."""
    return subquery_text(part) if isinstance(part, SubqueryText) else without_ids(part)


# The texts of the columns above it have it too.
@functools.lru_cache(maxsize=256)
def subquery_text(text: str) -> str:
    """
    Return the text of a subquery on one line, in parentheses: without comments, and without the words before it.

    Args:
        text: what the user wrote, such as `NOT IN (SELECT ...)`: Spark's text around it has such words itself.
    """
    found: list[str] = []
    for token in tokens(text):
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            if found and found[-1] not in (" ", "("):
                found.append(" ")
        elif found or token.text == "(":
            if token.text == ")" and found[-1] == " ":
                found.pop()
            found.append(token.text)
    return "".join(found) or "(SELECT ...)"


def without_ids(text: str) -> str:
    """
    Return an expression's text without exprIds, which differ from run to run: `words(name)` for `words(name#24)`.

    Spark writes them where an expression has no SQL, such as a Python function's.
    """
    if "#" not in text:
        return text
    found: list[str] = []
    for token in tokens(text):
        if token.kind is TokenKind.NUMBER and found and found[-1] == "#":
            found.pop()
        else:
            found.append(token.text)
    return "".join(found)


def without_literals(text: str) -> str:
    """Return an expression's text with `'***'` in the place of each string and number."""
    kinds = (TokenKind.STRING, TokenKind.NUMBER)
    return "".join(string_literal(REDACTED) if token.kind in kinds else token.text for token in tokens(text))
