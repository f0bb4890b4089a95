"""Columns that texts of a script show: schemas of Avro, folders of partitions, and answers of Delta Lake's commands."""

from __future__ import annotations

import pytest
from openlineage_pyspark.workbench.dryrun.script.answers import columns_of_answer
from openlineage_pyspark.workbench.dryrun.script.avro import type_of_avro
from openlineage_pyspark.workbench.dryrun.script.partitions import (
    above_partitions,
    columns_in_path,
    with_more_columns,
    without,
)


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ("long", "BIGINT"),
        (["null", "string"], "STRING"),
        (["int", "long"], "BIGINT"),
        (["null", "int", "string"], "STRUCT<member0: INT, member1: STRING>"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}, "DECIMAL(8, 2)"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "TIMESTAMP"),
        ({"type": {"type": "string"}}, "STRING"),
        ({"type": "map", "values": {"type": "array", "items": "double"}}, "MAP<STRING, ARRAY<DOUBLE>>"),
        (
            {
                "type": "record",
                "name": "order",
                "fields": [
                    {"name": "id", "type": "long"},
                    {
                        "name": "from",
                        "type": {"type": "record", "name": "place", "fields": [{"name": "x", "type": "int"}]},
                    },
                    {"name": "to", "type": ["null", "place"]},
                    {"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": ["A"]}},
                ],
            },
            "STRUCT<`id`: BIGINT, `from`: STRUCT<`x`: INT>, `to`: STRUCT<`x`: INT>, `kind`: STRING>",
        ),
    ],
)
def test_a_schema_of_avro_has_a_type_of_spark(schema: object, type_: str) -> None:
    assert type_of_avro(schema, {}) == type_


def test_a_schema_of_avro_that_is_none_is_refused() -> None:
    with pytest.raises(LookupError):
        type_of_avro("unheard", {})
    with pytest.raises(LookupError):
        type_of_avro({"items": "int"}, {})


def test_the_folders_of_partitions_are_columns() -> None:
    path = "lake/sales/day=2026-01-31/n=7/big=12345678901/r=1.5/at=2026-01-01 10:00/country=BE"
    assert columns_in_path(path) == (
        ("day", "DATE"),
        ("n", "INT"),
        ("big", "BIGINT"),
        ("r", "DOUBLE"),
        ("at", "TIMESTAMP"),
        ("country", "STRING"),
    )
    assert (above_partitions(path), above_partitions("lake/sales")) == ("lake/sales", "lake/sales")
    assert with_more_columns((("Id", "INT"),), (("id", "BIGINT"), ("x", "INT"))) == (("Id", "INT"), ("x", "INT"))
    assert with_more_columns(None, (("x", "INT"),)) == (("x", "INT"),)
    assert without((("Day", "DATE"), ("x", "INT")), (("day", "STRING"),)) == (("x", "INT"),)


def test_the_answers_of_deltas_commands_have_their_columns() -> None:
    assert columns_of_answer("describe detail shop.orders").startswith("format STRING, id STRING, name STRING")
    assert columns_of_answer("/* x */ DESC HISTORY delta.`/a` LIMIT 1").startswith("version BIGINT")
    assert [columns_of_answer(each) for each in ("DESCRIBE detail", "DESCRIBE shop.detail", "SELECT detail, a, b")] == [
        ""
    ] * 3
