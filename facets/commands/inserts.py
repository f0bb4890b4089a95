"""The commands that write the rows of a query: to files, a table, a view or a stream."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.commands.generated import with_generated
from openlineage_pyspark.facets.commands.target import (
    COMMAND,
    DATASOURCES,
    LOGICAL,
    NO_TARGET,
    Assigned,
    Target,
    Write,
    by_position,
    command,
    is_dynamic,
    keeps_nothing,
    label_of,
    mode_lifecycle,
    modes_of,
    named_fields,
    options_of,
    reads,
    reads_of,
    replacing,
    spelt_as,
    table_label,
    text_values,
    to_be_created,
    unnamed,
    write_to_path,
    write_to_relation,
    write_to_table,
)
from openlineage_pyspark.facets.datasets.jdbc import jdbc_dataset
from openlineage_pyspark.facets.datasets.kafka import topic_dataset, topic_readings
from openlineage_pyspark.facets.datasets.naming import is_absolute, stream_path
from openlineage_pyspark.facets.datasets.placed import for_writing, placed, where_of
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.datasets.v2 import in_place, v2_table
from openlineage_pyspark.facets.model.dataset import Field, schema_fields
from openlineage_pyspark.facets.model.plan import Described, ExpressionRef, Keys, Operator, Plan, Value
from openlineage_pyspark.facets.model.run import Lifecycle, Replaced

_HIVE = "org.apache.spark.sql.hive.execution"
_STREAMING = "org.apache.spark.sql.execution.streaming"
_PATH_KEEPERS = ("delta", "hudi", "iceberg", "spark.xml", "spark.avro", "spark.csv", "excel")


def _of_partitions(found: Target, given: int, *, dynamic: bool) -> Target:
    """
    Return an OVERWRITE with the part that it replaces.

    Args:
        found: the write.
        given: how many columns have the partition's value in the statement.
        dynamic: whether further columns of partitions get their values from the rows, and other partitions stay.
    """
    if dynamic or not isinstance(found, Write) or found.lifecycle != "OVERWRITE":
        return replacing(found, "partitions" if dynamic else None)
    return attrs.evolve(found, replaced="partitions" if given else "all")


def _named(value: Value) -> int:
    return len(value.names) if isinstance(value, Keys) else 0


@command({DATASOURCES: "InsertIntoHadoopFsRelationCommand"}, reads=modes_of("options"))
def _insert_into_files(plan: Plan, operator: Operator, session: Session) -> Target:
    """INSERT and df.write in a file format, to a path or to a table of files."""
    query, names = operator.operator("query"), text_values(operator.sequence("outputColumnNames"))
    table = operator.described("catalogTable")
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.text("mode") == "Overwrite" else None
    given = _named(operator.arguments.get("staticPartitions"))
    from_rows = len(operator.sequence("partitionColumns")) > given
    dynamic = lifecycle == "OVERWRITE" and from_rows and is_dynamic(operator)
    if table is not None:
        return _of_partitions(write_to_table(plan, table, query, names, session, lifecycle), given, dynamic=dynamic)
    format_ = operator.described("fileFormat")
    name = format_.simple_name.removesuffix("FileFormat").lower() if format_ is not None else None
    path = operator.text("outputPath")
    found = write_to_path(plan, path, query, names, name, lifecycle or mode_lifecycle(operator))
    return _unless_there(operator, _of_partitions(found, given, dynamic=dynamic))


@command(
    {COMMAND: "SaveAsV1TableCommand"},
    reads={"existing": "#table:tableDesc.identifier", **options_of("tableDesc")},
)
@command({_HIVE: "CreateHiveTableAsSelectCommand"})
@command({COMMAND: "CreateDataSourceTableAsSelectCommand"}, reads=options_of("table"))
def _create_table_as_select(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE TABLE AS SELECT, saveAsTable."""
    query = operator.operator("query")
    table = to_be_created(operator, "table") or to_be_created(operator, "tableDesc")
    if table is None:
        return unnamed(None, query)
    lifecycle: Lifecycle | None = None if operator.text("mode") == "Append" else "CREATE"
    existing = operator.described("existing")
    if lifecycle is None and existing is not None:
        # The existing table's location is in the catalog, not in the description of the table to create.
        return _append(plan, operator, existing, session)
    names = text_values(operator.sequence("outputColumnNames"))
    return _unless_there(operator, write_to_table(plan, table, query, names, session, lifecycle))


