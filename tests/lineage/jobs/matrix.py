"""Each thing is written in one way and read in every other; the sink's name tells the row and the way."""
# ruff: noqa: ARG002, C901, N802

import contextlib
import json
import os
import sqlite3
import sys
from pathlib import Path

from pyspark.sql import SparkSession

# Relative paths are Spark's own, and those of its JVM: it runs in the same folder.
LAKE, ROWS = Path.cwd(), sys.argv[1:]
spark = (
    SparkSession.builder.appName("matrix")
    .config("spark.sql.warehouse.dir", f"{LAKE}/warehouse")
    .config("spark.sql.catalog.ice.warehouse", f"{LAKE}/ice")
    .config("spark.sql.catalog.other.warehouse", f"{LAKE}/other_ice")
    .getOrCreate()
)
rows = spark.range(4).selectExpr("id AS k", "CAST(id AS STRING) AS v").coalesce(1)
SCHEMA = "k BIGINT, v STRING"


def part(pattern):
    return str(next(LAKE.glob(pattern)))


def into(row, way, frame):
    frame.write.mode("overwrite").parquet(f"{LAKE}/sinks/{row}|{way}")


def streamed(row, way, frame):
    sink = f"{LAKE}/sinks/{row}|{way}"
    query = frame.writeStream.format("parquet").option("checkpointLocation", f"{sink}.state")
    query.trigger(availableNow=True).start(sink).awaitTermination()


def by_paths(row, format_, place, *, parts=True, **options):
    """Read what lies at a relative path in each spelling of it."""
    schema = "value STRING" if format_ == "text" else SCHEMA
    read = spark.read.format(format_).options(**options)
    read = read if format_ == "delta" else read.schema(schema)
    into(row, "absolute", read.load(f"{LAKE}/{place}"))
    into(row, "relative", read.load(place))
    into(row, "slashes", read.load(f"{LAKE}//{place}/"))
    into(row, "dots", read.load(f"{LAKE}/other/../{place}"))
    into(row, "uri", read.load(f"file://{LAKE}/{place}"))
    if not options:
        into(row, "path in SQL", spark.sql(f"SELECT * FROM {format_}.`{LAKE}/{place}`"))
    if parts:
        into(row, "pattern of many", read.load(f"{LAKE}/{place}/part-*"))
        into(row, "one part", read.load(part(f"{place}/part-*")))
        into(row, "pattern of one", read.load(f"{part(f'{place}/part-*')[:-3]}*"))
    stream = spark.readStream.format(format_).options(**options)
    streamed(row, "stream", (stream if format_ == "delta" else stream.schema(schema)).load(f"{LAKE}//{place}"))


def files(format_, **options):
    frame = rows.select("v") if format_ == "text" else rows
    writing = frame.write.format(format_).options(**options)
    writing.mode("overwrite").save(f"things/{format_}")
    writing.mode("append").save(f"{LAKE}//things/{format_}/")
    writing.mode("append").save(f"{LAKE}/things/../things/{format_}")
    by_paths(format_, format_, f"things/{format_}", **options)


def binary():
    rows.write.parquet("things/binary")
    read = spark.read.format("binaryFile")
    into("binary", "folder", read.load("things/binary"))
    into("binary", "pattern", read.load(f"{LAKE}//things/binary/part-*"))
    into("binary", "one part", read.load(part("things/binary/part-*")))


def partitioned():
    rows.write.partitionBy("k").parquet("things/partitioned")
    into("partitioned", "whole", spark.read.parquet("things/partitioned"))
    into("partitioned", "one partition", spark.read.parquet("things/partitioned/k=1"))
    into("partitioned", "pattern", spark.read.parquet("things/partitioned/k=*"))
    into("partitioned", "one part", spark.read.parquet(part("things/partitioned/k=1/part-*")))
    into(
        "partitioned",
        "base path",
        spark.read.option("basePath", "things/partitioned").parquet("things/partitioned/k=2"),
    )


