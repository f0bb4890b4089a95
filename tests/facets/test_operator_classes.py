"""Every logical operator in the installed Spark's jars has a rule, or a reason for which the lineage never meets it.

And every class that a rule is for is one: of the installed Spark, of another one that says since or until when, or of
a connector.
"""

import re
import struct
import zipfile
from importlib import metadata

import pytest
from openlineage_pyspark.facets.commands import registry
from openlineage_pyspark.facets.datasets.source import SOURCES
from openlineage_pyspark.facets.model.plan import expression_name
from openlineage_pyspark.facets.trace import expressions, operators, struct_fields
from support.spark_jobs import pyspark_folder

ROOT, ABSTRACT = "org/apache/spark/sql/catalyst/plans/logical/LogicalPlan", 0x0600
# Bytes behind the tag of a constant in a class file (JVM specification, 4.4); any other has four.
SIZES = {7: 2, 8: 2, 15: 3, 16: 2, 19: 2, 20: 2, 5: 8, 6: 8}
NEVER_MET = {
    "the analyzer replaces them": r"""datasources\.CreateTable Unresolved\w+ \w*ParameterizedQuery
        PlanWithUnresolvedIdentifier RelationChanges RelationTimeTravel NamedStreamingRelation SQLTableFunction
        TemporaryViewRelation DataFrameDropColumns Pivot InsertIntoDir InsertIntoStatement WithWindowDefinition Unpivot
        AlterViewAs CreateTableLike CreateView LoadData V2TableReference V2ChangelogReference MetricViewPlaceholder
        CreateMetricView ExecuteImmediateQuery Call""",
    "a command alone holds them": r"CurrentNamespace Resolved\w+",
    "the optimizer or the planner makes them": r"""NonGroupingAggregateReference OrderedJoin AppendColumnsWithObject
        BatchEvalPython\w* ArrowEvalPython\w* DeleteFromTableWithFilters DomainJoin FlatMapGroupsInR\w* OffsetHolder
        MapPartitionsInRWithArrow WindowGroupLimit LogicalQueryStage InMemoryRelation WriteFiles ScanBuilderHolder
        WriteToDataSourceV2 DummyExpressionHolder WriteToStream""",
    "a script runs what is in them, one by one": r"\w+Statement ErrorCondition ExceptionHandler MultiResult",
    "the runner of pipelines runs their queries": r"CreateFlowCommand CreateMaterializedViewAsSelect AutoCdcInto"
    r" CreateStreamingTable\w*",
    "nobody knows what they write, which the event says": "ExternalCommandExecutor CreateMetricViewCommand",
}


# The end of a class's full name stands where Spark has it since, or had it last.
SINCE = {
    "4.0": """SQLFunctionNode UpdateEventTimeWatermarkColumn UnionLoop UnionLoopRef MapInArrow FlatMapGroupsInArrow
        FlatMapCoGroupsInArrow TransformWithState TransformWithStateInPandas Transpose EmptyRelation PipeOperator
        StreamingDataSourceV2ScanRelation AlterColumns UnsetNamespacePropertiesCommand AlterViewSchemaBindingCommand
        DescribeRelationJsonCommand CreateSQLFunctionCommand AlterViewSchemaBinding DropVariable SetVariable
        AlterTableCollation CompoundBody ShowTablePartition ShowTablesExtended CreateUserDefinedFunction
        logical.AlterTableClusterBy CreateVariable SQLScalarFunction CommonExpressionDef With ListAgg
        CollationAwareMurmur3Hash CollationAwareXxHash64""",
    "4.1": """LimitAll TransformWithStateInPySpark PythonWorkerLogs streaming.runtime.StreamingRelation
        streaming.runtime.StreamingExecutionRelation SaveAsV1TableCommand DescribeProcedureCommand
        ShowNamespacesCommand ShowProceduresCommand SetNamespaceCollationCommand AddCheckConstraint DropConstraint
        AddConstraint streaming.runtime.MemoryStreamTable streaming.runtime.MemoryStream LowLatencyMemoryStream""",
    "4.2": """NearestByJoin SequentialStreamingUnion InsertOnlyMerge ShowCollationsCommand SetPathCommand CloseCursor
        DescribeTablePartition DeclareCursor FetchCursor OpenCursor MaxMinByK""",
    "4.3": """Zip BinBy MapPartitionsExternalUDF AlterTableChangeColumnCommentsCommand ShowTablesJsonCommand
        ShowPartitionsJsonCommand NullIfResult""",
}
UNTIL = {
    "3.5": "PythonMapInArrow AlterColumn ShowTableExtended AnsiCast",
    "4.0": """ShowNamespaces TransformWithStateInPandas execution.streaming.StreamingRelation
        execution.streaming.StreamingExecutionRelation execution.streaming.MemoryStreamTable
        execution.streaming.MemoryStream""",
}
OF_CONNECTORS = r"""org\.apache\.spark\.sql\.kafka010\..*
    |org\.apache\.spark\.sql\.delta\..*|io\.delta\..*|org\.apache\.spark\.sql\.hudi\..*|.*\.AlterTable(Add|Drop)Constraint"""


