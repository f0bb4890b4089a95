"""A file is split into the statements that Spark would take one by one."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.workbench.predict.from_text.reading import Known, read_statement
from openlineage_pyspark.workbench.predict.sql.headers import plainly_created
from openlineage_pyspark.workbench.predict.sql.inline_tables import with_queries_of_values
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement, statements_of
from openlineage_pyspark.workbench.predict.sql.variables import UnknownVariableError, placeheld, substituted
from openlineage_pyspark.workbench.predict.tables.words import before_default, default_in

SCRIPT = """\
BEGIN
  DECLARE x INT DEFAULT 0;
  IF CASE WHEN x > 1 THEN true ELSE false END THEN
    INSERT INTO b SELECT 2;
  ELSEIF x = 3 THEN DELETE FROM b;
  ELSE
    again: WHILE x < 3 DO INSERT INTO c SELECT CASE WHEN a THEN 1 END FROM d; END WHILE again;
  END IF;
  REPEAT UPDATE e SET a = 1; UNTIL x > 3 END REPEAT;
  BEGIN SELECT 1; END;
  CASE x WHEN 1 THEN SELECT 2; ELSE SELECT 3; END CASE;
  FOR r AS SELECT * FROM q DO INSERT INTO z VALUES (1); FOR TABLE p DO SELECT r.a; END FOR; END FOR;
END;
SELECT 4
"""


def texts(text: str) -> list[str]:
    return [each.text for each in statements_of(text, "f.sql")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ';' AS a; SELECT \";\"", ["SELECT ';' AS a", 'SELECT ";"']),
        ("SELECT `a;b` FROM t; -- ; no\nSELECT 1", ["SELECT `a;b` FROM t", "SELECT 1"]),
        ("SELECT 1 /* ; /* ; */ ; */ AS a;", ["SELECT 1 /* ; /* ; */ ; */ AS a"]),
        ("SELECT r'\\'; SELECT 'it''s; \\'; fine'", ["SELECT r'\\'", "SELECT 'it''s; \\'; fine'"]),
        (";;\n-- nothing\n;", []),
        ("SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]),
        ("BEGIN TRANSACTION; SELECT 1; END", ["BEGIN TRANSACTION", "SELECT 1", "END"]),
        (
            "SELECT CASE WHEN a THEN b END FROM begin; SELECT 2",
            ["SELECT CASE WHEN a THEN b END FROM begin", "SELECT 2"],
        ),
    ],
)
def test_only_a_semicolon_between_statements_ends_one(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_the_statements_of_a_script_are_taken_one_by_one() -> None:
    found = statements_of(SCRIPT, "f.sql")
    assert [(each.text, each.in_script) for each in found] == [
        ("DECLARE x INT DEFAULT 0", True),
        ("INSERT INTO b SELECT 2", True),
        ("DELETE FROM b", True),
        ("INSERT INTO c SELECT CASE WHEN a THEN 1 END FROM d", True),
        ("UPDATE e SET a = 1", True),
        ("SELECT 1", True),
        ("SELECT 2", True),
        ("SELECT 3", True),
        ("SELECT * FROM q", True),
        ("INSERT INTO z VALUES (1)", True),
        ("TABLE p", True),
        ("SELECT r.a", True),
        ("SELECT 4", False),
    ]


def test_a_statement_knows_the_loops_around_it() -> None:
    found = {each.text: [(loop.variable, loop.query) for loop in each.loops] for each in statements_of(SCRIPT, "f.sql")}
    outer = ("r", "SELECT * FROM q")
    assert {text: loops for text, loops in found.items() if loops} == {
        "INSERT INTO z VALUES (1)": [outer],
        "TABLE p": [outer],
        "SELECT r.a": [outer, ("", "TABLE p")],
    }


def test_each_statement_knows_its_place() -> None:
    first, second = statements_of("-- a\n\n  SELECT 1;  SELECT\n   x", "f.sql")
    assert (first.line, first.column, second.line, second.column) == (3, 3, 3, 14)
    assert second.place(1, 0) == (3, 14)
    assert second.place(2, 3) == (4, 4)
    assert second.place(None, None) == (3, 14)
    assert first == ScriptStatement("SELECT 1", "f.sql", 3, 3)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("CREATE TABLE a.b USING delta LOCATION 's3://x/as' AS SELECT 1", "AS SELECT 1"),
        ("CREATE OR REPLACE TABLE `a b` PARTITIONED BY (days(ts)) SELECT 1", "SELECT 1"),
        (
            "CREATE TABLE t STORED AS ORC AS WITH x AS (SELECT 1) SELECT * FROM x",
            "AS WITH x AS (SELECT 1) SELECT * FROM x",
        ),
        (
            "CREATE TABLE t ROW FORMAT SERDE 'x' WITH SERDEPROPERTIES ('a'='b') WITH x AS (SELECT 1) TABLE x",
            "WITH x AS",
        ),
        ("CREATE TABLE IF NOT EXISTS t COMMENT 'as select' AS (SELECT 1)", "AS (SELECT 1)"),
    ],
)
def test_how_a_table_is_stored_is_blanked_and_every_position_stays(text: str, kept: str) -> None:
    found = plainly_created(text)
    assert len(found) == len(text)
    assert found[text.index(kept) :] == text[text.index(kept) :]
    words = found[: text.index(kept)].replace("`a b`", "ab").split()
    assert words[-1] in ("a.b", "ab", "t")


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (
            "CREATE TABLE IDENTIFIER('a' || f('.t')) USING delta AS SELECT 1",
            "CREATE TABLE IDENTIFIER('a' || f('.t')) AS",
        ),
        ("CREATE TABLE identifier USING delta AS SELECT 1", "CREATE TABLE identifier AS"),
        ("CREATE TABLE a.identifier (x) AS SELECT 1", "CREATE TABLE a.identifier AS"),
    ],
)
def test_an_expression_that_makes_the_name_stays(text: str, head: str) -> None:
    assert " ".join(plainly_created(text).split()) == f"{head} SELECT 1"


@pytest.mark.parametrize("text", ["CREATE TABLE t (a INT) USING delta", "SELECT 1 AS a", "INSERT INTO t SELECT 1", ""])
def test_a_statement_that_fills_no_new_table_stays(text: str) -> None:
    assert plainly_created(text) == text


def test_a_table_is_created_and_not_replaced() -> None:
    text = "create /* or */ or REPLACE TABLE a.replace USING delta AS SELECT replace(x) FROM create"
    found = plainly_created(text)
    assert found.split() == "CREATE /* or */ TABLE a.replace AS SELECT replace(x) FROM create".split()
    assert len(found) == len(text)
    assert plainly_created("REPLACE TABLE t AS SELECT 1") == "CREATE  TABLE t AS SELECT 1"


def test_handlers_of_a_script_are_passed_over_to_their_statements() -> None:
    script = """BEGIN
