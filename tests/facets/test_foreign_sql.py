"""What a JDBC source's own SQL text reads."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
import sqlglot
from openlineage_pyspark.facets.datasets.jdbc import jdbc_relation, jdbc_tables
from openlineage_pyspark.facets.datasets.source import Column
from openlineage_pyspark.facets.model.dataset import Field, Identifier
from openlineage_pyspark.facets.model.plan import Described, Operator, Output

POSTGRES = "jdbc:postgresql://db:5432/shop?password=s3cr3t"
ORDERS = Identifier("postgres://db:5432", "shop.public.orders")
BUYERS = Identifier("postgres://db:5432", "shop.public.buyers")


def read(table, *columns, url=POSTGRES):
    source = Described("org.apache.spark.JDBCRelation", {"url": url, "table": table})
    output = tuple(Output(at, name) for at, name in enumerate(columns))
    fields = tuple(Field(name, "int") for name in columns)
    return jdbc_relation(source, Operator("LogicalRelation", "LogicalRelation", {}, output), fields)


def names(relation):
    return [dataset.identifier for dataset in relation.datasets]


def test_a_table_has_each_column_by_its_name():
    found = read("public.orders", "id", "amount")
    assert names(found) == [ORDERS]
    assert found.datasets[0].fields == (Field("id", "int"), Field("amount", "int"))
    assert found.columns == {0: (Column(ORDERS, "id"),), 1: (Column(ORDERS, "amount"),)}
    assert found.opaque is None


def test_a_query_has_the_columns_of_its_tables():
    """A renamed column is its source's; an expression is no copy."""
    found = read("(SELECT id AS k, amount * 2 AS twice FROM public.orders WHERE paid) q", "k", "twice")
    assert names(found) == [ORDERS]
    assert found.columns == {0: (Column(ORDERS, "id"),), 1: (Column(ORDERS, "amount", identity=False),)}
    assert found.opaque is None


def test_the_type_of_a_copied_column_is_known_and_of_another_one_is_not():
    found = read("(SELECT id AS k, amount * 2 AS twice FROM public.orders) q", "k", "twice")
    assert found.datasets[0].fields == (Field("id", "int"), Field("amount", "unknown"))


def test_a_star_over_one_table_is_that_tables_columns():
    found = read("(SELECT * FROM public.orders WHERE amount > 3) SPARK_GEN_SUBQ_0", "id", "amount")
    assert found.columns == {0: (Column(ORDERS, "id"),), 1: (Column(ORDERS, "amount"),)}


def test_a_join_has_both_tables():
    found = read("(SELECT o.id, b.name FROM public.orders o JOIN public.buyers b ON o.buyer = b.id) q", "id", "name")
    assert names(found) == [ORDERS, BUYERS]
    assert found.columns == {0: (Column(ORDERS, "id"),), 1: (Column(BUYERS, "name"),)}


def test_a_column_of_two_tables_comes_from_both():
    found = read("(SELECT o.amount + b.credit AS x FROM public.orders o JOIN public.buyers b ON o.buyer = b.id) q", "x")
    assert set(found.columns[0]) == {
        Column(ORDERS, "amount", identity=False),
        Column(BUYERS, "credit", identity=False),
    }


def test_a_cte_is_no_table():
    found = read("(WITH t AS (SELECT id, amount FROM public.orders) SELECT id, amount FROM t) q", "id", "amount")
    assert names(found) == [ORDERS]
    assert found.columns == {0: (Column(ORDERS, "id"),), 1: (Column(ORDERS, "amount"),)}


def test_a_constant_has_no_source_and_the_rest_keeps_its_own():
    found = read("(SELECT id, 1 AS one FROM public.orders) q", "id", "one")
    assert found.columns == {0: (Column(ORDERS, "id"),)}


def test_a_union_has_the_columns_of_both_branches():
    found = read("(SELECT id FROM public.orders UNION ALL SELECT id FROM public.buyers) q", "id")
    assert set(names(found)) == {ORDERS, BUYERS}
    assert {(column.dataset, column.name) for column in found.columns[0]} == {(ORDERS, "id"), (BUYERS, "id")}


