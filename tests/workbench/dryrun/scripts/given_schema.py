"""Schemas in the script, a `main` with a configuration of its own."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

ORDERS = StructType(
    [
        StructField("order_id", LongType()),
        StructField("customer_id", StringType()),
        StructField("amount", DoubleType()),
    ]
)


def main(spark):
    orders = spark.read.schema(ORDERS).parquet("data/orders")
    events = spark.read.format("json").schema("user STRING, kind STRING").load("data/events.json")
    orders.join(events, orders.customer_id == events.user).groupBy("kind").agg(
        F.max("amount").alias("most")
    ).write.mode("overwrite").parquet("out/most")


if __name__ == "__main__":
    main(SparkSession.builder.master("yarn" if False else "local[2]").config("spark.jars", "").getOrCreate())
