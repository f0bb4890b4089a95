"""A table of a lake's format is written in one way and read in every other; the name of a sink tells which."""

import sys

from pyspark.sql import SparkSession

FORMAT, LAKE = sys.argv[1:]
spark = SparkSession.builder.appName("identity").getOrCreate()
LOCATION = spark.conf.get("spark.sql.warehouse.dir") + "/one"
OPTIONS = {"delta": "", "hudi": "TBLPROPERTIES (primaryKey = 'id')"}[FORMAT]


def read(way, frame):
    frame.selectExpr("id", "amount").write.mode("overwrite").parquet(f"{LAKE}/sinks/{way}")


spark.range(3).selectExpr("id", "id * 2 AS amount").createOrReplaceTempView("rows")
spark.sql(f"CREATE TABLE one USING {FORMAT} {OPTIONS} AS SELECT * FROM rows")
read("sql", spark.sql("SELECT * FROM one"))
read("sql in another case", spark.sql("SELECT * FROM ONE"))
read("frame", spark.table("one"))
read("path", spark.read.format(FORMAT).load(LOCATION))
stream = spark.readStream.format(FORMAT).load(LOCATION).selectExpr("id", "amount").writeStream.format("parquet")
sink = f"{LAKE}/sinks/stream of the path"
stream.option("checkpointLocation", f"{sink}.state").trigger(availableNow=True).start(sink).awaitTermination()
spark.sql("INSERT INTO one SELECT id + 10, amount FROM rows")
spark.sql("UPDATE one SET amount = amount + 1 WHERE id = 1")
spark.sql("DELETE FROM one WHERE id = 2")
spark.sql(
    "MERGE INTO one t USING (SELECT id, amount FROM rows) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET amount = s.amount WHEN NOT MATCHED THEN INSERT *"
)
if FORMAT == "delta":
    spark.table("rows").write.format(FORMAT).mode("append").save(LOCATION)
    spark.table("rows").write.insertInto("one")
spark.sql("DROP TABLE IF EXISTS one")
spark.stop()
