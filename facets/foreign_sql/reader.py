"""
Read a query in the SQL of another database: its tables, and the source columns of each of its columns.

sqlglot parses the query. The names in it are resolved here, in one pass over the tree, so the effort grows with the
length of the query and not with its columns. No schema is known: a column that more than one table could have stays
unknown. This module reads queries and their clauses, `from_items` what they read from, and `values` their expressions.
`dialects` defines how a database reads names, `scopes` resolves them, and `effort` limits the work.
This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs
import sqlglot
from openlineage_pyspark.facets.foreign_sql.dialects import ForeignDialect
from openlineage_pyspark.facets.foreign_sql.effort import TooLargeError
from openlineage_pyspark.facets.foreign_sql.expressions import aggregates, grouped_by
from openlineage_pyspark.facets.foreign_sql.from_clause import renamed
from openlineage_pyspark.facets.foreign_sql.from_items import FromItems
from openlineage_pyspark.facets.foreign_sql.rows import (
    ABSENT,
    SAME,
    ResultColumn,
    SourceColumn,
    SourceKinds,
    SourceRows,
    all_of,
    by_rows,
)
from openlineage_pyspark.facets.foreign_sql.scopes import Pending, SelectScope
from openlineage_pyspark.facets.foreign_sql.set_operations import both_sides, in_order
from openlineage_pyspark.facets.foreign_sql.texts import expression_text
from openlineage_pyspark.facets.foreign_sql.trees import (
    NODE,
    QUERIES,
    SET_OPERATION,
    argument,
    function_name,
)
from openlineage_pyspark.facets.foreign_sql.values import ValueSources
from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed
from sqlglot import exp
from sqlglot.errors import SqlglotError

MOST_CHARACTERS = 100_000
"""The longest query that is parsed: about a second of Python's processor time."""

# GROUP BY may define these, and the SELECT then refers to them.
_TIME_WINDOWS = frozenset({"session_window", "window"})
# The clauses that influence the rows of a SELECT, and how.
_CLAUSES = {
    "prewhere": UseKind.FILTER,
    "where": UseKind.FILTER,
    "group": UseKind.GROUP_BY,
    "having": UseKind.FILTER,
    "qualify": UseKind.FILTER,
    "order": UseKind.SORT,
    "sort": UseKind.SORT,
    "cluster": UseKind.SORT,
}
# The classes of functions whose columns have other names than their arguments.
_SEVERAL_COLUMNS = frozenset({"Apply", "Columns", "QueryTransform"})
# The class of TRANSFORM, which gives its arguments to a script; the columns that a script returns without names.
_OF_SCRIPT = "QueryTransform"
_UNNAMED = ("key", "value")
_GROUPINGS = ("rollup", "cube", "grouping_sets")


class UnreadableError(Exception):
    """The text is not one query that sqlglot can parse."""


@attrs.frozen
class Query:
    """
    The sources of a query.

    Args:
        tables: the names of its tables, as they are written, each once.
        items: its columns, in order.
        whole: whether these are all of its columns.
        rows: the source columns that influence its rows, with the kinds of their influence.
        rows_known: whether these are all.
        proven: the columns that its tables must have if the query is valid.
    """

    tables: tuple[str, ...]
    items: tuple[ResultColumn, ...]
    whole: bool
    rows: SourceKinds = attrs.field(factory=dict)
    rows_known: bool = True
    proven: frozenset[SourceColumn] = frozenset()

    def sources(self, names: tuple[str, ...]) -> list[SourceKinds | None]:
        """
        Return the source columns of each column of the result, with the kinds of their influence.

        Args:
            names: the names of all its columns, as the database reports them.

        Returns:
            The sources for each name: none for a constant; None if they are unknown.
        """
        return [item.kinds if item is not None else None for item in self._items(names)]

    def texts(self, names: tuple[str, ...]) -> list[str]:
        """Return the expression of each column of the result; empty for an unchanged column, or if it is unknown."""
        return [item.text if item is not None else "" for item in self._items(names)]

    def _items(self, names: tuple[str, ...]) -> list[ResultColumn | None]:
        items = self.items
        wild = [at for at, item in enumerate(items) if item.table is not None]
        fits = len(names) >= len(items) - 1 if wild else len(names) == len(items)
        if not self.whole or len(wild) > 1 or not fits:
            by_name = {item.name.lower(): item for item in items if item.name is not None}
            return [by_name.get(name.lower()) for name in names]
        before = wild[0] if wild else len(items)
        after = len(items) - before - len(wild)
        found: list[ResultColumn | None] = []
        for at, name in enumerate(names):
            if at < before or at >= len(names) - after:
                found.append(items[at if at < before else at - len(names)])
            else:
                found.append(ResultColumn(name, {(str(items[before].table), name): SAME}))
        return found


