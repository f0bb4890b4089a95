"""
The rules of a database for reading a query: how it spells and compares names, and which of them are columns.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from typing import Any

import attrs
from openlineage_pyspark.facets.foreign_sql.trees import NODE, function_name, name_in, plain_name
from sqlglot import exp

_NAMED: Any = (exp.Cast, exp.Dot, exp.Literal, exp.Star, exp.Subquery)
# How a database spells a name without quotes; all others keep the spelling, or ignore the case.
_UPPER = frozenset({"oracle", "snowflake", "derby", "h2", "hsqldb", "db2"})
_LOWER = frozenset({"postgres", "redshift", "trino"})
_CASE_MATTERS = frozenset({"clickhouse"})
# Where an expression may use the alias of another column of the same SELECT.
_SEES_ALIASES = frozenset({"clickhouse", "redshift", "snowflake", "teradata"})
# Where it may use the alias of an earlier column, unless a table has a column of this name.
_SEES_EARLIER_ALIASES = frozenset({"databricks", "spark"})
# Where `a.b` may be a field of the column `a`.
_HAS_FIELDS = frozenset({"clickhouse", "databricks", "hive", "redshift", "spark", "trino"})
# Where COLUMNS(...) stands for the columns of a pattern.
_HAS_PATTERNS = frozenset({"clickhouse", "duckdb"})
# Where the name of a table is the whole row, and the functions that are nearly always called with one.
_HAS_ROWS = frozenset({"postgres", "bigquery"})
_OF_ROWS = frozenset({"rowtojson", "tojson", "tojsonb", "jsonarrayagg", "jsonbagg", "hstore", "jsonformat"})
# Where `$1` is the first column of what is in FROM.
_COUNTS_COLUMNS = frozenset({"snowflake"})
# Where a CTE may read itself without the word RECURSIVE.
_RECURSIVE = frozenset({"oracle", "tsql"})
# Names that look like columns, but are not.
_NO_COLUMNS = {
    "oracle": frozenset("level ora_rowscn rowid rownum sysdate systimestamp uid user".split()),
    "": frozenset("current_user session_user system_user".split()),
}
# Where a function in a SELECT may return several columns, and those functions.
_HAS_GENERATORS = frozenset({"databricks", "hive", "spark"})
_COLUMN_GENERATORS = frozenset(
    "explode explodeouter posexplode posexplodeouter inline inlineouter stack jsontuple variantexplode "
    "variantexplodeouter".split()
)
# ClickHouse's functions that read another table, and those of them that read only its keys.
_LOOK_UPS = ("dictget", "dicthas", "dictisin", "joinget")
_LOOK_UP_KEYS = ("dicthas", "dictisin", "dictgethierarchy", "dictgetchildren", "dictgetdescendants")


@attrs.frozen
class ForeignDialect:
    """
    How a database reads a query.

    Args:
        name: the name of its SQL: sqlglot's name, or that of a database that sqlglot does not know.
        keeps_spelling: whether names keep the spelling that the text has, and not that in the database.
    """

    name: str
    keeps_spelling: bool = False

    @property
    def is_clickhouse(self) -> bool:
        """Whether it is that of ClickHouse, which has its own kinds of nested tables, dictionaries and aliases."""
        return self.name == "clickhouse"

    @property
    def has_fields(self) -> bool:
        """Whether `a.b` may be a field of the column `a`."""
        return self.name in _HAS_FIELDS

    def takes_row(self, column: Any) -> bool:
        """Return whether a name is the argument of a function such as row_to_json: it may be that of a table."""
        call = column.parent
        while isinstance(call, (exp.Order, exp.Distinct)):
            call = call.parent
        return self.name in _HAS_ROWS and plain_name(call) in _OF_ROWS

    def names_no_column(self, node: Any) -> bool:
        """Return whether a node means columns without their names: `*` outside of a count, or `$1`."""
        if isinstance(node, exp.Star):
            return not isinstance(node.parent, exp.Count)
        is_number = isinstance(node, exp.Parameter) and isinstance(node.this, exp.Literal)
        return is_number and self.name in _COUNTS_COLUMNS

    @property
    def has_patterns(self) -> bool:
        """Whether COLUMNS('a.*') in an expression stands for each column whose name matches."""
        return self.name in _HAS_PATTERNS

    @property
    def sees_aliases(self) -> bool:
        """Whether an expression may use the alias of another column of the same SELECT."""
        return self.name in _SEES_ALIASES

    @property
    def sees_earlier_aliases(self) -> bool:
        """Whether it may use the alias of an earlier column, unless a table has a column of this name."""
        return self.name in _SEES_EARLIER_ALIASES

    @property
    def is_recursive(self) -> bool:
        """Whether a CTE may read itself without the word RECURSIVE."""
        return self.name in _RECURSIVE

    def key(self, name: str) -> str:
        """Return the form in which the database compares a name: it is the same for all spellings."""
        return name if self.name in _CASE_MATTERS else name.lower()

    def spelled(self, identifier: Any) -> str:
        """Return a name as the database spells it."""
        if not isinstance(identifier, exp.Identifier) or identifier.args.get("quoted"):
            return identifier.name if isinstance(identifier, NODE) else str(identifier or "")
        if self.keeps_spelling:
            return identifier.name
        if self.name in _UPPER:
            return identifier.name.upper()
        return identifier.name.lower() if self.name in _LOWER else identifier.name

    def written(self, identifier: Any) -> str:
        """Return a name in double quotes if it would be another name without quotes, and else without them."""
        name = str(identifier.name)
        if not isinstance(identifier, exp.Identifier) or not identifier.args.get("quoted"):
            return name
        if "." not in name and self.spelled(exp.Identifier(this=name, quoted=False)) == name:
            return name
        return '"' + name.replace('"', '""') + '"'

    def projection(self, node: Any) -> tuple[str, Any]:
        """Return the name and the expression of a column of a SELECT."""
        if isinstance(node, exp.Alias):
            return self.spelled(node.args.get("alias")), node.this
        # T-SQL writes the alias before the expression.
        if self.name == "tsql" and isinstance(node, exp.EQ) and isinstance(node.this, exp.Column):
            return node.this.name, node.expression
        if isinstance(node, exp.Column):
            return self.spelled(node.this), node
        # For other expressions, sqlglot would return the name of the first argument.
        return (node.alias_or_name if isinstance(node, _NAMED) else ""), node

    def makes_columns(self, value: Any) -> bool:
        """Return whether a function in a SELECT returns columns whose number and names depend on its arguments."""
        return self.name in _HAS_GENERATORS and plain_name(value) in _COLUMN_GENERATORS

    def names_dictionary(self, column: Any) -> bool:
        """Return whether a name is that of the dictionary in dictGet(dictionary, ...), and not a column's."""
        call = column.parent
        looks_up = self.is_clickhouse and function_name(call).startswith(_LOOK_UPS)
        return looks_up and bool(call.expressions) and call.expressions[0] is column

    def is_no_column(self, identifier: Any) -> bool:
        """Return whether a name looks like a column, but is not one, such as `rownum`."""
        plain = "" if identifier.args.get("quoted") else self.spelled(identifier).lower()
        return any(plain in _NO_COLUMNS.get(dialect, ()) for dialect in (self.name, ""))


def looked_up(node: Any) -> tuple[str | None, list[str]] | None:
    """
    Return what ClickHouse's dictGet and joinGet look up in another table.

    Returns:
        The name of the table (None if it is unknown) and those of its columns; None for other nodes.
    """
    name = function_name(node)
    if not name.startswith(_LOOK_UPS):
        return None
    given = node.expressions
    wanted = given[1] if len(given) > 1 and not name.startswith(_LOOK_UP_KEYS) else None
    columns = [name_in([each]) for each in (wanted.expressions if isinstance(wanted, exp.Tuple) else [wanted])]
    return name_in(given[:1]), [column for column in columns if column]
