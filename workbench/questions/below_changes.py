"""What a store has downstream of changed columns and datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.errors import AmbiguousNameError, NameNotFoundError
from openlineage_pyspark.workbench.questions.oddities import bounded
from openlineage_pyspark.workbench.questions.reach.reach import Direction, Limits, reach
from openlineage_pyspark.workbench.store.names import QueriedTables, datasets, find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.workbench.questions.reach.reach import Place


def downstream_of(
    tables: QueriedTables, places: Mapping[tuple[str, str], int]
) -> tuple[dict[tuple[str, str], int], tuple[str, ...]]:
    """
    Return what a store has downstream of columns that are given by their names.

    Args:
        tables: the store.
        places: the name of a dataset and a column, which is empty for the dataset -> how many jobs it is away.

    Returns:
        Each further dataset and column -> how many jobs it is away; and why some name could not be looked up. A name
        that the store does not have at all is no problem: nothing is made from it there.
    """
    found: dict[tuple[str, str], int] = {}
    uncertain: dict[str, None] = {}
    known: dict[str, int | None] = {}
    limits = bounded(tables, Limits())
    for (name, column), away in sorted(places.items(), key=lambda each: (each[1], each[0])):
        if name not in known:
            try:
                known[name] = find(tables, name).dataset.id
            except NameNotFoundError as problem:
                known[name] = None
                if isinstance(problem, AmbiguousNameError):
                    uncertain[str(problem)] = None
        id_ = known[name]
        if id_ is None:
            continue
        depths = reach(tables, [(id_, column)], Direction.DOWNSTREAM, limits, by_columns=bool(column)).depths
        labels = datasets(tables, (place[0] for place in depths))
        for (below, field), depth in depths.items():
            place = (labels[below].label, field)
            if depth and place not in places:
                found[place] = min(away + depth, found.get(place, away + depth))
    return found, tuple(uncertain)


def downstream_of_changes(tables: QueriedTables, columns: set[Place], made: set[Place]) -> tuple[tuple[str, int], ...]:
    """Return everything downstream of columns and of whole datasets, nearest first."""
    found: dict[Place, int] = {}
    limits = bounded(tables, Limits())
    for places, by_columns in ((columns, True), (made, False)):
        depths = reach(tables, sorted(places), Direction.DOWNSTREAM, limits, by_columns=by_columns).depths
        for place, depth in depths.items():
            if depth:
                found[place] = min(depth, found.get(place, depth))
    named = datasets(tables, (place[0] for place in found))
    labels = {f"{named[id_].label}{'.' if column else ''}{column}": depth for (id_, column), depth in found.items()}
    return tuple(sorted(labels.items(), key=lambda each: (each[1], each[0])))
