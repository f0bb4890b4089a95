"""Global views, catalogs, databases, dropped and renamed tables."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE DATABASE IF NOT EXISTS mart")
spark.catalog.setCurrentDatabase("mart")
spark.table("shop.orders").createOrReplaceGlobalTempView("everyone")
spark.sql("SELECT status, amount FROM global_temp.everyone").write.mode("overwrite").saveAsTable("states")
spark.sql("ALTER TABLE states RENAME TO renamed")
spark.sql("ALTER TABLE renamed ADD COLUMNS (extra STRING)")
spark.table("mart.renamed").select("status", "extra").write.mode("overwrite").parquet("out/renamed")
spark.sql("DROP TABLE IF EXISTS renamed")
