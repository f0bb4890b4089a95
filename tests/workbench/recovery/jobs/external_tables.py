"""
External tables of Hive's, emptied by the statements that a plan of recovery names for a person.

Prints, for each table, how many rows it had, what it held after it was emptied, and after it was filled again.
"""

import json
import sys
from pathlib import Path

from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts
from openlineage_pyspark.workbench.recovery.model.statements import empty_external
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
spark = SparkSession.builder.enableHiveSupport().getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql("CREATE DATABASE db")

for format_ in ("PARQUET", "ORC", "TEXTFILE"):
    for has_partitions in (False, True):
        name = f"db.{format_.lower()}_{'parts' if has_partitions else 'whole'}"
        place = folder / "tables" / name
        partitioned, into = (" PARTITIONED BY (p STRING)", " PARTITION (p = '{}')") if has_partitions else ("", "")
        spark.sql(f"CREATE EXTERNAL TABLE {name} (k INT){partitioned} STORED AS {format_} LOCATION '{place}'")
        for part in "ab":
            spark.sql(f"INSERT INTO {name}{into.format(part)} VALUES (1), (2)")
        before = spark.table(name).count()
        known = DatasetFacts(1, name, f"spark_catalog.{name}", "hive", f"file:{place}")
        for code in empty_external(known, has_partitions=has_partitions):
            spark.sql(code)
        emptied = [row.k for row in spark.table(name).collect()]
        spark.sql(f"INSERT INTO {name}{into.format('a')} VALUES (9)")
        print(json.dumps([name, before, emptied, [row.k for row in spark.table(name).collect()]]))
spark.stop()
