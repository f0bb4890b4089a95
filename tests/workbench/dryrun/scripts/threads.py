"""Writes from several threads."""

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()


def copy(name):
    spark.read.parquet(f"data/{name}").write.mode("overwrite").parquet(f"out/{name}_copy")


with ThreadPoolExecutor(2) as pool:
    list(pool.map(copy, ["orders", "items"]))
