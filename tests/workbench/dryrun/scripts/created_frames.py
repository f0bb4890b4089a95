"""Rows of the script itself, ranges, literals, joined with a table."""

import datetime

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

spark = SparkSession.builder.getOrCreate()
names = spark.createDataFrame([("new", "New"), ("paid", "Paid")], ["status", "label"])
typed = spark.createDataFrame([Row(status="x", on=datetime.date(2026, 1, 1))])
empty = spark.createDataFrame([], StructType([StructField("status", StringType())]))
orders = spark.table("shop.orders")
orders.join(names, "status").join(typed, "status", "left").select("order_id", "label", "on").write.mode(
    "overwrite"
).parquet("out/labels")
empty.unionByName(orders.select("status")).withColumn("loaded", F.current_date()).write.mode("overwrite").parquet(
    "out/states"
)
spark.range(10).withColumn("square", F.col("id") * F.col("id")).write.mode("overwrite").parquet("out/squares")
