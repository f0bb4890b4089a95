"""
Read the items of FROM and the joins between them: tables, queries, and functions that return rows.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
from openlineage_pyspark.facets.foreign_sql.from_clause import pivoted, renamed
from openlineage_pyspark.facets.foreign_sql.rows import MADE, SAME, ResultColumn, SourceRows, all_of, by_rows
from openlineage_pyspark.facets.foreign_sql.scopes import Pending, SelectScope
from openlineage_pyspark.facets.foreign_sql.tables import NO_TABLES
from openlineage_pyspark.facets.foreign_sql.trees import (
    NODE,
    QUERIES,
    argument,
    function_name,
    holds_joins,
    inner_query,
    name_in,
    plain_name,
)
from openlineage_pyspark.facets.foreign_sql.values import ValueSources
from openlineage_pyspark.facets.model.lineage import UseKind
from sqlglot import exp

_FROM_ITEMS: Any = (exp.Table, exp.TableFromRows, exp.Values, exp.Unnest, exp.Lateral, *QUERIES)
# Functions in FROM that generate their rows.
_GENERATORS = frozenset(
    "explodinggenerateseries generateseries generate_series numbers numbers_mt zeros zeros_mt range generaterandom "
    "generate_array generator".split()
)
# Snowflake's functions that return several rows for a value (FLATTEN is `explode` to the parser): the columns of these.
_OF_SNOWFLAKE = {"explode": ("SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS"), "splittotable": ("SEQ", "INDEX", "VALUE")}


class FromItems:
    """
    The items of FROM in one query.

    Args:
        values: the sources of its expressions.
        cte: returns the rows of a common table expression.
        columns: the tables whose columns are known -> all their columns.
        used: other tables -> some of their columns.
        keeps_quotes: whether the names of tables keep the quotes without which they would be other names.
    """

    def __init__(
        self,
        values: ValueSources,
        cte: Callable[[str, dict[str, SourceRows | Pending]], SourceRows],
        columns: Mapping[str, Sequence[str]],
        used: Mapping[str, Collection[str]],
        *,
        keeps_quotes: bool,
    ) -> None:
        self._values = values
        self._cte = cte
        self._columns = columns
        self._used = used
        self._keeps_quotes = keeps_quotes
        self._dialect = values.dialect
        self._effort = values.effort
        self._names = values.names

    def read(self, select: Any, scope: SelectScope) -> None:
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
            self.item(start.this, scope)
        self._joins(select, scope)
        for lateral in select.args.get("laterals") or ():
            self.item(lateral, scope)

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
            self.item(join.this, scope)
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
            scope.decides.append(by_rows(self._values.of(on, scope), UseKind.JOIN))
            scope.may_be_outer = False
        if not isinstance(node, exp.Select):
            # The join is in brackets, which the search through the SELECT does not enter.
            self._values.conditions(conditions, scope)

    def _using(self, join: Any, before: list[SourceRows], scope: SelectScope) -> None:
        """Read the columns that a join has in common: each is one column afterwards."""
        if str(join.args.get("method") or "").upper() == "NATURAL":
            scope.is_natural = True
            scope.decides.append(None)
        side, kind = (str(join.args.get(each) or "").upper() for each in ("side", "kind"))
        for name in join.args.get("using") or ():
            key, right = self._dialect.key(name.name), scope.rows[len(before) :]
            left = scope.using.get(key) or self._names.holders(before, key)
            spelled = scope.spelled.setdefault(key, self._dialect.spelled(name))
            sides = [self._names.named(rows, spelled) for rows in (*left, *right)]
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
        sources = self._values.of(value, scope)
        if name:
            scope.arrays[self._dialect.key(name)] = self._effort.joined([sources], UseKind.TRANSFORMATION)

    def item(self, node: Any, scope: SelectScope) -> None:
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
            self.item(node.this, inner)
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
            rows = renamed(pivoted(rows, pivot, partial(self._values.of, scope=inner)), pivot)
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
            return self._values.query(node.this, scope, scope.ctes)
        if isinstance(node, QUERIES):
            is_pivoted = isinstance(node, exp.Subquery) and node.args.get("pivots")
            return self._values.query(node.this if is_pivoted else node, scope.outer, scope.ctes)
        if isinstance(node, exp.Lateral):
            generates = self._dialect.makes_columns(node.this)
            return self._generated(node, scope) if generates else self._function(node.this, scope)
        if isinstance(node, exp.Unnest):
            return self._unnested(node, scope)
        if not isinstance(node, (exp.Table, exp.TableFromRows)):
            return SourceRows([], self._values.of(node, scope))
        if not isinstance(node, exp.Table) or not isinstance(node.this, (exp.Identifier, exp.Dot)):
            return self._function(node.this, scope)
        if self.is_cte(node, scope):
            return self._cte(self._dialect.key(node.name), scope.ctes)
        path = self._path(node, scope)
        return self._of_table(node) if path is None else self._array_of(path, node, scope)

    def _of_table(self, node: Any) -> SourceRows:
        """Return the rows of a table."""
        name = self.table_name(node)
        if name.lower() in NO_TABLES or node.name.lower() in NO_TABLES:
            return SourceRows([])
        self._values.tables[name] = None
        if name in self._columns:
            return SourceRows([ResultColumn(each, {(name, each): SAME}) for each in self._columns[name]])
        used = {self._dialect.key(each): {(name, each): SAME} for each in self._used.get(name, ())}
        return SourceRows([ResultColumn(None, table=name)], used=used)

    def _unnested(self, unnest: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of UNNEST: of several arrays, each has a column, which their position may follow."""
        made = all_of(*self._values.call(unnest, scope))
        arrays, offset = unnest.expressions, unnest.args.get("offset")
        named = [*getattr(unnest.args.get("alias"), "columns", ()), offset]
        names = [self._dialect.spelled(each) for each in named if isinstance(each, exp.Identifier)]
        if 1 < len(arrays) <= len(names) <= len(arrays) + bool(offset):
            values = [self._effort.composed(self._values.of(each, scope), UseKind.TRANSFORMATION) for each in arrays]
            pairs = zip(names, [*values, made], strict=False)
            return SourceRows([ResultColumn(name, sources) for name, sources in pairs])
        return SourceRows([ResultColumn(each, made) for each in self._elements(unnest)], made)

    def _path(self, table: Any, scope: SelectScope) -> Any:
        """Return the column that an item of FROM names after the name of an earlier item: `FROM t o, o.items`."""
        first, *others = [part for part in table.parts if isinstance(part, exp.Identifier)]
        key = self._dialect.key(first.name)
        if not others or key not in scope.named or self.table_name(table) in self._columns:
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
        made = self._effort.composed(self._values.of(path, scope), UseKind.TRANSFORMATION)
        mark = self._values.marks.mark(made)
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

    def is_cte(self, table: Any, scope: SelectScope) -> bool:
        """Return whether the name of a table is that of a common table expression."""
        return not table.args.get("db") and self._dialect.key(table.name) in scope.ctes

    def table_name(self, table: Any) -> str:
        """Return the name of a table."""
        written = self._dialect.written if self._keeps_quotes else lambda part: str(part.name)
        return ".".join(map(written, table.parts))

    def _function(self, function: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of a function in FROM, whose arguments decide how many there are, and of what."""
        name = function_name(function)
        if name in _GENERATORS:
            return SourceRows([], all_of(*self._values.call(function, scope)))
        if name == "dictionary" and (table := name_in(function.expressions[:1])):
            self._values.tables[table] = None
            return SourceRows([ResultColumn(None, table=table)])
        sources, mark = self._values.call(function, scope)
        if self._dialect.name == "snowflake" and (columns := _OF_SNOWFLAKE.get(plain_name(function))):
            made = all_of(sources, mark)
            return SourceRows([ResultColumn(each, made) for each in columns])
        # A function without arguments from tables may read a table itself.
        return SourceRows([], all_of(sources, mark) if sources else None)

    def _generated(self, lateral: Any, scope: SelectScope) -> SourceRows:
        """Return the rows of a function such as explode after LATERAL VIEW, or in a FROM."""
        names = [self._dialect.spelled(each) for each in getattr(lateral.args.get("alias"), "columns", ())]
        sources, mark = self._values.call(lateral.this, scope)
        if not names:
            return SourceRows([], all_of(sources, mark))
        return SourceRows(self._values.made(lateral.this, names, mark, scope))
