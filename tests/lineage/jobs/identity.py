"""Each kind of table is written in one way and read in every other; the name of a sink tells which."""

import os
import sys

from pyspark.sql import SparkSession

LAKE = sys.argv[1]
URL = "jdbc:derby:memory:shop;create=true"
spark = SparkSession.builder.appName("identity").getOrCreate()
rows = spark.range(3).selectExpr("id", "id * 2 AS amount")


def read(kind, way, frame):
    frame.write.mode("overwrite").parquet(f"{LAKE}/sinks/{kind} {way}")


def stream(kind, way, frame):
    sink = f"{LAKE}/sinks/{kind} {way}"
    query = frame.writeStream.format("parquet").option("checkpointLocation", f"{sink}.state")
    query.trigger(availableNow=True).start(sink).awaitTermination()


def files(kind, table, location):
    read(kind, "sql", spark.sql(f"SELECT * FROM {table}"))
    read(kind, "sql in another case", spark.sql(f"SELECT * FROM {table.upper()}"))
    read(kind, "frame", spark.table(table))
    read(kind, "path", spark.read.parquet(location))
    read(kind, "path in sql", spark.sql(f"SELECT * FROM parquet.`{location}`"))
    stream(kind, "stream of the path", spark.readStream.schema(rows.schema).parquet(location))
    stream(kind, "stream of the table", spark.readStream.table(table))
    rows.write.insertInto(table)
    rows.write.mode("append").parquet(location)
    rows.write.mode("append").saveAsTable(table)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('x' = 'y')")
    if kind == "managed":
        # Spark refuses it for tables whose location the user chose.
        spark.sql(f"TRUNCATE TABLE {table}")
    spark.sql(f"DROP TABLE IF EXISTS {table}")


rows.createOrReplaceTempView("rows")
spark.sql("CREATE TABLE Managed USING parquet AS SELECT * FROM rows")
files("managed", "managed", f"{LAKE}/warehouse/managed")
spark.sql(f"CREATE TABLE outside (id BIGINT, amount BIGINT) USING parquet LOCATION '{LAKE}/outside'")
rows.write.insertInto("outside")
files("outside", "outside", f"{LAKE}/outside")
streamed = f"{LAKE}/sinks/outside stream of the path"
for way, path in (("path", streamed), ("relative path", os.path.relpath(streamed)), ("in URI", f"file:{streamed}/")):
    read("streamed", way, spark.read.parquet(path))

rows.write.format("jdbc").option("url", URL).option("dbtable", "orders").mode("overwrite").save()
spark.sql(f"CREATE TABLE dim USING jdbc OPTIONS (url '{URL}', dbtable 'orders')")
for way, option, value in (("format", "dbtable", "orders"), ("query", "query", 'SELECT "id", "amount" FROM orders')):
    read("jdbc", way, spark.read.format("jdbc").option("url", URL).option(option, value).load())
read("jdbc", "sql", spark.sql("SELECT * FROM dim"))
read("jdbc", "frame", spark.table("dim"))
spark.sql("INSERT INTO dim SELECT * FROM rows")
rows.write.insertInto("dim")
rows.write.mode("append").jdbc(URL, "orders")
spark.sql("DROP TABLE dim")
spark.sql("DROP TABLE IF EXISTS never_made")
spark.sql("DROP VIEW IF EXISTS never_made")
spark.sql("CREATE TEMPORARY VIEW seen AS SELECT 1 AS one")
spark.sql("DROP VIEW seen")
spark.stop()
