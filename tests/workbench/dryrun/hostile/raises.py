"""Fails between two writes."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
frame = spark.read.schema("a INT").parquet("in")
frame.write.parquet("out")
raise ValueError("no such day")
frame.write.parquet("never")
