"""
How the rows of a store's tables are written in each format.

Iceberg and Delta Lake change rows. Parquet can't: rows are appended to a table of rows, and a view merges them.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.spark import sql as spark_sql
from openlineage_pyspark.workbench.store.spark.session import answered_rows, named_failure
from openlineage_pyspark.workbench.store.spark.sql import Format
from openlineage_pyspark.workbench.store.tables import schema

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.tables.schema import StoredTable
    from pyspark.sql import SparkSession

SESSION_CATALOG = "spark_catalog"
"""The name of Spark's own catalog."""
_CONFLICT = re.compile(r"Concurrent\w+Exception|CommitFailedException|conflicting (files|deletes)")
_TRIES = 5


class TableRows:
    """
    The rows of the tables of one schema.

    Args:
        session: the Spark session.
        schema_name: the schema, with its catalog.
        format_: how the tables are stored.
        tables_of_rows: the tables that are views -> the tables that hold their rows.
    """

    def __init__(
        self, session: SparkSession, schema_name: str, format_: Format, tables_of_rows: dict[str, str]
    ) -> None:
        self._session = session
        self._schema_name = schema_name
        self._format = format_
        self.tables_of_rows = tables_of_rows

    def stored_in(self, name: str) -> str:
        """Return the identifier of the table that holds the rows of one."""
        return spark_sql.table_identifier(self._schema_name, self.tables_of_rows.get(name, name))

    def merge(self, session: SparkSession, table: StoredTable, query: str) -> None:
        """Merge the rows of a query into a table."""
        if self._format.merges:
            write_again(session, spark_sql.merge_into(self._schema_name, table, query))
        else:
            write_again(session, spark_sql.append(self._schema_name, table, query, self.tables_of_rows[table.name]))

    def replace(self, table: StoredTable, query: str) -> None:
        """Give a table the rows of a query and no others."""
        if self._format.merges:
            names = ", ".join(
                spark_sql.identifier(name) for name, _ in spark_sql.columns_with_types(table, self._format)
            )
            name = spark_sql.table_identifier(self._schema_name, table.name)
            self._session.sql(f"INSERT OVERWRITE {name} ({names}) SELECT {names} FROM ({query})")
        else:
            self._write_rows(table, query)

    def remake(self, table: StoredTable, query: str) -> None:
        """Rebuild a table with the rows of a query. It may be missing, or have other columns."""
        if self._format.merges:
            self._session.sql(spark_sql.replace_table(self._schema_name, table, self._format))
            self.replace(table, query)
        else:
            self._write_rows(table, query)

    def compact(self, table: StoredTable) -> None:
        """Merge the small files of a table, and the rows that are merged when they are read."""
        name = spark_sql.table_identifier(self._schema_name, table.name)
        if self._format is Format.DELTA:
            self._session.sql(f"OPTIMIZE {name}").collect()
        elif self._format is Format.ICEBERG:
            catalog, _, database = self._schema_name.rpartition(".")
            self._session.sql(
                f"CALL {spark_sql.identifier(catalog or SESSION_CATALOG)}.system.rewrite_data_files("
                f"table => {spark_sql.literal(f'{database}.{table.name}')}, "
                "options => map('delete-file-threshold', '1'))"
            ).collect()
        else:
            self._write_rows(table, spark_sql.merged_rows(self._schema_name, table, self.tables_of_rows[table.name]))

    def _write_rows(self, table: StoredTable, query: str) -> None:
        """Write the rows of a query into a new table of rows, and let the view read that from one moment on."""
        new = f"{table.name}_rows_{time.time_ns() // 1000}"
        self._session.sql(spark_sql.create_table(self._schema_name, table, self._format, new))
        hint = "/*+ REBALANCE(day) */ *" if table is schema.EVENT else "/*+ REBALANCE */ *"
        columns = ", ".join(spark_sql.identifier(name) for name, _ in spark_sql.columns_with_types(table, self._format))
        self._session.sql(
            f"INSERT INTO {spark_sql.table_identifier(self._schema_name, new)} ({columns}) "
            f"SELECT {hint} FROM (SELECT {columns} FROM ({query}))"
        )
        self._session.sql(spark_sql.create_view(self._schema_name, table, new))
        self.tables_of_rows[table.name] = new
        # Drop the former tables of rows, including those of an interrupted compaction.
        rows_of_it = re.compile(rf"{table.name}_rows(_\d+)?")
        for row in answered_rows(self._session.sql(f"SHOW TABLES IN {database_identifier(self._schema_name)}")):
            if rows_of_it.fullmatch(row.tableName) and row.tableName != new:
                self._session.sql(f"DROP TABLE {spark_sql.table_identifier(self._schema_name, row.tableName)}")


def database_identifier(schema_name: str) -> str:
    """Return the identifier of a schema: the catalog and the schema are separated by dots."""
    return ".".join(spark_sql.identifier(part) for part in schema_name.split("."))


def write_again(session: SparkSession, sql: str) -> None:
    """Run a statement that writes; repeat it if another writer was faster."""
    for left in reversed(range(_TRIES)):
        try:
            with named_failure("a statement failed"):
                session.sql(sql)
        except StoreError as problem:  # noqa: PERF203 (to try again is the point)
            if not left or not _CONFLICT.search(str(problem)):
                raise
        else:
            return
