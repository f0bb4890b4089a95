"""Topics of Kafka and other sources of streams, in the forms in which Spark 3.5 and 4 know them."""

from __future__ import annotations

from typing import Any

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import Attribute, Described, FrozenMap, Operator, OperatorRef, Output, Plan
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage

KAFKA = "org.apache.spark.sql.kafka010."
EXECUTION = "org.apache.spark.sql.execution."
STREAMING = EXECUTION + "streaming."
ATTRIBUTES = {1: Attribute("value", "binary"), 2: Attribute("_file", "string")}
COLUMNS = (Output(1, "value"),)
NOT_KNOWN = "the topics are given by a pattern: which topics match it is unknown"
SERVERS = "h1:9092,h2:9092"


def operator(class_name: str, *output: Output, **arguments: Any) -> Operator:
    return Operator(class_name.rpartition(".")[2], class_name, FrozenMap(arguments), output or COLUMNS)


def lineage(*operators: Operator) -> PlanLineage:
    return lineage_of_plan(Plan(operators, (), ATTRIBUTES), Session("file:/warehouse"))


def told(found: PlanLineage) -> tuple[list[str], list[str], list[str]]:
    """Give the inputs, the source columns of the first column, and the remarks."""
    assert found.columns is not None
    inputs = [f"{dataset.identifier.namespace} {dataset.identifier.name}" for dataset in found.inputs]
    edges = [f"{edge.dataset.name}.{edge.field}" for column in found.columns.columns[:1] for edge in column.edges]
    return inputs, edges, [gap.message for gap in found.gaps]


def of_a_batch(options: dict[str, str]) -> PlanLineage:
    relation = Described(KAFKA + "KafkaRelation", options)
    return lineage(operator(EXECUTION + "datasources.LogicalRelation", relation=relation))


def of_spark_3(options: dict[str, str], offsets: str | None = None) -> PlanLineage:
    scan = Described(KAFKA + "KafkaSourceProvider$KafkaScan", options)
    end = Described(KAFKA + "KafkaSourceOffset", {"json": offsets})
    return lineage(operator(EXECUTION + "datasources.v2.StreamingDataSourceV2Relation", scan=scan, endOffset=end))


def of_spark_4(options: dict[str, str], offsets: str | None = None) -> PlanLineage:
    table = Described(KAFKA + "KafkaSourceProvider$KafkaTable", {"name": "KafkaTable"})
    end = Described(KAFKA + "KafkaSourceOffset", {"json": offsets})
    v2 = EXECUTION + "datasources.v2."
    return lineage(
        operator(v2 + "StreamingDataSourceV2ScanRelation", relation=OperatorRef(1), endOffset=end),
        operator(v2 + "StreamingDataSourceV2Relation", table=table, **options),
    )


@pytest.mark.parametrize("form", [of_a_batch, of_spark_3, of_spark_4])
@pytest.mark.parametrize(
    ("options", "topics"),
    [
        ({"subscribe": "a"}, ["a"]),
        ({"subscribe": " b,a , b,"}, ["b", "a"]),
        ({"assign": '{"b":[0,1],"a":[0]}'}, ["b", "a"]),
    ],
)
def test_each_topic_that_the_options_name_is_a_dataset(form: Any, options: dict[str, str], topics: list[str]) -> None:
    inputs = [f"kafka://h1:9092 {topic}" for topic in topics]
    edges = sorted(f"{topic}.value" for topic in topics)

    assert told(form({"bootstrapServers": SERVERS, **options})) == (inputs, edges, [])


@pytest.mark.parametrize("form", [of_spark_3, of_spark_4])
@pytest.mark.parametrize("offsets", ['{"b.1":{"0":5},"a-2":{"0":1,"1":7}}', '{"b.1":{"0":5},"a-2":{"0":1,"1":'])
def test_the_offsets_of_a_stream_name_the_topics_that_match_its_pattern(form: Any, offsets: str) -> None:
    found = form({"bootstrapServers": "h:1", "subscribePattern": ".*"}, offsets)

    assert told(found) == (["kafka://h:1 a-2", "kafka://h:1 b.1"], ["a-2.value", "b.1.value"], [])


@pytest.mark.parametrize("form", [of_a_batch, of_spark_3, of_spark_4])
@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({"bootstrapServers": "h:1", "subscribePattern": ".*"}, NOT_KNOWN),
        ({"bootstrapServers": "h:1", "assign": "not JSON"}, "the topics are unknown"),
        ({"bootstrapServers": "h:1", "assign": "[1]"}, "the topics are unknown"),
        ({"subscribe": "a"}, "a source without a resolver: what it reads is unknown"),
    ],
)
def test_topics_that_are_not_known_are_said_to_be_so(form: Any, options: dict[str, str], remark: str) -> None:
    assert told(form(options)) == ([], [], [remark])


def test_a_login_is_no_part_of_a_clusters_name() -> None:
    found = of_a_batch({"bootstrapServers": "SSL://me:canary@h:1,h:2", "subscribe": "a"})

    assert told(found)[0] == ["kafka://h:1 a"]


def test_rows_of_several_topics_are_counted_for_none_of_them() -> None:
    options = {"bootstrapServers": "h:1"}

    assert of_a_batch({**options, "subscribe": "a,b"}).scanned == {}
    assert [dataset.name for dataset in of_a_batch({**options, "subscribe": "a"}).scanned.values()] == ["a"]


