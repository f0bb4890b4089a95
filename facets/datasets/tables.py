"""Tables of the session catalog, Spark's own or a Hive metastore; relations over files, and streams of files."""

from __future__ import annotations

import functools

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.placed import placed, where_of
from openlineage_pyspark.facets.datasets.source import (
    SOURCES,
    Relation,
    Session,
    by_name,
    delta_versions,
    reads,
    source,
    versioned,
)
from openlineage_pyspark.facets.model.dataset import (
    Catalog,
    Dataset,
    Field,
    Identifier,
    Symlink,
    fields_of,
    schema_fields,
)
from openlineage_pyspark.facets.model.plan import VIEW, Described, Operator, Plan


@reads(
    {
        "org.apache.spark.sql.catalyst.catalog.CatalogTable": {
            "identifier": "identifier",
            "kind": "tableType.name",
            "locationUri": "#tableLocation",
            "defaultPath": "#defaultPath",
            "provider": "provider",
            "serde": "storage.serde",
            "comment": "comment",
            "schema": "#schema",
            "created": "createTime",
        }
    }
)
def catalog_table(table: Described, session: Session, fields: tuple[Field, ...] = ()) -> Dataset | None:
    """
    Return the dataset of a table in the session catalog: its location, with the table's name as a symlink.

    Args:
        table: a described CatalogTable; `url` and `dbtable` in it name its JDBC table.
        session: the session's settings.
        fields: the schema; by default the one in the catalog.

    Returns:
        None if the table has no name.
    """
    name = table_name(table.values.get("identifier"), case_sensitive=session.case_sensitive)
    where = None if is_elsewhere(table) else table.text("locationUri") or table.text("defaultPath")
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
    url, other = table.text("url"), table.text("dbtable")
    if url and other:
        identifier = Identifier(naming.jdbc_namespace(url), naming.jdbc_table(url, other))
        return Dataset(identifier, fields, symlinks, catalog, type="TABLE", description=table.text("comment"))
    if where is None or table.text("kind") == "VIEW":
        namespace = symlinks[0].namespace if symlinks else naming.warehouse_namespace(session.warehouse or "file:/")
        kind = "VIEW" if table.text("kind") == "VIEW" else "TABLE"
        return Dataset(Identifier(namespace, name), fields, catalog=catalog, type=kind)
    layer, format_ = storage_of(table.text("provider") or table.text("serde"))
    return Dataset(
        naming.uri_location(where),
        fields,
        symlinks,
        catalog,
        storage_layer=layer,
        file_format=format_,
        type="TABLE",
        description=table.text("comment"),
    )


@reads(
    {
        "org.apache.spark.sql.catalyst.AliasIdentifier": {"name": "name"},
        "org.apache.spark.sql.catalyst.TableIdentifier": {
            "table": "table",
            "database": "database",
            "current": "#database",
            "catalog": "catalog",
        },
    }
)
def table_name(identifier: object, *, case_sensitive: bool = False) -> str | None:
    """
    Return `database.table` for a described TableIdentifier, after the catalog unless that is `spark_catalog`.

    Args:
        identifier: a described TableIdentifier, perhaps in the user's spelling. If it has no database, the table is in
            the one that was current.
        case_sensitive: the value of `spark.sql.caseSensitive`. Without it, the name is in lower case, as the session
            catalog keeps it (SessionCatalog.formatTableName).
    """
    if not isinstance(identifier, Described) or identifier.text("table") is None:
        return None
    database = identifier.text("database") or identifier.text("current") or "default"
    parts = [identifier.text("catalog"), database, identifier.text("table")]
    name = ".".join(part for part in parts[1:] if part)
    if parts[0] not in (None, "spark_catalog"):
        return f"{parts[0]}.{name}"
    # The session catalog keeps the names of its tables in lower case, however a statement spells them.
    return name if case_sensitive else name.lower()


def is_elsewhere(table: Described) -> bool:
    """Return whether the data of a described CatalogTable is in another system, and not at its location."""
    provider = (table.text("provider") or "").lower()
    return provider in ("jdbc", "kafka") or ".jdbc" in provider or ".kafka" in provider


