"""Rows through RDDs, with schemas."""

from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
schema = StructType([StructField("word", StringType()), StructField("n", LongType())])
words = sc.parallelize(["a", "b", "a"]).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
spark.createDataFrame(words, schema).write.mode("overwrite").parquet("out/words")
