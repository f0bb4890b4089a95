"""Structs, arrays, explode, maps."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
events = spark.read.json("data/events.json")
flat = events.select("user", F.explode("tags").alias("tag"), F.col("payload.a").alias("a"), "payload.b")
flat.write.mode("overwrite").parquet("out/flat")
events.groupBy("kind").agg(
    F.collect_list(F.struct("user", "ts")).alias("seen"), F.first("payload.a").alias("first")
).write.mode("overwrite").json("out/seen")
events.select(F.create_map("kind", "user").alias("m"), F.to_json("payload").alias("text")).write.mode(
    "overwrite"
).parquet("out/maps")
