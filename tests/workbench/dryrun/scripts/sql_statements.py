"""Statements that define and write, within spark.sql."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql("USE shop")
spark.sql("CREATE TABLE IF NOT EXISTS daily (day DATE, total DOUBLE) USING parquet")
spark.sql("INSERT INTO daily SELECT day, sum(amount) FROM orders GROUP BY day")
spark.sql("CREATE TABLE copied USING parquet AS SELECT day, total * 2 AS twice FROM daily WHERE total > 0")
spark.sql("CREATE OR REPLACE VIEW seen AS SELECT twice FROM copied")
spark.sql("INSERT OVERWRITE TABLE daily SELECT day, twice FROM copied WHERE day = :day", args={"day": "2026-01-01"})
