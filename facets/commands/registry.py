"""
All commands of this package: importing their modules registers them in `WRITES`.

`QUIET` has the commands that write no dataset. The event names any command that is in neither.
"""

from __future__ import annotations

from openlineage_pyspark.facets.commands import delta, hudi, iceberg, inserts, row_level, tables
from openlineage_pyspark.facets.commands.target import (
    COMMAND,
    DATASOURCES,
    LOGICAL,
    NO_TARGET,
    QUIET,
    WRITES,
    Target,
    is_command,
    is_known,
    job_word,
    namesake,
    sinks_of,
    write_of,
)
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import Operator, Plan

__all__ = ["BUILT_IN", "QUIET", "WRITES", "is_command", "is_known", "job_word", "namesake", "sinks_of", "write_of"]

BUILT_IN = (inserts, tables, row_level, delta, iceberg, hudi)
"""The modules whose import registers their commands."""


@QUIET.rule(
    {
        COMMAND: """
            AddArchivesCommand AddFilesCommand AddJarsCommand AlterDatabasePropertiesCommand
            AlterDatabaseSetLocationCommand AlterTableSerDePropertiesCommand
            AlterViewSchemaBindingCommand AnalyzeColumnCommand AnalyzePartitionCommand
            AnalyzeTableCommand AnalyzeTablesCommand ClearCacheCommand CreateDatabaseCommand
            CreateFunctionCommand CreateSQLFunctionCommand DescribeColumnCommand
            DescribeDatabaseCommand DescribeFunctionCommand DescribeProcedureCommand
            DescribeQueryCommand DescribeRelationJsonCommand DescribeTableCommand
            DropFunctionCommand DropTempViewCommand ExplainCommand
            ListArchivesCommand ListFilesCommand ListJarsCommand RefreshFunctionCommand
            RefreshTableCommand RepairTableCommand ResetCommand SetCatalogCommand SetCommand
            SetNamespaceCollationCommand SetNamespaceCommand SetPathCommand ShowCatalogsCommand
            ShowCollationsCommand ShowColumnsCommand ShowCreateTableAsSerdeCommand
            ShowCreateTableCommand ShowCurrentNamespaceCommand ShowFunctionsCommand
            ShowNamespacesCommand ShowPartitionsCommand ShowPartitionsJsonCommand
            ShowProceduresCommand ShowTablePropertiesCommand ShowTablesCommand ShowTablesJsonCommand
            ShowViewsCommand StreamingExplainCommand UnsetNamespacePropertiesCommand""",
        LOGICAL: """
            AddCheckConstraint AddConstraint AlterTableAddConstraint AlterTableClusterBy
            AlterTableCollation AlterTableDropConstraint AlterViewSchemaBinding AnalyzeColumn
            AnalyzeTable AnalyzeTables CacheTable CacheTableAsSelect CloseCursor CommandResult
            CommentOnNamespace CompoundBody CreateFunction CreateIndex CreateNamespace
            CreateUserDefinedFunction CreateVariable DeclareCursor DescribeColumn DescribeFunction
            DescribeNamespace DescribeRelation DescribeTablePartition DropConstraint DropFunction
            DropIndex DropVariable FetchCursor NoopCommand OpenCursor
            RecoverPartitions RefreshFunction RefreshTable RepairTable SetCatalogAndNamespace
            SetNamespaceLocation SetNamespaceProperties SetVariable SetViewProperties ShowColumns
            ShowCreateTable ShowFunctions ShowNamespaces ShowPartitions ShowTableExtended
            ShowTablePartition ShowTableProperties ShowTables ShowTablesExtended ShowViews
            UncacheTable UnsetViewProperties""",
        DATASOURCES: "CreateTempViewUsing RefreshResource",
        "org.apache.spark.sql.delta.commands": """
            DescribeDeltaDetailCommand DescribeDeltaHistoryCommand""",
        "org.apache.spark.sql.delta.skipping.clustering.temp": "AlterTableClusterBy",
    }
)
def _nothing(_plan: Plan, _operator: Operator, _session: Session) -> Target:
    return NO_TARGET
