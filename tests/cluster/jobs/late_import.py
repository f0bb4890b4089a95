"""Puts the hook in when a session runs already, and makes another one after it."""

import importlib

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(1).write.parquet("before")
importlib.import_module("openlineage_pyspark.auto")
spark.range(2).write.parquet("during")
spark.stop()
SparkSession.builder.getOrCreate().range(3).write.parquet("again")
