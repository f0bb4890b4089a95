"""One Spark session with the tables of tables.yaml, and the table formats that Spark does not bring with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.cases import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def session(process_jvm: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Give a session whose tables are empty."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .appName("golden cases")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.legacy.createHiveTableByDefault", "false")
        .config("spark.sql.catalog.shop", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
        .config("spark.sql.catalog.shop.url", "jdbc:derby:memory:shop;create=true")
        # What is recorded of a plan must not depend on where the machine stands.
        .config("spark.sql.session.timeZone", "Etc/UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for name, columns in TABLES.items():
        spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
    yield spark
    spark.stop()


def _short(dataset: dict[str, Any]) -> str:
    return dataset["name"].rpartition("/")[2]


@pytest.fixture(scope="session")
def said() -> Callable[[dict[str, Any]], tuple[list[str], dict[str, list[str]], list[str]]]:
    """Give what tells an event in short: what is read, the edges of each column, and those of all rows."""

    def short(event: dict[str, Any]) -> tuple[list[str], dict[str, list[str]], list[str]]:
        (output,) = event["outputs"]
        facet = output["facets"]["columnLineage"]

        def edges(fields: list[dict[str, Any]]) -> list[str]:
            return sorted(f"{_short(f)}.{f['field']} {t['subtype']}" for f in fields for t in f["transformations"])

        columns = {name: edges(column["inputFields"]) for name, column in facet["fields"].items()}
        return sorted(_short(dataset) for dataset in event["inputs"]), columns, edges(facet.get("dataset", []))

    return short
