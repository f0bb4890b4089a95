"""Writes what goes through RDDs and checkpoints, what meets itself again in a join, and twice in one statement."""

import time
from pathlib import Path

from pyspark.ml.feature import StringIndexer, StringIndexerModel
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

EVENTS = Path("events.ndjson").absolute()


def once_told(row):
    """Give the row once the START of its write is told: for so long the write goes on."""
    end = time.monotonic() + 120
    while "/through rdd" not in EVENTS.read_text("utf-8") and time.monotonic() < end:
        time.sleep(0.05)
    return tuple(row)


spark = SparkSession.builder.appName("frames").getOrCreate()
spark.range(4).selectExpr("id AS k", "id * 2 AS v").write.parquet("my table, 50%")
passed = spark.read.parquet("my table, 50%").rdd.map(once_told)
passed.toDF("k LONG, v LONG").write.parquet("through rdd")


def with_itself(frame, out):
    one, two = frame.alias("one"), frame.alias("two")
    pairs = one.join(two, col("one.k") == col("two.v"))
    pairs.select(col("one.k").alias("first"), col("two.k").alias("second")).write.mode("append").parquet(out)


with_itself(spark.read.parquet("my table, 50%").where("v >= 0").localCheckpoint(), "checkpoint")

rows = spark.readStream.schema("k LONG, v LONG").parquet("my table, 50%")
query = rows.writeStream.option("checkpointLocation", "state").trigger(availableNow=True)
query.foreachBatch(lambda batch, _: with_itself(batch, "batches")).start().awaitTermination()
print("rows", spark.read.parquet("checkpoint").count(), spark.read.parquet("batches").count())

for table in ("low", "high"):
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING parquet")
into = "INSERT INTO low SELECT k WHERE k < 1 INSERT INTO high SELECT k WHERE k >= 1"
spark.sql(f"FROM parquet.`through rdd` {into}")
spark.sql(f"WITH q AS (SELECT k FROM parquet.`through rdd`) FROM q {into}")
print("rows", spark.table("low").count(), spark.table("high").count())

pairs = spark.read.parquet("through rdd").cache()
small = pairs.where("k < 2").localCheckpoint()
large = pairs.where("v > 2").localCheckpoint()
small.write.parquet("small")
large.write.parquet("large")
small.where("v < 1").localCheckpoint().join(large, "k", "left").select("k").write.parquet("smallest")

# Spark 3.5 has no variables.
if not spark.version.startswith("3."):
    spark.sql("CREATE TABLE highest (k BIGINT, name STRING) USING parquet")
    spark.sql("DECLARE VARIABLE most BIGINT")
    spark.sql("SET VAR most = (SELECT max(v) FROM parquet.`through rdd`)")
    spark.sql("INSERT INTO highest (name, k) VALUES ('é😀', most), ('one', 1)")

words = spark.createDataFrame([("a",), ("b",)], "word STRING")
words.write.parquet("words")
StringIndexer(inputCol="word", outputCol="index").fit(words).write().save("model")
StringIndexerModel.load("model").transform(spark.read.parquet("words")).write.parquet("indexed")
spark.read.parquet("words").write.parquet("copied")
