"""Two sessions of one application: each has its own views."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("first").getOrCreate()
other = spark.newSession()
spark.read.parquet("data/orders").createOrReplaceTempView("mine")
other.read.parquet("data/items").createOrReplaceTempView("mine")
spark.sql("SELECT amount FROM mine").write.mode("overwrite").parquet("out/first")
other.sql("SELECT price FROM mine").write.mode("overwrite").parquet("out/second")
again = SparkSession.builder.getOrCreate()
again.table("mine").select(F.avg("amount").alias("mean")).write.mode("overwrite").parquet("out/third")
