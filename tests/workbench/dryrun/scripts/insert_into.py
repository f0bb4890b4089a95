"""insertInto by position, saveAsTable that appends by name."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.table("shop.orders")
orders.groupBy("customer_id").agg(F.sum("amount")).write.insertInto("shop.targets")
orders.select(F.col("amount").alias("TOTAL"), "customer_id").write.mode("append").saveAsTable("shop.targets")
orders.select("customer_id", "amount").write.insertInto("shop.targets", overwrite=True)
