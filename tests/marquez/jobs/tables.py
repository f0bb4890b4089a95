"""Makes a table, a view of it, a view of that view, and a table of what the second view has."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("Tables").getOrCreate()
spark.sql("CREATE DATABASE air")
spark.sql("CREATE TABLE air.flights USING parquet AS SELECT id, id * 2 AS delay FROM range(5)")
spark.sql("CREATE VIEW air.late AS SELECT id AS flight, delay FROM air.flights WHERE delay > 2")
spark.sql("CREATE VIEW air.later AS SELECT flight, delay + 1 AS more FROM air.late")
spark.sql("CREATE TABLE air.report USING parquet AS SELECT max(more) AS worst FROM air.later")
