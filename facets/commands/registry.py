"""
The registry of commands: the rule for what each of them writes.

`WRITES` has the supported commands, `QUIET` those that write no dataset. The event names any other command.
"""

from __future__ import annotations

from openlineage_pyspark.facets.class_rules import ClassRules
from openlineage_pyspark.facets.commands import delta, hudi, inserts, row_level, tables
from openlineage_pyspark.facets.commands.target import (
    COMMAND,
    DATASOURCES,
    LOGICAL,
    NO_TARGET,
    WRITES,
    CommandRule,
    Target,
    UnnamedTarget,
    reads,
)
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import UNION, WITH_CTE, Operator, Plan

__all__ = ["BUILT_IN", "QUIET", "WRITES", "is_command", "is_known", "job_word", "namesake", "sinks", "write_of"]

BUILT_IN = (inserts, tables, row_level, delta, hudi)
"""The modules whose import registers their commands."""

QUIET: ClassRules[CommandRule] = ClassRules()
"""Commands that write no dataset, and so make no event."""


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
            DescribeDeltaDetailCommand DescribeDeltaHistoryCommand OptimizeTableCommand""",
        "org.apache.spark.sql.delta.skipping.clustering.temp": "AlterTableClusterBy",
        "io.delta.tables.execution": "VacuumTableCommand",
    }
)
def _nothing(_plan: Plan, _operator: Operator, _session: Session) -> Target:
    return NO_TARGET


_SAME_JOB = {
    "SaveAsV1TableCommand": "CreateDataSourceTableAsSelectCommand",
    "AlterColumns": "AlterColumn",
    "AlterTableChangeColumnCommentsCommand": "AlterTableChangeColumnCommand",
}
"""Command -> its name in another Spark version, so that an upgrade does not rename the job."""


def sinks(plan: Plan) -> tuple[int, ...]:
    """Return the indices of the commands at the top of a plan: one, or several for a multi-insert."""
    found: list[int] = []
    stack = [plan.root]
    while stack:
        at = stack.pop()
        operator = plan.operators[at]
        if is_command(operator):
            found.append(at)
        elif operator.class_name in (UNION, WITH_CTE):
            children = operator.children
            stack.extend(reversed(children if operator.class_name == UNION else children[:1]))
    return tuple(found)


def is_known(operator: Operator) -> bool:
    """Return whether an operator is a command that has a rule."""
    return operator.class_name in WRITES or operator.class_name in QUIET


@reads({f"{LOGICAL}.Command": {"isCommand": "nodeName"}})
def is_command(operator: Operator) -> bool:
    """Return whether an operator is a command: a known one, or any other `Command` of Spark or of a connector."""
    return is_known(operator) or "isCommand" in operator.arguments


def namesake(operator: Operator) -> str | None:
    """Return the full name of a known command with the same simple name in another package, if there is one."""
    return None if is_known(operator) else WRITES.namesake(operator.class_name) or QUIET.namesake(operator.class_name)


def write_of(plan: Plan, operator: Operator, session: Session) -> Target:
    """
    Return what a command writes.

    Args:
        plan: the plan of the command.
        operator: the command.
        session: the session's settings.

    Returns:
        The result of its rule; without a rule, an UnnamedTarget that reads the command's children.
    """
    rule = WRITES.get(operator.class_name) or QUIET.get(operator.class_name)
    if rule is not None:
        return rule(plan, operator, session)
    known = namesake(operator)
    why = f"a command with the name of {known}, which is another class" if known else "a command without a rule"
    return UnnamedTarget(operator.children, why)


def job_word(operator: Operator) -> str:
    """Return the command's part of a job's name, as in the Java integration, from the analyzed command."""
    word = naming.snake_case(_SAME_JOB.get(operator.name, operator.name))
    return f"execute_{word}" if word.endswith("_command") else word