DECLARE EXIT HANDLER FOR SQLEXCEPTION, NOT FOUND BEGIN SELECT 1; END;
DECLARE CONTINUE HANDLER FOR SQLSTATE VALUE '22012', my_condition INSERT INTO t SELECT 2;
l: LOOP SELECT 3; IF x THEN LEAVE l; END IF; ITERATE l; END LOOP l;
END; SELECT 4"""
    found = statements_of(script, "f.sql")
    assert [each.text for each in found] == ["SELECT 1", "INSERT INTO t SELECT 2", "SELECT 3", "SELECT 4"]
    assert [each.in_script for each in found] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("DECLARE VARIABLE x STRING DEFAULT f('=')", "DECLARE VARIABLE x STRING"),
        ("DECLARE `default` = 1", "DECLARE `default`"),
        ("DECLARE x /* = */ INT", "DECLARE x /* = */ INT"),
    ],
)
def test_a_variable_is_declared_without_its_value(text: str, declared: str) -> None:
    assert before_default(text) == declared


@pytest.mark.parametrize(
    ("text", "value"),
    [("DECLARE x STRING DEFAULT f('=')", "f('=')"), ("DECLARE x = (SELECT 1)", "(SELECT 1)"), ("DECLARE x INT", "")],
)
def test_the_default_of_a_variable_is_in_the_text(text: str, value: str) -> None:
    assert default_in(text).strip() == value


@pytest.mark.parametrize(
    ("text", "equivalent"),
    [
        ("INSERT INTO t VALUES (x, 'k')", "INSERT INTO t SELECT x, 'k'"),
        ("insert into t (a, values) values (1, 'x'), (session.`X` + 1, 2)",
         "insert into t (a, values) SELECT 1, 'x' UNION ALL SELECT session.`X` + 1, 2"),
        ("WITH q AS (VALUES (x)) INSERT INTO t VALUES -x",
         "WITH q AS (SELECT x AS col1 ) INSERT INTO t SELECT -x"),
        ("INSERT INTO t VALUES (f(1, x), 'a,(b)'), -- x, y\n (array(1, 2)[0], ')' /* , */)",
         "INSERT INTO t SELECT f(1, x), 'a,(b)' UNION ALL SELECT array(1, 2)[0], ')'"),
        ("INSERT INTO t VALUES (x + 1) * 2, (3)", "INSERT INTO t SELECT (x + 1) * 2 UNION ALL SELECT 3"),
        ("INSERT INTO t SELECT * FROM (VALUES (x)) v(a) WHERE a > 1",
         "INSERT INTO t SELECT * FROM (SELECT x AS col1 ) v(a) WHERE a > 1"),
        ("CREATE TABLE t AS SELECT a FROM VALUES (x, 1), (2, 3) AS v(a, b), u",
         "CREATE TABLE t AS SELECT a FROM (SELECT x AS col1, 1 AS col2 UNION ALL SELECT 2, 3) AS v(a, b), u"),
        ("SELECT a FROM u JOIN VALUES x, 2 v(a) ON true",
         "SELECT a FROM u JOIN (SELECT x AS col1 UNION ALL SELECT 2) v(a) ON true"),
        ("SELECT a FROM VALUES x, CASE WHEN 1 = 1 THEN 2 END, 3 AS v(a)",
         "SELECT a FROM (SELECT x AS col1 UNION ALL SELECT CASE WHEN 1 = 1 THEN 2 END UNION ALL SELECT 3) AS v(a)"),
        ("CREATE TABLE t AS VALUES (x), (1) ORDER BY 1",
         "CREATE TABLE t AS SELECT x AS col1 UNION ALL SELECT 1 ORDER BY 1"),
        ("SELECT 1 EXCEPT VALUES (x), (1)", "SELECT 1 EXCEPT (SELECT x AS col1 UNION ALL SELECT 1)"),
        ("MERGE INTO t USING (VALUES (x)) s(i) ON t.i = s.i WHEN NOT MATCHED THEN INSERT (i) VALUES (x)",
         "MERGE INTO t USING (SELECT x AS col1 ) s(i) ON t.i = s.i WHEN NOT MATCHED THEN INSERT (i) VALUES (x)"),
        ("INSERT INTO t VALUES x, INTERVAL '1' DAY", "INSERT INTO t SELECT x UNION ALL SELECT INTERVAL '1' DAY"),
        ("INSERT INTO t VALUES (1, 'x')", None),
        ("INSERT INTO t SELECT x", None),
        ("SELECT t.values, x FROM t", None),
        ("SELECT values, x FROM t", None),
    ],
)  # fmt: skip
def test_values_with_variables_are_read_as_queries(text: str, equivalent: str | None) -> None:
    assert with_queries_of_values(text, {"x"}) == equivalent


def test_a_comment_without_an_end_is_a_statement_so_that_spark_says_what_is_wrong() -> None:
    found = statements_of("SELECT 1;\n/* never closed\nSELECT 2;", "a.sql")
    assert [(each.text, each.line) for each in found] == [("SELECT 1", 1), ("/* never closed\nSELECT 2;", 2)]


def places(text: str) -> list[tuple[int, int, str]]:
    return [(each.line, each.column, each.text) for each in statements_of(text, "f")]


def test_cells_of_a_notebook_end_their_statements() -> None:
    text = """\
