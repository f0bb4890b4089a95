"""
Which dataset a leaf of a plan reads, and under which of its columns each attribute goes.

One resolver serves inputs, outputs and column lineage, so that a thing has one name wherever it turns up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.urls import without_credentials
from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Field, Identifier, Symlink
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan, Value
from openlineage_pyspark.facets.model.schema import HIDDEN, fields_of, schema_fields


@attrs.frozen
class Session:
    """
    What a session's configuration says about names.

    Args:
        warehouse: `spark.sql.warehouse.dir`, qualified.
        metastore: `hive.metastore.uris`, where the session catalog is Hive's.
        catalog: `spark.sql.catalogImplementation`.
    """

    warehouse: str | None = None
    metastore: str | None = None
    catalog: str = "in-memory"


@attrs.frozen
class Column:
    """A column of a dataset that an attribute is read from."""

    dataset: Identifier
    name: str
    identity: bool = True


@attrs.frozen
class Relation:
    """
    What a leaf operator reads.

    Args:
        datasets: the datasets under it.
        columns: exprId -> the datasets' columns that it is; empty where they can't be told.
        opaque: why the columns can't be told.
    """

    datasets: tuple[Dataset, ...] = ()
    columns: Mapping[int, tuple[Column, ...]] = attrs.Factory(dict)
    opaque: str | None = None


NOTHING = Relation()


def at_location(path: str, fields: tuple[Field, ...] = (), file_format: str | None = None) -> Dataset:
    """The dataset at a path."""
    return Dataset(
        naming.location(naming.table_root(path)), fields, storage_layer="default", file_format=file_format, type="FILE"
    )


def catalog_table(table: Described, session: Session, fields: tuple[Field, ...] = ()) -> Dataset | None:
    """
    The dataset of a table in the session catalog: its location, with the table's name as a symlink.

    Args:
        table: a described CatalogTable.
        session: what the session's configuration says.
        fields: its schema; by default the one that the catalog has.

    Returns:
        None where neither the catalog nor the warehouse tell where it lies.
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
        file_format=_format(table.text("provider") or table.text("serde")),
        type="TABLE",
        description=table.text("comment"),
    )


def table_name(identifier: object) -> str | None:
    """`database.table` of a described TableIdentifier; another catalog than Spark's own stands before it."""
    if not isinstance(identifier, Described) or identifier.text("table") is None:
        return None
    parts = [identifier.text("catalog"), identifier.text("database") or "default", identifier.text("table")]
    if parts[0] == "spark_catalog":
        parts[0] = None
    return ".".join(part for part in parts if part)


def v2_table(
    table: Described | None, catalog: object, identifier: object, session: Session, fields: tuple[Field, ...] = ()
) -> Dataset | None:
    """
    The dataset of a DataSource V2 table: where it lies, or else its name in its catalog.

    Args:
        table: the described Table; None for one that is still to be made.
        catalog: the described CatalogPlugin.
        identifier: the described Identifier.
        session: what the session's configuration says.
        fields: its schema.
    """
    if table is not None:
        changed = table.values.get("target")
        if isinstance(changed, Described):
            # What DELETE, UPDATE and MERGE put around a table whose rows they change.
            return v2_table(changed, catalog, identifier, session, fields)
        inner = table.values.get("v1Table")
        if isinstance(inner, Described):
            return catalog_table(inner, session, fields)
        if table.text("url"):
            return jdbc_dataset(str(table.text("url")), table.text("table") or table.text("name") or "", fields)
        paths = table.values.get("paths")
        if isinstance(paths, tuple) and paths and all(isinstance(path, str) for path in paths):
            return at_location(str(paths[0]), fields, _format(table.text("formatName")))
    catalog_name = catalog.text("name") if isinstance(catalog, Described) else None
    # What a source calls its table is its own affair: it may be a URL.
    own_name = without_credentials(table.text("name") or "") if table is not None else ""
    name = _v2_name(identifier) or own_name
    if not name:
        return None
    if table is None and isinstance(catalog, Described) and catalog.text("url"):
        return jdbc_dataset(str(catalog.text("url")), name, fields)
    facet = Catalog(_catalog_framework(catalog), "unknown", catalog_name, None) if catalog_name else None
    where = table.text("location") if table is not None else None
    if where:
        # The second is what the table is called as long as nobody knows where it will lie: in the event that makes it.
        namespaces = (naming.warehouse_namespace(session.warehouse or "file:/"), catalog_name)
        links = tuple(Symlink(namespace, name) for namespace in namespaces if namespace)
        format_ = _format(table.text("provider") if table is not None else None)
        return Dataset(naming.location(where), fields, links, facet, format_ or "default", None, "TABLE")
    namespace = catalog_name or (f"datasource:{table.simple_name}" if table is not None else "spark_catalog")
    return Dataset(Identifier(namespace, name), fields, (), facet, type="TABLE")


