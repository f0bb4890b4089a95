"""Writes some paths, and is then killed, or leaves by the way that knows no clean-up, as its arguments say."""

import faulthandler
import os
import sys
import time
from pathlib import Path

from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import directories
from pyspark.sql import SparkSession

way, spool, expected = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
spark = SparkSession.builder.appName("Killed App").getOrCreate()
for number in range(3):
    spark.range(10).write.parquet(f"out/{number}")
if way == "end":
    sys.exit()
limit = time.monotonic() + 150
while sum(content(directory).waiting for directory in directories(spool)) < expected:
    time.sleep(0.05)
    if time.monotonic() > limit:
        # What every thread does at that moment tells why the events are not there.
        faulthandler.dump_traceback(all_threads=True)
        sys.exit(f"the spool holds {[content(directory) for directory in directories(spool)]}")
if way == "exit":
    os._exit(0)
Path("ready").touch()
time.sleep(600)