-- Databricks notebook source
CREATE TABLE a AS SELECT id FROM src

-- COMMAND ----------

-- MAGIC %python
-- MAGIC x = 1; y = 2

-- COMMAND ----------

-- DBTITLE 1,Second
  SELECT id FROM a;
SELECT 2

-- COMMAND ----------

-- MAGIC %sql SELECT 3
"""
    assert places(text) == [
        (2, 1, "CREATE TABLE a AS SELECT id FROM src"),
        (12, 3, "SELECT id FROM a"),
        (13, 1, "SELECT 2"),
        (17, 15, "SELECT 3"),
    ]


def test_of_a_notebook_in_another_language_the_cells_of_sql_are_read() -> None:
    text = """\
# Databricks notebook source
# MAGIC %md
# MAGIC # Title; SELECT 0

# COMMAND ----------

# DBTITLE 1,First
# MAGIC %sql
# MAGIC CREATE TABLE a AS
# MAGIC   SELECT id FROM src;
# MAGIC
# MAGIC SELECT 1

# COMMAND ----------

x = spark.sql("SELECT 2;")

# COMMAND ----------

# MAGIC %sql SELECT 3
"""
    assert places(text) == [
        (9, 9, "CREATE TABLE a AS\n          SELECT id FROM src"),
        (12, 9, "SELECT 1"),
        (20, 14, "SELECT 3"),
    ]
    scala = text.replace("# ", "// ").replace("#\n", "//\n")
    assert [each[2] for each in places(scala)][-1] == "SELECT 3"


def test_a_border_of_cells_is_a_comment_in_other_files() -> None:
    assert texts("SELECT 1\n-- COMMAND ----------\n+ 1") == ["SELECT 1\n-- COMMAND ----------\n+ 1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ${a} FROM ${hivevar:db}.t", "SELECT 1 FROM mart.t"),
        ("SELECT '${b}' -- ${b}", "SELECT '${b}' -- ${b}"),
        ("SELECT '${a}'", "SELECT '1'"),
        ("SELECT ${deep}", "SELECT mart.x"),
        ("SELECT '${env:HOME}${system:user.home}'", "SELECT '${env:HOME}${system:user.home}'"),
        ("SELECT '${round}'", "SELECT '${round}'"),
        ("SELECT ${empty}1", "SELECT 1"),
    ],
)
def test_a_variable_has_the_value_of_the_session_alone(text: str, expected: str) -> None:
    values = {"a": "1", "db": "mart", "deep": "${db}.x", "round": "${round}", "HOME": "no", "empty": ""}
    assert substituted(text, values.get) == expected


@pytest.mark.parametrize("name", ["b", "env:HOME", "round"])
def test_a_variable_without_a_value_is_named_with_its_place(name: str) -> None:
    with pytest.raises(
        UnknownVariableError, match=f"^the variable {name.rsplit(':', maxsplit=1)[-1]} has no"
    ) as raised:
        substituted(f"SELECT 'x',\n  ${{{name}}}", {"round": "${round}"}.get)
    assert (raised.value.line, raised.value.column) == (2, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT :n, :x FROM t WHERE a = :n AND b IN (:n)", "SELECT 3, 'a.b' FROM t WHERE a = 3 AND b IN (3)"),
        ("SELECT f(x => :n) FROM t WHERE a > :n AND b <> :x", "SELECT f(x => 3) FROM t WHERE a > 3 AND b <> 'a.b'"),
        ("SELECT CAST(a AS MAP<INT, ARRAY<INT>>) RLIKE :x", "SELECT CAST(a AS MAP<INT, ARRAY<INT>>) RLIKE 'a.b'"),
        ("SELECT a:b.c, value :x, a::int, ':n' FROM t", "SELECT a:b.c, value :x, a::int, ':n' FROM t"),
        ("SELECT '{{ x }}' FROM {{ x }} JOIN @x.t", "SELECT 'a.b' FROM a.b JOIN a.b.t"),
        ("SELECT STRUCT<a:INT>, 'it@x', `c@x` FROM t", "SELECT STRUCT<a:INT>, 'it@x', `c@x` FROM t"),
    ],
)
def test_parameters_have_their_values(text: str, expected: str) -> None:
    assert substituted(text, {"n": "3", "x": "a.b"}.get) == expected


NO_VALUES: dict[str, str] = {}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT $1, t.$2 FROM @stage t",
        "SELECT metadata$filename FROM @db.s.stage",
        "SELECT t.a FROM @db.s.stage/2026/ t",
        "SELECT t.a FROM @stage (FILE_FORMAT => 'f', PATTERN => '.*') t",
        "COPY INTO t FROM @stage",
    ],
)
def test_files_of_snowflake_are_no_parameter(text: str) -> None:
    assert substituted(text, NO_VALUES.get) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT :p", "the variable p has no value: set it with --conf p=VALUE"),
        ("SELECT {{ p }}", "the variable p has no value"),
        ("SELECT DATE '${p}'", "the variable p has no value: set it with --conf p=VALUE"),
        ("SELECT a FROM t WHERE b >= timestamp '${p} 00:00:00'", "the variable p has no value"),
        ("SELECT a FROM @p.t", "the variable p has no value"),
        ("SELECT {{ f('p') }}", "the template {{ f('p') }} is not rendered"),
        ("{% if p %} SELECT 1", "the template {% if p %} is not rendered"),
    ],
)
def test_a_parameter_without_a_value_is_said_in_one_way(text: str, said: str) -> None:
    with pytest.raises(UnknownVariableError) as raised:
        substituted(text, NO_VALUES.get)
    assert str(raised.value).startswith(said)
    assert substituted(text, NO_VALUES.get, keeps=True) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT a FROM ${s}.t WHERE y = ${y} AND z = 'k${z}'",
            "SELECT a FROM `${s}`.t WHERE y = NULL AND z = 'k${z}'",
        ),
        ("SELECT a FROM t WHERE b = DATE '${d}'", "SELECT a FROM t WHERE b = NULL       "),
        ("SELECT update '${d}', 'a DATE', '${d}' FROM t", "SELECT update '${d}', 'a DATE', '${d}' FROM t"),
        ("INSERT INTO ${pre}orders SELECT ${c} FROM ${t} u", "INSERT INTO `${pre}orders` SELECT NULL FROM `${t}` u"),
        ("SELECT :a, x FROM @cdm.person WHERE id = @id", "SELECT NULL, x FROM `@cdm`.person WHERE id = NULL"),
        ("SELECT {{ f('a') }} AS x FROM {{ ref('m') }}", "SELECT template(*) AS x FROM `m`"),
        ("SELECT a FROM {{ source('s', 't') }}", "SELECT a FROM `s`.`t`"),
    ],
)
def test_a_variable_without_a_value_is_a_name_or_nothing(text: str, expected: str) -> None:
    assert placeheld(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# don't\nSELECT 1;\nSELECT 2; # it's\n  #standardSQL\nSELECT 3", ["SELECT 1", "SELECT 2", "SELECT 3"]),
        ("SELECT a, # the user's\n  b", ["SELECT a,             \n  b"]),
        ("SELECT a\n# don't\nFROM t", ["SELECT a\n       \nFROM t"]),
        # A table of SQL Server, operators of PostgreSQL, and what a string has.
        ("SELECT a FROM\n#temp", ["SELECT a FROM\n#temp"]),
        ("SELECT a # b, c\n#> d", ["SELECT a # b, c\n#> d"]),
        ("SELECT '\n# a' AS b", ["SELECT '\n# a' AS b"]),
        (
            "\\set ON_ERROR_STOP 1\n\\i other.sql\nCREATE TABLE t AS SELECT 1;\n  \\copy t from 'x'\nSELECT 2",
            ["CREATE TABLE t AS SELECT 1", "SELECT 2"],
        ),
        (".read other.sql\nSELECT t\n.a FROM t", ["SELECT t\n.a FROM t"]),
    ],
)
def test_comments_and_lines_for_clients_are_no_part_of_a_statement(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "FOR p IN (SELECT a FROM q) DO\n  INSERT INTO t SELECT p.a;\nEND FOR;\nSELECT 2",
            ["SELECT a FROM q", "INSERT INTO t SELECT p.a", "SELECT 2"],
        ),
        ("IF x THEN INSERT INTO t SELECT 1; END IF; SELECT 2", ["INSERT INTO t SELECT 1", "SELECT 2"]),
        ("WHILE x < 3 DO DELETE FROM t; END WHILE; SELECT 2", ["DELETE FROM t", "SELECT 2"]),
        (
            "BEGIN\n  DELETE FROM t;\nEXCEPTION WHEN ERROR THEN\n  DELETE FROM u;\nEND;\nSELECT 2",
            ["DELETE FROM t", "DELETE FROM u", "SELECT 2"],
        ),
        # SQL Server has no THEN.
        (
            "IF @x = 1 UPDATE t SET a = CASE WHEN b THEN 1 END; SELECT 2",
            ["IF @x = 1 UPDATE t SET a = CASE WHEN b THEN 1 END", "SELECT 2"],
        ),
    ],
)
def test_a_block_of_another_database_is_taken_apart_as_a_script(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_the_brackets_around_the_query_of_a_loop_are_no_part_of_it() -> None:
    (_, inside) = statements_of("FOR p IN (SELECT a FROM q) DO SELECT p.a; END FOR", "f.sql")
    assert [(each.variable, each.query) for each in inside.loops] == [("p", "SELECT a FROM q")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select {{ a(1) }} {{ b(2) }} from t", "select template(*) , template(*) from t"),
        ("select x as y {{ b(2) }} from t", "select x as y , template(*) from t"),
        ("select max('x') {{ b(2) }} from t", "select max('x') , template(*) from t"),
        ("select distinct {{ b(2) }} from t where {{ c(1) }}", "select distinct template(*) from t where template(*)"),
    ],
)
def test_a_template_behind_a_value_makes_further_columns(text: str, expected: str) -> None:
    assert placeheld(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1\nGO\nINSERT INTO t SELECT 2\ngo 5\nSELECT 3\nGO -- end\n",
         ["SELECT 1", "INSERT INTO t SELECT 2", "SELECT 3"]),
        ("SELECT a\ngo\nFROM t;\nSELECT b,\n  go\n, c FROM t", ["SELECT a\ngo\nFROM t", "SELECT b,\n  go\n, c FROM t"]),
        ("SELECT a FROM s;\nGO\n\n-- next\nDROP VIEW v;\nGO\n/* c */\nSELECT b FROM s",
         ["SELECT a FROM s", "DROP VIEW v", "SELECT b FROM s"]),
        ("SELECT '\nGO\n' AS a /*\nGO\n*/", ["SELECT '\nGO\n' AS a"]),
        ("CREATE VIEW v AS SELECT 1\n/\nDROP TABLE t;\n/\n", ["CREATE VIEW v AS SELECT 1", "DROP TABLE t"]),
        ("SELECT a\n/\nb\n/\n(SELECT c)", ["SELECT a\n/\nb\n/\n(SELECT c)"]),
        ("DELIMITER $$\nSELECT ';', 1;\nSELECT 2$$\nDELIMITER ;\nSELECT 3", ["SELECT ';', 1", "SELECT 2", "SELECT 3"]),
        ("SET DEFINE OFF\nPROMPT it's\nREM it's\nSELECT 1;\n@@b.sql\nSELECT 2;", ["SELECT 1", "SELECT 2"]),
        (":setvar d x\nSELECT 1 AS prompt\n, 2 AS rem", ["SELECT 1 AS prompt\n, 2 AS rem"]),
        (":x\n:o\nSELECT ':1', :n\nFROM t;\n:n -1\n", ["SELECT ':1', :n\nFROM t"]),
        ("SET spark.x = on;\nSET x", ["SET spark.x = on", "SET x"]),
    ],
)  # fmt: skip
def test_lines_of_clients_end_statements(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ("CREATE OR ALTER PROCEDURE dbo.p @a INT AS\nBEGIN\n SET @b = CASE WHEN 1 = 1 THEN 2 END;\n"
            " IF @a = 1\n BEGIN\n  INSERT INTO x SELECT a FROM t\n END\n ELSE INSERT INTO y SELECT a FROM t;\n"
            " WHILE @a < 3 BEGIN DELETE FROM x; END\n UPDATE z SET a = 1;\nEND\nGO\nSELECT 2"),
            [
                "SET @b = CASE WHEN 1 = 1 THEN 2 END",
                "INSERT INTO x SELECT a FROM t",
                "INSERT INTO y SELECT a FROM t",
                "DELETE FROM x",
                "UPDATE z SET a = 1",
                "SELECT 2",
            ],
        ),
        ("BEGIN IF @a = 1 BEGIN SELECT 1; END SELECT 2; END SELECT 3", ["SELECT 1", "SELECT 2", "SELECT 3"]),
        (
            "BEGIN TRY INSERT INTO x SELECT 1; END TRY BEGIN CATCH INSERT INTO y SELECT 1; END CATCH; SELECT 2",
            ["INSERT INTO x SELECT 1", "INSERT INTO y SELECT 1", "SELECT 2"],
        ),
        (
            ("CREATE PROCEDURE p IS\n v INT;\n CURSOR c IS SELECT k FROM q;\nBEGIN\n FOR r IN (SELECT a FROM t) LOOP\n"
            "  INSERT INTO x VALUES (1);\n END LOOP;\n FOR i IN 1..3 LOOP SELECT 2; END LOOP;\n"
            " IF v = 1 THEN SELECT 3; ELSIF v = 2 THEN SELECT 4; END IF;\n"
            "EXCEPTION WHEN OTHERS THEN SELECT 5;\nEND p;\n/\nSELECT 6"),
            [
                "SELECT k FROM q",
                "SELECT a FROM t",
                "INSERT INTO x VALUES (1)",
                "SELECT 2",
                "SELECT 3",
                "SELECT 4",
                "SELECT 5",
                "SELECT 6",
            ],
        ),
        ("CREATE PROC p AS UPDATE x SET a = 1; SELECT 2", ["UPDATE x SET a = 1", "SELECT 2"]),
        ("CREATE TASK k SCHEDULE = '1 m' AS INSERT INTO x SELECT 1; SELECT 2", ["INSERT INTO x SELECT 1", "SELECT 2"]),
        ("CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW INSERT INTO x SELECT 1", ["INSERT INTO x SELECT 1"]),
        (
            "CREATE DEFINER=`a`@`%` EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN DELETE FROM x; END; SELECT 2",
            ["DELETE FROM x", "SELECT 2"],
        ),
        ("BEGIN SELECT a AS end FROM t; SELECT end, b FROM t; END", ["SELECT a AS end FROM t", "SELECT end, b FROM t"]),
        # A function that is one expression or one string, and a table of such a name, are no scripts.
        ("CREATE FUNCTION f() RETURNS INT RETURN SELECT 1; SELECT 2",
         ["CREATE FUNCTION f() RETURNS INT RETURN SELECT 1", "SELECT 2"]),
        ("CREATE PROCEDURE p() AS $$ BEGIN SELECT 1; END $$; SELECT 2",
         ["SELECT 1", "SELECT 2"]),
        ("CREATE TABLE task (begin INT); SELECT 2", ["CREATE TABLE task (begin INT)", "SELECT 2"]),
        ("BEGIN UNTIL x; SELECT 1", ["SELECT 1"]),
        ("CREATE PROCEDURE p AS CURSOR BEGIN FOR", []),
        (
            (
                "CREATE PACKAGE BODY k AS PROCEDURE p IS BEGIN SELECT 1; END p; "
                "PROCEDURE q IS v INT; BEGIN SELECT 2; END; END k;"
            ),
            ["SELECT 1", "SELECT 2", "END k"],
        ),
        # Variables, and tables of SQL Server.
        ("BEGIN SELECT INTO v, r.w a, b FROM t; SELECT INTO STRICT v 'x' || a FROM t; SELECT INTO v FROM t; END",
         ["SELECT             a, b FROM t", "SELECT               'x' || a FROM t", "SELECT INTO v FROM t"]),
        ("BEGIN SELECT a, b INTO v, w FROM t; SELECT a INTO d.t FROM t; SELECT a BULK COLLECT INTO v FROM t; END",
         ["SELECT a, b           FROM t", "SELECT a INTO d.t FROM t", "SELECT a                     FROM t"]),
        ("BEGIN SELECT 1 INTO :v; SELECT a FROM t INTO @v; END", ["SELECT 1", "SELECT a FROM t"]),
        ("BEGIN DECLARE @a INT; SELECT a INTO v FROM t; END", ["DECLARE @a INT", "SELECT a INTO v FROM t"]),
    ],
)  # fmt: skip
def test_the_statements_of_routines_and_blocks_of_other_engines_are_taken_one_by_one(
    text: str, expected: list[str]
) -> None:
    assert texts(text) == expected


def test_a_setting_of_sql_server_ends_with_its_batch() -> None:
    text = "SET ANSI_NULLS ON\nGO\nSET QUOTED_IDENTIFIER ON\nGO\nCREATE TABLE [dbo].[t] (a INT)\nGO\n"
    assert texts(text) == ["SET ANSI_NULLS ON", "SET QUOTED_IDENTIFIER ON", "CREATE TABLE `dbo`.`t` (a INT)"]


@pytest.mark.parametrize(
    "line",
    [
        *("SHOW ERRORS", "show err package body p", "SET LINESIZE 200", "set pages 0 lines 80", "SET SERVEROUTPUT ON"),
        *("!echo it's done;", "!sh ls", "dfs -rm -r /x;"),
    ],
)
def test_the_line_of_a_client_is_no_part_of_the_next_statement(line: str) -> None:
    assert texts(f"SELECT 1;\n{line}\nINSERT INTO t SELECT a FROM s;") == ["SELECT 1", "INSERT INTO t SELECT a FROM s"]


@pytest.mark.parametrize("text", ["SET long = 5", "SELECT a\n!= b", "SET\n  null 1"])
def test_a_statement_that_begins_as_the_line_of_a_client_stays(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize("before", ["SELECT a FROM t ORDER BY", "SELECT a,", "SELECT a FROM t WHERE b AND"])
def test_the_name_go_on_a_line_of_its_own_ends_no_statement(before: str) -> None:
    text = f"{before}\n  go\n"
    assert [each.text for each in statements_of(text, "f.sql")] == [text.rstrip()]


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        pytest.param(
            "oracle",
            "CREATE PACKAGE BODY p AS\ng NUMBER := 1; PROCEDURE a(i NUMBER, j IN DATE) IS v NUMBER(3,1) := f(1, 2);\n"
            "w t.c%TYPE; CURSOR c IS SELECT q FROM u; BEGIN INSERT INTO t SELECT i, j, v, w, c, k FROM s; END;\n"
            "FUNCTION b(k NUMBER) RETURN NUMBER AS BEGIN INSERT INTO t SELECT i, v, k, g FROM s; END;\nEND;\n/\n"
            "CREATE PROCEDURE q AS BEGIN INSERT INTO t SELECT i, g FROM s; END;",
            [("i", "j", "v", "w"), ("g", "k"), ()],
            id="each routine of a package has its own, and those of the package",
        ),
        pytest.param(
            "",
            "CREATE FUNCTION f(date, x int, INOUT y numeric(3,1)) RETURNS int AS $$\nDECLARE\n a int; "
            "b text := 'x;y';\n"
            "BEGIN FOR i IN 1..3 LOOP INSERT INTO t SELECT date, x, y, a, b, i, j FROM s; END LOOP; "
            "END $$ LANGUAGE sql; INSERT INTO t SELECT x FROM s",
            [("a", "b", "i", "x", "y"), ()],
            id="a body in dollar quotes; a parameter may have no name",
        ),
        pytest.param(
            "",
            "DECLARE a, b INT64 DEFAULT 1; DECLARE OR REPLACE VARIABLE `c` STRING; DECLARE d CURSOR FOR SELECT q "
            "FROM s; INSERT INTO t SELECT a, b, C, d FROM s",
            [("a", "b", "c")],
            id="a script without a block",
        ),
        pytest.param(
            "mysql",
            "CREATE PROCEDURE p(IN d DATE, OUT n INT)\nBEGIN DECLARE k, l INT; DECLARE CONTINUE HANDLER FOR NOT FOUND "
            "SET k = 1; INSERT INTO t SELECT d, n, k, l, `handler` FROM s; END; INSERT INTO t SELECT k, d FROM s;",
            [("d", "k", "l", "n"), ()],
            id="a block",
        ),
        pytest.param(
            "snowflake",
            "CREATE PROCEDURE p(d DATE) RETURNS INT LANGUAGE SQL AS\nDECLARE n INT;\nBEGIN LET k INT := 3; LET m := 1; "
            "INSERT INTO t SELECT d, n, k, m, o FROM s; END;",
            [("d", "k", "m", "n")],
            id="LET",
        ),
        pytest.param(
            "oracle",
            "DECLARE v NUMBER := 1; w s.k%TYPE; CURSOR c IS SELECT q FROM u; BEGIN INSERT INTO t SELECT v, w, c "
            "FROM s; END; INSERT INTO t SELECT w FROM s",
            [("v", "w"), ()],
            id="several declarations before a block",
        ),
        pytest.param(
            "",
            "DECLARE a INT; DECLARE b INT; BEGIN INSERT INTO t SELECT a, b FROM s; END; INSERT INTO t SELECT a FROM s",
            [("a", "b"), ("a",)],
            id="variables of a session",
        ),
        pytest.param(
            "tsql",
            "CREATE PROCEDURE p @d DATE AS BEGIN DECLARE @x INT = 1; INSERT INTO t SELECT d, x, @x FROM s END",
            [()],
            id="variables of SQL Server are no names",
        ),
    ],
)
def test_a_statement_has_the_variables_that_are_declared_around_it(
    dialect: str, text: str, expected: list[tuple[str, ...]]
) -> None:
    found = [each for each in statements_of(text, "f.sql", dialect) if each.text.startswith("INSERT")]
    assert [each.variables for each in found] == expected


ORACLE_SETS = """\
DECLARE x NUMBER; y NUMBER;
BEGIN
  SELECT max(a), min(b) INTO x, y FROM s;
  INSERT INTO t (p) SELECT x + z FROM u;
  INSERT INTO t (p) SELECT z FROM u;
  FETCH c INTO y;
  SELECT b INTO y FROM s WHERE c = x;
