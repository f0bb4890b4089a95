"""
What a query in the SQL of another database reads: its tables, and the source columns of each of its columns.

sqlglot parses the query. The names in it are resolved here, in one pass over the tree, so the effort grows with the
length of the query and not with its columns. No schema is known: a column that more than one table could have stays
unknown. This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import sqlglot
from openlineage_pyspark.facets.datasets.sql_from import (
    NODE,
    arguments_of,
    function_name,
    generated,
    multiplies,
    pivoted,
)
from openlineage_pyspark.facets.datasets.sql_rows import (
    ABSENT,
    GENERATED,
    SAME,
    ResultColumn,
    Rows,
    SourceColumn,
    SourceKinds,
    all_of,
    by_rows,
    real_sources,
)
from openlineage_pyspark.facets.datasets.sql_tables import NO_TABLES
from openlineage_pyspark.facets.model.lineage import Kind, compose
from openlineage_pyspark.facets.sql_names import quoted_name
from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed
from sqlglot import exp
from sqlglot.errors import SqlglotError

MOST_CHARACTERS = 100_000
"""The longest query that is parsed: about a second of Python's processor time."""
MOST_STEPS = 300_000
"""The most nodes and sources that are looked at for one query."""

_LONGEST_TEXT = 2_000
# A catalog, a schema and a table.
_MOST_PARTS = 3
_ODD_STRINGS = frozenset("ByteString Heredoc HexString National RawString UnicodeString".split())
"""The classes of strings that are written in other ways than in quotes alone."""
_MADE = frozenset((Kind.TRANSFORMATION,))

# SetOperation is new in newer versions.
_SetOperation: Any = getattr(exp, "SetOperation", exp.Union)
_QUERIES: Any = (exp.Select, _SetOperation, exp.Subquery)
_NAMED: Any = (exp.Cast, exp.Dot, exp.Literal, exp.Star, exp.Subquery)
_FROM_ITEMS: Any = (exp.Table, exp.Values, exp.Unnest, exp.Lateral, *_QUERIES)

# How a database spells a name that has no quotes; the others keep it, or don't care.
_UPPER = frozenset({"oracle", "snowflake", "derby", "h2", "hsqldb", "db2"})
_LOWER = frozenset({"postgres", "redshift", "trino"})
_CASE_MATTERS = frozenset({"clickhouse"})
# Where an expression may use the alias of another column of the same SELECT.
_SEES_ALIASES = frozenset({"clickhouse", "redshift", "snowflake", "teradata"})
# Where it may use that of a column before it, unless a table has a column of this name.
_SEES_EARLIER_ALIASES = frozenset({"databricks", "spark"})
# What GROUP BY may call and the SELECT then names.
_TIME_WINDOWS = frozenset({"session_window", "window"})
# Where `a.b` may be a field of the column `a`.
_HAS_FIELDS = frozenset({"clickhouse", "databricks", "hive", "redshift", "spark", "trino"})
# Where a CTE may read itself without the word RECURSIVE.
_RECURSIVE = frozenset({"oracle", "tsql"})
# Names that look like columns and are none.
_NO_COLUMNS = {
    "oracle": frozenset("level ora_rowscn rowid rownum sysdate systimestamp uid user".split()),
    "": frozenset("current_user session_user system_user".split()),
}
_GENERATORS = frozenset(
    "explodinggenerateseries generateseries generate_series numbers numbers_mt zeros zeros_mt range generaterandom "
    "generate_array generator".split()
)
# Where a function in a SELECT may make several columns, and those functions.
_HAS_GENERATORS = frozenset({"databricks", "hive", "spark"})
_COLUMN_GENERATORS = frozenset(
    "explode explodeouter posexplode posexplodeouter inline inlineouter stack jsontuple variantexplode "
    "variantexplodeouter".split()
)
# ClickHouse's functions that read another table, and those of them that read its keys alone.
_LOOK_UPS = ("dictget", "dicthas", "dictisin", "joinget")
_LOOK_UP_KEYS = ("dicthas", "dictisin", "dictgethierarchy", "dictgetchildren", "dictgetdescendants")


# Where a SELECT decides about its rows, and how.
_CLAUSES = {
    "prewhere": Kind.FILTER,
    "where": Kind.FILTER,
    "group": Kind.GROUP_BY,
    "having": Kind.FILTER,
    "qualify": Kind.FILTER,
    "order": Kind.SORT,
    "sort": Kind.SORT,
    "cluster": Kind.SORT,
}
# Functions that sqlglot does not know -> which of their arguments decides, and is no value.
_DECIDING_PLACES = {"iff": 0, "map_filter": 1}
# The classes of what gives columns of which the names are not those of its arguments.
_SEVERAL_COLUMNS = frozenset({"Columns", "QueryTransform"})
_GROUPINGS = ("rollup", "cube", "grouping_sets")
# Functions whose argument can't be read back.
_MASKING = frozenset({"md5", "md5digest", "sha", "sha1", "sha2", "crc32", "xxhash64", "hash", "mask"})
# What sqlglot calls aggregates, and takes the value of one row.
_OF_ONE_ROW = frozenset({"lag", "lead", "nthvalue"})
# Functions and their arguments that decide which value is taken, and are none.
_DECIDING = frozenset(
    {
        *(("if", "this"), ("case", "this"), ("nullif", "expression"), ("nvl2", "this")),
        *((name, "expression") for name in ("arrayfilter", "arraysort", "argmax", "argmin", "withingroup")),
    }
)
# Functions that count, so that no value can be read back.
_COUNTING = frozenset({"count", "countif", "approxdistinct", "hll"})
# Functions that tell of the grouping, and of no value.
_OF_GROUPS = frozenset({"grouping", "groupingid", "grouping_id"})


class TooLargeError(Exception):
    """The query is longer, or has more sources, than is read."""


class UnreadableError(Exception):
    """The text is not one query that sqlglot can parse."""