def days():
    rows.write.mode("overwrite").json("things/days/2024-01-01")
    rows.write.mode("append").json("things/days/2024-01-02")
    into("days", "one day", spark.read.schema(SCHEMA).json("things/days/2024-01-01"))
    into("days", "pattern", spark.read.schema(SCHEMA).json("things/days/2024-*"))
    into("days", "one part", spark.read.schema(SCHEMA).json(part("things/days/2024-01-02/part-*")))
    Path("things/days_of_files").mkdir(parents=True)
    for way, day in {"one day": "2024-01-01", "another day": "2024-01-02"}.items():
        os.link(part(f"things/days/{day}/part-*"), f"{LAKE}/things/days_of_files/{day}.json")
        into("days_of_files", way, spark.read.schema(SCHEMA).json(f"things/days_of_files/{day}.json"))
    into("days_of_files", "pattern", spark.read.schema(SCHEMA).json("things/days_of_files/*.json"))
    into("days_of_files", "folder", spark.read.schema(SCHEMA).json("things/days_of_files"))


def rdd():
    spark.sparkContext.parallelize(["a", "b"], 1).saveAsTextFile(f"{LAKE}/things/rdd")
    into("rdd", "frame", spark.read.text("things/rdd"))
    into("rdd", "text file", spark.sparkContext.textFile("things/rdd").map(lambda line: (line,)).toDF(["a"]))
    into(
        "rdd", "pattern", spark.sparkContext.textFile(f"{LAKE}/things/rdd/part-*").map(lambda line: (line,)).toDF(["a"])
    )


def table():
    spark.sql("CREATE DATABASE sales")
    spark.sql("USE sales")
    rows.write.saveAsTable("goods")
    rows.write.mode("append").saveAsTable("sales.goods")
    rows.write.insertInto("goods")
    spark.sql("INSERT INTO Sales.Goods SELECT * FROM goods")
    into("table", "name", spark.table("goods"))
    into("table", "whole name", spark.table("spark_catalog.sales.goods"))
    into("table", "SQL", spark.sql("SELECT * FROM SALES.GOODS"))
    into("table", "path", spark.read.parquet(f"{LAKE}/warehouse/sales.db/goods"))
    into("table", "one part", spark.read.parquet(part("warehouse/sales.db/goods/part-*")))
    streamed("table", "stream", spark.readStream.table("goods"))
    spark.sql("USE default")


def outside():
    rows.write.parquet("things/outside")
    spark.sql(f"CREATE TABLE outside USING parquet LOCATION '{LAKE}//things/outside/'")
    spark.sql("INSERT INTO outside SELECT * FROM outside")
    into("outside", "name", spark.table("outside"))
    into("outside", "path", spark.read.parquet("things/outside"))


DERBY = "jdbc:derby:memory:matrix;create=true"