def _append(plan: Plan, operator: Operator, table: Described, session: Session) -> Target:
    """Return the write of a saveAsTable that appends; columns match those of the table whatever their case."""
    query, fields = operator.operator("query"), schema_fields(table.text("schema"))
    given = text_values(operator.sequence("outputColumnNames")) or tuple(f.name for f in named_fields(plan, query, ()))
    return _with_schema(
        write_to_table(plan, table, query, spelt_as((field.name for field in fields), given), session, None), fields
    )


def _with_schema(found: Target, fields: tuple[Field, ...]) -> Target:
    """Return a write to a table with these columns; a query may lack those whose value its statement gives."""
    if not fields or not isinstance(found, Write):
        return found
    written = {column.name.casefold() for column in found.columns}
    given = tuple(Assigned(field.name, ()) for field in fields if field.name.casefold() not in written)
    return attrs.evolve(found, dataset=attrs.evolve(found.dataset, fields=fields), columns=(*found.columns, *given))


def _unless_there(operator: Operator, found: Target) -> Target:
    """Return a write; the mode `ignore` skips it if the target exists."""
    if operator.text("mode") == "Ignore" and isinstance(found, Write):
        return attrs.evolve(found, lifecycle="CREATE", may_skip=True)
    return found


@command({_HIVE: "InsertIntoHiveTable"})
def _insert_into_hive(plan: Plan, operator: Operator, session: Session) -> Target:
    """INSERT into a Hive table."""
    table, query = operator.described("table"), operator.operator("query")
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.arguments.get("overwrite") is True else None
    names = text_values(operator.sequence("outputColumnNames"))
    if table is None:
        return unnamed(None, query)
    dynamic = lifecycle == "OVERWRITE" and bool(operator.sequence("partitionColumns"))
    found = write_to_table(plan, table, query, names, session, lifecycle)
    found = _with_schema(found, schema_fields(table.text("schema")))
    return _of_partitions(found, _named(operator.arguments.get("partition")), dynamic=dynamic)


@command({_HIVE: "InsertIntoHiveDirCommand", COMMAND: "InsertIntoDataSourceDirCommand"})
@reads(
    {
        "org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat": {
            "locationUri": "#pathOf:locationUri",
            "here": "#localPathOf:locationUri",
            "serde": "serde",
        }
    }
)
def _insert_into_directory(plan: Plan, operator: Operator, _session: Session) -> Target:
    """INSERT OVERWRITE DIRECTORY."""
    storage = operator.described("storage")
    where = "here" if operator.arguments.get("isLocal") is True else "locationUri"
    path = storage.text(where) or storage.text("locationUri") if storage is not None else None
    names = text_values(operator.sequence("outputColumnNames"))
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.arguments.get("overwrite") is not False else None
    format_ = operator.text("provider") or (storage.text("serde") if storage is not None else None)
    found = write_to_path(plan, path, operator.operator("query"), names, format_, lifecycle)
    return replacing(found, "all" if lifecycle == "OVERWRITE" else None)


@command({DATASOURCES: "InsertIntoDataSourceCommand"})
def _insert_into_source(plan: Plan, operator: Operator, session: Session) -> Target:
    """INSERT into a data source that writes the rows itself."""
    target, query = operator.operator("logicalRelation"), operator.operator("query")
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.arguments.get("overwrite") is True else None
    return write_to_relation(plan, target, query, session, lifecycle)


