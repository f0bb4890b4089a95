"""
Change Delta's tables.

Their rows are changed, as SQL says it and as Delta's own interface does; or Delta's other commands run; or a table with
a generated column is written by its path; or the changes of a table are read.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

PATH = str(Path(sys.argv[1]) / "paid")
MADE = [
    "CREATE TABLE news (id INT, name STRING, pay INT, op STRING) USING delta",
    "INSERT INTO news VALUES (1, 'a', 5, 'u'), (2, 'b', 7, 'd'), (3, 'c', 9, 'u')",
    "CREATE TABLE staff USING delta AS SELECT id, name, pay FROM news WHERE id < 3",
]
CHANGED = [
    """MERGE INTO staff t
    USING (SELECT id, upper(name) AS name, pay, op FROM news) s ON t.id = s.id
    WHEN MATCHED AND s.op = 'd' THEN DELETE
    WHEN MATCHED THEN UPDATE SET t.pay = t.pay + s.pay, t.name = s.name
    WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)""",
    "MERGE INTO staff t USING news s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, pay) VALUES (s.id, s.pay)",
    "UPDATE staff SET pay = pay * 2 WHERE id = 1",
    "DELETE FROM staff WHERE pay > 30 AND name = 'A'",
    "CREATE TABLE parts (id INT, name STRING, total INT, d INT) USING delta PARTITIONED BY (d)",
    "INSERT INTO parts (total, id) SELECT pay, id FROM news",
    "INSERT INTO parts BY NAME SELECT pay AS total, id AS d, name, id FROM news",
    "SET spark.sql.sources.partitionOverwriteMode = dynamic",
    "INSERT OVERWRITE parts SELECT id, name, pay, id FROM news",
    "CREATE TABLE wide USING delta AS SELECT id, pay FROM news WHERE id < 3",
    "SET spark.databricks.delta.schema.autoMerge.enabled = true",
    """MERGE INTO wide t USING (SELECT id, pay, upper(op) AS op FROM news) s ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""",
    "SET spark.databricks.delta.schema.autoMerge.enabled = false",
]
TIDIED = [
    "OPTIMIZE staff",
    "VACUUM staff",
    "DESCRIBE HISTORY staff",
    "DESCRIBE DETAIL staff",
    "ALTER TABLE staff ADD CONSTRAINT known CHECK (id > 0)",
    "RESTORE TABLE staff TO VERSION AS OF 0",
    "CREATE TABLE twin SHALLOW CLONE staff",
    f"CREATE TABLE plain USING parquet LOCATION '{PATH}' AS SELECT id FROM staff",
    f"CONVERT TO DELTA parquet.`{PATH}`",
]
FED = [
    f"CREATE TABLE paid (pay INT) USING delta LOCATION '{PATH}' TBLPROPERTIES (delta.enableChangeDataFeed = true)",
    "INSERT INTO paid SELECT pay FROM news",
    "CREATE TABLE by_name USING delta AS SELECT pay, _change_type AS change FROM table_changes('paid', 0)",
]


def write_generated():
    interface = spark._jvm.io.delta.tables.DeltaTable
    twice = interface.columnBuilder(spark._jsparkSession, "twice").dataType("INT").generatedAlwaysAs("pay * 2")
    table = interface.create(spark._jsparkSession).location(PATH).addColumn("pay", "INT")
    table.addColumn(twice.build()).execute()
    spark.table("news").select("pay").write.format("delta").mode("append").save(PATH)
    stream = spark.readStream.table("news").select("pay").writeStream.queryName("paid").format("delta")
    stream.option("checkpointLocation", f"{PATH}_state").trigger(availableNow=True).start(PATH).awaitTermination()


def read_feed():
    changes = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
    changes.load(PATH).select("pay", "_commit_version").write.saveAsTable("by_path")


spark = SparkSession.builder.appName("delta").getOrCreate()
for statement in MADE + {"tidied": TIDIED, "changed": CHANGED, "generated": [], "fed": FED}[sys.argv[2]]:
    spark.sql(statement)
if sys.argv[2] == "fed":
    read_feed()
    spark.stop()
    sys.exit()
if sys.argv[2] == "generated":
    write_generated()
    spark.stop()
    sys.exit()
if sys.argv[2] == "tidied":
    spark.stop()
    sys.exit()
shuffled = spark.table("news").selectExpr("pay AS TOTAL", "id AS d", "name", "id")
shuffled.writeTo("parts").append()
shuffled.select("TOTAL", "id").write.format("delta").mode("append").saveAsTable("parts")
shuffled.writeTo("parts").overwritePartitions()
spark.table("staff").write.format("delta").save(PATH)
table = spark._jvm.io.delta.tables.DeltaTable.forPath(spark._jsparkSession, PATH)
merge = getattr(table, "as")("t").merge(spark.table("news").alias("s")._jdf, "t.id = s.id")
merge.whenMatched().updateExpr({"pay": "s.pay + t.pay"}).execute()
print(sorted(tuple(row) for row in spark.read.format("delta").load(PATH).collect()))
spark.stop()