def jdbc():
    driver = f"org.apache.derby.{'iapi.' if spark.version >= '4' else ''}jdbc.AutoloadedDriver"
    spark.conf.set("spark.sql.catalog.derby", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    spark.conf.set("spark.sql.catalog.derby.url", DERBY)
    spark.conf.set("spark.sql.catalog.derby.driver", driver)
    rows.write.jdbc(DERBY, "thing", properties={"driver": driver})
    rows.write.mode("append").jdbc(DERBY, "APP.THING", properties={"driver": driver})
    for name in ("thing", "THING", "app.Thing", '"APP"."THING"'):
        into("jdbc", name, spark.read.jdbc(DERBY, name, properties={"driver": driver}))
    query = spark.read.format("jdbc").option("url", DERBY).option("driver", driver)
    into("jdbc", "query", query.option("query", 'SELECT "k" FROM thing').load())
    into("jdbc", "catalog", spark.table("derby.APP.THING"))
    spark.sql(f"CREATE TABLE named USING jdbc OPTIONS (url '{DERBY}', dbtable 'thing', driver '{driver}')")
    spark.sql("INSERT INTO named SELECT * FROM named")
    into("jdbc", "table", spark.table("named"))


def catalog_of(name, url, driver):
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    spark.conf.set(f"spark.sql.catalog.{name}.url", url)
    spark.conf.set(f"spark.sql.catalog.{name}.driver", driver)


def over_jdbc(row, url, driver, names):
    """Read a table by its names, by a query, and by a table of Spark that stands for it and writes to it."""
    for name in names:
        into(row, name, spark.read.jdbc(url, name, properties={"driver": driver}))
    query = spark.read.format("jdbc").option("url", url).option("driver", driver)
    into(row, "query", query.option("query", "SELECT k FROM thing").load())
    spark.sql(f"CREATE TABLE of_{row} USING jdbc OPTIONS (url '{url}', dbtable 'thing', driver '{driver}')")
    spark.sql(f"INSERT INTO of_{row} SELECT * FROM of_{row}")
    into(row, "table", spark.table(f"of_{row}"))


def postgres():
    driver, port = "org.postgresql.Driver", os.environ["PORT"]
    url, other = (f"jdbc:postgresql://{host}:{port}/shop?user=tests" for host in ("localhost", "LOCALHOST"))
    rows.write.jdbc(url, "thing", properties={"driver": driver})
    rows.write.mode("append").jdbc(url, "public.thing", properties={"driver": driver})
    rows.write.mode("append").jdbc(other, "THING", properties={"driver": driver})
    catalog_of("pg", url, driver)
    over_jdbc("postgres", url, driver, ("thing", "THING", "public.Thing", '"public"."thing"'))
    read = spark.read.format("jdbc").option("driver", driver).option("dbtable", "thing")
    into("postgres", "schema of the URL", read.option("url", f"{url}&currentSchema=public").load())
    into("postgres", "another name of the server", read.option("url", other).load())
    into("postgres", "catalog", spark.table("pg.public.thing"))


def sqlite():
    url, driver = f"jdbc:sqlite:{LAKE}/things/shop.db", "org.sqlite.JDBC"
    (LAKE / "things").mkdir()
    # Spark knows no dialect of SQLite, so it does not find out that a table is missing.
    with contextlib.closing(sqlite3.connect(LAKE / "things" / "shop.db")) as database:
        database.execute("CREATE TABLE thing (k BIGINT, v VARCHAR(9))")
    rows.write.mode("append").jdbc(url, "thing", properties={"driver": driver})
    over_jdbc("sqlite", url, driver, ("thing", "THING", '"thing"', "main.thing"))


def python():
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceReader,
        DataSourceWriter,
        SimpleDataSourceStreamReader,
        WriterCommitMessage,
    )

    class Reader(DataSourceReader):
        def read(self, partition):
            yield (1, "a")

    class Writer(DataSourceWriter):
        def write(self, iterator):
            list(iterator)
            return WriterCommitMessage()

    class Stream(SimpleDataSourceStreamReader):
        def initialOffset(self):
            return {"at": 0}

        def read(self, start):
            return iter([(1, "a")] if start["at"] == 0 else []), {"at": 1}

        def readBetweenOffsets(self, start, end):
            return iter([(1, "a")])

    class Acme(DataSource):
        @classmethod
        def name(cls):
            return "acme"

        def schema(self):
            return SCHEMA

        def reader(self, schema):
            return Reader()

        def writer(self, schema, overwrite):
            return Writer()

        def simpleStreamReader(self, schema):
            return Stream()

    spark.dataSource.register(Acme)
    place = {"endpoint": "https://me:canary@crm", "table": "invoices", "password": "canary"}
    rows.write.format("acme").options(**place).mode("append").save()
    into("python", "batch", spark.read.format("acme").options(**place).load())
    into("python", "another order", spark.read.format("acme").options(**dict(reversed(place.items()))).load())
    sink = f"{LAKE}/sinks/python|stream"
    stream = spark.readStream.format("acme").options(**place).load().writeStream.format("parquet")
    query = stream.option("checkpointLocation", f"{sink}.state").start(sink)
    query.processAllAvailable()
    query.stop()
    into("python", "another place", spark.read.format("acme").options(endpoint="https://erp", table="invoices").load())


