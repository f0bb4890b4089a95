"""Prints megabytes, and takes much memory."""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for _ in range(200):
    sys.stdout.write("x" * 100_000 + "\n")
    sys.stderr.write("y" * 100_000 + "\n")
spark.read.schema("a INT").parquet("in").write.parquet("out")
hoard = bytearray(64 * 1024 * 1024 * 1024)
