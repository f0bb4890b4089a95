"""A table of a lake's format is written in one way and read in every other; the name of a sink tells which."""

import sys

from pyspark.sql import SparkSession

FORMAT, LAKE = sys.argv[1], sys.argv[2]
# Hudi wants to know what makes a row the same row, and in which order its versions came.
KEYS = "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'amount')" if FORMAT == "hudi" else ""
OPTIONS = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "amount",
}
spark = SparkSession.builder.appName("identity").getOrCreate()
spark.range(3).selectExpr("id", "id * 2 AS amount").createOrReplaceTempView("rows")


def read(kind, way, frame):
    frame.select("id", "amount").write.mode("overwrite").parquet(f"{LAKE}/sinks/{kind} {way}")


def stream(kind, way, frame):
    sink = f"{LAKE}/sinks/{kind} {way}"
    query = frame.select("id", "amount").writeStream.format("parquet").option("checkpointLocation", f"{sink}.state")
    query.trigger(availableNow=True).start(sink).awaitTermination()


def every_way(kind, table, location):
    read(kind, "sql", spark.sql(f"SELECT * FROM {table}"))
    read(kind, "sql in another case", spark.sql(f"SELECT * FROM {table.upper()}"))
    read(kind, "frame", spark.table(table))
    read(kind, "path", spark.read.format(FORMAT).load(location))
    if FORMAT != "hudi":
        # Hudi refuses it.
        read(kind, "path in sql", spark.sql(f"SELECT * FROM {FORMAT}.`{location}`"))
    stream(kind, "stream of the path", spark.readStream.format(FORMAT).load(location))
    stream(kind, "stream of the table", spark.readStream.table(table))
    spark.sql(f"INSERT INTO {table} SELECT id + 3, amount FROM rows")
    frame = spark.table("rows").selectExpr("id + 6 AS id", "amount")
    own = {**OPTIONS, "hoodie.table.name": table} if FORMAT == "hudi" else {}
    frame.write.format(FORMAT).options(**own).mode("append").save(location)
    spark.sql(f"MERGE INTO {table} t USING rows s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.amount = s.amount")
    spark.sql(f"UPDATE {table} SET amount = 0 WHERE id = 1")
    spark.sql(f"DELETE FROM {table} WHERE id = 2")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('x' = 'y')")
    spark.sql(f"DROP TABLE {table}")


spark.sql(f"CREATE TABLE managed USING {FORMAT} {KEYS} AS SELECT * FROM rows")
every_way("managed", "managed", f"{LAKE}/warehouse/managed")
spark.sql(f"CREATE TABLE outside (id BIGINT, amount BIGINT) USING {FORMAT} {KEYS} LOCATION '{LAKE}/outside'")
spark.sql("INSERT INTO outside SELECT * FROM rows")
every_way("outside", "outside", f"{LAKE}/outside")
spark.stop()
