"""
What the probe is asked to read besides the tree itself.

A value that is no tree node (a file relation, a catalog's table, options) is described in the probe's one walk, by the
getters that stand here for its class, its superclasses or its interfaces. So a connector is added here and in
`facets`, never in Java. A chain is method names with dots; `[key]` looks a key up in a map, whatever its case; the
whole of a map never leaves the JVM, because its other values may be secret.
"""

from __future__ import annotations

DESCRIBED: dict[str, dict[str, str]] = {
    "org.apache.spark.sql.execution.datasources.HadoopFsRelation": {
        "rootPaths": "location.rootPaths",
        "format": "fileFormat",
        "path": "options[path]",
        "globPaths": "options[__globPaths__]",
    },
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
    },
    "org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat": {"locationUri": "locationUri", "serde": "serde"},
    "org.apache.spark.sql.catalyst.TableIdentifier": {
        "table": "table",
        "database": "database",
        "catalog": "catalog",
    },
    "org.apache.spark.sql.connector.catalog.Identifier": {"name": "name", "namespace": "namespace"},
    "org.apache.spark.sql.connector.catalog.CatalogPlugin": {"name": "name"},
    "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog": {"url": "options.url"},
    "org.apache.spark.sql.connector.catalog.Table": {
        "name": "name",
        "location": "properties[location]",
        "provider": "properties[provider]",
        "schema": "schema",
    },
    "org.apache.spark.sql.connector.catalog.V1Table": {"v1Table": "v1Table"},
    "org.apache.spark.sql.execution.datasources.v2.FileTable": {"paths": "paths", "formatName": "formatName"},
    "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTable": {
        "url": "jdbcOptions.url",
        "table": "jdbcOptions.tableOrQuery",
    },
    "org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation": {
        "url": "jdbcOptions.url",
        "table": "jdbcOptions.tableOrQuery",
        "query": "jdbcOptions.parameters[query]",
    },
    "org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand": {
        "url": "options[url]",
        "dbtable": "options[dbtable]",
        "path": "options[path]",
        "topic": "options[topic]",
        "bootstrapServers": "options[kafka.bootstrap.servers]",
        "saveMode": "mode",
    },
    "org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource": {
        "topic": "writeOptions[topic]",
        "bootstrapServers": "writeOptions[kafka.bootstrap.servers]",
    },
    "org.apache.spark.sql.delta.sources.DeltaSink": {"path": "path"},
    "org.apache.spark.sql.connector.write.RowLevelOperationTable": {
        "target": "table",
        "command": "operation.command",
    },
    "org.apache.spark.sql.catalyst.util.ReplaceDataProjections": {"ordinals": "rowProjection.colOrdinals"},
    "org.apache.spark.sql.catalyst.util.WriteDeltaProjections": {"ordinals": "rowProjection.colOrdinals"},
    "org.apache.spark.sql.catalyst.plans.logical.Command": {"isCommand": "nodeName"},
    "org.apache.spark.sql.execution.command.SaveAsV1TableCommand": {"existing": "#table:tableDesc.identifier"},
    "org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier": {
        "tableMetadata": "#sessionTable",
        "tablePath": "#sessionPath",
    },
    "org.apache.spark.sql.SaveMode": {"value": "name"},
    "org.apache.spark.sql.execution.datasources.DataSource": {
        "className": "className",
        "paths": "paths",
        "path": "options[path]",
        "format": "providingInstance",
    },
    **{
        f"org.apache.spark.sql.execution.streaming.{place}FileStream{end}": {"text": "#text"}
        for place in ("", "runtime.", "sinks.")
        for end in ("Source", "Sink")
    },
    "org.apache.spark.rdd.RDD": {"id": "id", "sources": "#rddSources"},
    "org.apache.spark.sql.catalyst.plans.logical.QualifiedColType": {
        "path": "path",
        "colName": "colName",
        "dataType": "dataType",
        "comment": "comment",
    },
    "org.apache.spark.sql.catalyst.expressions.CommonExpressionId": {"id": "id"},
    "org.apache.spark.sql.catalyst.plans.UsingJoin": {"join": "tpe"},
    "org.apache.spark.sql.catalyst.expressions.CreateNamedStruct": {"structType": "dataType"},
    # A struct's star gives no name.
    "org.apache.spark.sql.catalyst.expressions.GetStructField": {"field": "extractFieldName"},
    "org.apache.spark.sql.types.StructField": {"name": "name", "type": "dataType", "comment": "getComment"},
    "org.apache.spark.sql.catalyst.plans.logical.TableSpecBase": {"location": "location", "provider": "provider"},
    **{
        f"org.apache.spark.sql.execution.command.{command}": {"existing": "#table:table.identifier"}
        for command in ("CreateTableCommand", "CreateDataSourceTableCommand")
    },
    **{
        f"org.apache.spark.sql.execution.command.{command}": {
            f"{reading}Metadata": f"#table:{argument}",
            f"{reading}Identifier": argument,
            f"{reading}Path": f"#path:{argument}",
            **more,
        }
        for command, reading, argument, more in (
            ("DropTableCommand", "table", "tableName", {}),
            ("TruncateTableCommand", "table", "tableName", {}),
            ("AlterTableAddColumnsCommand", "table", "table", {}),
            ("AlterTableChangeColumnCommand", "table", "tableName", {}),
            ("AlterTableChangeColumnCommentsCommand", "table", "tableName", {}),
            ("AlterTableSetLocationCommand", "table", "tableName", {}),
            ("AlterTableSetPropertiesCommand", "table", "tableName", {}),
            ("AlterTableUnsetPropertiesCommand", "table", "tableName", {}),
            ("AlterTableAddPartitionCommand", "table", "tableName", {}),
            ("AlterTableDropPartitionCommand", "table", "tableName", {}),
            ("AlterTableRenamePartitionCommand", "table", "tableName", {}),
            ("LoadDataCommand", "table", "table", {}),
            (
                "AlterTableRenameCommand",
                "old",
                "oldName",
                {"newMetadata": "#table:newName", "newIdentifier": "newName", "newPath": "#path:newName"},
            ),
            (
                "CreateTableLikeCommand",
                "target",
                "targetTable",
                {"sourceMetadata": "#table:sourceTable"},
            ),
        )
    },
}
"""Class -> reading -> chain."""

