"""The tables that scripts can read and write: declared by DDL, created by earlier statements, or from a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.datasets.naming import is_absolute
from openlineage_pyspark.workbench.predict.tables.iceberg_metadata import columns_of_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.facets.model.dataset import Identifier

SPARK_CATALOG = "spark_catalog"
"""The name of Spark's own catalog."""

_LEAST_PARTS = 3

Parts = tuple[str, ...]
"""The name of a table: its catalog, its database and its own name."""


@attrs.frozen
class DeclaredTable:
    """
    A table with known columns.

    Args:
        parts: its catalog, the parts of its database, and its name.
        columns: its columns in order: each name with its type in DDL.
        partitions: the columns by which it is partitioned.
        identifier: its identity in the store from which it is known; None without a store.
        computed: the columns that the engine computes from the others with each write: each name with its expression.
    """

    parts: Parts
    columns: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...] = ()
    identifier: Identifier | None = None
    computed: tuple[tuple[str, str], ...] = ()

    @property
    def ddl(self) -> str:
        """Return the columns in the form of DDL, without the parentheses."""
        return ", ".join(f"{in_backticks(name)} {type_}" for name, type_ in self.columns)

    @property
    def key(self) -> Parts:
        """Return what Spark distinguishes it by."""
        return name_key(self.parts)

    def with_column(self, added: tuple[str, str], behind: str | None = None) -> DeclaredTable:
        """
        Return the table with a further column.

        Args:
            added: the column, with its type.
            behind: the column after which it is added; empty for the first position, None for the last one.
        """
        names = [name.lower() for name, _ in self.columns]
        at = len(names) if behind is None else names.index(behind.lower()) + 1 if behind.lower() in names else 0
        return attrs.evolve(self, columns=(*self.columns[:at], added, *self.columns[at:]))

    def without_columns(self, dropped: Iterable[str]) -> DeclaredTable:
        """Return the table without some columns."""
        gone = {name.lower() for name in dropped}
        columns, computed = (
            tuple(each for each in of if each[0].lower() not in gone) for of in (self.columns, self.computed)
        )
        return attrs.evolve(self, columns=columns, computed=computed)

    def with_renamed_column(self, old: str, new: str) -> DeclaredTable:
        """Return the table with a renamed column."""
        columns, computed = (
            tuple((new if name.lower() == old.lower() else name, rest) for name, rest in of)
            for of in (self.columns, self.computed)
        )
        return attrs.evolve(self, columns=columns, computed=computed)


class DeclaredTables:
    """
    Tables by their names. A name from a store may lack its catalog or its database.

    Args:
        tables: the tables that are known before the first statement.
    """

    def __init__(self, tables: Iterable[DeclaredTable] = ()) -> None:
        self._tables: dict[Parts, DeclaredTable] = {}
        self._ends: dict[str, list[Parts]] = {}
        for table in tables:
            self.put(table)
        self._given = dict(self._tables)

    def is_given(self, table: DeclaredTable) -> bool:
        """Return whether a table was known before the first statement, and was not declared since."""
        return self._given.get(table.key) is table

    def __iter__(self) -> Iterator[DeclaredTable]:
        """Yield the tables."""
        return iter(self._tables.values())

    def put(self, table: DeclaredTable) -> None:
        """Declare a table; it replaces an earlier one of this name."""
        if table.key not in self._tables:
            self._ends.setdefault(table.key[-1], []).append(table.key)
        self._tables[table.key] = table

    def drop(self, parts: Parts) -> None:
        """Forget a table."""
        if self._tables.pop(name_key(parts), None) is not None:
            self._ends[name_key(parts)[-1]].remove(name_key(parts))

    def get(self, parts: Parts) -> DeclaredTable | None:
        """
        Return the table of a full name; None if there is none.

        A name from a store may have fewer parts: of the names that are an end of the full name, the longest one counts.
        The metadata tables of a known table, such as `lake.db.t.snapshots`, are known too.
        """
        key = name_key(parts)
        if key in self._tables:
            return self._tables[key]
        ends = [each for each in self._ends.get(key[-1], ()) if key[-len(each) :] == each and len(each) < len(key)]
        return self._tables[max(ends, key=len)] if ends else self._metadata(parts)

    def _metadata(self, parts: Parts) -> DeclaredTable | None:
        """Return the metadata table of a full name: Iceberg has some for each table; None for any other name."""
        columns = columns_of_metadata(parts[-1]) if len(parts) > _LEAST_PARTS else None
        table = None if columns is None else self.get(parts[:-1])
        if columns is None or table is None:
            return None
        of = table.identifier
        identifier = None if of is None else attrs.evolve(of, name=f"{of.name}#{parts[-1].lower()}")
        return DeclaredTable(parts, columns, identifier=identifier)


def name_key(parts: Parts) -> Parts:
    """Return a name in lower case, except for a path in it: Spark distinguishes paths by case."""
    return tuple(part if is_absolute(part) else part.lower() for part in parts)


def in_backticks(name: str) -> str:
    """Return a name in backquotes."""
    return f"`{name.replace('`', '``')}`"
