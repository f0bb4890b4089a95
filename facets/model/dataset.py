"""Datasets as frozen values: their identity, schema, catalog and statistics."""

from __future__ import annotations

import attrs


@attrs.frozen
class Field:
    """
    One column or nested field of a dataset's schema.

    Args:
        name: the field's own name, without the names of its parents.
        type: Spark's name of an atomic type, or `struct`, `array`, `map`.
        description: the column's comment.
        fields: the fields of a struct, `_element` of an array, `key` and `value` of a map.
    """

    name: str
    type: str
    description: str | None = None
    fields: tuple[Field, ...] = ()


@attrs.frozen(order=True, cache_hash=True)
class Identifier:
    """The identity of a dataset by OpenLineage's naming specification: namespace and name."""

    namespace: str
    name: str


@attrs.frozen
class Symlink:
    """A further identity of a dataset (SymlinksDatasetFacet); `type` is TABLE or LOCATION."""

    namespace: str
    name: str
    type: str = "TABLE"


@attrs.frozen
class Catalog:
    """
    The catalog of a table (CatalogDatasetFacet).

    Args:
        framework: for example `hive`, `iceberg`, `delta`, `jdbc`, `spark`.
        type: for example `hive`, `hadoop`, `rest`, `in-memory`.
        name: the catalog's name in Spark, for example `spark_catalog`.
        metadata_uri: the address of the catalog's metadata service, without credentials.
        warehouse_uri: the location of its tables, without credentials.
    """

    framework: str
    type: str
    name: str
    metadata_uri: str | None = None
    warehouse_uri: str | None = None


@attrs.frozen
class TableVersions:
    """
    The versions of a table that one run reads, or has committed.

    Args:
        format: `iceberg` or `delta`.
        ids: ids of Iceberg's snapshots, or Delta Lake's version numbers; the last one is the newest that was committed.
        branch: the branch or tag that was named; None for the main branch.
        parent: the version before the first one that was committed; None if there is none, or it is not known.
        operation: what the last commit did, in the format's words, such as `append`; None if it is not known.
    """

    format: str
    ids: tuple[str, ...]
    branch: str | None = None
    parent: str | None = None
    operation: str | None = None

    def joined(self, other: TableVersions | None) -> TableVersions:
        """Return the versions that were read here or there, each once."""
        if other is None or other == self:
            return self
        ids = tuple(dict.fromkeys((*self.ids, *other.ids)))
        return attrs.evolve(self, ids=ids, branch=self.branch if self.branch == other.branch else None)


@attrs.frozen
class Dataset:
    """
    A dataset that a run reads or writes.

    Args:
        identifier: its identity, the same when it is read and when it is written.
        fields: the schema, in order; empty if it is unknown.
        symlinks: its further identities, for example the table's name besides its location.
        catalog: the catalog of the table; None if it is not in one.
        storage_layer: for example `iceberg`, `delta`, `default`; None if the dataset is not storage.
        file_format: for example `parquet`.
        type: TABLE, VIEW, FILE, TOPIC or STREAM (DatasetTypeDatasetFacet).
        description: the table's comment.
        locations: the parts of it that a run reads or writes (its `subset` facet), sorted; empty for the whole.
        versions: the versions that a run reads or has committed; None if it has none, or they are not known.
    """

    identifier: Identifier
    fields: tuple[Field, ...] = ()
    symlinks: tuple[Symlink, ...] = ()
    catalog: Catalog | None = None
    storage_layer: str | None = None
    file_format: str | None = None
    type: str | None = None
    description: str | None = None
    locations: tuple[str, ...] = ()
    versions: TableVersions | None = None

    def joined(self, other: Dataset) -> Dataset:
        """Return the dataset with the parts and the versions of another description of it too."""
        versions = other.versions if self.versions is None else self.versions.joined(other.versions)
        if self.locations == other.locations:
            return self if versions == self.versions else attrs.evolve(self, versions=versions)
        both = tuple(sorted({*self.locations, *other.locations})) if self.locations and other.locations else ()
        return attrs.evolve(self, locations=both, versions=versions)

    @property
    def is_named_by_catalog(self) -> bool:
        """Whether it has the name that its catalog gives it because its location is not known."""
        return self.catalog is not None and not self.symlinks and self.identifier.namespace == self.catalog.name


@attrs.frozen
class Statistics:
    """
    The amount that a run read from or wrote to one dataset; each number is None if Spark did not report it.

    Args:
        rows: the number of rows.
        bytes: the size in bytes.
        files: the number of files.
    """

    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
