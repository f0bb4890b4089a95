"""Every logical operator in the installed Spark's jars has a rule, or a reason for which the lineage never meets it."""

import re
import struct
import zipfile

import pytest
from openlineage_pyspark.facets.commands import registry
from openlineage_pyspark.facets.trace import operators
from support.spark_jobs import pyspark_folder

ROOT, ABSTRACT = "org/apache/spark/sql/catalyst/plans/logical/LogicalPlan", 0x0600
# Bytes behind the tag of a constant in a class file (JVM specification, 4.4); any other has four.
SIZES = {7: 2, 8: 2, 15: 3, 16: 2, 19: 2, 20: 2, 5: 8, 6: 8}
NEVER_MET = {
    "the analyzer replaces them": r"""Unresolved\w+ \w*ParameterizedQuery PlanWithUnresolvedIdentifier RelationChanges
        RelationTimeTravel NamedStreamingRelation SQLTableFunction TemporaryViewRelation DataFrameDropColumns Pivot
        InsertIntoDir InsertIntoStatement WithWindowDefinition Unpivot AlterViewAs CreateTableLike CreateView LoadData
        V2TableReference V2ChangelogReference MetricViewPlaceholder CreateMetricView ExecuteImmediateQuery
        Call""",
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


@pytest.mark.spark
def test_every_operator_of_the_installed_spark_has_a_rule_or_a_reason():
    above, concrete = {}, set()
    for jar in (pyspark_folder() / "jars").glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for name in re.findall(r"org/apache/spark/sql/\S+\.class", "\n".join(archive.namelist())):
                flags, (own, *above[own]) = header(archive.read(name))
                concrete |= set() if flags & ABSTRACT else {own}
    plans = {ROOT}
    while more := {own for own in above.keys() - plans if not plans.isdisjoint(above[own])}:
        plans |= more
    found = {re.split(r"[/$]", name.rstrip("$"))[-1] for name in plans & concrete}
    known = found & {*operators.RULES, *registry.WRITES, *registry.QUIET}
    reason = re.compile("|".join(" ".join(NEVER_MET.values()).split()))
    assert len(known) > 180
    assert sorted(name for name in found - known if not reason.fullmatch(name)) == []
