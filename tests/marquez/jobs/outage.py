"""Copies rows from folder to folder: three times, then three times after there is `down`, and twice after `up`."""

import time
from pathlib import Path

from pyspark.sql import SparkSession


def wait_for(name):
    """Wait until there is a file of that name."""
    while not Path(name).exists():
        time.sleep(0.05)


spark = SparkSession.builder.appName("Outage").getOrCreate()
spark.range(3).write.parquet("step0")
for number in range(1, 9):
    if number == 4:
        Path("ready").touch()
        wait_for("down")
    if number == 7:
        Path("written").touch()
        wait_for("up")
    spark.read.parquet(f"step{number - 1}").write.parquet(f"step{number}")
wait_for("go")
