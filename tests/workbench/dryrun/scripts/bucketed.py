"""Bucketed and sorted tables, formats by name, options in a dict."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for folder, table, key in [("orders", "orders_b", "order_id"), ("items", "items_b", "order_id")]:
    spark.read.load(f"data/{folder}", format="parquet").write.bucketBy(2, key).sortBy(key).mode(
        "overwrite"
    ).saveAsTable(table)
spark.table("orders_b").join(spark.table("items_b"), "order_id").select("order_id", "sku", "amount").write.save(
    "out/bucketed", format="orc", mode="overwrite"
)