def read_query(text: str, dialect: str | None) -> Query:
    """
    Return the sources of a query.

    Args:
        text: the query, with the CTEs before it.
        dialect: the name of its SQL: sqlglot's name, or that of a database that sqlglot does not know.

    Raises:
        TooLargeError: it is larger than the limits.
        UnreadableError: it is not a query, or can't be parsed.
    """
    if len(text) > MOST_CHARACTERS:
        raise TooLargeError
    try:
        statements = parsed(text, sqlglot.Dialect.get(dialect or ""))
    except UnparsableError as problem:
        raise UnreadableError from problem
    return read_parsed(statements[0] if len(statements) == 1 else None, dialect, as_in_database=True)


def read_parsed(
    query: Any,
    dialect: str | None,
    columns: Mapping[str, Sequence[str]] | None = None,
    used: Mapping[str, Collection[str]] | None = None,
    *,
    as_in_database: bool = False,
) -> Query:
    """
    Return the sources of a query that sqlglot has parsed.

    Args:
        query: the query, with the CTEs before it. It must not be turned into text again: sqlglot would then put all
            CTEs before it, also those within others, where they hide tables with the same names.
        dialect: the name of its SQL, as for `read_query`.
        columns: the tables whose columns are known, by their names as they are written -> all their columns.
        used: other tables -> some of their columns, which other queries use.
        as_in_database: whether names are those in the database: in its spelling, and those of tables with the quotes
            without which they would be other names. Otherwise, names are spelled as the query writes them.

    Raises:
        UnreadableError: it is not a query, or is nested too deeply.
    """
    if not isinstance(query, QUERIES):
        raise UnreadableError
    rules = ForeignDialect(dialect or "", keeps_spelling=not as_in_database)
    reader = _QueryReader(rules, columns or {}, used or {}, keeps_quotes=as_in_database)
    try:
        result = reader.query(query, None, {})
    except (SqlglotError, RecursionError) as problem:
        raise UnreadableError from problem
    return reader.result(result)


