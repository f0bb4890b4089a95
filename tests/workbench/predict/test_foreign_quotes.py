"""Names that other engines write in double quotes or brackets are names, and strings stay strings."""

from __future__ import annotations

import pytest
from openlineage_pyspark.workbench.predict.from_text.reading import read_statement
from openlineage_pyspark.workbench.predict.sql.foreign_quotes import (
    NAMES_IN_BACKQUOTES,
    NAMES_IN_DOUBLE_QUOTES,
    in_quotes_of,
    recognized,
    with_backquotes,
)
from openlineage_pyspark.workbench.predict.sql.statements import statements_of


@pytest.mark.parametrize("dialect", ["snowflake", "postgres", "redshift", "oracle", "tsql", "trino", "teradata"])
def test_a_name_in_double_quotes_is_a_source_and_no_constant(dialect: str) -> None:
    (statement,) = statements_of('SELECT "Total Amount" AS n FROM orders', "f.sql", dialect)
    assert statement.text == "SELECT `Total Amount` AS n FROM orders"
    ((columns),) = [each.columns for each in read_statement(statement.text, None, dialect) or ()]
    assert [(name.lower(), list(sources or ())) for name, sources in columns] == [("n", [("orders", "Total Amount")])]


@pytest.mark.parametrize("dialect", ["", "bigquery", "databricks", "hive", "mysql", "spark", "no-such-dialect"])
def test_a_string_in_double_quotes_stays_one(dialect: str) -> None:
    text = 'SELECT "Total Amount" AS n, "it\'s" AS m, map["k"] FROM orders WHERE a IS DISTINCT FROM "x"'
    assert [each.text for each in statements_of(text, "f.sql", dialect)] == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT q'[it's; x]' FROM t", ["SELECT  '[it s; x]' FROM t"]),
        ("SELECT Q'!y;!' FROM t; SELECT nq'{a}b'c}' FROM t", ["SELECT  '!y;!' FROM t", "SELECT   '{a}b c}' FROM t"]),
        ("SELECT 'q'[0], 'q''[;' FROM t -- it's q'[;\n;SELECT ']'", ["SELECT 'q'[0], 'q''[;' FROM t", "SELECT ']'"]),
        ("SELECT \"it's q'[a]'\" FROM faq", ["SELECT \"it's q'[a]'\" FROM faq"]),
    ],
)
def test_a_string_of_oracle_ends_at_its_own_mark(text: str, expected: list[str]) -> None:
    assert [each.text for each in statements_of(text, "f.sql")] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DECLARE @a INT\nSELECT [b] FROM t", "tsql"),
        ("SET NOCOUNT ON\nSELECT 1", "tsql"),
        ("SELECT 1\nGO -- all\nSELECT 2", "tsql"),
        ("SELECT go\nFROM t", ""),
        ("SELECT 1\nGO\nSELECT 2", "tsql"),
        ("SELECT 1\nGO", "tsql"),
        ("SELECT a FROM [dbo].[t]", "tsql"),
        ("SELECT a FROM [t]", "tsql"),
        ("SELECT a FROM b -- (\nJOIN [t] ON 1 = 1", "tsql"),
        ("CREATE TABLE\n[t] (a INT)", "tsql"),
        ("UPDATE [t] SET a = 1", "tsql"),
        ("SELECT 1\nGO\n{% if x %}\nSELECT 2", "tsql"),
        ('SELECT a FROM {{ x }}."y"', "unknown"),
        ('INSERT INTO "t" FROM @stage', "unknown"),
        ("-- DECLARE @a\nSELECT 'SET NOCOUNT ON', go\nFROM t", ""),
        ("SELECT 'a\nGO\nb', \"x\" FROM t", ""),
        ('SELECT a."b" FROM t', "unknown"),
        ('SELECT "a"."b" FROM t', "unknown"),
        ('SELECT a FROM "t" WHERE b = 1', "unknown"),
        ('INSERT INTO "t" SELECT 1', "unknown"),
        ('SELECT trim(BOTH FROM "t"), a IS DISTINCT FROM "x" FROM t', ""),
        ('COPY INTO t FROM "s3://lake/x"', ""),
        ("SELECT a['k'], map[\"k\"], array(1)[0] FROM t", ""),
        ('SELECT \'JOIN "t"\' FROM t -- FROM "t"', ""),
        ('SELECT date_trunc(d) AS "Month", sum(v) AS s FROM t GROUP BY "Month"', "unknown"),
    ],
)
def test_a_dialect_is_recognized_by_what_spark_does_not_have(text: str, expected: str) -> None:
    assert recognized(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        # A column called GO is on a line of its own.
        'SELECT\n  a,\n  go\nFROM t WHERE b = "c"',
        'SELECT\n  go\n, b FROM t WHERE b = "c"',
        'SELECT a AS\n  go\nFROM t WHERE b = "c"',
        'SELECT a, "x" AS b FROM t ORDER BY\n  go\n',
        'SELECT a FROM t WHERE b = "c" AND\ngo\n',
        # FROM has other white space, or is that of a command.
        'SELECT a FROM t WHERE b IS NOT DISTINCT\n   FROM "x"\n AND c = "d"',
        'SELECT a FROM t WHERE b IS DISTINCT /* as */  FROM "x" AND c = "d"',
        'IMPORT TABLE t FROM "x";\nSELECT a FROM t WHERE b = "c"',
        'COPY INTO t FROM "x" FILEFORMAT = CSV',
        # A column or an option has the name of a kind.
        'SELECT view[k], t.table[k], t.from[k], update [k], "x" AS l FROM t',
        'CREATE VIEW v USING org.apache.spark.sql.cassandra OPTIONS (table "words", keyspace "test")',
        'CREATE TABLE t USING s OPTIONS (\n  url "x",\n  table "y", s.view "z", from "a", into "b" )',
        'SELECT CASE WHEN c = "TRY" THEN a END try FROM t',
        # Templates and comments have any signs.
        '{# It\'s the "x". #}\nSELECT a FROM t WHERE b = "c"',
        '{% set p = "a,b".split(",") %}\nSELECT a FROM t WHERE b = "c"',
        '{% from "macros" import x %}\nSELECT a FROM t WHERE b = "c"',
        'SELECT a FROM {{ "x".lower() }} WHERE b = "{{ var("c") ~ "." ~ "d" }}"',
        '# the "x". Or FROM "y"\nSELECT a FROM t WHERE b = "c"',
        '# don\'t\nSELECT a FROM t WHERE b = \'"x".y\' AND c = "d"',
        # BigQuery has further strings, functions after strings, and names.
        'CREATE FUNCTION f() RETURNS STRING LANGUAGE js AS """\n return "a".length + "[dbo].[x]";\n"""',
        'CREATE TABLE t (a INT64 OPTIONS(description="""It\'s the "x". a"""))',
        'SELECT "Two birds".REPLACE("birds", "dogs"), (x).STRPOS("y") FROM t',
        'RAISE USING MESSAGE = FORMAT("Wrong: %s", @@error.message)',
        'SELECT a FROM [p:d.t] WHERE b = "c"',
        'SELECT 1. "x" FROM t',
        'SELECT a AS "x", b FROM t WHERE b = "y" ORDER BY "x"',
        'SELECT a AS "x" FROM t ORDER BY "y"',
    ],
)
def test_no_dialect_is_recognized_by_what_spark_hive_bigquery_or_templates_have(text: str) -> None:
    assert recognized(text) == ""
    assert with_backquotes(text) == text


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("postgres", 'SELECT "a""b" AS "c`d", 1', 'SELECT `a"b`  AS `c``d`, 1'),
        ("postgres", 'SELECT \'"a"\', /* "b" */ "c" -- "d"', 'SELECT \'"a"\', /* "b" */ `c` -- "d"'),
        ("postgres", "SELECT 'C:\\', \"a\"", "SELECT 'C:/', `a`"),
        ("snowflake", 'SELECT \'it\\\'s "x"\', "a"', "SELECT 'it\\'s \"x\"', `a`"),
        ("snowflake", 'AS $$ SELECT "a", \'b $$; SELECT "c"', "AS $$ SELECT `a`, 'b $$; SELECT `c`"),
        ("snowflake", 'CREATE TABLE t (a INT COMMENT "b")', 'CREATE TABLE t (a INT COMMENT "b")'),
        ("snowflake", 'SELECT {{ ref("a") }}, {% x "b" %} "c"', 'SELECT {{ ref("a") }}, {% x "b" %} `c`'),
        (
            "",
            """{{ config(hook='{{ m(a = \\'["x"]\\', b = "y") }}') }} SELECT t."from" {{ it's }} FROM t""",
            """{{ config(hook='{{ m(a = \\'["x"]\\', b = "y") }}') }} SELECT t.`from` {{ it's }} FROM t""",
        ),
        ("tsql", 'SELECT [a]]b], [O\'Brien], "c"', "SELECT `a]b` , `O'Brien`, `c`"),
        ("tsql", 'SET QUOTED_IDENTIFIER OFF SELECT [a], "c"', 'SET QUOTED_IDENTIFIER OFF SELECT `a`, "c"'),
        ("trino", 'SELECT a[1], "b"[2]', "SELECT a[1], `b`[2]"),
    ],
)
def test_names_have_backquotes_and_positions_stay(dialect: str, text: str, expected: str) -> None:
    assert with_backquotes(text, dialect) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'CREATE TABLE `a` AS SELECT "x;" FROM `b`; INSERT INTO "S"."T" SELECT "c" FROM "U"; SELECT "q" FROM t',
            'CREATE TABLE `a` AS SELECT "x;" FROM `b`; INSERT INTO `S`.`T` SELECT `c` FROM `U`; SELECT "q" FROM t',
        ),
        # A comment is no sign of another engine.
        ('INSERT INTO "S"."T" SELECT "c"; SELECT "q" -- `x`', "INSERT INTO `S`.`T` SELECT `c`; SELECT `q` -- `x`"),
    ],
)
def test_in_a_file_of_several_engines_each_statement_has_its_own_quotes(text: str, expected: str) -> None:
    assert with_backquotes(text) == expected


