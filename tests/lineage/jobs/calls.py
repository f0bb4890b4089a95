"""Procedures of Iceberg change a table, and files of another format become a part of it."""

from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("calls").getOrCreate()
spark.range(2).selectExpr("CAST(id AS INT) AS id").write.parquet("plain")
spark.sql("CREATE TABLE ice.db.t (id INT) USING iceberg")
for number in range(2):
    spark.sql(f"INSERT INTO ice.db.t VALUES ({number})")
snapshots = spark.sql("SELECT snapshot_id FROM ice.db.t.snapshots ORDER BY committed_at")
first, second = (row[0] for row in snapshots.collect())
for call in (
    f"rollback_to_snapshot('db.t', {first})",
    f"set_current_snapshot('db.t', {second})",
    "rewrite_data_files(table => 'db.t', options => map('min-input-files', '2'))",
    f"add_files(table => 'db.t', source_table => 'parquet.`{Path('plain').absolute()}`')",
    "expire_snapshots(table => 'db.t', retain_last => 1)",
):
    spark.sql(f"CALL ice.system.{call}")
print(sorted(row[0] for row in spark.table("ice.db.t").collect()))
spark.stop()
