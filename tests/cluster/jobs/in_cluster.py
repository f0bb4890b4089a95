"""Writes a table from a driver that a cluster has started, and where that ran to the file that is named."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
spark = SparkSession.builder.appName("In Cluster").getOrCreate()
spark.range(10).write.parquet(str(folder / "out"))
(folder / "ran.txt").write_text(str(Path.cwd()))
spark.stop()