def header(data):
    """Give the access flags of a class file, and the names of the class and of what it extends."""
    (count,), at, index, texts, classes = struct.unpack_from(">H", data, 8), 10, 1, {}, {}
    while index < count:
        tag, (number,) = data[at], struct.unpack_from(">H", data, at + 1)
        if tag == 1:
            texts[index] = data[at + 3 : at + 3 + number].decode("utf-8", "replace")
        classes[index] = number
        at += 3 + number if tag == 1 else 1 + SIZES.get(tag, 4)
        index += 2 if tag in (5, 6) else 1
    flags, *names, interfaces = struct.unpack_from(">4H", data, at)
    names += struct.unpack_from(f">{interfaces}H", data, at + 8)
    return flags, [texts[classes[name]] for name in names if name]


@pytest.fixture(scope="module")
def classes():
    """Give each class of the installed Spark with what it extends, and those that are not abstract."""
    above, concrete = {}, set()
    for jar in (pyspark_folder() / "jars").glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for name in re.findall(r"org/apache/spark/sql/\S+\.class", "\n".join(archive.namelist())):
                flags, (own, *above[own]) = header(archive.read(name))
                concrete |= set() if flags & ABSTRACT else {own}
    return above, concrete


def version(text):
    return tuple(int(part) for part in text.split(".")[:2])


def is_here(name):
    """Tell whether the installed Spark has a class, as far as the lists above say."""
    here = version(metadata.version("pyspark"))
    late = [since for since, ends in SINCE.items() if here < version(since) and is_among(name, ends)]
    gone = [until for until, ends in UNTIL.items() if here > version(until) and is_among(name, ends)]
    return not late and not gone and not re.fullmatch(OF_CONNECTORS, name, re.VERBOSE)


def is_among(name, ends):
    return any(name == end or name.endswith(f".{end}") for end in ends.split())


def known_operators():
    return [name for rules in (operators.RULES, registry.WRITES, registry.QUIET, SOURCES) for name, _ in rules.items()]


@pytest.mark.spark
def test_every_operator_of_the_installed_spark_has_a_rule_or_a_reason(classes):
    above, concrete = classes
    plans = {ROOT}
    while more := {own for own in above.keys() - plans if not plans.isdisjoint(above[own])}:
        plans |= more
    found = {name.rstrip("$").replace("/", ".") for name in plans & concrete}
    known = found & {*known_operators()}
    reason = re.compile(rf"(?:.*[.$])?(?:{'|'.join(' '.join(NEVER_MET.values()).split())})")
    assert len(known) > 180
    assert sorted(name for name in found - known if not reason.fullmatch(name)) == []


@pytest.mark.spark
def test_every_class_with_a_rule_is_one_of_the_installed_spark_or_of_another_that_is_named(classes):
    names = {name.rstrip("$").replace("/", ".") for name in classes[0]}
    assert [name for name in known_operators() if (name in names) != is_here(name)] == []


@pytest.mark.spark
def test_every_expression_with_a_rule_is_one_of_catalyst(classes):
    names = {expression_name(name.replace("/", ".")) for name in classes[0]}
    known = {
        *expressions.RULES,
        *expressions.MASKING,
        *expressions.UNCHANGED,
        *expressions.CHOOSING,
        *expressions.RANKING,
        *expressions.UNREAD,
        *struct_fields.HOLDING,
    }
    assert sorted(name for name in known if (name in names) != is_here(name)) == []


def test_operators_whose_output_is_not_sent_have_a_rule():
    assert sorted(name for name in operators.SAME_OUTPUT if name not in operators.RULES) == []
