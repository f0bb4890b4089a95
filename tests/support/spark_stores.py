"""Stores in Spark's tables: the catalogs that tests use, and what is in the tables."""

from __future__ import annotations

from typing import Any

from openlineage_pyspark.store.sqlite import Database
from openlineage_pyspark.store.tables import schema

from support.spark_jobs import SPARK_VERSION

# Spark's version -> the jars of Delta Lake and of Iceberg.
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
}
HAS_LAKES = SPARK_VERSION[:3] in LAKE_JARS
EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "io.delta.sql.DeltaSparkSessionExtension",
)
LAKE_CONF = {
    "spark.sql.extensions": ",".join(EXTENSIONS),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
    # A table's log is read in fifty parts otherwise.
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""The catalogs of both; `spark.sql.catalog.ice.warehouse` is missing."""


def rows_of(tables: Any, table: schema.StoredTable) -> list[tuple[Any, ...]]:
    """Return all rows of a table, apart from where a text came from: SQLite knows its line."""
    columns = ", ".join(column.name for column in table.stored if column.name != "source")
    return sorted(tables.query(f"SELECT {columns} FROM {table.name}"), key=repr)


def differing(tables: Any, lite: Database) -> list[str]:
    """Return the names of the tables that have other rows than in SQLite."""
    return [table.name for table in schema.TABLES if rows_of(tables, table) != rows_of(lite, table)]
