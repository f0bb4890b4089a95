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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
    from openlineage_pyspark.workbench.report import Lineage

_WAY = Way(certainty=Certainty.TEXT)
_DIRECT = "DIRECT"


def behind_views(lineage: Lineage, views: Mapping[Identifier, Lineage]) -> Lineage:
    """
    Return a lineage in which the sources of refused views replace the views' own columns.

    Args:
        lineage: the lineage of a statement that may read such views, as if they were tables.
        views: the dataset of a view -> the lineage of its query, from its text; its output is None if the view is
            temporary, and so not a dataset.

    Returns:
        The edges through a view have the certainty `text`. No operators are reported: the plan ends at the view.
    """
    read = [views[dataset.identifier] for dataset in lineage.inputs if dataset.identifier in views]
    if not read:
        return lineage
    rows = tuple(edge for view in read for _, columns in view.outputs for edge in columns.dataset)
    outputs = tuple(
        (
            dataset,
            ColumnLineage(
                tuple(attrs.evolve(column, edges=_behind(column.edges, views)) for column in found.columns),
                _behind((*found.dataset, *rows), views),
            ),
        )
        for dataset, found in lineage.outputs
    )
    inputs = {each.identifier: each for dataset in lineage.inputs for each in _read(dataset, views)}
    return attrs.evolve(lineage, inputs=tuple(inputs.values()), outputs=outputs, walked=None)


def _read(dataset: Dataset, views: Mapping[Identifier, Lineage]) -> tuple[Dataset, ...]:
    """Return the datasets to report for one: for a view its tables, and the view itself unless it is temporary."""
    view = views.get(dataset.identifier)
    if view is None:
        return (dataset,)
    is_temporary = all(output is None for output, _ in view.outputs)
    return (*(() if is_temporary else (attrs.evolve(dataset, symlinks=(), type="VIEW"),)), *view.inputs)


def _behind(edges: Iterable[InputField], views: Mapping[Identifier, Lineage]) -> tuple[InputField, ...]:
    found: dict[tuple[Identifier, str], dict[Transformation, None]] = {}
    for edge in edges:
        view = views.get(edge.dataset)
        if view is None:
            found.setdefault((edge.dataset, edge.field), {}).update(dict.fromkeys(edge.transformations))
            continue
        own = edge.field.casefold()
        columns = (column for _, output in view.outputs for column in output.columns if column.name.casefold() == own)
        for inner in (inner for column in columns for inner in column.edges):
            made = {_after(first, then): None for first in inner.transformations for then in edge.transformations}
            found.setdefault((inner.dataset, inner.field), {}).update(made)
    return tuple(sorted(InputField(dataset, field, tuple(sorted(each))) for (dataset, field), each in found.items()))


def _after(first: Transformation, then: Transformation) -> Transformation:
    """Combine the transformation of a value into a view with that of a statement that reads the view."""
    if then.type == _DIRECT and then.subtype == "IDENTITY":
        return attrs.evolve(first, way=_WAY)
    how = then
    if then.type == _DIRECT and (first.type != _DIRECT or first.subtype == "AGGREGATION"):
        how = first
    return attrs.evolve(how, description="", masking=first.masking or then.masking, way=_WAY)
