"""Exits in the middle without a word."""

import os

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.read.schema("a INT").parquet("in").write.parquet("out")
os._exit(0)
