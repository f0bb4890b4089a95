"""Replace views that Spark can't analyze by the sources that the text of their query names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    Transformation,
    Way,
)
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.workbench.predict.from_text.text import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
    from openlineage_pyspark.workbench.report import Lineage

_NOT_STATED = "it does not state where these columns of temporary views come from"
_WAY = Way(certainty=Certainty.TEXT)
_DIRECT = "DIRECT"


def behind_views(
    lineage: Lineage, views: Mapping[Identifier, Lineage], passed: Mapping[Identifier, Identifier]
) -> Lineage:
    """
    Return a lineage in which the sources of refused views replace the views' own columns.

    Args:
        lineage: the lineage of a statement that may read such views, as if they were tables.
        views: the dataset of a view -> the lineage of its query, from its text; its output is None if the view is
            temporary, and so not a dataset.
        passed: the dataset of a view -> that of the table of which it passes on all columns that its text does not
            name.

    Returns:
        The edges through a view have the certainty `text`. No operators are reported: the plan ends at the view. An
        edge from a column that is not found behind the view stays one from the view; for a temporary view, it is a gap.
    """
    read = [views[dataset.identifier] for dataset in lineage.inputs if dataset.identifier in views]
    if not read:
        return lineage
    following = _Following(views, passed)
    rows = tuple(edge for view in read for _, columns in view.outputs for edge in columns.dataset)
    outputs = tuple(
        (
            dataset,
            ColumnLineage(
                tuple(attrs.evolve(column, edges=following.behind(column.edges)) for column in found.columns),
                following.behind((*found.dataset, *rows)),
            ),
        )
        for dataset, found in lineage.outputs
    )
    inputs = {each.identifier: each for dataset in lineage.inputs for each in _read(dataset, views)}
    gaps = (Gap(TEXT, f"{_NOT_STATED}: {', '.join(following.lost)}"),) if following.lost else ()
    return attrs.evolve(
        lineage, inputs=tuple(inputs.values()), outputs=outputs, gaps=(*lineage.gaps, *gaps), walked=None
    )


def _read(dataset: Dataset, views: Mapping[Identifier, Lineage]) -> tuple[Dataset, ...]:
    """Return the datasets to report for one: for a view its tables, and the view itself unless it is temporary."""
    view = views.get(dataset.identifier)
    if view is None:
        return (dataset,)
    is_temporary = all(output is None for output, _ in view.outputs)
    return (*(() if is_temporary else (attrs.evolve(dataset, symlinks=(), type="VIEW"),)), *view.inputs)


class _Following:
    """
    Follows edges from views to the tables behind them.

    Args:
        views: as for `behind_views`.
        passed: as for `behind_views`.

    Attributes:
        lost: the columns of temporary views that are not found behind them.
    """

    def __init__(self, views: Mapping[Identifier, Lineage], passed: Mapping[Identifier, Identifier]) -> None:
        self.lost: dict[str, None] = {}
        self._views = views
        self._passed = passed

    def behind(self, edges: Iterable[InputField]) -> tuple[InputField, ...]:
        """Return edges that begin behind the views."""
        found: dict[tuple[Identifier, str], dict[Transformation, None]] = {}
        for edge in edges:
            for each in self._followed(edge, frozenset()):
                found.setdefault((each.dataset, each.field), {}).update(dict.fromkeys(each.transformations))
        return tuple(
            sorted(InputField(dataset, field, tuple(sorted(each))) for (dataset, field), each in found.items())
        )

    def _followed(self, edge: InputField, seen: frozenset[Identifier]) -> Iterator[InputField]:
        """Yield the edges behind the view from which an edge begins; the edge itself, if it begins at a table."""
        view = self._views.get(edge.dataset)
        if view is None:
            yield edge
            return
        own = edge.field.casefold()
        columns = [column for _, output in view.outputs for column in output.columns if column.name.casefold() == own]
        for inner in (inner for column in columns for inner in column.edges):
            made = {_after(first, then): None for first in inner.transformations for then in edge.transformations}
            yield attrs.evolve(inner, transformations=tuple(made))
        if columns:
            return
        through = tuple(attrs.evolve(each, way=_WAY) for each in edge.transformations)
        passed = self._passed.get(edge.dataset)
        if passed is not None and passed not in seen:
            yield from self._followed(InputField(passed, edge.field, through), seen | {edge.dataset})
        elif all(output is None for output, _ in view.outputs):
            self.lost[f"{edge.dataset.name}.{edge.field}"] = None
        else:
            yield attrs.evolve(edge, transformations=through)


def _after(first: Transformation, then: Transformation) -> Transformation:
    """Combine the transformation of a value into a view with that of a statement that reads the view."""
    if then.type == _DIRECT and then.subtype == "IDENTITY":
        return attrs.evolve(first, way=_WAY)
    how = then
    if then.type == _DIRECT and (first.type != _DIRECT or first.subtype == "AGGREGATION"):
        how = first
    return attrs.evolve(how, description="", masking=first.masking or then.masking, way=_WAY)