def delta():
    rows.write.format("delta").save("things/delta")
    rows.write.format("delta").mode("append").save(f"{LAKE}//things/delta/")
    rows.write.format("delta").mode("append").save(f"{LAKE}/other/../things/delta")
    by_paths("delta", "delta", "things/delta", parts=False)
    spark.sql(f"CREATE TABLE by_name USING delta LOCATION '{LAKE}/things/delta'")
    spark.sql("INSERT INTO by_name SELECT * FROM by_name")
    into("delta", "table", spark.table("by_name"))


def iceberg():
    table_of_iceberg("iceberg", "ice")
    into("iceberg", "path", spark.read.format("iceberg").load(f"{LAKE}/ice/db/thing"))
    into("iceberg", "one part", spark.read.parquet(part("ice/db/thing/data/*.parquet")))
    into("iceberg", "snapshots", spark.table("ice.db.thing.snapshots"))
    into("iceberg", "snapshots by path", spark.read.format("iceberg").load(f"{LAKE}/ice/db/thing#snapshots"))
    spark.sql("CREATE TABLE other.db.thing (k BIGINT, v STRING) USING iceberg")
    spark.sql("INSERT INTO other.db.thing SELECT * FROM ice.db.thing")


def table_of_iceberg(row, catalog):
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.db")
    spark.sql(f"CREATE TABLE {catalog}.db.thing (k BIGINT, v STRING) USING iceberg")
    rows.writeTo(f"{catalog}.db.thing").append()
    rows.write.format("iceberg").mode("append").save(f"{catalog}.db.thing")
    spark.sql(f"ALTER TABLE {catalog}.db.thing CREATE BRANCH b")
    spark.sql(f"ALTER TABLE {catalog}.db.thing CREATE TAG g")
    spark.sql(f"INSERT INTO {catalog}.db.thing.branch_b SELECT * FROM {catalog}.db.thing")
    into(row, "name", spark.table(f"{catalog}.db.thing"))
    into(row, "load", spark.read.format("iceberg").load(f"{catalog}.db.thing"))
    into(row, "branch", spark.table(f"{catalog}.db.thing.branch_b"))
    into(row, "tag", spark.sql(f"SELECT * FROM {catalog}.db.thing VERSION AS OF 'g'"))


def in_service(row):
    """Write and read a table of Iceberg whose place a service chooses."""
    table_of_iceberg(row, row)
    file = spark.table(f"{row}.db.thing.files").select("file_path").first()[0]
    into(row, "one part", spark.read.parquet(file))
    spark.sql(f"USE {row}.db")
    into(row, "short name", spark.table("thing"))
    spark.sql("USE spark_catalog.default")


def kafka():
    cluster = {"kafka.bootstrap.servers": os.environ["BROKER"]}
    written = rows.selectExpr("v AS value")
    written.write.format("kafka").options(**cluster, topic="things").save()
    written.selectExpr("value", "'things' AS topic").write.format("kafka").options(**cluster).save()
    read = spark.read.format("kafka").options(**cluster)
    into("kafka", "subscribe", read.option("subscribe", "things").load().selectExpr("value"))
    assign = json.dumps({"things": [0, 1, 2]})
    into("kafka", "assign", spark.read.format("kafka").options(**cluster, assign=assign).load().selectExpr("value"))
    named = f"'kafka.bootstrap.servers' '{os.environ['BROKER']}', subscribe 'things'"
    spark.sql(f"CREATE TABLE topic USING kafka OPTIONS ({named})")
    into("kafka", "table", spark.table("topic").selectExpr("value"))
    stream = spark.readStream.format("kafka").options(**cluster, subscribe="things", startingOffsets="earliest")
    streamed("kafka", "stream", stream.load().selectExpr("value"))
    pattern = spark.readStream.format("kafka").options(**cluster, subscribePattern="th.*", startingOffsets="earliest")
    streamed("kafka", "stream of a pattern", pattern.load().selectExpr("value"))