def table_key(catalog: str, name: str) -> str:
    """Return the key of a table in `Session.tables`."""
    return f"{catalog}.{name}".lower()


def catalog_key(dataset: Dataset) -> str | None:
    """Return the key of a dataset in `Session.tables`; None if it is in no catalog."""
    if dataset.catalog is None:
        return None
    name = dataset.symlinks[0].name if dataset.symlinks else dataset.identifier.name
    return table_key(dataset.catalog.name, name)


def known_table(session: Session, identifier: object) -> Dataset | None:
    """Return a table of the session catalog as the application has last used it; None if it has not used it."""
    name = table_name(identifier, case_sensitive=session.case_sensitive)
    return None if name is None else (session.tables or {}).get(table_key("spark_catalog", name))


@functools.lru_cache(maxsize=256)
def format_of_provider(provider: str | None) -> str | None:
    """Return a provider's short name: `parquet` for `parquet`, for a class name, for a Hive serde."""
    if not provider:
        return None
    name = provider.rsplit(".", 1)[-1].lower()
    known = (*_LAYERS, "parquet", "orc", "avro", "json", "csv", "text", "xml")
    return next((format_ for format_ in known if format_ in name), name)


_LAYERS = ("iceberg", "delta", "hudi", "paimon")


def storage_of(provider: str | None) -> tuple[str, str | None]:
    """
    Return the storage layer and the file format of a provider's tables.

    Args:
        provider: a short name or the name of a class, as for `format_of_provider`.

    Returns:
        For a table format, its name, and the format of its files if that is always the same; otherwise `default` and
        the format of the files.
    """
    format_ = format_of_provider(provider)
    if format_ in _LAYERS:
        return format_, "parquet" if format_ == "delta" else None
    return "default", format_


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

    Spark's analyzed plan keeps a `View` above the query of each view. Temporary views have one too, but they are not
    datasets.
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


_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_DELTA = "org.apache.spark.sql.delta"
_STREAMING = "org.apache.spark.sql.execution.streaming"


def at_location(path: str, fields: tuple[Field, ...] = (), file_format: str | None = None) -> Dataset:
    """
    Return the dataset at a path.

    Args:
        path: the path of a file or a directory.
        fields: the schema.
        file_format: for example `parquet`.
    """
    layer, format_ = storage_of(file_format)
    return Dataset(naming.location(path), fields, storage_layer=layer, file_format=format_, type="FILE")


# The probe sends these attributes as the operator's output.
SOURCES.unread.update({"LogicalRelation": ("output",)})


@source({_DATASOURCES: "LogicalRelation"})
@reads(
    {
        f"{_DATASOURCES}.HadoopFsRelation": {
            # Those of a folder that a stream has written are as the user has spelled them.
            "rootPaths": "#pathOf:location.rootPaths",
            "index": "location",
            "format": "fileFormat",
            "path": "options[path]",
            "globPaths": "options[__globPaths__]",
        },
        f"{_DATASOURCES}.FileIndex": {"files": "#rootFiles"},
        f"{_DELTA}.files.TahoeFileIndex": {"path": "path"},
    }
)
def logical_relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """
    Resolve a table of the session catalog, or files.

    A HadoopFsRelation is recognised by its readings, not by its class: Delta Lake's is an anonymous subclass.
    """
    relation = operator.described("relation")
    index = None if relation is None else relation.values.get("index")
    if isinstance(index, Described) and index.class_name.startswith(_DELTA):
        operator = _without_columns_of_feed(operator)
    found = in_session_catalog(plan, operator, session)
    if found is not None:
        return versioned(found, delta_versions(operator))
    if relation is None:
        return None
    paths = relation.values.get("rootPaths")
    if not isinstance(paths, tuple):
        return _of_unknown(plan, operator, relation, session)
    is_table = isinstance(index, Described) and index.text("path") is not None
    known = [path for path in paths if isinstance(path, str)]
    if operator.arguments.get("isStreaming") is True and not is_table:
        roots = _streamed(operator, known)
    else:
        files = index.values.get("files") if isinstance(index, Described) else None
        names = {file for file in files if isinstance(file, str)} if isinstance(files, tuple) else None
        roots = naming.roots(known, relation.text("path"), names)
    fields, format_ = fields_of(plan, operator), format_of_class(relation.values.get("format"))
    datasets = {d.identifier: d for d in (at_location(path, fields, format_) for path in roots)}
    return versioned(by_name(operator, *datasets.values()), delta_versions(operator))


