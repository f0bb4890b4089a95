"""Which table a name means."""

from __future__ import annotations

from types import SimpleNamespace

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable, DeclaredTables
from openlineage_pyspark.workbench.predict.tables.parsed import written_name


def table(*parts: str, columns: tuple[tuple[str, str], ...] = (("a", "INT"),)) -> DeclaredTable:
    return DeclaredTable(parts, columns)


def test_a_name_is_found_whatever_its_case() -> None:
    tables = DeclaredTables([table("spark_catalog", "shop", "Orders")])
    assert tables.get(("SPARK_CATALOG", "Shop", "orders")) == table("spark_catalog", "shop", "Orders")
    assert tables.get(("spark_catalog", "other", "orders")) is None


def test_a_path_is_found_in_its_own_case_only() -> None:
    tables = DeclaredTables([table("spark_catalog", "delta", "s3://b/Lake/T"), table("spark_catalog", "delta", "/t")])
    assert tables.get(("spark_catalog", "Delta", "s3://b/Lake/T")) == table("spark_catalog", "delta", "s3://b/Lake/T")
    assert tables.get(("spark_catalog", "delta", "s3://b/lake/t")) is None
    assert tables.get(("spark_catalog", "delta", "/T")) is None
    tables.drop(("spark_catalog", "DELTA", "s3://b/Lake/T"))
    assert tables.get(("spark_catalog", "delta", "s3://b/Lake/T")) is None


def test_a_name_of_a_store_may_lack_its_catalog_and_its_database() -> None:
    tables = DeclaredTables([table("shop", "orders"), table("orders"), table("x", "orders")])
    assert tables.get(("lake", "shop", "orders")) == table("shop", "orders")
    assert tables.get(("lake", "default", "orders")) == table("orders")
    tables.drop(("shop", "orders"))
    assert tables.get(("lake", "shop", "orders")) == table("orders")


def test_the_metadata_tables_of_a_known_table_are_known() -> None:
    at = Identifier("s3://lake", "db/t")
    tables = DeclaredTables([attrs.evolve(table("ice", "db", "t"), identifier=at), table("ice", "db", "files")])
    history = tables.get(("ice", "db", "T", "History"))
    assert history is not None
    assert (history.parts, history.identifier) == (
        ("ice", "db", "T", "History"),
        Identifier("s3://lake", "db/t#history"),
    )
    assert [name for name, _ in history.columns] == [
        *("made_current_at", "snapshot_id", "parent_id", "is_current_ancestor"),
    ]
    assert tables.get(("ice", "db", "files")) == table("ice", "db", "files")
    assert tables.get(("ice", "db", "files", "refs")) is not None
    # The table decides about its columns.
    assert tables.get(("ice", "db", "t", "files")) is None
    assert [tables.get(each) for each in (("ice", "db", "none", "refs"), ("ice", "t", "refs"))] == [None, None]
    assert tables.get(("ice", "db", "t", "orders")) is None


def test_columns_come_and_go() -> None:
    orders = table("c", "d", "orders").with_column(("b c", "STRUCT<x: INT>"))
    assert orders.ddl == "`a` INT, `b c` STRUCT<x: INT>"
    assert orders.with_renamed_column("A", "n").without_columns(["B C"]).columns == (("n", "INT"),)
    placed = orders.with_column(("first", "INT"), "").with_column(("behind", "INT"), "A").with_column(("last", "INT"))
    assert [name for name, _ in placed.columns] == ["first", "a", "behind", "b c", "last"]


def test_the_name_in_a_parsed_plan_may_be_the_value_of_an_expression() -> None:
    expression = SimpleNamespace(eval=lambda row: "shop.`a.b`" if row is None else "")
    parsed = SimpleNamespace(nodeName=lambda: "PlanWithUnresolvedIdentifier", identifierExpr=lambda: expression)

    assert written_name(parsed) == ("shop", "a.b")
