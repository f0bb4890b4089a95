"""Streams from tables of Iceberg and of Delta Lake, by name and by path, into tables, paths and `foreachBatch`."""

from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("lake").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
here = Path.cwd()


def run(frame, name, start):
    writer = frame.writeStream.queryName(name).option("checkpointLocation", f"state/{name}").trigger(availableNow=True)
    start(writer).awaitTermination(120)


def merge(batch, _number):
    batch.createOrReplaceTempView("news")
    batch.sparkSession.sql(
        "MERGE INTO merged USING news ON merged.k = news.k"
        " WHEN MATCHED THEN UPDATE SET v = news.v WHEN NOT MATCHED THEN INSERT *"
    )
    batch.filter("k = 1").write.format("delta").mode("append").save(str(here / "some"))


for table in ("ice.db.source", "ice.db.sink"):
    spark.sql(f"CREATE TABLE {table} (k INT, v INT) USING iceberg")
for table in ("source", "merged"):
    spark.sql(f"CREATE TABLE {table} (k INT, v INT) USING delta")
for table in ("ice.db.source", "source"):
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")
run(spark.readStream.table("ice.db.source"), "iceberg", lambda w: w.toTable("ice.db.sink"))
run(
    spark.readStream.format("iceberg").load("ice.db.source"),
    "iceberg_by_option",
    lambda w: w.format("delta").start("by_option"),
)
run(spark.readStream.table("source"), "delta", lambda w: w.format("delta").toTable("sink"))
run(
    spark.readStream.format("delta").load(str(here / "warehouse" / "source")),
    "delta_by_path",
    lambda w: w.format("delta").start("by_path"),
)
run(spark.readStream.table("source"), "foreach", lambda w: w.foreachBatch(merge).start())
spark.sql("MERGE INTO ice.db.sink USING ice.db.source ON sink.k = source.k WHEN MATCHED THEN UPDATE SET v = source.v")
spark.stop()
