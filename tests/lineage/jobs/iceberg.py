"""Rows of Iceberg's tables are changed in each of the ways that SQL has, for both of the ways that Iceberg has."""

from pyspark.sql import SparkSession

MODES = ", ".join(f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge"))
STATEMENTS = [
    "INSERT INTO ice.db.news VALUES (1, 'a', 5, 'u'), (2, 'b', 7, 'd'), (3, 'c', 9, 'u')",
    "CREATE TABLE ice.db.copied USING iceberg AS SELECT id, name, pay FROM ice.db.news WHERE id < 3",
    f"CREATE TABLE ice.db.marked USING iceberg TBLPROPERTIES ({MODES}) AS SELECT id, name, pay FROM ice.db.news",
]
for table in ("copied", "marked"):
    STATEMENTS += [
        f"""MERGE INTO ice.db.{table} t
        USING (SELECT id, upper(name) AS name, pay, op FROM ice.db.news) s ON t.id = s.id
        WHEN MATCHED AND s.op = 'd' THEN DELETE
        WHEN MATCHED THEN UPDATE SET t.pay = t.pay + s.pay, t.name = s.name
        WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)""",
        f"UPDATE ice.db.{table} SET pay = pay * 2 WHERE id = 1",
        f"DELETE FROM ice.db.{table} WHERE pay > 3 AND name = 'A'",
        f"UPDATE ice.db.{table} SET name = (SELECT max(op) FROM ice.db.news WHERE pay > 1)",
    ]
for table, properties in (("packed", ""), ("packed_marked", f"TBLPROPERTIES ({MODES})")):
    STATEMENTS += [
        f"CREATE TABLE ice.db.{table} (id INT, pay INT, box STRUCT<a: INT, b: STRING>) USING iceberg {properties}",
        f"INSERT INTO ice.db.{table} VALUES (1, 2, named_struct('a', 3, 'b', 'x'))",
        f"UPDATE ice.db.{table} SET pay = pay * 2 + box.a, box.b = upper(box.b) WHERE id = 1",
        f"UPDATE ice.db.{table} SET box.a = pay, pay = (SELECT max(pay) FROM ice.db.news)",
    ]
STATEMENTS += [
    "ALTER TABLE ice.db.copied ADD COLUMNS (more STRUCT<a: INT, b: STRING>, list ARRAY<STRUCT<c: INT>>)",
    "ALTER TABLE ice.db.copied RENAME COLUMN more.a TO z",
    "ALTER TABLE ice.db.copied DROP COLUMN more.b",
    "ALTER TABLE ice.db.copied ADD COLUMN list.element.d STRING",
    "ALTER TABLE ice.db.copied ALTER COLUMN list.element.c TYPE BIGINT",
]

spark = SparkSession.builder.appName("lake").getOrCreate()
spark.sql("CREATE TABLE ice.db.news (id INT, name STRING, pay INT, op STRING) USING iceberg")
for statement in STATEMENTS:
    spark.sql(statement)

# One table: made by a query, read by name, by path and at a version, and dropped.
lake = spark.conf.get("spark.sql.catalog.ice.warehouse")
spark.sql("CREATE TABLE ice.db.one USING iceberg AS SELECT id FROM ice.db.news")
(snapshot,) = spark.sql("SELECT snapshot_id FROM ice.db.one.snapshots").first()
spark.sql("CREATE TABLE ice.db.by_name USING iceberg AS SELECT id FROM ice.db.one")
spark.sql(f"CREATE TABLE ice.db.by_version USING iceberg AS SELECT id FROM ice.db.one VERSION AS OF {snapshot}")
spark.read.format("iceberg").load(f"{lake}/db/one").writeTo("ice.db.by_path").using("iceberg").create()
spark.sql("CREATE OR REPLACE TABLE ice.db.one USING iceberg AS SELECT id + 1 AS id FROM ice.db.news")
spark.sql("DROP TABLE ice.db.one")
spark.createDataFrame(spark.table("ice.db.news").rdd, "id INT, name STRING, pay INT, op STRING").writeTo(
    "ice.db.through_rdd"
).using("iceberg").create()
print(sorted(tuple(row) for row in spark.table("ice.db.marked").collect()))
spark.stop()