def test_a_table_that_stands_for_a_topic_is_the_topic_with_the_tables_name_as_a_symlink() -> None:
    relation = Described(KAFKA + "KafkaRelation", {"bootstrapServers": "h:1", "subscribe": "a"})
    name = Described("org.apache.spark.sql.catalyst.TableIdentifier", {"database": "d", "table": "Said"})
    table = Described("org.apache.spark.sql.catalyst.catalog.CatalogTable", {"identifier": name, "kind": "EXTERNAL"})
    operators = operator(EXECUTION + "datasources.LogicalRelation", relation=relation, catalogTable=table)
    (dataset,) = lineage(operators).inputs

    assert (dataset.identifier.namespace, dataset.identifier.name, dataset.type) == ("kafka://h:1", "a", "TOPIC")
    assert [(link.namespace, link.name) for link in dataset.symlinks] == [("file:///warehouse", "d.said")]


@pytest.mark.parametrize(
    ("argument", "class_name"),
    [
        ("table", "sources.RateStreamTable"),
        ("table", "sources.RatePerMicroBatchTable"),
        ("stream", "sources.RateStreamMicroBatchStream"),
        ("stream", "sources.RatePerMicroBatchStream"),
        ("table", "runtime.MemoryStreamTable"),
        ("stream", "MemoryStream"),
    ],
)
def test_rows_that_spark_generates_or_holds_come_from_no_dataset(argument: str, class_name: str) -> None:
    value = Described(STREAMING + class_name, {"name": "Rate(rowsPerSecond=1, numPartitions=8)"})
    leaf = operator(EXECUTION + "datasources.v2.StreamingDataSourceV2Relation", **{argument: value})

    assert told(lineage(leaf)) == ([], [], [])


@pytest.mark.parametrize(
    ("argument", "class_name"), [("table", "sources.TextSocketTable"), ("stream", "sources.TextSocketMicroBatchStream")]
)
def test_lines_of_a_socket_come_from_its_server(argument: str, class_name: str) -> None:
    value = Described(STREAMING + class_name, {"host": "h", "port": 99, "name": "Socket[h:99]"})
    leaf = operator(EXECUTION + "datasources.v2.StreamingDataSourceV2Relation", **{argument: value})

    assert told(lineage(leaf)) == (["socket://h:99 lines"], ["lines.value"], [])


def test_a_stream_of_iceberg_is_the_table_at_its_location_on_spark_3_too() -> None:
    scan = Described(
        "org.apache.iceberg.spark.source.SparkBatchQueryScan", {"location": "s3://lake/db/t", "name": "ice.db.t"}
    )
    leaf = operator(EXECUTION + "datasources.v2.StreamingDataSourceV2Relation", scan=scan)
    catalog = Described("org.apache.iceberg.spark.SparkCatalog", {"name": "ice"})
    name = Described("org.apache.spark.sql.connector.catalog.IdentifierImpl", {"name": "t", "namespace": ("db",)})
    named = leaf._replace(arguments=FrozenMap({**leaf.arguments, "catalog": catalog, "identifier": name}))
    (by_option,), (of_catalog,) = lineage(leaf).inputs, lineage(named).inputs

    assert by_option.identifier == of_catalog.identifier
    assert (by_option.identifier.namespace, by_option.identifier.name) == ("s3://lake", "db/t")
    assert [(link.namespace, link.name) for link in of_catalog.symlinks] == [("ice", "db.t")]
    assert (by_option.symlinks, by_option.storage_layer) == ((), "iceberg")


def test_columns_that_a_table_adds_on_demand_are_not_in_its_schema() -> None:
    column = Described("org.apache.iceberg.spark.source.SparkMetadataColumn", {"name": "_file"})
    table = Described("org.example.T", {"name": "t", "location": "/t", "metadataColumns": (column,)})
    wrapped = Described("org.apache.spark.sql.connector.write.RowLevelOperationTable", {"target": table})
    both = (*COLUMNS, Output(2, "_file"))

    for each in (table, wrapped):
        (dataset,) = lineage(operator(EXECUTION + "datasources.v2.DataSourceV2Relation", *both, table=each)).inputs
        assert [field.name for field in dataset.fields] == ["value"]


def test_a_stream_from_deltas_path_reads_the_table_and_not_the_directory_above() -> None:
    index = Described("org.apache.spark.sql.delta.files.TahoeBatchFileIndex", {"path": "file:/lake/t"})
    files: dict[str, Any] = {
        "rootPaths": ("file:/lake/t",),
        "index": index,
        "format": Described("x.DeltaParquetFileFormat", {}),
    }
    relation = Described(EXECUTION + "datasources.HadoopFsRelation", files)
    (dataset,) = lineage(
        operator(EXECUTION + "datasources.LogicalRelation", relation=relation, isStreaming=True)
    ).inputs

    assert (dataset.identifier.name, dataset.storage_layer, dataset.file_format) == ("/lake/t", "delta", "parquet")


def of_rows(path: str, streaming: Any) -> PlanLineage:
    rdd = Described("org.apache.spark.rdd.RDD", {"sources": (path,)})
    return lineage(operator(EXECUTION + "LogicalRDD", rdd=rdd, isStreaming=streaming))


@pytest.mark.parametrize(
    ("streaming", "name"), [(True, "/lake/paid"), (False, "/lake/paid/4f1-0_20260102030405678.parquet")]
)
def test_the_one_new_file_of_a_v1_stream_stands_for_its_folder(streaming: Any, name: str) -> None:
    found = of_rows("file:/lake/paid/4f1-0_20260102030405678.parquet", streaming)
    remark = "the rows come from an RDD: its inputs are known, its columns are not"
    assert told(found) == ([f"file {name}"], [], [remark])
