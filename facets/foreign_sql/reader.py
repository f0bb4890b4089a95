"""
Read a query in the SQL of another database: its tables, and the source columns of each of its columns.

sqlglot parses the query. The names in it are resolved here, in one pass over the tree, so the effort grows with the
length of the query and not with its columns. No schema is known: a column that more than one table could have stays
unknown. `dialects` defines how a database reads names, `scopes` resolves them, and `effort` limits the work.
This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import sqlglot
from openlineage_pyspark.facets.foreign_sql.dialects import ForeignDialect, looked_up
from openlineage_pyspark.facets.foreign_sql.effort import Effort, TooLargeError
from openlineage_pyspark.facets.foreign_sql.expressions import aggregates, grouped_by, is_field, struct_fields
from openlineage_pyspark.facets.foreign_sql.from_clause import generated, multiplies, pivoted, renamed
from openlineage_pyspark.facets.foreign_sql.marks import RowMarks
from openlineage_pyspark.facets.foreign_sql.rows import (
    ABSENT,
    MADE,
    SAME,
    ResultColumn,
    SourceColumn,
    SourceKinds,
    SourceRows,
    all_of,
    by_rows,
    part_of,
)
from openlineage_pyspark.facets.foreign_sql.scopes import Pending, ScopeNames, SelectScope
from openlineage_pyspark.facets.foreign_sql.set_operations import both_sides, in_order
from openlineage_pyspark.facets.foreign_sql.tables import NO_TABLES
from openlineage_pyspark.facets.foreign_sql.texts import expression_text
from openlineage_pyspark.facets.foreign_sql.trees import (
    NODE,
    QUERIES,
    SET_OPERATION,
    argument,
    arguments_of,
    function_name,
    holds_joins,
    inner_query,
    name_in,
    plain_name,
)
from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed
from sqlglot import exp
from sqlglot.errors import SqlglotError

MOST_CHARACTERS = 100_000
"""The longest query that is parsed: about a second of Python's processor time."""

_FROM_ITEMS: Any = (exp.Table, exp.TableFromRows, exp.Values, exp.Unnest, exp.Lateral, *QUERIES)
# GROUP BY may define these, and the SELECT then refers to them.
_TIME_WINDOWS = frozenset({"session_window", "window"})
# Functions in FROM that generate their rows.
_GENERATORS = frozenset(
    "explodinggenerateseries generateseries generate_series numbers numbers_mt zeros zeros_mt range generaterandom "
    "generate_array generator".split()
)
# Snowflake's functions that return several rows for a value (FLATTEN is `explode` to the parser): the columns of these.
_OF_SNOWFLAKE = {"explode": ("SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS"), "splittotable": ("SEQ", "INDEX", "VALUE")}
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
_SEVERAL_COLUMNS = frozenset({"Columns", "QueryTransform"})
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
    return read_parsed(statements[0] if len(statements) == 1 else None, dialect, keeps_quotes=True)