END;"""
POSTGRES_SETS = """\
CREATE FUNCTION f() RETURNS void AS $$ DECLARE m int; k int;
BEGIN m := (SELECT min(b) FROM s); k := 1; UPDATE v SET c = m + k; END $$ LANGUAGE plpgsql"""


@pytest.mark.parametrize(
    ("text", "dialect", "found"),
    [
        (ORACLE_SETS, "oracle", [(), ("x",), (), (), ("x",)]),
        (POSTGRES_SETS, "", [(), (), (), ("m",)]),
        ("DECLARE @m INT\nSELECT @m = MAX(a) FROM s WHERE @k = b\nINSERT INTO t SELECT @m + m FROM u WHERE @k = 1",
         "tsql", [(), (), ("@m",)]),
        ("DECLARE @n INT\nSET @n = (SELECT a FROM s)\nUPDATE v SET c = @n", "tsql", [(), (), ("@n",)]),
        ("SELECT a INTO n FROM s;\nINSERT INTO t SELECT n FROM u", "", [(), ()]),
        # Without a block: a variable of BigQuery, of MySQL and of Snowflake.
        ("DECLARE n INT64; SET n = (SELECT max(a) FROM s); INSERT INTO t SELECT n, m FROM u", "", [(), (), ("n",)]),
        ("DECLARE n INT64 DEFAULT (SELECT max(a) FROM s); INSERT INTO t SELECT n, m FROM u", "", [(), ("n",)]),
        ("DECLARE @n INT = (SELECT a FROM s), @k INT = 1\nUPDATE v SET c = @n + @k", "tsql", [(), ("@n",)]),
        ("BEGIN LET x := (SELECT max(a) FROM s); LET y INT := 1; DELETE FROM t WHERE b > :x AND c > :y; END",
         "", [(), (), ("x",)]),
        ("SELECT a INTO @x FROM s LIMIT 1; INSERT INTO t (b) VALUES (@x); SET @x = 1; SELECT x FROM t",
         "", [(), ("@x",), ("@x",), ()]),
        ("SET v = (SELECT max(a) FROM s); CREATE TABLE t AS SELECT b, $v AS m FROM u; SELECT v, '$v' FROM t",
         "", [(), ("$v",), ()]),
    ],
)  # fmt: skip
def test_a_variable_that_a_query_sets_is_known_to_later_statements(
    text: str, dialect: str, found: list[tuple[str, ...]]
) -> None:
    told = [each for each in statements_of(text, "a.sql", dialect) if not each.text.startswith("END")]
    assert [each.filled for each in told] == found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("SELECT a INTO @x FROM s LIMIT 1", "SELECT a FROM s LIMIT 1"),
        ("SELECT a, b INTO @x, @y FROM s", "SELECT a, b FROM s"),
        ("SELECT q.NEXTVAL INTO :NEW.id FROM dual", "SELECT q.NEXTVAL FROM dual"),
        ("SELECT a INTO t FROM s", "SELECT a INTO t FROM s"),
    ],
)
def test_a_query_into_a_variable_with_a_mark_creates_no_table(given: str, expected: str) -> None:
    (found,) = statements_of(given, "f.sql")
    assert " ".join(found.text.split()) == expected


PACKAGE = """\
CREATE PACKAGE BODY k AS
  PROCEDURE p (d IN DATE) IS
    CURSOR c IS SELECT a FROM s WHERE b = d AND e = p.d;
  BEGIN
    FOR x IN c LOOP INSERT INTO t (a) VALUES (x.a); END LOOP;
    EXECUTE IMMEDIATE 'INSERT INTO t SELECT a FROM s WHERE b = :1' USING d;
  END p;
