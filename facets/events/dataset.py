"""The facets of an input or output dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage.client.facet_v2 import (
    base_subset_dataset,
    catalog_dataset,
    dataset_type_dataset,
    datasource_dataset,
    documentation_dataset,
    input_statistics_input_dataset,
    lifecycle_state_change_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
    symlinks_dataset,
)
from openlineage_pyspark.facets.events.ids import PRODUCER
from openlineage_pyspark.facets.events.marquez import accepted_column, accepted_namespace, data_source_uri
from openlineage_pyspark.facets.model.dataset import Statistics

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, OutputDatasetFacet
    from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Field, Identifier, Symlink


def dataset_facets(dataset: Dataset) -> dict[str, DatasetFacet]:
    """
    Return the facets that describe a dataset, by name; facets about which nothing is known are left out.

    Args:
        dataset: a dataset that is read or written.
    """
    namespace = accepted_namespace(dataset.identifier.namespace)
    facets: dict[str, DatasetFacet] = {
        "dataSource": datasource_dataset.DatasourceDatasetFacet(
            name=namespace, uri=data_source_uri(namespace), producer=PRODUCER
        )
    }
    if dataset.fields:
        fields = [_field(field) for field in dataset.fields]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields, producer=PRODUCER)
    if dataset.symlinks:
        facets["symlinks"] = _symlinks(dataset.symlinks)
    if dataset.catalog is not None:
        facets["catalog"] = _catalog(dataset.catalog)
    if dataset.storage_layer is not None:
        facets["storage"] = storage_dataset.StorageDatasetFacet(
            storageLayer=dataset.storage_layer, fileFormat=dataset.file_format, producer=PRODUCER
        )
    if dataset.type is not None:
        facets["datasetType"] = dataset_type_dataset.DatasetTypeDatasetFacet(
            datasetType=dataset.type, producer=PRODUCER
        )
    if dataset.description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            description=dataset.description, producer=PRODUCER
        )
    return facets


def lifecycle_facet(
    change: str, renamed_from: Identifier | None
) -> lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet:
    """
    Return the facet about what a run did to a dataset as a whole (LifecycleStateChangeDatasetFacet 1-0-1).

    Args:
        change: ALTER, CREATE, DROP, OVERWRITE, RENAME or TRUNCATE.
        renamed_from: the identity before a RENAME.

    Raises:
        ValueError: the change is none of these.
    """
    previous = None
    if renamed_from is not None:
        previous = lifecycle_state_change_dataset.PreviousIdentifier(
            name=renamed_from.name, namespace=accepted_namespace(renamed_from.namespace)
        )
    return lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
        lifecycleStateChange=lifecycle_state_change_dataset.LifecycleStateChange(change),
        previousIdentifier=previous,
        producer=PRODUCER,
    )


def input_facets(statistics: Statistics | None, locations: tuple[str, ...] = ()) -> dict[str, InputDatasetFacet]:
    """
    Return `inputStatistics` if Spark reported anything, and `subset` if only parts are read, by their names.

    Args:
        statistics: how much this run read of the dataset.
        locations: the parts that it reads; empty for the whole.
    """
    facets: dict[str, InputDatasetFacet] = {}
    if numbers := _numbers(statistics):
        facet = input_statistics_input_dataset.InputStatisticsInputDatasetFacet
        facets["inputStatistics"] = facet(**numbers, producer=PRODUCER)
    if locations:
        facets["subset"] = base_subset_dataset.InputSubsetInputDatasetFacet(
            inputCondition=_at(locations), producer=PRODUCER
        )
    return facets


def output_facets(statistics: Statistics | None, locations: tuple[str, ...] = ()) -> dict[str, OutputDatasetFacet]:
    """
    Return `outputStatistics` if Spark reported anything, and `subset` if only parts are written, by their names.

    Args:
        statistics: how much this run wrote to the dataset.
        locations: the parts that it writes; empty for the whole.
    """
    facets: dict[str, OutputDatasetFacet] = {}
    if numbers := _numbers(statistics):
        facet = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
        facets["outputStatistics"] = facet(**numbers, producer=PRODUCER)
    if locations:
        facets["subset"] = base_subset_dataset.OutputSubsetOutputDatasetFacet(
            outputCondition=_at(locations), producer=PRODUCER
        )
    return facets


def _at(locations: tuple[str, ...]) -> base_subset_dataset.LocationSubsetCondition:
    return base_subset_dataset.LocationSubsetCondition(locations=list(locations))


def _numbers(statistics: Statistics | None) -> dict[str, int | None]:
    """Return the fields of both statistics facets; nothing if Spark reported no number."""
    if statistics is None or statistics == Statistics():
        return {}
    return {"rowCount": statistics.rows, "size": statistics.bytes, "fileCount": statistics.files}


def _field(field: Field) -> schema_dataset.SchemaDatasetFacetFields:
    name = accepted_column(field.name)
    return schema_dataset.SchemaDatasetFacetFields(
        name=name,
        type=field.type,
        # A shortened name is given in full here.
        description=field.description or (field.name if name != field.name else None),
        fields=[_field(inner) for inner in field.fields] if field.fields else None,
    )


def _symlinks(symlinks: tuple[Symlink, ...]) -> symlinks_dataset.SymlinksDatasetFacet:
    return symlinks_dataset.SymlinksDatasetFacet(
        identifiers=[
            symlinks_dataset.Identifier(
                namespace=accepted_namespace(symlink.namespace), name=symlink.name, type=symlink.type
            )
            for symlink in symlinks
        ],
        producer=PRODUCER,
    )


def _catalog(catalog: Catalog) -> catalog_dataset.CatalogDatasetFacet:
    return catalog_dataset.CatalogDatasetFacet(
        framework=catalog.framework,
        type=catalog.type,
        name=catalog.name,
        metadataUri=catalog.metadata_uri,
        warehouseUri=catalog.warehouse_uri,
        source="spark",
        catalogProperties=None,
        producer=PRODUCER,
    )
