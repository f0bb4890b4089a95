"""Every logical operator in the installed Spark's jars has a rule, or a reason for which the lineage never meets it.

And every class that a rule is for is one: of the installed Spark, of another one that says since or until when, or of
a connector. Every operator and expression that holds code of others is marked as such.
"""

import re
import struct
import zipfile
from importlib import metadata

import pytest
from openlineage_pyspark.facets.commands import registry
from openlineage_pyspark.facets.datasets.source import SOURCES
from openlineage_pyspark.facets.model.plan import Expression, Operator, OperatorRef, Plan, expression_name
from openlineage_pyspark.facets.trace import expressions, operators
from support.spark_jobs import pyspark_folder

EXPRESSION = "org/apache/spark/sql/catalyst/expressions/Expression"
ROOT, ABSTRACT = "org/apache/spark/sql/catalyst/plans/logical/LogicalPlan", 0x0600
# Bytes after the tag of a constant in a class file (JVM specification, 4.4); any other has four.
SIZES = {7: 2, 8: 2, 15: 3, 16: 2, 19: 2, 20: 2, 5: 8, 6: 8}
NEVER_MET = {
    "the analyzer replaces them": r"""datasources\.CreateTable Unresolved\w+ \w*ParameterizedQuery
        PlanWithUnresolvedIdentifier RelationChanges RelationTimeTravel NamedStreamingRelation SQLTableFunction
        TemporaryViewRelation DataFrameDropColumns Pivot InsertIntoDir InsertIntoStatement WithWindowDefinition Unpivot
        AlterViewAs CreateView LoadData V2TableReference V2ChangelogReference MetricViewPlaceholder
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
        CollationAwareMurmur3Hash CollationAwareXxHash64 TryReflect logical.Call""",
    "4.1": """LimitAll TransformWithStateInPySpark PythonWorkerLogs streaming.runtime.StreamingRelation
        streaming.runtime.StreamingExecutionRelation SaveAsV1TableCommand DescribeProcedureCommand
        ShowNamespacesCommand ShowProceduresCommand SetNamespaceCollationCommand AddCheckConstraint DropConstraint
        AddConstraint streaming.runtime.MemoryStreamTable streaming.runtime.MemoryStream LowLatencyMemoryStream""",
    "4.2": """NearestByJoin SequentialStreamingUnion InsertOnlyMerge ShowCollationsCommand SetPathCommand CloseCursor
        DescribeTablePartition DeclareCursor FetchCursor OpenCursor MaxMinByK""",
    "4.3": """CreateTableLike Zip BinBy MapPartitionsExternalUDF AlterTableChangeColumnCommentsCommand
        ShowTablesJsonCommand ShowPartitionsJsonCommand NullIfResult ExternalUserDefinedFunction TranspiledPythonUDF""",
}
UNTIL = {
    "3.5": "PythonMapInArrow AlterColumn ShowTableExtended AnsiCast",
    "4.0": """ShowNamespaces TransformWithStateInPandas execution.streaming.StreamingRelation
        execution.streaming.StreamingExecutionRelation execution.streaming.MemoryStreamTable
        execution.streaming.MemoryStream""",
}
OF_CONNECTORS = r"""openlineage\.pyspark\.KnownTables\$KnownTable |
    org\.apache\.spark\.sql\.kafka010\..*
    |org\.apache\.spark\.sql\.delta\..*|io\.delta\..*|org\.apache\.spark\.sql\.hudi\..*|.*\.AlterTable(Add|Drop)Constraint
    |.*\.(Add|Drop|Replace)PartitionField|.*\.(Set|Drop)IdentifierFields|.*\.(CreateOrReplace|Drop)(Branch|Tag)
    |.*\.SetWriteDistributionAndOrdering"""


