"""A stream from two sources into two sinks: ten micro-batches, one restart; then what the tables say."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

BATCHES = 10
spark = SparkSession.builder.appName("batches").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
versioned = sys.argv[1] == "lake"
here = Path.cwd()
sources = ("source", "ice.db.source") if versioned else (str(here / "first"), str(here / "second"))
read = []


def rows(count):
    return spark.range(count).selectExpr("CAST(id AS INT) AS k").coalesce(1)


def add(source, count):
    if versioned:
        rows(count).writeTo(source).append()
    else:
        rows(count).write.mode("append").parquet(source)


def both(batch, _number):
    batch.persist()
    if versioned:
        batch.writeTo("ice.db.sink").append()
        batch.write.format("delta").mode("append").saveAsTable("sink")
    else:
        batch.write.mode("append").parquet("all")
        batch.filter("k = 0").write.mode("append").parquet("some")
    batch.unpersist()


def stream(source):
    return spark.readStream.table(source) if versioned else spark.readStream.schema("k INT").parquet(source)


def started():
    first, second = map(stream, sources)
    writer = first.union(second).writeStream.queryName("both").option("checkpointLocation", "state")
    return writer.foreachBatch(both).start()


def newest():
    delta = spark.sql("DESCRIBE HISTORY source LIMIT 1").collect()[0]["version"]
    ordered = spark.sql("SELECT snapshot_id FROM ice.db.source.snapshots ORDER BY committed_at DESC LIMIT 1")
    return [str(delta), str(ordered.collect()[0][0])]


def histories():
    delta = spark.sql("DESCRIBE HISTORY sink").orderBy("version").collect()
    # The stream has written through a session of its own, and this one keeps the table that it has seen.
    spark.sql("REFRESH TABLE ice.db.sink")
    snapshots = spark.sql("SELECT * FROM ice.db.sink.snapshots ORDER BY committed_at").collect()
    return {
        "sink": [[str(v["version"]), v["operationMetrics"].get("numOutputRows")] for v in delta],
        "ice.db.sink": [[str(s["snapshot_id"]), s["parent_id"], s["summary"]["added-records"]] for s in snapshots],
    }


if versioned:
    for name in (*sources, "sink", "ice.db.sink"):
        spark.sql(f"CREATE TABLE {name} (k INT) USING {'iceberg' if '.' in name else 'delta'}")
query = None
for number in range(BATCHES):
    if number == BATCHES // 2:
        query.stop()
        query = None
    for at, source in enumerate(sources):
        if number in (0, number // 2 * 2 + at):
            add(source, number + 1)
    query = query or started()
    query.processAllAvailable()
    if versioned:
        read.append(newest())
query.stop()
said = {"read": read, **(histories() if versioned else {})}
Path("tables.json").write_text(json.dumps(said), "utf-8")
spark.stop()
