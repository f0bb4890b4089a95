"""DataFrames of rows, of pandas and of RDDs."""

import datetime
import pandas as pd
from pyspark.sql import SparkSession, Row, functions as F

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
spark.createDataFrame([("a", 1), ("b", 2)], ["k", "v"]).write.parquet("out/c1")
spark.createDataFrame([Row(k="a", v=1.5, d=datetime.date(2020, 1, 1))]).write.parquet("out/c2")
spark.createDataFrame([{"k": "a", "v": 1}]).write.parquet("out/c3")
spark.createDataFrame(pd.DataFrame({"k": ["a"], "v": [1]})).withColumn("z", F.col("v") + 1).write.parquet("out/c4")
sc.parallelize([("a", 1), ("b", 2)]).toDF(["k", "v"]).write.parquet("out/c5")
rdd = sc.parallelize([1, 2, 3]).map(lambda x: (x, x * x))
spark.createDataFrame(rdd, "n int, sq int").write.parquet("out/c6")
spark.createDataFrame(rdd, ["n", "sq"]).groupBy("n").count().write.parquet("out/c7")
lookup = spark.createDataFrame([("A", "open"), ("B", "closed")], "status string, label string")
o = spark.read.parquet("data/orders")
o.join(F.broadcast(lookup), "status", "left").write.parquet("out/c8")
o.rdd.map(lambda r: (r.customer_id, r.amount)).toDF(["customer_id", "amount"]).write.parquet("out/c9")
o.rdd.map(lambda r: Row(customer_id=r.customer_id, amount=r.amount)).toDF().write.parquet("out/c10")
spark.range(10).withColumn("r", F.rand()).write.parquet("out/c11")
spark.createDataFrame([], o.schema).write.parquet("out/c12")
spark.createDataFrame(o.collect(), o.schema).write.parquet("out/c13")
