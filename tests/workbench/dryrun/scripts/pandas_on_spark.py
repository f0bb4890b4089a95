"""pandas on Spark."""

import pyspark.pandas as ps
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
p = spark.read.parquet("data/orders").pandas_api()
p["net"] = p["amount"] * 0.8
q = p[p["amount"] > 1][["customer_id", "net"]]
g = q.groupby("customer_id").sum().reset_index()
g.to_parquet("out/ps1")
g.to_spark().write.parquet("out/ps2")
r = ps.read_parquet("data/items")
m = p.merge(r, on="order_id", how="left").assign(total=lambda d: d.quantity * d.price)
m[["order_id", "total"]].to_spark().write.parquet("out/ps3")
ps.sql("select customer_id, amount from {p}", p=p).to_spark().write.parquet("out/ps4")
