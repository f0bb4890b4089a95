"""Writes ten rows and then ends in the way that its argument names."""

import os
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

way = sys.argv[1]
builder = SparkSession.builder.appName("Ending App")
if way == "stop":
    builder = builder.config("spark.openlineage.transport.type", "file")
    builder = builder.config("spark.openlineage.transport.location", "events.ndjson")
spark = builder.getOrCreate()
spark.range(10).selectExpr("id", "id * 2 AS twice").write.parquet("out")
print("rows", spark.read.parquet("out").count())


def tell() -> None:
    """Say when a task of the write runs, and the write's START is told."""
    events = Path("events.ndjson")
    while not (spark.sparkContext.statusTracker().getActiveStageIds() and "/never" in events.read_text("utf-8")):
        time.sleep(0.05)
    Path("ready").touch()


if way == "stop":
    child = os.fork()
    if child == 0:
        sys.exit(0)
    print("child", os.waitpid(child, 0)[1])
    spark.range(3).write.parquet("out2")
    spark.stop()
elif way == "raise":
    try:
        raise ValueError("no such luck")
    finally:
        spark.stop()
elif way == "exit-3":
    sys.exit(3)
elif way == "idle":
    Path("ready").touch()
    time.sleep(60)
elif way == "writing":
    threading.Thread(target=tell).start()
    spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', 60000L)").write.parquet("never")
print("end")
