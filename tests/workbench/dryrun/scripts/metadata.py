"""The metadata of files, monotonically increasing ids, sampled and sorted rows."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("data/orders")
orders.select(
    "order_id", F.col("_metadata.file_name").alias("file"), F.monotonically_increasing_id().alias("id")
).sample(0.5, seed=1).repartition(2, "order_id").sortWithinPartitions("order_id").write.mode("overwrite").parquet(
    "out/meta"
)
left, right = orders.randomSplit([0.5, 0.5], seed=3)
left.write.mode("overwrite").parquet("out/left")
right.selectExpr("*", "amount * 1.21 AS gross").write.mode("overwrite").parquet("out/right")
