"""Tables of DataSource V2 in any catalog: Iceberg's, Delta Lake's, JDBC's or another."""

from __future__ import annotations

import re

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.jdbc import v2_jdbc_table, v2_table_to_be
from openlineage_pyspark.facets.datasets.placed import placed, where_of
from openlineage_pyspark.facets.datasets.source import (
    Relation,
    Session,
    by_name,
    iceberg_versions,
    reads,
    source,
    versioned,
)
from openlineage_pyspark.facets.datasets.tables import at_location, catalog_table, format_of_provider, storage_of
from openlineage_pyspark.facets.model.dataset import (
    SESSION_CATALOG,
    Catalog,
    Dataset,
    Field,
    Identifier,
    Symlink,
    fields_of,
)
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan, Value
from openlineage_pyspark.facets.urls import without_credentials

_CONNECTOR = "org.apache.spark.sql.connector"


@source(
    {
        "org.apache.spark.sql.execution.datasources.v2": "DataSourceV2Relation StreamingDataSourceV2Relation",
        "org.apache.spark.sql.catalyst.streaming": "StreamingRelationV2",
    }
)
@reads(
    {
        "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation": {"where": "#where:options"},
        "org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2Relation": {"where": "#where:options"},
        "org.apache.spark.sql.catalyst.streaming.StreamingRelationV2": {"where": "#where:extraOptions"},
    }
)
def v2_relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """Resolve a table of DataSource V2, without the columns that its source adds on demand, such as `_file`."""
    hidden = _metadata_columns(operator.described("table"))
    operator = operator._replace(output=tuple(column for column in operator.output if column.name not in hidden))
    dataset = v2_table(
        operator.described("table") or _scanned(operator),
        operator.arguments.get("catalog"),
        operator.arguments.get("identifier"),
        session,
        fields_of(plan, operator),
    )
    if dataset is None:
        return None
    dataset = in_place(dataset, operator.described("table"), operator.arguments.get("where"), session)
    # Each batch of a stream reads other versions.
    versions = iceberg_versions(operator) if operator.name == "DataSourceV2Relation" else None
    return versioned(by_name(operator, dataset), versions)


def in_place(dataset: Dataset, table: Described | None, where: Value, session: Session) -> Dataset:
    """
    Return the dataset of a table that is in no catalog, named by the table's options; any other dataset unchanged.

    Args:
        dataset: the dataset, named by the class of the table.
        table: the described Table.
        where: the options that the probe has read by `#where:`.
        session: the session, with the user's rules.
    """
    if table is None or not dataset.identifier.namespace.startswith("datasource:"):
        return dataset
    return placed(dataset.identifier.name, table.class_name, where_of(where), session.trimming.rules, dataset.fields)


@reads(
    {
        f"{_CONNECTOR}.catalog.SupportsMetadataColumns": {"metadataColumns": "metadataColumns"},
        f"{_CONNECTOR}.catalog.MetadataColumn": {"name": "name"},
    }
)
def _metadata_columns(table: Described | None) -> frozenset[str | None]:
    if table is None:
        return frozenset()
    wrapped, columns = table.values.get("target"), table.values.get("metadataColumns")
    names = {c.text("name") for c in columns if isinstance(c, Described)} if isinstance(columns, tuple) else set()
    return frozenset(names | _metadata_columns(wrapped)) if isinstance(wrapped, Described) else frozenset(names)


# Up to Spark 3.5, a stream's relation has the scan of its table and not the table.
@reads({"org.apache.iceberg.spark.source.SparkScan": {"location": "#pathOf:table.location", "name": "table.name"}})
def _scanned(operator: Operator) -> Described | None:
    """Return the Iceberg table that a scan reads; None for any other scan."""
    scan = operator.described("scan")
    if scan is None or scan.text("location") is None:
        return None
    return Described(scan.class_name, {**scan.values, "provider": "iceberg"})


