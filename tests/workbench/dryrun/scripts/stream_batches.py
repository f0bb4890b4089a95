"""A stream with foreachBatch, and one to files."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
schema = "kind STRING, ts STRING, user STRING"
events = spark.readStream.schema(schema).json("data/stream")


def save(batch, number):
    batch.groupBy("user").agg(F.count("*").alias("n")).write.mode("overwrite").parquet("out/users")
    batch.select("kind").distinct().write.mode("append").parquet("out/kinds")


one = (
    events.filter("kind IS NOT NULL")
    .writeStream.foreachBatch(save)
    .option("checkpointLocation", "check/1")
    .trigger(availableNow=True)
    .start()
)
one.awaitTermination()
two = (
    events.withColumn("day", F.to_date("ts"))
    .writeStream.format("parquet")
    .option("path", "out/stream")
    .option("checkpointLocation", "check/2")
    .trigger(availableNow=True)
    .start()
)
two.awaitTermination()