def test_a_parser_of_another_dialect_gets_its_own_quotes() -> None:
    assert in_quotes_of("SELECT `a\"b`, `c``d`, '`e`'", "postgres") == 'SELECT "a""b", "c`d", \'`e`\''
    assert in_quotes_of("SELECT `a]b`, `c`", "tsql") == "SELECT [a]]b], [c]"
    assert in_quotes_of("SELECT `a`", "mysql") == "SELECT `a`"


def test_the_dialects_are_those_of_sqlglot() -> None:
    dialects = pytest.importorskip("sqlglot.dialects.dialect")
    names = {each.value for each in dialects.Dialects if each.value}
    quotes = {name: dialects.Dialect.get(name).tokenizer_class.IDENTIFIERS for name in names}
    assert names & NAMES_IN_DOUBLE_QUOTES == {name for name in names if '"' in quotes[name]}
    assert names & NAMES_IN_BACKQUOTES == {name for name in names if "`" in quotes[name]}


def test_a_file_of_another_engine_has_no_silent_constant() -> None:
    text = 'SELECT "Name" AS n FROM a; INSERT INTO "S"."B" SELECT "Key" FROM a'
    found = [each.columns for one in statements_of(text, "f.sql") for each in read_statement(one.text) or ()]
    assert [[(name, list(sources or ())) for name, sources in columns] for columns in found] == [
        [("n", [("a", "Name")])],
        [("Key", [("a", "Key")])],
    ]


def test_a_statement_with_strings_in_double_quotes_is_not_read_in_a_dialect_that_has_names_there() -> None:
    # Only BigQuery knows this form of an array.
    text = 'SELECT "b" AS n, ARRAY<STRUCT<INT64>>[STRUCT(1)] AS m FROM `p.d.t` QUALIFY TRUE'
    found = [dict(each.columns)["n"] for each in read_statement(text) or ()]
    assert found == [{}]


def test_a_statement_of_sql_server_with_names_in_brackets_is_read() -> None:
    (_, statement) = statements_of("SET NOCOUNT ON\nUPDATE [t t] SET [a b] = [c d] OUTPUT inserted.x", "f.sql")
    (found,) = read_statement(statement.text) or ()
    assert (found.target, found.tables) == ("`t t`", ("`t t`",))
