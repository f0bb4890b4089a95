"""Commands whose target is a dataset, is none, or can't be told: by plans that are made by hand."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.commands.registry import QUIET, WRITES
from openlineage_pyspark.facets.datasets.jdbc import jdbc_dataset
from openlineage_pyspark.facets.datasets.source import SOURCES, Session
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    Described,
    Keys,
    Operator,
    OperatorRef,
    Output,
    Plan,
)
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.trace.operators import RULES

# Simple name -> full name of each class that is known.
FULL = {name.rpartition(".")[2]: name for registry in (SOURCES, RULES, QUIET, WRITES) for name, _ in registry.items()}

SALES = Described("HadoopFsRelation", {"rootPaths": ("file:/data/sales",)})
SCHEMA = '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]}'
UNHEARD = "org.apache.spark.sql.delta.commands.UnheardCommand"


def node(name, arguments, output=()):
    """Give an operator of a known class by its simple name, of any other by its full name."""
    return Operator(name.rpartition(".")[2], FULL.get(name, name), arguments, output)


def understood(name, arguments, output=(), *, below="query"):
    """Understand a command over a relation with the columns `id` and `amount`."""
    source = node("LogicalRelation", {"relation": SALES}, (Output(1, "id"), Output(2, "amount")))
    columns = tuple(Output(id_, f"c{id_}") for id_ in output)
    top = node(name, {**arguments, below: OperatorRef(1)}, columns)
    attributes = {1: Attribute("id", "int"), 2: Attribute("amount", "int")}
    return lineage_of_plan(Plan((top, source), (), attributes), Session("file:/warehouse"))


def told(found):
    """Give the datasets that are written, those that are read, and the remarks."""
    written = [o.write.dataset.identifier for o in found.outputs]
    return (
        [f"{i.namespace} {i.name}" for i in written],
        [d.identifier.name for d in found.inputs],
        [f"{r.task}: {r.message}" for r in found.gaps],
    )


def saved(provider, **options):
    return understood("SaveIntoDataSourceCommand", {"dataSource": Described(provider, {}), "mode": "Append", **options})


def test_a_command_of_a_connector_is_a_run_that_names_it_though_it_puts_out_columns():
    found = understood(UNHEARD, {"isCommand": "UnheardCommand"}, (7, 8), below="source")
    remark = f"{UNHEARD}: a command without a rule: what it writes is unknown"
    assert told(found) == ([], ["/data/sales"], [remark])
    assert (found.command, found.unnamed, found.columns, found.quiet) == ("execute_unheard_command", True, None, False)


def test_what_is_appended_goes_into_the_columns_of_the_table_in_whatever_case():
    fields = ",".join(
        f'{{"name":"{name}","type":"integer","nullable":true,"metadata":{{}}}}' for name in ("Amount", "ID")
    )
    there = Described(
        "CatalogTable",
        {
            "identifier": Described("TableIdentifier", {"table": "kept", "database": "shop"}),
            "locationUri": "file:/lake/kept",
            "schema": f'{{"type":"struct","fields":[{fields}]}}',
        },
    )
    made = Described("CatalogTable", {"identifier": Described("TableIdentifier", {"table": "kept"})})
    found = understood(
        "CreateDataSourceTableAsSelectCommand",
        {"table": made, "existing": there, "mode": "Append", "outputColumnNames": ("id", "AMOUNT")},
    )
    (output,) = found.outputs
    assert told(found) == (["file /lake/kept"], ["/data/sales"], [])
    assert [field.name for field in output.write.dataset.fields] == ["Amount", "ID"]
    assert {c.name: [(e.dataset.name, e.field) for e in c.edges] for c in output.lineage.columns} == {
        "ID": [("/data/sales", "id")],
        "Amount": [("/data/sales", "amount")],
    }


def test_a_command_that_only_the_record_calls_so_is_one_too():
    plan = Plan((Operator("Optimize", "io.Optimize", {}, (Output(1, "path"),)),), (), {1: Attribute("path", "string")})
    found = lineage_of_plan(plan, Session(), is_command=True)
    assert told(found) == ([], [], ["io.Optimize: a command without a rule: what it writes is unknown"])
    assert (found.command, found.unnamed, found.columns, found.quiet) == ("optimize", True, None, False)


def test_a_query_of_the_same_shape_is_a_query():
    found = understood("io.Mystery", {}, (7,), below="child")
    assert found.command is None
    assert [c.name for c in found.columns.columns] == ["c7"]


def test_a_source_that_names_no_dataset_is_named_itself():
    found = saved("net.snowflake.spark.snowflake.DefaultSource", dbtable="SALES")
    target = "net.snowflake.spark.snowflake.DefaultSource: what it writes is unknown"
    assert told(found) == ([], ["/data/sales"], [f"{FULL['SaveIntoDataSourceCommand']}: {target}"])
    assert (found.command, found.unnamed, found.quiet) == ("execute_save_into_data_source_command", True, False)


def test_what_is_no_path_is_not_taken_for_one():
    """Elasticsearch's `path` is an index."""
    found = saved("org.elasticsearch.spark.sql.DefaultSource15", path="index")
    assert told(found)[0] == []
    assert told(found)[2] == [
        f"{FULL['SaveIntoDataSourceCommand']}: org.elasticsearch.spark.sql.DefaultSource15: what it writes is unknown"
    ]


