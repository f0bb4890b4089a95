"""mapInPandas and applyInPandas with declared schemas."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("data/orders")


def doubled(frames):
    for frame in frames:
        frame["amount"] = frame["amount"] * 2
        yield frame[["order_id", "amount"]]


def largest(frame):
    return frame.nlargest(1, "amount")[["status", "amount"]]


orders.mapInPandas(doubled, "order_id BIGINT, amount DOUBLE").write.mode("overwrite").parquet("out/doubled")
orders.groupBy("status").applyInPandas(largest, "status STRING, amount DOUBLE").write.mode("overwrite").parquet(
    "out/largest"
)
