"""Tables of Iceberg are made unless they are there, by an application and by the next one."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("unless_there").getOrCreate()
for table in ("empty", "full", "altered"):
    spark.sql(f"CREATE TABLE IF NOT EXISTS ice.db.{table} (id INT) USING iceberg")
spark.sql("CREATE TABLE IF NOT EXISTS ice.db.full (id INT) USING iceberg")
spark.sql("INSERT INTO ice.db.full VALUES (1)")
spark.sql("ALTER TABLE ice.db.altered SET TBLPROPERTIES ('x' = 'y')")
spark.sql("CREATE TABLE IF NOT EXISTS ice.db.made USING iceberg AS SELECT id FROM ice.db.full")
spark.stop()
