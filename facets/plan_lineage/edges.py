"""The edges of one target: its source columns, each with the kinds of its influence and their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.model.lineage import (
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    Transformation,
    UseKind,
    Way,
    different,
    transformation,
)
from openlineage_pyspark.facets.plan_lineage.results import SourceField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
    from openlineage_pyspark.facets.trace.solve import Sources

SourceKinds = dict[SourceField, dict[UseKind, list[Way]]]
"""Source column -> kind of its influence -> its paths, no two of them equal, at most `MOST_PATHS`."""


def is_stored(whole: SourceKinds, fields: Sequence[SourceKinds]) -> bool:
    """Return whether a struct is stored as a whole: each field has the same sources as the whole, none as IDENTITY."""
    return all(each.keys() == whole.keys() and not any(UseKind.IDENTITY in k for k in each.values()) for each in fields)


def without_copies(sources: Sources, own: set[int]) -> Sources:
    """Return sources without the values that are copies of the attributes with some exprIds."""
    copied = {origin for origin, kinds in sources.items() if origin.id in own and not origin.path}
    copied = {origin for origin in copied if UseKind.IDENTITY in sources[origin]}
    if not copied:
        return sources
    return {
        origin: {kind: paths for kind, paths in kinds.items() if kind is not UseKind.IDENTITY or origin not in copied}
        for origin, kinds in sources.items()
    }


def leave_out_generated(rows: SourceKinds, columns: list[SourceKinds]) -> None:
    """Leave out a generator's influences on the number of rows, if each column is made by that generator."""
    for field, kinds in list(rows.items()):
        if UseKind.GENERATE not in kinds or not columns:
            continue
        made = [column.get(field, {}) for column in columns]
        left = [w for w in kinds[UseKind.GENERATE] if not all(_is_made_by(w.last, column) for column in made)]
        if left:
            kinds[UseKind.GENERATE] = left
        else:
            del kinds[UseKind.GENERATE]
            if not kinds:
                del rows[field]


def _is_made_by(generator: OperatorStep | None, kinds: Mapping[UseKind, Sequence[Way]]) -> bool:
    return generator is not None and any(
        kind.direct and any(step.operator == generator.operator for way in ways for step in way.steps)
        for kind, ways in kinds.items()
    )


def is_shown_alike(one: Way, other: Way) -> bool:
    """Return whether two paths look the same in the event. The steps of a path without operators are not shown."""
    if one.operators or other.operators:
        return one == other
    texts = [way.shown if way.composed is None else way.composed for way in (one, other)]
    return texts[0] == texts[1] and one[2] == other[2]


def edges_of(found: SourceKinds) -> tuple[InputField, ...]:
    """Return the edges of a target, sorted by their datasets and columns."""
    return tuple(
        InputField(dataset, name, tuple(sorted(_transformations(kinds))))
        for (dataset, name), kinds in sorted(found.items(), key=lambda item: _order(*item[0]))
    )


def copies(sources: Sequence[Dataset], columns: Sequence[str]) -> ColumnLineage | None:
    """Return the lineage of columns that are copied from one dataset by their names; None if that is unknown."""
    if len(sources) != 1 or not columns:
        return None
    kept = (transformation(UseKind.IDENTITY, Way()),)
    identifier = sources[0].identifier
    return ColumnLineage(tuple(OutputColumn(name, (InputField(identifier, name, kept),)) for name in columns))


def _order(dataset: Identifier, name: str) -> tuple[str, str, str]:
    return dataset.namespace, dataset.name, name


def _transformations(kinds: Mapping[UseKind, Sequence[Way]]) -> tuple[Transformation, ...]:
    """Return the transformations of one source, each once."""
    return different([transformation(kind, way) for kind, ways in kinds.items() for way in ways])
