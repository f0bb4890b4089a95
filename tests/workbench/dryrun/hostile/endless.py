"""Never ends, after a write."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.read.schema("a INT").parquet("in").write.parquet("out")
while True:
    pass
