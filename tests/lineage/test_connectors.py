"""Connectors of other systems, as far as a plan can be analyzed without their servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.spark_jobs import Jobs

pytestmark = [pytest.mark.long, pytest.mark.own_jvm]
JARS = {
    "3.5": (
        "org.mongodb.spark:mongo-spark-connector_2.12:10.5.0",
        "org.mongodb:mongodb-driver-sync:5.1.4",
        "org.mongodb:mongodb-driver-core:5.1.4",
        "org.mongodb:bson:5.1.4",
        "org.mongodb:bson-record-codec:5.1.4",
        "net.snowflake:spark-snowflake_2.12:2.16.0-spark_3.4",
        "net.snowflake:snowflake-jdbc:3.16.1",
    )
}
NAMED = [
    ["MongoDB, by options", "mongodb://one:27018", "shop.orders", False],
    ["MongoDB, by the session", "mongodb://two:27017", "shop.returns", False],
    ["Snowflake", "snowflake://acme", "SALES.PUBLIC.ORDERS", False],
]


def test_a_table_of_a_real_connector_has_its_name_without_a_server(
    packaged: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)

    done = jobs.run("connectors.py", conf={"spark.jars": packaged(JARS)}, submit=False)

    assert done.code == 0, done.stderr[-2000:]
    assert [json.loads(line) for line in done.stdout.splitlines()] == NAMED
