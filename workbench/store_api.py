"""Questions about a lineage store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.blame.blame import blame
from openlineage_pyspark.workbench.extras import WORKBENCH, require
from openlineage_pyspark.workbench.questions.datasets import known_datasets
from openlineage_pyspark.workbench.questions.diff import diff
from openlineage_pyspark.workbench.questions.graph import graph
from openlineage_pyspark.workbench.questions.history import history
from openlineage_pyspark.workbench.questions.jobs import jobs
from openlineage_pyspark.workbench.questions.registry import asks
from openlineage_pyspark.workbench.questions.runs import runs
from openlineage_pyspark.workbench.questions.sql import sql
from openlineage_pyspark.workbench.questions.unused import unused
from openlineage_pyspark.workbench.questions.upstream import between, downstream, upstream
from openlineage_pyspark.workbench.recovery.recover import recover
from openlineage_pyspark.workbench.store.spark.session import active_or_new_session
from openlineage_pyspark.workbench.store.spark.tables import SparkTables, is_in_session_catalog, is_schema_name
from openlineage_pyspark.workbench.store.sqlite.database import Database

if TYPE_CHECKING:
    from types import TracebackType

    from openlineage_pyspark.workbench.store.names import QueriedTables
    from pyspark.sql import SparkSession


class Store:
    """
    A lineage store, open for reading.

    Args:
        tables: the engine. Use `Store.open` to open a file.
    """

    def __init__(self, tables: QueriedTables) -> None:
        self.tables = tables

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """
        Open a store read-only.

        Args:
            path: the store's file, or its schema in a catalog of the active Spark session, such as `lake.lineage`.

        Raises:
            StoreError: the store does not exist, or can't be read.
            MissingExtraError: the extra `workbench` is not installed.
        """
        require(WORKBENCH)
        name = str(path)
        if is_schema_name(name):
            return cls(SparkTables(active_or_new_session({}, is_session_catalog=is_in_session_catalog(name)), name))
        database = Database(Path(path), read_only=True)
        database.look()
        return cls(database)

    @classmethod
    def open_spark(cls, session: SparkSession, schema_name: str) -> Store:
        """
        Open a store in Spark's tables read-only.

        Args:
            session: the Spark session.
            schema_name: the schema with its catalog, such as `lake.lineage`; without a catalog, in Spark's own.

        Raises:
            StoreError: the store does not exist, or can't be read.
            MissingExtraError: the extra `workbench` is not installed.
        """
        require(WORKBENCH)
        return cls(SparkTables(session, schema_name))

    def __enter__(self) -> Store:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """
        Close it.

        Raises:
            StoreError: something failed because the file is damaged.
        """
        if isinstance(self.tables, Database):
            self.tables.__exit__(kind, problem, traceback)

    def close(self) -> None:
        """Close the store."""
        if isinstance(self.tables, Database):
            self.tables.close()

    upstream = asks(upstream)
    downstream = asks(downstream)
    between = asks(between)
    datasets = asks(known_datasets)
    jobs = asks(jobs)
    runs = asks(runs)
    history = asks(history)
    unused = asks(unused)
    blame = asks(blame)
    graph = asks(graph)
    diff = asks(diff)
    sql = asks(sql)
    recover = asks(recover)
