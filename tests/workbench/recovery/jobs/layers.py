"""
Three layers of tables in Iceberg or in Delta Lake, the first with a wrong load; and the same tables as they should be.

Arguments: `history FORMAT FOLDER`, `stream FORMAT SET FOLDER`, or `show FORMAT FOLDER`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from pyspark.sql.functions import sum as sum_of

action, *rest, place = sys.argv[1:]
folder = Path(place)
spark = SparkSession.builder.appName("_".join(["layers", action, *rest])).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

SETS = ("incremental", "full")
TABLES = {
    "raw": "k INT, v INT",
    "rates": "k INT, rate INT",
    "beside": "k INT",
    "clean": "k INT, v INT",
    "sums": "k INT, total BIGINT",
    "report": "k INT, v INT",
    "best": "k INT, v INT",
    "total": "k INT, total BIGINT",
}
# The side by side recovery is of statements alone.
BATCH_TABLES = {
    "raw": "k INT, v INT",
    "rates": "k INT, rate INT",
    "report": "k INT, v INT",
    "total": "k INT, total BIGINT",
}
LOADS = ["(1, 1), (2, 2)", "(1, 3), (2, 4)", "(1, 5), (3, 6)"]
WRONG = [LOADS[0], "(1, -900), (7, -900)", LOADS[2]]


def name(lake: str, group: str, table: str) -> str:
    """Return the name of a table in statements."""
    return f"ice.{group}.{table}" if lake == "iceberg" else f"delta.`{folder / 'delta' / group / table}`"


def read(lake: str, group: str):
    """Return the first layer as a stream that takes one file at a time."""
    reader = spark.readStream.option("maxFilesPerTrigger", 1).option("streaming-max-files-per-micro-batch", 1)
    if lake == "iceberg":
        return reader.format("iceberg").load(name(lake, group, "raw"))
    return reader.format("delta").load(str(folder / "delta" / group / "raw"))


def stream(lake: str, group: str) -> None:
    """Make the second layer: one table by appending, one with state."""
    sums = read(lake, group).groupBy("k").agg(sum_of("v").alias("total"))
    parts = {"clean": (read(lake, group).withColumn("v", col("v") * 2), "append"), "sums": (sums, "complete")}
    for table, (frame, mode) in parts.items():
        state = str(folder / "state" / lake / group / table)
        writer = frame.writeStream.queryName(f"{group}_{table}").outputMode(mode).option("checkpointLocation", state)
        if lake == "iceberg":
            query = writer.format("iceberg").toTable(name(lake, group, table))
        else:
            query = writer.format("delta").start(str(folder / "delta" / group / table))
        query.processAllAvailable()
        query.stop()


def layers(lake: str, group: str, loads: list, *, streamed_here: bool) -> str:
    """Fill all tables, and return the version of the second load. The stream begins before it, and then goes on."""
    if lake == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS ice.{group}")
    t = {table: name(lake, group, table) for table in TABLES}
    for table, columns in TABLES.items():
        spark.sql(f"CREATE TABLE {t[table]} ({columns}) USING {lake}")
    spark.sql(f"INSERT INTO {t['rates']} VALUES (1, 10), (2, 20), (3, 30), (7, 70)")
    spark.sql(f"INSERT INTO {t['beside']} SELECT k FROM {t['rates']}")
    versions = []
    for load in loads:
        spark.sql(f"INSERT INTO {t['raw']} VALUES {load}")
        versions.append(newest(lake, t["raw"]))
        if lake == "delta" and len(versions) == 1:
            # Its stream reads what is there as one version, and begins before the wrong one.
            stream(lake, group)
    if streamed_here:
        stream(lake, group)
    else:
        start_stream(lake, group)
    spark.sql(
        f"INSERT INTO {t['report']} SELECT c.k, c.v * r.rate AS v FROM {t['clean']} c JOIN {t['rates']} r ON c.k = r.k"
    )
    spark.sql(
        f"MERGE INTO {t['best']} AS b USING (SELECT k, max(v) AS v FROM {t['clean']} GROUP BY k) AS c ON b.k = c.k "
        "WHEN MATCHED THEN UPDATE SET v = c.v WHEN NOT MATCHED THEN INSERT *"
    )
    spark.sql(f"INSERT INTO {t['rates']} VALUES (1, 1000), (3, 3000)")
    spark.sql(
        f"INSERT OVERWRITE {t['total']} SELECT s.k, s.total + r.v AS total FROM {t['sums']} s "
        f"JOIN (SELECT k, sum(v) AS v FROM {t['report']} GROUP BY k) r ON s.k = r.k"
    )
    return versions[1]


def statements(lake: str, group: str, loads: list) -> str:
    """Fill tables of batches alone, and return the version of the second load."""
    if lake == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS ice.{group}")
    t = {table: name(lake, group, table) for table in BATCH_TABLES}
    for table, columns in BATCH_TABLES.items():
        spark.sql(f"CREATE TABLE {t[table]} ({columns}) USING {lake}")
    spark.sql(f"INSERT INTO {t['rates']} VALUES (1, 10), (2, 20), (3, 30), (7, 70)")
    versions = []
    for load in loads:
        spark.sql(f"INSERT INTO {t['raw']} VALUES {load}")
        versions.append(newest(lake, t["raw"]))
    spark.sql(
        f"INSERT INTO {t['report']} SELECT c.k, c.v * r.rate AS v FROM {t['raw']} c JOIN {t['rates']} r ON c.k = r.k"
    )
    spark.sql(f"INSERT INTO {t['rates']} VALUES (1, 1000), (3, 3000)")
    spark.sql(f"INSERT OVERWRITE {t['total']} SELECT k, sum(v) AS total FROM {t['report']} GROUP BY k")
    return versions[1]


def newest(lake: str, table: str) -> str:
    """Return the newest version of a table."""
    if lake == "iceberg":
        return str(spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at DESC").first()[0])
    return str(spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").first()["version"])


def start_stream(lake: str, group: str) -> None:
    """Run the stream as an application of its own, as it would be started from a shell."""
    conf = [f"--conf={key}={value}" for key, value in json.loads((folder / "conf.json").read_text()).items()]
    own = ("SPARK_", "PYSPARK_GATEWAY", "PYSPARK_DRIVER", "OPENLINEAGE", "PYTHONPATH", "_PYSPARK")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(own)}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    submit = str(Path(os.environ["SPARK_HOME"]) / "bin" / "spark-submit")
    subprocess.run([submit, *conf, __file__, "stream", lake, group, str(folder)], check=True, env=environment)


def show(lake: str) -> dict:
    """Return the rows and the number of versions of each table."""
    found = {}
    tables = [(group, table) for group in (*SETS, "right") for table in TABLES]
    tables += [(group, table) for group in ("side", "side_right") for table in BATCH_TABLES]
    for group, table in tables:
        whole = name(lake, group, table)
        rows = sorted([list(row) for row in spark.sql(f"SELECT * FROM {whole}").collect()])
        history = f"SELECT * FROM {whole}.history" if lake == "iceberg" else f"DESCRIBE HISTORY {whole}"
        found[f"{group} {table}"] = {"rows": rows, "versions": spark.sql(history).count()}
    return found


if action == "history":
    wrong = {group: layers(rest[0], group, WRONG, streamed_here=False) for group in SETS}
    wrong["side"] = statements(rest[0], "side", WRONG)
    statements(rest[0], "side_right", LOADS)
    (folder / "wrong.json").write_text(json.dumps(wrong))
    layers(rest[0], "right", LOADS, streamed_here=True)
elif action == "stream":
    stream(*rest)
if action != "stream":
    (folder / f"{action}.json").write_text(json.dumps(show(rest[0])))
spark.stop()
