"""The commands that carry rows: every way to write a file format, a table, a view or a stream."""

from __future__ import annotations

from urllib.parse import unquote

from openlineage_pyspark.facets import naming, relations
from openlineage_pyspark.facets.dataset import Dataset, Identifier
from openlineage_pyspark.facets.relations import Session
from openlineage_pyspark.facets.written import (
    Rule,
    Write,
    by_position,
    into_relation,
    mode_lifecycle,
    named_fields,
    table_label,
    texts,
    to_path,
    to_table,
)
from openlineage_pyspark.listener.plan import Described, Operator, Plan


def _insert_into_files(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """A file format's write: to a path, or to a table that lies there."""
    query, names = operator.operator("query"), texts(operator.sequence("outputColumnNames"))
    table = operator.described("catalogTable")
    lifecycle = "OVERWRITE" if operator.text("mode") == "Overwrite" else None
    if table is not None:
        return to_table(plan, table, query, names, session, lifecycle)
    format_ = operator.described("fileFormat")
    name = format_.simple_name.removesuffix("FileFormat").lower() if format_ is not None else None
    return to_path(plan, operator.text("outputPath"), query, names, name, lifecycle or mode_lifecycle(operator))


def _create_table_as_select(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """CREATE TABLE AS SELECT, saveAsTable."""
    table = operator.described("table") or operator.described("tableDesc")
    if table is None:
        return None
    lifecycle = None if operator.text("mode") == "Append" else "CREATE"
    existing = operator.described("existing")
    if lifecycle is None and existing is not None:
        # What is appended to lies where the catalog says, which the description of a table to be made doesn't know.
        table = existing
    names = texts(operator.sequence("outputColumnNames"))
    return to_table(plan, table, operator.operator("query"), names, session, lifecycle)


def _insert_into_hive(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """INSERT into a Hive table."""
    table = operator.described("table")
    lifecycle = "OVERWRITE" if operator.arguments.get("overwrite") is True else None
    names = texts(operator.sequence("outputColumnNames"))
    return None if table is None else to_table(plan, table, operator.operator("query"), names, session, lifecycle)


def _insert_into_directory(plan: Plan, operator: Operator, _session: Session) -> Write | None:
    """INSERT OVERWRITE DIRECTORY."""
    storage = operator.described("storage")
    path = unquote(storage.text("locationUri") or "") if storage is not None else None
    names = texts(operator.sequence("outputColumnNames"))
    lifecycle = "OVERWRITE" if operator.arguments.get("overwrite") is not False else None
    format_ = operator.text("provider") or (storage.text("serde") if storage is not None else None)
    return to_path(plan, path, operator.operator("query"), names, format_, lifecycle)


def _insert_into_source(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """INSERT into a relation that takes rows itself."""
    target = operator.operator("logicalRelation")
    if target is None:
        return None
    lifecycle = "OVERWRITE" if operator.arguments.get("overwrite") is True else None
    return into_relation(plan, target, operator.operator("query"), session, lifecycle)


def _save_into_source(plan: Plan, operator: Operator, _session: Session) -> Write | None:
    """df.write to a source that takes rows itself: JDBC, Kafka, a path."""
    query = operator.operator("query")
    lifecycle = "OVERWRITE" if operator.text("mode") == "Overwrite" else None
    if operator.text("url") and operator.text("dbtable"):
        fields = named_fields(plan, query, ())
        dataset = relations.jdbc_dataset(str(operator.text("url")), str(operator.text("dbtable")), fields)
        label = table_label(dataset, None)
        return Write(dataset, query, by_position(plan, query), (), lifecycle or mode_lifecycle(operator), label=label)
    if operator.text("topic") and operator.text("bootstrapServers"):
        servers, topic = str(operator.text("bootstrapServers")), str(operator.text("topic"))
        identifier = Identifier(naming.kafka_namespace(servers), topic)
        dataset = Dataset(identifier, named_fields(plan, query, ()), type="TOPIC")
        return Write(dataset, query, by_position(plan, query), label=topic.replace(".", "_"))
    return to_path(plan, operator.text("path"), query, (), None, lifecycle or mode_lifecycle(operator))


def _create_view(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """CREATE VIEW: a permanent one is a dataset of its own, a temporary one is none."""
    kind = operator.described("viewType")
    if kind is not None and "Persisted" not in kind.class_name:
        return None
    identifier, query = operator.described("name"), operator.operator("plan") or operator.operator("query")
    name = relations.table_name(identifier)
    if name is None:
        return None
    chosen = tuple(
        str(column[0]) for column in operator.sequence("userSpecifiedColumns") if isinstance(column, tuple) and column
    )
    table = Described("CatalogTable", {"identifier": identifier, "kind": "VIEW"})
    lifecycle = "ALTER" if operator.name == "AlterViewAsCommand" else "CREATE"
    return to_table(plan, table, query, chosen, session, lifecycle)


def _v2_insert(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """INSERT and writeTo into a DataSource V2 table."""
    target = operator.operator("table")
    lifecycle = None if operator.name == "AppendData" else "OVERWRITE"
    return None if target is None else into_relation(plan, target, operator.operator("query"), session, lifecycle)


def _stream_to_files(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """A micro-batch to a file sink, by path or by table; console, memory and foreachBatch keep nothing themselves."""
    query, table, sink = operator.operator("query"), operator.described("catalogTable"), operator.described("sink")
    if table is not None:
        return to_table(plan, table, query, (), session, None)
    path = relations.stream_path(sink) if sink is not None else None
    return to_path(plan, path, query, (), None, None)


def _stream_to_table(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """A micro-batch to a DataSource V2 table."""
    target = operator.operator("relation")
    return None if target is None else into_relation(plan, target, operator.operator("query"), session, None)


def read_by(operator: Operator) -> int | None:
    """The query of a command that may put its rows where nothing is kept: it reads all the same."""
    return operator.operator("query") if INSERTS.get(operator.name) is _v2_insert else None


def streamed_query(plan: Plan) -> int | None:
    """The query of a micro-batch, whatever it is written to."""
    return plan.top.operator("query") if plan.top.name.startswith("WriteToMicroBatch") else None


INSERTS: dict[str, Rule] = {
    "InsertIntoHadoopFsRelationCommand": _insert_into_files,
    "CreateDataSourceTableAsSelectCommand": _create_table_as_select,
    "SaveAsV1TableCommand": _create_table_as_select,
    "CreateHiveTableAsSelectCommand": _create_table_as_select,
    "OptimizedCreateHiveTableAsSelectCommand": _create_table_as_select,
    "InsertIntoHiveTable": _insert_into_hive,
    "InsertIntoHiveDirCommand": _insert_into_directory,
    "InsertIntoDataSourceDirCommand": _insert_into_directory,
    "InsertIntoDataSourceCommand": _insert_into_source,
    "SaveIntoDataSourceCommand": _save_into_source,
    "CreateViewCommand": _create_view,
    "AlterViewAsCommand": _create_view,
    "AppendData": _v2_insert,
    "OverwriteByExpression": _v2_insert,
    "OverwritePartitionsDynamic": _v2_insert,
    "WriteToMicroBatchDataSourceV1": _stream_to_files,
    "WriteToMicroBatchDataSource": _stream_to_table,
}
"""Command -> what it writes."""
