"""Which types of columns Spark knows, and what those of other engines are called there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.workbench.predict.tables.spark_types import is_spark_type, spark_type
from support.lineage_events import dataset, run_event

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = (
    "INT",
    "bigint",
    "decimal(10, 2)",
    "char(3)",
    "interval day to second",
    "INTERVAL",
    "STRING COLLATE UTF8_LCASE",
    "TIME(6)",
    "GEOMETRY(4326)",
    "GEOGRAPHY(ANY)",
    "struct<>",
    "array<struct<a:int,`b c`: map<string,array<bigint>>>>",
    "STRUCT<a INT NOT NULL COMMENT 'x', b STRING>",
)
UNKNOWN = ("", "INTT", "VARCHAR", "array", "map<int>", "struct", "struct<a>", "array<int", "int int", "int, b", "int(")
NESTED = f"{'ARRAY<' * 5000}INT{'>' * 5000}"


@pytest.mark.parametrize("type_", KNOWN)
def test_types_of_spark_are_known_and_keep_their_names(type_: str) -> None:
    assert is_spark_type(type_)
    assert spark_type(type_) == type_


@pytest.mark.parametrize("type_", [*UNKNOWN, pytest.param(NESTED, id="nested too deeply")])
def test_other_types_are_unknown_to_spark(type_: str) -> None:
    assert not is_spark_type(type_)


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("NUMBER(38,0)", "DECIMAL(38, 0)"),
        ("INT64", "BIGINT"),
        ("character varying", "STRING"),
        ("row(a integer)", "STRUCT<a: INT>"),
        # It is one type in PostgreSQL and another in ClickHouse.
        ("int8", ""),
        ("INTT", ""),
        pytest.param(NESTED, "", id="nested too deeply"),
    ],
)
def test_a_type_of_another_engine_has_a_name_in_spark_if_it_means_one_thing(type_: str, expected: str) -> None:
    assert spark_type(type_) == expected


def test_a_store_of_another_engines_events_gives_columns_that_spark_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = [
        {"name": "id", "type": "NUMBER(38,0)"},
        {"name": "geo", "type": "hllsketch"},
        {"name": "more", "type": "super"},
        {"name": "at", "type": "timestamp"},
    ]
    event = run_event("load", "COMPLETE", 1, outputs=(dataset("shop.orders", schema={"fields": fields}),))
    (events := tmp_path / "events.ndjson").write_text(f"{json.dumps(event)}\n", "utf-8")
    file = tmp_path / "schemas.json"

    assert main(["lineage", "--catalog", str(events), "--write-schemas", str(file)]) == 0

    columns = "`id` DECIMAL(38, 0), `geo` STRING, `more` STRING, `at` timestamp"
    assert json.loads(file.read_text("utf-8"))["shop.orders"] == columns
    assert capsys.readouterr().err == (
        "openlineage-pyspark: Spark does not know the type hllsketch of shop.orders.geo, nor 1 more: "
        "counted as STRING\n"
    )