END k;"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PACKAGE, {"SELECT a FROM s": ("d", "p.d"), "INSERT INTO t (a)": ("d", "p.d"), "INSERT INTO t SELECT": ("d",)}),
        (
            "CREATE FUNCTION f(a int) RETURNS SETOF t AS $$ BEGIN RETURN QUERY SELECT z.a FROM s z; END $$",
            {"SELECT z.a": ("a",)},
        ),
    ],
)
def test_parameters_are_known_to_cursors_to_texts_that_are_run_and_after_the_name_of_their_routine(
    text: str, expected: dict[str, tuple[str, ...]]
) -> None:
    found = statements_of(text, "f.sql")
    assert {begin: each.variables for begin in expected for each in found if each.text.startswith(begin)} == expected


def test_a_parameter_after_the_name_of_its_routine_is_no_column() -> None:
    (read,) = read_statement("SELECT z.a FROM s z WHERE z.a = f.a", Known(variables=("a", "f.a"))) or ()
    assert read.rows == {("s", "a"): frozenset((UseKind.FILTER,))}


def test_what_a_comment_of_mysql_runs_is_a_statement() -> None:
    view = (
        "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`r`@`h` */\n/*!50001 VIEW `v` AS SELECT a FROM t */;"
    )
    assert [" ".join(each.split()) for each in texts(view)] == [
        "CREATE ALGORITHM=UNDEFINED DEFINER=`r`@`h` VIEW `v` AS SELECT a FROM t"
    ]
    assert texts("/*!40101 SET NAMES utf8 */; CREATE TABLE t (a INT) /*!50100 PARTITION BY KEY (a) */") == [
        "CREATE TABLE t (a INT)"
    ]
    assert texts("SELECT '/*!50001 VIEW v */' AS a") == ["SELECT '/*!50001 VIEW v */' AS a"]


