"""when/otherwise, casts, dates, strings, isin, between, coalesce."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
orders = spark.read.parquet("data/orders")
orders.select(
    F.when(F.col("amount") > 100, "big")
    .when(F.col("status").isin("new", "paid"), F.col("status"))
    .otherwise("small")
    .alias("size"),
    F.coalesce("customer_id", F.lit("?")).alias("who"),
    F.date_format("day", "yyyy-MM").alias("month"),
    F.concat_ws("-", "status", "customer_id").alias("label"),
    F.sha2("customer_id", 256).alias("hashed"),
).where(F.col("day").between("2026-01-01", "2026-12-31")).orderBy("month").limit(100).write.mode("overwrite").parquet(
    "out/cases"
)