@command(
    {DATASOURCES: "SaveIntoDataSourceCommand"},
    reads={
        "url": "options[url]",
        "dbtable": "options[dbtable]",
        "path": "#pathOf:options[path]",
        "given": "options[path]",
        "where": "#where:options",
        "replaceWhere": "options[replaceWhere]",
        **modes_of("options"),
        **topic_readings("options"),
    },
)
def _save_into_source(plan: Plan, operator: Operator, session: Session) -> Target:
    """df.write to a data source that writes the rows itself, such as JDBC or Kafka."""
    query = operator.operator("query")
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.text("mode") == "Overwrite" else mode_lifecycle(operator)
    if operator.text("url") and operator.text("dbtable"):
        fields = named_fields(plan, query, ())
        dataset = jdbc_dataset(str(operator.text("url")), str(operator.text("dbtable")), fields)
        label = table_label(dataset, None)
        write = Write(dataset, reads_of(query), by_position(plan, query), (), lifecycle, label=label)
        return _unless_there(operator, replacing(write, "all" if lifecycle == "OVERWRITE" else None))
    provider, path = operator.described("dataSource"), operator.text("path")
    if operator.text("bootstrapServers"):
        return _to_topic(plan, query, operator, provider)
    kinds = () if provider is None else (word for word in _PATH_KEEPERS if word in provider.class_name.lower())
    kind = next(iter(kinds), None)
    if path and (kind is not None or is_absolute(operator.text("given") or path)):
        format_ = None if kind is None else kind.removeprefix("spark.")
        found = write_to_path(plan, path, query, (), format_, lifecycle)
        part: Replaced | None = None
        if lifecycle == "OVERWRITE" and kind == "delta":
            part = "rows" if operator.text("replaceWhere") else "partitions" if is_dynamic(operator) else "all"
        return _unless_there(operator, replacing(found, part))
    where = where_of(operator.arguments.get("where"))
    if provider is None or not where:
        return unnamed(provider, query)
    source = provider.class_name.rpartition(".")[0]
    dataset = placed(source, provider.class_name, where, session.trimming.rules, named_fields(plan, query, ()))
    return _unless_there(
        operator,
        Write(dataset, reads_of(query), by_position(plan, query), lifecycle=lifecycle, label=label_of(dataset)),
    )


def _to_topic(plan: Plan, query: int | None, options: Operator, target: Described | None) -> Target:
    """Return a write to a Kafka topic; an UnnamedTarget if each row names its own topic."""
    topic = options.text("topic")
    if topic is None:
        return attrs.evolve(unnamed(target, query), target="Kafka topics named in the rows")
    dataset = topic_dataset(str(options.text("bootstrapServers")), topic, named_fields(plan, query, ()))
    return Write(dataset, reads_of(query), by_position(plan, query), label=topic.replace(".", "_"))


