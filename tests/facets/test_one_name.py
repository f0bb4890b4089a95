"""One thing has one name, however a user spells it: paths, patterns, parts of a table, and tables of catalogs."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.commands.registry import WRITES
from openlineage_pyspark.facets.commands.target import label_of
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import SOURCES, Session
from openlineage_pyspark.facets.datasets.tables import catalog_key, catalog_table
from openlineage_pyspark.facets.datasets.v2 import v2_table
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Dataset, Identifier
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    Described,
    Expression,
    ExpressionRef,
    Keys,
    Operator,
    OperatorRef,
    Output,
    Plan,
)
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.runs.open_run import unique_label

FULL = {name.rpartition(".")[2]: name for registry in (SOURCES, WRITES) for name, _ in registry.items()}
UUID = "628f5c82-8968-45d0-a2e6-abbd7047aa75"


def node(name, arguments, output=()):
    return Operator(name, FULL[name], arguments, output)


def read(relation):
    leaf = node("LogicalRelation", {"relation": relation}, (Output(1, "a"),))
    plan = Plan((leaf,), (), {1: Attribute("a", "int")})
    return [dataset.identifier.name for dataset in lineage_of_plan(plan, Session("file:/warehouse")).inputs]


def files(paths, given, known=None):
    index = Described("InMemoryFileIndex", {} if known is None else {"files": known})
    return read(Described("HadoopFsRelation", {"rootPaths": tuple(paths), "index": index, "path": given}))


def table(*, database=None, current=None):
    identifier = Described("TableIdentifier", {"table": "W", "database": database, "current": current})
    return Described("CatalogTable", {"identifier": identifier, "locationUri": "file:/wh/sales.db/w"})


@pytest.mark.parametrize(
    ("database", "current", "name"),
    [(None, "sales", "sales.w"), ("shop", "sales", "shop.w"), (None, None, "default.w")],
)
def test_a_table_without_a_database_is_in_the_current_one(database, current, name):
    (link,) = catalog_table(table(database=database, current=current), Session("file:/wh")).symlinks
    assert link.name == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("file:/lake//out///b/", "/lake/out/b"),
        ("/lake/./out/b/.", "/lake/out/b"),
        ("/lake/out/../out/b", "/lake/out/b"),
        ("//lake//b", "/lake/b"),
        ("s3a://shop/a//b/../c", "a/c"),
        ("hdfs://nn:8020//data//b", "/data/b"),
        ("/data/..hidden/b...", "/data/..hidden/b..."),
    ],
)
def test_a_path_is_spelled_as_hadoop_spells_it(path, name):
    assert naming.location(path).name == name


def test_the_path_of_a_source_that_writes_itself_is_the_qualified_one():
    save = node(
        "SaveIntoDataSourceCommand",
        {
            "dataSource": Described("org.apache.spark.sql.delta.sources.DeltaDataSource", {}),
            "mode": "Append",
            "given": "out/a",
            "path": "file:/work/out/a",
        },
    )
    (output,) = lineage_of_plan(Plan((save,), (), {}), Session("file:/wh")).outputs
    assert output.write.dataset.identifier.name == "/work/out/a"


@pytest.mark.parametrize(("is_local", "name"), [(True, "/work/kv1.txt"), (False, "/user/me/kv1.txt")])
def test_loaded_files_are_named_by_the_file_system_that_has_them(is_local, name):
    load = node(
        "LoadDataCommand",
        {
            "path": "kv1.txt",
            "isLocal": is_local,
            "absolute": "hdfs://nn/user/me/kv1.txt",
            "absoluteHere": "file:/work/kv1.txt",
            "tableMetadata": table(database="sales"),
        },
    )
    assert [d.identifier.name for d in lineage_of_plan(Plan((load,), (), {}), Session("file:/wh")).inputs] == [name]


@pytest.mark.parametrize("given", ["in/*.parquet", "/data/in/m*", "/data/in/{monday,tuesday}.parquet", "/data/*/*"])
@pytest.mark.parametrize("names", [["monday.parquet"], ["monday.parquet", "tuesday.parquet"], ["no_extension"]])
def test_what_a_pattern_matches_is_named_by_its_folder_be_it_one_file_or_many(given, names):
    paths = tuple(f"file:/data/in/{name}" for name in names)
    assert files(paths, given, paths) == ["/data/in"]


def test_folders_that_a_pattern_matches_keep_the_names_of_those_who_write_them():
    assert files(["file:/data/a", "file:/data/v1.2"], "/data/*", ()) == ["/data/a", "/data/v1.2"]


def test_a_file_that_is_read_by_its_own_name_is_a_dataset_of_its_own():
    assert files(["file:/data/monday.csv"], "/data/monday.csv", ("file:/data/monday.csv",)) == ["/data/monday.csv"]


@pytest.mark.parametrize(
    "name",
    [
        f"part-00000-{UUID}-c000.snappy.parquet",
        "part-00000",
        "000000_0",
        "000001_0_copy_2",
        f"p1=x/part-00000-{UUID}.c000.csv",
        f"{UUID}-0_0-27-30_20240101010101000.parquet",
        f"data/00000-61-{UUID}-0-00001.parquet",
        f"data/p1=x/00000-61-{UUID}-00001.parquet",
    ],
)
def test_a_part_of_a_table_leads_to_the_tables_folder(name):
    path = f"file:/lake/t/{name}"
    assert files([path], path, (path,)) == ["/lake/t"]


def test_a_stream_of_a_pattern_is_named_by_the_folder_above_it():
    stream = Described("FileStreamSource", {"text": "FileStreamSource[file:/data/in/*.json]"})
    relation = Described("HadoopFsRelation", {"rootPaths": ("file:/data/in/1.json",), "path": "/data/in/*.json"})
    leaf = node("LogicalRelation", {"relation": relation, "isStreaming": True, "stream": stream}, (Output(1, "a"),))
    plan = Plan((leaf,), (), {1: Attribute("a", "int")})
    assert [d.identifier.name for d in lineage_of_plan(plan, Session("file:/wh")).inputs] == ["/data/in"]


ICEBERG = "org.apache.iceberg.spark."


def catalog(name, **settings):
    return Described(ICEBERG + "SparkCatalog", {"name": name, **settings})


def identifier(*parts, class_name="org.apache.spark.sql.connector.catalog.IdentifierImpl"):
    return Described(class_name, {"name": parts[-1], "namespace": parts[:-1]})


def iceberg(name, location="file:/ice/db/t", kind="SparkTable", **more):
    return Described(f"{ICEBERG}source.{kind}", {"name": name, "location": location, **more})


def named(dataset):
    links = [(link.namespace, link.name) for link in dataset.symlinks]
    return (dataset.identifier.namespace, dataset.identifier.name), links


HADOOP = catalog("i1", type="hadoop", warehouse="ice", place="file:/ice")


def test_a_table_that_icebergs_catalog_of_folders_makes_has_the_name_of_its_later_events():
    made = v2_table(None, HADOOP, identifier("db", "t"), Session("file:/wh"))
    later = v2_table(iceberg("i1.db.t"), HADOOP, identifier("db", "t"), Session("file:/wh"))
    assert named(made) == named(later) == (("file", "/ice/db/t"), [("file:///ice", "db.t"), ("i1", "db.t")])


@pytest.mark.parametrize(
    ("settings", "namespace"),
    [
        ({"type": "hive", "uri": "thrift://meta:9083"}, "hive://meta:9083"),
        ({"type": "rest", "uri": "https://me:secret@rest/api", "warehouse": "prod"}, "https://***@rest/api"),
        ({"type": "glue", "warehouse": "s3://lake/wh"}, "s3://lake/wh"),
    ],
)
def test_the_symlink_of_an_iceberg_table_is_its_own_catalogs(settings, namespace):
    there = v2_table(iceberg("i1.db.t"), catalog("i1", **settings), identifier("db", "t"), Session("file:/wh"))
    assert named(there)[1] == [(namespace, "db.t"), ("i1", "db.t")]


def test_a_table_of_iceberg_that_is_read_by_its_path_is_in_no_catalog():
    by_path = identifier("file:/ice/db", "t", class_name=ICEBERG + "PathIdentifier")
    there = v2_table(iceberg("file:/ice/db/t"), catalog("default_iceberg"), by_path, Session("file:/wh"))
    assert named(there) == (("file", "/ice/db/t"), [])
    assert there.catalog is None


@pytest.mark.parametrize("kind", ["SparkRewriteTableCatalog", "SparkCachedTableCatalog"])
def test_a_table_that_a_procedure_rewrites_is_not_called_by_its_random_name(kind):
    """
    Iceberg reads and writes it in a catalog of its own, and the event would name another table and job each time.

    The job is not that of the INSERTs into the table, whose sources it would replace.
    """
    rewrites = Described(ICEBERG + kind, {"name": "default_rewrite_catalog"})
    there = v2_table(iceberg("i1.db.t"), rewrites, identifier(UUID), Session("file:/wh"))
    usual = v2_table(iceberg("i1.db.t"), HADOOP, identifier("db", "t"), Session("file:/wh"))
    assert there is not None
    assert usual is not None
    assert (named(there), there.catalog) == ((("file", "/ice/db/t"), []), None)
    jobs = [unique_label(label_of(each), each, DEFAULT_TRIMMING) for each in (there, usual)]
    assert jobs == ["db_t_a9e4d0", "db_t_7bd3dd"]


@pytest.mark.parametrize("metastore", [None, "thrift://meta:9083"])
def test_a_table_that_is_made_in_the_session_catalog_has_the_name_that_later_events_link(metastore):
    catalog = Described(ICEBERG + "SparkSessionCatalog", {"name": "spark_catalog", "type": "hive"})
    session = Session("file:/wh", metastore=metastore)
    made = v2_table(None, catalog, identifier("Db", "T"), session)
    used = v2_table(iceberg("spark_catalog.db.t", "file:/wh/db.db/t"), catalog, identifier("db", "t"), session)
    assert made is not None
    assert used is not None
    assert (made.identifier.namespace, made.identifier.name) in [(each.namespace, each.name) for each in used.symlinks]
    assert (made.is_named_by_catalog, used.is_named_by_catalog) == (True, False)
    assert catalog_key(made) == catalog_key(used)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [(("Db", "T"), "db.t"), (("delta", "s3://b/Lake/T"), "delta.s3://b/Lake/T"), (("json", "/A/b"), "json./A/b")],
)
def test_a_path_in_the_session_catalog_keeps_its_case(parts, expected):
    catalog = Described("openlineage.InFront", {"name": "spark_catalog"})
    table = Described("openlineage.DeclaredTable", {"name": "t"})
    found = v2_table(table, catalog, identifier(*parts), Session("file:/wh"))
    assert found is not None
    assert found.identifier.name == expected


@pytest.mark.parametrize("batch", ["", "[batchId=0]", "[batchId=17]"])
def test_the_states_of_an_operator_of_a_stream_have_one_name_whichever_batch_they_are_read_at(batch):
    own = f"StateTable [stateCkptLocation=file:/states/[a] b/state]{batch}[operatorId=2][storeName=default]"
    found = v2_table(Described("openlineage.StateTable", {"name": own}), None, None, Session("file:/wh"))
    assert named(found) == (("file", "/states/[a] b/state/2"), [])


@pytest.mark.parametrize("reference", ["branch_b1", "tag_t1", "snapshot_id_1", "at_timestamp_1"])
def test_a_branch_or_a_tag_is_the_table(reference):
    there = v2_table(iceberg("i1.db.t"), HADOOP, identifier("db", "t", reference), Session("file:/wh"))
    assert named(there) == (("file", "/ice/db/t"), [("file:///ice", "db.t"), ("i1", "db.t")])


def test_a_table_that_is_called_like_a_branch_is_itself():
    there = v2_table(iceberg("i1.db.branch_b1"), HADOOP, identifier("db", "branch_b1"), Session("file:/wh"))
    assert named(there)[1] == [("file:///ice", "db.branch_b1"), ("i1", "db.branch_b1")]


def test_tables_about_a_table_are_datasets_of_their_own():
    snapshots = iceberg("i1.db.t.snapshots", isMetadata=True)
    by_name = v2_table(snapshots, HADOOP, identifier("db", "t", "snapshots"), Session("file:/wh"))
    by_path = identifier("file:/ice/db", "t#snapshots", class_name=ICEBERG + "PathIdentifier")
    by_path = v2_table(iceberg("file:/ice/db/t.snapshots", isMetadata=True), HADOOP, by_path, Session("file:/wh"))
    changes = iceberg("i1.db.t.changes", kind="SparkChangelogTable")
    changes = v2_table(changes, HADOOP, identifier("db", "t", "changes"), Session("file:/wh"))
    assert by_name.identifier == by_path.identifier
    assert (by_name.identifier.name, changes.identifier.name) == ("/ice/db/t#snapshots", "/ice/db/t#changes")
    assert [link.name for link in by_name.symlinks] == ["db.t.snapshots", "db.t.snapshots"]


def overwrite(name, by=("p",), kind="org.x.Table", **arguments):
    top = node(name, arguments)
    target = Described(kind, {"name": "t", "location": "/t", "partitioning": by})
    relation = node("DataSourceV2Relation", {"table": target}, (Output(1, "a"),))
    expressions = (Expression("Literal", {"value": True}), Expression("EqualTo", {}))
    plan = Plan((top, relation), expressions, {1: Attribute("a", "int")})
    (output,) = lineage_of_plan(plan, Session("file:/wh")).outputs
    return output.write.lifecycle, output.write.replaced


FILES = {"mode": "Overwrite", "outputPath": "file:/t", "partitionColumns": (AttributeRef(1),)}
DELTA = {"dataSource": Described("org.apache.spark.sql.delta.sources.DeltaDataSource", {}), "path": "/t"}
ALL = {"table": OperatorRef(1), "deleteExpr": ExpressionRef(0)}
ICEBERG_ALL = {**ALL, "kind": "org.apache.iceberg.spark.source.SparkTable"}
GIVEN = {**FILES, "catalogTable": table(database="sales"), "staticPartitions": Keys(("p",))}
HIVE = {"table": table(database="sales"), "overwrite": True}
LOADED = {"tableMetadata": table(database="sales"), "isOverwrite": True, "path": "/in"}


@pytest.mark.parametrize(
    ("command", "arguments", "change"),
    [
        ("InsertIntoHadoopFsRelationCommand", {**FILES, "sessionMode": "dynamic"}, (None, "partitions")),
        ("InsertIntoHadoopFsRelationCommand", {**FILES, "overwriteMode": "DYNAMIC"}, (None, "partitions")),
        (
            "InsertIntoHadoopFsRelationCommand",
            {**FILES, "overwriteMode": "static", "sessionMode": "dynamic"},
            ("OVERWRITE", "all"),
        ),
        (
            "InsertIntoHadoopFsRelationCommand",
            {**FILES, "partitionColumns": (), "sessionMode": "dynamic"},
            ("OVERWRITE", "all"),
        ),
        ("InsertIntoHadoopFsRelationCommand", FILES, ("OVERWRITE", "all")),
        ("InsertIntoHadoopFsRelationCommand", {**FILES, "mode": "Append"}, (None, None)),
        ("InsertIntoHadoopFsRelationCommand", GIVEN, ("OVERWRITE", "partitions")),
        ("InsertIntoHadoopFsRelationCommand", {**GIVEN, "overwriteMode": "dynamic"}, ("OVERWRITE", "partitions")),
        (
            "InsertIntoHadoopFsRelationCommand",
            {**GIVEN, "overwriteMode": "dynamic", "partitionColumns": (AttributeRef(1), AttributeRef(2))},
            (None, "partitions"),
        ),
        ("SaveIntoDataSourceCommand", {**DELTA, "mode": "Overwrite", "replaceWhere": "d = 1"}, (None, "rows")),
        ("SaveIntoDataSourceCommand", {**DELTA, "mode": "Overwrite", "sessionMode": "dynamic"}, (None, "partitions")),
        ("SaveIntoDataSourceCommand", {**DELTA, "mode": "Overwrite"}, ("OVERWRITE", "all")),
        ("SaveIntoDataSourceCommand", {**DELTA, "mode": "Append", "sessionMode": "dynamic"}, (None, None)),
        ("OverwriteByExpression", ALL, ("OVERWRITE", "all")),
        ("OverwriteByExpression", {**ALL, "deleteExpr": ExpressionRef(1)}, (None, "rows")),
        ("OverwriteByExpression", {**ALL, "replaceWhere": "d = 1"}, (None, "rows")),
        ("OverwriteByExpression", {**ALL, "overwriteMode": "dynamic"}, (None, "partitions")),
        ("OverwriteByExpression", {**ALL, "sessionMode": "DYNAMIC"}, (None, "partitions")),
        ("OverwriteByExpression", {**ALL, "sessionMode": "DYNAMIC", "by": ()}, ("OVERWRITE", "all")),
        ("OverwriteByExpression", {**ICEBERG_ALL, "icebergMode": "dynamic"}, (None, "partitions")),
        ("OverwriteByExpression", {**ICEBERG_ALL, "sessionMode": "DYNAMIC"}, ("OVERWRITE", "all")),
        ("OverwritePartitionsDynamic", {"table": OperatorRef(1)}, (None, "partitions")),
        ("OverwritePartitionsDynamic", {"table": OperatorRef(1), "by": ()}, ("OVERWRITE", "all")),
        ("AppendData", {"table": OperatorRef(1)}, (None, None)),
        ("InsertIntoHiveTable", {**HIVE, "partition": Keys(("p",))}, ("OVERWRITE", "partitions")),
        ("InsertIntoHiveTable", {**HIVE, "partition": Keys(())}, ("OVERWRITE", "all")),
        (
            "InsertIntoHiveTable",
            {**HIVE, "partition": Keys(("p", "d")), "partitionColumns": (AttributeRef(1),)},
            (None, "partitions"),
        ),
        ("LoadDataCommand", {**LOADED, "partition": Keys(("p",))}, ("OVERWRITE", "partitions")),
        ("LoadDataCommand", LOADED, ("OVERWRITE", "all")),
        ("LoadDataCommand", {**LOADED, "isOverwrite": False}, (None, None)),
    ],
)
def test_what_replaces_a_part_is_no_overwrite_of_the_whole(command, arguments, change):
    assert overwrite(command, **arguments) == change


@pytest.mark.parametrize(
    ("values", "options", "lifecycle"),
    [
        ({"provider": "parquet", "kind": "MANAGED"}, {}, "CREATE"),
        ({"provider": "parquet", "kind": "EXTERNAL", "locationUri": "file:/data"}, {}, None),
        (
            {"provider": "jdbc", "kind": "MANAGED"},
            {"url": "jdbc:derby:memory:shop", "dbtable": "APP.ORDERS"},
            None,
        ),
    ],
)
def test_a_name_for_data_that_exist_is_no_creation_of_them(values, options, lifecycle):
    made = table(database="sales")
    made = Described("CatalogTable", {**made.values, **values})
    create = node("CreateDataSourceTableCommand", {"table": made, **options})
    (output,) = lineage_of_plan(Plan((create,), (), {}), Session("file:/wh")).outputs
    assert output.write.lifecycle == lifecycle


TARGET = Described("TableIdentifier", {"table": "w", "database": "sales"})
LIKE = {
    "targetIdentifier": TARGET,
    "targetPath": "file:/wh/sales.db/w",
    "sourceMetadata": Described(
        "CatalogTable", {"schema": '{"fields":[{"name":"a","type":"integer"}]}', "provider": "orc"}
    ),
    "fileFormat": Described("CatalogStorageFormat", {}),
}
THERE = Described(
    "CatalogTable",
    {
        "identifier": TARGET,
        "locationUri": "file:/there",
        "kind": "EXTERNAL",
        "provider": "csv",
    },
)


@pytest.mark.parametrize(
    ("arguments", "known", "expected"),
    [
        ({}, {}, ("/wh/sales.db/w", "CREATE", "orc")),
        ({"provider": "csv"}, {}, ("/wh/sales.db/w", "CREATE", "csv")),
        (
            {"place": "file:/data%20a", "fileFormat": Described("CatalogStorageFormat", {"serde": "x.AvroSerDe"})},
            {},
            ("/data a", None, "avro"),
        ),
        ({"ifNotExists": True}, {}, ("/wh/sales.db/w", "CREATE", "orc")),
        ({"ifNotExists": True}, {"spark_catalog.sales.w": "/else"}, ("/else", None, None)),
        ({"ifNotExists": True, "targetMetadata": THERE}, {}, ("/there", None, "csv")),
        ({"targetMetadata": THERE}, {}, ("/wh/sales.db/w", "CREATE", "orc")),
    ],
)
def test_a_table_like_another_is_where_it_is_told_to_be(arguments, known, expected):
    tables = {key: Dataset(Identifier("file", place)) for key, place in known.items()}
    create = node("CreateTableLikeCommand", {**LIKE, **arguments})
    (output,) = lineage_of_plan(Plan((create,), (), {}), Session("file:/wh", tables=tables)).outputs
    dataset = output.write.dataset
    assert (dataset.identifier.name, output.write.lifecycle, dataset.file_format) == expected


def test_a_table_of_hudi_over_data_that_exist_is_no_creation_of_them():
    made = Described("CatalogTable", {**table(database="sales").values, "provider": "hudi", "kind": "EXTERNAL"})
    create = node("CreateHoodieTableCommand", {"table": made})
    (output,) = lineage_of_plan(Plan((create,), (), {}), Session("file:/wh")).outputs
    assert output.write.lifecycle is None


@pytest.mark.parametrize(
    ("namespace", "name", "text"),
    [
        ("file", "/exports/a", "file:/exports/a"),
        ("s3://bucket", "a/b", "s3://bucket/a/b"),
        ("hdfs://nn:8020", "/a/b", "hdfs://nn:8020/a/b"),
        ("postgres://db:5432", "shop.public.t", "postgres://db:5432/shop.public.t"),
    ],
)
def test_an_identifier_in_one_text_is_an_address(namespace: str, name: str, text: str) -> None:
    assert Identifier(namespace, name).text == text
