"""Temporary views and SQL on them."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("views").getOrCreate()
spark.read.parquet("data/orders").createOrReplaceTempView("o")
spark.read.csv("data/customers.csv", header=True).createOrReplaceTempView("c")
big = spark.sql("SELECT o.*, c.country FROM o JOIN c ON o.customer_id = c.customer_id WHERE o.amount > 10")
big.createOrReplaceTempView("big")
spark.sql(
    """
    WITH totals AS (SELECT country, sum(amount) AS total FROM big GROUP BY country)
    SELECT country, total, rank() OVER (ORDER BY total DESC) AS place FROM totals
    """
).write.mode("overwrite").json("out/totals")
