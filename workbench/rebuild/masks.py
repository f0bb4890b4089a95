"""Find values that arrive unmasked in a table in which they were masked before, in any column."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.model.graph import Path
    from openlineage_pyspark.workbench.questions.changes import PlacedGraph

ColumnPlace = tuple[str, str]
"""A table and a column."""


def unmasked_values(before: PlacedGraph, after: PlacedGraph) -> tuple[tuple[ColumnPlace, ColumnPlace], ...]:
    """
    Return the columns whose values now arrive unmasked in a table, but were masked on every path into it before.

    Args:
        before: the earlier state.
        after: the later one.

    Returns:
        Each column with the column in which its value arrives, in the order of their names.
    """
    masked = {before.places[edge.source] for edge in before.graph.edges if any(map(_is_masked, edge.paths))}
    known, open_before, open_after = _below(before, _is_value), _below(before, _is_open), _below(after, _is_open)
    found = []
    for source in sorted(masked):
        arrived = {table for table, _ in _downstream(source, known)}
        unmasked_before = {table for table, _ in _downstream(source, open_before)}
        tables = arrived - unmasked_before - {source[0]}
        found += [(source, target) for target in sorted(_downstream(source, open_after)) if target[0] in tables]
    return tuple(found)


def _below(state: PlacedGraph, counts: Callable[[Path], bool]) -> Mapping[ColumnPlace, set[ColumnPlace]]:
    found: dict[ColumnPlace, set[ColumnPlace]] = {}
    for edge in state.graph.edges:
        source, target = state.places[edge.source], state.places[edge.target]
        if target[1] and any(map(counts, edge.paths)):
            found.setdefault(source, set()).add(target)
    return found


def _downstream(start: ColumnPlace, below: Mapping[ColumnPlace, set[ColumnPlace]]) -> set[ColumnPlace]:
    found: set[ColumnPlace] = set()
    pending = [start]
    while pending:
        more = below.get(pending.pop(), set()) - found
        found |= more
        pending += more
    return found


def _is_value(path: Path) -> bool:
    return not path.kind.is_influence


def _is_masked(path: Path) -> bool:
    return _is_value(path) and path.kind.masking


def _is_open(path: Path) -> bool:
    return _is_value(path) and not path.kind.masking
