"""
Resolve the names in a query: which table, column and alias of which SELECT each one means.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
from openlineage_pyspark.facets.foreign_sql.dialects import ForeignDialect
from openlineage_pyspark.facets.foreign_sql.effort import Effort
from openlineage_pyspark.facets.foreign_sql.rows import (
    ABSENT,
    MADE,
    SAME,
    ResultColumn,
    SourceColumn,
    SourceKinds,
    SourceRows,
    all_of,
    part_of,
)
from openlineage_pyspark.facets.foreign_sql.trees import argument
from openlineage_pyspark.facets.model.lineage import UseKind
from sqlglot import exp

# A catalog, a schema and a table.
_MOST_PARTS = 3


@attrs.frozen
class Pending:
    """A common table expression that nothing has read yet, and the scope that it sees."""

    cte: Any
    scope: SelectScope
    is_recursive: bool


@attrs.define
class SelectScope:
    """The meanings of the names in one SELECT."""

    outer: SelectScope | None
    ctes: dict[str, SourceRows | Pending]
    rows: list[SourceRows] = attrs.Factory(list)
    named: dict[str, SourceRows] = attrs.Factory(dict)
    arrays: dict[str, SourceKinds | None] = attrs.Factory(dict)
    aliases: dict[str, Any] = attrs.Factory(dict)
    earlier: dict[str, Any] = attrs.Factory(dict)
    scalars: dict[str, Any] = attrs.Factory(dict)
    windows: dict[str, Any] = attrs.Factory(dict)
    using: dict[str, list[SourceRows]] = attrs.Factory(dict)
    merged: dict[str, list[SourceRows]] = attrs.Factory(dict)
    spelled: dict[str, str] = attrs.Factory(dict)
    is_natural: bool = False
    decides: list[SourceKinds | None] = attrs.Factory(list)
    solving: set[str] = attrs.Factory(set)
    may_be_outer: bool = False
    solved: dict[str, SourceKinds | None] = attrs.Factory(dict)


class ScopeNames:
    """
    The meanings of the names in the scopes of one query.

    Args:
        dialect: how the database reads names.
        effort: counts the work.
        value: returns the sources of an expression in a scope: a name may be an alias of one.

    Attributes:
        proven: the columns that tables must have, because a name can't mean anything else.
    """

    def __init__(
        self, dialect: ForeignDialect, effort: Effort, value: Callable[[Any, SelectScope], SourceKinds | None]
    ) -> None:
        self.dialect = dialect
        self.effort = effort
        self.proven: set[SourceColumn] = set()
        # Tables and the compared form of their columns -> the spelling of these.
        self._spellings: dict[SourceColumn, str] = {}
        self._key = dialect.key
        self._value = value

    def column(self, column: Any, scope: SelectScope) -> SourceKinds | None:
        """Return the sources of a column's name; None if it could be in more than one place."""
        if not isinstance(column.this, exp.Identifier):
            return {} if isinstance(column.parent, exp.Count) else None
        parts = [part for key in ("catalog", "db", "table", "this") if (part := column.args.get(key)) is not None]
        names = [self.dialect.spelled(part) for part in parts]
        if len(names) == 1:
            row = self._row(self._key(names[0]), scope) if self.dialect.takes_row(column) else ABSENT
            return self._bare(parts[0], scope) if row is ABSENT else row
        # The names after the table's are a column and its fields; without a table, all of them are.
        for at in range(min(len(names) - 1, _MOST_PARTS), 0, -1):
            rows = self.table(scope, self._key(".".join(names[:at])))
            if rows is None and at > 1 and self.table(scope, self._key(names[0])) is None:
                # The table may be written without its schema.
                rows = self.table(scope, self._key(names[at - 1])) if at == len(names) - 1 else None
            if rows is not None:
                may_be_field = at == 1 and self._may_be_field(names, rows, scope)
                return None if may_be_field else self._of_rows(rows, names[at:])
        return self._field(parts, names, scope)

    def _may_be_field(self, names: list[str], table: SourceRows, scope: SelectScope) -> bool:
        """Return whether `a.b` may be a field of a column `a` that another item of FROM has beside a table `a`."""
        if not self.dialect.has_fields or not table.is_open or table.has(self._key(names[1]), self._key):
            return False
        column = self._key(names[0])
        return any(rows.has(column, self._key) for rows in scope.rows if rows is not table)

    def table(self, scope: SelectScope | None, key: str) -> SourceRows | None:
        """Return the rows of the table with a name, in a scope or an outer one; None if none has the name."""
        while scope is not None:
            if key in scope.named:
                return scope.named[key]
            scope = scope.outer
        return None

    def named(self, rows: SourceRows, name: str) -> Any:
        """Return the sources of a column of one table; `ABSENT` if it has no such column."""
        found = rows.columns(self._key(name), self._key)
        self.effort.count(1)
        if found:
            return found[0].kinds if len(found) == 1 else None
        if self._key(name) in rows.used:
            used = rows.used[self._key(name)]
            return used and self._as_written(used, name)
        if rows.every is not ABSENT or not rows.tables:
            return rows.every
        if len(rows.tables) > 1:
            return None
        made = self._as_written({(rows.tables[0], name): SAME}, name)
        self.proven.update(made)
        return made

    def _as_written(self, sources: SourceKinds, name: str) -> SourceKinds:
        """Return sources in which a column of a table has one spelling, the first one, however often it is named."""
        key = self._key(name)
        return {
            (table, self._spellings.setdefault((table, key), name) if self._key(column) == key else column): kinds
            for (table, column), kinds in sources.items()
        }

    def item(self, column: Any, scope: SelectScope) -> ResultColumn | None:
        """Return the column of a subquery that a name means; None for all other names."""
        if not isinstance(column.this, exp.Identifier) or column.args.get("db") is not None:
            return None
        key = self._key(self.dialect.spelled(column.this))
        qualifier = self._key(column.table)
        chosen = [scope.named[qualifier]] if qualifier in scope.named else scope.rows if not qualifier else []
        found = [item for rows in chosen for item in rows.columns(key, self._key)]
        return found[0] if len(found) == 1 else None

    def star(self, scope: SelectScope, qualifier: str | None, star: Any) -> SourceRows:
        """Return all columns of the tables in a scope, or of one of them."""
        chosen, merged, found = scope.rows, scope.merged, list[ResultColumn]()
        if qualifier is None:
            found += [ResultColumn(self._shared_name(scope, key), self.shared(scope, key)) for key in scope.using]
        else:
            named = self.table(scope, self._key(qualifier))
            chosen, merged = [named if named is not None else SourceRows([], None)], {}
        for rows in chosen:
            own = {key for key, sides in merged.items() if any(each is rows for each in sides)}
            found += [each for each in rows.items if each.name is None or self._key(each.name) not in own]
        left_out = {self._key(each.name) for each in argument(star, "except") or ()}
        items = [each for each in found if each.name is None or self._key(each.name) not in left_out]
        self.effort.count(len(items))
        changed = any(argument(star, key) for key in ("replace", "rename", "ilike"))
        items = self._changed(items, star, scope) if changed else items
        natural = scope.is_natural and qualifier is None
        unknown = changed or natural or any(rows.every is not ABSENT for rows in chosen)
        used = {} if changed else _used_once(chosen, {*left_out, *merged})
        return SourceRows(items, None if unknown else ABSENT, used=used)

    def _changed(self, items: list[ResultColumn], star: Any, scope: SelectScope) -> list[ResultColumn]:
        """Return the columns of a star with other values or names, as far as it is known which of them it returns."""
        if argument(star, "ilike"):
            return []
        values = {self._key(each.alias): each.this for each in argument(star, "replace") or ()}
        names = {
            self._key(each.this.name): self.dialect.spelled(each.args.get("alias"))
            for each in argument(star, "rename") or ()
        }
        made = []
        for each in items:
            key = "" if each.name is None else self._key(each.name)
            if key in values:
                made.append(ResultColumn(each.name, self._value(values[key], scope)))
            else:
                made.append(attrs.evolve(each, name=names[key]) if key in names else each)
        return made

    def shared(self, scope: SelectScope, key: str) -> SourceKinds | None:
        """Return the sources of a column that joined tables have in common."""
        sides = [self.named(rows, key) for rows in scope.using[key]]
        if len(sides) == 1:
            return sides[0]  # type: ignore[no-any-return]
        # The first of them that is not NULL.
        return all_of(self.effort.joined(sides, UseKind.TRANSFORMATION), self.effort.joined(sides, UseKind.CONDITIONAL))

    def _shared_name(self, scope: SelectScope, key: str) -> str:
        """Return the name of a column that joined tables have in common: that of the first one, if it is known."""
        named = (each.name for rows in scope.using[key] for each in rows.columns(key, self._key))
        return next(filter(None, named), scope.spelled[key])

    def holders(self, rows: list[SourceRows], key: str) -> list[SourceRows]:
        """Return the table that has a column, which one of these must have; unknown rows if several may have it."""
        certain = [each for each in rows if each.has(key, self._key)]
        found = certain or [each for each in rows if each.is_open]
        return found if len(found) == 1 else [SourceRows([], None)]

    def is_certain(self, column: Any, scope: SelectScope) -> bool:
        """Return whether a table in a scope certainly has a column of a name."""
        key = self._key(column.name)
        return key in scope.using or any(rows.has(key, self._key) for rows in scope.rows)

    def qualifies(self, conditions: Iterable[Any], scope: SelectScope) -> bool:
        """Return whether conditions name a table of an outer query; then a name without a table is not an outer one."""
        columns = (each for each in self.effort.walk(conditions) if isinstance(each, exp.Column) and each.table)
        return any(
            self._key(each.table) not in scope.named and self.table(scope, self._key(each.table)) is not None
            for each in columns
        )

    def reads(self, value: Any, name: str, scope: SelectScope) -> bool:
        """Return whether an expression reads a column of this name, which is then a table's column."""
        columns = (each for each in self.effort.walk([value]) if isinstance(each, exp.Column))
        # The first part of a field's name is not a table.
        named = (each.name for each in columns if not each.table or self._key(each.table) in scope.named)
        return any(self._key(each) == self._key(name) for each in named)

    def _of_rows(self, rows: SourceRows, names: list[str]) -> SourceKinds | None:
        """Return the sources of a column of one table, perhaps with a field of it."""
        if self.dialect.is_clickhouse:
            found = self.named(rows, ".".join(names))
            return None if found is ABSENT else found
        found = self.named(rows, names[0])
        if found is ABSENT or found is None or len(names) == 1:
            return None if found is ABSENT else found
        return self._field_of(rows.columns(self._key(names[0]), self._key), found, names[1:])

    def _field_of(self, items: list[ResultColumn], found: SourceKinds, names: list[str]) -> SourceKinds | None:
        """Return the sources of a field of a column."""
        fields = dict(items[0].fields) if len(items) == 1 else {}
        if fields:
            taken = next((kinds for name, kinds in fields.items() if self._key(name) == self._key(names[0])), None)
            return taken if len(names) == 1 else self.effort.composed(part_of(taken), UseKind.TRANSFORMATION)
        return self.effort.composed(part_of(found), UseKind.TRANSFORMATION)

    def _field(self, parts: list[Any], names: list[str], scope: SelectScope) -> SourceKinds | None:
        """Return the sources of `column.field`."""
        found = self._bare(parts[0], scope) if self.dialect.has_fields else None
        if found is None:
            return None
        if not self.dialect.is_clickhouse:
            items = [item for rows in scope.rows for item in rows.columns(self._key(names[0]), self._key)]
            return self._field_of(items, found, names[1:])
        # Each field of a nested table is a separate column.
        return {(table, ".".join([column, *names[1:]])): MADE for table, column in found}

    def _bare(self, identifier: Any, scope: SelectScope | None) -> SourceKinds | None:
        """Return the sources of a name without a table."""
        if self.dialect.is_no_column(identifier):
            return {}
        name = self.dialect.spelled(identifier)
        while scope is not None:
            found = self._within(scope, name)
            if found is not ABSENT:
                return found  # type: ignore[no-any-return]
            scope = scope.outer
        return None

    def _within(self, scope: SelectScope, name: str) -> Any:
        """Return the sources of a name in one scope, without outer ones; `ABSENT` if nothing there has it."""
        key = self._key(name)
        if key in scope.arrays:
            return scope.arrays[key]
        for expressions, wins in ((scope.scalars, True), (scope.aliases, self.dialect.is_clickhouse)):
            if wins and key in expressions and key not in scope.solving:
                return self._alias(scope, key, expressions[key])
        explicit = [rows for rows in scope.rows if rows.has(key, self._key)]
        others = [rows for rows in scope.rows if rows.is_open]
        if key in scope.using:
            return self.shared(scope, key)
        if explicit:
            return self.named(explicit[0], name) if len(explicit) == 1 else None
        if key in scope.aliases and key not in scope.solving:
            return self._alias(scope, key, scope.aliases[key])
        if key in scope.earlier:
            # A table with unknown columns may have it, and takes precedence.
            return None if others else self._alias(scope, key, scope.earlier[key])
        return self._guessed(scope, name, others)

    def _guessed(self, scope: SelectScope, name: str, others: list[SourceRows]) -> Any:
        """Return the sources of a name that nothing in a scope certainly has, if only one of its tables may have it."""
        function = scope.named.get(self._key(name))
        if function is not None and not function.items and function.every is not ABSENT:
            return function.every
        if not others:
            return ABSENT
        if len(others) > 1 or self._may_have(scope.outer, name, certainly=not scope.may_be_outer):
            return None
        return self.named(others[0], name)

    def _row(self, key: str, scope: SelectScope) -> Any:
        """Return the sources of a whole row, None if its columns are unknown; `ABSENT` if a name is not a table's."""
        rows = self.table(scope, key)
        if rows is None or not rows.items or any(each.has(key, self._key) for each in scope.rows):
            return ABSENT
        if rows.is_open:
            return None
        return self.effort.joined([item.kinds for item in rows.items], UseKind.TRANSFORMATION)

    def _may_have(self, scope: SelectScope | None, name: str, *, certainly: bool) -> bool:
        """
        Return whether a name may mean a column of an outer query.

        Args:
            scope: the scope of the outer query.
            name: the name.
            certainly: whether to count only columns that certainly exist; a condition more often reads both queries.
        """
        key = self._key(name)
        while scope is not None:
            is_open = not certainly and any(rows.is_open for rows in scope.rows)
            if is_open or key in scope.using or any(rows.has(key, self._key) for rows in scope.rows):
                return True
            scope = scope.outer
        return False

    def _alias(self, scope: SelectScope, key: str, expression: Any) -> SourceKinds | None:
        """Return the sources of another expression of the same SELECT, which is solved once."""
        if key not in scope.solved:
            scope.solving.add(key)
            scope.solved[key] = self._value(expression, scope)
            scope.solving.discard(key)
        return scope.solved[key]


def _used_once(tables: Sequence[SourceRows], left_out: set[str]) -> dict[str, SourceKinds]:
    """Return the further columns that only one of the tables has, by their names, without those that are left out."""
    keys = Counter(key for rows in tables for key in rows.used)
    return {
        key: sources for rows in tables for key, sources in rows.used.items() if keys[key] == 1 and key not in left_out
    }