@attrs.frozen
class Query:
    """
    What a query reads.

    Args:
        tables: the names of its tables, as they are written, each once.
        items: its columns, in order.
        whole: whether it has no other columns.
        rows: the source columns that decide about its rows, and how.
        rows_known: whether these are all.
        proven: the columns that its tables must have, as the query is to be valid.
    """

    tables: tuple[str, ...]
    items: tuple[ResultColumn, ...]
    whole: bool
    rows: SourceKinds = attrs.field(factory=dict)
    rows_known: bool = True
    proven: frozenset[SourceColumn] = frozenset()

    def sources(self, names: tuple[str, ...]) -> list[SourceKinds | None]:
        """
        Return the source columns of each column of the result, and how they arrive.

        Args:
            names: the names of all its columns, as the database tells them.

        Returns:
            For each name its sources, none for a constant; None if they are not known.
        """
        return [item.kinds if item is not None else None for item in self._items(names)]

    def texts(self, names: tuple[str, ...]) -> list[str]:
        """Return the expression of each column of the result; empty for a column as it is, or if it is not known."""
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
    Return what a query reads.

    Args:
        text: the query, with the CTEs before it.
        dialect: the name of its SQL: sqlglot's name, or that of a database that sqlglot does not know.

    Raises:
        TooLargeError: it is larger than the limits.
        UnreadableError: it is no query, or can't be parsed.
    """
    if len(text) > MOST_CHARACTERS:
        raise TooLargeError
    try:
        statements = parsed(text, sqlglot.Dialect.get(dialect or ""))
    except UnparsableError as problem:
        raise UnreadableError from problem
    return read_parsed(statements[0] if len(statements) == 1 else None, dialect)


def read_parsed(
    query: Any,
    dialect: str | None,
    columns: Mapping[str, Sequence[str]] | None = None,
    used: Mapping[str, Collection[str]] | None = None,
) -> Query:
    """
    Return what a query reads that sqlglot has parsed.

    Args:
        query: the query, with the CTEs before it. It is not written as a text again: sqlglot would put all CTEs before
            it that way, also those within others, where they hide what has their name.
        dialect: the name of its SQL, as for `read_query`.
        columns: the tables whose columns are known, by their names as they are written -> all their columns.
        used: other tables -> some of their columns, which other queries use.

    Raises:
        UnreadableError: it is no query, or is nested too deeply.
    """
    if not isinstance(query, _QUERIES):
        raise UnreadableError
    reader = _NameResolver(dialect or "", columns or {}, used or {})
    try:
        result = reader.query(query, None, {})
    except (SqlglotError, RecursionError) as problem:
        raise UnreadableError from problem
    return reader.result(result)


@attrs.frozen
class _Pending:
    """A common table expression that nothing has read yet, and the scope that it sees."""

    cte: Any
    scope: _Scope
    is_recursive: bool


@attrs.define
class _Scope:
    """What the names in one SELECT stand for."""

    outer: _Scope | None
    ctes: dict[str, Rows | _Pending]
    rows: list[Rows] = attrs.Factory(list)
    named: dict[str, Rows] = attrs.Factory(dict)
    arrays: dict[str, SourceKinds | None] = attrs.Factory(dict)
    aliases: dict[str, Any] = attrs.Factory(dict)
    earlier: dict[str, Any] = attrs.Factory(dict)
    scalars: dict[str, Any] = attrs.Factory(dict)
    windows: dict[str, Any] = attrs.Factory(dict)
    using: dict[str, list[Rows]] = attrs.Factory(dict)
    merged: dict[str, list[Rows]] = attrs.Factory(dict)
    is_natural: bool = False
    decides: list[SourceKinds | None] = attrs.Factory(list)
    solving: set[str] = attrs.Factory(set)
    may_be_outer: bool = False
    solved: dict[str, SourceKinds | None] = attrs.Factory(dict)


class _NameResolver:
    """Resolves the names of one query."""

    def __init__(self, dialect: str, columns: Mapping[str, Sequence[str]], used: Mapping[str, Collection[str]]) -> None:
        self.tables: dict[str, None] = {}
        self.proven: set[SourceColumn] = set()
        self._columns = columns
        self._used = used
        self._dialect = dialect
        self._steps = 0
        self._loses_rows = False
        self._generators: list[SourceKinds | None] = []
        self._queries: dict[int, Rows] = {}

    def query(self, query: Any, outer: _Scope | None, ctes: dict[str, Rows | _Pending]) -> Rows:
        """Return the columns of a query, once for each query."""
        known = self._queries.get(id(query))
        if known is None:
            known = self._queries[id(query)] = self._query(query, outer, ctes)
        return known

    def _query(self, query: Any, outer: _Scope | None, ctes: dict[str, Rows | _Pending]) -> Rows:
        scope = _Scope(outer, dict(ctes))
        self._ctes(query, scope)
        if isinstance(query, _SetOperation):
            return self._set_operation(query, scope)
        if isinstance(query, exp.Subquery):
            inside = query.this
            if isinstance(inside, _QUERIES) and not query.args.get("pivots"):
                return self.query(inside, outer, scope.ctes)
            self._from(query, scope)
            return attrs.evolve(self._star(scope, None, query), rows=self._all(scope.decides))
        self._froms(query, scope)
        found = self._select(query, scope)
        self._clauses(query, scope, found)
        self._conditions([v for k, v in query.args.items() if k not in ("expressions", "with", "with_")], scope)
        return found

    def _clauses(self, select: Any, scope: _Scope, found: Rows) -> None:
        """Read what decides about the rows of a SELECT, into what is found of it."""
        named = {self._key(name): value for name, value in map(self._projection, select.expressions) if name}
        for key, kind in _CLAUSES.items():
            clause = select.args.get(key)
            parts = () if clause is None else self._parts_of(select, key, clause)
            scope.may_be_outer = kind is Kind.FILTER and not self._qualifies(parts, scope)
            scope.decides += [by_rows(self._clause(part, select, named, scope), kind) for part in parts]
            scope.may_be_outer = False
        if select.args.get("distinct") is not None:
            scope.decides += [by_rows(item.kinds, Kind.GROUP_BY) for item in found.items if item.table is None]
        found.rows = self._all(scope.decides)

    def _parts_of(self, select: Any, key: str, clause: Any) -> list[Any]:
        """Return the expressions of a clause of a SELECT."""
        if key == "group":
            return self._keys(select, clause)
        parts: list[Any] = clause.expressions or [clause.this]
        is_all = key == "order" and len(parts) == 1 and parts[0].this.sql().upper() == "ALL"
        return [value for _, value in map(self._projection, select.expressions)] if is_all else parts

    def _keys(self, select: Any, group: Any) -> list[Any]:
        """Return the expressions by which a SELECT groups its rows."""
        if group.args.get("all"):
            return [value for _, value in map(self._projection, select.expressions) if not _aggregates(value)]
        sets = [node for key in _GROUPINGS for node in group.args.get(key) or () if isinstance(node, NODE)]
        return [*group.expressions, *(part for each in sets for part in _grouped_by(each))]

    def _clause(self, part: Any, select: Any, named: dict[str, Any], scope: _Scope) -> SourceKinds | None:
        """Return the sources of a part of a clause, which may be the place or the name of a column of the SELECT."""
        inside = part.this if isinstance(part, exp.Ordered) else part
        if isinstance(inside, exp.Literal) and not inside.is_string and inside.name.isdigit():
            place = int(inside.name) - 1
            inside = self._projection(select.expressions[place])[1] if place < len(select.expressions) else inside
        called = named.get(self._key(inside.name)) if isinstance(inside, exp.Column) and not inside.table else None
        if called is None or called is inside:
            return self._value(inside, scope)
        if isinstance(part, exp.Ordered):
            return self._value(called, scope)
        if self._reads(called, inside.name, scope) or self._is_certain(inside, scope):
            return self._value(inside, scope)
        # A table whose columns are not known may have it, and is asked first.
        return (
            None if any(rows.tables or rows.every is not ABSENT for rows in scope.rows) else self._value(called, scope)
        )

    def _is_certain(self, column: Any, scope: _Scope) -> bool:
        """Return whether a table in a scope certainly has a column of a name."""
        key = self._key(column.name)
        return key in scope.using or any(rows.has(key, self._key) for rows in scope.rows)

    def _qualifies(self, conditions: Iterable[Any], scope: _Scope) -> bool:
        """Return whether conditions name a table of a query around: then names without a table are none of its own."""
        columns = (each for each in self._walk(conditions) if isinstance(each, exp.Column) and each.table)
        return any(
            self._key(each.table) not in scope.named and self._in_scopes(scope, self._key(each.table)) is not None
            for each in columns
        )

    def _all(self, parts: Iterable[SourceKinds | None]) -> SourceKinds | None:
        """Return the union of sources as they arrive; None if one of them is not known."""
        return self._joined(parts, Kind.IDENTITY)

    def _built(self, value: Any, scope: _Scope) -> tuple[tuple[str, SourceKinds | None], ...]:
        """Return the fields of the struct that an expression builds, with their sources; none for another one."""
        return tuple((name, self._value(part, scope)) for name, part in _struct_fields(value))

    def _single(self, sources: SourceKinds | None) -> SourceKinds | None:
        """Return the sources of a part of a value: not known if there are several, as each may be in another part."""
        return sources if sources is not None and len(real_sources(sources)) <= 1 else None

    def _conditions(self, values: Iterable[Any], scope: _Scope) -> None:
        """Read the queries in conditions: what they read is no source of a column, but their tables are inputs."""
        for node in self._walk(values):
            if isinstance(node, _QUERIES) and id(node) not in self._queries and isinstance(_inner(node), _QUERIES):
                self.query(node, scope, scope.ctes)
            elif self._dialect == "clickhouse":
                self._dictionary(node)

    def _ctes(self, query: Any, scope: _Scope) -> None:
        """Read the common table expressions of a query."""
        clause = _arg(query, "with")
        for cte in clause.expressions if clause is not None else ():
            inside, name = cte.this, self._key(cte.alias)
            if not isinstance(inside, _QUERIES) or cte.args.get("scalar"):
                scope.scalars[name] = inside
                continue
            recursive = bool(clause.args.get("recursive")) or self._dialect in _RECURSIVE
            # It sees those before it.
            seen = _Scope(scope.outer, dict(scope.ctes), scalars=scope.scalars)
            scope.ctes[name] = _Pending(cte, seen, recursive and isinstance(inside, _SetOperation))

    def _cte(self, name: str, ctes: dict[str, Rows | _Pending]) -> Rows:
        """Return the columns of a common table expression, which is read when something reads it."""
        found = ctes[name]
        if isinstance(found, _Pending):
            inside, scope = found.cte.this, found.scope
            if found.is_recursive:
                scope.ctes[name] = self._renamed(self._first(inside, scope), found.cte)
            found = ctes[name] = self._renamed(self.query(inside, scope, scope.ctes), found.cte)
        return found

    def _first(self, operation: Any, scope: _Scope) -> Rows:
        """Return the columns of the first query of a chain of UNIONs, which sees the CTEs before the chain."""
        inside = _Scope(scope.outer, dict(scope.ctes))
        while isinstance(operation, _SetOperation):
            self._ctes(operation, inside)
            operation = operation.this
        return self._query(operation, scope, inside.ctes)

    def _set_operation(self, query: Any, scope: _Scope) -> Rows:
        """Return the columns of UNION, INTERSECT and EXCEPT; long chains are nested in their left side."""
        rights: list[tuple[Any, Any]] = []
        left = query
        while isinstance(left, _SetOperation) and (left is query or _arg(left, "with") is None):
            rights.append((left, left.args.get("expression")))
            left = left.this
        found = self.query(left, scope.outer, scope.ctes)
        for operation, right in reversed(rights):
            other = self.query(right, scope.outer, scope.ctes)
            rows = self._rows_of_both(operation, found, other)
            if isinstance(operation, (exp.Except, exp.Intersect)):
                found = attrs.evolve(found, rows=rows)
                continue
            found = self._united_by_name(found, other) if operation.args.get("by_name") else self._united(found, other)
            found = attrs.evolve(found, rows=rows)
        order = query.args.get("order")
        if order is not None:
            sorts = [self._place_of(part, found) for part in order.expressions]
            found = attrs.evolve(found, rows=self._all([found.rows, *(by_rows(each, Kind.SORT) for each in sorts)]))
        return found

    def _place_of(self, ordered: Any, rows: Rows) -> SourceKinds | None:
        """Return the sources of the column of a result that a part of its ORDER BY names, by its name or its place."""
        value = ordered.this
        if isinstance(value, exp.Literal) and value.name.isdigit() and 0 < int(value.name) <= len(rows.items):
            return rows.items[int(value.name) - 1].kinds
        named = rows.columns(self._key(value.name), self._key) if isinstance(value, exp.Column) else []
        return named[0].kinds if len(named) == 1 else None

    def _rows_of_both(self, operation: Any, left: Rows, right: Rows) -> SourceKinds | None:
        """Return what decides about the rows of UNION, INTERSECT or EXCEPT."""
        kind = Kind.GROUP_BY if isinstance(operation, exp.Union) else Kind.JOIN
        whole = kind is Kind.JOIN or operation.args.get("distinct") is True
        items = [*left.items, *right.items] if whole else []
        parts = [by_rows(item.kinds, kind) for item in items if item.table is None]
        return self._all([left.rows, right.rows, *parts])

    def _united(self, left: Rows, right: Rows) -> Rows:
        if left.items == right.items and left.every == right.every:
            return left
        open_ = any(rows.tables or rows.every is not ABSENT for rows in (left, right))
        if open_ or len(left.items) != len(right.items):
            return Rows([], None)
        pairs = zip(left.items, right.items, strict=True)
        return Rows([ResultColumn(a.name, self._all([a.kinds, b.kinds])) for a, b in pairs])

    def _united_by_name(self, left: Rows, right: Rows) -> Rows:
        """Return the columns of UNION BY NAME: those of the left side, then what the right side alone has."""
        named: list[dict[str, ResultColumn]] = []
        for rows in (left, right):
            items = {self._key(item.name): item for item in rows.items if item.name is not None}
            if len(items) < len(rows.items) or rows.every is not ABSENT:
                return Rows([], None)
            named.append(items)
        made = []
        for key in dict.fromkeys([*named[0], *named[1]]):
            found = [items[key] for items in named if key in items]
            made.append(ResultColumn(found[0].name, self._all([each.kinds for each in found])))
        return Rows(made)

    def _froms(self, select: Any, scope: _Scope) -> None:
        """Read FROM, JOIN and ARRAY JOIN; what MATCH_RECOGNIZE and CONNECT BY make of the rows is not known."""
        self._sources(select, scope)
        if select.args.get("connect") is not None:
            scope.decides.append(None)
        if select.args.get("match") is not None:
            scope.rows, scope.named = [Rows([], None)], {}
            scope.decides.append(None)

    def _sources(self, select: Any, scope: _Scope) -> None:
        start = _arg(select, "from")
        if start is not None:
            self._from(start.this, scope)
        self._joins(select, scope)
        for lateral in select.args.get("laterals") or ():
            self._from(lateral, scope)

    def _joins(self, node: Any, scope: _Scope) -> None:
        in_array = False
        for join in node.args.get("joins") or ():
            # Older versions of sqlglot take the further arrays of an ARRAY JOIN for tables after a comma.
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

    def _on(self, join: Any, node: Any, scope: _Scope) -> None:
        """Read the condition of a join."""
        on = join.args.get("on")
        if on is not None:
            scope.may_be_outer = not self._qualifies([on], scope)
            scope.decides.append(by_rows(self._value(on, scope), Kind.JOIN))
            scope.may_be_outer = False
        if not isinstance(node, exp.Select):
            # In brackets, which the search through the SELECT does not enter.
            self._conditions([on], scope)

    def _using(self, join: Any, before: list[Rows], scope: _Scope) -> None:
        """Read the columns that a join has in common: each is one column afterwards."""
        if str(join.args.get("method") or "").upper() == "NATURAL":
            scope.is_natural = True
            scope.decides.append(None)
        side, kind = (str(join.args.get(each) or "").upper() for each in ("side", "kind"))
        for name in join.args.get("using") or ():
            key, right = self._key(name.name), scope.rows[len(before) :]
            left = scope.using.get(key) or self._holders(before, key)
            sides = [self._named(rows, self._spelled(name)) for rows in (*left, *right)]
            scope.decides.append(by_rows(self._all(sides), Kind.JOIN))
            if kind in ("ANTI", "SEMI"):
                continue
            scope.merged.setdefault(key, []).extend((*(left if key not in scope.using else ()), *right))
            scope.using[key] = right if side == "RIGHT" else [*left, *right] if side == "FULL" else left

    def _holders(self, rows: list[Rows], key: str) -> list[Rows]:
        """Return which of some tables has a column that one of them must have; what is not known if several may."""
        certain = [each for each in rows if each.has(key, self._key)]
        found = certain or [each for each in rows if each.tables or each.every is not ABSENT]
        return found if len(found) == 1 else [Rows([], None)]

    def _array(self, array: Any, scope: _Scope) -> None:
        """Read an array of ARRAY JOIN: under its name there are its elements."""
        name = array.alias_or_name
        value = array.this if isinstance(array, exp.Alias) else array
        if isinstance(value, exp.Table):
            parts = [value.args.get(key) for key in ("this", "db", "catalog")]
            is_name = isinstance(parts[0], exp.Identifier)
            value = exp.Column(this=parts[0], table=parts[1], db=parts[2]) if is_name else parts[0]
        sources = self._value(value, scope)
        if name:
            scope.arrays[self._key(name)] = self._joined([sources], Kind.TRANSFORMATION)

    def _from(self, node: Any, scope: _Scope) -> None:
        """Read one item of FROM, with the joins inside it."""
        while not isinstance(node, _FROM_ITEMS):
            # FINAL, TABLESAMPLE and brackets.
            inside = node.this if isinstance(node, NODE) else None
            if not isinstance(inside, NODE):
                scope.rows.append(Rows([], None))
                return
            node = inside
        if isinstance(node, exp.Subquery) and _holds_joins(node.this):
            inner = _Scope(scope.outer, scope.ctes) if node.alias else scope
            self._from(node.this, inner)
            self._joins(node, inner)
            if inner is not scope:
                star = attrs.evolve(self._star(inner, None, node), rows=self._all(inner.decides))
                self._name(node, self._pivoted(star, node, scope), scope)
            return
        # Each has an own one, also of a CTE that is read twice.
        rows = attrs.evolve(self._renamed(self._rows(node, scope), node))
        self._name(node, self._pivoted(rows, node, scope), scope)
        self._joins(node, scope)

    def _pivoted(self, rows: Rows, node: Any, scope: _Scope) -> Rows:
        """Return what the PIVOT and the UNPIVOT behind an item of FROM make of its rows."""
        for pivot in node.args.get("pivots") or ():
            inner = _Scope(None, scope.ctes, [rows], {self._key(node.alias_or_name): rows})
            rows = self._renamed(pivoted(rows, pivot, partial(self._value, scope=inner)), pivot)
        return rows

    def _name(self, node: Any, rows: Rows, scope: _Scope) -> None:
        scope.rows.append(rows)
        scope.decides.append(rows.rows)
        for pivot in node.args.get("pivots") or ():
            if pivot.alias:
                scope.named[self._key(pivot.alias)] = rows
        key = self._key(node.alias_or_name)
        # Two tables may have one name in two schemas.
        scope.named[key] = Rows([], None) if key in scope.named else rows
        if isinstance(node, exp.Table) and not node.alias:
            parts = [self._key(part.name) for part in node.parts]
            scope.named |= {".".join(parts[at:]): rows for at in range(len(parts) - 1)}

    def _rows(self, node: Any, scope: _Scope) -> Rows:
        """Return what an item of FROM gives."""
        if isinstance(node, exp.Lateral) and isinstance(_inner(node.this), _QUERIES):
            return self.query(node.this, scope, scope.ctes)
        if isinstance(node, _QUERIES):
            is_pivoted = isinstance(node, exp.Subquery) and node.args.get("pivots")
            return self.query(node.this if is_pivoted else node, scope.outer, scope.ctes)
        if isinstance(node, exp.Lateral) and self._makes_columns(node.this):
            return self._generated(node, scope)
        if not isinstance(node, exp.Table):
            return Rows([], self._value(node, scope))
        if not isinstance(node.this, (exp.Identifier, exp.Dot)):
            return self._function(node.this, scope)
        name = ".".join(part.name for part in node.parts)
        if not node.args.get("db") and self._key(name) in scope.ctes:
            return self._cte(self._key(name), scope.ctes)
        if name.lower() in NO_TABLES or node.name.lower() in NO_TABLES:
            return Rows([])
        self.tables[name] = None
        if name in self._columns:
            return Rows([ResultColumn(each, {(name, each): SAME}) for each in self._columns[name]])
        used = {self._key(each): {(name, each): SAME} for each in self._used.get(name, ())}
        return Rows([ResultColumn(None, table=name)], used=used)

    def _function(self, function: Any, scope: _Scope) -> Rows:
        """Return what a function in FROM gives: what it reads is known only of functions that make up their rows."""
        name = function_name(function)
        if name in _GENERATORS:
            return Rows([], {})
        if name == "dictionary" and (table := _text(function.expressions[:1])):
            self.tables[table] = None
            return Rows([ResultColumn(None, table=table)])
        return Rows([], self._value(function, scope) or None)

    def _generated(self, lateral: Any, scope: _Scope) -> Rows:
        """Return what a function such as explode gives behind LATERAL VIEW, or in a FROM."""
        names = [self._spelled(each) for each in getattr(lateral.args.get("alias"), "columns", ())]
        sources, mark = self._call(lateral.this, scope)
        return Rows(self._made(lateral.this, names, mark, scope)) if names else Rows([], all_of(sources, mark))

    def _made(self, function: Any, names: list[str], mark: SourceKinds, scope: _Scope) -> list[ResultColumn]:
        """Return the columns that a function such as explode makes."""
        made = generated(_plain_name(function), arguments_of(function), names, partial(self._value, scope=scope))
        return [attrs.evolve(each, kinds=all_of(each.kinds, mark)) for each in made]

    def _renamed(self, rows: Rows, node: Any) -> Rows:
        """Return a result with the names of an alias: `q(a, b)`."""
        alias: Any = node.args.get("alias")
        columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        names = [column.name for column in columns or ()]
        is_open = rows.every is not ABSENT and not rows.items
        if not names or is_open or names == [each.name for each in rows.items]:
            return rows
        if rows.tables or rows.every is not ABSENT or len(names) > len(rows.items):
            return Rows([], None, rows.rows)
        items = [attrs.evolve(item, name=name) for name, item in zip(names, rows.items, strict=False)]
        return Rows([*items, *rows.items[len(names) :]], rows=rows.rows)

    def _select(self, select: Any, scope: _Scope) -> Rows:
        """Return the columns of a SELECT."""
        projections = [self._projection(each) for each in select.expressions]
        scope.windows.update({self._key(each.name): each for each in _arg(select, "windows") or ()})
        if self._dialect in _SEES_ALIASES:
            for name, value in projections:
                # An expression without an alias has a name of the database's own.
                same = isinstance(value, exp.Column) and self._key(name) == self._key(value.name)
                if name and not same and not isinstance(value, exp.Star):
                    scope.aliases.setdefault(self._key(name), value)
                inner = [n for n in self._walk([value]) if isinstance(n, exp.Alias)]
                scope.aliases.update({self._key(n.alias): n.this for n in inner})
        is_spark = self._dialect in _SEES_EARLIER_ALIASES
        if is_spark:
            group = getattr(select.args.get("group"), "expressions", ())
            windows = [each for each in group if function_name(each) in _TIME_WINDOWS]
            scope.aliases.update({function_name(each): each for each in windows})
        found = Rows([])
        for name, value in projections:
            star = value.this if isinstance(value, exp.Column) and isinstance(value.this, exp.Star) else value
            if isinstance(star, exp.Star):
                qualifier = value.table if isinstance(value, exp.Column) else None
                more = self._star(scope, qualifier or None, star)
                found.items += more.items
                found.used = {**found.used, **more.used}
                found.every = more.every if more.every is not ABSENT else found.every
            elif type(value).__name__ in _SEVERAL_COLUMNS or (not name and self._makes_columns(value)):
                found.every = None
            elif isinstance(value, exp.Aliases):
                names = [self._spelled(alias) for alias in value.expressions]
                _, mark = self._call(value.this, scope) if self._makes_columns(value.this) else (None, {})
                found.items += self._made(value.this, names, mark, scope)
            else:
                scope.may_be_outer = self._is_value(select, scope) and not _aggregates(value)
                made, told = self._projected(value, scope), self._text(value, scope)
                scope.may_be_outer = False
                found.items.append(ResultColumn(name or "", made, text=told, fields=self._built(value, scope)))
            if is_spark and name and not self._reads(value, name, scope):
                scope.earlier[self._key(name)] = value
        return found

    def _projected(self, value: Any, scope: _Scope) -> SourceKinds | None:
        """Return the sources of a column of a SELECT, which a function such as explode may make."""
        return all_of(*self._call(value, scope)) if self._makes_columns(value) else self._value(value, scope)

    def _is_value(self, select: Any, scope: _Scope) -> bool:
        """Return whether a SELECT stands in an expression or behind LATERAL, so that it may give what is around it."""
        around = select.parent
        while isinstance(around, (exp.Subquery, exp.Paren)):
            around = around.parent
        no_value = (exp.CTE, exp.Exists, exp.From, exp.In, exp.Join, exp.Table, _SetOperation)
        return (
            scope.outer is not None
            and not isinstance(around, no_value)
            and not self._qualifies(select.expressions, scope)
        )

    def _call(self, function: Any, scope: _Scope) -> tuple[SourceKinds | None, SourceKinds]:
        """
        Return the sources of a function such as explode, and a mark for the columns that it makes.

        The mark goes the way of a source, so that it is known in the end whether each column comes from the function.
        """
        sources = self._value(function, scope)
        if not multiplies(_plain_name(function), arguments_of(function)):
            return sources, {}
        mark = (GENERATED, str(len(self._generators)))
        self._generators.append(sources)
        scope.decides.append(None if sources is None else {mark: frozenset((Kind.GENERATE,))})
        return sources, {mark: _MADE}

    def result(self, found: Rows) -> Query:
        """Return what a query gives, without marks."""
        made = [_marks(each.kinds or {}, direct=True) for each in found.items]
        whole = set.intersection(*made) if made else set()
        rows = dict(self._unmarked(found.rows or {}, whole))
        items = [
            attrs.evolve(each, kinds=None if each.kinds is None else self._unmarked(each.kinds, set()))
            for each in found.items
        ]
        known = found.rows is not None and not self._loses_rows
        proven = frozenset(self.proven)
        return Query(tuple(self.tables), tuple(items), found.every is ABSENT, rows, known, proven)

    def _unmarked(self, kinds: SourceKinds, whole: Collection[SourceColumn]) -> SourceKinds:
        """
        Return sources with what decides how many rows there are in the place of marks.

        Args:
            kinds: the sources.
            whole: the marks of functions that make a part of each column: their own edges tell it.
        """
        marks = _marks(kinds)
        decides = []
        for mark in marks:
            sources = self._generators[int(mark[1])]
            # What a function makes has its sources already; what is only behind it, as a condition is, gets them here.
            found = [
                each for each in kinds[mark] if not each.direct and (each is not Kind.GENERATE or mark not in whole)
            ]
            decides += [by_rows(sources, Kind.JOIN if each is Kind.GENERATE else each) or {} for each in found]
        return real_sources(all_of(kinds, *decides) or {}) if marks else kinds

    def _text(self, value: Any, scope: _Scope) -> str:
        """
        Return the text of an expression, with tables before their columns, and subqueries' columns as these make them.

        It is empty for a column as it is, for what is too long, and for what has a string in a form of its own: Spark's
        rules would not find its end.
        """
        if isinstance(value, exp.Column):
            named = self._item_of(value, scope)
            return named.text if named is not None else ""
        if any(isinstance(node, _QUERIES) or type(node).__name__ in _ODD_STRINGS for node in self._walk([value])):
            return ""
        copied = value.copy()
        pairs = zip(list(self._walk([value])), list(self._walk([copied])), strict=True)
        shown = [(other, self._shown(node, scope)) for node, other in pairs]
        for node, text in shown:
            if text:
                put = exp.Var(this=text)
                copied = put if node is copied else copied
                node.replace(put)
        try:
            text = str(copied.sql(dialect=sqlglot.Dialect.get(self._dialect) or None, comments=False))
        except SqlglotError:
            return ""
        if len(text) > _LONGEST_TEXT:
            return ""
        return f"({text})" if isinstance(value, (exp.Binary, exp.Unary)) and not isinstance(value, exp.Paren) else text

    def _shown(self, node: Any, scope: _Scope) -> str:
        """Return what stands in the place of a node of an expression; empty for most, which stay as they are."""
        if isinstance(node, exp.Literal) and node.is_string:
            escaped = node.name.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return ""
        named = self._item_of(node, scope)
        if named is not None and named.text:
            return named.text
        sources = self._column(node, scope)
        if sources is None or len(sources) != 1:
            return ""
        (((table, name), kinds),) = sources.items()
        return f"{'.'.join(map(quoted_name, table.split('.')))}.{quoted_name(name)}" if kinds == SAME else ""

    def _item_of(self, column: Any, scope: _Scope) -> ResultColumn | None:
        """Return the column of a subquery that a name stands for; None for all other names."""
        if not isinstance(column.this, exp.Identifier) or column.args.get("db") is not None:
            return None
        key = self._key(self._spelled(column.this))
        qualifier = self._key(column.table)
        chosen = [scope.named[qualifier]] if qualifier in scope.named else scope.rows if not qualifier else []
        found = [item for rows in chosen for item in rows.columns(key, self._key)]
        return found[0] if len(found) == 1 else None

    def _reads(self, value: Any, name: str, scope: _Scope) -> bool:
        """Return whether an expression reads a column of this name, which then is one of a table."""
        columns = (each for each in self._walk([value]) if isinstance(each, exp.Column))
        # What stands before a field is no table.
        named = (each.name for each in columns if not each.table or self._key(each.table) in scope.named)
        return any(self._key(each) == self._key(name) for each in named)

    def _projection(self, node: Any) -> tuple[str, Any]:
        """Return the name and the expression of a column of a SELECT."""
        if isinstance(node, exp.Alias):
            return self._spelled(node.args.get("alias")), node.this
        # T-SQL writes the alias before the expression.
        if self._dialect == "tsql" and isinstance(node, exp.EQ) and isinstance(node.this, exp.Column):
            return node.this.name, node.expression
        if isinstance(node, exp.Column):
            return self._spelled(node.this), node
        # What sqlglot calls the name of another expression is that of its first argument.
        return (node.alias_or_name if isinstance(node, _NAMED) else ""), node

    def _makes_columns(self, value: Any) -> bool:
        """Return whether a function in a SELECT makes columns whose number and names depend on its arguments."""
        return self._dialect in _HAS_GENERATORS and _plain_name(value) in _COLUMN_GENERATORS

    def _star(self, scope: _Scope, qualifier: str | None, star: Any) -> Rows:
        """Return all columns of the tables in a scope, or of one of them."""
        if qualifier is None:
            chosen = scope.rows
        else:
            named = self._in_scopes(scope, self._key(qualifier))
            chosen = [named] if named is not None else [Rows([], None)]
        left_out = {self._key(each.name) for each in _arg(star, "except") or ()}
        changed = any(_arg(star, key) for key in ("replace", "rename", "ilike"))
        found: list[ResultColumn] = []
        if qualifier is None:
            found += [ResultColumn(key, self._shared(scope, key)) for key in scope.using]
        merged = {} if qualifier is not None else scope.merged
        for rows in chosen:
            own = {key for key, sides in merged.items() if any(each is rows for each in sides)}
            found += [each for each in rows.items if each.name is None or self._key(each.name) not in own]
        items = [each for each in found if each.name is None or self._key(each.name) not in left_out]
        natural = scope.is_natural and qualifier is None
        unknown = changed or natural or any(rows.every is not ABSENT for rows in chosen)
        self._count(len(items))
        keys = Counter(key for rows in chosen for key in rows.used)
        used = {
            key: sources
            for rows in chosen
            for key, sources in rows.used.items()
            if keys[key] == 1 and key not in left_out and key not in merged and not changed
        }
        return Rows(items, None if unknown else ABSENT, used=used)

    def _shared(self, scope: _Scope, key: str) -> SourceKinds | None:
        """Return the sources of a column that joined tables have in common."""
        sides = [self._named(rows, key) for rows in scope.using[key]]
        if len(sides) == 1:
            return sides[0]  # type: ignore[no-any-return]
        # The first of them that is not NULL.
        return all_of(self._joined(sides, Kind.TRANSFORMATION), self._joined(sides, Kind.CONDITIONAL))

    def _in_scopes(self, scope: _Scope | None, key: str) -> Rows | None:
        while scope is not None:
            if key in scope.named:
                return scope.named[key]
            scope = scope.outer
        return None

    def _value(self, value: Any, scope: _Scope) -> SourceKinds | None:
        """Return the sources of an expression, and how they arrive in it."""
        while isinstance(value, exp.Paren):
            value = value.this
        if isinstance(value, exp.Column):
            return self._column(value, scope)
        parts: list[SourceKinds | None] = []
        for node, kind in self._parts(value):
            if isinstance(node, exp.Column):
                parts.append({} if self._names_dictionary(node) else self._as(self._column(node, scope), kind))
            elif _is_field(node):
                parts.append(self._as(self._dotted(node, scope), kind))
            elif isinstance(node, _QUERIES):
                parts += self._queried(node, kind, scope)
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
                parts.append(None)
            elif isinstance(node, exp.Window) and self._key(node.alias) in scope.windows:
                # A name instead of, or before, what stands in the brackets of OVER.
                parts.append(self._as(self._value(scope.windows[self._key(node.alias)], scope), Kind.WINDOW))
            elif self._dialect == "clickhouse":
                parts.append(self._as(self._dictionary(node), kind))
        return self._all(parts)

    def _queried(self, query: Any, kind: Kind, scope: _Scope) -> Iterator[SourceKinds | None]:
        """Yield the sources of a query in an expression, which uses its value in this way."""
        rows = self.query(query, scope, scope.ctes)
        yield from (self._as(item.kinds, kind) for item in rows.items)
        if rows.tables or rows.every is None:
            yield None
        self._loses_rows = self._loses_rows or rows.rows is None
        yield self._as(rows.rows or {}, kind)

    def _dotted(self, dot: Any, scope: _Scope) -> SourceKinds | None:
        """Return the sources of a field of an expression."""
        for name, value in _struct_fields(dot.this):
            if self._key(name) == self._key(dot.name):
                return self._value(value, scope)
        return self._as(self._single(self._value(dot.this, scope)), Kind.TRANSFORMATION)

    def _as(self, sources: SourceKinds | None, kind: Kind) -> SourceKinds | None:
        """Return sources as they arrive through what uses them in this way."""
        return self._joined([sources], kind)

    def _parts(self, value: Any) -> Iterator[tuple[Any, Kind]]:
        """Yield the nodes of an expression, each with how its value gets into the expression's; no query is entered."""
        waiting: list[Iterator[tuple[Any, Kind]]] = [iter([(value, Kind.IDENTITY)])]
        while waiting:
            node, kind = next(waiting[-1], (ABSENT, Kind.IDENTITY))
            if node is ABSENT:
                waiting.pop()
            elif isinstance(node, list):
                waiting.append(iter([(each, kind) for each in node]))
            elif isinstance(node, NODE):
                self._count(1)
                yield node, kind
                # The parts of a name are no names.
                if not isinstance(node, (*_QUERIES, exp.Column)) and not _is_field(node):
                    waiting.append(iter([(part, compose(kind, use)) for part, use in _arguments(node)]))

    def _names_dictionary(self, column: Any) -> bool:
        """Return whether a name is the dictionary's in dictGet(dictionary, ...), and no column's."""
        call = column.parent
        looks_up = self._dialect == "clickhouse" and function_name(call).startswith(_LOOK_UPS)
        return looks_up and bool(call.expressions) and call.expressions[0] is column

    def _dictionary(self, node: Any) -> SourceKinds | None:
        """Return the columns that ClickHouse's dictGet and joinGet look up in another table; none for other nodes."""
        name = function_name(node)
        if not name.startswith(_LOOK_UPS):
            return {}
        given = node.expressions
        table = _text(given[:1])
        if table is None:
            return None
        self.tables[table] = None
        wanted = given[1] if len(given) > 1 and not name.startswith(_LOOK_UP_KEYS) else None
        columns = [_text([each]) for each in (wanted.expressions if isinstance(wanted, exp.Tuple) else [wanted])]
        return {(table, column): _MADE for column in columns if column}

    def _column(self, column: Any, scope: _Scope) -> SourceKinds | None:
        """Return the sources of a column's name; None if it could be in more than one place."""
        if not isinstance(column.this, exp.Identifier):
            return {} if isinstance(column.parent, exp.Count) else None
        parts = [part for key in ("catalog", "db", "table", "this") if (part := column.args.get(key)) is not None]
        names = [self._spelled(part) for part in parts]
        if len(names) == 1:
            return self._bare(parts[0], scope)
        # The names after that of the table are a column and fields of it, or all of them are.
        for at in range(min(len(names) - 1, _MOST_PARTS), 0, -1):
            rows = self._in_scopes(scope, self._key(".".join(names[:at])))
            if rows is None and at > 1 and self._in_scopes(scope, self._key(names[0])) is None:
                # The table may be written without its schema.
                rows = self._in_scopes(scope, self._key(names[at - 1])) if at == len(names) - 1 else None
            if rows is not None:
                return self._of_rows(rows, names[at:])
        return self._field(parts, names, scope)

    def _of_rows(self, rows: Rows, names: list[str]) -> SourceKinds | None:
        """Return the sources of a column of one table, perhaps with a field of it."""
        if self._dialect == "clickhouse":
            found = self._named(rows, ".".join(names))
            return None if found is ABSENT else found
        found = self._named(rows, names[0])
        if found is ABSENT or found is None or len(names) == 1:
            return None if found is ABSENT else found
        return self._field_of(rows.columns(self._key(names[0]), self._key), found, names[1:])

    def _field_of(self, items: list[ResultColumn], found: SourceKinds, names: list[str]) -> SourceKinds | None:
        """Return the sources of a field of a column."""
        fields = dict(items[0].fields) if len(items) == 1 else {}
        if fields:
            taken = next((kinds for name, kinds in fields.items() if self._key(name) == self._key(names[0])), None)
            return taken if len(names) == 1 else self._as(self._single(taken), Kind.TRANSFORMATION)
        return self._as(self._single(found), Kind.TRANSFORMATION)

    def _field(self, parts: list[Any], names: list[str], scope: _Scope) -> SourceKinds | None:
        """Return the sources of `column.field`."""
        found = self._bare(parts[0], scope) if self._dialect in _HAS_FIELDS else None
        if found is None:
            return None
        if self._dialect != "clickhouse":
            items = [item for rows in scope.rows for item in rows.columns(self._key(names[0]), self._key)]
            return self._field_of(items, found, names[1:])
        # Each field of a nested table is a column of its own.
        return {(table, ".".join([column, *names[1:]])): _MADE for table, column in found}

    def _bare(self, identifier: Any, scope: _Scope | None) -> SourceKinds | None:
        """Return the sources of a name without a table."""
        name = self._spelled(identifier)
        plain = not identifier.args.get("quoted") and name.lower()
        if plain and any(plain in _NO_COLUMNS.get(dialect, ()) for dialect in (self._dialect, "")):
            return {}
        while scope is not None:
            found = self._within(scope, name)
            if found is not ABSENT:
                return found  # type: ignore[no-any-return]
            scope = scope.outer
        return None

    def _within(self, scope: _Scope, name: str) -> Any:
        key = self._key(name)
        if key in scope.arrays:
            return scope.arrays[key]
        for expressions, wins in ((scope.scalars, True), (scope.aliases, self._dialect == "clickhouse")):
            if wins and key in expressions and key not in scope.solving:
                return self._alias(scope, key, expressions[key])
        explicit = [rows for rows in scope.rows if rows.has(key, self._key)]
        others = [rows for rows in scope.rows if rows.tables or rows.every is not ABSENT]
        if key in scope.using:
            return self._shared(scope, key)
        if explicit:
            return self._named(explicit[0], name) if len(explicit) == 1 else None
        if key in scope.aliases and key not in scope.solving:
            return self._alias(scope, key, scope.aliases[key])
        if key in scope.earlier:
            # A table whose columns are not known may have it, and is asked first.
            return None if others else self._alias(scope, key, scope.earlier[key])
        return self._guessed(scope, name, others)

    def _guessed(self, scope: _Scope, name: str, others: list[Rows]) -> Any:
        """Return the sources of a name that nothing in a scope certainly has, if only one of its tables may have it."""
        function = scope.named.get(self._key(name))
        if function is not None and not function.items and function.every is not ABSENT:
            return function.every
        if not others:
            return ABSENT
        if len(others) > 1 or self._may_have(scope.outer, name, certainly=not scope.may_be_outer):
            return None
        return self._named(others[0], name)

    def _may_have(self, scope: _Scope | None, name: str, *, certainly: bool) -> bool:
        """
        Return whether a query around has a column of a name: what is read may be that.

        Args:
            scope: the scope of the query around.
            name: the name.
            certainly: whether only a column counts that is certainly there: a condition is more often about both.
        """
        key = self._key(name)
        while scope is not None:
            is_open = not certainly and any(rows.tables or rows.every is not ABSENT for rows in scope.rows)
            if is_open or key in scope.using or any(rows.has(key, self._key) for rows in scope.rows):
                return True
            scope = scope.outer
        return False

    def _alias(self, scope: _Scope, key: str, expression: Any) -> SourceKinds | None:
        """Return the sources of another expression of the same SELECT, which is solved once."""
        if key not in scope.solved:
            scope.solving.add(key)
            scope.solved[key] = self._value(expression, scope)
            scope.solving.discard(key)
        return scope.solved[key]

    def _named(self, rows: Rows, name: str) -> Any:
        """Return the sources of a column of one table; `ABSENT` if it has no such column."""
        found = rows.columns(self._key(name), self._key)
        self._count(1)
        if found:
            return found[0].kinds if len(found) == 1 else None
        if self._key(name) in rows.used:
            return rows.used[self._key(name)]
        if rows.every is not ABSENT or not rows.tables:
            return rows.every
        if len(rows.tables) > 1:
            return None
        self.proven.add((rows.tables[0], name))
        return {(rows.tables[0], name): SAME}

    def _joined(self, parts: Iterable[Any], kind: Kind) -> SourceKinds | None:
        """Return the union of sources, which are used in this way; None if one is not known."""
        found: dict[SourceColumn, frozenset[Kind]] = {}
        for part in parts:
            if part is None or part is ABSENT:
                return None
            self._count(len(part))
            for column, kinds in part.items():
                used = kinds if kind is Kind.IDENTITY else frozenset([compose(kind, each) for each in kinds])
                found[column] = found.get(column, used) | used
        return found

    def _walk(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the nodes of expressions, in order; a query is yielded, and not entered."""
        waiting = [iter(values)]
        while waiting:
            node = next(waiting[-1], ABSENT)
            if node is ABSENT:
                waiting.pop()
            elif isinstance(node, list):
                waiting.append(iter(node))
            elif isinstance(node, NODE):
                self._count(1)
                yield node
                # The parts of a name are no names.
                if not isinstance(node, _QUERIES) and not isinstance(node, exp.Column):
                    waiting.append(iter(node.args.values()))

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise TooLargeError

    def _key(self, name: str) -> str:
        return name if self._dialect in _CASE_MATTERS else name.lower()

    def _spelled(self, identifier: Any) -> str:
        """Return a name as the database spells it."""
        if not isinstance(identifier, exp.Identifier) or identifier.args.get("quoted"):
            return identifier.name if isinstance(identifier, NODE) else str(identifier or "")
        if self._dialect in _UPPER:
            return identifier.name.upper()
        return identifier.name.lower() if self._dialect in _LOWER else identifier.name


def _is_field(node: Any) -> bool:
    """Return whether a node takes a field of an expression that is no name."""
    return (
        isinstance(node, exp.Dot)
        and isinstance(node.expression, exp.Identifier)
        and not isinstance(node.this, exp.Column)
    )


def _struct_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of the struct that an expression builds, as far as it names them."""
    while isinstance(value, exp.Paren):
        value = value.this
    for each in value.expressions if isinstance(value, exp.Struct) else ():
        if isinstance(each, exp.PropertyEQ):
            yield each.name, each.expression


def _arguments(node: Any) -> Iterator[tuple[Any, Kind]]:
    """Yield the arguments of an expression whose values get into its own, each with how it is used."""
    if function_name(node) in _OF_GROUPS:
        return
    if isinstance(node, exp.Anonymous) and function_name(node) in _DECIDING_PLACES:
        decides = _DECIDING_PLACES[function_name(node)]
        for at, part in enumerate(node.expressions):
            yield part, Kind.CONDITIONAL if at == decides else Kind.TRANSFORMATION
        return
    if isinstance(node, exp.Order):
        # Of an aggregate: what is put in order, and by what.
        yield node.this, Kind.IDENTITY
        yield node.expressions, Kind.CONDITIONAL
        return
    if function_name(node) != "decodecase":
        yield from ((part, _use(node, key)) for key, part in node.args.items())
        # Whether it is NULL, or equal to another one, decides too.
        chosen = (
            node.args.values()
            if isinstance(node, exp.Coalesce)
            else (node.this,)
            if isinstance(node, exp.Nullif)
            else ()
        )
        yield from ((part, Kind.CONDITIONAL) for part in chosen)
        return
    for at, part in enumerate(node.expressions):
        # What is decoded, then pairs of a value of it and a result, then the result of no match.
        is_result = at > 0 and (at % 2 == 0 or at == len(node.expressions) - 1)
        yield part, Kind.TRANSFORMATION if is_result else Kind.CONDITIONAL


def _use(node: Any, key: str) -> Kind:
    """Return how an expression uses one of its arguments."""
    around = (exp.Window, exp.Filter, exp.WithinGroup)
    if isinstance(node, (exp.Paren, exp.Alias)) or (isinstance(node, around) and key == "this"):
        return Kind.IDENTITY
    if isinstance(node, exp.Window):
        return Kind.WINDOW
    if isinstance(node, exp.Filter) or (function_name(node), key) in _DECIDING:
        return Kind.CONDITIONAL
    name = function_name(node)
    if name in _COUNTING:
        return Kind.MASKED_AGGREGATION
    if isinstance(node, exp.AggFunc) and name not in _OF_ONE_ROW:
        return Kind.AGGREGATION
    return Kind.MASKED_TRANSFORMATION if name in _MASKING else Kind.TRANSFORMATION


def _aggregates(value: Any) -> bool:
    """Return whether an expression is an aggregate of the rows of a group."""
    return any(
        isinstance(each, exp.AggFunc) and not (isinstance(each.parent, exp.Window) and each.arg_key == "this")
        for each in value.find_all(exp.AggFunc)
    )


def _grouped_by(node: Any) -> Iterator[Any]:
    """Yield the expressions in ROLLUP, CUBE and GROUPING SETS."""
    if not isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)):
        yield node
        return
    for each in node.expressions or ([node.this] if node.this is not None else []):
        yield from _grouped_by(each)


