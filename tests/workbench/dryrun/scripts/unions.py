"""Unions, set operations, drops of duplicates, renamed columns."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("data/orders")
items = spark.read.parquet("data/items").select(
    F.col("order_id"), F.col("price").alias("amount"), F.lit("x").alias("status")
)
both = orders.select("order_id", "amount", "status").unionByName(items).dropDuplicates(["order_id"])
both.withColumnRenamed("amount", "money").fillna(0).write.mode("overwrite").parquet("out/both")
orders.select("order_id").subtract(items.select("order_id")).write.mode("overwrite").parquet("out/missing")
orders.select("order_id").intersect(items.select("order_id")).distinct().write.mode("overwrite").csv(
    "out/common", header=True
)
