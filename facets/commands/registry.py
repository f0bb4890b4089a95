"""
What a command writes: the dataset, the query whose columns go in, and what becomes of the dataset.

`WRITES` is the list of the commands that are supported; `QUIET` of those that write no dataset. A command in neither
is named in the event.
"""

from __future__ import annotations

from openlineage_pyspark.facets.commands.delta import DELTA
from openlineage_pyspark.facets.commands.inserts import INSERTS
from openlineage_pyspark.facets.commands.row_level import ROW_LEVEL
from openlineage_pyspark.facets.commands.tables import TABLE_COMMANDS
from openlineage_pyspark.facets.commands.target import NOTHING, Found, Rule, Unnamed
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.resolve import Session
from openlineage_pyspark.facets.model.plan import Operator, Plan

WRITES: dict[str, Rule] = {**INSERTS, **TABLE_COMMANDS, **ROW_LEVEL, **DELTA}
"""Command -> what it writes."""

QUIET = frozenset(
    """
    AddArchivesCommand AddCheckConstraint AddConstraint AddFilesCommand AddJarsCommand AlterDatabasePropertiesCommand
    AlterDatabaseSetLocationCommand AlterTableAddConstraint AlterTableClusterBy AlterTableCollation
    AlterTableDropConstraint AlterTableSerDePropertiesCommand AlterViewSchemaBinding AlterViewSchemaBindingCommand
    AnalyzeColumn AnalyzeColumnCommand AnalyzePartitionCommand AnalyzeTable AnalyzeTableCommand AnalyzeTables
    AnalyzeTablesCommand CacheTable CacheTableAsSelect ClearCacheCommand CloseCursor CommandResult CommentOnNamespace
    CompoundBody CreateDatabaseCommand CreateFunction CreateFunctionCommand CreateIndex CreateNamespace
    CreateSQLFunctionCommand CreateTempViewUsing CreateUserDefinedFunction CreateVariable DeclareCursor DescribeColumn
    DescribeColumnCommand DescribeDatabaseCommand DescribeDeltaDetailCommand DescribeDeltaHistoryCommand
    DescribeFunction DescribeFunctionCommand DescribeNamespace DescribeProcedureCommand DescribeQueryCommand
    DescribeRelation DescribeRelationJsonCommand DescribeTableCommand DescribeTablePartition DropConstraint
    DropDatabaseCommand DropFunction DropFunctionCommand DropIndex DropNamespace DropTempViewCommand DropVariable
    ExplainCommand FetchCursor ListArchivesCommand ListFilesCommand ListJarsCommand NoopCommand OpenCursor
    OptimizeTableCommand RecoverPartitions RefreshFunction RefreshFunctionCommand RefreshResource RefreshTable
    RefreshTableCommand RepairTable RepairTableCommand ResetCommand SetCatalogAndNamespace SetCatalogCommand
    SetCommand SetNamespaceCollationCommand SetNamespaceCommand SetNamespaceLocation SetNamespaceProperties
    SetPathCommand SetVariable SetViewProperties ShowCatalogsCommand ShowCollationsCommand ShowColumns
    ShowColumnsCommand ShowCreateTable ShowCreateTableAsSerdeCommand ShowCreateTableCommand
    ShowCurrentNamespaceCommand ShowFunctions ShowFunctionsCommand ShowNamespaces ShowNamespacesCommand ShowPartitions
    ShowPartitionsCommand ShowPartitionsJsonCommand ShowProceduresCommand ShowTableExtended ShowTablePartition
    ShowTableProperties ShowTablePropertiesCommand ShowTables ShowTablesCommand ShowTablesExtended
    ShowTablesJsonCommand ShowViews ShowViewsCommand StreamingExplainCommand UncacheTable
    UnsetNamespacePropertiesCommand UnsetViewProperties VacuumTableCommand
    """.split()
)
"""Commands that write no dataset: they make no event."""


_SAME_JOB = {
    "SaveAsV1TableCommand": "CreateDataSourceTableAsSelectCommand",
    "AlterColumns": "AlterColumn",
    "AlterTableChangeColumnCommentsCommand": "AlterTableChangeColumnCommand",
}
"""Commands that another Spark version calls otherwise: a job keeps its name over an upgrade."""


def sinks(plan: Plan) -> tuple[int, ...]:
    """The commands at the top of a plan: one, or several of a multi-insert."""
    found: list[int] = []
    stack = [plan.root]
    while stack:
        at = stack.pop()
        operator = plan.operators[at]
        if is_command(operator):
            found.append(at)
        elif operator.name in ("Union", "WithCTE"):
            children = operator.children
            stack.extend(reversed(children if operator.name == "Union" else children[:1]))
    return tuple(found)


def is_known(operator: Operator) -> bool:
    """Whether an operator is a command that a rule or the list of quiet ones knows."""
    return operator.name in WRITES or operator.name in QUIET


def is_command(operator: Operator) -> bool:
    """Whether an operator is a command: one that is known, or one that Spark calls so, a connector's too."""
    return is_known(operator) or "isCommand" in operator.arguments


def write(plan: Plan, operator: Operator, session: Session) -> Found:
    """What a command writes; a command without a rule reads what stands below it and writes nobody knows what."""
    rule = WRITES.get(operator.name)
    if rule is not None:
        return rule(plan, operator, session)
    return NOTHING if operator.name in QUIET else Unnamed(operator.children, "a command without a rule")


def job_word(operator: Operator) -> str:
    """The command's part of a job's name: the Java integration's, from the analyzed command."""
    word = naming.snake_case(_SAME_JOB.get(operator.name, operator.name))
    return f"execute_{word}" if word.endswith("_command") else word
