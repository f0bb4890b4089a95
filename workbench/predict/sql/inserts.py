"""Split Hive's insert of one relation into several tables (`FROM t INSERT INTO a SELECT ... INSERT INTO b ...`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

# The words after the columns of a SELECT whose relation comes first.
_AFTER_COLUMNS = frozenset(
    "WHERE GROUP HAVING ORDER SORT DISTRIBUTE CLUSTER LIMIT WINDOW QUALIFY UNION LATERAL".split()
)
_JOINED = frozenset({"SELECT", "REDUCE", "MAP"})


def single_inserts(statement: str) -> tuple[str, ...]:
    """
    Return an insert into several tables as one insert for each table; return any other statement unchanged.

    Args:
        statement: the text.
    """
    words = list(_words(statement))
    inside = _from_first(words)
    if inside is None:
        return (statement,)
    begin, starts = inside
    before = statement[:begin]
    relation = statement[begin : starts[0]]
    ends = [*starts[1:], len(statement)]
    return tuple(
        f"{before}{_with_relation(statement[start:end], relation)}" for start, end in zip(starts, ends, strict=True)
    )


def _from_first(words: list[tuple[int, str]]) -> tuple[int, list[int]] | None:
    """Return the positions of FROM and of each INSERT; None if the statement is not such an insert."""
    at = next((at for at, (_, word) in enumerate(words) if word in ("FROM", "SELECT", "INSERT")), None)
    first = words[0][1] if words else ""
    if at is None or words[at][1] != "FROM" or first not in ("FROM", "WITH"):
        return None
    starts = [place for place, word in words[at:] if word == "INSERT"]
    return (words[at][0], starts) if starts else None


def _with_relation(insert: str, relation: str) -> str:
    """Return an insert with its relation at the usual position in a SELECT."""
    seen = False
    for place, word in _words(insert):
        seen = seen or word in _JOINED
        if seen and word in _AFTER_COLUMNS:
            return f"{insert[:place]} {relation} {insert[place:]}"
    return f"{insert} {relation}"


def _words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a text outside of all parentheses, in capitals, each with its position."""
    at = depth = 0
    for token in tokens(text):
        if token.kind is TokenKind.WORD and not depth:
            yield at, token.text.upper()
        depth += (token.text == "(") - (token.text == ")")
        at += len(token.text)
