"""Text, patterns of files, the names of files."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
lines = spark.read.text("data/log.txt")
parts = F.split("value", " ")
lines.select(parts[0].alias("level"), parts[1].alias("word"), F.input_file_name().alias("file")).write.mode(
    "overwrite"
).parquet("out/log")
spark.read.option("header", True).csv("data/many/*.csv").groupBy("country").count().write.mode("overwrite").parquet(
    "out/many"
)
spark.read.parquet("data/orders", "data/orders2").select("amount").write.mode("overwrite").parquet("out/twice")
