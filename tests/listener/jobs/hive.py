"""Works with Hive's catalog: on paths alone, on a table of Hive's own, and on one of Spark's with a metastore named."""

from pathlib import Path

import openlineage_pyspark
from pyspark.sql import SparkSession


def listen(name):
    own = {"transport.type": "file", "transport.location": f"{name}.ndjson"}
    return openlineage_pyspark.register(spark, {f"spark.openlineage.{key}": value for key, value in own.items()})


spark = SparkSession.builder.appName("hive").enableHiveSupport().getOrCreate()
handle = listen("paths")
spark.range(5).write.parquet("in")
spark.read.parquet("in").selectExpr("id + 1 AS next").write.parquet("out")
handle.close()
print("metastore", Path("metastore_db").exists())

handle = listen("serde")
spark.sql("CREATE TABLE serde STORED AS PARQUET AS SELECT id FROM range(3)")
spark.sql("INSERT INTO serde SELECT id FROM range(3)")
spark.table("serde").write.insertInto("serde")
location = spark.conf.get("spark.sql.warehouse.dir") + "/serde"
for way, frame in (
    ("sql", spark.sql("SELECT * FROM SERDE")),
    ("frame", spark.table("serde")),
    ("path", spark.read.parquet(location)),
):
    frame.write.parquet(f"by {way}")
spark.sql("DROP TABLE serde")
handle.close()

spark.sql("CREATE TABLE t (id BIGINT) USING parquet")
print("metastore", Path("metastore_db").exists())
# The client is connected already, to a metastore within this process.
spark.sparkContext._jsc.hadoopConfiguration().set("hive.metastore.uris", "thrift://meta:9083,thrift://other:9083")
handle = listen("table")
spark.sql("INSERT INTO t SELECT id FROM range(3)")
handle.close()
for dataset in openlineage_pyspark.lineage(spark, "SELECT id FROM t").inputs:
    print("symlinks", *(f"{link.namespace} {link.name}" for link in dataset.symlinks))