def s3():
    place = "lineage/things/s3"
    rows.write.parquet(f"s3a://{place}")
    rows.write.mode("append").parquet(f"s3a://{place}/")
    into("s3", "folder", spark.read.parquet(f"s3a://{place}"))
    into("s3", "slash at its end", spark.read.parquet(f"s3a://{place}/"))
    into("s3", "pattern", spark.read.parquet(f"s3a://{place}/part-*"))
    into("s3", "path in SQL", spark.sql(f"SELECT * FROM parquet.`s3a://{place}`"))
    spark.sql(f"CREATE TABLE far USING parquet LOCATION 's3a://{place}'")
    spark.sql("INSERT INTO far SELECT * FROM far")
    into("s3", "table", spark.table("far"))
    streamed("s3", "stream", spark.readStream.schema(SCHEMA).parquet(f"s3a://{place}"))


def hive():
    spark.sql("CREATE TABLE serde (k BIGINT, v STRING) STORED AS ORC")
    spark.sql("INSERT INTO serde SELECT * FROM VALUES (1L, 'a') AS t(k, v)")
    rows.write.mode("append").format("hive").saveAsTable("serde")
    rows.write.insertInto("serde")
    spark.sql("INSERT OVERWRITE TABLE Serde SELECT * FROM VALUES (2L, 'b') AS t(k, v)")
    into("hive", "name", spark.table("serde"))
    into("hive", "whole name", spark.table("spark_catalog.default.serde"))
    into("hive", "SQL", spark.sql("SELECT * FROM SERDE"))
    into("hive", "path", spark.read.orc(f"{LAKE}/warehouse/serde"))


def hive_thrift():
    spark.sql("CREATE DATABASE shop")
    spark.sql("CREATE TABLE shop.served (k BIGINT, v STRING) STORED AS PARQUET")
    spark.sql("INSERT INTO shop.served SELECT * FROM VALUES (1L, 'a') AS t(k, v)")
    rows.write.insertInto("shop.served")
    rows.write.mode("append").format("hive").saveAsTable("SHOP.Served")
    into("hive_thrift", "name", spark.table("shop.served"))
    into("hive_thrift", "whole name", spark.table("spark_catalog.shop.served"))
    spark.sql("USE shop")
    into("hive_thrift", "SQL", spark.sql("SELECT * FROM SERVED"))
    spark.sql("USE default")
    into("hive_thrift", "path", spark.read.parquet(f"{LAKE}/warehouse/shop.db/served"))


def hudi():
    options = {"hoodie.table.name": "hudi", "hoodie.datasource.write.recordkey.field": "k"}
    options |= dict.fromkeys((f"hoodie.{each}.shuffle.parallelism" for each in ("insert", "upsert", "delete")), "1")
    rows.write.format("hudi").options(**options).mode("overwrite").save(f"{LAKE}/things/hudi")
    rows.write.format("hudi").options(**options).mode("append").save(f"{LAKE}//things/hudi/")
    spark.sql(f"CREATE TABLE timed USING hudi LOCATION '{LAKE}/things/hudi'")
    spark.sql("UPDATE timed SET v = 'x' WHERE k = 1")
    wanted = ["k", "v"]
    into("hudi", "path", spark.read.format("hudi").load(f"{LAKE}/things/hudi").select(wanted))
    into("hudi", "name", spark.table("timed").select(wanted))
    first = spark.table("timed").selectExpr("max(_hoodie_commit_time)").first()[0]
    at = spark.read.format("hudi").option("as.of.instant", first).load(f"{LAKE}/things/hudi")
    into("hudi", "as of an instant", at.select(wanted))
    since = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": "0"}
    into("hudi", "incremental", spark.read.format("hudi").options(**since).load(f"{LAKE}/things/hudi").select(wanted))


KINDS = {
    **{name: (lambda name=name: files(name)) for name in ("parquet", "orc", "json", "csv", "text", "avro")},
    "xml": lambda: files("xml", rowTag="row"),
    **{each.__name__: each for each in (binary, postgres, sqlite)},
    **{each.__name__: each for each in (partitioned, days, rdd, table, outside, jdbc, python, delta, iceberg)},
    **{each.__name__: each for each in (kafka, s3, hive, hive_thrift, hudi)},
    **{name: (lambda name=name: in_service(name)) for name in ("iceberg_hive", "iceberg_rest")},
}
for kind in ROWS:
    # What `days` writes has two rows.
    if kind != "days_of_files":
        KINDS[kind]()