@reads(
    {
        f"{_CONNECTOR}.catalog.Table": {
            "name": "name",
            "location": "#pathOf:properties[location]",
            "provider": "properties[provider]",
        },
        f"{_CONNECTOR}.catalog.CatalogPlugin": {
            "name": "name",
            "warehouse": "#catalog:warehouse",
            "place": "#pathOf:#catalog:warehouse",
            "uri": "#catalog:uri",
            "type": "#catalog:type",
        },
        "org.apache.iceberg.spark.source.SparkTable": {"isMetadata": "#isMetadata"},
        "org.apache.iceberg.spark.source.SparkChangelogTable": {"location": "#pathOf:@icebergTable.location"},
    }
)
def v2_table(
    table: Described | None, catalog: object, identifier: object, session: Session, fields: tuple[Field, ...] = ()
) -> Dataset | None:
    """
    Return the dataset of a DataSource V2 table, named by its location if that is known, else by its catalog.

    Args:
        table: the described Table; None if it does not exist yet.
        catalog: the described CatalogPlugin.
        identifier: the described Identifier.
        session: the session's settings.
        fields: the schema.

    Returns:
        None if the table has no name.
    """
    if table is not None:
        wrapped = _wrapped(table, catalog, identifier, session, fields)
        if wrapped is not None:
            return wrapped
    described = catalog if isinstance(catalog, Described) else None
    # The name of a source's table may be a URL.
    own_name = without_credentials(table.text("name") or "") if table is not None else ""
    if described is not None and described.simple_name in _OF_REWRITES:
        described, identifier = None, None
    name = _table_of_branch(_name(identifier), own_name, described)
    in_session = described is not None and described.text("name") == SESSION_CATALOG
    if in_session and name and not session.case_sensitive and not _ends_with_path(identifier):
        name = name.lower()
    name = name or own_name
    if not name:
        return None
    if (state := _STATE.match(own_name)) is not None:
        return at_location(f"{state[1]}/{state[2]}", fields)
    if table is None and (made := v2_table_to_be(catalog, name, fields)) is not None:
        return made
    facet = _catalog(described)
    where = table.text("location") if table is not None else _location_to_be(described, identifier)
    if where:
        is_named = _name(identifier) and delta_path(identifier) is None and not _is_path(identifier)
        links = _links(described, name, session) if is_named else ()
        layer, format_ = storage_of(table.text("provider") if table is not None else "iceberg")
        place = _about(table, own_name, naming.location(where))
        return Dataset(place, fields, links, facet if is_named else None, layer, format_, "TABLE")
    namespace = f"datasource:{table.simple_name}" if table is not None else SESSION_CATALOG
    namespace = facet.name if facet is not None else namespace
    if facet is not None and namespace == SESSION_CATALOG:
        # Later events have this name as a symlink.
        namespace = _links(described, name, session)[0].namespace
    return Dataset(Identifier(namespace, name), fields, (), facet, type="TABLE")


_STATE = re.compile(r"StateTable \[stateCkptLocation=(.+?)\](?:\[batchId=.*?\])?\[operatorId=(\d+)\]")
"""The name that Spark gives to the states of an operator of a stream; it contains the micro-batch."""

_OF_REWRITES = frozenset({"SparkCachedTableCatalog", "SparkRewriteTableCatalog"})
"""Catalogs in which Iceberg's procedures find the tables that they rewrite, each time under another random name."""


def _catalog(catalog: Described | None) -> Catalog | None:
    if catalog is None or not catalog.text("name"):
        return None
    uri, warehouse = catalog.text("uri"), _warehouse(catalog)
    return Catalog(
        _catalog_framework(catalog),
        catalog.text("type") or "unknown",
        str(catalog.text("name")),
        without_credentials(uri) if uri else None,
        naming.warehouse_namespace(warehouse) if warehouse else None,
    )


def _warehouse(catalog: Described) -> str | None:
    """Return the location of a catalog's tables; None if its warehouse is only a name, as a service may have."""
    given = catalog.text("warehouse")
    is_place = given is not None and ("/" in given or catalog.text("type") == "hadoop")
    return (catalog.text("place") or given) if is_place else None


def _links(catalog: Described | None, name: str, session: Session) -> tuple[Symlink, ...]:
    """
    Return the symlinks of a table that is named by its location: its name in the catalog's own service, and in Spark.

    The event of a CREATE may not have the location yet; it then names the table by its catalog in Spark.
    """
    if catalog is None:
        return (Symlink(naming.warehouse_namespace(session.warehouse or "file:/"), name),)
    own, uri, warehouse = catalog.text("name"), catalog.text("uri"), _warehouse(catalog)
    namespaces: list[str | None] = []
    if uri and uri.startswith("thrift:"):
        namespaces.append(naming.metastore_namespace(uri))
    elif uri:
        namespaces.append(without_credentials(uri))
    elif warehouse:
        namespaces.append(naming.warehouse_namespace(warehouse))
    elif session.metastore and "iceberg" in catalog.class_name:
        namespaces.append(naming.metastore_namespace(session.metastore))
    elif own == SESSION_CATALOG and session.warehouse:
        namespaces.append(naming.warehouse_namespace(session.warehouse))
    if own != SESSION_CATALOG or not namespaces:
        namespaces.append(own)
    return tuple(Symlink(namespace, name) for namespace in namespaces if namespace)


