"""Writes what the Python of the driver and that of each executor hold of the listener to `held.json`."""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def held() -> dict:
    """Tell of this process; SPARK_EXECUTOR_DIRS is one executor's own."""
    return {
        "executor": os.environ.get("SPARK_EXECUTOR_DIRS"),
        "modules": sorted(name for name in sys.modules if name.split(".")[0] == "openlineage_pyspark"),
        "finders": [finder.__name__ for finder in sys.meta_path if isinstance(finder, type)],
    }


spark = SparkSession.builder.getOrCreate()
# In barrier mode both tasks run at once, so on the one core of two executors each.
ranks = spark.sparkContext.parallelize(range(2), 2).barrier()
executors = ranks.mapPartitions(lambda _: [held()]).collect()
spark.range(10).write.parquet("out")
Path("held.json").write_text(json.dumps({"driver": held(), "executors": executors}))
