"""Copies columns and folders whose names are hard to store, and a thousand columns."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

COLUMNS = ["plain", "with space", "with.dot", "größe 数量 🚀", "long" * 75]
FOLDERS = ["with space", "with.dot", "größe 数量 🚀", "/".join(["d" * 99] * 3)]
WIDE = 1000

spark = SparkSession.builder.appName("Größe. Der Läden " + "x" * 300).getOrCreate()
rows = spark.range(3).select(*(col("id").alias(name) for name in COLUMNS))
for folder in FOLDERS:
    rows.write.parquet(f"in/{folder}")
    spark.read.parquet(f"in/{folder}").write.parquet(f"out/{folder}")
spark.range(3).select(*(col("id").alias(f"c{number}") for number in range(WIDE))).write.parquet("in/wide")
spark.read.parquet("in/wide").write.parquet("out/wide")
