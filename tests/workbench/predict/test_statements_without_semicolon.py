"""The statements of SQL Server, which need no `;`, and those in bodies in dollar quotes, are taken one by one."""

from __future__ import annotations

import pytest
from openlineage_pyspark.workbench.predict.sql.statements import statements_of

FUNCTION = """\
CREATE OR REPLACE FUNCTION f(a int) RETURNS SETOF t AS $body$
<<outer>>
DECLARE
  v int := 5;
  c CURSOR FOR ¦SELECT a FROM x¦;
BEGIN
  -- it's
  v := (¦SELECT max(a) FROM t¦);
  FOR r IN ¦SELECT * FROM q¦ LOOP
    ¦INSERT INTO z SELECT r.a FROM y¦;
  END LOOP;
  IF v > 1 THEN ¦CALL g()¦; ELSIF v = 2 THEN ¦RAISE NOTICE 'x'¦; END IF;
  FOREACH v IN ARRAY arr LOOP ¦DELETE FROM k¦; END LOOP;
  BEGIN
    ¦SELECT a FROM b¦;
  EXCEPTION WHEN others THEN ¦NULL¦;
  END;
  RETURN QUERY ¦SELECT 1¦;
END;
$body$ LANGUAGE plpgsql STABLE;
"""
PROCEDURE = """\
create or replace procedure p() returns varchar language sql as
$$
declare
  res resultset;
begin
  let x := (¦select count(*) from t¦);
  res := (¦insert into u select a from v¦);
  let c1 cursor for ¦select a from w¦;
  ¦create table k as select 1 as a¦;
  if (x > 1) then
    ¦merge into m using n on m.a = n.a when matched then update set b = 1¦;
  end if;
  ¦return table(res)¦;
end;
$$;
¦create function e(a int) returns int as $$ a * 2 $$¦;
¦create procedure j() returns string language javascript as $$ var x = 'SELECT 1; '; $$¦;
execute immediate $$ begin ¦insert into o select 1¦; end $$;
¦select 3¦"""


def marked(text: str) -> tuple[str, list[str]]:
    """Return a text without the marks around each of its statements, and these statements."""
    parts = text.split("¦")
    return "".join(parts), parts[1::2]


def found_in(text: str, dialect: str) -> list[str]:
    return [each.text for each in statements_of(text, "f.sql", dialect)]


@pytest.mark.parametrize(
    "given",
    [
        (
            "¦SELECT a INTO #t FROM x¦ ¦INSERT INTO y (a) SELECT a FROM #t¦ ¦UPDATE y SET a = 1 FROM z¦ "
            "¦DELETE FROM q WHERE a IN (SELECT b FROM r)¦"
        ),
        "IF @a = 1 ¦SELECT 1¦ ELSE ¦SELECT 2¦ ¦SELECT 3¦",
        "IF @a = 1\nBEGIN\n ¦SELECT 1¦\nEND\nELSE IF @a = 2\n ¦SELECT 2¦\nELSE\nBEGIN\n ¦SELECT 3¦\nEND\n¦SELECT 4¦",
        (
            "IF EXISTS (SELECT 1 FROM t) BEGIN ¦INSERT INTO a SELECT 1¦ ¦PRINT 'x'¦ END "
            "ELSE BEGIN ¦INSERT INTO b EXEC p @x = 1¦ END ¦DROP TABLE IF EXISTS q¦ ¦SELECT 4¦"
        ),
        (
            "CREATE PROC dbo.p @a AS INT = 1, @b INT OUTPUT WITH EXECUTE AS OWNER AS ¦SET NOCOUNT ON¦ "
            "¦DECLARE @t TABLE (a INT)¦ ;¦WITH c AS (SELECT 1 a) INSERT INTO t (a) SELECT CASE WHEN a = 1 THEN 2 "
            "ELSE 3 END FROM c¦ ¦RETURN 0¦"
        ),
        (
            "CREATE OR ALTER PROCEDURE p AS BEGIN TRY ¦BEGIN TRAN¦ ¦MERGE INTO t USING s ON t.a = s.a WHEN MATCHED "
            "THEN UPDATE SET b = 1 WHEN NOT MATCHED THEN INSERT (a) VALUES (1)¦; ¦COMMIT TRAN¦ END TRY "
            "BEGIN CATCH ¦ROLLBACK¦ ¦THROW¦ END CATCH ¦SELECT 5¦"
        ),
        "CREATE TRIGGER g ON t AFTER INSERT, UPDATE AS IF UPDATE(a) ¦INSERT INTO log SELECT a FROM s¦",
        (
            "DECLARE c CURSOR FOR ¦SELECT a FROM t¦ ¦OPEN c¦ ¦FETCH NEXT FROM c INTO @a¦ WHILE @@FETCH_STATUS = 0 "
            "BEGIN ¦UPDATE x SET a = @a¦ ¦FETCH NEXT FROM c INTO @a¦ END ¦CLOSE c¦ ¦DEALLOCATE c¦"
        ),
        "¦SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY a OFFSET 1 ROWS FETCH NEXT 5 ROWS ONLY¦ ¦SELECT 2¦",
        (
            "¦CREATE VIEW v WITH SCHEMABINDING AS WITH c AS (SELECT 1 a) SELECT a FROM c¦\nGO\n"
            "¦GRANT SELECT, INSERT ON v TO x¦ ¦SELECT 1¦"
        ),
        (
            "¦ALTER TABLE t WITH NOCHECK ADD CONSTRAINT k FOREIGN KEY (a) REFERENCES u (a) ON UPDATE CASCADE ON DELETE "
            "SET NULL¦ ¦ALTER TABLE t DROP COLUMN a¦ ¦DROP TABLE z¦ ¦ALTER TABLE t ALTER COLUMN b INT¦"
        ),
        (
            "¦CREATE FUNCTION f (@a INT) RETURNS TABLE AS RETURN (SELECT 1 AS x)¦\nGO\nCREATE FUNCTION g "
            "(@a INT) RETURNS INT BEGIN ¦DECLARE @x INT¦ ¦SELECT @x = a FROM t¦ ¦RETURN @x¦ END\nGO\n¦SELECT 1¦"
        ),
        "¦SET NOCOUNT ON¦ ¦UPDATE t SET a = 1¦ ¦SET XACT_ABORT ON¦ ¦DELETE FROM t¦ ¦DELETE t¦",
        "¦(SELECT 1) UNION (SELECT 2)¦ ¦SELECT 3¦",
        "¦SELECT a FROM t INNER MERGE JOIN u ON t.a = u.a OPTION (MERGE JOIN)¦ ¦SELECT x.a FROM `update` AS x¦",
        "WHILE 1 = 1 BEGIN IF @a = 1 ¦BREAK¦ ELSE ¦CONTINUE¦ END ¦SELECT 6¦",
        "BEGIN ¦BEGIN TRAN¦ ¦INSERT INTO a SELECT 1¦ ¦COMMIT¦ END ¦SELECT 2¦",
    ],
)
def test_statements_of_sql_server_need_no_semicolon(given: str) -> None:
    text, expected = marked(given)
    assert found_in(text, "tsql") == expected