def _marks(kinds: SourceKinds, *, direct: bool = False) -> set[SourceColumn]:
    """Return the marks of functions such as explode among sources; `direct` asks for those that make a value."""
    return {each for each in kinds if each[0] == GENERATED and (not direct or any(kind.direct for kind in kinds[each]))}


def _plain_name(node: Any) -> str:
    """Return the name of a function without underscores."""
    return function_name(node).replace("_", "")


def _arg(node: Any, name: str) -> Any:
    """Return an argument whose name newer versions of sqlglot end with an underscore."""
    found = node.args.get(name)
    return node.args.get(f"{name}_") if found is None else found


def _inner(node: Any) -> Any:
    """Return what is inside the brackets of a subquery."""
    while isinstance(node, exp.Subquery):
        node = node.this
    return node


def _holds_joins(inside: Any) -> bool:
    """Return whether what stands in brackets after FROM is no query alone: a table, or what is joined there."""
    if not isinstance(inside, exp.Subquery):
        return not isinstance(inside, _QUERIES)
    return bool(inside.args.get("joins")) or _holds_joins(inside.this)


def _text(given: list[Any]) -> str | None:
    """Return the name in the first of some arguments: a string, or a name without quotes; None if there is none."""
    first = given[0] if given else None
    if isinstance(first, exp.Literal) and first.is_string:
        return first.name
    if isinstance(first, exp.Column):
        return ".".join(part.name for part in first.parts)
    return None