class _QueryReader:
    """
    Read the queries within one query, each once.

    Args:
        dialect: how the database reads names.
        columns: the tables whose columns are known -> all their columns.
        used: other tables -> some of their columns.
        keeps_quotes: whether the names of tables keep the quotes without which they would be other names.
    """

    def __init__(
        self,
        dialect: ForeignDialect,
        columns: Mapping[str, Sequence[str]],
        used: Mapping[str, Collection[str]],
        *,
        keeps_quotes: bool,
    ) -> None:
        self._values = ValueSources(dialect, self.query)
        self._from = FromItems(self._values, self._cte, columns, used, keeps_quotes=keeps_quotes)
        self._dialect = dialect
        self._effort = self._values.effort
        self._names = self._values.names
        self._queries: dict[int, SourceRows] = {}

    def query(self, query: Any, outer: SelectScope | None, ctes: dict[str, SourceRows | Pending]) -> SourceRows:
        """Return the columns of a query; each query is read only once."""
        known = self._queries.get(id(query))
        if known is None:
            known = self._queries[id(query)] = self._query(query, outer, ctes)
        return known

    def result(self, found: SourceRows) -> Query:
        """Return the sources of the whole query."""
        made = self._values.marks.resolved(found)
        known = made.rows is not None and not self._values.loses_rows
        proven = frozenset(self._names.proven)
        return Query(
            tuple(self._values.tables), tuple(made.items), made.every is ABSENT, made.rows or {}, known, proven
        )

    def _query(self, query: Any, outer: SelectScope | None, ctes: dict[str, SourceRows | Pending]) -> SourceRows:
        """Return the columns of a query, with the influences on its rows."""
        scope = SelectScope(outer, dict(ctes))
        self._ctes(query, scope)
        if isinstance(query, SET_OPERATION):
            return self._set_operation(query, scope)
        if isinstance(query, exp.Subquery):
            inside = query.this
            if isinstance(inside, QUERIES) and not query.args.get("pivots"):
                return self.query(inside, outer, scope.ctes)
            self._from.item(query, scope)
            return attrs.evolve(self._names.star(scope, None, query), rows=self._effort.all(scope.decides))
        self._from.read(query, scope)
        found = self._select(query, scope)
        self._clauses(query, scope, found)
        self._values.conditions([v for k, v in query.args.items() if k not in ("expressions", "with", "with_")], scope)
        return found

    def _clauses(self, select: Any, scope: SelectScope, found: SourceRows) -> None:
        """Add the influences on the rows of a SELECT to its result."""
        projections = [self._dialect.projection(each) for each in select.expressions]
        values = [value for _, value in projections]
        named = {self._dialect.key(name): value for name, value in projections if name}
        for key, kind in _CLAUSES.items():
            clause = select.args.get(key)
            parts = () if clause is None else _parts_of(key, clause, values)
            scope.may_be_outer = kind is UseKind.FILTER and not self._names.qualifies(parts, scope)
            scope.decides += [by_rows(self._clause(part, values, named, scope), kind) for part in parts]
            scope.may_be_outer = False
        distinct = select.args.get("distinct")
        keys = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
        if keys is not None:
            # One row of each key remains: DISTINCT ON (k, l).
            made = [self._clause(part, values, named, scope) for part in keys.expressions or [keys.this]]
            scope.decides += [by_rows(each, UseKind.GROUP_BY) for each in made]
        elif distinct is not None:
            scope.decides += [by_rows(item.kinds, UseKind.GROUP_BY) for item in found.items if item.table is None]
        found.rows = self._effort.all(scope.decides)

    def _clause(self, part: Any, values: list[Any], named: dict[str, Any], scope: SelectScope) -> SourceKinds | None:
        """Return the sources of a part of a clause, which may be the position or name of a column of the SELECT."""
        inside = part.this if isinstance(part, exp.Ordered) else part
        if isinstance(inside, exp.Literal) and not inside.is_string and inside.name.isdigit():
            place = int(inside.name) - 1
            inside = values[place] if 0 <= place < len(values) else inside
        is_name = isinstance(inside, exp.Column) and not inside.table
        called = named.get(self._dialect.key(inside.name)) if is_name else None
        if called is None or called is inside:
            return self._values.of(inside, scope)
        if isinstance(part, exp.Ordered):
            return self._values.of(called, scope)
        if self._names.reads(called, inside.name, scope) or self._names.is_certain(inside, scope):
            return self._values.of(inside, scope)
        # A table with unknown columns may have it, and takes precedence.
        return None if any(rows.is_open for rows in scope.rows) else self._values.of(called, scope)

    def _ctes(self, query: Any, scope: SelectScope) -> None:
        """Read the common table expressions of a query."""
        clause = argument(query, "with")
        for cte in clause.expressions if clause is not None else ():
            inside, name = cte.this, self._dialect.key(cte.alias)
            if cte.args.get("scalar") or (self._dialect.is_clickhouse and not isinstance(inside, QUERIES)):
                scope.scalars[name] = inside
                continue
            if not isinstance(inside, QUERIES):
                # A statement that changes rows may return them. The name is not a table's, wherever the rows come from.
                changed = (each for each in inside.find_all(exp.Table) if not self._from.is_cte(each, scope))
                self._values.tables |= dict.fromkeys(map(self._from.table_name, changed))
                scope.ctes[name] = SourceRows([], None, None)
                continue
            recursive = bool(clause.args.get("recursive")) or self._dialect.is_recursive
            # A CTE sees the CTEs before it.
            seen = SelectScope(scope.outer, dict(scope.ctes), scalars=scope.scalars)
            scope.ctes[name] = Pending(cte, seen, recursive and isinstance(inside, SET_OPERATION))

    def _cte(self, name: str, ctes: dict[str, SourceRows | Pending]) -> SourceRows:
        """Return the columns of a common table expression, which is read on its first use."""
        found = ctes[name]
        if isinstance(found, Pending):
            inside, scope = found.cte.this, found.scope
            if found.is_recursive:
                scope.ctes[name] = renamed(self._first(inside, scope), found.cte)
            found = ctes[name] = renamed(self.query(inside, scope, scope.ctes), found.cte)
        return found

    def _first(self, operation: Any, scope: SelectScope) -> SourceRows:
        """Return the columns of the first query of a chain of UNIONs, which sees the CTEs before the chain."""
        inside = SelectScope(scope.outer, dict(scope.ctes))
        while isinstance(operation, SET_OPERATION):
            self._ctes(operation, inside)
            operation = operation.this
        return self._query(operation, scope, inside.ctes)

    def _set_operation(self, query: Any, scope: SelectScope) -> SourceRows:
        """Return the columns of UNION, INTERSECT and EXCEPT; long chains are nested in their left side."""
        rights: list[tuple[Any, Any]] = []
        left = query
        while isinstance(left, SET_OPERATION) and (left is query or argument(left, "with") is None):
            rights.append((left, left.args.get("expression")))
            left = left.this
        found = self.query(left, scope.outer, scope.ctes)
        for operation, right in reversed(rights):
            other = self.query(right, scope.outer, scope.ctes)
            found = both_sides(operation, found, other, self._dialect.key, self._effort)
        order = query.args.get("order")
        return found if order is None else in_order(found, order, self._dialect.key, self._effort)

    def _of_script(self, projections: list[tuple[str, Any]], scope: SelectScope) -> list[ResultColumn]:
        """Return the columns of a SELECT TRANSFORM, whose script may make each of them of all its arguments."""
        (name, call), *others = projections
        schema = call.args.get("schema")
        # Without parentheses, the parser takes the other names for columns of the SELECT.
        listed = [name, *(other for other, _ in others)] if name else _UNNAMED
        names = listed if schema is None else [self._dialect.spelled(each) for each in schema.expressions]
        is_known = not any(isinstance(each, exp.Star) for each in call.expressions)
        made = [
            self._effort.composed(self._values.of(each, scope), UseKind.TRANSFORMATION) for each in call.expressions
        ]
        return [ResultColumn(each, all_of(*made) if is_known else None) for each in names]

    def _select(self, select: Any, scope: SelectScope) -> SourceRows:
        """Return the columns of a SELECT."""
        projections = [self._dialect.projection(each) for each in select.expressions]
        self._aliases(select, projections, scope)
        found = SourceRows([])
        if projections and type(projections[0][1]).__name__ == _OF_SCRIPT:
            return SourceRows(self._of_script(projections, scope))
        for name, value in projections:
            star = value.this if isinstance(value, exp.Column) and isinstance(value.this, exp.Star) else value
            if isinstance(star, exp.Star):
                qualifier = value.table if isinstance(value, exp.Column) else None
                more = self._names.star(scope, qualifier or None, star)
                found.items += more.items
                found.used = {**found.used, **more.used}
                found.every = more.every if more.every is not ABSENT else found.every
            elif self._is_several(value) or (not name and self._dialect.makes_columns(value)):
                found.every = None
            elif isinstance(value, exp.Aliases):
                names = [self._dialect.spelled(alias) for alias in value.expressions]
                _, mark = (
                    self._values.call(value.this, scope) if self._dialect.makes_columns(value.this) else (None, {})
                )
                found.items += self._values.made(value.this, names, mark, scope)
            else:
                scope.may_be_outer = self._is_value(select, scope) and not aggregates(value)
                made, text = self._values.projected(value, scope), expression_text(value, scope, self._names)
                scope.may_be_outer = False
                found.items.append(ResultColumn(name or "", made, text=text, fields=self._values.fields(value, scope)))
            if self._dialect.sees_earlier_aliases and name and not self._names.reads(value, name, scope):
                scope.earlier[self._dialect.key(name)] = value
        return found

    def _is_several(self, value: Any) -> bool:
        """Return whether an expression makes columns that it does not name, such as f(x).* and max(COLUMNS('a.*'))."""
        if isinstance(value, exp.Dot) and isinstance(value.expression, exp.Star):
            return True
        inner = self._effort.walk([value]) if self._dialect.has_patterns else (value,)
        return any(type(each).__name__ in _SEVERAL_COLUMNS for each in inner)

    def _aliases(self, select: Any, projections: list[tuple[str, Any]], scope: SelectScope) -> None:
        """Read the names in a SELECT that its expressions may use: of windows, and of other expressions."""
        scope.windows.update({self._dialect.key(each.name): each for each in argument(select, "windows") or ()})
        if self._dialect.sees_aliases:
            for name, value in projections:
                # The database itself names an expression without an alias.
                same = isinstance(value, exp.Column) and self._dialect.key(name) == self._dialect.key(value.name)
                if name and not same and not isinstance(value, exp.Star):
                    scope.aliases.setdefault(self._dialect.key(name), value)
                inner = [n for n in self._effort.walk([value]) if isinstance(n, exp.Alias)]
                scope.aliases.update({self._dialect.key(n.alias): n.this for n in inner})
        if self._dialect.sees_earlier_aliases:
            group = getattr(select.args.get("group"), "expressions", ())
            windows = [each for each in group if function_name(each) in _TIME_WINDOWS]
            scope.aliases.update({function_name(each): each for each in windows})

    def _is_value(self, select: Any, scope: SelectScope) -> bool:
        """Return whether a SELECT is in an expression or after LATERAL, where it may use columns of outer queries."""
        around = select.parent
        while isinstance(around, (exp.Subquery, exp.Paren)):
            around = around.parent
        no_value = (exp.CTE, exp.Exists, exp.From, exp.In, exp.Join, exp.Table, SET_OPERATION)
        return (
            scope.outer is not None
            and not isinstance(around, no_value)
            and not self._names.qualifies(select.expressions, scope)
        )


def _parts_of(key: str, clause: Any, values: list[Any]) -> list[Any]:
    """Return the expressions of a clause of a SELECT with these values."""
    if key == "group":
        return _keys(clause, values)
    parts: list[Any] = clause.expressions or [clause.this]
    is_all = key == "order" and len(parts) == 1 and parts[0].this.sql().upper() == "ALL"
    return values if is_all else parts


def _keys(group: Any, values: list[Any]) -> list[Any]:
    """Return the expressions by which a SELECT with these values groups its rows."""
    if group.args.get("all"):
        return [value for value in values if not aggregates(value)]
    sets = [node for key in _GROUPINGS for node in group.args.get(key) or () if isinstance(node, NODE)]
    return [*group.expressions, *(part for each in sets for part in grouped_by(each))]