def read_parsed(
    query: Any,
    dialect: str | None,
    columns: Mapping[str, Sequence[str]] | None = None,
    used: Mapping[str, Collection[str]] | None = None,
    *,
    keeps_quotes: bool = False,
) -> Query:
    """
    Return the sources of a query that sqlglot has parsed.

    Args:
        query: the query, with the CTEs before it. It must not be turned into text again: sqlglot would then put all
            CTEs before it, also those within others, where they hide tables with the same names.
        dialect: the name of its SQL, as for `read_query`.
        columns: the tables whose columns are known, by their names as they are written -> all their columns.
        used: other tables -> some of their columns, which other queries use.
        keeps_quotes: whether the names of tables keep the quotes without which they would be other names.

    Raises:
        UnreadableError: it is not a query, or is nested too deeply.
    """
    if not isinstance(query, QUERIES):
        raise UnreadableError
    reader = _QueryReader(ForeignDialect(dialect or ""), columns or {}, used or {}, keeps_quotes=keeps_quotes)
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
        self._keeps_quotes = keeps_quotes
        self._tables: dict[str, None] = {}
        self._columns = columns
        self._used = used
        self._dialect = dialect
        self._effort = Effort()
        self._names = ScopeNames(dialect, self._effort, self._value)
        self._marks = RowMarks()
        self._loses_rows = False
        self._queries: dict[int, SourceRows] = {}

    def query(self, query: Any, outer: SelectScope | None, ctes: dict[str, SourceRows | Pending]) -> SourceRows:
        """Return the columns of a query; each query is read only once."""
        known = self._queries.get(id(query))
        if known is None:
            known = self._queries[id(query)] = self._query(query, outer, ctes)
        return known

    def result(self, found: SourceRows) -> Query:
        """
        Return the sources of the whole query.

        Args:
            found: its rows.
        """
        made = self._marks.resolved(found)
        known = made.rows is not None and not self._loses_rows
        proven = frozenset(self._names.proven)
        return Query(tuple(self._tables), tuple(made.items), made.every is ABSENT, made.rows or {}, known, proven)

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
            self._from(query, scope)
            return attrs.evolve(self._names.star(scope, None, query), rows=self._effort.all(scope.decides))
        self._froms(query, scope)
        found = self._select(query, scope)
        self._clauses(query, scope, found)
        self._conditions([v for k, v in query.args.items() if k not in ("expressions", "with", "with_")], scope)
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
            return self._value(inside, scope)
        if isinstance(part, exp.Ordered):
            return self._value(called, scope)
        if self._names.reads(called, inside.name, scope) or self._names.is_certain(inside, scope):
            return self._value(inside, scope)
        # A table with unknown columns may have it, and takes precedence.
        return None if any(rows.is_open for rows in scope.rows) else self._value(called, scope)

    def _built(self, value: Any, scope: SelectScope) -> tuple[tuple[str, SourceKinds | None], ...]:
        """Return the fields of the struct that an expression builds, with their sources; none for any other."""
        return tuple((name, self._value(part, scope)) for name, part in struct_fields(value))

    def _conditions(self, values: Iterable[Any], scope: SelectScope) -> None:
        """Read the queries in conditions: their columns are not sources of columns, but their tables are inputs."""
        for node in self._effort.walk(values):
            if isinstance(node, QUERIES) and id(node) not in self._queries and isinstance(inner_query(node), QUERIES):
                self.query(node, scope, scope.ctes)
            elif self._dialect.is_clickhouse:
                self._dictionary(node)

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
                changed = (each for each in inside.find_all(exp.Table) if not self._is_cte(each, scope))
                self._tables |= dict.fromkeys(map(self._table_name, changed))
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

    def _froms(self, select: Any, scope: SelectScope) -> None:
        """Read FROM, JOIN and ARRAY JOIN; the effect of MATCH_RECOGNIZE and CONNECT BY on the rows is unknown."""
        self._sources(select, scope)
        if select.args.get("connect") is not None:
            scope.decides.append(None)
        if select.args.get("match") is not None:
            scope.rows, scope.named = [SourceRows([], None)], {}
            scope.decides.append(None)

    def _sources(self, select: Any, scope: SelectScope) -> None:
        """Read the items of FROM, of the joins after it, and of LATERAL VIEW."""
        start = argument(select, "from")
        if start is not None:
            self._from(start.this, scope)
        self._joins(select, scope)
        for lateral in select.args.get("laterals") or ():
            self._from(lateral, scope)

    def _joins(self, node: Any, scope: SelectScope) -> None:
        """Read the joins of a SELECT, or of an item of FROM."""
        in_array = False
        for join in node.args.get("joins") or ():
            # Older versions of sqlglot treat the further arrays of an ARRAY JOIN as tables after a comma.
            comma = not any(value for key, value in join.args.items() if key != "this")
            in_array = str(join.args.get("kind") or "").upper() == "ARRAY" or (in_array and comma)
            if in_array:
                for array in [join.this, *join.expressions]:
                    self._array(array, scope)
                continue
            before = list(scope.rows)
            self._from(join.this, scope)
            self._on(join, node, scope)
            self._using(join, before, scope)
            if str(join.args.get("kind") or "").upper() in ("ANTI", "SEMI"):
                hidden = scope.rows[len(before) :]
                scope.rows = before
                scope.named = {
                    key: rows for key, rows in scope.named.items() if all(rows is not each for each in hidden)
                }

    def _on(self, join: Any, node: Any, scope: SelectScope) -> None:
        """Read the conditions of a join: the second one is that of an ASOF JOIN."""
        conditions = [on for key in ("on", "match_condition") if (on := join.args.get(key)) is not None]
        for on in conditions:
            scope.may_be_outer = not self._names.qualifies([on], scope)
            scope.decides.append(by_rows(self._value(on, scope), UseKind.JOIN))
            scope.may_be_outer = False
        if not isinstance(node, exp.Select):
            # The join is in brackets, which the search through the SELECT does not enter.
            self._conditions(conditions, scope)

    def _using(self, join: Any, before: list[SourceRows], scope: SelectScope) -> None:
        """Read the columns that a join has in common: each is one column afterwards."""
        if str(join.args.get("method") or "").upper() == "NATURAL":
            scope.is_natural = True
            scope.decides.append(None)
        side, kind = (str(join.args.get(each) or "").upper() for each in ("side", "kind"))
        for name in join.args.get("using") or ():
            key, right = self._dialect.key(name.name), scope.rows[len(before) :]
            left = scope.using.get(key) or self._names.holders(before, key)
            sides = [self._names.named(rows, self._dialect.spelled(name)) for rows in (*left, *right)]
            scope.decides.append(by_rows(self._effort.all(sides), UseKind.JOIN))
            if kind in ("ANTI", "SEMI"):
                continue
            scope.merged.setdefault(key, []).extend((*(left if key not in scope.using else ()), *right))
            scope.using[key] = right if side == "RIGHT" else [*left, *right] if side == "FULL" else left

    def _array(self, array: Any, scope: SelectScope) -> None:
        """Read an array of ARRAY JOIN: its name then means its elements."""
        name = array.alias_or_name
        value = array.this if isinstance(array, exp.Alias) else array
        if isinstance(value, exp.Table):
            parts = [value.args.get(key) for key in ("this", "db", "catalog")]
            is_name = isinstance(parts[0], exp.Identifier)
            value = exp.Column(this=parts[0], table=parts[1], db=parts[2]) if is_name else parts[0]
        sources = self._value(value, scope)
        if name:
            scope.arrays[self._dialect.key(name)] = self._effort.joined([sources], UseKind.TRANSFORMATION)

    def _from(self, node: Any, scope: SelectScope) -> None:
        """Read one item of FROM, with the joins inside it."""
        while not isinstance(node, _FROM_ITEMS):
            # FINAL, TABLESAMPLE and brackets.
            inside = node.this if isinstance(node, NODE) else None
            if not isinstance(inside, NODE):
                scope.rows.append(SourceRows([], None))
                return
            node = inside
        if isinstance(node, exp.Subquery) and holds_joins(node.this):
            inner = SelectScope(scope.outer, scope.ctes) if node.alias else scope
            self._from(node.this, inner)
            self._joins(node, inner)
            if inner is not scope:
                star = attrs.evolve(self._names.star(inner, None, node), rows=self._effort.all(inner.decides))
                self._name(node, self._pivoted(star, node, scope), scope)
            return
        # Each item has its own object, even if two of them read the same CTE.
        rows = self._rows(node, scope)
        has_names = isinstance(node, exp.Unnest) and bool(rows.items)
        rows = attrs.evolve(rows if has_names else renamed(rows, node))
        self._name(node, self._pivoted(rows, node, scope), scope)
        self._joins(node, scope)

    def _pivoted(self, rows: SourceRows, node: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of an item of FROM after its PIVOT and UNPIVOT."""
        for pivot in node.args.get("pivots") or ():
            inner = SelectScope(None, scope.ctes, [rows], {self._dialect.key(node.alias_or_name): rows})
            rows = renamed(pivoted(rows, pivot, partial(self._value, scope=inner)), pivot)
        return rows

    def _name(self, node: Any, rows: SourceRows, scope: SelectScope) -> None:
        """Put the rows of an item of FROM into a scope, under its names."""
        scope.rows.append(rows)
        scope.decides.append(rows.rows)
        for pivot in node.args.get("pivots") or ():
            if pivot.alias:
                scope.named[self._dialect.key(pivot.alias)] = rows
        element = rows.items[0].name if isinstance(node, exp.Unnest) and rows.items else ""
        key = self._dialect.key(node.alias_or_name or element or "")
        # Two tables in different schemas may have the same name.
        scope.named[key] = SourceRows([], None) if key in scope.named else rows
        if isinstance(node, exp.Table) and not node.alias:
            parts = [self._dialect.key(part.name) for part in node.parts]
            scope.named |= {".".join(parts[at:]): rows for at in range(len(parts) - 1)}

    def _rows(self, node: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of an item of FROM."""
        if isinstance(node, exp.Lateral) and isinstance(inner_query(node.this), QUERIES):
            return self.query(node.this, scope, scope.ctes)
        if isinstance(node, QUERIES):
            is_pivoted = isinstance(node, exp.Subquery) and node.args.get("pivots")
            return self.query(node.this if is_pivoted else node, scope.outer, scope.ctes)
        if isinstance(node, exp.Lateral):
            generates = self._dialect.makes_columns(node.this)
            return self._generated(node, scope) if generates else self._function(node.this, scope)
        if isinstance(node, exp.Unnest):
            return self._unnested(node, scope)
        if not isinstance(node, (exp.Table, exp.TableFromRows)):
            return SourceRows([], self._value(node, scope))
        if not isinstance(node, exp.Table) or not isinstance(node.this, (exp.Identifier, exp.Dot)):
            return self._function(node.this, scope)
        if self._is_cte(node, scope):
            return self._cte(self._dialect.key(node.name), scope.ctes)
        path = self._path(node, scope)
        return self._of_table(node) if path is None else self._array_of(path, node, scope)

    def _of_table(self, node: Any) -> SourceRows:
        """Return the rows of a table."""
        name = self._table_name(node)
        if name.lower() in NO_TABLES or node.name.lower() in NO_TABLES:
            return SourceRows([])
        self._tables[name] = None
        if name in self._columns:
            return SourceRows([ResultColumn(each, {(name, each): SAME}) for each in self._columns[name]])
        used = {self._dialect.key(each): {(name, each): SAME} for each in self._used.get(name, ())}
        return SourceRows([ResultColumn(None, table=name)], used=used)

    def _unnested(self, unnest: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of UNNEST: of several arrays, each has a column, which their position may follow."""
        made = all_of(*self._call(unnest, scope))
        arrays, offset = unnest.expressions, unnest.args.get("offset")
        named = [*getattr(unnest.args.get("alias"), "columns", ()), offset]
        names = [self._dialect.spelled(each) for each in named if isinstance(each, exp.Identifier)]
        if 1 < len(arrays) <= len(names) <= len(arrays) + bool(offset):
            values = [self._effort.composed(self._value(each, scope), UseKind.TRANSFORMATION) for each in arrays]
            pairs = zip(names, [*values, made], strict=False)
            return SourceRows([ResultColumn(name, sources) for name, sources in pairs])
        return SourceRows([ResultColumn(each, made) for each in self._elements(unnest)], made)

    def _path(self, table: Any, scope: SelectScope) -> Any:
        """Return the column that an item of FROM names after the name of an earlier item: `FROM t o, o.items`."""
        first, *others = [part for part in table.parts if isinstance(part, exp.Identifier)]
        key = self._dialect.key(first.name)
        if not others or key not in scope.named or self._table_name(table) in self._columns:
            return None
        if any(self._dialect.key(each).startswith(f"{key}.") for each in scope.named[key].tables):
            # The schema has the name of one of its tables.
            return None
        made: Any = exp.Column(this=others[0].copy(), table=first.copy())
        for each in others[1:]:
            made = exp.Dot(this=made, expression=each.copy())
        return made

    def _array_of(self, path: Any, table: Any, scope: SelectScope) -> SourceRows:
        """Return the elements of an array in FROM, which BigQuery, Redshift and Impala name like a table."""
        made = self._effort.composed(self._value(path, scope), UseKind.TRANSFORMATION)
        mark = self._marks.mark(made)
        scope.decides.append(None if made is None else {mark: frozenset((UseKind.GENERATE,))})
        sources = all_of(made, {mark: MADE})
        scope.arrays[self._dialect.key(table.alias_or_name)] = sources
        return SourceRows([], sources)

    def _elements(self, unnest: Any) -> list[str]:
        """Return the names of an element and of its position: in BigQuery, an alias of UNNEST is no table's."""
        alias, offset = unnest.args.get("alias"), unnest.args.get("offset")
        if alias is None or alias.args.get("this") is not None or len(alias.args.get("columns") or ()) != 1:
            return []
        named = [*alias.args["columns"], *([offset] if isinstance(offset, exp.Identifier) else [])]
        return [self._dialect.spelled(each) for each in named]

    def _is_cte(self, table: Any, scope: SelectScope) -> bool:
        """Return whether the name of a table is that of a common table expression."""
        return not table.args.get("db") and self._dialect.key(table.name) in scope.ctes

    def _table_name(self, table: Any) -> str:
        """Return the name of a table."""
        written = self._dialect.written if self._keeps_quotes else lambda part: str(part.name)
        return ".".join(map(written, table.parts))

    def _function(self, function: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of a function in FROM, whose arguments decide how many there are, and of what."""
        name = function_name(function)
        if name in _GENERATORS:
            return SourceRows([], all_of(*self._call(function, scope)))
        if name == "dictionary" and (table := name_in(function.expressions[:1])):
            self._tables[table] = None
            return SourceRows([ResultColumn(None, table=table)])
        sources, mark = self._call(function, scope)
        if self._dialect.name == "snowflake" and (columns := _OF_SNOWFLAKE.get(plain_name(function))):
            made = all_of(sources, mark)
            return SourceRows([ResultColumn(each, made) for each in columns])
        # A function without arguments from tables may read a table itself.
        return SourceRows([], all_of(sources, mark) if sources else None)

    def _generated(self, lateral: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of a function such as explode after LATERAL VIEW, or in a FROM."""
        names = [self._dialect.spelled(each) for each in getattr(lateral.args.get("alias"), "columns", ())]
        sources, mark = self._call(lateral.this, scope)
        return (
            SourceRows(self._made(lateral.this, names, mark, scope)) if names else SourceRows([], all_of(sources, mark))
        )

    def _made(self, function: Any, names: list[str], mark: SourceKinds, scope: SelectScope) -> list[ResultColumn]:
        """Return the columns that a function such as explode returns."""
        made = generated(plain_name(function), arguments_of(function), names, partial(self._value, scope=scope))
        return [attrs.evolve(each, kinds=all_of(each.kinds, mark)) for each in made]

    def _of_script(self, projections: list[tuple[str, Any]], scope: SelectScope) -> list[ResultColumn]:
        """Return the columns of a SELECT TRANSFORM, whose script may make each of them of all its arguments."""
        (name, call), *others = projections
        schema = call.args.get("schema")
        # Without parentheses, the parser takes the other names for columns of the SELECT.
        listed = [name, *(other for other, _ in others)] if name else _UNNAMED
        names = listed if schema is None else [self._dialect.spelled(each) for each in schema.expressions]
        is_known = not any(isinstance(each, exp.Star) for each in call.expressions)
        made = [self._effort.composed(self._value(each, scope), UseKind.TRANSFORMATION) for each in call.expressions]
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
            elif type(value).__name__ in _SEVERAL_COLUMNS or (not name and self._dialect.makes_columns(value)):
                found.every = None
            elif isinstance(value, exp.Aliases):
                names = [self._dialect.spelled(alias) for alias in value.expressions]
                _, mark = self._call(value.this, scope) if self._dialect.makes_columns(value.this) else (None, {})
                found.items += self._made(value.this, names, mark, scope)
            else:
                scope.may_be_outer = self._is_value(select, scope) and not aggregates(value)
                made, text = self._projected(value, scope), expression_text(value, scope, self._names)
                scope.may_be_outer = False
                found.items.append(ResultColumn(name or "", made, text=text, fields=self._built(value, scope)))
            if self._dialect.sees_earlier_aliases and name and not self._names.reads(value, name, scope):
                scope.earlier[self._dialect.key(name)] = value
        return found

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

    def _projected(self, value: Any, scope: SelectScope) -> SourceKinds | None:
        """Return the sources of a column of a SELECT, which a function such as explode may return."""
        return all_of(*self._call(value, scope)) if self._dialect.makes_columns(value) else self._value(value, scope)

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

    def _call(self, function: Any, scope: SelectScope) -> tuple[SourceKinds | None, SourceKinds]:
        """Return the sources of a function such as explode, and a mark for the columns that it returns."""
        sources = self._value(function, scope)
        if not multiplies(plain_name(function), arguments_of(function)):
            return sources, {}
        mark = self._marks.mark(sources)
        scope.decides.append(None if sources is None else {mark: frozenset((UseKind.GENERATE,))})
        return sources, {mark: MADE}

    def _value(self, value: Any, scope: SelectScope) -> SourceKinds | None:
        """Return the sources of an expression, with the kinds of their influence."""
        while isinstance(value, exp.Paren):
            value = value.this
        if isinstance(value, exp.Column):
            return self._names.column(value, scope)
        parts: list[SourceKinds | None] = []
        for node, kind in self._effort.parts(value):
            if isinstance(node, exp.Column):
                is_column = not self._dialect.names_dictionary(node)
                parts.append(self._effort.composed(self._names.column(node, scope), kind) if is_column else {})
            elif is_field(node):
                parts.append(self._effort.composed(self._dotted(node, scope), kind))
            elif isinstance(node, QUERIES):
                parts += self._queried(node, kind, scope)
            elif self._dialect.names_no_column(node):
                parts.append(None)
            elif isinstance(node, exp.Window) and self._dialect.key(node.alias) in scope.windows:
                # The name of a window, alone after OVER or at the beginning of its brackets.
                window = scope.windows[self._dialect.key(node.alias)]
                parts.append(self._effort.composed(self._value(window, scope), UseKind.WINDOW))
            elif self._dialect.is_clickhouse:
                parts.append(self._effort.composed(self._dictionary(node), kind))
        return self._effort.all(parts)

    def _queried(self, query: Any, kind: UseKind, scope: SelectScope) -> Iterator[SourceKinds | None]:
        """Yield the sources of a query in an expression that makes this kind of use of its value."""
        rows = self.query(query, scope, scope.ctes)
        yield from (self._effort.composed(item.kinds, kind) for item in rows.items)
        if rows.tables or rows.every is None:
            yield None
        self._loses_rows = self._loses_rows or rows.rows is None
        yield self._effort.composed(rows.rows or {}, kind)

    def _dotted(self, dot: Any, scope: SelectScope) -> SourceKinds | None:
        """Return the sources of a field of an expression."""
        if isinstance(dot.this, exp.Identifier):
            # What is before the name of a method is no tree of a column. It may also be that of a schema.
            is_column = self._names.table(scope, self._dialect.key(dot.this.name)) is not None
            made = exp.Column(this=dot.expression.copy(), table=dot.this.copy())
            return self._names.column(made, scope) if is_column else {}
        for name, value in struct_fields(dot.this):
            if self._dialect.key(name) == self._dialect.key(dot.name):
                return self._value(value, scope)
        return self._effort.composed(part_of(self._value(dot.this, scope)), UseKind.TRANSFORMATION)

    def _dictionary(self, node: Any) -> SourceKinds | None:
        """Return the columns that ClickHouse's dictGet and joinGet look up in another table; none for other nodes."""
        found = looked_up(node)
        if found is None:
            return {}
        table, columns = found
        if table is None:
            return None
        self._tables[table] = None
        return {(table, column): MADE for column in columns}


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
