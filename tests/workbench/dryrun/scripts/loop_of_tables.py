"""A loop over tables, whose results the script reads again."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
for name, key in (("orders", "customer_id"), ("items", "sku")):
    spark.read.parquet(f"data/{name}").groupBy(key).agg(
        F.count("*").alias("n"), F.max("order_id").alias("last")
    ).write.mode("overwrite").saveAsTable(f"by_{key}")
spark.table("by_customer_id").join(spark.table("shop.customers"), "customer_id").select(
    "country", F.col("n").alias("orders")
).write.mode("overwrite").saveAsTable("by_country")
