"""What the probe is told to read is there to be read, on each Spark: each class, and each getter of each chain."""

from __future__ import annotations

import re
from importlib import metadata

import pytest
from openlineage_pyspark.facets.commands.target import WRITES
from openlineage_pyspark.facets.datasets.source import SOURCES
from openlineage_pyspark.facets.trace import expressions, operators
from openlineage_pyspark.listener.probe import readings

# Classes, and readings of classes (`Class.reading`), that a Spark does not have.
SINCE = {
    "4.0": """org.apache.spark.sql.catalyst.expressions.CommonExpressionId
        org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2Relation.options
        org.apache.spark.sql.catalyst.util.ReplaceDataProjections
        org.apache.spark.sql.catalyst.expressions.VariableReference
        org.apache.spark.sql.catalyst.plans.logical.Call
        org.apache.spark.sql.catalyst.plans.logical.CreateVariable
        org.apache.spark.sql.catalyst.plans.logical.DropVariable""",
    "4.1": """org.apache.spark.sql.execution.command.SaveAsV1TableCommand
        org.apache.spark.sql.execution.streaming.runtime.FileStreamSource
        org.apache.spark.sql.execution.streaming.sinks.FileStreamSink""",
    "4.3": """org.apache.spark.sql.catalyst.plans.logical.CreateTableLike
        org.apache.spark.sql.execution.command.AlterTableChangeColumnCommentsCommand""",
}
UNTIL = {
    "4.0": """org.apache.spark.sql.execution.streaming.FileStreamSource
        org.apache.spark.sql.execution.streaming.FileStreamSink""",
}
CONNECTORS = {
    "openlineage.pyspark.KnownTables$KnownTable": "that of scripts that run without their data",
    "org.apache.spark.sql.delta.catalog.DeltaTableV2": "Delta Lake's",
    "org.apache.spark.sql.delta.sources.DeltaSink": "Delta Lake's",
    "org.apache.spark.sql.delta.commands.cdc.CDCReader$DeltaCDFRelation": "Delta Lake's",
    "org.apache.spark.sql.delta.files.TahoeFileIndex": "Delta Lake's",
    "org.apache.spark.sql.delta.commands.CloneTableCommand": "Delta Lake's",
    "org.apache.spark.sql.delta.commands.ConvertToDeltaCommand": "Delta Lake's",
    "org.apache.spark.sql.delta.commands.RestoreTableCommand": "Delta Lake's",
    "org.apache.iceberg.TableMetadata": "Iceberg's",
    "org.apache.iceberg.spark.procedures.BaseProcedure": "Iceberg's",
    "org.apache.iceberg.spark.source.SparkChangelogTable": "Iceberg's",
    "org.apache.iceberg.spark.source.SparkScan": "Iceberg's",
    "org.apache.iceberg.spark.source.SparkTable": "Iceberg's",
    "org.apache.spark.sql.connector.iceberg.catalog.Procedure": "Iceberg's",
    "org.apache.spark.sql.connector.iceberg.catalog.ProcedureParameter": "Iceberg's",
    "org.apache.spark.sql.kafka010.KafkaRelation": "Kafka's",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaScan": "Kafka's",
    "org.apache.spark.sql.kafka010.KafkaSourceOffset": "Kafka's",
    "org.apache.hudi.HoodieStreamingSink": "Hudi's",
    "org.apache.spark.sql.hudi.command.AlterHoodieTableAddColumnsCommand": "Hudi's",
    "org.apache.spark.sql.hudi.command.AlterHoodieTableAddPartitionCommand": "Hudi's",
    "org.apache.spark.sql.hudi.command.AlterHoodieTableChangeColumnCommand": "Hudi's",
    "org.apache.spark.sql.hudi.command.AlterHoodieTableDropPartitionCommand": "Hudi's",
    "org.apache.spark.sql.hudi.command.AlterHoodieTableRenameCommand": "Hudi's",
    "org.apache.spark.sql.hudi.command.DropHoodieTableCommand": "Hudi's",
    "org.apache.spark.sql.hudi.command.RepairHoodieTableCommand": "Hudi's",
    "org.apache.spark.sql.hudi.command.TruncateHoodieTableCommand": "Hudi's",
}
# Class that leaves a getter to those that extend it -> one of them.
BEARERS = {
    "org.apache.spark.sql.execution.datasources.v2.FileTable": (
        "org.apache.spark.sql.execution.datasources.v2.parquet.ParquetTable"
    ),
    "org.apache.spark.sql.catalyst.plans.logical.Command": "org.apache.spark.sql.catalyst.plans.logical.DropTable",
}
INITIALISE = False
# Readings that the probe makes without a getter of the value itself.
WORDS = {
    "#text": (),
    "#rddSources": (),
    "#defaultPath": ("identifier", "storage.locationUri", "tableType.name"),
    "#schema": ("schema",),
    "#sinkPath": ("basePath", "hadoopConf"),
    "#database": ("database",),
    "#tableLocation": ("storage.locationUri", "identifier"),
    "#calledTable": ("procedure", "args"),
    "#rootFiles": ("rootPaths",),
    # Of the session, and of whatever field holds options.
    "#variables": (),
    "#variablesInUse": (),
    "#namesInValues": ("origin.sqlText",),
    "#whereOf": (),
}
SESSION_WORDS = dict.fromkeys(("#sessionTable", "#sessionPath"), ("catalog.name", "identifier.name"))


