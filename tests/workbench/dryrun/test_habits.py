"""Habits of jobs in production: files that they look for, errors that they handle, catalogs that they list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import pytest
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.dryrun.run import ScriptRunner
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from support.script_edges import edges_of_lineage
from support.spark_jobs import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

BEGIN = "from pyspark.sql import SparkSession, functions as F\nspark = SparkSession.builder.getOrCreate()\n"
SCHEMAS = {
    "data/raw/a.csv": "x STRING",
    "data/raw/b.csv": "y STRING",
    "data/k": "id INT, v STRING",
    "sales.fact": "id INT, v STRING, day DATE",
}


@pytest.fixture(scope="module")
def runner(real_spark: None) -> Iterator[ScriptRunner]:
    """Give what runs scripts without data."""
    with ScriptRunner({}) as found:
        yield found


@attrs.frozen
class Seen:
    """What a script does: its edges without what is done to values, the datasets of each write, and its problems."""

    edges: list[str]
    writes: list[tuple[list[str], str]]
    problems: list[tuple[int, str]]
    messages: list[str]


def seen(runner: ScriptRunner, folder: Path, text: str, **modules: str) -> Seen:
    """Run a script in a folder in which its data are not; the first line of its text is its line 3."""
    for name, each in modules.items():
        (folder / f"{name}.py").write_text(each, "utf-8")
    (folder / "schemas.json").write_text(json.dumps(SCHEMAS), "utf-8")
    known, here = KnownColumns(), str(folder)
    known.read(folder / "schemas.json", here)
    (script := folder / "job.py").write_text(f"{BEGIN}{text}", "utf-8")
    request = ScriptRequest(script.name, str(script), script.read_text("utf-8"), (), here, "", here)
    told = runner.run(attrs.evolve(request, tables=tuple(known.tables), columns=known.places))
    found = lineage_of_script(told, known.tables)
    lineages = [each.lineage for each in found if each.lineage is not None]
    writes = [
        (sorted(_name(each.identifier.name, here) for each in lineage.inputs), _name(output.identifier.name, here))
        for lineage in lineages
        for output, _ in lineage.outputs
        if output is not None
    ]
    problems = [each.problem for each in found if each.problem is not None]
    return Seen(
        [" ".join(each.split(" ")[:3]) for each in edges_of_lineage(found, folder)],
        writes,
        [(each.line, each.code) for each in problems],
        [each.message for each in problems],
    )


def _name(name: str, folder: str) -> str:
    return name.removeprefix(f"{folder}/")


def test_files_of_known_columns_are_found_and_others_are_named(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
import glob, os
from pathlib import Path
for name in sorted(os.listdir("data/raw")):
    spark.read.csv(f"data/raw/{name}", header=True).write.parquet(f"out/listed/{name}")
for path in glob.glob("data/raw/a*"):
    spark.read.csv(path, header=True).write.parquet("out/globbed")
for path in Path("data").rglob("b.csv"):
    spark.read.csv(str(path), header=True).write.parquet("out/below")
assert os.path.exists("data/raw/a.csv") and Path("data/raw").is_dir() and not Path("data/raw").is_file()
if os.path.exists("data/other"):
    raise ValueError
assert os.listdir("nowhere") == glob.glob("nowhere/*") == []
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/raw/a.csv.x -> out/globbed.x",
        "data/raw/a.csv.x -> out/listed/a.csv.x",
        "data/raw/b.csv.y -> out/below.y",
        "data/raw/b.csv.y -> out/listed/b.csv.y",
    ]
    assert found.problems == [(12, "DECISION"), (14, "STAND_IN"), (14, "STAND_IN")]


def test_an_error_that_a_script_handles_is_named_where_it_happens(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
import sys
from steps import write
write(spark.read.parquet("data/k"))
try:
    spark.read.parquet("data/k").select("id").write.parquet("out/after")
    undefined()
except Exception:
    sys.exit(3)
"""
    steps = """\
def write(frame):
    try:
        frame.select("nothing").write.parquet("out/never")
    except Exception as problem:
        print(problem)
"""
    found = seen(runner, tmp_path, text, steps=steps)
    assert found.edges == ["data/k.id -> out/after.id"]
    assert found.problems == [(3, "HANDLED"), (8, "HANDLED"), (10, "SCRIPT_ENDED")]
    assert "UNRESOLVED_COLUMN" in found.messages[0]
    ends = "the script exits here with status 3, since it fails at job.py:8: NameError: name 'undefined'"
    assert found.messages[2].startswith(ends)


