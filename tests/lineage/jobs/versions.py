"""Tables of Iceberg and Delta Lake are written and read in each way that makes or pins a version; what they say."""

import json
import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

LAKE = sys.argv[1]
spark = SparkSession.builder.appName("versions").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
told = {}


def ids(table):
    """Give the ids of the snapshots of a table, oldest first."""
    return [
        str(row[0]) for row in spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").collect()
    ]


def sql(*statements):
    for statement in statements:
        spark.sql(statement)


def at_once(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def stream(source, name, start):
    writer = source.writeStream.queryName(name).option("checkpointLocation", f"state/{name}").trigger(availableNow=True)
    query = start(writer)
    query.awaitTermination(120)
    told[name] = str(query.id)


def iceberg():
    marked = ", ".join(f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge"))
    sql(
        "CREATE TABLE ice.db.a (k INT, v INT) USING iceberg",
        "CREATE TABLE ice.db.of_empty USING iceberg AS SELECT * FROM ice.db.a",
        "INSERT INTO ice.db.a VALUES (1, 1), (2, 2), (3, 3)",
        "INSERT INTO ice.db.a SELECT k + 10, v FROM ice.db.a",
        "UPDATE ice.db.a SET v = 9 WHERE k = 2",
        "DELETE FROM ice.db.a WHERE k = 3",
        f"CREATE TABLE ice.db.m USING iceberg TBLPROPERTIES ('format-version' = '2', {marked})"
        " AS SELECT * FROM ice.db.a",
        "MERGE INTO ice.db.m t USING ice.db.a s ON t.k = s.k + 1 WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT *",
        "DELETE FROM ice.db.m",
        "INSERT OVERWRITE ice.db.m SELECT k, v FROM ice.db.a WHERE k > 5",
        "CREATE OR REPLACE TABLE ice.db.m USING iceberg AS SELECT k FROM ice.db.a",
        "CREATE TABLE ice.db.n USING iceberg AS SELECT k FROM ice.db.a",
        "ALTER TABLE ice.db.n CREATE BRANCH audit",
        "INSERT INTO ice.db.n.branch_audit SELECT 77",
    )
    first, second = ids("ice.db.a")[:2]
    made_at = spark.sql(f"SELECT committed_at FROM ice.db.a.snapshots WHERE snapshot_id = {second}").first()[0]
    sql(
        f"CREATE TABLE ice.db.by_version USING iceberg AS SELECT * FROM ice.db.a VERSION AS OF {first}",
        f"CREATE TABLE ice.db.by_system USING iceberg AS SELECT * FROM ice.db.a FOR SYSTEM_VERSION AS OF {second}",
        f"CREATE TABLE ice.db.by_time USING iceberg AS SELECT * FROM ice.db.a TIMESTAMP AS OF '{made_at}'",
        "CREATE TABLE ice.db.by_branch USING iceberg AS SELECT * FROM ice.db.n VERSION AS OF 'audit'",
        f"CREATE TABLE ice.db.by_two USING iceberg AS SELECT x.k FROM ice.db.a VERSION AS OF {first} x"
        f" JOIN ice.db.a VERSION AS OF {second} y ON x.k = y.k",
        "CREATE TABLE ice.db.by_metadata USING iceberg AS SELECT snapshot_id FROM ice.db.a.snapshots",
    )
    # Iceberg has no options of its own for Spark 4.1.
    own = spark.version < "4.1"
    reader = spark.read.option("snapshot-id" if own else "versionAsOf", first)
    reader.table("ice.db.a").writeTo("ice.db.by_option").using("iceberg").create()
    when = ("as-of-timestamp", int(made_at.timestamp() * 1000)) if own else ("timestampAsOf", str(made_at))
    as_of = spark.read.option(*when).table("ice.db.a")
    as_of.writeTo("ice.db.by_time_option").using("iceberg").create()
    sql("CREATE TABLE ice.db.busy (t INT, k BIGINT) USING iceberg")
    rows = {number: 10 + number for number in range(3)}
    appends = [
        lambda n=number: spark.range(rows[n]).selectExpr(f"{n} AS t", "id AS k").writeTo("ice.db.busy").append()
        for number in rows
    ]
    at_once(*appends)
    told["ice.db.a"], told["ice.db.m"] = ids("ice.db.a"), ids("ice.db.m")
    told["busy"] = {
        str(row[0]): row[1]
        for row in spark.sql("SELECT snapshot_id, summary['added-records'] FROM ice.db.busy.snapshots").collect()
    }
    told["ice.db.n"] = ids("ice.db.n")
    sql("CREATE TABLE ice.db.streamed (k INT, v INT) USING iceberg")
    stream(spark.readStream.table("ice.db.source"), "iceberg", lambda w: w.toTable("ice.db.streamed"))
    told["source"] = ids("ice.db.source")
    told["streamed"] = [
        (str(row[0]), row[1])
        for row in spark.sql(
            "SELECT snapshot_id, summary['spark.sql.streaming.queryId'] FROM ice.db.streamed.snapshots"
        ).collect()
    ]


def made_twice():
    """Create a table, and one of its name again."""
    jvm = spark._jvm
    told["twice"] = []
    for number in (1, 2):
        sql(f"CREATE TABLE ice.db.twice USING iceberg AS SELECT {number} AS k")
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, "ice.db.twice")
        told["twice"].append(str(table.uuid()))
        sql("DROP TABLE ice.db.twice")
    told["id of d"] = spark.sql("DESCRIBE DETAIL d").first()["id"]


def delta():
    path = f"{LAKE}/path"
    sql(
        "CREATE TABLE d (k INT, v INT) USING delta",
        "INSERT INTO d VALUES (1, 1), (2, 2), (3, 3)",
        "INSERT INTO d SELECT k + 10, v FROM d",
        "CREATE TABLE e USING delta AS SELECT * FROM d VERSION AS OF 1",
        "UPDATE d SET v = 9 WHERE k = 2",
        "UPDATE d SET v = 9 WHERE k = 99",
        "DELETE FROM d WHERE k = 3",
        "MERGE INTO d USING e ON d.k = e.k + 1 WHEN MATCHED THEN UPDATE SET v = e.v WHEN NOT MATCHED THEN INSERT *",
        "INSERT OVERWRITE e SELECT * FROM d",
        "INSERT INTO e SELECT x.* FROM d VERSION AS OF 1 x JOIN d VERSION AS OF 2 y ON x.k = y.k",
    )
    spark.read.option("versionAsOf", 2).table("d").write.format("delta").save(path)
    spark.read.format("delta").load(path).write.format("delta").mode("append").saveAsTable("e")
    for number in range(3):
        sql(f"INSERT INTO e VALUES ({number}, {number})")
    stream(spark.readStream.format("delta").load(path), "delta", lambda w: w.format("delta").start(f"{LAKE}/sink"))
    for table in ("d", "e", f"delta.`{path}`", f"delta.`{LAKE}/sink`"):
        rows = spark.sql(f"DESCRIBE HISTORY {table}").collect()
        told[table.rpartition("/")[2].strip("`")] = sorted((row.version, row.operation) for row in rows)


sql("CREATE TABLE ice.db.source (k INT, v INT) USING iceberg", "INSERT INTO ice.db.source VALUES (1, 1), (2, 2)")
iceberg()
delta()
made_twice()
Path("told.json").write_text(json.dumps(told), "utf-8")
spark.stop()
