"""Statements in strings, in the loops of cursors, and in sets."""

from __future__ import annotations

import pytest
from openlineage_pyspark.workbench.predict.sql.executed import given_arguments, with_arguments
from openlineage_pyspark.workbench.predict.sql.loop_rows import with_loop_rows
from openlineage_pyspark.workbench.predict.sql.statements import Loop, statements_of


def texts(script: str, dialect: str = "") -> list[str]:
    return [each.text for each in statements_of(script, "f.sql", dialect)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("CREATE PROCEDURE p() LANGUAGE SQL AS '\nBEGIN\n DELETE FROM t WHERE a = ''x'';\nEND'; SELECT 2",
         ["DELETE FROM t WHERE a =  'x'", "SELECT 2"]),
        ("CREATE FUNCTION f() RETURNS void AS 'BEGIN INSERT INTO t SELECT 1; END' LANGUAGE 'plpgsql'",
         ["CREATE FUNCTION f() RETURNS void AS 'BEGIN INSERT INTO t SELECT 1; END' LANGUAGE 'plpgsql'",
          "INSERT INTO t SELECT 1"]),
        ("DO 'BEGIN DELETE FROM t; END'", ["DELETE FROM t"]),
        # A class, a script in another language, and an expression.
        ("CREATE FUNCTION f AS 'com.acme.F' USING JAR 'x.jar'",
         ["CREATE FUNCTION f AS 'com.acme.F' USING JAR 'x.jar'"]),
        ("CREATE PROCEDURE p() LANGUAGE JAVASCRIPT AS 'SELECT 1'",
         ["CREATE PROCEDURE p() LANGUAGE JAVASCRIPT AS 'SELECT 1'"]),
        ("CREATE TABLE t COMMENT 'SELECT 1' AS SELECT 'SELECT 2' AS x",
         ["CREATE TABLE t COMMENT 'SELECT 1' AS SELECT 'SELECT 2' AS x"]),
        ("EXECUTE IMMEDIATE 'INSERT INTO t SELECT a FROM s'", ["INSERT INTO t SELECT a FROM s"]),
        ("EXECUTE IMMEDIATE \"INSERT INTO t SELECT ? FROM s WHERE a = '?'\" USING x + 1",
         ["INSERT INTO t SELECT (x + 1) FROM s WHERE a = '?'"]),
        ("EXECUTE IMMEDIATE 'SELECT a FROM t WHERE b = :b' INTO v USING 1 AS b", ["SELECT a FROM t WHERE b = (1)"]),
        ("EXECUTE IMMEDIATE 'SELECT a FROM ' || t", ["EXECUTE IMMEDIATE 'SELECT a FROM ' || t"]),
        ("PREPARE p FROM 'DELETE FROM t'", ["DELETE FROM t"]),
        ("EXECUTE p USING @a", ["EXECUTE p USING @a"]),
    ],
)  # fmt: skip
def test_the_statements_in_strings_are_taken_one_by_one(script: str, expected: list[str]) -> None:
    assert texts(script) == expected


@pytest.mark.parametrize(
    "call", ["EXEC('{}')", "EXECUTE sp_executesql N'{}'", "EXEC sys.sp_executesql N'{}', N'@a int'"]
)
def test_what_sql_server_executes_as_a_string_is_read(call: str) -> None:
    assert texts(call.format("DELETE FROM dbo.t"), "tsql") == ["DELETE FROM dbo.t"]


def test_statements_in_a_string_are_at_their_places_in_the_file() -> None:
    script = "SELECT 1;\nCREATE PROCEDURE p() AS '\nBEGIN\n  DELETE FROM t;\n  DELETE FROM u; END';\nSELECT 2"
    found = [(each.text, each.line, each.column) for each in statements_of(script, "f.sql")]
    assert found == [("SELECT 1", 1, 1), ("DELETE FROM t", 4, 3), ("DELETE FROM u", 5, 3), ("SELECT 2", 6, 1)]


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("SELECT ? + ?", ["a", "b"], "SELECT (a) + (b)"),
        ("SELECT :1, :2, :1, x::int", ["IN a", "OUT b"], "SELECT (a), (b), (a), x::int"),
        ("SELECT $2, $1, $3", ["a", "b"], "SELECT (b), (a), $3"),
        ("SELECT :x, :z, '?'", ["1 AS x", "f(2) AS y"], "SELECT (1), :z, '?'"),
        ("SELECT @x, @z", ["1 AS x"], "SELECT (1), @z"),
        ("SELECT @x", ["1"], "SELECT @x"),
        ("SELECT ?", [], "SELECT ?"),
    ],
)
def test_arguments_are_put_where_their_parameters_are(text: str, given: list[str], expected: str) -> None:
    assert with_arguments(text, given_arguments(given)) == expected