def test_a_source_that_keeps_files_may_be_given_a_relative_path():
    assert told(saved("org.apache.spark.sql.delta.sources.DeltaDataSource", path="out/orders"))[0] == [
        "file out/orders"
    ]
    assert told(saved("com.example.Unheard", path="s3a://shop/orders"))[0] == ["s3://shop orders"]


def test_kafka_without_a_topic_of_its_own_has_as_many_as_the_rows_name():
    found = saved("org.apache.spark.sql.kafka010.KafkaSourceProvider", bootstrapServers="one:9092")
    remark = f"{FULL['SaveIntoDataSourceCommand']}: Kafka topics named in the rows: what it writes is unknown"
    assert told(found) == ([], ["/data/sales"], [remark])


def test_a_micro_batch_to_kafka_writes_a_topic():
    """Spark 3.5 gives no relation for it, Spark 4 one that names no dataset."""
    sink = Described("org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable", {"name": "KafkaTable"})
    options = {"topic": "paid", "bootstrapServers": "one:9092,two:9092", "table": sink}
    found = understood("WriteToMicroBatchDataSource", options)
    assert told(found) == (["kafka://one:9092 paid"], ["/data/sales"], [])
    assert [c.name for c in found.outputs[0].lineage.columns] == ["id", "amount"]


def test_a_stream_whose_target_is_not_told_says_so():
    sink = Described("com.example.TheirTable", {})
    found = understood("WriteToMicroBatchDataSource", {"relation": None, "table": sink})
    remark = f"{FULL['WriteToMicroBatchDataSource']}: com.example.TheirTable: what it writes is unknown"
    assert told(found) == ([], ["/data/sales"], [remark])
    continuous = understood("WriteToContinuousDataSource", {"write": Described("com.example.TheirWrite", {})})
    remark = f"{FULL['WriteToContinuousDataSource']}: com.example.TheirWrite: what it writes is unknown"
    assert told(continuous) == ([], ["/data/sales"], [remark])


def test_sinks_that_keep_nothing_are_no_riddle():
    for sink in ("memory.MemorySink", "sources.ForeachBatchSink", "ConsoleTable$"):
        described = Described(f"org.apache.spark.sql.execution.streaming.{sink}", {})
        found = understood("WriteToMicroBatchDataSource", {"table": described})
        assert told(found) == ([], ["/data/sales"], [])
        assert told(understood("WriteToMicroBatchDataSourceV1", {"sink": described})) == ([], ["/data/sales"], [])


