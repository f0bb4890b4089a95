"""
The queries that BigQuery's EXTERNAL_QUERY sends to another database, as subqueries.

Their tables are named by the connection: `EXTERNAL_QUERY("p.us.shop", "SELECT id FROM app.users")` reads the table
`app.users` of the connection `p.us.shop`.
"""

from __future__ import annotations

from typing import Any

_NAME = "EXTERNAL_QUERY"
# The databases that a connection can be to.
_DIALECTS = ("postgres", "mysql")


def with_external_queries(tree: Any, text: str) -> Any:
    """
    Return a tree in which each query of another database is a subquery.

    Args:
        tree: the tree of a statement, which is changed.
        text: the text of the statement.
    """
    from sqlglot import exp

    if _NAME not in text.upper():
        return tree
    for table in list(tree.find_all(exp.Table)):
        call = table.this
        if isinstance(call, exp.Anonymous) and str(call.this).upper() == _NAME and len(call.expressions) > 1:
            connection, query = (_text_in(each) for each in call.expressions[:2])
            inner = _parsed(query) if connection and query else None
            if inner is not None:
                _name_tables(inner, connection)
                table.replace(exp.Subquery(this=inner, alias=table.args.get("alias")))
    return tree


def _text_in(node: Any) -> str:
    """Return the text of a string, which may be written in parts; empty if it is none."""
    from sqlglot import exp

    parts = node.expressions if isinstance(node, exp.Concat) else [node]
    plain = all(isinstance(each, exp.Literal) and each.is_string for each in parts)
    return "".join(str(each.name) for each in parts) if plain else ""


def _parsed(query: str) -> Any:
    """Return the tree of a query of another database; None if it can't be parsed."""
    from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed
    from sqlglot import exp

    for dialect in _DIALECTS:
        try:
            (tree,) = parsed(query, dialect)
        except (UnparsableError, ValueError):
            continue
        if isinstance(tree, exp.Query):
            return tree
    return None


def _name_tables(query: Any, connection: str) -> None:
    from sqlglot import exp

    own = {each.alias_or_name.lower() for each in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        parts = [part.name for part in table.parts]
        if len(parts) > 1 or parts[0].lower() not in own:
            names = (connection, ".".join(parts[:-1])) if len(parts) > 1 else ("", connection)
            for place, name in zip(("catalog", "db"), names, strict=True):
                table.set(place, exp.to_identifier(name, quoted=True) if name else None)