def _location_to_be(catalog: Described | None, identifier: object) -> str | None:
    """Return where Iceberg's Hadoop catalog will put a table; None for any other catalog, which decides later."""
    if catalog is None or not isinstance(identifier, Described) or catalog.text("type") != "hadoop":
        return None
    warehouse, name = _warehouse(catalog), identifier.text("name")
    if "iceberg" not in catalog.class_name or not warehouse or not name:
        return None
    namespace = identifier.values.get("namespace")
    parts = [part for part in namespace if isinstance(part, str)] if isinstance(namespace, tuple) else []
    return "/".join([warehouse.rstrip("/"), *parts, name])


_REFERENCE = re.compile(r"branch_|tag_|snapshot_id_|at_timestamp_")


def _table_of_branch(name: str | None, own_name: str, catalog: Described | None) -> str | None:
    """Return the table's name for its branch, tag or snapshot, such as Iceberg's `t.branch_b`; else the same name."""
    table, _, last = (name or "").rpartition(".")
    is_reference = catalog is not None and own_name == f"{catalog.text('name')}.{table}"
    return table if is_reference and _REFERENCE.match(last) else name


def _about(table: Described | None, own_name: str, place: Identifier) -> Identifier:
    """Return the identity of an Iceberg metadata table, such as `t.snapshots`; `place` for any other table."""
    if table is None:
        return place
    if table.values.get("isMetadata") is True or table.simple_name == "SparkChangelogTable":
        kind = re.split(r"[.#]", own_name)[-1].lower()
        return Identifier(place.namespace, f"{place.name}#{kind}")
    return place


def _ends_with_path(identifier: object) -> bool:
    """Return whether a name is a format and a path, as in ``parquet.`/Lake/Orders` ``: Spark distinguishes its case."""
    return isinstance(identifier, Described) and naming.is_absolute(identifier.text("name") or "")


def _is_path(identifier: object) -> bool:
    return isinstance(identifier, Described) and identifier.simple_name == "PathIdentifier"


@reads(
    {
        f"{_CONNECTOR}.write.RowLevelOperationTable": {"target": "table"},
        f"{_CONNECTOR}.catalog.V1Table": {"v1Table": "v1Table"},
        "org.apache.spark.sql.execution.datasources.v2.FileTable": {
            "paths": "#pathOf:paths",
            "formatName": "formatName",
        },
    }
)
def _wrapped(
    table: Described, catalog: object, identifier: object, session: Session, fields: tuple[Field, ...]
) -> Dataset | None:
    """Return the dataset of a Table that wraps another table, a JDBC table or files; None for any other Table."""
    target, v1_table = table.values.get("target"), table.values.get("v1Table")
    if isinstance(target, Described):
        # DELETE, UPDATE and MERGE wrap the table that they change in a RowLevelOperationTable.
        return v2_table(target, catalog, identifier, session, fields)
    if isinstance(v1_table, Described):
        return catalog_table(v1_table, session, fields)
    paths = table.values.get("paths")
    if isinstance(paths, tuple) and paths and all(isinstance(path, str) for path in paths):
        return at_location(str(paths[0]), fields, format_of_provider(table.text("formatName")))
    return v2_jdbc_table(table, fields)


@reads({f"{_CONNECTOR}.catalog.Identifier": {"name": "name", "namespace": "namespace"}})
def _name(identifier: object) -> str | None:
    if not isinstance(identifier, Described) or identifier.text("name") is None:
        return None
    namespace = identifier.values.get("namespace")
    parts = [p for p in namespace if isinstance(p, str)] if isinstance(namespace, tuple) else []
    return ".".join([*parts, str(identifier.text("name"))])


def delta_path(identifier: object) -> str | None:
    """
    Return the path in a name such as delta.`/path`; None if a name has none.

    Source: org.apache.spark.sql.delta.catalog.SupportsPathIdentifier
    """
    if not isinstance(identifier, Described) or identifier.values.get("namespace") != ("delta",):
        return None
    name = identifier.text("name") or ""
    return name if naming.is_absolute(name) else None


def _catalog_framework(catalog: object) -> str:
    name = catalog.class_name.lower() if isinstance(catalog, Described) else ""
    return next((kind for kind in ("iceberg", "delta", "hudi", "jdbc") if kind in name), "spark")
