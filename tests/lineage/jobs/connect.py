"""Run statements of cases, each in a database of its own, in a classic session or through Spark Connect."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

HOW, CASES = sys.argv[1], json.loads(Path("cases.json").read_text(encoding="utf-8"))
builder = SparkSession.builder.appName("connect")
spark = (builder.remote("local[1]") if HOW == "remote" else builder.master("local[1]")).getOrCreate()
print("session", type(spark).__module__, flush=True)
for number, (case, statements) in enumerate(CASES.items()):
    spark.sql(f"CREATE DATABASE case_{number}")
    spark.sql(f"USE case_{number}")
    for statement in statements:
        spark.sql(statement.replace("{tmp}", str(Path("tmp").absolute() / str(number)))).collect()
    print("done", case, flush=True)
if HOW == "remote":
    import openlineage_pyspark

    def refused(asked):
        try:
            asked()
        except openlineage_pyspark.LineageError as problem:
            print("refused", problem, flush=True)

    refused(lambda: openlineage_pyspark.register(spark))
    refused(lambda: openlineage_pyspark.lineage(spark, "SELECT 1"))
spark.stop()
