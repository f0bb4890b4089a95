"""A read and two writes over JDBC."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
url = "jdbc:derby:memory:shop;create=true"
orders = spark.read.parquet("data/orders")
orders.select("order_id", "amount").write.format("jdbc").option("url", url).option("dbtable", "ORDERS").mode(
    "append"
).save()
orders.select("status").write.jdbc(url, "STATES", mode="overwrite", properties={"user": "sa"})
