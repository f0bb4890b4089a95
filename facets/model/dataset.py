"""What a dataset is: its identity and what is known of it, as frozen values."""

from __future__ import annotations

import attrs


@attrs.frozen
class Field:
    """One column or nested field of a dataset's schema.

    Args:
        name: the field's own name, without the path above it.
        type: Spark's name of an atomic type, or `struct`, `array`, `map`.
        description: the column's comment.
        fields: of a struct its fields, of an array `_element`, of a map `key` and `value`.
    """

    name: str
    type: str
    description: str | None = None
    fields: tuple[Field, ...] = ()


@attrs.frozen(order=True)
class Identifier:
    """A dataset's identity in OpenLineage's naming specification: namespace and name."""

    namespace: str
    name: str


@attrs.frozen
class Symlink:
    """Another identity of a dataset (SymlinksDatasetFacet); `type` is TABLE or LOCATION."""

    namespace: str
    name: str
    type: str = "TABLE"


@attrs.frozen
class Catalog:
    """The catalog that a table stands in (CatalogDatasetFacet).

    Args:
        framework: for example `hive`, `iceberg`, `delta`, `jdbc`, `spark`.
        type: for example `hive`, `hadoop`, `rest`, `in-memory`.
        name: the catalog's name in Spark, for example `spark_catalog`.
        metadata_uri: where the catalog's metadata is served, without credentials.
        warehouse_uri: where its tables lie, without credentials.
    """

    framework: str
    type: str
    name: str
    metadata_uri: str | None = None
    warehouse_uri: str | None = None


@attrs.frozen
class Dataset:
    """A dataset that a run reads or writes.

    Args:
        identifier: its one name, the same when it is read and when it is written.
        fields: the schema, in order; empty where none is known.
        symlinks: its other identities, for example the table's name beside its location.
        catalog: the catalog it stands in.
        storage_layer: for example `iceberg`, `delta`, `default`; None where it isn't storage.
        file_format: for example `parquet`.
        type: DatasetTypeDatasetFacet's type: TABLE, VIEW, FILE, TOPIC, STREAM.
        description: the table's comment.
    """

    identifier: Identifier
    fields: tuple[Field, ...] = ()
    symlinks: tuple[Symlink, ...] = ()
    catalog: Catalog | None = None
    storage_layer: str | None = None
    file_format: str | None = None
    type: str | None = None
    description: str | None = None


@attrs.frozen
class Statistics:
    """What a run read from or wrote to one dataset; None where Spark did not say."""

    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
