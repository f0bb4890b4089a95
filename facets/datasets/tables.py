"""Tables of the session catalog: Spark's own, or a Hive metastore."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Relation, Session, by_name, reads, source
from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Field, Identifier, Symlink
from openlineage_pyspark.facets.model.plan import VIEW, Described, Operator, Plan
from openlineage_pyspark.facets.model.schema import fields_of, schema_fields


@reads(
    {
        "org.apache.spark.sql.catalyst.catalog.CatalogTable": {
            "identifier": "identifier",
            "kind": "tableType.name",
            "locationUri": "storage.locationUri",
            "defaultPath": "#defaultPath",
            "provider": "provider",
            "serde": "storage.serde",
            "comment": "comment",
            "schema": "schema",
            "created": "createTime",
        }
    }
)
def catalog_table(table: Described, session: Session, fields: tuple[Field, ...] = ()) -> Dataset | None:
    """
    Return the dataset of a table in the session catalog: its location, with the table's name as a symlink.

    Args:
        table: a described CatalogTable.
        session: the session's settings.
        fields: the schema; by default the one in the catalog.

    Returns:
        None if the table has no name.
    """
    name = table_name(table.values.get("identifier"))
    where = table.text("locationUri") or table.text("defaultPath")
    if name is None:
        return None
    catalog = Catalog("spark", session.catalog, "spark_catalog", warehouse_uri=_warehouse_uri(session))
    symlinks: tuple[Symlink, ...] = ()
    if session.metastore:
        symlinks = (Symlink(naming.metastore_namespace(session.metastore), name),)
        catalog = Catalog("hive", "hive", "spark_catalog", symlinks[0].namespace, _warehouse_uri(session))
    elif session.warehouse:
        symlinks = (Symlink(naming.warehouse_namespace(session.warehouse), name),)
    fields = fields or schema_fields(table.text("schema"))
    if where is None or table.text("kind") == "VIEW":
        namespace = symlinks[0].namespace if symlinks else naming.warehouse_namespace(session.warehouse or "file:/")
        kind = "VIEW" if table.text("kind") == "VIEW" else "TABLE"
        return Dataset(Identifier(namespace, name), fields, catalog=catalog, type=kind)
    return Dataset(
        naming.uri_location(where),
        fields,
        symlinks,
        catalog,
        storage_layer="default",
        file_format=format_of_provider(table.text("provider") or table.text("serde")),
        type="TABLE",
        description=table.text("comment"),
    )


@reads(
    {
        "org.apache.spark.sql.catalyst.TableIdentifier": {
            "table": "table",
            "database": "database",
            "catalog": "catalog",
        }
    }
)
def table_name(identifier: object) -> str | None:
    """Return `database.table` for a described TableIdentifier, after the catalog unless that is `spark_catalog`."""
    if not isinstance(identifier, Described) or identifier.text("table") is None:
        return None
    parts = [identifier.text("catalog"), identifier.text("database") or "default", identifier.text("table")]
    if parts[0] == "spark_catalog":
        parts[0] = None
    return ".".join(part for part in parts if part)


def format_of_provider(provider: str | None) -> str | None:
    """Return a provider's short name: `parquet` for `parquet`, for a class name, for a Hive serde."""
    if not provider:
        return None
    name = provider.rsplit(".", 1)[-1].lower()
    known = ("parquet", "orc", "avro", "json", "csv", "text", "xml", "iceberg", "delta")
    return next((format_ for format_ in known if format_ in name), name)


def in_session_catalog(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """Return the relation of a leaf with a `catalogTable`; None for any other leaf."""
    return _relation(plan, operator, operator.described("catalogTable"), session)


@source({"org.apache.spark.sql.catalyst.catalog": "HiveTableRelation"})
def hive_table(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """Resolve a table that is read by Hive's classes."""
    return _relation(plan, operator, operator.described("tableMeta"), session)


def permanent_view(plan: Plan, operator: Operator, session: Session) -> Dataset | None:
    """
    Return the dataset of a permanent view that a query reads; None for any other operator.

    Spark's analyzed plan keeps a `View` above the view's query, of temporary views too, which are no datasets.
    """
    view = operator.described("desc") if operator.class_name == VIEW else None
    if view is None or view.text("kind") != "VIEW" or operator.arguments.get("isTempView") is not False:
        return None
    return catalog_table(view, session, fields_of(plan, operator))


def _relation(plan: Plan, operator: Operator, table: Described | None, session: Session) -> Relation | None:
    dataset = catalog_table(table, session, fields_of(plan, operator)) if table is not None else None
    return None if dataset is None else by_name(operator, dataset)


def _warehouse_uri(session: Session) -> str | None:
    return naming.warehouse_namespace(session.warehouse) if session.warehouse else None