@pytest.mark.parametrize(
    ("dialect", "given"),
    [
        ("snowflake", PROCEDURE),
        ("postgres", "DO $$ BEGIN ¦DELETE FROM t¦; END $$; ¦SELECT 2¦"),
        ("postgres", "¦CREATE FUNCTION g() RETURNS int AS $$ return 'x' $$ LANGUAGE plpython3u¦; ¦SELECT 2¦"),
        ("postgres", "CREATE PROCEDURE p() LANGUAGE 'plpgsql' AS $$ BEGIN ¦DELETE FROM t¦; END $$; ¦SELECT 2¦"),
    ],
)
def test_the_statements_of_a_body_in_dollar_quotes_are_taken_one_by_one(dialect: str, given: str) -> None:
    text, expected = marked(given)
    assert found_in(text, dialect) == expected


def test_a_function_with_a_body_in_dollar_quotes_is_known_besides_its_statements() -> None:
    text, expected = marked(FUNCTION)
    whole, *statements = statements_of(f"{text}SELECT 7", "f.sql", "postgres")
    assert (whole.text, whole.in_script) == (text.strip().removesuffix(";"), False)
    assert [each.text for each in statements] == [*expected, "SELECT 7"]
    places = [(each.line, each.column, each.in_script) for each in statements[:3]]
    assert places == [(5, 16, True), (8, 9, True), (9, 12, True)]
    sql = "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ INSERT INTO a SELECT b FROM c; SELECT 1 $$"
    assert found_in(sql, "postgres") == [sql, "INSERT INTO a SELECT b FROM c", "SELECT 1"]


def test_what_only_computes_or_ignores_a_query_is_the_query() -> None:
    text = "DO $$ BEGIN PERFORM g(a) FROM w; SELECT a INTO v FROM b; END $$"
    assert found_in(text, "postgres") == ["SELECT  g(a) FROM w", "SELECT a        FROM b"]


def test_a_statement_of_another_engine_ends_only_where_it_says_so() -> None:
    text = "FROM t INSERT INTO a SELECT x INSERT INTO b SELECT y; SELECT 1 INSERT INTO dbo.c SELECT 2"
    assert found_in(text, "") == text.split("; ")


def test_the_statements_after_a_batch_of_sql_server_are_in_no_routine() -> None:
    found = statements_of("CREATE PROC p AS SELECT 1 SELECT 2\nGO\nSELECT 3", "f.sql")
    assert [(each.text, each.in_script) for each in found] == [
        ("SELECT 1", True),
        ("SELECT 2", True),
        ("SELECT 3", False),
    ]


def test_each_of_many_bodies_has_its_place() -> None:
    body = "CREATE PROCEDURE p() AS $$ BEGIN INSERT INTO t SELECT 1; END $$ LANGUAGE plpgsql;\n"
    found = statements_of(body * 5_000, "f.sql")
    assert (len(found), found[-1].line) == (5_000, 5_000)