def test_a_table_that_the_catalog_knew_no_more_is_taken_to_lie_where_the_catalog_puts_its_name():
    identifier = Described("TableIdentifier", {"table": "orders", "database": "shop"})
    gone = {"tableMetadata": None, "tableIdentifier": identifier, "tablePath": "file:/warehouse/shop.db/orders"}
    remark = (
        "the table was no longer in the catalog when it was looked up: its location is assumed to be the default one"
    )
    for name in ("DropTableCommand", "TruncateTableCommand", "AlterTableAddColumnsCommand"):
        found = lineage_of_plan(Plan((node(name, gone),), (), {}), Session("file:/warehouse"))
        assert told(found) == (["file /warehouse/shop.db/orders"], [], [f"{FULL[name]}: {remark}"])


def test_a_dropped_table_that_was_not_there_is_nothing():
    drop = node("DropTableCommand", {"tableMetadata": None, "ifExists": True})
    found = lineage_of_plan(Plan((drop,), (), {}), Session("file:/warehouse"))
    assert (told(found), found.quiet) == (([], [], []), True)


ICE = Described("org.apache.iceberg.spark.SparkCatalog", {"name": "ice"})


def named(catalog, name, *namespace):
    identifier = Described("IdentifierImpl", {"name": name, "namespace": namespace})
    return node("ResolvedIdentifier", {"catalog": catalog, "identifier": identifier})


def made(resolved, **arguments):
    """Give the dataset that a CREATE TABLE makes."""
    make = node("CreateTable", {"name": OperatorRef(1), "tableSchema": SCHEMA, **arguments})
    (output,) = lineage_of_plan(Plan((make, resolved), (), {}), Session("file:/warehouse")).outputs
    return output.write.dataset


def test_a_table_of_a_catalog_lies_where_its_clause_says():
    dataset = made(named(ICE, "t", "db"), tableSpec=Described("TableSpec", {"location": "s3a://lake/t"}))
    assert (dataset.identifier.namespace, dataset.identifier.name) == ("s3://lake", "t")
    assert [(field.name, field.type) for field in dataset.fields] == [("a", "int")]


@pytest.mark.parametrize(
    ("provider", "stored"), [("delta", ("delta", "parquet")), ("orc", ("default", "orc")), (None, ("default", None))]
)
def test_a_table_that_the_session_catalog_does_not_have_yet_is_stored_as_its_clause_says(provider, stored):
    catalog = Described("org.apache.spark.sql.delta.catalog.DeltaCatalog", {"name": "spark_catalog"})
    resolved = named(catalog, "t", "db")
    resolved = node("ResolvedIdentifier", {**resolved.arguments, "tableMetadata": None, "tablePath": "file:/w/db.db/t"})
    dataset = made(resolved, tableSpec=Described("TableSpec", {"provider": provider}))
    assert (dataset.identifier.name, dataset.storage_layer, dataset.file_format) == ("/w/db.db/t", *stored)


@pytest.mark.parametrize(
    ("was", "began", "lifecycle"), [(None, 5000, "CREATE"), (5001, 5000, "CREATE"), (4000, 5001, None), (1, None, None)]
)
def test_a_table_of_the_session_catalog_that_is_older_than_the_statement_is_not_made(was, began, lifecycle):
    catalog = Described("org.apache.spark.sql.delta.catalog.DeltaCatalog", {"name": "spark_catalog"})
    identifier = Described("TableIdentifier", {"table": "t", "database": "db"})
    there = Described("CatalogTable", {"identifier": identifier, "locationUri": "file:/w/db.db/t", "created": was})
    resolved = node(
        "ResolvedIdentifier",
        {
            **named(catalog, "t", "db").arguments,
            "tableMetadata": there if was else None,
            "tablePath": "file:/w/db.db/t",
        },
    )
    create = node("CreateTable", {"name": OperatorRef(1), "ignoreIfExists": True})
    session = Session("file:/warehouse", tables=None if began is None else {}, began=began)
    (output,) = lineage_of_plan(Plan((create, resolved), (), {}), session).outputs
    assert (output.write.dataset.identifier.name, output.write.lifecycle) == ("/w/db.db/t", lifecycle)
    assert not output.write.may_skip


