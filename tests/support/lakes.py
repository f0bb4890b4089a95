"""The jars and the catalogs of Iceberg and Delta Lake that tests use."""

from __future__ import annotations

LAKE_JARS = {
    "3.5": (
        "io.delta:delta-spark_2.12:3.3.2",
        "io.delta:delta-storage:3.3.2",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.6.1",
    ),
    "4.0": (
        "io.delta:delta-spark_2.13:4.0.0",
        "io.delta:delta-storage:4.0.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
    ),
    "4.1": (
        "io.delta:delta-spark_4.1_2.13:4.3.1",
        "io.delta:delta-storage:4.3.1",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    ),
}
"""Spark's version -> the jars of both. With other versions, tests of lakes are skipped."""

ROW_JARS = LAKE_JARS | {
    spark: (*jars[:2], f"{jars[2].rpartition(':')[0]}:1.10.1") for spark, jars in LAKE_JARS.items() if spark < "4.1"
}
"""The same with an Iceberg that reads the versions of rows; its extension refuses to update tables of Delta Lake."""

LAKE_CONF = {
    "spark.sql.extensions": (
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.delta.sql.DeltaSparkSessionExtension"
    ),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
    # A table's log is read in fifty parts otherwise.
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""The catalogs of both; `spark.sql.catalog.ice.warehouse` is missing."""
