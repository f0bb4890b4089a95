"""spark.sql with DataFrames and parameters in its text, and `selectExpr`."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

spark = SparkSession.builder.getOrCreate()
orders = spark.read.parquet("data/orders")
spark.sql(
    "SELECT {o.status}, sum({o.amount}) AS total FROM {o} WHERE {o.amount} > :least GROUP BY 1",
    args={"least": 5},
    o=orders,
).write.mode("overwrite").parquet("out/formatted")
orders.selectExpr("status AS s", "amount / 2 AS half").filter(col("half") > 1).write.mode("overwrite").parquet(
    "out/half"
)
