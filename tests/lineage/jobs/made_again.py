"""Makes a table of Delta Lake, drops it, and makes it again: its versions begin anew."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("made again").getOrCreate()
histories = []
for life in range(2):
    spark.sql("CREATE TABLE d (id BIGINT, v BIGINT) USING delta")
    spark.sql("INSERT INTO d SELECT id, id FROM range(10)")
    spark.sql("UPDATE d SET v = 0 WHERE v < -5")
    spark.sql("DELETE FROM d WHERE v < -5")
    spark.sql("UPDATE d SET v = v + 1 WHERE id = 3")
    histories.append(sorted(row.version for row in spark.sql("DESCRIBE HISTORY d").collect()))
    if life == 0:
        spark.sql("DROP TABLE d")
Path("told.json").write_text(json.dumps(histories), "utf-8")
spark.stop()
