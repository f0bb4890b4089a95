"""
The texts of expressions in a query.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from openlineage_pyspark.facets.foreign_sql.rows import SAME
from openlineage_pyspark.facets.foreign_sql.scopes import ScopeNames, SelectScope
from openlineage_pyspark.facets.foreign_sql.trees import QUERIES
from openlineage_pyspark.facets.sql_names import quoted_name
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

_LONGEST_TEXT = 2_000
# A part of a table's name, perhaps in double quotes.
_NAME_PART = re.compile(r'"((?:[^"]|"")*)"|([^.]+)')
_ODD_STRINGS = frozenset("ByteString Heredoc HexString National RawString UnicodeString".split())
"""The classes of strings that have more than quotes around them."""


def expression_text(value: Any, scope: SelectScope, names: ScopeNames) -> str:
    """
    Return the text of an expression: columns are qualified by their tables, or replaced by a subquery's expressions.

    The text is empty for an unchanged column, if it is too long, and if it has a string in a special notation, whose
    end Spark's rules would not find.

    Args:
        value: the tree of the expression.
        scope: the scope of its names.
        names: what these mean.
    """
    if isinstance(value, exp.Column):
        named = names.item(value, scope)
        return named.text if named is not None else ""
    if any(isinstance(node, QUERIES) or type(node).__name__ in _ODD_STRINGS for node in names.effort.walk([value])):
        return ""
    copied = value.copy()
    pairs = zip(list(names.effort.walk([value])), list(names.effort.walk([copied])), strict=True)
    shown = [(other, _shown(node, scope, names)) for node, other in pairs]
    for node, text in shown:
        if text:
            put = exp.Var(this=text)
            copied = put if node is copied else copied
            node.replace(put)
    try:
        dialect = sqlglot.Dialect.get(names.dialect.name) or None
        text = str(copied.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE))
    except SqlglotError:
        return ""
    if len(text) > _LONGEST_TEXT:
        return ""
    return f"({text})" if isinstance(value, (exp.Binary, exp.Unary)) and not isinstance(value, exp.Paren) else text


def _shown(node: Any, scope: SelectScope, names: ScopeNames) -> str:
    """Return what replaces a node of an expression; empty for most, which stay unchanged."""
    if isinstance(node, exp.Literal) and node.is_string:
        escaped = node.name.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return ""
    named = names.item(node, scope)
    if named is not None and named.text:
        return named.text
    sources = names.column(node, scope)
    if sources is None or len(sources) != 1:
        return ""
    (((table, name), kinds),) = sources.items()
    parts = (part[2] or part[1].replace('""', '"') for part in _NAME_PART.finditer(table))
    return f"{'.'.join(map(quoted_name, parts))}.{quoted_name(name)}" if kinds == SAME else ""
