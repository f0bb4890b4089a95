"""Put the query of a FOR loop where a statement in the loop names a column of the loop's row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.inline_tables import with_queries_of_values

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from openlineage_pyspark.workbench.predict.sql.statements import Loop

_NAMES = (TokenKind.WORD, TokenKind.NAME)


def with_loop_rows(text: str, loops: Collection[Loop]) -> str:
    """
    Return a statement in which each column of the row of a loop is a query of that column.

    Args:
        text: the statement.
        loops: the FOR loops around it, the outermost first.

    Returns:
        A row with a name that the statement also gives to a table, or that it uses as a whole, stays.
    """
    queries: dict[str, str] = {}
    for each in loops:
        if each.variable:
            queries[each.variable.lower()] = _replaced(each.query, queries)
    # Up to Spark 3.5, VALUES have no queries.
    plain = with_queries_of_values(text, queries) or text
    made = _replaced(plain, queries)
    return text if made == plain else made


def _replaced(text: str, queries: Mapping[str, str]) -> str:
    """Return a text with queries instead of the columns of rows: their names in lower case -> their queries."""
    if not any(each in text.lower() for each in queries):
        return text
    given = list(tokens(text))
    names = {name for name in queries if not _is_used_otherwise(given, name)}
    parts: list[str] = []
    at = 0
    while at < len(given):
        name = _name(given, at)
        end = at + 3 if name in names else at
        is_call = "".join(each.text for each in given[end : end + 2]).lstrip().startswith("(")
        if end > at and not is_call:
            row, column = given[at].text, given[at + 2].text
            parts.append(f"(SELECT {row}.{column} FROM ({queries[name]}) {row})")  # noqa: S608 (it is not run)
            at = end
        else:
            parts.append(given[at].text)
            at += 1
    return "".join(parts)


def _name(given: Sequence[Token], at: int) -> str:
    """Return the name at a token in lower case, if a column of it follows; else empty."""
    if at + 2 >= len(given) or given[at].kind not in _NAMES or (at and given[at - 1].text in (".", "@", ":")):
        return ""
    is_column = given[at + 1].text == "." and given[at + 2].kind in _NAMES
    return given[at].text.strip("`").lower() if is_column else ""


def _is_used_otherwise(given: Sequence[Token], name: str) -> bool:
    """Return whether a name is also that of a table, or of the row as a whole."""
    for at, token in enumerate(given):
        if token.kind in _NAMES and token.text.strip("`").lower() == name:
            is_part = at > 0 and given[at - 1].text == "."
            if not is_part and _name(given, at) != name:
                return True
    return False
