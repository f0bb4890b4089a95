"""Has a pipe as the listener's settings, which it fills after its first write; or never, if it is told so."""

import os
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

os.mkfifo("openlineage.yml")
spark = SparkSession.builder.getOrCreate()
spark.range(1).write.parquet("before")
if sys.argv[1] == "fill":
    Path("openlineage.yml").write_text("transport: {type: file, location: events.ndjson}\n", "utf-8")
    while not any(thread.name == "openlineage" for thread in threading.enumerate()):
        time.sleep(0.05)
spark.range(2).write.parquet("after")
print("rows", spark.read.parquet("before", "after").count())