def jdbc_dataset(url: str, table: str, fields: tuple[Field, ...] = ()) -> Dataset:
    """The dataset of a table in a JDBC database."""
    return Dataset(Identifier(naming.jdbc_namespace(url), naming.jdbc_table(url, table)), fields, type="TABLE")


def relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """
    What a leaf operator reads.

    Returns:
        NOTHING for rows that the plan itself holds; None for an operator that has no resolver.
    """
    resolver = RESOLVERS.get(operator.name)
    return None if resolver is None else resolver(plan, operator, session)


def _of(operator: Operator, *datasets: Dataset) -> Relation:
    """Every attribute is the column of its name, in each of the datasets."""
    columns = {o.id: tuple(Column(d.identifier, o.name) for d in datasets) for o in operator.output if o.name != HIDDEN}
    return Relation(tuple(datasets), columns)


def _nothing(_plan: Plan, _operator: Operator, _session: Session) -> Relation:
    return NOTHING


def _logical_relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    source, table = operator.described("relation"), operator.described("catalogTable")
    fields = fields_of(plan, operator)
    if table is not None:
        dataset = catalog_table(table, session, fields)
        if dataset is not None:
            return _of(operator, dataset)
    if source is None:
        return None
    if source.text("url"):
        from openlineage_pyspark.facets.datasets.jdbc import jdbc_relation

        return jdbc_relation(source, operator, fields)
    paths = source.values.get("rootPaths")
    if isinstance(paths, tuple):
        if operator.arguments.get("isStreaming") is True:
            paths = _streamed(operator, paths)
        found = naming.roots([p for p in paths if isinstance(p, str)], source.text("path"))
        format_ = _format_class(source.values.get("format"))
        datasets = {d.identifier: d for d in (at_location(path, fields, format_) for path in found)}
        return _of(operator, *datasets.values())
    return None


def _streamed(operator: Operator, paths: tuple[Value, ...]) -> tuple[Value, ...]:
    """What a micro-batch's files belong to: the stream's directory, or else the directories that they lie in."""
    stream = operator.described("stream")
    base = naming.stream_path(stream.text("text")) if stream is not None else None
    return (base,) if base else tuple(dict.fromkeys(naming.parent(p) for p in paths if isinstance(p, str)))


def infers_schema(operator: Operator) -> bool:
    """Whether a relation is Spark's own look at a CSV or JSON file: it alone switches globbing off (SPARK-32810)."""
    relation_ = operator.described("relation")
    return relation_ is not None and relation_.text("globPaths") == "false"


