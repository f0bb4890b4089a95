"""A self join with aliases, and an anti join."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("data/orders")
a, b = orders.alias("a"), orders.alias("b")
a.join(b, (F.col("a.customer_id") == F.col("b.customer_id")) & (F.col("a.order_id") < F.col("b.order_id"))).select(
    F.col("a.order_id").alias("earlier"),
    F.col("b.order_id").alias("later"),
    (F.col("b.amount") - F.col("a.amount")).alias("more"),
).write.mode("overwrite").parquet("out/pairs")
customers = spark.read.csv("data/customers.csv", header=True)
customers.join(orders, "customer_id", "left_anti").write.mode("overwrite").parquet("out/idle")
