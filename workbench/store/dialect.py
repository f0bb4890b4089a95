"""Translate users' queries into the dialect of the store's engine."""

from __future__ import annotations

import functools
from typing import Any

from openlineage_pyspark.errors import QueryError


def of_sqlite(query: str, dialect: str) -> str:
    """
    Return a query in SQLite's dialect.

    Args:
        query: one query, and nothing else.
        dialect: the dialect that it is written in, by its name in sqlglot.

    Raises:
        QueryError: it is not a query, or there is no such dialect.
    """
    import sqlglot
    from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed

    try:
        trees = parsed(query, dialect)
    except UnparsableError as problem:
        raise QueryError(f"the query can't be read: {problem}", query=query) from None
    if len(trees) != 1 or not isinstance(trees[0], sqlglot.exp.Query):
        raise QueryError("the query must be one SELECT", query=query)
    for name in list(trees[0].find_all(sqlglot.exp.Identifier)):
        # Some names, such as table, are words of SQLite. In double quotes, it takes an unknown name for a text.
        quoted = "`{}`".format(name.name.replace("`", "``"))
        name.replace(sqlglot.exp.Identifier(this=quoted, quoted=False))
    return str(trees[0].sql(dialect=_sqlite()))


@functools.cache
def _sqlite() -> Any:
    """Return SQLite's dialect, in which older versions of sqlglot leave out the names of a CTE's columns."""
    from sqlglot.dialects.sqlite import SQLite

    class Named(SQLite):
        class Generator(SQLite.Generator):  # type: ignore[misc, valid-type] # newer versions give it by a variable
            SUPPORTS_TABLE_ALIAS_COLUMNS = True

    return Named
