"""
The SQL text of an expression as Spark writes it, without the parts that differ from run to run.

In this text, datasets have readable names.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable

from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.plan import Mention, Sql, StructSql, SubqueryText
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, replaced, string_literal, tokens
from openlineage_pyspark.facets.sql_names import quoted_name
from openlineage_pyspark.facets.urls import REDACTED

_TABLE = "TABLE"


def readable_names(datasets: Iterable[Dataset]) -> dict[Identifier, str]:
    """
    Return a name for each dataset: as short as possible, but unique.

    This is the name of the table, preceded by its database if two tables have the same name; for a path, the last
    directory.
    """
    parts = {dataset.identifier: _parts(dataset) for dataset in datasets}
    names: dict[Identifier, str] = {}
    length = 1
    while len(names) < len(parts):
        open_ = [identifier for identifier in parts if identifier not in names]
        short = {identifier: parts[identifier][-length:] for identifier in open_}
        counts = Counter(short.values())
        for identifier in open_:
            if counts[short[identifier]] == 1 or length >= len(parts[identifier]):
                names[identifier] = ".".join(map(quoted_name, short[identifier]))
        length += 1
    return names


def _parts(dataset: Dataset) -> tuple[str, ...]:
    table = next((link.name for link in dataset.symlinks if link.type == _TABLE), None)
    name = table or dataset.identifier.name
    if table is None and dataset.type == "TOPIC":
        return (name,)
    by = "/" if table is None and "/" in name else "."
    return tuple(part for part in name.split(by) if part) or (name,)


CUT = "..."
"""Replaces what is left out of a text; the probe also puts it at the end of a text that it shortens."""


def own_text(sql: str | Sql | None) -> str:
    """
    Return the text of an expression, with the names that Spark gives to its attributes there.

    If the end of the text is missing, the literals are removed: what they belong to may be missing too.
    """
    text = whole_text(sql)
    return without_literals(text) if text.endswith(CUT) else text


def whole_text(sql: str | Sql | None) -> str:
    """Return all that the probe has sent of an expression's text, with the names that Spark gives to attributes."""
    if sql is None or isinstance(sql, str):
        return without_ids(sql or "")
    return "".join(map(_part_text, with_subqueries(sql)))


def _part_text(part: str | Mention | StructSql) -> str:
    if isinstance(part, str):
        return shown_text(part)
    if isinstance(part, StructSql):
        return "".join(map(_part_text, part.whole))
    name = attribute_text(part.text)
    return name + field_text(part.path) if part.path else name


def field_text(path: tuple[str, ...]) -> str:
    """Return the SQL that selects a field, to be appended to the struct's text; empty for a value of a PIVOT."""
    return "".join([f".{quoted_name(name)}" for name in path if not name.startswith("[")]) if path else ""


def attribute_text(name: str) -> str:
    """
    Return the name of an attribute in SQL, without exprIds.

    Spark 3.5 names an aggregate in HAVING after its text: `max(bonus#6)`.
    """
    if "#" not in name or "(" not in name:
        return name
    parts = (
        f"`{without_ids(token.text[1:-1])}`" if token.kind is TokenKind.NAME and token.whole else token.text
        for token in tokens(name)
    )
    return "".join(parts)


def shown_text(part: str) -> str:
    """Return the displayed form of a text or a subquery in the SQL of an expression."""
    if isinstance(part, SubqueryText):
        return subquery_text(part)
    return without_ids(part) if "#" in part else part


def with_subqueries(sql: Sql) -> Sql:
    """
    Return the SQL of an expression, in which each EXISTS subquery has its own text.

    Spark gives the same surrounding text for several of them; their order shows which is which.
    """
    if SubqueryText not in map(type, sql):
        return sql
    subqueries = [part for part in sql if type(part) is SubqueryText]
    if len(subqueries) <= 1:
        return sql
    counts = Counter(subqueries)
    if len(counts) == len(subqueries):
        return sql
    met: Counter[str] = Counter()
    found: list[str | Mention | StructSql] = []
    for part in sql:
        shown = part
        if isinstance(part, SubqueryText) and counts[part] > 1:
            shown = SubqueryText(subquery_text(part, met[part], counts[part]))
            met[part] += 1
        found.append(shown)
    return tuple(found)


# The texts of the columns above contain the same subquery.
@functools.lru_cache(maxsize=256)
def subquery_text(text: str, which: int = 0, of: int = 1) -> str:
    """
    Return the text of a subquery on one line, in parentheses: without comments, and without the words before it.

    Args:
        text: what the user wrote, such as `NOT IN (SELECT ...)`; Spark's text around it repeats the first words. For
            EXISTS, the text that contains the subquery.
        which: the position of the subquery among the outermost EXISTS subqueries of that text.
        of: the number of outermost EXISTS subqueries that the text should have.
    """
    every = list(tokens(text))
    first = _opening(every, which, of)
    if first is None:
        return "(SELECT ...)"
    found: list[str] = []
    for token in every[first : _closing(every, first) + 1]:
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            if found[-1] not in (" ", "("):
                found.append(" ")
        else:
            if token.text == ")" and found[-1] == " ":
                found.pop()
            found.append(token.text)
    return "".join(found)


_QUERIES = frozenset(("SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"))
"""The words with which a query begins."""


def _opening(every: list[Token], which: int, of: int) -> int | None:
    """
    Return the position of the parenthesis around a subquery; None if it is not clear which one is meant.

    For EXISTS, Spark gives the position of the surrounding text, which may have other parentheses.
    """
    places = [at for at, token in enumerate(every) if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
    words = [every[at].text.upper() for at in places]
    if words[:1] == ["IN"] or words[:2] == ["NOT", "IN"]:
        return places[words.index("(")] if "(" in words else None
    if words[:1] == ["("] and next((word for word in words if word != "("), "") in _QUERIES:
        return places[0]
    found: list[int] = []
    for word, after, at in zip(words, words[1:], places[1:], strict=False):
        # A nested one belongs to the outer one.
        if word == "EXISTS" and after == "(" and (not found or at > _closing(every, found[-1])):
            found.append(at)
    return found[which] if len(found) == of else None


def _closing(every: list[Token], opening: int) -> int:
    """Return the position of the parenthesis that closes an opening one; that of the last token if there is none."""
    depth = 0
    for at in range(opening, len(every)):
        depth += {"(": 1, ")": -1}.get(every[at].text, 0)
        if depth == 0:
            return at
    return len(every) - 1


def without_ids(text: str) -> str:
    """
    Return an expression's text without exprIds, which differ from run to run: `words(name)` for `words(name#24)`.

    Spark writes them for an expression that has no SQL, such as a call of a Python function.
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
    """Return an expression's text with `'***'` instead of each string and number."""
    return replaced(text, (TokenKind.STRING, TokenKind.NUMBER), string_literal(REDACTED))
