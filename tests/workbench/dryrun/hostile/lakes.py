"""Delta Lake's classes and Spark's own MERGE, without a lake's jars."""

from delta import configure_spark_with_delta_pip
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

builder = SparkSession.builder.master("yarn").config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
spark = configure_spark_with_delta_pip(
    builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
).getOrCreate()
changes = spark.read.schema("id INT, price DOUBLE, at DATE").json("s3a://lake/changes")
spark.range(3).select(F.col("id").cast("int").alias("id"), F.lit(1.0).alias("price")).write.format("delta").save(
    "s3a://lake/prices"
)
prices = DeltaTable.forPath(spark, "s3a://lake/prices")
prices.alias("t").merge(changes.alias("s"), "t.id = s.id").whenMatchedUpdate(
    condition="s.at > DATE'2026-01-01'", set={"price": F.col("s.price")}
).whenNotMatchedInsert(values={"id": "s.id", "price": "s.price"}).execute()
prices.delete(F.col("price") < 0)
spark.sql("CREATE TABLE lake.shop.latest (id INT, price DOUBLE) USING iceberg")
changes.alias("s").mergeInto(
    "lake.shop.latest", F.expr("latest.id = s.id")
).whenMatched().updateAll().whenNotMatched().insertAll().merge()
changes.select("id", "price").writeTo("lake.shop.latest").append()
