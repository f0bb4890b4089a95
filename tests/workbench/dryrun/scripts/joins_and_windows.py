"""Joins of all kinds, and windows."""

from pyspark.sql import SparkSession, Window, functions as F

spark = SparkSession.builder.getOrCreate()
o = spark.read.parquet("data/orders").alias("o")
c = spark.read.option("header", True).csv("data/customers.csv").alias("c")
w = Window.partitionBy("o.customer_id").orderBy(F.col("o.day").desc())
running = w.rowsBetween(Window.unboundedPreceding, Window.currentRow)
j = o.join(F.broadcast(c), F.col("o.customer_id") == F.col("c.customer_id"), "left")
j = (
    j.withColumn("rn", F.row_number().over(w))
    .withColumn("prev", F.lag("amount", 1, 0.0).over(w))
    .withColumn("run", F.sum("amount").over(running))
    .withColumn("pct", F.percent_rank().over(w))
)
j.filter("rn = 1").select(
    "o.order_id", "c.country", "prev", "run", F.col("amount") / F.sum("amount").over(Window.partitionBy("country"))
).toDF("id", "country", "prev", "run", "share").write.parquet("out/w")
o.join(c, "customer_id", "left_anti").write.parquet("out/anti")
o.join(c, ["customer_id"], "full").write.parquet("out/full")
o.join(c, o.customer_id.eqNullSafe(c.customer_id)).drop(c.customer_id).write.parquet("out/eqns")
o.crossJoin(c.select("segment")).write.parquet("out/cross")
a, b = o.alias("a"), o.alias("b")
a.join(b, (F.col("a.customer_id") == F.col("b.customer_id")) & (F.col("a.day") < F.col("b.day"))).groupBy(
    "a.order_id"
).agg(F.max("b.amount").alias("m")).write.parquet("out/selfj")
o.intersect(o.filter("amount > 1")).write.parquet("out/intersect")
o.exceptAll(o.filter("amount > 1")).write.parquet("out/except")
