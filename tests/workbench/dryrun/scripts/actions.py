"""Actions whose results are printed, caches, checkpoints, a broadcast join."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
orders = spark.read.parquet("data/orders").cache()
items = spark.read.parquet("data/items").persist(StorageLevel.MEMORY_ONLY)
orders.show(5)
orders.printSchema()
print(orders.count(), items.columns, orders.first())
joined = orders.join(F.broadcast(items), orders.order_id == items.order_id, "inner").drop(items.order_id)
print([row["order_id"] for row in joined.limit(3).collect()])
checked = joined.localCheckpoint()
checked.groupBy("sku").agg(F.sum(F.col("price") * F.col("quantity")).alias("revenue")).coalesce(1).write.mode(
    "overwrite"
).parquet("out/revenue")
orders.unpersist()
