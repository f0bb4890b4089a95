"""
A table of Iceberg, and a plan whose statement takes some seconds before it writes the table.

Arguments: a folder, and `plan` to make both, or `rows` to print the rows.
"""

import json
import sys
from pathlib import Path

from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan, RecoveryStep, TableCheck, TableId
from openlineage_pyspark.workbench.recovery.model.statements import sql_name
from pyspark.sql import SparkSession

folder, what = Path(sys.argv[1]), sys.argv[2]
spark = SparkSession.builder.getOrCreate()
table = TableId(("ice", "db", "t"), "iceberg")
name = sql_name(table)
if what == "rows":
    print(json.dumps(sorted(row.k for row in spark.table(name).collect())), flush=True)
else:
    spark.sql(f"CREATE TABLE {name} (k INT) USING iceberg")
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    live = LiveSession(spark).table(table)
    there = TableId(table.parts, table.format, live.location)
    slow = "coalesce(reflect('java.lang.Thread', 'sleep', CAST(8000 + id AS BIGINT)), '') <> 'never'"
    sql = f"INSERT INTO {name} SELECT CAST(id + 8 AS INT) FROM range(1) WHERE {slow}"
    newest = TableCheck("newest", there, live.version)
    step = RecoveryStep("run", "Run it again.", "sql", (sql,), writes=(there,), before=(newest,))
    plan = RecoveryPlan(Mode.INCREMENTAL, "t", "1", (), (step,))
    (folder / "plan.json").write_text(json.dumps(Answer("recover", {}, plan).to_dict()), "utf-8")