@pytest.mark.parametrize(
    ("text", "renames"),
    [
        ("RENAME TABLE a TO x, s.b TO a", ["ALTER TABLE a RENAME TO x", "ALTER TABLE s.b RENAME TO a"]),
        ("RENAME TABLE a TO b ON CLUSTER c", ["ALTER TABLE a RENAME TO b"]),
        ("RENAME a TO b", ["ALTER TABLE a RENAME TO b"]),
        ("EXEC sp_rename 'dbo.a', 'b'", ["ALTER TABLE dbo.a RENAME TO dbo.b"]),
        ("EXEC sp_rename @objname = 'a', @newname = N'b c', @objtype = 'OBJECT'", ["ALTER TABLE a RENAME TO `b c`"]),
        ("ALTER TABLE a RENAME TO b", ["ALTER TABLE a RENAME TO b"]),
        ("RENAME USER a TO b", ["RENAME USER a TO b"]),
        ("EXEC sp_rename 'dbo.a.x', 'y', 'COLUMN'", ["EXEC sp_rename 'dbo.a.x', 'y', 'COLUMN'"]),
    ],
)
def test_each_table_that_is_renamed_has_a_statement_at_the_same_place(text: str, renames: list[str]) -> None:
    found = statements_of(f"SELECT 1;\n  {text};\nSELECT 2", "a.sql")[1:-1]
    assert [each.text for each in found] == renames
    assert {(each.line, each.column) for each in found} == {(2, 3)}