def _hive_table(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    table = operator.described("tableMeta")
    dataset = catalog_table(table, session, fields_of(plan, operator)) if table is not None else None
    return None if dataset is None else _of(operator, dataset)


def _v2_relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    dataset = v2_table(
        operator.described("table"),
        operator.arguments.get("catalog"),
        operator.arguments.get("identifier"),
        session,
        fields_of(plan, operator),
    )
    return None if dataset is None else _of(operator, dataset)


def _stream_source(plan: Plan, operator: Operator, _session: Session) -> Relation | None:
    source = operator.described("dataSource") or operator.described("source")
    if source is None:
        return None
    path = source.text("path")
    return None if path is None else _of(operator, at_location(path, fields_of(plan, operator)))


def rdd_sources(sources: tuple[Value, ...]) -> tuple[tuple[Dataset, ...], str]:
    """
    What an RDD's rows come from: its files and tables are known, its columns are not.

    Args:
        sources: paths, pairs of a JDBC URL and a table, and after a `?` kinds of RDD that tell neither.

    Returns:
        the datasets, and the kinds of RDD whose inputs are not known.
    """
    from openlineage_pyspark.facets.datasets.jdbc import jdbc_tables

    paths = [naming.before_glob(p) for p in sources if isinstance(p, str) and not p.startswith("?")]
    tables = [d for s in sources if isinstance(s, tuple) and len(s) == 2 for d in jdbc_tables(str(s[0]), str(s[1]))]
    roots = [naming.parent(p) if p.rpartition("/")[2].startswith("part-") else p for p in paths]
    datasets = {d.identifier: d for d in [*(at_location(path) for path in roots if "/" in path), *tables]}
    return tuple(datasets.values()), ", ".join(p[1:] for p in sources if isinstance(p, str) and p.startswith("?"))


def _rdd(_plan: Plan, operator: Operator, _session: Session) -> Relation | None:
    rdd = operator.described("rdd")
    found = rdd.values.get("sources") if rdd is not None else None
    datasets, unknown = rdd_sources(found if isinstance(found, tuple) else ())
    if unknown:
        return Relation(datasets, opaque=f"the rows come from an RDD ({unknown}) whose inputs are not known")
    if not datasets:
        return NOTHING
    return Relation(datasets, opaque="the rows come from an RDD: its inputs are known, its columns are not")


Resolver = Callable[[Plan, Operator, Session], "Relation | None"]

RESOLVERS: dict[str, Resolver] = {
    "LogicalRelation": _logical_relation,
    "HiveTableRelation": _hive_table,
    "DataSourceV2Relation": _v2_relation,
    "StreamingDataSourceV2Relation": _v2_relation,
    "StreamingRelationV2": _v2_relation,
    "StreamingRelation": _stream_source,
    "StreamingExecutionRelation": _stream_source,
    "LogicalRDD": _rdd,
    "ExternalRDD": _nothing,
    "LocalRelation": _nothing,
    "OneRowRelation": _nothing,
    "Range": _nothing,
    "CommandResult": _nothing,
    "EmptyRelation": _nothing,
    "MemoryPlan": _nothing,
    "PythonWorkerLogs": _nothing,
}
"""Leaf operator -> what it reads."""


def _v2_name(identifier: object) -> str | None:
    if not isinstance(identifier, Described) or identifier.text("name") is None:
        return None
    namespace = identifier.values.get("namespace")
    parts = [p for p in namespace if isinstance(p, str)] if isinstance(namespace, tuple) else []
    return ".".join([*parts, str(identifier.text("name"))])


def _catalog_framework(catalog: object) -> str:
    name = catalog.class_name.lower() if isinstance(catalog, Described) else ""
    return next((kind for kind in ("iceberg", "delta", "hudi", "jdbc") if kind in name), "spark")


def _format_class(format_: object) -> str | None:
    """`parquet` of ParquetFileFormat."""
    if not isinstance(format_, Described):
        return None
    return format_.simple_name.removesuffix("FileFormat").lower() or None


def _format(provider: str | None) -> str | None:
    """A provider's short name: `parquet` of `parquet`, of a class name, of a Hive serde."""
    if not provider:
        return None
    name = provider.rsplit(".", 1)[-1].lower()
    known = ("parquet", "orc", "avro", "json", "csv", "text", "xml", "iceberg", "delta")
    return next((format_ for format_ in known if format_ in name), name)


def _warehouse_uri(session: Session) -> str | None:
    return naming.warehouse_namespace(session.warehouse) if session.warehouse else None
