"""writeTo: create, append and replace; merges are in another script."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.table("shop.orders")
orders.groupBy("status").agg(F.sum("amount").alias("total")).writeTo("shop.by_status").using("parquet").create()
spark.table("shop.by_status").selectExpr("status", "total + 1 AS more").write.mode("overwrite").parquet("out/more")