@pytest.mark.parametrize("text", ["ALTER TABLE a SWAP WITH s.b", "EXCHANGE TABLES a AND s.b ON CLUSTER c"])
def test_tables_that_exchange_their_names_get_each_others_rows(text: str) -> None:
    assert [each.text for each in statements_of(text, "a.sql")] == [
        "CREATE OR REPLACE TABLE a AS SELECT * FROM s.b",
        "CREATE OR REPLACE TABLE s.b AS SELECT * FROM a",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT '{{ var('day') }}', ';'", "SELECT '{{ var(\"day\") }}', ';'"),
        ("SELECT 'a{{ f('x') }}b{{ g('y;', 'z') }}'", 'SELECT \'a{{ f("x") }}b{{ g("y;", "z") }}\''),
        ('SELECT "{{ var("name") }}"', "SELECT \"{{ var('name') }}\""),
        ("SELECT * FROM {{ ref('t') }} WHERE a = 'b'", "SELECT * FROM {{ ref('t') }} WHERE a = 'b'"),
        ("SELECT '{{ var('day'", "SELECT '{{ var('day'"),
    ],
)
def test_a_string_does_not_end_within_an_expression_of_jinja(text: str, expected: str) -> None:
    assert [each.text for each in statements_of(text, "a.sql")] == [expected]
