"""A pivot with values, rollups, cubes."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("data/orders")
orders.groupBy("customer_id").pivot("status", ["new", "paid"]).agg(F.sum("amount")).write.mode("overwrite").parquet(
    "out/pivot"
)
orders.rollup("status", "day").agg(F.avg("amount").alias("mean")).write.mode("overwrite").parquet("out/rollup")
orders.cube("status").count().write.mode("overwrite").parquet("out/cube")