def test_a_statement_on_a_view_without_known_columns_reads_what_the_view_reads(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
spark.read.parquet("data/k").createOrReplaceTempView("t")
spark.read.parquet("new/x").createOrReplaceTempView("t")
spark.read.parquet("data/k").createOrReplaceTempView("k")
spark.sql("CREATE TABLE made USING parquet AS SELECT t.*, k.v FROM t JOIN k ON t.id = k.id")
spark.sql("SELECT t.* FROM t JOIN k ON t.id = k.id").write.parquet("out/asked")
spark.sql("CREATE OR REPLACE TEMP VIEW u AS SELECT * FROM t")
spark.table("u").write.parquet("out/viewed")
spark.table("made").write.parquet("out/made")
spark.read.parquet("data/k").createOrReplaceTempView("t")
spark.table("t").write.parquet("out/known")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [
        (["data/k", "new/x"], "default.made"),
        (["data/k", "new/x"], "out/asked"),
        (["new/x"], "out/viewed"),
        (["default.made"], "out/made"),
        (["data/k"], "out/known"),
    ]
    assert found.edges == ["data/k.id -> out/known.id", "data/k.v -> out/known.v"]
    assert found.problems == [(4, "UNKNOWN_SCHEMA")]


def test_a_table_without_known_columns_has_no_longer_those_that_it_had(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.read.parquet("data/k").write.saveAsTable("t")
spark.read.parquet("new/x").write.mode("overwrite").saveAsTable("t")
spark.table("t").write.parquet("out/unknown")
spark.read.parquet("data/k").write.mode("overwrite").saveAsTable("t")
spark.sql("SELECT v FROM t").write.parquet("out/known")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes[2:] == [(["default.t"], "out/unknown"), (["data/k"], "default.t"), (["default.t"], "out/known")]
    assert found.edges == ["data/k.id -> default.t.id", "data/k.v -> default.t.v", "default.t.v -> out/known.v"]


def test_the_catalog_lists_and_makes_what_is_known(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.read.parquet("data/k").createOrReplaceTempView("view_of_k")
spark.read.parquet("data/k").write.saveAsTable("shop.orders")
spark.read.parquet("data/k").write.saveAsTable("other.things")
for table in spark.catalog.listTables("shop"):
    spark.table(table.name if table.isTemporary else f"shop.{table.name}").write.parquet(f"out/{table.name}")
assert [each.name for each in spark.catalog.listColumns("shop.orders")] == ["id", "v"]
if not spark.catalog.databaseExists("nothing"):
    raise ValueError
spark.catalog.createTable("given", "data/k", "parquet").write.parquet("out/created")
spark.catalog.setCurrentDatabase("other")
spark.table("things").write.parquet("out/current")
"""
    found = seen(runner, tmp_path, text)
    assert [each for each in found.writes if each[1].startswith("out/")] == [
        (["data/k"], "out/view_of_k"),
        (["shop.orders"], "out/orders"),
        (["data/k"], "out/created"),
        (["other.things"], "out/current"),
    ]
    assert found.problems == [(6, "STAND_IN"), (9, "DECISION")]


def test_a_new_table_is_at_the_place_of_its_database(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.sql("CREATE DATABASE IF NOT EXISTS sales LOCATION '/lake/sales/'")
spark.read.parquet("data/k").write.format("parquet").saveAsTable("sales.Orders")
spark.sql("CREATE TABLE sales.copied USING parquet AS SELECT * FROM sales.orders")
spark.read.parquet("/lake/sales/orders").write.parquet("out/orders")
spark.sql("CREATE DATABASE other LOCATION 'below/the/warehouse'")
spark.read.parquet("data/k").write.saveAsTable("other.things")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [
        (["data/k"], "/lake/sales/orders"),
        (["/lake/sales/orders"], "/lake/sales/copied"),
        (["/lake/sales/orders"], "out/orders"),
        (["data/k"], "other.things"),
    ]
    assert found.problems == []


def test_a_table_is_at_its_own_place_until_it_is_moved(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.sql("CREATE TABLE t USING parquet LOCATION '/old' AS SELECT * FROM parquet.`data/k`")
spark.table("t").write.parquet("out/before")
spark.sql("ALTER TABLE t PARTITION (v = 'a') SET LOCATION '/of/a/part'")
spark.sql("ALTER TABLE t SET LOCATION '/new'")
spark.table("t").write.parquet("out/after")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [
        (["data/k"], "/old"),
        (["/old"], "out/before"),
        ([], "/new"),
        (["/new"], "out/after"),
    ]


def test_a_view_of_unknown_columns_is_no_table_beside_an_unknown_one(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
from delta.tables import DeltaTable
source = spark.read.parquet("/none")
source.createOrReplaceTempView("v")
spark.sql("INSERT INTO un.known SELECT * FROM v")
merge = DeltaTable.forPath(spark, "/lake/t").alias("t").merge(source.alias("s"), "t.a = s.a")
merge.whenNotMatchedInsertAll().execute()
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == []
    assert found.writes == [(["/none"], "un.known"), (["/lake/t", "/none"], "/lake/t")]
    assert found.problems == [(4, "UNKNOWN_SCHEMA")]


def test_what_decides_or_is_shipped_elsewhere_is_named(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
from delta.tables import DeltaTable
from pyspark import SparkFiles
if DeltaTable.isDeltaTable(spark, "lake/t") or not DeltaTable.isDeltaTable(spark, "data/k"):
    raise ValueError
spark.sparkContext.addFile("https://example.com/orders.csv")
spark.read.schema("id INT").csv(SparkFiles.get("orders.csv")).write.parquet("out/shipped")
spark.range(1).display()
import uuid
made = spark.read.parquet("data/k").select("id", F.lit(str(uuid.uuid4())))
made.write.parquet(f"out/{uuid.uuid4()}/{uuid.uuid1().hex}")
from py4j.java_gateway import java_import
java_import(spark._jvm, "org.example.Utils")
spark._jvm.org.example.Utils.run("x")
spark._jvm.org.apache.log4j.LogManager.getLogger("x").info("y")
spark.sparkContext._jsc.hadoopConfiguration().set("fs.s3a.endpoint", "x")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == ["/{SparkFiles}/orders.csv.id -> out/shipped.id", "data/k.id -> out/{uuid}/{uuid}.id"]
    assert found.problems == [(5, "DECISION"), (5, "DECISION"), (8, "STAND_IN"), (15, "STAND_IN")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--day', required=True)\np.parse_args()\n",
            "--day",
        ),
        ("import optparse\np = optparse.OptionParser()\np.error('no day')\n", "no day"),
        ("import sys\nprint(sys.argv[1])\n", "IndexError"),
    ],
)
def test_a_script_without_its_arguments_says_which_and_how_it_gets_them(
    runner: ScriptRunner, tmp_path: Path, text: str, said: str
) -> None:
    found = seen(runner, tmp_path, text)
    assert said in found.messages[0]
    assert "the arguments after -- on the command line are passed to scripts" in found.messages[0]
    assert found.problems[0][0] == len(text.splitlines()) + 2


def test_columns_that_a_transposition_makes_of_rows_are_not_guessed(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, 'spark.read.parquet("data/k").transpose().write.parquet("out/t")\n')
    assert (found.edges, found.writes, found.problems) == ([], [(["data/k"], "out/t")], [(3, "PATTERN")])


def test_the_answer_of_a_command_has_its_columns(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.sql("SET").createOrReplaceTempView("properties")
spark.sql("SELECT key FROM properties WHERE key LIKE '%sql%'").write.parquet("out/set")
spark.sql("SHOW TABLES").select("tableName").write.parquet("out/tables")
spark.sql("CALL lake.system.expire_snapshots('shop.orders')")
spark.sql("CALL lake.system.rollback_to_snapshot('shop.orders', 1)")
spark.read.parquet("data/k").write.parquet("out/after")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [([], "out/set"), ([], "out/tables"), (["data/k"], "out/after")]
    # The first procedure changes no rows.
    assert [line for line, _ in found.problems] == [7]


def test_names_paths_and_formats_that_an_absent_module_gives_are_patterns(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
from acme_tools import config
rows = spark.read.parquet("data/k")
rows.write.saveAsTable(config.table)
rows.write.insertInto(config.table)
rows.writeTo(config.table).append()
rows.write.format(config.format).mode(config.mode).partitionBy(config.column).save("out/" + config.name)
rows.write.parquet(config.path)
spark.readStream.format("rate").load().writeStream.toTable(config.stream)
spark.read.parquet("data/k").write.parquet("out/after")
"""
    found = seen(runner, tmp_path, text)
    assert [name for _, name in found.writes] == [
        *["default.{acme_tools.config.table}"] * 3,
        "out/{acme_tools.config.name}",
        "{acme_tools.config.path}",
        "default.{acme_tools.config.stream}",
        "out/after",
    ]
    assert found.problems == [(3, "STAND_IN")]


def test_streams_of_rdds_are_not_started_and_do_once_what_they_do_for_each(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
from pyspark.streaming import StreamingContext
ssc = StreamingContext(spark.sparkContext, 1)
lines = ssc.socketTextStream("10.0.0.1", 9999)
counts = lines.flatMap(lambda line: line.split()).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
counts.pprint()
counts.foreachRDD(lambda rdd: rdd.toDF("word STRING, n INT").write.mode("append").parquet("out/counts"))
counts.foreachRDD(lambda time, rdd: spark.read.parquet("data/k").write.parquet("out/lookup"))
counts.saveAsTextFiles("out/words", "txt")
ssc.start()
ssc.awaitTermination()
spark.read.parquet("data/k").write.parquet("out/after")
"""
    found = seen(runner, tmp_path, text)
    assert [name for _, name in found.writes] == ["out/counts", "out/lookup", "out", "out/after"]
    assert {each for each in found.problems if each[1] != "STAND_IN"} == set()
    assert {line for line, _ in found.problems} == {8, 9, 10}


def test_an_action_of_the_context_has_no_rows_and_an_algorithm_without_a_model_has_its_columns(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
from pyspark.ml.clustering import PowerIterationClustering
from pyspark.ml.fpm import PrefixSpan
assert spark.sparkContext.runJob(spark.sparkContext.parallelize([1, 2]), lambda rows: rows) == []
links = spark.read.parquet("data/k").select(F.col("id").alias("src"), F.length("v").alias("dst"))
PowerIterationClustering(k=2).assignClusters(links).write.parquet("out/clusters")
orders = spark.read.parquet("data/k").select(F.array(F.array("v")).alias("sequence"))
PrefixSpan().findFrequentSequentialPatterns(orders).select("freq").write.parquet("out/patterns")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/k.id -> out/clusters.cluster",
        "data/k.id -> out/clusters.id",
        "data/k.v -> out/clusters.cluster",
        "data/k.v -> out/clusters.id",
        "data/k.v -> out/patterns.freq",
    ]
    assert found.problems == [(5, "STAND_IN")]


def test_a_stream_is_one_and_what_is_taken_of_absent_rows_and_files_is_a_stand_in(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
import pandas as pd
events = spark.readStream.format("kafka").option("subscribe", "orders").load()
assert events.isStreaming and events.select("value").isStreaming, "no stream"
assert not spark.read.parquet("data/k").isStreaming
def each(batch, _):
    assert not batch.isStreaming
    batch.select("value").write.parquet("out/batch")
events.writeStream.foreachBatch(each).start()
lines = spark.sparkContext.textFile("data/raw/a.csv")
names = lines.first().split(",")
first = lines.take(5)[0]
print(first[0], round(lines.map(len).sum() / 2), [each for each in lines.collect()])
spark.createDataFrame(lines.collect(), "a STRING").write.parquet("out/none")
days = pd.read_csv("absent.csv")
prices = pd.read_parquet("s3://prices/today")
spark.createDataFrame(days, "day DATE").write.parquet("out/days")
spark.read.parquet("data/k").write.parquet("out/after")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [
        (["orders"], "out/batch"),
        ([], "out/none"),
        ([], "out/days"),
        (["data/k"], "out/after"),
    ]
    of_rows = [(line, "STAND_IN") for line in (12, 13, 14, 14, 15, 16, 17)]
    assert found.problems == [*of_rows[:4], (14, "DECISION"), *of_rows[4:]]


def test_a_script_gets_the_properties_that_it_sets_and_not_those_of_the_dry_run(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
from pyspark import SparkConf, SparkContext
conf = SparkConf().setAppName("billing").set("spark.etl.layer", "silver")
sc = SparkContext.getOrCreate(conf)
spark.conf.set("spark.etl.env", "prod")
env = sc.getConf().get("spark.etl.env", "test")
spark.read.parquet("data/k").write.parquet(f"out/{env}/{spark.conf.get('spark.etl.layer')}/{sc.appName}")
spark.conf.unset("spark.etl.env")
assert sc.getConf().get("spark.etl.env", "none") == "none" and sc.getConf().contains("spark.etl.layer")
spark.read.parquet("data/k").write.parquet(spark.conf.get("spark.sql.warehouse.dir") + "/k")
assert spark.conf.get("spark.master", "unset") == "unset"
"""
    found = seen(runner, tmp_path, text)
    assert [name for _, name in found.writes] == ["out/prod/silver/billing", "{spark.sql.warehouse.dir}/k"]
    assert found.problems == [(11, "STAND_IN")]


def test_functions_of_archives_that_are_not_here_have_their_columns(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.protobuf.functions import from_protobuf
spark.udf.registerJavaFunction("hashed", "com.example.Hashed", "bigint")
spark.udf.registerJavaFunction("named", "com.example.Named")
spark.udf.registerJavaUDAF("middle", "com.example.Middle")
k = spark.read.parquet("data/k")
k.select(F.expr("hashed(v) + 1").alias("h"), F.expr("named(v)").alias("n")).write.parquet("out/java")
k.createOrReplaceTempView("k")
spark.sql("SELECT v, middle(id) AS m FROM k GROUP BY v").write.parquet("out/groups")
schema = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "long"]}]}'
k.select(from_avro(F.col("v").cast("binary"), schema).alias("r")).select("r.*").write.parquet("out/avro")
k.select(to_avro("id").alias("value"), from_protobuf("v", "m").alias("p")).write.parquet("out/bytes")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/k.id -> out/bytes.value",
        "data/k.id -> out/groups.m",
        "data/k.v -> out/avro.a",
        "data/k.v -> out/bytes.p",
        "data/k.v -> out/groups.*",
        "data/k.v -> out/groups.v",
        "data/k.v -> out/java.h",
        "data/k.v -> out/java.n",
    ]
    assert found.problems == [(6, "STAND_IN"), (7, "STAND_IN"), (14, "UNKNOWN_SCHEMA")]


