"""One Spark session with the tables of tables.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

TABLES = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Give a session whose tables are empty."""
    spark = (
        SparkSession.builder.master("local[1]")
        .appName("golden cases")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.legacy.createHiveTableByDefault", "false")
        .config("spark.sql.catalog.shop", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
        .config("spark.sql.catalog.shop.url", "jdbc:derby:memory:shop;create=true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for name, columns in TABLES.items():
        spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
    yield spark
    spark.stop()
