"""Write VALUES as queries: while Spark analyzes VALUES, it replaces variables by their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, replaced, tokens
from openlineage_pyspark.workbench.predict.sql.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_BETWEEN = (TokenKind.SPACE, TokenKind.COMMENT)
_NAMES = (TokenKind.WORD, TokenKind.NAME)
_VALUES = "VALUES"
# After VALUES, these show that it is a name.
_AFTER_NAME = frozenset({"", ")", ",", ".", "=", "<", ">", "+", "*", "/", ";"})
# Before a VALUES that is a relation, or a side of a UNION, and so needs parentheses as a query.
_BEFORE_RELATION = frozenset("FROM JOIN LATERAL , UNION ALL DISTINCT EXCEPT INTERSECT MINUS".split())
# These words continue a value after a closing parenthesis; others end the row.
_CONTINUING = frozenset("AND BETWEEN COLLATE DIV ILIKE IN IS LIKE NOT OR REGEXP RLIKE".split())
# These words end a row that is not in parentheses.
_ENDING = frozenset(
    "AS CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT MINUS NATURAL OFFSET "
    "ON ORDER PIVOT RIGHT SORT TABLESAMPLE UNION UNPIVOT WHEN WHERE WINDOW".split()
)


def with_queries_of_values(text: str, variables: Collection[str]) -> str | None:
    """
    Return a statement with queries that are equivalent to its VALUES with variables; None if it has none.

    Args:
        text: the statement.
        variables: the names of variables, in lower case.
    """
    given = [(0, Token(TokenKind.SYMBOL, ""))]
    at = 0
    for token in tokens(text):
        if token.kind not in _BETWEEN:
            given.append((at, token))
        at += len(token.text)
    made: list[str] = []
    done = depth = place = 0
    words: set[str] = set()
    while place < len(given):
        begin, token = given[place]
        depth += (token.text == "(") - (token.text == ")")
        word = token.text.upper() if token.kind is TokenKind.WORD else ""
        # In a MERGE, the values of an INSERT are no table.
        if word == _VALUES and not (depth == 0 and "MERGE" in words) and _is_table(given, place):
            last = _end(given, place + 1)
            end = given[last][0] if last < len(given) else len(text)
            used = {each.text.strip("`").lower() for _, each in given[place + 1 : last] if each.kind in _NAMES}
            if not used.isdisjoint(variables):
                query = _query(text[begin + len(_VALUES) : end], is_named=depth > 0 or "INSERT" not in words)
                is_relation = given[place - 1][1].text.upper() in _BEFORE_RELATION
                made += [text[done:begin], f"({query}) " if is_relation else f"{query} "]
                done = end
            place = last
        else:
            words |= {word} if depth == 0 else set()
            place += 1
    return "".join([*made, text[done:]]).rstrip() if made else None


def _is_table(given: Sequence[tuple[int, Token]], place: int) -> bool:
    """Return whether a word VALUES begins a table, and is no name."""
    following = given[place + 1][1].text if place + 1 < len(given) else ""
    return given[place - 1][1].text != "." and following not in _AFTER_NAME


def _end(given: Sequence[tuple[int, Token]], place: int) -> int:
    """Return the place of the first token after the rows that begin at a place."""
    depth = cases = 0
    for at in range(place, len(given)):
        token = given[at][1]
        word = token.text.upper() if token.kind is TokenKind.WORD else ""
        if not depth and not cases and at > place:
            is_alias = token.kind in _NAMES and word not in _CONTINUING and _ends_value(given, at - 1)
            if is_alias or word in _ENDING or token.text in (")", ";"):
                return at
        depth += (token.text in "([{") - (token.text in ")]}")
        cases += (word == "CASE") - (word == "END")
    return len(given)


def _ends_value(given: Sequence[tuple[int, Token]], at: int) -> bool:
    """Return whether a value certainly ends with a token: after it, only the alias of a table can be a name."""
    token = given[at][1]
    is_unit_next = given[at - 1][1].text.upper() == "INTERVAL"
    return token.text in (")", "]") or (token.kind in (TokenKind.NUMBER, TokenKind.STRING) and not is_unit_next)


def _query(text: str, *, is_named: bool) -> str:
    """Return the query of rows, whose columns get the names that Spark gives to those of VALUES."""
    selects: list[str] = []
    for row in parts_of(replaced(text, {TokenKind.COMMENT}, " ")):
        values = [each.strip() for each in parts_of(_inside(row.strip()))]
        names = [f" AS col{number}" if is_named and not selects else "" for number in range(1, len(values) + 1)]
        selects.append(f"SELECT {', '.join(map(''.join, zip(values, names, strict=True)))}")
    return " UNION ALL ".join(selects)


def _inside(row: str) -> str:
    """Return what is in the parentheses around a row, or the only value of a row without any."""
    depth = at = 0
    for token in tokens(row):
        depth += (token.text in "([{") - (token.text in ")]}")
        at += len(token.text)
        if not depth:
            break
    return row[1:-1] if row.startswith("(") and at == len(row) else row