def test_what_is_appended_and_the_folders_of_partitions_have_columns(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
k = spark.read.parquet("data/k")
k.select("id").write.json("out/grown")
k.select("v").write.mode("append").json("out/grown")
spark.read.json("out/grown").write.parquet("out/both")
k.select("id").write.saveAsTable("t")
k.write.format("delta").mode("append").option("mergeSchema", "true").saveAsTable("t")
spark.table("t").select("v").write.parquet("out/wider")
for at in (1, 2):
    k.select("v").write.parquet(f"out/parts/n={at}")
spark.read.parquet("out/parts").where("n > 1").write.parquet("out/whole")
k.withColumn("day", F.current_date()).write.partitionBy("day").parquet("out/days")
spark.read.parquet("out/days/day=2026-01-01").write.parquet("out/one")
spark.read.option("basePath", "out/days").parquet("out/days/day=2026-01-01").select("day").write.parquet("out/based")
spark.read.json(k.rdd.map(lambda row: row.v)).write.parquet("out/parsed")
"""
    found = seen(runner, tmp_path, text)
    assert [each for each in found.edges if "> out/grown" not in each and "-> default.t." not in each] == [
        "data/k.id -> out/days.id",
        "data/k.v -> out/days.v",
        "data/k.v -> out/parts.v",
        "default.t.v -> out/wider.v",
        "out/days.day -> out/based.day",
        "out/days.id -> out/one.id",
        "out/days.v -> out/one.v",
        "out/grown.id -> out/both.id",
        "out/grown.v -> out/both.v",
        "out/parts.n -> out/whole.*",
        "out/parts.n -> out/whole.n",
        "out/parts.v -> out/whole.v",
    ]
    assert found.problems == [(16, "STAND_IN"), (16, "UNKNOWN_SCHEMA")]


def test_the_answers_of_delta_have_their_columns(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
from delta.tables import DeltaTable
spark.read.parquet("data/k").write.format("delta").saveAsTable("t")
table = DeltaTable.forName(spark, "t")
files = table.detail().select("numFiles").first()[0]
rows = table.history(1).first()["operationMetrics"]["numOutputRows"]
where = spark.sql("DESCRIBE DETAIL t").select("location").collect()[0].location.split("/")[2]
version = spark.sql("DESCRIBE HISTORY t").first().version + 1
spark.read.parquet("data/k").write.parquet("out/after")
"""
    found = seen(runner, tmp_path, text)
    assert [name for _, name in found.writes] == ["default.t", "out/after"]
    assert found.problems == [(line, "STAND_IN") for line in (6, 7, 8, 9)]


def test_a_statement_through_the_jvm_of_a_batch_is_one_of_the_script(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.read.parquet("data/k").write.saveAsTable("t")
def each(batch, _):
    batch.createOrReplaceTempView("rows")
    batch._jdf.sparkSession().sql("INSERT INTO t SELECT 1, value FROM rows")
    print(batch._jdf.schema().json())
    batch._jdf.sparkSession().sessionState()
spark.readStream.text("lines").writeStream.foreachBatch(each).start()
"""
    found = seen(runner, tmp_path, text)
    assert "lines.value -> default.t.v" in found.edges
    assert found.problems == [(8, "STAND_IN")]


def test_the_catalog_in_the_jvm_knows_the_tables_of_the_script(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
def save(frame, name):
    if spark._jsparkSession.catalog().tableExists(*name.split(".")):
        spark.table(name).write.mode("overwrite").parquet("out/before")
    frame.write.mode("overwrite").saveAsTable(name)
for name in ("t", "default.u", "default.u"):
    save(spark.read.parquet("data/k"), name)
"""
    found = seen(runner, tmp_path, text)
    assert [name for _, name in found.writes] == ["default.t", "default.u", "out/before", "default.u"]
    assert found.problems == [(4, "DECISION")] * 3


def test_threads_find_the_catalogs_and_a_pivot_without_values_has_one_column(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
from multiprocessing.pool import ThreadPool
k = spark.read.parquet("data/k")
def write(name):
    k.withColumn("at", F.current_timestamp()).join(k.select("id"), "id").select(name).write.parquet(f"out/{name}")
with ThreadPool(2) as pool:
    pool.map(write, ["id", "v"])
k.groupBy("id").pivot("v").agg(F.max("v")).write.parquet("out/pivot")
k.createOrReplaceTempView("k")
spark.sql("INSERT OVERWRITE DIRECTORY 'out/folder' USING json SELECT id FROM k")
"""
    found = seen(runner, tmp_path, text)
    assert sorted(name for _, name in found.writes) == ["out/folder", "out/id", "out/pivot", "out/v"]
    assert "data/k.v -> out/pivot.{v}" in found.edges
    assert found.problems == [(9, "PATTERN")]


PYTHON_SOURCE = """
import service
from pyspark.sql.datasource import DataSource
class Api(DataSource):
    @classmethod
    def name(cls):
        return "acme_api"
    def schema(self):
        return "id INT, title STRING" if self.options["kind"] == "books" else service.columns()
spark.dataSource.register(Api)
books = spark.read.format("acme_api").option("kind", "books").option("url", "https://a/b").load()
books.select(F.upper("title").alias("t")).write.mode("overwrite").parquet("out/books")
spark.read.format("acme_api").option("kind", "other").load().write.parquet("out/others")
"""


def test_a_data_source_of_the_script_has_its_own_schema_and_the_name_of_a_real_run(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark.sql.datasource")
    found = seen(runner, tmp_path, PYTHON_SOURCE)
    assert found.edges == ["datasource:PythonTable/acme_api(url=https://a/b).title -> out/books.t"]
    assert found.problems == [(4, "STAND_IN"), (15, "UNKNOWN_SCHEMA")]


def test_names_that_a_service_gives_leave_the_columns_unknown_and_the_script_goes_on(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
import requests
from pyspark.sql import Window
given = requests.get("http://settings").json()
k = spark.read.schema("id INT, v STRING").parquet("data/k")
k.select(given["columns"]).write.parquet("out/select")
k.select(*given["columns"]).write.parquet("out/list")
k.groupBy(given["by"]).agg(F.sum("id")).write.parquet("out/groups")
k.groupBy("id").pivot(given["by"]).agg({given["of"]: "sum"}).write.parquet("out/pivot")
k.join(k.select("id"), given["on"]).write.parquet("out/join")
k.toDF(*[each["name"] for each in given["columns"]]).write.parquet("out/renamed")
k.select(F.max(given["of"]).over(Window.partitionBy(given["by"]))).write.parquet("out/window")
spark.createDataFrame([(1,)], given["columns"]).write.parquet("out/created")
k.select("missing").write.parquet("out/never")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == []
    reads = ["select", "list", "groups", "pivot", "join", "renamed", "window"]
    assert found.writes == [*((["data/k"], f"out/{each}") for each in reads), ([], "out/created")]
    assert {line for line, code in found.problems if code == "UNKNOWN_SCHEMA"} == {7, 8, 9, 10, 11, 12, 13, 14}
    # An error of the script itself stays one.
    assert found.problems[-1] == (15, "SCRIPT_FAILED")


def test_a_condition_or_a_value_that_a_service_gives_leaves_all_else_known(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
import requests
given = requests.get("http://settings").json()
k = spark.read.schema("id INT, v STRING").parquet("data/k")
k.filter(given["rule"]).dropDuplicates(given["keys"]).orderBy(F.col(given["by"]).desc()).write.parquet("out/rows")
k.filter(given["least"] < F.col("id")).select((given["rate"] * F.col("id")).alias("n")).write.parquet("out/values")
k.withColumn("w", F.expr(given["rule"])).write.parquet("out/added")
k.withColumns({"w": F.col(given["by"]) + 1, "n": F.col("id") + 1}).write.parquet("out/several")
k.withColumnRenamed("v", given["name"]).drop(given["other"]).write.parquet("out/dropped")
k.select("id", k[given["by"]]).write.parquet("out/item")
twice = k.crossJoin(k.select("id", F.col("v").alias("w")))
twice.withColumn("n", F.col(given["by"])).select("n").write.parquet("out/twice")
spark.read.schema(given["columns"]).parquet("data/k").write.parquet("out/schema")
"""
    found = seen(runner, tmp_path, text)
    both = ("rows", "added", "several", "schema")
    assert sorted(found.edges) == sorted(
        [
            *(f"data/k.{column} -> out/{name}.{column}" for name in both for column in ("id", "v")),
            *(f"data/k.{column} -> out/{name}.w" for name in ("added", "several") for column in ("id", "v")),
            "data/k.id -> out/several.n",
            "data/k.id -> out/values.n",
            "data/k.id -> out/values.*",
            "data/k.id -> out/dropped.id",
            "data/k.v -> out/dropped.{requests.get().json()[name]}",
            "data/k.v -> out/twice.n",
        ]
    )
    assert {line for line, code in found.problems if code == "UNKNOWN_SCHEMA"} == {11}
    assert (
        "filter() depends on {requests.get().json()[rule]}, which is unknown in a dry run: it is left out"
        in found.messages
    )


def test_columns_named_by_rows_are_unknown_and_those_beside_them_are_not(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
rules = spark.read.schema("name STRING, rule STRING").parquet("data/rules").collect()
k = spark.read.schema("id INT, v STRING").parquet("data/k")
k.select([F.col(each.name).alias(f"k_{each.name}") for each in rules]).write.parquet("out/select")
for each in rules:
    k = k.withColumn(each.name, F.expr(each.rule))
k.select("id", "v").write.parquet("out/known")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == ["data/k.id -> out/known.id", "data/k.v -> out/known.v"]
    assert found.writes == [(["data/k"], "out/select"), (["data/k"], "out/known")]


def test_a_statement_with_parts_from_a_service_has_the_datasets_that_its_text_names(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
import requests
given = requests.get("http://settings").json()
spark.read.schema("id INT, v STRING").parquet("data/k").createOrReplaceTempView("k")
spark.sql(f"INSERT INTO {given['db']}.sums SELECT {given['columns']} FROM k")
spark.sql(f"CREATE OR REPLACE TEMP VIEW w AS SELECT * FROM k WHERE id > {given['least']}")
spark.table("w").write.parquet("out/viewed")
spark.sql(f"SELECT a.x FROM {given['db']}_raw.orders a JOIN k ON a.id = k.id").write.parquet("out/joined")
spark.sql(f"INSERT OVERWRITE DIRECTORY 'out/folder' USING json SELECT id FROM k WHERE {given['rule']}")
spark.sql(given["query"]).write.parquet("out/query")
spark.sql(f"SELECT id FROM k WHERE v = '{given['day']}'").write.parquet("out/literal")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [
        (["data/k"], "{requests.get().json()[db]}.sums"),
        (["data/k"], "out/viewed"),
        (["data/k", "{requests.get().json()[db]}_raw.orders"], "out/joined"),
        (["data/k"], "out/folder"),
        ([], "out/query"),
        (["data/k"], "out/literal"),
    ]
    assert found.edges == ["data/k.id -> out/literal.id", "data/k.v -> out/literal.*"]


def test_a_read_that_a_script_tries_is_a_decision_on_whether_the_data_exist(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
from pyspark.sql.utils import AnalysisException
k = spark.read.schema("id INT, v STRING").parquet("data/k")
try:
    old = spark.read.parquet("data/k")
except AnalysisException:
    old = spark.createDataFrame([], k.schema)
try:
    other = spark.read.parquet("data/k")
except Exception as problem:
    print(problem)
    raise
if not k.rdd.isEmpty() and k.rdd.getNumPartitions() > 1:
    k = k.coalesce(1)
k.union(old).write.parquet("out/all")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == ["data/k.id -> out/all.id", "data/k.v -> out/all.v"]
    assert found.problems == [(6, "DECISION"), (14, "DECISION")]
    assert found.messages[0].startswith("a decision depends on whether the data exist that are read here, which is ass")


def test_a_table_of_which_only_columns_are_known_has_the_partitions_that_a_statement_names(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
k = spark.read.parquet("data/k").createOrReplaceTempView("k")
spark.sql("INSERT OVERWRITE sales.fact PARTITION (day = '2026-01-05') SELECT id, upper(v) FROM k")
spark.sql("INSERT INTO sales.fact PARTITION (v = 'a', day) SELECT id, current_date() FROM k")
spark.sql("CREATE TABLE shop.own (id INT, day DATE)")
spark.sql("INSERT INTO shop.own PARTITION (day = '2026-01-05') SELECT id FROM k")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/k.id -> sales.fact.id",
        "data/k.id -> shop.own.id",
        "data/k.v -> sales.fact.v",
    ]
    # Of a table that a statement declares, the partitions are known.
    assert found.problems == [(7, "NON_PARTITION_COLUMN")]


def test_a_name_with_a_date_of_a_row_is_a_pattern(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
k = spark.read.parquet("data/k")
k.write.parquet("out/2000/before")
day = spark.table("sales.fact").agg(F.max("day").alias("day")).first().day
k.write.parquet(f"out/year/{day.year}")
k.write.parquet(f"out/{day.isoformat()}/x")
k.write.parquet(f"out/daily/day={day}")
k.write.saveAsTable(f"shop.k_{day:%Y%m}")
k.filter(F.lit(day) > "2026-01-01").write.parquet("out/k")
"""
    found = seen(runner, tmp_path, text)
    assert [name for _, name in found.writes] == [
        "out/2000/before",
        "out/year/{date}",
        "out/{date}/x",
        "out/daily",
        "shop.k_{date}",
        "out/k",
    ]
    assert found.problems == [(5, "STAND_IN"), (6, "PATTERN"), (7, "PATTERN"), (9, "PATTERN")]


def test_what_is_made_of_unknown_rows_does_not_end_a_script(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
from pyspark.sql.utils import AnalysisException
k = spark.read.parquet("data/k")
rates = spark.read.parquet("data/unknown").toPandas()
lookup = dict(zip(rates["currency"], rates["rate"]))
row = k.select([F.avg(F.col(each).isNull().cast("int")).alias(each) for each in k.columns]).collect()[0]
k.drop(*[each for each in k.columns if row[each] > 0.5]).write.parquet("out/kept")
try:
    old = spark.table("shop.not_there")
except AnalysisException:
    old = spark.createDataFrame([], k.schema)
k.join(old, "id", "left_anti").write.parquet("out/new")
k.stat.crosstab("id", "v").write.parquet("out/crossed")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [(["data/k"], f"out/{name}") for name in ("kept", "new", "crossed")]
    assert found.edges == [
        "data/k.id -> out/crossed.*",
        "data/k.id -> out/crossed.id_v",
        "data/k.id -> out/crossed.id_v",
        "data/k.id -> out/new.*",
        "data/k.id -> out/new.id",
        "data/k.v -> out/crossed.{v}",
        "data/k.v -> out/new.v",
    ]
    assert {line for line, code in found.problems if code == "UNKNOWN_SCHEMA"} == {5, 8}
    assert (10, "DECISION") in found.problems


def test_folders_that_a_script_writes_by_day_are_read_together(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
k = spark.read.parquet("data/k")
k.select("id").write.parquet("out/x/2026/01/01")
k.write.parquet("out/x/2026/01/02")
spark.read.option("recursiveFileLookup", "true").parquet("out/x").write.parquet("out/all")
spark.read.parquet("out/x/*/*/*").write.parquet("out/globbed")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/k.id -> out/x.id",
        "data/k.v -> out/x.v",
        "out/x.id -> out/all.id",
        "out/x.id -> out/globbed.id",
        "out/x.v -> out/all.v",
        "out/x.v -> out/globbed.v",
    ]
    assert found.problems == []


def test_a_merge_that_has_no_form_in_sql_has_the_datasets_of_its_source(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
from delta.tables import DeltaTable
k = spark.read.parquet("data/k")
k.write.format("delta").save("data/t")
k.write.format("delta").saveAsTable("shop.t")
upper = F.udf(lambda text: text.upper())
t = DeltaTable.forPath(spark, "data/t").alias("t")
t.merge(k.alias("k"), "t.id = k.id").whenMatchedUpdate(set={"v": upper(k["v"])}).execute().show()
DeltaTable.forName(spark, "shop.t").alias("t").merge(k.alias("k"), "t.id = ! k.id").whenMatchedDelete().execute()
t.merge(k.alias("k"), "t.id = k.nothing").whenNotMatchedInsertAll().execute()
"""
    found = seen(runner, tmp_path, text)
    assert found.writes[2:] == [(["data/k"], "data/t"), (["data/k"], "shop.t"), (["data/k"], "data/t")]
    assert found.problems == [(line, "UNKNOWN_STATEMENT") for line in (9, 10, 11)]


def test_a_table_of_deltas_builder_is_named_by_its_location_and_has_its_new_columns(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
from delta.exceptions import ConcurrentAppendException
from delta.tables import DeltaTable, IdentityGenerator
k = spark.read.parquet("data/k")
made = (
    DeltaTable.create(sparkSession=spark).tableName(identifier="shop.t").location(location="/lake/t")
    .addColumn(colName="id", dataType="INT", nullable=False).addColumn("v", dataType="STRING")
    .addColumn("n", "BIGINT", generatedAlwaysAs=IdentityGenerator(start=1)).partitionedBy(["v"]).execute()
)
k.select("id").write.format("delta").mode("append").saveAsTable("shop.t")
merge = made.alias(aliasName="x").merge(source=k.alias("k"), condition="x.id = k.id")
merge.whenMatchedUpdate(condition="k.v > ''", set={"v": "k.v"}).execute().select("num_updated_rows").show()
DeltaTable.createOrReplace(spark).tableName("shop.t").location("/lake/t").addColumn("other", "INT").execute()
spark.table("shop.t").write.parquet("out/replaced")
made.clone(target="/lake/copy", isShallow=True)
spark.read.format("delta").load("/lake/copy").write.parquet("out/copied")
made.optimize().where(partitionFilter="v = 'a'").executeCompaction().select("metrics.numFilesAdded").show()
spark.sql("CREATE TABLE shop.there USING delta LOCATION '/lake/copy'")
spark.table("shop.there").write.parquet("out/there")
spark.sql("CREATE TABLE shop.nowhere USING delta LOCATION '/lake/nowhere'")
spark.table("shop.nowhere").write.parquet("out/nowhere")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [
        (["data/k"], "/lake/t"),
        (["/lake/t", "data/k"], "/lake/t"),
        (["/lake/t"], "out/replaced"),
        (["/lake/t"], "/lake/copy"),
        (["/lake/copy"], "out/copied"),
        (["/lake/copy"], "out/there"),
        (["/lake/nowhere"], "out/nowhere"),
    ]
    assert [each for each in found.edges if "-> out/" in each] == [
        "/lake/copy.other -> out/copied.other",
        "shop.t.other -> out/replaced.other",
        "shop.there.other -> out/there.other",
    ]
    assert found.problems == [(22, "UNKNOWN_TABLE")]


def test_what_a_loaded_model_makes_comes_from_its_folder(runner: ScriptRunner, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    text = """\
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import StringIndexer, StringIndexerModel
k = spark.read.parquet("data/k")
pipe = Pipeline(stages=[StringIndexer(inputCol="v", outputCol="n")])
model = pipe.fit(k)
model.transform(k).select("n").write.parquet("out/fitted")
model.write().overwrite().save("models/p")
loaded = PipelineModel.load("models/p").transform(k)
loaded.select("n").write.parquet("out/loaded")
loaded.createOrReplaceTempView("w")
spark.sql("CREATE TABLE t AS SELECT n FROM w")
model.stages[0].save("/models/one")
StringIndexerModel.read().load("/models/one").transform(k).select("n").write.parquet("out/one")
PipelineModel.load("/models/other").transform(k).write.parquet("out/other")
pipe.save("/models/unfitted")
Pipeline.load("/models/unfitted").fit(k).transform(k).select("n").write.parquet("out/again")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [
        (["data/k"], "out/fitted"),
        ([], "models/p"),
        (["data/k", "models/p"], "out/loaded"),
        (["data/k", "models/p"], "default.t"),
        ([], "/models/one"),
        (["/models/one", "data/k"], "out/one"),
        (["/models/other", "data/k"], "out/other"),
        ([], "/models/unfitted"),
        (["data/k"], "out/again"),
    ]
    assert found.edges == [
        f"data/k.v -> {each}.n" for each in ("default.t", "out/again", "out/fitted", "out/loaded", "out/one")
    ]
    assert found.problems == [(16, "UNKNOWN_SCHEMA")]


def test_texts_have_the_columns_of_their_folders_and_keep_no_name(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
k = spark.read.parquet("data/k")
k.select(F.col("v").alias("line"), "id").write.partitionBy("id").text("out/texts")
spark.read.text("out/texts").write.saveAsTable("t")
spark.sql("SELECT id FROM text.`out/texts`").write.saveAsTable("u")
"""
    found = seen(runner, tmp_path, text)
    assert sorted(found.edges) == [
        "data/k.id -> out/texts.id",
        "data/k.v -> out/texts.line",
        "out/texts.id -> default.t.id",
        "out/texts.id -> default.u.id",
        "out/texts.value -> default.t.value",
    ]
    assert found.problems == []


def test_an_rdd_of_a_path_with_an_unknown_part_names_the_path(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
import boto3
day = boto3.client("s3").get_object(Bucket="b", Key="k")["Body"]
lines = spark.sparkContext.textFile(f"s3a://raw/{day}/log.txt,s3a://raw/fixed/{{a,b}}.txt")
lines.map(lambda line: (line, 1)).toDF("line STRING, n INT").write.parquet("out/lines")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [(["fixed", "{boto3.client().get_object().Body}/log.txt"], "out/lines")]


@pytest.mark.skipif(SPARK_VERSION < "4.1", reason="SQL scripts are a feature of Spark 4")
def test_each_statement_of_a_script_in_sql_counts(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.sql("CREATE TABLE sums (v STRING, n BIGINT)")
last = spark.sql(\'\'\'BEGIN
  DECLARE n INT DEFAULT 0;
  FOR r AS SELECT DISTINCT v FROM sales.fact DO
    INSERT INTO sums SELECT v, count(id) FROM sales.fact WHERE v = r.v OR v = :other GROUP BY v;
    SET n = n + 1;
  END FOR;
  IF n > 0 THEN CREATE TABLE days AS SELECT day FROM sales.fact; END IF;
  SELECT v FROM sums;
END\'\'\', args={"other": "x"})
last.write.saveAsTable("found")
spark.table("days").write.saveAsTable("copied")
"""
    found = seen(runner, tmp_path, text)
    assert sorted(set(found.edges)) == [
        "default.days.day -> default.copied.day",
        "default.sums.v -> default.found.v",
        "sales.fact.day -> default.days.day",
        "sales.fact.id -> default.sums.n",
        "sales.fact.v -> default.sums.*",
        "sales.fact.v -> default.sums.v",
    ]
    assert found.problems == []


def test_what_spark_asks_the_files_of_a_table_is_left_open(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
for what in ("DESCRIBE EXTENDED sales.fact", "SHOW PARTITIONS sales.fact", "SHOW TABLE EXTENDED IN sales LIKE 'fact'"):
    assert spark.sql(what).columns, what
"""
    assert seen(runner, tmp_path, text).problems == []


def test_metadata_tables_of_iceberg_have_columns(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.table("sales.fact").writeTo("lake.db.t").using("iceberg").createOrReplace()
spark.table("lake.db.t.snapshots").select("snapshot_id").write.saveAsTable("s")
query = "SELECT h.is_current_ancestor, m.length FROM lake.db.t.history h, lake.db.t.manifests m"
spark.sql(query).write.saveAsTable("m")
"""
    found = seen(runner, tmp_path, text)
    assert (found.edges[:3], found.problems) == (
        [
            "lake.db.t.history.is_current_ancestor -> default.m.is_current_ancestor",
            "lake.db.t.manifests.length -> default.m.length",
            "lake.db.t.snapshots.snapshot_id -> default.s.snapshot_id",
        ],
        [],
    )


def test_an_rdd_of_a_dataframe_has_the_sources_of_the_dataframe(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
k, a = spark.read.parquet("data/k"), spark.read.option("header", True).csv("data/raw/a.csv")
k.join(a, k.v == a.x).rdd.map(lambda row: (row.id, row.v)).toDF(["id", "v"]).write.parquet("out/joined")
pairs = spark.table("sales.fact").rdd.map(lambda row: (row.id, 1)).join(k.rdd.union(k.rdd).map(lambda row: (row.id, 2)))
pairs.map(lambda pair: (pair[0], 1)).toDF("id INT, n INT").write.saveAsTable("t")
k.rdd.map(lambda row: row.v).saveAsTextFile("out/text")
spark.read.schema("q INT").json(k.rdd.map(lambda row: row.v)).write.parquet("out/parsed")
spark.read.csv(a.rdd.map(lambda row: row.x)).write.parquet("out/unknown")
spark.createDataFrame(k.rdd.repartition(3).sortBy(lambda row: row.id), k.schema).createOrReplaceTempView("w")
spark.sql("INSERT INTO t SELECT id, id FROM w")
"""
    found = seen(runner, tmp_path, text)
    assert (found.edges, found.writes) == (
        [],
        [
            (["data/k", "data/raw/a.csv"], "out/joined"),
            (["data/k", "sales.fact"], "default.t"),
            (["data/k"], "out/text"),
            (["data/k"], "out/parsed"),
            (["data/raw/a.csv"], "out/unknown"),
            (["data/k"], "default.t"),
        ],
    )


def test_a_table_whose_name_comes_from_data_gets_the_columns_of_a_query_that_is_known(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
spark.read.parquet("data/k").createOrReplaceTempView("w")
for row in spark.table("w").select("v").distinct().collect():
    spark.sql(f"INSERT INTO sales_{row.v} SELECT id, upper(v) AS u FROM w")
    spark.sql(f"INSERT INTO sales_{row.v} (a, b) SELECT id, v FROM w")
    spark.sql(f"CREATE TABLE made_{row.v} AS SELECT id AS n FROM w")
    spark.sql(f"INSERT OVERWRITE sales_{row.v} SELECT * FROM other_{row.v}")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/k.id -> default.made_{v}.n",
        "data/k.id -> default.sales_{v}.a",
        "data/k.id -> default.sales_{v}.id",
        "data/k.v -> default.sales_{v}.b",
        "data/k.v -> default.sales_{v}.u",
    ]
    assert found.problems == [(4, "STAND_IN"), *((line, "PATTERN") for line in (5, 6, 7)), (8, "UNKNOWN_STATEMENT")]


# A script may name each argument of PySpark: this one reads PySpark's own sources, in which nothing is replaced.
NAMES_OF_ARGUMENTS = """\
import ast, importlib, inspect
from pyspark import SparkContext, SparkFiles
from pyspark.rdd import RDD
from pyspark.sql import streaming, udf
from pyspark.sql.catalog import Catalog
from pyspark.sql.group import GroupedData
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter, DataFrameWriterV2

def methods(owner):
    source = ast.parse(open(inspect.getsourcefile(importlib.import_module(owner.__module__))).read())
    for each in ast.walk(source):
        if isinstance(each, ast.ClassDef) and each.name == owner.__name__:
            for method in each.body:
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    yield method.name, [a.arg for a in (*method.args.args, *method.args.kwonlyargs)][1:]

absent, methods_seen = [], 0
for owner in (
    SparkSession, SparkSession.Builder, type(spark.range(1)), DataFrameReader, DataFrameWriter, DataFrameWriterV2,
    streaming.DataStreamReader, streaming.DataStreamWriter, Catalog, RDD, SparkContext, udf.UDFRegistration,
    GroupedData, SparkFiles,
):
    for name, names in methods(owner):
        method = getattr(owner, name, None)
        if not inspect.isfunction(method) and not inspect.ismethod(method):
            continue
        methods_seen += 1
        taken = inspect.signature(method).parameters.values()
        if not any(each.kind is each.VAR_KEYWORD for each in taken):
            # The names of overloads begin with an underscore.
            named = {each for each in names if not each.startswith("_")}
            missing = named - {each.name for each in taken} - {"self", "cls"}
            absent += [f"{owner.__name__}.{name}({each})" for each in sorted(missing)]
raise SystemExit(f"{absent}, {methods_seen > 200}")
"""


def test_a_script_that_exits_because_it_has_no_arguments_names_where_they_come_from(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    found = seen(runner, tmp_path, "import sys\nif len(sys.argv) != 2:\n    sys.exit(-1)\n")
    assert found.messages == [
        "the script exits here with status -1 (the arguments after -- on the command line are passed to scripts)"
    ]


def test_columns_of_several_paths_are_asked_for_one_by_one(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, 'spark.read.parquet("data/p", "s3://b/q").show()\n')
    given = '{"data/p": "id INT, ...", "s3://b/q": "id INT, ..."}'
    assert [each.partition("FILE containing ")[2] for each in found.messages] == [
        f"{given}, or with a store in --catalog"
    ]


def test_the_version_of_a_module_that_is_not_loaded_is_a_stand_in(runner: ScriptRunner, tmp_path: Path) -> None:
    text = 'import boto3\nprint(boto3.__version__)\nspark.read.parquet("data/k").write.parquet("out/after")\n'
    found = seen(runner, tmp_path, text)
    assert found.edges == ["data/k.id -> out/after.id", "data/k.v -> out/after.v"]
    assert found.problems == [(3, "STAND_IN")]


def test_a_name_of_glue_that_a_dry_run_does_not_have_is_a_stand_in(runner: ScriptRunner, tmp_path: Path) -> None:
    text = 'from awsglue.gluetypes import Field\nField("a")\nspark.read.parquet("data/k").write.parquet("out/after")\n'
    found = seen(runner, tmp_path, text)
    assert found.edges == ["data/k.id -> out/after.id", "data/k.v -> out/after.v"]
    assert found.messages == ["a dry run does not have awsglue.gluetypes.Field: what it returns is unknown"]


READ_BACK = """
k = spark.read.parquet("data/k").selectExpr("id", "v", "id AS a", "id AS b")
k.write.partitionBy("a", "b").parquet("out/p")
spark.read.parquet("out/p/*").write.parquet("out/below_a")
spark.read.parquet("out/p/*/b=1").write.parquet("out/below_b")
k.select("id", "v", "a").write.partitionBy("a").csv("out/c")
spark.sql("SELECT * FROM csv.`out/c`").write.parquet("out/of_csv")
k.drop("b").write.partitionBy("a").json("out/j")
spark.read.json("out/j").write.parquet("out/of_json")
"""


def test_partitions_and_names_are_those_that_a_script_finds_in_its_own_files(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    found = seen(runner, tmp_path, READ_BACK)
    read = [each for each in found.edges if each.startswith("out/")]
    assert read == [
        "out/c._c0 -> out/of_csv._c0",
        "out/c._c1 -> out/of_csv._c1",
        "out/c.a -> out/of_csv.a",
        "out/j.a -> out/of_json.a",
        "out/j.id -> out/of_json.id",
        "out/j.v -> out/of_json.v",
        "out/p.b -> out/below_a.b",
        "out/p.id -> out/below_a.id",
        "out/p.id -> out/below_b.id",
        "out/p.v -> out/below_a.v",
        "out/p.v -> out/below_b.v",
    ]


UNKNOWN_PARTS = """
from pyspark.sql import Window, functions as F
training, test = spark.read.csv("data/unknown.csv", header=True).randomSplit([0.7, 0.3])
training.groupBy("day").mean()[["avg(a)", "avg(b)"]].show()
test[test.a > 1].write.parquet("out/test")
names = test.columns
names.remove("a")
test.select(names + ["a"]).write.parquet("out/ordered")
latest = Window.partitionBy(test.columns[0], *test.columns[1:]).orderBy("day")
test.withColumn("n", F.row_number().over(latest)).write.parquet("out/numbered")
spark.read.json(test.rdd.map(lambda row: row.payload)).write.parquet("out/parsed")
rows = [row for row in spark.sparkContext.textFile("data/unknown.txt").collect()]
spark.createDataFrame(rows).write.parquet("out/rows")
spark.sparkContext.textFile("data/unknown.txt").toDebugString().decode().split()
import mlflow
score = mlflow.pyfunc.spark_udf(spark, "models:/m")
spark.udf.register("score", score)
spark.read.parquet("data/k").createOrReplaceTempView("k")
spark.sql("SELECT id, score(v) AS s FROM k").write.parquet("out/scored")
"""


def test_parts_of_unknown_columns_and_functions_of_absent_modules_go_on(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, UNKNOWN_PARTS)
    assert found.edges == ["data/k.id -> out/scored.id", "data/k.v -> out/scored.s"]
    assert found.writes == [
        (["data/unknown.csv"], "out/test"),
        (["data/unknown.csv"], "out/ordered"),
        (["data/unknown.csv"], "out/numbered"),
        (["data/unknown.csv"], "out/parsed"),
        ([], "out/rows"),
        (["data/k"], "out/scored"),
    ]
    assert "SCRIPT_FAILED" not in [code for _, code in found.problems]


MODELS = """
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import ElementwiseProduct
from pyspark.ml.linalg import Vectors
points = spark.read.format("libsvm").load("data/points.txt")
training, test = points.randomSplit([0.7, 0.3])
model = LogisticRegression().fit(training)
model.setThreshold(model.summary.fMeasureByThreshold.head()["threshold"])
scaler = ElementwiseProduct(scalingVec=Vectors.dense([0.0, 1.0]), inputCol="features", outputCol="scaled")
scaler.transform(model.transform(test)).select("label", "scaled", "prediction").write.parquet("out/scored")
"""


def test_points_for_models_have_columns_and_values_of_parameters_decide_no_edge(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    found = seen(runner, tmp_path, MODELS)
    # A split sorts the rows.
    assert set(found.edges) == {
        "data/points.txt.features -> out/scored.*",
        "data/points.txt.label -> out/scored.*",
        "data/points.txt.label -> out/scored.label",
        "data/points.txt.features -> out/scored.scaled",
        "data/points.txt.features -> out/scored.prediction",
    }
    assert "SCRIPT_FAILED" not in [code for _, code in found.problems]


def test_each_row_that_a_script_takes_is_one_of_stand_ins(runner: ScriptRunner, tmp_path: Path) -> None:
    text = 'k = spark.read.parquet("data/k")\nrows = k.take(3)\nk.write.parquet(f"out/{rows[2].v}/{rows[-1].v}")\n'
    found = seen(runner, tmp_path, text)
    assert found.edges == ["data/k.id -> out/{v}/{v}.id", "data/k.v -> out/{v}/{v}.v"]


FUNCTIONS_OF_CATALOGS = """
spark.sql("USE CATALOG main")
spark.read.parquet("data/k").createOrReplaceTempView("k")
spark.sql("SELECT id, ai_query('m', v) AS a, main.d.score(v) AS b, d.low(v) AS c FROM k").write.parquet("out/scored")
spark.sql("SELECT * FROM main.d.details(1)").write.parquet("out/details")
spark.sql("SELECT * FROM details(1) JOIN k").write.parquet("out/joined")
"""


def test_functions_of_catalogs_that_are_not_here_are_opaque(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, FUNCTIONS_OF_CATALOGS)
    assert found.edges == [
        "data/k.id -> out/scored.id",
        "data/k.v -> out/scored.a",
        "data/k.v -> out/scored.b",
        "data/k.v -> out/scored.c",
    ]
    assert [each for each in found.writes if each[1] != "out/scored"] == [
        ([], "out/details"),
        (["data/k"], "out/joined"),
    ]
    assert {line for line, _ in found.problems} == {7, 8}


def test_each_method_that_is_replaced_takes_the_named_arguments_of_pyspark(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    found = seen(runner, tmp_path, NAMES_OF_ARGUMENTS)
    assert found.messages == ["the script exits here with [], True"]


def test_columns_that_delta_computes_come_from_those_that_their_expressions_name(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
from delta.tables import DeltaTable
k = spark.read.parquet("data/k")
for name in ("t", "u", "w"):
    (
        DeltaTable.create(spark).tableName(f"shop.{name}").location(f"/lake/{name}").addColumn("id", "INT")
        .addColumn("twice", "INT", generatedAlwaysAs="CAST(id * 2 AS INT)").addColumn("v", "STRING").execute()
    )
k.write.format("delta").mode("append").saveAsTable("shop.t")
k.select("id").write.format("delta").mode("append").save("/lake/u")
k.select("v", k.id.alias("twice")).write.format("delta").mode("append").save("/lake/w")
DeltaTable.create(spark).tableName("shop.m").addColumn("id", "INT").addColumn(
    "twice", "INT", generatedAlwaysAs="id * 2"
).execute()
DeltaTable.forName(spark, "shop.m").alias("m").merge(k.alias("k"), "m.twice = k.id").whenNotMatchedInsert(
    values={"id": "k.id"}
).execute()
"""
    found = seen(runner, tmp_path, text)
    assert [each for each in found.edges if "-> shop.m" in each and each.startswith("data")] == [
        "data/k.id -> shop.m.*",
        "data/k.id -> shop.m.id",
        "data/k.id -> shop.m.twice",
    ]
    assert [each for each in found.edges if "shop.m" not in each] == [
        "data/k.id -> /lake/u.id",
        "data/k.id -> /lake/u.twice",
        "data/k.id -> /lake/w.twice",
        "data/k.id -> shop.t.id",
        "data/k.id -> shop.t.twice",
        "data/k.v -> /lake/w.v",
        "data/k.v -> shop.t.v",
    ]
    assert found.problems == []


def test_files_that_a_pattern_reads_have_the_columns_of_known_files(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.read.csv("data/raw/a.*", header=True).write.parquet("out/a")
spark.read.csv("data/raw/*.csv", header=True).write.parquet("out/different")
k = spark.read.parquet("data/k")
k.withColumn("day", k.id).write.partitionBy("day").parquet("out/days")
spark.read.parquet("out/days/day=*").write.parquet("out/without")
spark.read.option("basePath", "out/days").parquet("out/days/day=*").select("day").write.parquet("out/with")
"""
    found = seen(runner, tmp_path, text)
    assert [each for each in found.edges if "out/days." in each or "out/a" in each] == [
        "data/k.id -> out/days.day",
        "data/k.id -> out/days.id",
        "data/k.v -> out/days.v",
        "data/raw.x -> out/a.x",
        "out/days.day -> out/with.day",
        "out/days.id -> out/without.id",
        "out/days.v -> out/without.v",
    ]
    assert found.problems == [(4, "UNKNOWN_SCHEMA")]


@pytest.mark.skipif(SPARK_VERSION < "4", reason="before Spark 4, table functions have no `analyze`")
def test_a_table_function_that_names_its_own_columns_is_not_run(runner: ScriptRunner, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    text = """\
from pyspark.sql import functions as F
from pyspark.sql.functions import AnalyzeResult, udtf
from pyspark.sql.types import StructType
@udtf
class Words:
    @staticmethod
    def analyze(text):
        return AnalyzeResult(StructType().add("word", "string"))
    def eval(self, text):
        yield text,
spark.udtf.register("words", Words)
spark.read.parquet("data/k").createOrReplaceTempView("k")
spark.sql("SELECT id, w.word FROM k, LATERAL words(v) w").write.parquet("out/words")
Words(F.lit("a b")).write.parquet("out/literal")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/k.id -> out/words.id",
        "data/k.v -> out/words.*",
        "data/k.v -> out/words.word",
    ]
    assert found.problems == []


def test_rows_that_a_stream_writes_to_memory_have_no_sources_which_is_reported(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    text = """\
rows = spark.readStream.schema("id INT, v STRING").parquet("data/k").groupBy("v").count()
rows.writeStream.format("memory").queryName("kept").outputMode("complete").start().awaitTermination()
spark.table("kept").select("v", "count").write.parquet("out/kept")
"""
    found = seen(runner, tmp_path, text)
    assert (found.writes, found.edges, found.problems) == ([([], "out/kept")], [], [(4, "STAND_IN")])


def test_a_frame_that_a_model_has_learned_comes_from_what_it_was_trained_on(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    pytest.importorskip("numpy")
    text = """\
from pyspark.ml.recommendation import ALS
k = spark.read.parquet("data/k").selectExpr("id AS user", "id AS item", "CAST(id AS FLOAT) AS rating")
model = ALS(userCol="user", itemCol="item", ratingCol="rating").fit(k)
model.recommendForAllUsers(3).select("user").write.parquet("out/recommended")
model.userFactors.write.parquet("out/factors")
"""
    found = seen(runner, tmp_path, text)
    assert found.writes == [(["data/k"], "out/recommended"), (["data/k"], "out/factors")]
    assert found.problems == [(6, "STAND_IN"), (7, "STAND_IN")]


def test_a_frame_of_a_model_that_is_saved_and_loaded_again_comes_from_what_it_was_trained_on(
    runner: ScriptRunner, tmp_path: Path
) -> None:
    pytest.importorskip("numpy")
    text = """\
from pyspark.ml.feature import BucketedRandomProjectionLSH, VectorAssembler
from pyspark.ml.recommendation import ALS, ALSModel
from pyspark.ml.regression import LinearRegression
k = spark.read.parquet("data/k").selectExpr("id AS user", "id AS item", "CAST(id AS FLOAT) AS rating")
ALS(userCol="user", itemCol="item", ratingCol="rating").fit(k).write().overwrite().save("out/als")
loaded = ALSModel.load("out/als")
loaded.recommendForAllUsers(3).select("user").write.parquet("out/recommended")
loaded.itemFactors.write.parquet("out/factors")
f = VectorAssembler(inputCols=["user"], outputCol="f").transform(k)
lsh = BucketedRandomProjectionLSH(inputCol="f", outputCol="h", bucketLength=1.0).fit(f)
lsh.approxSimilarityJoin(f, f, 1.0).write.parquet("out/similar")
fitted = LinearRegression(featuresCol="f", labelCol="rating").fit(f)
fitted.summary.predictions.select("prediction").write.parquet("out/predictions")
"""
    found = seen(runner, tmp_path, text)
    names = ("recommended", "factors", "similar", "predictions")
    assert found.writes == [([], "out/als"), *((["data/k"], f"out/{each}") for each in names)]
    assert found.edges == ["data/k.id -> out/predictions.prediction"]
    assert found.problems == [(9, "STAND_IN"), (10, "STAND_IN"), (13, "STAND_IN"), (15, "STAND_IN")]


@pytest.mark.skipif(SPARK_VERSION.startswith("4.0"), reason="Spark 4.0 has no pandas on Spark in its ANSI mode")
def test_pandas_on_spark_gets_a_row_of_stand_ins_for_its_rows(runner: ScriptRunner, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    text = """\
import pyspark.pandas as ps
k = ps.read_parquet("data/k")
k["long"] = k["v"].apply(lambda v: len(v))
k["share"] = k["id"] / float(k["id"].to_pandas().sum())
k.to_parquet("out/k")
"""
    found = seen(runner, tmp_path, text)
    # A division by zero has its own value: the number decides, too.
    assert list(dict.fromkeys(found.edges)) == [
        "data/k.id -> out/k.id",
        "data/k.id -> out/k.share",
        "data/k.v -> out/k.long",
        "data/k.v -> out/k.v",
    ]
    assert found.problems == [(5, "STAND_IN"), (6, "STAND_IN")]


@pytest.mark.skipif(SPARK_VERSION < "4", reason="Spark has variables from 4 on")
def test_a_variable_that_is_set_to_the_result_of_a_query_has_its_sources(runner: ScriptRunner, tmp_path: Path) -> None:
    text = """\
spark.read.parquet("data/k").createOrReplaceTempView("k")
spark.sql("DECLARE OR REPLACE VARIABLE least INT DEFAULT 1")
spark.sql("SELECT v, least AS l FROM k").write.parquet("out/before")
spark.sql("SET VAR least = (SELECT min(id) FROM k)")
spark.sql("SELECT v, least AS l FROM k").write.parquet("out/after")
spark.table("k").select(F.expr("least + 1").alias("l")).write.parquet("out/expression")
"""
    found = seen(runner, tmp_path, text)
    assert found.edges == [
        "data/k.id -> out/after.l",
        "data/k.id -> out/expression.l",
        "data/k.v -> out/after.v",
        "data/k.v -> out/before.v",
    ]
    assert found.problems == []


INFERRED = """
k = spark.table("sales.fact")
schema = spark.read.json(k.rdd.map(lambda row: row.v)).schema
parsed = k.select("id", F.from_json("v", schema).alias("j"))
parsed.select("id", "j.*").write.parquet("out/every")
parsed.select("id", "j.a").write.parquet("out/one")
parsed.createOrReplaceTempView("parsed")
spark.sql("SELECT id, j.a FROM parsed").write.parquet("out/text")
sample = k.first().v
k.select("id", F.from_json("v", F.schema_of_json(F.lit(sample))).alias("j")).write.parquet("out/sample")
k.select("id").write.parquet("out/last")
"""


def test_a_schema_that_is_inferred_from_rows_has_one_field_for_all(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, INFERRED)

    assert found.edges == [
        "sales.fact.id -> out/every.id",
        "sales.fact.id -> out/last.id",
        "sales.fact.id -> out/sample.id",
        "sales.fact.v -> out/every.{schema}",
        "sales.fact.v -> out/sample.j",
    ]
    assert [target for _, target in found.writes] == ["out/every", "out/one", "out/text", "out/sample", "out/last"]


CHANGES = """
changes = spark.read.option("readChangeFeed", "true").table("sales.fact").drop("day", "v")
changes.filter("_change_type = 'insert'").write.parquet("out/a")
spark.sql("SELECT id, _commit_version FROM table_changes('sales.fact', 1)").write.parquet("out/b")
"""


def test_the_changes_of_a_table_have_the_columns_that_delta_lake_adds(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, CHANGES)

    assert (found.edges, found.problems) == (["sales.fact.id -> out/a.id", "sales.fact.id -> out/b.id"], [])


RETURNED = """
rows = spark.table("sales.fact").select("id", "v").toPandas()
spark.createDataFrame(rows).join(spark.table("sales.fact"), ["id", "v"]).select("day").write.parquet("out/days")
"""


def test_rows_that_pandas_returns_have_plain_types(runner: ScriptRunner, tmp_path: Path) -> None:
    assert seen(runner, tmp_path, RETURNED).edges == [
        "sales.fact.day -> out/days.day",
        "sales.fact.id -> out/days.*",
        "sales.fact.v -> out/days.*",
    ]
