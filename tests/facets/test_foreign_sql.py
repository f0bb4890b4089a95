"""What a JDBC source's own SQL text reads."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.facets.datasets import jdbc
from openlineage_pyspark.facets.datasets.jdbc import QueryColumn, jdbc_columns, jdbc_dataset, jdbc_relation, jdbc_tables
from openlineage_pyspark.facets.datasets.source import Column, Session
from openlineage_pyspark.facets.foreign_sql.reader import MOST_CHARACTERS, UnreadableError, read_query
from openlineage_pyspark.facets.foreign_sql.tables import is_name, named_tables
from openlineage_pyspark.facets.model.dataset import Field, Identifier
from openlineage_pyspark.facets.model.lineage import Certainty, UseKind
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    CutText,
    Described,
    Operator,
    OperatorRef,
    Output,
    Plan,
)
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.facets.urls import jdbc_parts

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
SOURCES = "org.apache.spark.sql.execution.datasources"
JDBC = f"{SOURCES}.jdbc"
POSTGRES = "jdbc:postgresql://db:5432/shop?password=s3cr3t"
ORDERS = Identifier("postgres://db:5432", "shop.public.orders")
BUYERS = Identifier("postgres://db:5432", "shop.public.buyers")


def read(table, *columns, url=POSTGRES, prepare=""):
    source = Described("org.apache.spark.JDBCRelation", {"url": url, "table": table, "prepare": prepare})
    output = tuple(Output(at, name) for at, name in enumerate(columns))
    fields = tuple(Field(name, "int") for name in columns)
    found = jdbc_relation(source, Operator("LogicalRelation", "LogicalRelation", {}, output), fields)
    if not isinstance(table, CutText) and not is_name(table):
        dialect = jdbc._DIALECTS[jdbc_parts(url).kind]
        alone = named_tables(f"{prepare} SELECT * FROM {table}", dialect)
        without_parser = {jdbc_dataset(url, name).identifier for name in alone}
        # None that is no table. Those that it does not find are names in strings and arguments.
        assert without_parser - set(names(found)) == set()
        assert {each.name for each in set(names(found)) - without_parser} <= {"shop.dim"}
    return found


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
    assert found.columns == {0: (Column(ORDERS, "id"),), 1: (Column(ORDERS, "amount", UseKind.TRANSFORMATION),)}
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
        Column(ORDERS, "amount", UseKind.TRANSFORMATION),
        Column(BUYERS, "credit", UseKind.TRANSFORMATION),
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
        ("jdbc:derby:memory:shop", '(SELECT "id" FROM orders) q', "derby:memory:shop", "APP.ORDERS"),
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
    assert found.opaque == "the SQL text of the JDBC source does not name the columns of id, name"


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


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("(SELECT * FROM orders WHERE a > 1) q", (QueryColumn(None, ORDERS),)),
        (
            "(SELECT b.*, o.id AS key, SUM(o.a) AS total FROM orders o JOIN buyers b ON o.buyer = b.id GROUP BY 1) q",
            (QueryColumn(None, BUYERS), QueryColumn("key", ORDERS, "id"), QueryColumn("total")),
        ),
        ("(SELECT 1 AS one) q", (QueryColumn("one"),)),
        ("(SELECT COUNT(*), a + 1 FROM orders GROUP BY a) q", None),
        ("(CALL something()) q", None),
    ],
)
def test_the_columns_of_a_query_are_those_that_its_text_names(text, columns):
    assert jdbc_columns(POSTGRES, text) == columns


def test_the_parser_does_not_repeat_the_text_in_the_log(caplog):
    """Other callers of sqlglot get their log records, even afterwards."""
    caplog.set_level(logging.DEBUG)

    read("(CALL something('s3cr3t')) q", "id")
    jdbc_tables(POSTGRES, "(CALL something('s3cr3t')) q")
    assert caplog.records == []

    sqlglot.parse_one("CALL something('else')", dialect="postgres")
    assert len(caplog.records) == 1


def test_without_the_parser_the_tables_are_named_and_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "openlineage_pyspark.facets.foreign_sql.reader", raising=False)
    jdbc._parsed.cache_clear()

    found = read("(SELECT o.id FROM public.orders o JOIN public.buyers b ON o.buyer = b.id) q", "id")

    assert names(found) == [ORDERS, BUYERS]
    assert found.columns == {}
    assert found.opaque == "the columns of the SQL text of the JDBC source need sqlglot: pip install sqlglot"
    assert [dataset.identifier for dataset in jdbc_tables(POSTGRES, "(SELECT id FROM public.orders) q")] == [ORDERS]
    assert names(read("public.orders", "id")) == [ORDERS]


def test_the_parser_is_imported_for_a_query_and_not_for_a_table():
    """The parser is large: its import takes processor time of the driver."""
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


def told(url, query, *columns):
    """Return the sources of each column of a query, those whose value is changed with a mark."""
    found = read(f"({query}) q", *columns, url=url)
    assert found.opaque is None
    names = {output: found.columns.get(at, ()) for at, output in enumerate(columns)}
    return {name: sorted(_marked(sources)) for name, sources in names.items()}


def _marked(sources):
    """Yield each source of a value once; those that only decide about the rows of a subquery are left out."""
    kinds = {}
    for each in sources:
        kinds.setdefault(f"{each.dataset.name}.{each.name}", set()).add(each.kind)
    for name, found in kinds.items():
        if found - {UseKind.FILTER, UseKind.JOIN, UseKind.GROUP_BY, UseKind.SORT}:
            yield name if UseKind.IDENTITY in found else f"{name} changed"


def kinds(query, *columns, url="jdbc:postgresql://db/shop"):
    """Return how the sources of each column of a query arrive, and what decides about its rows."""
    found = read(f"({query}) q", *columns, url=url)
    assert found.opaque is None

    def words(sources):
        return sorted(f"{c.name} {c.kind.subtype}{' masked' if c.kind.masking else ''}" for c in sources)

    return {name: words(found.columns.get(at, ())) for at, name in enumerate(columns)}, words(found.rows)


@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        (
            """
            SELECT c.city, sum(o.amount) AS s, count(o.id) AS n FROM o JOIN c ON o.cid = c.id WHERE o.ship > 0
            GROUP BY c.city HAVING sum(o.amount) > 5 ORDER BY s
            """,
            {"city": ["city IDENTITY"], "s": ["amount AGGREGATION"], "n": ["id AGGREGATION masked"]},
            ["amount FILTER", "amount SORT", "cid JOIN", "city GROUP_BY", "id JOIN", "ship FILTER"],
        ),
        (
            "SELECT row_number() OVER (PARTITION BY a ORDER BY b) AS r, sum(c) OVER (PARTITION BY a) AS t FROM o",
            {"r": ["a WINDOW", "b WINDOW"], "t": ["a WINDOW", "c AGGREGATION"]},
            [],
        ),
        (
            "SELECT CASE WHEN a > 1 THEN b ELSE c END AS x, sum(b) FILTER (WHERE a > 2) AS y, md5(c) AS z FROM o",
            {
                "x": ["a CONDITIONAL", "b TRANSFORMATION", "c TRANSFORMATION"],
                "y": ["a CONDITIONAL", "b AGGREGATION"],
                "z": ["c TRANSFORMATION masked"],
            },
            [],
        ),
        (
            "SELECT k + 1 AS k2 FROM (SELECT max(a) AS k, b FROM o WHERE d = 1 GROUP BY b) i WHERE k > 3",
            {"k2": ["a AGGREGATION"]},
            ["a FILTER", "b GROUP_BY", "d FILTER"],
        ),
        (
            "WITH c AS (SELECT a, b FROM o WHERE d = 1) SELECT c.a FROM c JOIN p USING (b)",
            {"a": ["a IDENTITY"]},
            ["b JOIN", "b JOIN", "d FILTER"],
        ),
        (
            "SELECT a AS x, b FROM o GROUP BY 1, 2",
            {"x": ["a IDENTITY"], "b": ["b IDENTITY"]},
            ["a GROUP_BY", "b GROUP_BY"],
        ),
        ("SELECT DISTINCT a, b + 1 AS c FROM o", {"a": ["a IDENTITY"]}, ["a GROUP_BY", "b GROUP_BY"]),
        (
            "SELECT a, (SELECT max(z) FROM u WHERE u.k = o.b) AS m FROM o WHERE EXISTS (SELECT 1 FROM v WHERE w = o.a)",
            {"a": ["a IDENTITY"], "m": ["b FILTER", "k FILTER", "z AGGREGATION"]},
            ["a FILTER", "w FILTER"],
        ),
        (
            "SELECT a FROM o WHERE b > 1 UNION SELECT c FROM p",
            {"a": ["a IDENTITY", "c IDENTITY"]},
            ["a GROUP_BY", "b FILTER", "c GROUP_BY"],
        ),
        (
            "SELECT o.a, g FROM o, generate_series(1, o.n) g",
            {"a": ["a IDENTITY"], "g": ["n TRANSFORMATION"]},
            ["n JOIN"],
        ),
        ("SELECT g.i FROM o, generate_series(o.a, o.b) AS g(i)", {"i": ["a TRANSFORMATION", "b TRANSFORMATION"]}, []),
        ("SELECT o.a, g FROM o, generate_series(1, 3) g", {"a": ["a IDENTITY"], "g": []}, []),
        (
            "SELECT o.a, r.n FROM o LEFT JOIN LATERAL jsonb_to_recordset(o.j) AS r(n text) ON true",
            {"a": ["a IDENTITY"], "n": ["j TRANSFORMATION"]},
            ["j JOIN"],
        ),
        (
            "SELECT DISTINCT ON (o.a, lower(o.b)) a, c AS x FROM o ORDER BY a, d DESC",
            {"a": ["a IDENTITY"], "x": ["c IDENTITY"]},
            ["a GROUP_BY", "a SORT", "b GROUP_BY", "d SORT"],
        ),
        ("SELECT DISTINCT ON (1) a, c AS x FROM o", {"a": ["a IDENTITY"], "x": ["c IDENTITY"]}, ["a GROUP_BY"]),
        ("SELECT a FROM o EXCEPT SELECT c FROM p WHERE d = 1", {"a": ["a IDENTITY"]}, ["a JOIN", "c JOIN", "d FILTER"]),
    ],
)
def test_how_a_column_arrives_and_what_decides_about_the_rows_is_as_in_sparks_own_sql(query, columns, rows):
    found, decides = kinds(query, *columns)
    assert (found, decides) == (columns, rows)


CLICKHOUSE = "jdbc:clickhouse://db/shop"
POSTGRES = "jdbc:postgresql://db/shop"
SNOWFLAKE = "jdbc:snowflake://acc/?db=D&schema=S"


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (
            "SELECT t.id, a FROM t ARRAY JOIN arr AS a",
            {"id": ["shop.t.id"], "a": ["shop.t.arr changed"]},
        ),
        (
            "SELECT a, n FROM t LEFT ARRAY JOIN arr AS a, nums AS n WHERE a > 1",
            {"a": ["shop.t.arr changed"], "n": ["shop.t.nums changed"]},
        ),
        ("SELECT arr FROM t ARRAY JOIN arr", {"arr": ["shop.t.arr changed"]}),
        ("SELECT a FROM t ARRAY JOIN t.arr AS a", {"a": ["shop.t.arr changed"]}),
        ("SELECT x FROM t ARRAY JOIN arrayMap(y -> y + 1, arr) AS x", {"x": ["shop.t.arr changed"]}),
        ("SELECT a FROM (SELECT * FROM t) s ARRAY JOIN s.arr AS a", {"a": ["shop.t.arr changed"]}),
        ("SELECT n.x FROM t ARRAY JOIN nest AS n", {"x": ["shop.t.nest.x changed"]}),
        ("SELECT arrayJoin(arr) AS a FROM t FINAL", {"a": ["shop.t.arr changed"]}),
        (
            "SELECT dictGet('dim', 'name', id) AS n FROM t",
            {"n": ["shop.dim.name changed", "shop.t.id changed"]},
        ),
        (
            "SELECT dictGetOrDefault('dim', ('a', 'b'), tuple(id), 0) AS n FROM t",
            {"n": ["shop.dim.a changed", "shop.dim.b changed", "shop.t.id changed"]},
        ),
        ("SELECT joinGet('dim', 'v', id) AS j FROM t", {"j": ["shop.dim.v changed", "shop.t.id changed"]}),
        ("SELECT a AS y, y + 1 AS z FROM t", {"y": ["shop.t.a"], "z": ["shop.t.a changed"]}),
        ("SELECT sum(x) AS x FROM t", {"x": ["shop.t.x changed"]}),
        (
            "WITH (SELECT max(m) FROM u) AS k SELECT id + k AS v FROM t",
            {"v": ["shop.t.id changed", "shop.u.m changed"]},
        ),
        ("WITH 5 AS k SELECT id, k FROM t", {"id": ["shop.t.id"], "k": []}),
        ("SELECT number FROM numbers(10)", {"number": []}),
    ],
)
def test_clickhouses_own_forms_have_the_columns_that_exist(query, columns):
    assert told(CLICKHOUSE, query, *columns) == columns


@pytest.mark.parametrize(
    ("url", "sql"),
    [
        ("jdbc:sqlserver://db;database=shop", "SELECT o.a, s.v FROM o CROSS APPLY string_split(o.j, ',') s"),
        ("jdbc:snowflake://acc/?db=D&schema=S", "SELECT o.a, f.v FROM o, LATERAL flatten(input => o.j) f"),
    ],
)
def test_a_table_function_returns_as_many_rows_as_its_arguments_decide(url, sql):
    found = read(f"({sql}) q", "a", "v", url=url)
    assert [(column.name.lower(), column.kind) for column in found.rows] == [("j", UseKind.JOIN)]


@pytest.mark.parametrize(
    ("url", "expression", "expected"),
    [
        (POSTGRES, "percentile_cont(0.5) WITHIN GROUP (ORDER BY v)", ["v AGGREGATION"]),
        (POSTGRES, "mode() WITHIN GROUP (ORDER BY v)", ["v AGGREGATION"]),
        ("jdbc:oracle:thin:@h:1/s", "LISTAGG(v, ',') WITHIN GROUP (ORDER BY w)", ["V AGGREGATION", "W CONDITIONAL"]),
        (CLICKHOUSE, "sumIf(v, w > 1)", ["v AGGREGATION", "w CONDITIONAL"]),
        (CLICKHOUSE, "quantileIf(0.5)(v, w)", ["v AGGREGATION", "w CONDITIONAL"]),
        (CLICKHOUSE, "uniqIf(v, w)", ["v AGGREGATION masked", "w CONDITIONAL"]),
        (CLICKHOUSE, "uniqExact(v)", ["v AGGREGATION masked"]),
        (
            CLICKHOUSE,
            "multiIf(a, v, b, w, c)",
            ["a CONDITIONAL", "b CONDITIONAL", "c TRANSFORMATION", "v TRANSFORMATION", "w TRANSFORMATION"],
        ),
        ("jdbc:bigquery://h;ProjectId=p", "ANY_VALUE(v HAVING MAX w)", ["v AGGREGATION", "w CONDITIONAL"]),
    ],
)
def test_an_argument_that_only_decides_is_told_from_the_value_that_is_aggregated(url, expression, expected):
    assert kinds(f"SELECT {expression} AS x FROM t", "x", url=url)[0] == {"x": expected}


@pytest.mark.parametrize(
    ("url", "expression"),
    [
        (POSTGRES, "jsonb_array_length(j->'a')"),
        (POSTGRES, "coalesce(j->'a'->'b', '{}')"),
        (POSTGRES, "jsonb_array_elements(j->'a')->>'b'"),
        (POSTGRES, "lower((j->'a')::text)"),
        ("jdbc:mysql://h/d", "lower(j->'$.a')"),
        ("jdbc:sqlite:/x.db", "upper(j->'$.a')"),
    ],
)
def test_an_arrow_in_the_argument_of_a_function_takes_a_part_of_a_column(url, expression):
    assert told(url, f"SELECT {expression} AS x FROM t", "x")["x"][0].endswith("t.j changed")


@pytest.mark.parametrize(
    ("url", "query", "columns"),
    [
        (POSTGRES, "SELECT row_to_json(t) AS x, t.id FROM t", {"x": None, "id": "id"}),
        (POSTGRES, "SELECT (SELECT json_agg(o) FROM o WHERE o.u = u.id) AS x, u.id FROM u", {"x": None, "id": "id"}),
        (POSTGRES, "SELECT u.id, (SELECT max(row_to_json(u)::text) FROM o) AS x FROM u", {"id": "id", "x": None}),
        (POSTGRES, "SELECT json_agg(DISTINCT t) AS x FROM t", {"x": None}),
        (POSTGRES, "SELECT row_to_json(q) AS x FROM (SELECT id FROM t) q", {"x": "id"}),
        (POSTGRES, "SELECT status FROM status", {"status": "status"}),
        ("jdbc:bigquery://h;ProjectId=p", "SELECT to_json_string(t) AS x, t.id FROM d.t", {"x": None, "id": "id"}),
        (SNOWFLAKE, "SELECT $1 AS x, $2:b AS y FROM @stage/x", {"X": None, "Y": None}),
    ],
)
def test_a_whole_row_and_a_column_by_its_number_are_no_column_of_that_name(url, query, columns):
    found = read(f"({query}) q", *columns, url=url)
    told = {name: next((each.name for each in found.columns.get(at, ())), None) for at, name in enumerate(columns)}
    unknown = [name for name, source in columns.items() if source is None]
    assert told == columns
    gap = f"the SQL text of the JDBC source does not name the columns of {', '.join(unknown)}"
    assert found.opaque == (gap if unknown else None)


@pytest.mark.parametrize(
    "joined",
    [
        "quotes q MATCH_CONDITION (t.ts >= q.ts) ON t.sym = q.sym",
        "(quotes q ASOF JOIN m MATCH_CONDITION (q.ts > m.ts)) MATCH_CONDITION (t.ts >= q.ts) ON t.sym = q.sym",
    ],
)
def test_the_condition_that_finds_the_nearest_row_decides_as_that_of_a_join_does(joined):
    query = f"SELECT t.id, q.bid FROM trades t ASOF JOIN {joined}"
    columns, rows = kinds(query, "id", "bid", url=SNOWFLAKE)
    assert columns == {"id": ["ID IDENTITY"], "bid": ["BID IDENTITY"]}
    assert {"SYM JOIN", "TS JOIN"} == set(rows)


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        *(
            (f"SELECT o.id, f.value:a::string AS v, f.index AS ix FROM orders o, {call} f", ("id", "v", "ix"), "J")
            for call in ("LATERAL FLATTEN(input => o.j)", "TABLE(FLATTEN(input => o.j))", "TABLE(FLATTEN(o.j))")
        ),
        ("SELECT id, value AS v, seq FROM orders, TABLE(FLATTEN(input => parse_json(j)))", ("id", "v", "seq"), "J"),
        ("SELECT id, value AS v, index AS ix FROM orders, LATERAL FLATTEN(j)", ("id", "v", "ix"), "J"),
        ("SELECT id, value AS v, index FROM orders, TABLE(SPLIT_TO_TABLE(j, ','))", ("id", "v", "index"), "J"),
        ("SELECT o.id, t.a, t.b FROM orders o, TABLE(own_function(o.j)) t", ("id", "a", "b"), "J"),
    ],
)
def test_a_table_function_of_snowflake_has_the_columns_that_it_makes_of_its_arguments(sql, columns, rows):
    found = read(f"({sql}) q", *columns, url="jdbc:snowflake://acc/?db=D&schema=S")
    told = {at: [(each.name, each.kind) for each in sources] for at, sources in found.columns.items()}
    made = [("J", UseKind.TRANSFORMATION)]
    assert told == {0: [("ID", UseKind.IDENTITY)], 1: made, 2: made}
    assert ([each.name for each in found.rows], names(found)) == ([rows], [Identifier("snowflake://acc", "D.S.ORDERS")])
    assert found.opaque is None


def test_a_table_function_of_snowflake_without_arguments_may_read_any_table():
    found = read("(SELECT t.c FROM TABLE(own_function(1)) t) q", "c", url="jdbc:snowflake://acc/?db=D&schema=S")
    assert (found.columns, found.opaque) == ({}, "the SQL text of the JDBC source does not name the columns of c")


@pytest.mark.parametrize(
    ("url", "sql", "tables"),
    [
        ("jdbc:postgresql://db/shop", 'SELECT o."Id" AS id FROM "Orders" o', ["shop.public.Orders"]),
        ("jdbc:postgresql://db/shop", 'SELECT id FROM "Sales"."orders"', ["shop.Sales.orders"]),
        (
            "jdbc:postgresql://db/shop",
            'SELECT a.id FROM "Orders" a, Orders b',
            ["shop.public.Orders", "shop.public.orders"],
        ),
        ("jdbc:postgresql://db/shop", 'SELECT id FROM "a.b ""C"', ['shop.public.a.b "C']),
        ("jdbc:derby:memory:shop", 'SELECT "id" FROM "orders"', ["APP.orders"]),
        ("jdbc:snowflake://acc/?db=D&schema=S", 'SELECT id FROM "orders" o', ["D.S.orders"]),
        ("jdbc:mysql://db/shop", "SELECT id FROM `Orders`", ["shop.Orders"]),
        ("jdbc:sqlserver://db;database=shop", "SELECT id FROM [Orders]", ["shop.dbo.Orders"]),
    ],
)
def test_a_quoted_table_of_a_query_has_the_name_that_it_has_outside_queries(url, sql, tables):
    found = read(f"({sql}) q", "id", url=url)
    assert [dataset.name for dataset in names(found)] == tables
    assert {column.dataset.name for column in found.columns[0]} == {tables[0]}


def test_a_cte_hides_a_table_that_is_quoted_too_and_a_changed_table_keeps_its_quotes():
    sql = 'WITH "Q" AS (SELECT id FROM "T"), d AS (DELETE FROM "U" RETURNING id) SELECT id FROM "Q"'
    assert read_query(sql, "postgres").tables == ('"U"', '"T"')


@pytest.mark.parametrize(
    ("url", "query", "columns"),
    [
        ("jdbc:ch:https://db/shop", "SELECT a FROM t ARRAY JOIN arr AS a", {"a": ["shop.t.arr changed"]}),
        ("jdbc:p6spy:clickhouse://db/shop", "SELECT a FROM t ARRAY JOIN arr AS a", {"a": ["shop.t.arr changed"]}),
        ("jdbc:aws-wrapper:mysql://db/shop", "SELECT `a b` AS a FROM t", {"a": ["shop.t.a b"]}),
    ],
)
def test_a_query_is_in_the_sql_of_the_database_behind_a_wrapping_driver_or_another_name(url, query, columns):
    assert told(url, query, *columns) == columns


def test_a_dictionary_in_a_condition_is_an_input():
    found = read("(SELECT id FROM t WHERE dictGet('dim', 'x', id) = 1) q", "id", url=CLICKHOUSE)
    assert [dataset.name for dataset in names(found)] == ["shop.t", "shop.dim"]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT x FROM (SELECT amount * 2 AS x FROM orders) i", {"x": ["shop.public.orders.amount changed"]}),
        ("WITH orders AS (SELECT * FROM orders) SELECT id FROM orders", {"id": ["shop.public.orders.id"]}),
        (
            "WITH RECURSIVE t AS (SELECT id, 1 AS n FROM a UNION ALL SELECT t.id, t.n + b.x FROM t, b) SELECT * FROM t",
            {"id": ["shop.public.a.id"], "n": ["shop.public.b.x changed"]},
        ),
        (
            "WITH RECURSIVE t AS (WITH c AS (SELECT x FROM a) SELECT x FROM (SELECT x FROM c) UNION SELECT 1) SELECT x FROM t",  # noqa: E501 (one query)
            {"x": ["shop.public.a.x"]},
        ),
        (
            "WITH i(a, b) AS (SELECT x, y FROM t) SELECT a, (SELECT max(z) FROM u WHERE u.k = i.a) AS m FROM i",
            {"a": ["shop.public.t.x"], "m": ["shop.public.u.z changed"]},
        ),
        (
            "SELECT id, a.x FROM a JOIN b USING (id)",
            {"id": ["shop.public.a.id"], "x": ["shop.public.a.x"]},
        ),
        (
            "SELECT l.e FROM t CROSS JOIN LATERAL (SELECT c.a + t.b AS e FROM c) l",
            {"e": ["shop.public.c.a changed", "shop.public.t.b changed"]},
        ),
        ("SELECT u.e FROM t CROSS JOIN LATERAL unnest(t.arr) AS u(e)", {"e": ["shop.public.t.arr changed"]}),
        (
            "SELECT *, a + b AS c FROM t",
            {
                "a": ["shop.public.t.a"],
                "b": ["shop.public.t.b"],
                "c": ["shop.public.t.a changed", "shop.public.t.b changed"],
            },
        ),
        ("SELECT a.*, b.z FROM a JOIN b ON a.i = b.i", {"i": ["shop.public.a.i"], "z": ["shop.public.b.z"]}),
        ("SELECT s1.t.id, s2.t.x FROM s1.t, s2.t", {"id": ["shop.s1.t.id"], "x": ["shop.s2.t.x"]}),
        ("SELECT c FROM a EXCEPT SELECT d FROM b", {"c": ["shop.public.a.c"]}),
        ("SELECT x.a, g FROM generate_series(1, 3) g, t x", {"a": ["shop.public.t.a"], "g": []}),
        ("SELECT count(*) AS n, s.v FROM t, (VALUES (1)) AS s(v)", {"n": [], "v": []}),
    ],
)
def test_a_column_is_followed_to_the_tables_through_what_is_between(query, columns):
    assert told("jdbc:postgresql://db/shop", query, *columns) == columns


@pytest.mark.parametrize(
    ("url", "query", "columns"),
    [
        ("jdbc:oracle:thin:@db:1521/shop", "SELECT id, rownum AS r FROM o, dual", {"ID": ["shop.O.ID"], "R": []}),
        (
            "jdbc:derby:memory:shop",
            'SELECT id, "note" FROM orders',
            {"ID": ["APP.ORDERS.ID"], "note": ["APP.ORDERS.note"]},
        ),
        ("jdbc:sqlserver://db;databaseName=s", "SELECT x = a + 1 FROM dbo.t", {"x": ["s.dbo.t.a changed"]}),
        ("jdbc:trino://db/s", "SELECT t.s.f AS a FROM t", {"a": ["s.t.s changed"]}),
    ],
)
def test_a_name_means_what_it_means_in_that_database(url, query, columns):
    assert told(url, query, *columns) == columns


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM a JOIN b ON a.id = b.id",
        "SELECT * FROM a UNION ALL SELECT * FROM b",
        "SELECT id AS x FROM a JOIN b ON a.i = b.i JOIN c USING (id)",
        "SELECT x FROM remote('host', db.t)",
        "SELECT missing.x FROM a",
    ],
)
def test_a_column_that_could_be_in_more_than_one_place_has_no_source_and_that_is_said(query):
    found = read(f"({query}) q", "x")
    assert found.columns == {}
    assert found.opaque == "the SQL text of the JDBC source does not name the columns of x"


def test_what_spark_puts_before_the_query_belongs_to_it():
    found = read("(SELECT id FROM t) q", "id", prepare="WITH t AS (SELECT id FROM public.orders) ")
    assert names(found) == [ORDERS]
    assert found.columns == {0: (Column(ORDERS, "id"),)}


def test_whatever_may_stand_after_from_is_read_and_not_only_a_name():
    found = read("public.orders o JOIN public.buyers b ON o.buyer = b.id", "id")
    assert names(found) == [ORDERS, BUYERS]
    assert read('public."orders"', "id").columns == {0: (Column(ORDERS, "id"),)}


@pytest.mark.parametrize(
    "text",
    [
        "(SELECT 1 AS x FROM (public.orders o JOIN z ON o.id = (SELECT max(id) FROM public.buyers))) q",
        "(SELECT 1 AS x FROM ((SELECT id FROM public.orders) o JOIN public.buyers b ON true JOIN z ON true)) q",
    ],
)
def test_all_that_is_joined_in_brackets_is_an_input(text):
    assert {identifier.name for identifier in names(read(text, "x"))} == {
        "shop.public.orders",
        "shop.public.buyers",
        "shop.public.z",
    }


def test_a_query_that_was_cut_is_no_name_of_a_table():
    """The tables in the beginning are read. The last name may have been cut."""
    text = CutText("(SELECT o.id, b.name FROM public.orders o JOIN public.buyers b JOIN public.ord...")
    found = read(text, "id", "name")
    assert names(found) == [ORDERS, BUYERS]
    assert found.columns == {}
    assert found.opaque == "the SQL text of the JDBC source is too long: only its beginning was read"
    assert [dataset.identifier for dataset in jdbc_tables(POSTGRES, text)] == [ORDERS, BUYERS]


def test_a_name_that_was_cut_is_no_name_of_a_table():
    assert names(read(CutText("public.orders..."), "id")) == []


@pytest.mark.parametrize("text", ["(SELECT id FROM public.orders WHERE name = 'abc", "(SELECT id FROM public.orders o"])
def test_a_bracket_that_is_not_closed_is_no_name_of_a_table(text):
    found = read(text, "id")
    assert names(found) == [ORDERS]
    assert found.columns == {}
    assert found.opaque == "the SQL text of the JDBC source could not be parsed"


@pytest.mark.parametrize(
    "text",
    [
        "(SELECT " + "(" * 100 + "id" + ")" * 100 + " AS id FROM public.orders) q",
        "(SELECT " + "CASE WHEN id = 1 THEN " * 120 + "1" + " END" * 120 + " AS id FROM public.orders) q",
        "(SELECT " + "f(" * 500 + "id" + ")" * 500 + " AS id FROM public.orders) q",
        "(" + "SELECT id FROM (" * 300 + "SELECT id FROM public.orders" + ") i" * 300 + ") q",
    ],
)
def test_a_query_that_is_nested_too_deeply_still_tells_its_tables(text):
    found = read(text, "id")
    assert names(found) == [ORDERS]
    assert found.opaque == "the SQL text of the JDBC source could not be parsed"


def computed(columns):
    return ", ".join(f"a.c{n} * b.d{n} + coalesce(a.e{n}, {n}) AS x{n}" for n in range(columns))


@pytest.mark.slow
def test_hundreds_of_computed_columns_have_their_sources():
    names = [f"x{n}" for n in range(600)]
    found = told("jdbc:mysql://db/s", f"SELECT {computed(600)} FROM a JOIN b ON a.id = b.id", *names)
    assert found == {f"x{n}": [f"s.a.c{n} changed", f"s.a.e{n} changed", f"s.b.d{n} changed"] for n in range(600)}


def effort(query):
    """Return how many functions are called to read a query."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read_query(query, "postgres")
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "query",
    [
        lambda size: f"SELECT {computed(size)} FROM a JOIN b ON a.id = b.id",
        lambda size: " UNION ALL ".join(["SELECT a, b FROM t"] * size),
        lambda size: "SELECT " + " + ".join(["a"] * size) + " AS x FROM t",
        lambda size: (
            "WITH c0 AS (SELECT a FROM t)"
            + "".join(f", c{n} AS (SELECT x.a + y.a AS a FROM c{n - 1} x, c{n - 1} y)" for n in range(1, size))
            + f" SELECT a FROM c{size - 1}"
        ),
    ],
)
def test_the_effort_grows_with_the_length_of_the_query_and_no_faster(query):
    effort(query(10))
    assert effort(query(80)) < 2.5 * effort(query(40))


