"""The datasets at the places that readers and writers are given, and the files that give their columns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns, columns_of_ddl, partitions_of_ddl
from openlineage_pyspark.workbench.dryrun.script.places import (
    DataPlace,
    data_place,
    datasets_of,
    key_of_dataset,
    with_whole_paths,
)
from openlineage_pyspark.workbench.dryrun.script.values import with_quoted_operators, with_values
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable

if TYPE_CHECKING:
    from pathlib import Path


def named(format_: str, options: dict[str, str], *paths: str, streamed: bool = False) -> list[tuple[str, str]]:
    """Return the namespaces and names of what is at a place."""
    place = data_place(format_, options, paths, "/work", streamed=streamed)
    found = datasets_of(DataPlace.of_text(place.to_text()))
    return [(each.identifier.namespace, each.identifier.name) for each in found]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3a://lake/raw/orders/", ("s3://lake", "raw/orders")),
        ("data/orders", ("file", "/work/data/orders")),
        ("/data//orders/./x", ("file", "/data/orders/x")),
        ("s3a://lake/in/*.parquet", ("s3://lake", "in")),
        ("s3a://lake/in/{2024,2025}/x", ("s3://lake", "in")),
        ("s3a://lake/{bucket}/x", ("s3://lake", "{bucket}/x")),
        ("s3a://lake/in/{tools.config().path}", ("s3://lake", "in/{tools.config().path}")),
        ("s3a://{ssm.get()[/b][Value]}/in/{row[0]}/x", ("s3://{ssm.get()..b.Value}", "in/{row.0}/x")),
        ("s3a://lake/{json.loads()[a/b]}", ("s3://lake", "{json.loads().a.b}")),
        ("s3a://lake/in/202[1-3]/x", ("s3://lake", "in")),
        ("s3a://lake/in/{x[0-9],y[ab]}/z", ("s3://lake", "in")),
        ("s3a://lake/in/{a.csv,b.csv}", ("s3://lake", "in")),
        ("/out/part-00000-1.parquet", ("file", "/out")),
        ("abfss://c@a.dfs.core.windows.net/x", ("abfss://c@a.dfs.core.windows.net", "x")),
    ],
)
def test_a_path_is_the_dataset_that_the_listener_names(path: str, expected: tuple[str, str]) -> None:
    assert named("parquet", {}, path) == [expected]


def test_a_path_names_its_dataset_in_an_unknown_format_too() -> None:
    assert named("{tools.config().format}", {}, "s3a://lake/raw/orders") == [("s3://lake", "raw/orders")]


def test_several_paths_are_several_datasets_each_once() -> None:
    assert named("csv", {}, "/a", "/b", "/a/") == [("file", "/a"), ("file", "/b")]


def test_a_path_may_be_an_option() -> None:
    assert named("delta", {"Path": "s3a://lake/t"}) == [("s3://lake", "t")]


def test_a_table_over_jdbc_is_named_by_its_url_without_its_login() -> None:
    options = {"url": "jdbc:postgresql://u:secret@db:5433/shop", "dbtable": "orders", "password": "secret"}
    assert named("jdbc", options) == [("postgres://db:5433", "shop.public.orders")]
    assert "secret" not in data_place("jdbc", {"password": "secret"}, (), "/").to_text()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://{HOST}:5432/{DB}", ("postgres://unknown_host:5432", "unknown_DB.public.t")),
        ("jdbc:postgresql://{u}:{p}@{H}:{PORT}/d", ("postgres://unknown_h:5432", "d.public.t")),
        ("jdbc:sqlserver://{ssm()[a]}:1433;databaseName={d}", ("sqlserver://unknown_ssm_a:1433", "unknown_d.public.t")),
        ("jdbc:oracle:thin:@h:1521:{sid}", ("oracle://h:1521", "unknown_sid.PUBLIC.T")),
        ("jdbc:sqlite:{file}", ("sqlite:unknown_file", "public.t")),
    ],
)
def test_unknown_values_in_the_url_of_a_database_keep_databases_apart(url: str, expected: tuple[str, str]) -> None:
    assert named("jdbc", {"url": url, "dbtable": "public.t"}) == [expected]


def test_a_query_over_jdbc_is_the_tables_that_it_names() -> None:
    options = {"url": "jdbc:mysql://db/shop", "query": "SELECT a FROM orders o JOIN items i ON o.id = i.id"}
    assert named("jdbc", options) == [("mysql://db:3306", "shop.orders"), ("mysql://db:3306", "shop.items")]


def test_topics_are_those_that_options_name() -> None:
    servers = {"kafka.bootstrap.servers": "b:9092,a:9092"}
    assert named("kafka", {**servers, "subscribe": "x, y"}) == [("kafka://a:9092", "x"), ("kafka://a:9092", "y")]
    assert named("kafka", {**servers, "assign": '{"z": [0]}'}) == [("kafka://a:9092", "z")]
    assert named("kafka", {**servers, "assign": "no JSON"}) == []
    assert named("kafka", {**servers, "subscribePattern": "x.*"}) == []


def test_another_connector_is_named_by_its_options_as_the_listener_does() -> None:
    assert named("bigquery", {"table": "p.d.t"}) == [("bigquery", "p.d.t")]
    assert named("com.example.any", {"table": "t", "token": "secret"}) == [
        ("datasource:any", "com.example.any(table=t)")
    ]


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [
        ("a INT, b DECIMAL(10, 2)", (("a", "INT"), ("b", "DECIMAL ( 10 , 2 )"))),
        ("`odd name` STRING NOT NULL COMMENT 'x, y'", (("odd name", "STRING"),)),
        ("s STRUCT<a: INT, b: ARRAY<STRING>>", (("s", "STRUCT < a : INT , b : ARRAY < STRING > >"),)),
        ("a: INT", (("a", "INT"),)),
        ("a INT, d DATE PARTITIONED BY (d)", (("a", "INT"), ("d", "DATE"))),
        ("a", ()),
        ("", ()),
    ],
)
def test_columns_are_read_from_ddl(ddl: str, expected: tuple[tuple[str, str], ...]) -> None:
    assert columns_of_ddl(ddl) == expected


def test_a_file_of_schemas_gives_tables_and_places(tmp_path: Path) -> None:
    file = tmp_path / "schemas.json"
    file.write_text('{"shop.orders": "id INT", "s3a://lake/x/": "a INT", "postgres://db:1/a.b.c": "d INT"}', "utf-8")
    known = KnownColumns()
    known.read(file, "/work")
    assert [(each.parts, each.columns) for each in known.tables] == [(("shop", "orders"), (("id", "INT"),))]
    assert known.places[key_of_dataset(Identifier("s3://lake", "x"))] == (("a", "INT"),)
    assert known.places[key_of_dataset(Identifier("postgres://db:1", "a.b.c"))] == (("d", "INT"),)


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [
        ("id INT, `a day` DATE, n INT PARTITIONED BY (`a day`, n)", ("a day", "n")),
        ("id INT, day DATE COMMENT 'x' partitioned by (day)", ("day",)),
        ("a INT, partitioned INT", ()),
        ("a INT COMMENT 'PARTITIONED BY (a)'", ()),
        ("", ()),
    ],
)
def test_partitions_are_read_from_ddl(ddl: str, expected: tuple[str, ...]) -> None:
    assert partitions_of_ddl(ddl) == expected


def test_partitions_in_a_file_of_schemas_are_those_of_the_table(tmp_path: Path) -> None:
    (file := tmp_path / "schemas.json").write_text('{"shop.sales": "Day DATE, id INT PARTITIONED BY (day)"}', "utf-8")
    known = KnownColumns()
    known.read(file, "/work")
    columns = (("id", "INT"), ("Day", "DATE"))
    assert known.tables == [DeclaredTable(("shop", "sales"), columns, ("day",))]
    assert json.loads(known.to_text()) == {"shop.sales": "`id` INT, `Day` DATE PARTITIONED BY (`day`)"}


def test_what_is_known_is_written_as_a_file_that_gives_the_same(tmp_path: Path) -> None:
    known = KnownColumns([DeclaredTable(("spark_catalog", "shop", "or`ders"), (("id", "INT"), ("a b", "STRING")))])
    known.add_datasets([("s3://lake", "x", (("a", "STRUCT<b: INT>"),)), ("file", "/data/y", (("c", "DATE"),))])
    (given := tmp_path / "given.json").write_text('{"local/z": "d INT", "lake.shop.t": "e INT"}', "utf-8")
    known.read(given, "/work")
    (file := tmp_path / "schemas.json").write_text(known.to_text(), "utf-8")
    assert json.loads(known.to_text()) == {
        "/data/y": "`c` DATE",
        "lake.shop.t": "`e` INT",
        "local/z": "`d` INT",
        "s3://lake/x": "`a` STRUCT<b: INT>",
        "shop.`or``ders`": "`id` INT, `a b` STRING",
    }
    again = KnownColumns()
    again.read(file, "/work")
    assert {each.parts for each in again.tables} == {("lake", "shop", "t"), ("shop", "or`ders")}
    assert known.places.keys() <= again.places.keys()
    assert again.places["/data/y"] == (("c", "DATE"),)


@pytest.mark.parametrize(
    "text", ["[]", "{", "[" * 100_000, '{"a": ""}', '{"a": 1}', '{"a": "b"}', '{"a": "b INT PARTITIONED BY (c)"}']
)
def test_a_file_that_gives_no_schemas_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "schemas.json"
    file.write_text(text, "utf-8")
    with pytest.raises(TextError, match=r"schemas\.json"):
        KnownColumns().read(file, "/")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"a": "b INT64"}',
            "Spark does not know the type INT64 of a.b: write BIGINT",
        ),
        (
            '{"a": "b INTT"}',
            "Spark does not know the type INTT of a.b: write it as Spark's SQL does, such as ARRAY<DECIMAL(10,2)>",
        ),
    ],
)
def test_a_type_that_spark_does_not_know_is_refused_with_its_column(tmp_path: Path, text: str, expected: str) -> None:
    (file := tmp_path / "schemas.json").write_text(text, "utf-8")
    with pytest.raises(TextError, match=f"^{re.escape(f'{file}: {expected}')}$"):
        KnownColumns().read(file, "/")


def test_a_name_that_is_twice_in_a_file_of_schemas_is_refused(tmp_path: Path) -> None:
    (file := tmp_path / "schemas.json").write_text('{"a": "b INT", "c": "d INT", "a": "e INT"}', "utf-8")
    with pytest.raises(TextError, match=f"^{re.escape(f'{file} can')}'t be read: a is in it 2 times$"):
        KnownColumns().read(file, "/")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<(price, 0)", "`<`(price, 0)"),
        ("and(<=>(a, b), not(in(c, 1, -2)))", "`and`(`<=>`(a, b), `not`(`in`(c, 1, -2)))"),
        ("s.price", "s.price"),
        ("CAST(a AS INT)", "CAST(a AS INT)"),
        ("concat(a, '<(x)')", "concat(a, '<(x)')"),
        ("a - (b)", "a - (b)"),
    ],
)
def test_an_operator_that_spark_writes_as_a_function_is_one_in_backticks(text: str, expected: str) -> None:
    assert with_quoted_operators(text) == expected


def test_the_values_of_parameters_are_written_into_a_statement() -> None:
    text = "INSERT INTO t SELECT ':day', `:day`, a FROM s WHERE d = :day AND n = :n -- :day"
    given = {"day": "it's", "n": 5}
    assert (
        with_values(text, given) == "INSERT INTO t SELECT ':day', `:day`, a FROM s WHERE d = 'it\\'s' AND n = 5 -- :day"
    )
    assert (
        with_values("DELETE FROM t WHERE a = ? AND b = ?", [None, True]) == "DELETE FROM t WHERE a = NULL AND b = TRUE"
    )
    assert with_values("SELECT 1", None) == "SELECT 1"


def test_the_paths_of_a_statement_are_below_the_folder_of_the_script() -> None:
    text = "INSERT OVERWRITE LOCAL DIRECTORY 'out/x' USING json SELECT 'a/b' FROM parquet.`data/k`, csv.`/c`"
    assert with_whole_paths(text, "/job") == (
        "INSERT OVERWRITE LOCAL DIRECTORY '/job/out/x' USING json SELECT 'a/b' FROM parquet.`/job/data/k`, csv.`/c`"
    )
    assert with_whole_paths("INSERT OVERWRITE DIRECTORY 's3a://b/x' SELECT 1", "/job").count("'s3a://b/x'") == 1


def test_the_version_at_the_end_of_a_path_of_delta_lake_becomes_a_clause() -> None:
    text = (
        "SELECT * FROM delta.`x/t@v12` a JOIN Delta.`s3://b/T@20240131235958123` b JOIN parquet.`/p@v1`, delta.`/a@vx`"
    )
    assert with_whole_paths(text, "/job") == (
        "SELECT * FROM delta.`/job/x/t` VERSION AS OF 12 a "
        "JOIN Delta.`s3://b/T` TIMESTAMP AS OF '2024-01-31 23:59:58.123' b JOIN parquet.`/p@v1`, delta.`/a@vx`"
    )
