"""Reads what nobody has declared, and goes on."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
known = spark.read.schema("id INT, name STRING").parquet("known")
rows = spark.read.parquet("not_declared")
rows.groupBy("id").agg(F.sum("x").alias("x")).filter(F.col("x") > 1).write.parquet("out/one")
known.join(rows, known.id == rows.id).select(known.name).write.saveAsTable("joined")
rows.createOrReplaceTempView("rows")
spark.sql("SELECT * FROM rows").write.parquet("out/two")
for row in spark.table("lake.nowhere.tables").collect():
    spark.table(f"{row.table_name}").write.parquet("out/three")
known.select("name").write.parquet("out/four")