def test_a_query_beyond_the_limits_tells_its_tables_alone():
    text = f"(SELECT {computed(1)}, '{'x' * MOST_CHARACTERS}' AS y FROM public.orders a JOIN public.buyers b ON true) q"
    found = read(text, "x0", "y")
    assert names(found) == [ORDERS, BUYERS]
    assert found.columns == {}
    assert found.opaque == "the SQL text of the JDBC source is too large to be read"


def test_many_columns_that_are_not_told_are_counted():
    columns = [f"c{n:03}" for n in range(30)]
    found = read(f"(SELECT {', '.join(columns)} FROM a, b) q", *columns)
    shown = ", ".join(columns[:20])
    assert found.opaque == f"the SQL text of the JDBC source does not name the columns of {shown} and 10 others"


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ("OVER (PARTITION BY paid ORDER BY day)", {"amount", "paid", "day"}),
        ("OVER w FROM orders WINDOW w AS (PARTITION BY paid)", {"amount", "paid"}),
        ("OVER (w ORDER BY day) FROM orders WINDOW W AS (PARTITION BY paid)", {"amount", "paid", "day"}),
        ("OVER v FROM orders WINDOW w AS (PARTITION BY paid), v AS (w ORDER BY day)", {"amount", "paid", "day"}),
    ],
)
def test_what_a_window_reads_counts_wherever_it_is_defined(windows: str, expected: set[str]) -> None:
    text = f"SELECT sum(amount) {windows}" + ("" if "FROM" in windows else " FROM orders")
    (item,) = read_query(text, "postgres").items
    assert item.sources == {("orders", name): False for name in expected}