SKIPPED: dict[str, tuple[str, ...]] = {
    "LocalRelation": ("data", "stream"),
    "ExternalRDD": ("rdd",),
    "CommandResult": ("rows", "commandPhysicalPlan"),
    "PythonUDF": ("func", "dataType"),
    "PythonUDAF": ("func", "dataType"),
    "PythonUDTF": ("func",),
    "ScalaUDF": ("function", "dataType"),
}
"""Operator or expression -> arguments that are never read: rows, closures."""

TRANSPARENT = (
    "Filter",
    "Sort",
    "SubqueryAlias",
    "View",
    "GlobalLimit",
    "LocalLimit",
    "Tail",
    "Offset",
    "Distinct",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Sample",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "ResolvedHint",
    "EventTimeWatermark",
    "CollectMetrics",
    "WithCTE",
    "Union",
    "Intersect",
    "Except",
)
"""Operators that put out what their first child does: their output isn't sent."""


def table() -> str:
    """The vocabulary as the probe reads it: one line an entry, separated by tabs."""
    lines = [
        f"describe\t{class_name}\t{reading}\t{chain}"
        for class_name, readings in DESCRIBED.items()
        for reading, chain in readings.items()
    ]
    lines += [f"skip\t{name}\t{field}" for name, fields in SKIPPED.items() for field in fields]
    lines += [f"transparent\t{name}" for name in TRANSPARENT]
    return "\n".join(lines)