def test_a_table_of_hive_has_the_columns_that_the_statement_gives_beside_those_of_the_query():
    fields = ",".join(f'{{"name":"{name}","type":"integer","nullable":true,"metadata":{{}}}}' for name in ("A", "day"))
    identifier = Described("TableIdentifier", {"table": "t", "database": "db"})
    schema = f'{{"type":"struct","fields":[{fields}]}}'
    table = Described("CatalogTable", {"identifier": identifier, "locationUri": "file:/w/t", "schema": schema})
    given = {"table": table, "query": OperatorRef(1), "outputColumnNames": ("A",), "partition": Keys(("day",))}
    insert = node("InsertIntoHiveTable", given)
    plan = Plan((insert, node("LocalRelation", {}, (Output(1, "a"),))), (), {1: Attribute("a", "int")})
    (output,) = lineage_of_plan(plan, Session("file:/warehouse")).outputs
    assert [field.name for field in output.write.dataset.fields] == ["A", "day"]
    assert [column.name for column in output.write.columns] == ["A", "day"]


@pytest.mark.parametrize(
    ("location", "expected"),
    [(None, ("ice", "db.t", "CREATE")), ("s3a://lake/t", ("s3://lake", "t", None))],
)
def test_a_table_like_another_has_its_columns_in_a_catalog_too(location, expected):
    like = node("CreateTableLike", {"name": OperatorRef(1), "source": OperatorRef(2), "location": location})
    identifier = Described("TableIdentifier", {"table": "s", "database": "db"})
    described = Described("CatalogTable", {"identifier": identifier, "locationUri": "file:/w/s", "schema": SCHEMA})
    source = node("ResolvedTable", {"tableMetadata": described})
    plan = Plan((like, named(ICE, "t", "db"), source), (), {})
    found = lineage_of_plan(plan, Session("file:/warehouse"))
    (output,) = found.outputs
    dataset = output.write.dataset
    assert (dataset.identifier.namespace, dataset.identifier.name, output.write.lifecycle) == expected
    assert [(field.name, field.type) for field in dataset.fields] == [("a", "int")]
    assert (found.inputs, found.gaps) == ((), ())


def test_a_table_that_a_catalog_makes_is_what_the_table_is_called_later_too():
    """The catalog decides on the location. Later the table has it, and keeps its first name as a symlink."""
    first = made(named(ICE, "t", "db")).identifier
    table = Described("org.apache.iceberg.spark.source.SparkTable", {"name": "ice.db.t", "location": "s3://lake/db/t"})
    identifier = Described("IdentifierImpl", {"name": "t", "namespace": ("db",)})
    relation = {"table": table, "catalog": ICE, "identifier": identifier}
    read = node("DataSourceV2Relation", relation, (Output(1, "a"),))
    plan = Plan((read,), (), {1: Attribute("a", "int")})
    (later,) = lineage_of_plan(plan, Session("file:/warehouse")).inputs
    links = [(link.namespace, link.name) for link in later.symlinks]
    assert (later.identifier.namespace, later.identifier.name) == ("s3://lake", "db/t")
    assert links == [(first.namespace, first.name)]


def test_a_table_that_is_made_in_a_database_has_the_name_that_reading_it_gives():
    url = "jdbc:postgresql://h/shop"
    catalog = Described(
        "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog", {"name": "pg", "url": url}
    )
    dataset = made(named(catalog, "orders", "public"))
    assert dataset.identifier == jdbc_dataset(url, '"public"."orders"').identifier
    assert dataset.identifier.name == "shop.public.orders"