@pytest.mark.parametrize(
    ("url", "table", "namespace", "name"),
    [
        ("jdbc:mysql://db/shop", "(SELECT `id` FROM `orders`) q", "mysql://db:3306", "shop.orders"),
        (
            "jdbc:sqlserver://db;databaseName=shop",
            "(SELECT TOP 3 [id] FROM [dbo].[orders]) q",
            "sqlserver://db:1433",
            "shop.dbo.orders",
        ),
        ("jdbc:sqlite:/data/shop.db", "(SELECT id FROM orders) q", "sqlite:/data/shop.db", "orders"),
        ("jdbc:derby:memory:shop", "(SELECT id FROM orders) q", "derby:memory:shop", "orders"),
    ],
)
def test_a_query_is_read_in_the_databases_own_dialect(url, table, namespace, name):
    found = read(table, "id", url=url)
    source = Identifier(namespace, name)
    assert names(found) == [source]
    assert found.columns == {0: (Column(source, "id"),)}


def test_a_text_that_is_no_sql_still_tells_its_tables_and_that_its_columns_are_unknown():
    found = read("(SELECT id FROM public.orders ((( JOIN public.buyers) q", "id")
    assert names(found) == [ORDERS, BUYERS]
    assert found.columns == {}
    assert found.opaque == "the SQL text of the JDBC source could not be parsed"


def test_a_column_that_the_text_does_not_tell_is_named():
    found = read("(SELECT * FROM public.orders o JOIN public.buyers b ON o.buyer = b.id) q", "id", "name")
    assert names(found) == [ORDERS, BUYERS]
    assert found.opaque == "the SQL text of the JDBC source doesn't tell the columns of id, name"


def test_no_secret_of_the_url_is_in_what_is_read():
    found = read("(SELECT id FROM public.orders) q", "id")
    assert "s3cr3t" not in repr(found)


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("public.orders", [ORDERS]),
        (
            "(SELECT * FROM public.orders o JOIN public.buyers b ON o.id = b.id WHERE pin = 's3cr3t') q",
            [ORDERS, BUYERS],
        ),
        ("(SELECT 's3cr3t' ;;; FROM public.orders) q", [ORDERS]),
        ("(SELECT 's3cr3t') q", []),
    ],
)
def test_the_tables_of_a_text_are_named_and_nothing_else_of_it(text, tables):
    assert sorted(dataset.identifier for dataset in jdbc_tables(POSTGRES, text)) == sorted(tables)


def test_the_parser_does_not_repeat_the_text_in_the_log(caplog):
    """It does for others, also after this."""
    caplog.set_level(logging.DEBUG)

    read("(CALL something('s3cr3t')) q", "id")
    jdbc_tables(POSTGRES, "(CALL something('s3cr3t')) q")
    assert caplog.records == []

    sqlglot.parse_one("CALL something('else')", dialect="postgres")
    assert len(caplog.records) == 1


def test_without_the_parser_the_tables_are_named_and_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)

    found = read("(SELECT o.id FROM public.orders o JOIN public.buyers b ON o.buyer = b.id) q", "id")

    assert names(found) == [ORDERS, BUYERS]
    assert found.columns == {}
    assert found.opaque == "the SQL text of the JDBC source needs sqlglot (pip install sqlglot) to be read"
    assert [dataset.identifier for dataset in jdbc_tables(POSTGRES, "(SELECT id FROM public.orders) q")] == [ORDERS]
    assert names(read("public.orders", "id")) == [ORDERS]


def test_the_parser_is_imported_for_a_query_and_not_for_a_table():
    """It is large, and takes time on the driver's processor."""
    code = """
import sys
from openlineage_pyspark.facets.datasets.jdbc import jdbc_tables
jdbc_tables("jdbc:postgresql://db/shop", "public.orders")
print("sqlglot" in sys.modules)
jdbc_tables("jdbc:postgresql://db/shop", "(SELECT id FROM public.orders) q")
print("sqlglot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True"]
