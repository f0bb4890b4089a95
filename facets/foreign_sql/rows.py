"""The rows of a table, a subquery or a query: columns with their sources, and the influences on the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs
from openlineage_pyspark.facets.model.lineage import UseKind

SourceColumn: TypeAlias = tuple[str, str]
"""The names of a table and of a column in it."""
SourceColumns: TypeAlias = Mapping[SourceColumn, bool]
"""Source column -> whether its value arrives unchanged."""
SourceKinds: TypeAlias = Mapping[SourceColumn, frozenset[UseKind]]
"""Source column -> the kinds of its influence."""
SAME = frozenset((UseKind.IDENTITY,))
"""The kinds of a copy's source."""
MADE = frozenset((UseKind.TRANSFORMATION,))
"""The kinds of a computed value's source."""
OF_ROWS = frozenset((UseKind.FILTER, UseKind.JOIN, UseKind.GROUP_BY, UseKind.SORT, UseKind.GENERATE))
"""The kinds of influence on rows alone."""


@attrs.frozen
class ResultColumn:
    """
    A column of a result, or all columns of a table.

    Args:
        name: the name of the column, as the database spells it; None for all columns of `table`.
        kinds: the source columns, with the kinds of their influence; None if they are unknown.
        table: the table whose columns these are, under their own names; None if this is one column.
        text: the expression, in terms of the columns of tables; empty for an unchanged column, or if it is unknown.
        fields: the fields of a struct that the query builds, with their sources.
    """

    name: str | None
    kinds: SourceKinds | None = None
    table: str | None = None
    text: str = ""
    fields: tuple[tuple[str, SourceKinds | None], ...] = ()

    @property
    def sources(self) -> SourceColumns | None:
        """The source columns, without those that only influence the rows of a subquery; None if they are unknown."""
        if self.kinds is None:
            return None
        return {source: UseKind.IDENTITY in kinds for source, kinds in self.kinds.items() if kinds - OF_ROWS}


GENERATED = "\0generated"
"""The table in the marks of functions such as explode; no real table has this name."""
ABSENT: Any = object()
"""The sources of a name that does not exist."""


@attrs.define
class SourceRows:
    """
    The rows of a table, a subquery or a function in FROM.

    Args:
        items: its columns.
        every: the sources of each column that is not among the items; None if they are unknown, and `ABSENT` if
            there are no others.
        rows: the sources that influence its rows, with the kinds of their influence; None if not all are known.
        used: some of the columns that are not among the items, by their names.
    """

    items: list[ResultColumn]
    every: Any = ABSENT
    rows: SourceKinds | None = attrs.Factory(dict)
    used: Mapping[str, SourceKinds] = attrs.Factory(dict)

    def has(self, key: str, keyed: Any) -> bool:
        """Return whether a column with a name is certainly there."""
        return key in self.used or bool(self.columns(key, keyed))

    def columns(self, key: str, keyed: Any) -> list[ResultColumn]:
        """Return the columns with a name."""
        return [item for item in self.items if item.name is not None and keyed(item.name) == key]

    @property
    def tables(self) -> list[str]:
        """The tables whose columns are passed on under their own names."""
        return [item.table for item in self.items if item.table is not None]

    @property
    def is_open(self) -> bool:
        """Whether there may be columns that are not among the items."""
        return bool(self.tables) or self.every is not ABSENT


def by_rows(sources: SourceKinds | None, kind: UseKind) -> SourceKinds | None:
    """Return sources as influences of this kind on rows."""
    return None if sources is None else dict.fromkeys(sources, frozenset([kind]))


def all_of(*parts: SourceKinds | None) -> SourceKinds | None:
    """Return the union of sources, with their own kinds; None if one of them is unknown."""
    found: dict[SourceColumn, frozenset[UseKind]] = {}
    for part in parts:
        if part is None:
            return None
        for source, kinds in part.items():
            found[source] = found.get(source, frozenset()) | kinds
    return found


def real_sources(kinds: SourceKinds) -> SourceKinds:
    """Return sources without the marks of functions such as explode."""
    return {source: each for source, each in kinds.items() if source[0] != GENERATED}


def part_of(sources: SourceKinds | None) -> SourceKinds | None:
    """Return the sources of a part of a value; None if there are several, as each may be in another part."""
    return sources if sources is not None and len(real_sources(sources)) <= 1 else None
