"""
Find the sources of expressions, and read the queries in them.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

import attrs
from openlineage_pyspark.facets.foreign_sql.dialects import ForeignDialect, looked_up
from openlineage_pyspark.facets.foreign_sql.effort import Effort
from openlineage_pyspark.facets.foreign_sql.expressions import is_field, struct_fields
from openlineage_pyspark.facets.foreign_sql.from_clause import generated, multiplies
from openlineage_pyspark.facets.foreign_sql.rows import (
    GENERATED,
    MADE,
    ResultColumn,
    SourceColumn,
    SourceKinds,
    SourceRows,
    all_of,
    by_rows,
    part_of,
    real_sources,
)
from openlineage_pyspark.facets.foreign_sql.scopes import Pending, ScopeNames, SelectScope
from openlineage_pyspark.facets.foreign_sql.trees import QUERIES, arguments_of, inner_query, plain_name
from openlineage_pyspark.facets.model.lineage import UseKind
from sqlglot import exp

# Marks for functions such as explode, which decide how many rows there are.
# A mark is passed on like a source, so that the result shows whether each of its columns comes from the function.


@attrs.define
class RowMarks:
    """The marks in one query, each with the sources of its function."""

    _sources: list[SourceKinds | None] = attrs.Factory(list)

    def mark(self, sources: SourceKinds | None) -> SourceColumn:
        """Return a new mark, for a function with these sources."""
        self._sources.append(sources)
        return GENERATED, str(len(self._sources) - 1)

    def resolved(self, found: SourceRows) -> SourceRows:
        """Return the result of a query, with sources instead of marks."""
        made = [_marks(each.kinds or {}, direct=True) for each in found.items]
        whole = set.intersection(*made) if made else set()
        items = [
            attrs.evolve(each, kinds=None if each.kinds is None else self._unmarked(each.kinds, set()))
            for each in found.items
        ]
        rows = None if found.rows is None else dict(self._unmarked(found.rows, whole))
        return attrs.evolve(found, items=items, rows=rows)

    def _unmarked(self, kinds: SourceKinds, whole: Collection[SourceColumn]) -> SourceKinds:
        """
        Return sources without marks, but with the sources that decide how many rows there are.

        Args:
            kinds: the sources.
            whole: the marks of functions that return a part of every column: the edges of the columns show it already.
        """
        marks = _marks(kinds)
        decides = []
        for mark in marks:
            sources = self._sources[int(mark[1])]
            # A value that the function returns has its sources already; a condition on such a value gets them here.
            found = [
                each for each in kinds[mark] if not each.direct and (each is not UseKind.GENERATE or mark not in whole)
            ]
            decides += [by_rows(sources, UseKind.JOIN if each is UseKind.GENERATE else each) or {} for each in found]
        return real_sources(all_of(kinds, *decides) or {}) if marks else kinds


def _marks(kinds: SourceKinds, *, direct: bool = False) -> set[SourceColumn]:
    """Return the marks among sources; `direct` selects those of functions that return a value."""
    return {each for each in kinds if each[0] == GENERATED and (not direct or any(kind.direct for kind in kinds[each]))}


class ValueSources:
    """
    The sources of the expressions in one query.

    Args:
        dialect: how the database reads names.
        query: returns the rows of a query in an expression.
    """

    def __init__(
        self,
        dialect: ForeignDialect,
        query: Callable[[Any, SelectScope | None, dict[str, SourceRows | Pending]], SourceRows],
    ) -> None:
        self.dialect = dialect
        self.query = query
        self.effort = Effort()
        self.names = ScopeNames(dialect, self.effort, self.of)
        self.marks = RowMarks()
        self.tables: dict[str, None] = {}
        """The tables that are read so far, anywhere in the query."""
        self.loses_rows = False
        """Whether the influences on the rows of a query in an expression are unknown."""

    def of(self, value: Any, scope: SelectScope) -> SourceKinds | None:
        """Return the sources of an expression, with the kinds of their influence."""
        while isinstance(value, exp.Paren):
            value = value.this
        if isinstance(value, exp.Column):
            return self.names.column(value, scope)
        parts: list[SourceKinds | None] = []
        for node, kind in self.effort.parts(value):
            if isinstance(node, exp.Column):
                is_column = not self.dialect.names_dictionary(node)
                parts.append(self.effort.composed(self.names.column(node, scope), kind) if is_column else {})
            elif is_field(node):
                parts.append(self.effort.composed(self._dotted(node, scope), kind))
            elif isinstance(node, QUERIES):
                parts += self._queried(node, kind, scope)
            elif self.dialect.names_no_column(node):
                parts.append(None)
            elif isinstance(node, exp.Window) and self.dialect.key(node.alias) in scope.windows:
                # The name of a window, alone after OVER or at the beginning of its brackets.
                window = scope.windows[self.dialect.key(node.alias)]
                parts.append(self.effort.composed(self.of(window, scope), UseKind.WINDOW))
            elif self.dialect.is_clickhouse:
                parts.append(self.effort.composed(self.dictionary(node), kind))
        return self.effort.all(parts)

    def _queried(self, query: Any, kind: UseKind, scope: SelectScope) -> Iterator[SourceKinds | None]:
        """Yield the sources of a query in an expression that makes this kind of use of its value."""
        rows = self.query(query, scope, scope.ctes)
        yield from (self.effort.composed(item.kinds, kind) for item in rows.items)
        if rows.tables or rows.every is None:
            yield None
        self.loses_rows = self.loses_rows or rows.rows is None
        yield self.effort.composed(rows.rows or {}, kind)

    def _dotted(self, dot: Any, scope: SelectScope) -> SourceKinds | None:
        """Return the sources of a field of an expression."""
        if isinstance(dot.this, exp.Identifier):
            # What is before the name of a method is no tree of a column. It may also be that of a schema.
            is_column = self.names.table(scope, self.dialect.key(dot.this.name)) is not None
            made = exp.Column(this=dot.expression.copy(), table=dot.this.copy())
            return self.names.column(made, scope) if is_column else {}
        for name, value in struct_fields(dot.this):
            if self.dialect.key(name) == self.dialect.key(dot.name):
                return self.of(value, scope)
        return self.effort.composed(part_of(self.of(dot.this, scope)), UseKind.TRANSFORMATION)

    def dictionary(self, node: Any) -> SourceKinds | None:
        """Return the columns that ClickHouse's dictGet and joinGet look up in another table; none for other nodes."""
        found = looked_up(node)
        if found is None:
            return {}
        table, columns = found
        if table is None:
            return None
        self.tables[table] = None
        return {(table, column): MADE for column in columns}

    def conditions(self, values: Iterable[Any], scope: SelectScope) -> None:
        """Read the queries in conditions: their columns are not sources of columns, but their tables are inputs."""
        for node in self.effort.walk(values):
            if isinstance(node, QUERIES) and isinstance(inner_query(node), QUERIES):
                self.query(node, scope, scope.ctes)
            elif self.dialect.is_clickhouse:
                self.dictionary(node)

    def call(self, function: Any, scope: SelectScope) -> tuple[SourceKinds | None, SourceKinds]:
        """Return the sources of a function such as explode, and a mark for the columns that it returns."""
        sources = self.of(function, scope)
        if not multiplies(plain_name(function), arguments_of(function)):
            return sources, {}
        mark = self.marks.mark(sources)
        scope.decides.append(None if sources is None else {mark: frozenset((UseKind.GENERATE,))})
        return sources, {mark: MADE}

    def fields(self, value: Any, scope: SelectScope) -> tuple[tuple[str, SourceKinds | None], ...]:
        """Return the fields of the struct that an expression builds, with their sources; none for any other."""
        return tuple((name, self.of(part, scope)) for name, part in struct_fields(value))

    def made(self, function: Any, names: list[str], mark: SourceKinds, scope: SelectScope) -> list[ResultColumn]:
        """Return the columns that a function such as explode returns."""
        made = generated(plain_name(function), arguments_of(function), names, partial(self.of, scope=scope))
        return [attrs.evolve(each, kinds=all_of(each.kinds, mark)) for each in made]

    def projected(self, value: Any, scope: SelectScope) -> SourceKinds | None:
        """Return the sources of a column of a SELECT, which a function such as explode may return."""
        return all_of(*self.call(value, scope)) if self.dialect.makes_columns(value) else self.of(value, scope)
