"""Columns that texts of a script show: schemas of Avro, folders of partitions, and answers of Delta Lake's commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.dryrun.script.answers import columns_of_answer
from openlineage_pyspark.workbench.dryrun.script.avro import type_of_avro
from openlineage_pyspark.workbench.dryrun.script.partitions import (
    above_partitions,
    columns_in_path,
    with_more_columns,
    with_partitions_last,
    without,
)
from openlineage_pyspark.workbench.dryrun.script.places import data_place, key_of_dataset
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.dryrun.script.stage import Stage

if TYPE_CHECKING:
    from pathlib import Path


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


def test_the_columns_of_partitions_are_the_last_ones_in_the_order_of_the_partitions() -> None:
    columns = (("Day", "DATE"), ("x", "INT"), ("region", "STRING"), ("y", "INT"))
    ordered = (("x", "INT"), ("y", "INT"), ("region", "STRING"), ("Day", "DATE"))
    assert with_partitions_last(columns, ("region", "day")) == ordered
    assert with_partitions_last(columns, ()) == columns


def test_the_answers_of_deltas_commands_have_their_columns() -> None:
    assert columns_of_answer("describe detail shop.orders").startswith("format STRING, id STRING, name STRING")
    assert columns_of_answer("/* x */ DESC HISTORY delta.`/a` LIMIT 1").startswith("version BIGINT")
    assert [columns_of_answer(each) for each in ("DESCRIBE detail", "DESCRIBE shop.detail", "SELECT detail, a, b")] == [
        ""
    ] * 3
    assert columns_of_answer("OPTIMIZE shop.orders ZORDER BY (id)").startswith("path STRING, metrics STRUCT<")
    assert columns_of_answer("RESTORE TABLE t TO VERSION AS OF 1").startswith("table_size_after_restore BIGINT")
    assert columns_of_answer("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE").startswith("num_affected")


ORDERS = (("id", "INT"), ("Total", "DECIMAL(10,2)"))
ITEMS = (("order_id", "INT"), ("sku", "STRING"))


@pytest.mark.parametrize(
    ("option", "columns", "said"),
    [
        ({"query": "SELECT id, total AS amount FROM orders"}, (("id", "INT"), ("amount", "DECIMAL(10,2)")), []),
        ({"query": "SELECT o.*, i.sku FROM orders o JOIN items i ON o.id = i.order_id"}, (*ORDERS, ITEMS[1]), []),
        (
            {"query": "SELECT o.id, upper(i.sku) AS s FROM orders o JOIN items i ON o.id = i.order_id"},
            (("id", "INT"), ("s", "STRING")),
            ["the type of the column s of a query over JDBC is assumed to be a string"],
        ),
        ({"query": "SELECT * FROM others"}, None, []),
        ({"query": "SELECT count(*) FROM orders"}, None, []),
        ({"dbtable": "(SELECT total FROM orders) AS t"}, (("total", "DECIMAL(10,2)"),), []),
        ({"dbtable": "orders"}, ORDERS, []),
        ({"query": "SELECT id FROM o", "prepareQuery": "WITH o AS (SELECT id FROM orders)"}, (("id", "INT"),), []),
    ],
)
def test_a_query_over_jdbc_has_the_columns_that_its_text_and_its_tables_show(
    tmp_path: Path, option: dict[str, str], columns: object, said: list[str]
) -> None:
    pytest.importorskip("sqlglot")
    server = "postgres://db:5432"
    known = {
        key_of_dataset(Identifier(server, f"shop.public.{name}")): each
        for name, each in (("orders", ORDERS), ("items", ITEMS))
    }
    here = str(tmp_path)
    request = ScriptRequest("job.py", f"{here}/job.py", "", (), here, here, here, columns=known)
    with (tmp_path / "records").open("wb") as out:
        place = data_place("jdbc", {"url": "jdbc:postgresql://db/shop", **option}, (), here)
        assert Stage(request, out.fileno()).columns_of(place, header=False, inferred=False) == columns
    records = map(json.loads, (tmp_path / "records").read_text("utf-8").splitlines())
    assert [each["message"] for each in records] == said
