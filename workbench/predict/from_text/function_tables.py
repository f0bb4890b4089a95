"""Find the tables that the bodies of SQL functions read, for the statements that call these functions."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.foreign_sql.tables import named_tables
from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CREATED = re.compile(
    r"\s*CREATE\s+(?:OR\s+(?:ALTER|REPLACE)\s+)?(?:(?:TEMP|TEMPORARY)\s+)?(?:TABLE\s+)?(?:FUNCTION|MACRO)\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?",
    re.IGNORECASE,
)
_NAMES = (TokenKind.WORD, TokenKind.NAME)


def tables_of_functions(statements: Iterable[str], dialect: str) -> dict[str, tuple[str, ...]]:
    """
    Return the functions that statements create with a query of tables: the last parts of their names in lower case.

    Args:
        statements: the texts of the statements.
        dialect: their SQL dialect, by sqlglot's name.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in statements:
        head = _CREATED.match(text)
        names = dotted(text, head.end()) if head is not None else ()
        tables = named_tables(text, dialect) if names else ()
        own = ".".join(names).lower()
        if tables := tuple(each for each in tables if each.lower() != own):
            found[names[-1].lower()] = tables
    return found


def called(text: str, functions: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """
    Yield the functions that a statement calls, each once.

    Args:
        text: the statement.
        functions: the functions, by the last parts of their names in lower case.
    """
    if not functions or _CREATED.match(text) is not None:
        return
    given = [each for each in tokens(text) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
    seen = set[str]()
    for token, after in itertools.pairwise(given):
        name = token.text.strip('`"').lower()
        if after.text == "(" and token.kind in _NAMES and name in functions and name not in seen:
            seen.add(name)
            yield name