_OF_FEED = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
"""The columns that the change feed of a Delta table adds to those of the table, and that no such table may have."""


def _without_columns_of_feed(operator: Operator) -> Operator:
    """Return a read of a Delta table with the columns of the table alone, if it reads its change feed."""
    if not _OF_FEED.issubset(each.name for each in operator.output):
        return operator
    return operator._replace(output=tuple(each for each in operator.output if each.name not in _OF_FEED))


@source(
    {f"{_DELTA}.commands.cdc": "CDCReader$DeltaCDFRelation"},
    {"path": "snapshotWithSchemaMode.snapshot.deltaLog.dataPath"},
)
def change_feed(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """
    Resolve the change feed of a Delta table, which is read whole; a stream reads it as files.

    Source: org.apache.spark.sql.delta.commands.cdc.CDCReader
    """
    operator = _without_columns_of_feed(operator)
    found = in_session_catalog(plan, operator, session)
    relation = operator.described("relation")
    path = None if relation is None else relation.text("path")
    if found is not None or path is None:
        return found
    return by_name(operator, at_location(path, fields_of(plan, operator), "delta"))


@reads({"org.apache.spark.sql.sources.BaseRelation": {"where": "#whereOf"}})
def _of_unknown(plan: Plan, operator: Operator, relation: Described, session: Session) -> Relation | None:
    """Return the relation of a connector without a resolver, named by the options that it keeps; None without any."""
    where = where_of(relation.values.get("where"))
    if not where:
        return None
    source = relation.class_name.rpartition(".")[0]
    return by_name(
        operator, placed(source, relation.class_name, where, session.trimming.rules, fields_of(plan, operator))
    )


def _streamed(operator: Operator, paths: list[str]) -> list[str]:
    """Return the directory of a micro-batch's file stream if it is known; else the directories of its files."""
    stream = operator.described("stream")
    base = naming.stream_path(stream.text("text")) if stream is not None else None
    return [naming.before_glob(base)] if base else list(dict.fromkeys(map(naming.parent, paths)))


def infers_schema(operator: Operator) -> bool:
    """Return whether Spark reads a file to infer its schema; only then is globbing switched off (SPARK-32810)."""
    relation = operator.described("relation")
    return relation is not None and relation.text("globPaths") == "false"


# Spark 4.1 moved the classes of streams.
@source(
    {
        _STREAMING: "StreamingRelation StreamingExecutionRelation",
        f"{_STREAMING}.runtime": "StreamingRelation StreamingExecutionRelation",
    }
)
@reads(
    {
        f"{_DATASOURCES}.DataSource": {"path": "#pathOf:options[path]"},
        f"{_STREAMING}.FileStreamSource": {"text": "#text"},
        f"{_STREAMING}.FileStreamSink": {"text": "#text", "path": "#sinkPath"},
        f"{_STREAMING}.runtime.FileStreamSource": {"text": "#text"},
        f"{_STREAMING}.sinks.FileStreamSink": {"text": "#text", "path": "#sinkPath"},
    }
)
def stream(plan: Plan, operator: Operator, _session: Session) -> Relation | None:
    """Resolve a stream of files."""
    from_source = operator.described("dataSource") or operator.described("source")
    path = from_source.text("path") if from_source is not None else None
    if path is None:
        return None
    return by_name(operator, at_location(naming.before_glob(path), fields_of(plan, operator)))


def format_of_class(format_: object) -> str | None:
    """Return `parquet` for a ParquetFileFormat."""
    if not isinstance(format_, Described):
        return None
    return format_.simple_name.removesuffix("FileFormat").lower() or None