def test_windows_that_name_each_other_are_refused() -> None:
    with pytest.raises(UnreadableError):
        read_query("SELECT sum(x) OVER a FROM t WINDOW a AS (b), b AS (a)", "postgres")


def test_a_query_over_jdbc_passes_on_what_its_text_does():
    """What Spark computes of its columns comes on top, and what decides about its rows decides about the result's."""
    text = "(SELECT c, sum(a) AS s FROM o WHERE d = 1 GROUP BY c) q"
    relation = Described(f"{JDBC}.JDBCRelation", {"url": "jdbc:postgresql://db/shop", "table": text})
    leaf = Operator(
        "LogicalRelation", f"{SOURCES}.LogicalRelation", {"relation": relation}, (Output(1, "c"), Output(2, "s"))
    )
    kept = Operator("Filter", f"{LOGICAL}.Filter", {"condition": AttributeRef(2), "child": OperatorRef(1)}, leaf.output)
    plan = Plan((kept, leaf), (), {1: Attribute("c", "string"), 2: Attribute("s", "int")})
    found = lineage_of_plan(plan, Session("file:/warehouse"))

    def words(edges):
        return sorted(f"{e.dataset.name}.{e.field} {t.subtype}" for e in edges for t in e.transformations)

    assert {column.name: words(column.edges) for column in found.columns.columns} == {
        "c": ["shop.public.o.c IDENTITY"],
        "s": ["shop.public.o.a AGGREGATION"],
    }
    assert words(found.columns.dataset) == [
        "shop.public.o.a FILTER",
        "shop.public.o.c GROUP_BY",
        "shop.public.o.d FILTER",
    ]
    assert found.gaps == ()


