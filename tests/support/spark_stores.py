"""Stores in Spark's tables: the catalogs that tests use, and what is in the tables."""

from __future__ import annotations

from typing import Any

from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema

from support.lakes import LAKE_JARS
from support.spark_jobs import SPARK_VERSION

HAS_LAKES = SPARK_VERSION[:3] in LAKE_JARS
"""Whether there are jars of Iceberg and Delta Lake for the installed Spark."""


def rows_of(tables: Any, table: schema.StoredTable) -> list[tuple[Any, ...]]:
    """Return all rows of a table, apart from where a text came from: SQLite knows its line."""
    columns = ", ".join(column.name for column in table.stored if column.name != "source")
    return sorted(tables.query(f"SELECT {columns} FROM {table.name}"), key=repr)


def differing(tables: Any, lite: Database) -> list[str]:
    """Return the names of the tables that have other rows than in SQLite."""
    return [table.name for table in schema.TABLES if rows_of(tables, table) != rows_of(lite, table)]
