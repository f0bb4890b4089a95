"""The `columnLineage` facet of an output (ColumnLineageDatasetFacet 1-2-0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage.client.facet_v2 import column_lineage_dataset
from openlineage_pyspark.facets.events.ids import PRODUCER
from openlineage_pyspark.facets.events.marquez import accepted_column, accepted_namespace
from openlineage_pyspark.facets.model.run import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, Transformation
    from openlineage_pyspark.facets.model.run import RunOutput


def too_wide(outputs: Iterable[RunOutput], options: EventOptions) -> tuple[Gap, ...]:
    """
    Return a gap for each output whose lineage is left out because it has too many columns.

    Args:
        outputs: the outputs of one run.
        options: hold the limit (`schema_size_limit`).
    """
    return tuple(
        Gap(
            task=output.dataset.identifier.name,
            message=f"columnLineage left out: {len(output.lineage.columns)} columns are more than "
            f"the limit of {options.schema_size_limit}; raise columnLineage.schemaSizeLimit to have it",
        )
        for output in outputs
        if output.lineage is not None and _is_too_wide(output.lineage, options)
    )


def column_lineage_facet(
    lineage: ColumnLineage, options: EventOptions
) -> column_lineage_dataset.ColumnLineageDatasetFacet | None:
    """
    Return the `columnLineage` facet of one output.

    Every output column has an entry; that of a constant is empty.

    Args:
        lineage: the lineage of the output.
        options: decide about descriptions, the form of dataset-wide edges, and the limit.

    Returns:
        The facet; None if the output has more columns than the limit.
    """
    if _is_too_wide(lineage, options):
        return None
    columns: dict[str, tuple[InputField, ...]] = {}
    for column in lineage.columns:
        # Some file formats allow a column name twice. The facet can't, so such columns share an entry.
        columns[column.name] = columns.get(column.name, ()) + column.edges
    described = options.descriptions_enabled
    whole = _merged(lineage.dataset, described=described)
    repeated = () if options.dataset_lineage_enabled else lineage.dataset
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            accepted_column(name): column_lineage_dataset.Fields(
                inputFields=_merged(edges + repeated, described=described)
            )
            for name, edges in columns.items()
        },
        dataset=whole if whole and options.dataset_lineage_enabled else None,
        producer=PRODUCER,
    )


def _is_too_wide(lineage: ColumnLineage, options: EventOptions) -> bool:
    return len(lineage.columns) > options.schema_size_limit


def _merged(edges: tuple[InputField, ...], *, described: bool) -> list[column_lineage_dataset.InputField]:
    """Return one entry for each source column, with all its transformations, of which no two are equal."""
    sources: dict[tuple[Identifier, str], dict[Transformation, None]] = {}
    for edge in edges:
        ways = (
            edge.transformations if described else [attrs.evolve(way, description="") for way in edge.transformations]
        )
        sources.setdefault((edge.dataset, edge.field), {}).update(dict.fromkeys(ways))
    return [
        column_lineage_dataset.InputField(
            namespace=accepted_namespace(dataset.namespace),
            name=dataset.name,
            field=accepted_column(field),
            transformations=[_transformation(way) for way in ways],
        )
        for (dataset, field), ways in sources.items()
    ]


def _transformation(way: Transformation) -> column_lineage_dataset.Transformation:
    return column_lineage_dataset.Transformation(
        type=way.type,
        subtype=way.subtype,
        description=way.description or None,
        masking=way.masking,
    )