@pytest.mark.parametrize(
    ("sql", "url", "texts"),
    [
        ('SELECT upper("Name") AS n FROM "Orders"', POSTGRES, {"n": "UPPER(Orders.Name)"}),
        (
            "SELECT USER_ID, SUM(AMOUNT) AS TOTAL, COUNT(*) C FROM ORDERS WHERE CITY = 3 GROUP BY USER_ID",
            "jdbc:derby:memory:shop",
            {"TOTAL": "SUM(ORDERS.AMOUNT)", "C": "COUNT(*)"},
        ),
        (
            "SELECT q.t * 2 AS u, t FROM (SELECT sum(a) AS t FROM public.orders) q",
            POSTGRES,
            {"u": "(SUM(public.orders.a) * 2)", "t": "SUM(public.orders.a)"},
        ),
        ("SELECT a FROM orders UNION ALL SELECT b + 1 FROM buyers", POSTGRES, {}),
        ("SELECT (SELECT max(b) FROM buyers) AS m FROM orders", POSTGRES, {}),
        (f"SELECT {' + '.join(['a'] * 2000)} AS long FROM orders", POSTGRES, {}),
    ],
)
def test_a_column_of_a_query_has_its_expression_in_terms_of_the_columns_of_tables(sql, url, texts):
    columns = [item.name for item in read_query(sql, None).items]
    names_ = [name.upper() if "derby" in url else name for name in columns]
    found = read(f"({sql}) q", *names_, url=url)
    assert {names_[id_]: text for id_, text in found.texts.items()} == texts


