"""Runs statements of every kind in two applications, the second of which asks for reads."""

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

for name in ("quiet", "reads"):
    conf = SparkConf().setAppName(name)
    conf.set("spark.openlineage.transport.location", f"{name}.ndjson")
    conf.set("spark.openlineage.reads.enabled", str(name == "reads").lower())
    spark = SparkSession(SparkContext(conf=conf))
    table = f"{name}_made"
    spark.sql(f"CREATE TABLE {table} USING parquet AS SELECT id, id % 3 AS third FROM range(12)")
    # From here on the table's relation has the text of this statement.
    spark.sql(f"CREATE TABLE {name}_copy USING parquet AS SELECT * FROM {table}")
    spark.table(table).groupBy("third").count().write.saveAsTable(f"{name}_saved")
    spark.table(table).select("id").write.parquet(f"{name}_path")
    # Both are there already.
    spark.table(table).select("id").write.mode("ignore").parquet(f"{name}_path")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name}_copy USING parquet AS SELECT * FROM {table}")
    spark.table(table).where("id < 0").write.mode("ignore").parquet(f"{name}_empty")
    print(len(spark.table(table).where("third = 1").collect()))
    spark.sql(f"CACHE TABLE kept AS SELECT * FROM {name}_saved")
    spark.sql("UNCACHE TABLE kept")
    spark.sql("SHOW TABLES").collect()
    spark.sql(f"DESCRIBE TABLE {table}").collect()
    spark.sql("SET spark.sql.shuffle.partitions=3").collect()
    spark.stop()