def test_a_renamed_table_of_a_catalog_that_lies_somewhere_stays_there():
    table = Described("org.apache.iceberg.spark.source.SparkTable", {"location": "s3://lake/v1.2/t"})
    resolved = named(ICE, "t", "db")
    resolved = node("ResolvedTable", {**resolved.arguments, "table": table})
    rename = node("RenameTable", {"child": OperatorRef(1), "newName": ("ice", "db", "z")})
    (output,) = lineage_of_plan(Plan((rename, resolved), (), {}), Session("file:/warehouse")).outputs
    write = output.write
    assert (write.dataset.identifier.namespace, write.dataset.identifier.name) == ("s3://lake", "v1.2/t")
    assert [link.name for link in write.dataset.symlinks] == ["db.z"]
    assert (write.lifecycle, write.renamed_from.name) == ("RENAME", "db.t")


def test_a_renamed_managed_table_of_delta_lake_is_moved_by_the_session_catalog():
    values = {"location": "file:/warehouse/shop.db/t", "provider": "delta", "name": "spark_catalog.shop.t"}
    resolved = named(
        Described("org.apache.spark.sql.delta.catalog.DeltaCatalog", {"name": "spark_catalog"}), "t", "shop"
    )
    rename = node("RenameTable", {"child": OperatorRef(1), "newName": ("shop", "NewName")})
    places = []
    for kind in ("MANAGED", "EXTERNAL"):
        table = Described("org.apache.spark.sql.delta.catalog.DeltaTableV2", {**values, "kind": kind})
        there = node("ResolvedTable", {**resolved.arguments, "table": table})
        (output,) = lineage_of_plan(Plan((rename, there), (), {}), Session("file:/warehouse")).outputs
        was = output.write.renamed_from
        places.append((output.write.dataset.identifier.name, was and was.name))
    assert places == [("/warehouse/shop.db/newname", "/warehouse/shop.db/t"), ("/warehouse/shop.db/t", "shop.t")]


def test_bins_have_their_share_of_what_is_distributed_and_their_range():
    """BIN BY of Spark 4.3: the columns of the range go through, and tell the bins and the shares."""
    ids = {1: "start", 2: "stop", 3: "amount", 4: "amount", 5: "bin_start", 6: "bin_end", 7: "bin_distribute_ratio"}
    outputs = {id_: Output(id_, name) for id_, name in ids.items()}
    source = node("LogicalRelation", {"relation": SALES}, tuple(outputs[i] for i in (1, 2, 3)))
    bins = node(
        "BinBy",
        {
            "rangeStart": AttributeRef(1),
            "rangeEnd": AttributeRef(2),
            "distributeColumns": (AttributeRef(3),),
            "scaledDistributeColumns": (AttributeRef(4),),
            "appendedAttributes": (AttributeRef(5), AttributeRef(6), AttributeRef(7)),
            "child": OperatorRef(1),
        },
        tuple(outputs[i] for i in (1, 2, 4, 5, 6, 7)),
    )
    attributes = {id_: Attribute(name, "int") for id_, name in ids.items()}
    found = lineage_of_plan(Plan((bins, source), (), attributes), Session())
    columns = {
        c.name: [f"{e.field} {t.subtype}" for e in c.edges for t in e.transformations] for c in found.columns.columns
    }
    share = ["start TRANSFORMATION", "stop TRANSFORMATION"]
    assert columns == {
        "start": ["start IDENTITY"],
        "stop": ["stop IDENTITY"],
        "amount": ["amount TRANSFORMATION", *share],
        "bin_start": share,
        "bin_end": share,
        "bin_distribute_ratio": share,
    }
    assert found.gaps == ()


def test_the_table_of_a_memory_sink_is_a_gap_and_a_changed_watermark_is_no_riddle():
    memory = node("MemoryPlan", {}, (Output(1, "id"),))
    watermark = node("UpdateEventTimeWatermarkColumn", {"child": OperatorRef(1)}, (Output(1, "id"),))
    found = lineage_of_plan(Plan((watermark, memory), (), {1: Attribute("id", "int")}), Session())
    assert told(found)[:2] == ([], [])
    assert [gap.message for gap in found.gaps] == [
        "the rows of a stream's memory sink: what the stream reads is unknown"
    ]
    assert [(c.name, c.edges) for c in found.columns.columns] == [("id", ())]