class Reflection:
    """Java's own reflection, over a JVM that has Spark's jars and runs nothing."""

    def __init__(self, gateway):
        from py4j.java_gateway import java_import
        from py4j.protocol import Py4JJavaError

        self._absent = Py4JJavaError
        java_import(gateway.jvm, "java.lang.*")
        self._jvm = gateway.jvm
        self._no_parameters = gateway.new_array(gateway.jvm.java.lang.Class, 0)
        self._loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def type(self, name):
        """Give a class, which is not initialised; None if there is none."""
        try:
            return self._jvm.java.lang.Class.forName(name, INITIALISE, self._loader)
        except self._absent:
            return None

    def missing(self, class_name, chain):
        """Give the first step of a chain that its class does not have; None if it has them all."""
        if "#conf:" in chain or "#catalog:" in chain:
            # A setting of the session.
            return None
        for getters in WORDS.get(chain) or SESSION_WORDS.get(chain) or re.sub(r"^#\w+:", "", chain).split(":"):
            here = self.type(BEARERS.get(class_name, class_name))
            for step in "" if getters in WORDS else re.sub(r"\[.*", "", getters).split("."):
                after = self._field(here, step[1:]) if step.startswith("@") else self._after(here, step)
                if after is None:
                    return f"{here.getName()}.{step}"
                here = after
        return None

    def _field(self, type_, name):
        """Give the type of a field, whose name Scala may put after that of its class."""
        fields = type_.getDeclaredFields()
        return next((f.getType() for f in fields if f.getName() == name or f.getName().endswith(f"$${name}")), None)

    def _after(self, type_, name):
        method = self._method(type_, name)
        return None if method is None else self._returned(method)

    def _method(self, type_, name):
        try:
            return type_.getMethod(name, self._no_parameters)
        except self._absent:
            return self._declared(type_, name)

    def _declared(self, type_, name):
        if type_ is None:
            return None
        try:
            return type_.getDeclaredMethod(name, self._no_parameters)
        except self._absent:
            return self._declared(type_.getSuperclass(), name)

    def _returned(self, method):
        inside = re.fullmatch(r"scala\.Option<([\w.$]+)>", method.getGenericReturnType().toString())
        return self.type(inside[1]) if inside else method.getReturnType()


@pytest.fixture(scope="module")
def reflection(process_jvm):
    """Give reflection over the installed Spark's classes."""
    from py4j import protocol

    with pytest.MonkeyPatch.context() as patch:
        # A Spark of an earlier test in this process has py4j convert each Java exception, in the JVM of that Spark.
        patch.setattr("py4j.java_gateway.get_return_value", protocol.get_return_value)
        yield Reflection(process_jvm)


def version(text):
    return tuple(int(part) for part in text.split(".")[:2])


def is_here(class_name):
    """Tell whether the installed Spark has a class, as far as the lists above say."""
    here = version(metadata.version("pyspark"))
    late = any(here < version(since) and class_name in names.split() for since, names in SINCE.items())
    gone = any(here > version(until) and class_name in names.split() for until, names in UNTIL.items())
    return not late and not gone and class_name not in CONNECTORS


def unresolved(reflection, described):
    """Give what can't be read: classes that are not there, and steps that a class does not have."""
    found = []
    for class_name, chains in described.items():
        if reflection.type(class_name) is None:
            found.append(class_name)
            continue
        steps = (reflection.missing(class_name, chain) for chain in chains.values())
        found += [step for step in steps if step is not None]
    return found


def test_each_reading_resolves_or_stands_in_a_list_with_its_reason(reflection):
    described = readings.readings()
    steps = {f"{name}.{chain.partition('[')[0]}" for name, chains in described.items() for chain in chains.values()}
    wanted = [name for name in (*described, *steps) if not is_here(name)]
    assert sorted(set(unresolved(reflection, described))) == sorted(wanted)


@pytest.mark.parametrize(
    ("class_name", "chain", "problem"),
    [
        ("org.apache.spark.sql.NoSuchClass", "name", "org.apache.spark.sql.NoSuchClass"),
        ("org.apache.spark.rdd.RDD", "idd", "org.apache.spark.rdd.RDD.idd"),
        (
            "org.apache.spark.sql.catalyst.catalog.CatalogTable",
            "storage.locationUri.hoost",
            "java.net.URI.hoost",
        ),
        (
            "org.apache.spark.sql.execution.streaming.sources.TextSocketTable",
            "@hoost",
            "org.apache.spark.sql.execution.streaming.sources.TextSocketTable.@hoost",
        ),
        (
            "org.apache.spark.sql.execution.command.DropTableCommand",
            "#table:name",
            "org.apache.spark.sql.execution.command.DropTableCommand.name",
        ),
    ],
)
def test_a_reading_that_is_made_up_is_found(reflection, class_name, chain, problem):
    assert unresolved(reflection, {class_name: {"reading": chain}}) == [problem]


def test_no_two_rules_read_different_things_under_one_name():
    described = readings.readings()
    for own in (SOURCES.readings, WRITES.readings, expressions.READINGS):
        for class_name, chains in own.items():
            assert chains.items() <= described[class_name].items()


def test_the_table_has_a_line_for_each_reading_each_argument_left_out_and_each_output_not_sent():
    lines = [line.split("\t") for line in readings.table().split("\n")]
    kinds = [line[0] for line in lines]
    assert kinds.count("describe") == sum(len(chains) for chains in readings.readings().values())
    assert kinds.count("skip") == len([*readings.unread()])
    assert sorted(line[1] for line in lines if line[0] == "transparent") == sorted(operators.SAME_OUTPUT)
    assert ["skip", "LocalRelation", "data"] in lines