def test_what_a_query_over_jdbc_tells_is_taken_from_its_text_and_what_a_table_tells_is_exact():
    assert read("(SELECT a FROM orders) q", "a").certainty is Certainty.TEXT
    assert read("public.orders", "a").certainty is Certainty.EXACT


def test_an_edge_through_a_query_over_jdbc_has_its_text_and_its_certainty():
    relation = Described(
        f"{JDBC}.JDBCRelation",
        {"url": "jdbc:postgresql://db/shop", "table": "(SELECT sum(a) AS t FROM orders WHERE b > 1) q"},
    )
    leaf = Operator("LogicalRelation", f"{SOURCES}.LogicalRelation", {"relation": relation}, (Output(1, "t"),))
    found = lineage_of_plan(Plan((leaf,), (), {1: Attribute("t", "int")}), Session("file:/warehouse"))
    edges = [*found.columns.columns[0].edges, *found.columns.dataset]
    assert [(each.field, each.transformations[0].subtype, each.transformations[0].description) for each in edges] == [
        ("a", "AGGREGATION", "SUM(orders.a)"),
        ("b", "FILTER", ""),
    ]
    assert [each.certainty for each in edges] == [Certainty.TEXT, Certainty.TEXT]


@given(st.text("ab'\"\\$`-/* ", max_size=12), st.sampled_from(["postgres", "mysql", "tsql", "oracle", "derby"]))
def test_a_string_in_the_text_of_a_column_ends_where_spark_takes_it_to_end(secret, dialect):
    quoted = "'" + secret.replace("'", "''").replace("\\", "\\\\" if dialect == "mysql" else "\\") + "'"
    query = read_query(f"SELECT concat(x, {quoted}, y) AS c FROM t", dialect)
    (text,) = query.texts(("c",))
    strings = [token for token in tokens(text) if token.kind is TokenKind.STRING]
    rest = "".join(token.text for token in tokens(text) if token.kind is not TokenKind.STRING)
    assert len(strings) <= 1
    assert set(rest) & set("'\"\\$`") == set()


def test_a_place_that_no_column_has_is_no_key() -> None:
    """`ORDER BY 0` is no column from the end."""
    found = read("(SELECT a, b FROM t ORDER BY 0) q", "a", "b")
    assert found.rows == ()