# The types of fields that hold code which is not Spark's own, and those that hold them without running it on columns.
CODE = {
    "[B",
    "Ljava/lang/reflect/Method;",
    "Lorg/apache/spark/api/python/PythonFunction;",
    "Lorg/apache/spark/sql/connector/catalog/functions/AggregateFunction;",
    "Lorg/apache/spark/sql/connector/catalog/functions/ScalarFunction;",
    "Lorg/apache/spark/sql/expressions/Aggregator;",
    "Lorg/apache/spark/sql/hive/HiveShim$HiveFunctionWrapper;",
    "Lorg/apache/spark/sql/streaming/StatefulProcessor;",
}
NO_CODE = {
    "the analyzer replaces them": r"Unresolved\w+ PlanWithUnresolvedIdentifier",
    "the optimizer makes them": "AppendColumnsWithObject",
    "they call code if they call a method of a certain name": "StaticInvoke",
    "they make objects for code, which is marked": "CatalystToExternalMap",
    "a command, which reads no columns": "SetCommand",
}


def header(data):
    """Give the access flags of a class file, the names of the class and of what it extends, and its fields' types."""
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
    at += 8 + 2 * interfaces
    (count,), types = struct.unpack_from(">H", data, at), set()
    at += 2
    for _ in range(count):
        _, _, type_, attributes = struct.unpack_from(">4H", data, at)
        types.add(texts[type_])
        at += 8
        for _ in range(attributes):
            at += 6 + struct.unpack_from(">I", data, at + 2)[0]
    return flags, [texts[classes[name]] for name in names if name], types


@pytest.fixture(scope="module")
def classes():
    """Give the classes of the installed Spark: what each extends, those that are not abstract, their fields' types."""
    above, concrete, types = {}, set(), {}
    for jar in (pyspark_folder() / "jars").glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for name in re.findall(r"org/apache/spark/sql/\S+\.class", "\n".join(archive.namelist())):
                flags, (own, *above[own]), fields = header(archive.read(name))
                types[own] = fields
                concrete |= set() if flags & ABSTRACT else {own}
    return above, concrete, types


def below(above, root):
    """Give the classes that extend a class."""
    found = {root}
    while more := {own for own in above.keys() - found if not found.isdisjoint(above[own])}:
        found |= more
    return found


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
    above, concrete, _ = classes
    plans = below(above, ROOT)
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
        *(name for name in expressions.OPAQUE if name not in expressions.RULES),
        *expressions.HOLDING,
    }
    assert sorted(name for name in known if (name in names) != is_here(name)) == []


@pytest.mark.spark
def test_every_class_of_the_installed_spark_that_holds_code_of_others_is_marked(classes):
    above, concrete, types = classes
    plans = below(above, ROOT) & concrete
    functions = below(above, EXPRESSION) & concrete
    calls = below(above, f"{EXPRESSION.rpartition('/')[0]}/UserDefinedExpression")
    of_rows = {own for own in plans if types[own] & (CODE | {f"Lscala/Function{n};" for n in range(5)})}
    of_values = {own for own in functions if own in calls or types[own] & CODE}
    known = re.compile("|".join(" ".join(NO_CODE.values()).split()))

    def is_marked(own):
        name = own.replace("/", ".")
        if own in functions:
            return expressions.called_code(Expression(expression_name(name), {})) is not None
        operator = Operator(name.rpartition(".")[2], name, {"child": OperatorRef(1)})
        leaf = Operator("LocalRelation", f"{operators._LOGICAL}.LocalRelation", {})
        found = operators.operator_lineage(Plan((operator, leaf), (), {}), operator)
        return found.code is not None and found.known

    assert len(of_rows) > 8
    assert len(of_values) > 12
    found = sorted(own.rpartition("/")[2] for own in of_rows | of_values if not is_marked(own))
    assert [name for name in found if not known.fullmatch(name)] == []


def test_operators_whose_output_is_not_sent_have_a_rule():
    assert sorted(name for name in operators.SAME_OUTPUT if name not in operators.RULES) == []
