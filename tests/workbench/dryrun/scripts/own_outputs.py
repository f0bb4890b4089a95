"""CSV and JSON that the script writes and reads again, without a schema."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("data/orders")
orders.select("order_id", "status", "amount").write.mode("overwrite").csv("out/plain")
orders.select("order_id", "status", "amount").write.mode("overwrite").option("header", True).csv("out/named")
orders.select("status", "order_id", "amount").write.mode("overwrite").json("out/lines")
spark.read.csv("out/plain").select(F.col("_c0").alias("id"), F.col("_c2").cast("double").alias("amount")).write.mode(
    "overwrite"
).parquet("out/one")
spark.read.csv("out/named", header=True, inferSchema=True).groupBy("status").agg(F.sum("amount").alias("s")).write.mode(
    "overwrite"
).parquet("out/two")
spark.read.json("out/lines").write.mode("overwrite").parquet("out/three")