@command({COMMAND: "CreateViewCommand AlterViewAsCommand"})
def _create_view(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE VIEW: a permanent view is a dataset, a temporary one is not."""
    kind = operator.described("viewType")
    if kind is not None and "Persisted" not in kind.class_name:
        return NO_TARGET
    identifier, query = operator.described("name"), operator.operator("plan") or operator.operator("query")
    chosen = tuple(
        str(column[0]) for column in operator.sequence("userSpecifiedColumns") if isinstance(column, tuple) and column
    )
    table = Described("CatalogTable", {"identifier": identifier, "kind": "VIEW"})
    lifecycle: Lifecycle | None = "ALTER" if operator.name == "AlterViewAsCommand" else "CREATE"
    return write_to_table(plan, table, query, chosen, session, lifecycle)


@command(
    {
        LOGICAL: "AppendData InsertOnlyMerge OverwriteByExpression OverwritePartitionsDynamic",
        "org.apache.spark.sql.delta": "DeltaDynamicPartitionOverwriteCommand",
    }
)
def _v2_insert(plan: Plan, operator: Operator, session: Session) -> Target:
    """INSERT and writeTo into a DataSource V2 table."""
    lifecycle: Lifecycle | None = "OVERWRITE" if "Overwrite" in operator.name else None
    target, query = operator.operator("table"), operator.operator("query")
    by_name = operator.arguments.get("isByName") is True
    relation = plan.operators[target] if target is not None else None
    if relation is not None and relation.text("bootstrapServers"):
        return _to_topic(plan, query, relation, relation.described("table"))
    found = write_to_relation(plan, target, query, session, lifecycle, by_name=by_name)
    if isinstance(found, Write) and relation is not None:
        found = with_generated(found, relation.described("table"))
    return replacing(found, _replaced(plan, operator, relation))


@reads(
    {
        "org.apache.spark.sql.connector.catalog.Table": {"partitioning": "partitioning"},
        f"{LOGICAL}.OverwriteByExpression": {
            "replaceWhere": "writeOptions[replaceWhere]",
            "icebergMode": "writeOptions[overwrite-mode]",
            **modes_of("writeOptions"),
        },
    }
)
def _replaced(plan: Plan, operator: Operator, relation: Operator | None) -> Replaced | None:
    """Return the part that a command of DataSource V2 replaces; None if it replaces nothing."""
    table = relation.described("table") if relation is not None else None
    has_none = table is not None and table.values.get("partitioning") == ()
    if operator.name == "OverwriteByExpression":
        condition = operator.arguments.get("deleteExpr")
        literal = plan.expressions[condition.index] if isinstance(condition, ExpressionRef) else None
        if literal is None or True not in literal.arguments.values() or operator.text("replaceWhere"):
            return "rows"
        # Spark has chosen the whole table, but Iceberg follows this option, and Delta Lake the option of file sources
        # and the setting of the session.
        is_iceberg = table is not None and "iceberg" in table.class_name
        mode = operator.text("icebergMode") or "" if is_iceberg else ""
        dynamic = mode.lower() == "dynamic" if is_iceberg else is_dynamic(operator)
    elif "Dynamic" not in operator.name:
        return None
    else:
        dynamic = True
    return "partitions" if dynamic and not has_none else "all"


_SINKS_OF_LAKES = {"DeltaSink": "delta", "HoodieStreamingSink": "hudi"}


@command({f"{_STREAMING}.sources": "WriteToMicroBatchDataSourceV1"})
@reads(
    {
        "org.apache.spark.sql.delta.sources.DeltaSink": {"path": "@deltaLog.dataPath", "given": "#pathOf:@path"},
        "org.apache.hudi.HoodieStreamingSink": {"given": "#pathOf:@tablePath"},
    }
)
def _stream_to_files(plan: Plan, operator: Operator, session: Session) -> Target:
    """Micro-batches to a file sink, by path or by table; console, memory and foreachBatch sinks keep nothing."""
    query, table, sink = operator.operator("query"), operator.described("catalogTable"), operator.described("sink")
    if table is not None:
        return write_to_table(plan, table, query, (), session, None)
    path = (sink.text("path") or stream_path(sink.text("text"))) if sink is not None else None
    if path is None and sink is not None:
        # Delta Lake 4.1 looks up its table with the first batch, perhaps later than this.
        path = sink.text("given")
    format_ = _SINKS_OF_LAKES.get(sink.simple_name) if sink is not None else None
    return write_to_path(plan, path, query, (), format_, None) if path else unnamed(sink, query)


@command(
    {f"{_STREAMING}.sources": "WriteToMicroBatchDataSource"},
    reads={**topic_readings("writeOptions"), "where": "#where:writeOptions"},
)
def _stream_to_table(plan: Plan, operator: Operator, session: Session) -> Target:
    """Micro-batches to Kafka or to a DataSource V2 table or sink."""
    target, query = operator.operator("relation"), operator.operator("query")
    sink = operator.described("table")
    if operator.text("bootstrapServers"):
        return _to_topic(plan, query, operator, sink)
    if target is not None:
        return write_to_relation(plan, target, query, session, None)
    # Up to Spark 4.1, a sink that is not a table of a catalog has no relation.
    dataset = v2_table(sink, None, None, session, named_fields(plan, query, ())) if sink is not None else None
    if dataset is None or keeps_nothing(sink):
        return unnamed(sink, query)
    dataset = in_place(dataset, sink, for_writing(operator.arguments.get("where")), session)
    return Write(dataset, reads_of(query), by_position(plan, query), label=label_of(dataset))


@command({f"{_STREAMING}.continuous": "WriteToContinuousDataSource"})
def _continuous(_: Plan, operator: Operator, _session: Session) -> Target:
    """Continuous streams: the target is unknown."""
    return unnamed(operator.described("write"), operator.operator("query"))


def streamed_query(plan: Plan) -> int | None:
    """Return the index of a micro-batch's query; None for any other plan."""
    return plan.top.operator("query") if plan.top.name.startswith(("WriteToMicroBatch", "WriteToContinuous")) else None