@pytest.mark.parametrize(
    ("script", "cursor"),
    [
        ("CREATE PROCEDURE p IS CURSOR c IS SELECT a FROM t; BEGIN FOR r IN c LOOP DELETE FROM u; END LOOP; END;",
         "SELECT a FROM t"),
        ("DO $$ DECLARE c CURSOR FOR SELECT a FROM t; BEGIN FOR r IN c LOOP DELETE FROM u; END LOOP; END $$;",
         "SELECT a FROM t"),
        ("BEGIN LET c CURSOR FOR SELECT a FROM t; FOR r IN c DO DELETE FROM u; END FOR; END;", "SELECT a FROM t"),
    ],
)  # fmt: skip
def test_a_loop_over_a_cursor_has_the_rows_of_its_query(script: str, cursor: str) -> None:
    queried, deleted = statements_of(script, "f.sql")
    assert (queried.text, deleted.text) == (cursor, "DELETE FROM u")
    assert deleted.loops == (Loop("r", cursor),)


def test_a_loop_over_something_else_has_no_rows() -> None:
    (deleted,) = statements_of("BEGIN FOR i IN c LOOP DELETE FROM u; END LOOP; END", "f.sql")
    assert deleted.loops == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO o VALUES (R.a, `r`.b + 1)",
         "INSERT INTO o SELECT (SELECT R.a FROM (SELECT a FROM t) R), (SELECT `r`.b FROM (SELECT a FROM t) `r`) + 1"),
        ("SELECT r.a.b FROM x", "SELECT (SELECT r.a FROM (SELECT a FROM t) r).b FROM x"),
        # The name is that of a table, of a schema, or of the row as a whole.
        ("SELECT r.a FROM x AS r", "SELECT r.a FROM x AS r"),
        ("SELECT r.f(1), s.r.a FROM x", "SELECT r.f(1), s.r.a FROM x"),
        ("INSERT INTO o VALUES r", "INSERT INTO o VALUES r"),
        ("SELECT 'r.a' -- r.a", "SELECT 'r.a' -- r.a"),
    ],
)  # fmt: skip
def test_the_columns_of_the_row_of_a_loop_are_queries(text: str, expected: str) -> None:
    assert with_loop_rows(text, [Loop("r", "SELECT a FROM t")]) == expected


def test_a_loop_may_be_over_the_rows_of_another_one() -> None:
    loops = [Loop("r", "SELECT a FROM t"), Loop("", "SELECT 1"), Loop("s", "SELECT b FROM u WHERE c = r.a")]
    assert with_loop_rows("DELETE FROM x WHERE y = s.b", loops) == (
        "DELETE FROM x WHERE y = (SELECT s.b FROM (SELECT b FROM u WHERE c = (SELECT r.a FROM (SELECT a FROM t) r)) s)"
    )


@pytest.mark.parametrize(
    "begin", ["EXECUTE STATEMENT SET BEGIN", "BEGIN STATEMENT SET;", "EXECUTE STATEMENT SET\nBEGIN"]
)
def test_the_statements_of_a_set_are_taken_one_by_one(begin: str) -> None:
    script = f"{begin} INSERT INTO a SELECT x FROM t; INSERT INTO b SELECT y FROM t; END; SELECT 1"
    assert texts(script)[:2] == ["INSERT INTO a SELECT x FROM t", "INSERT INTO b SELECT y FROM t"]
    assert texts(script)[-1] == "SELECT 1"


@pytest.mark.parametrize("query", ["SELECT a FROM t", "(SELECT a FROM t)", "QUERY SELECT a FROM t"])
def test_a_query_that_a_routine_returns_is_read(query: str) -> None:
    script = f"CREATE FUNCTION f() RETURNS int AS $$ BEGIN RETURN {query}; END $$ LANGUAGE plpgsql"
    assert texts(script)[1:] == ["SELECT a FROM t"]


@pytest.mark.parametrize("line", ["GO", "go 5 -- five times", "GO /* the next one */", "  GO --"])
def test_a_comment_may_follow_the_end_of_a_batch(line: str) -> None:
    assert texts(f"SELECT 1\n{line}\nSELECT 2\n{line}\n") == ["SELECT 1", "SELECT 2"]
