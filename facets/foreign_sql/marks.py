"""
Marks for functions such as explode, which decide how many rows there are.

A mark is passed on like a source, so that the result shows whether each of its columns comes from the function.
"""

from __future__ import annotations

from collections.abc import Collection

import attrs
from openlineage_pyspark.facets.foreign_sql.rows import (
    GENERATED,
    SourceColumn,
    SourceKinds,
    SourceRows,
    all_of,
    by_rows,
    real_sources,
)
from openlineage_pyspark.facets.model.lineage import UseKind


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
