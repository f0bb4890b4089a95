"""What statements make, rename, set and hide is followed by the statements after them, across files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.predict.caching.answers import answers_of
from openlineage_pyspark.workbench.predict.scripts import Given, Script, StatementLineage, lineage_of_answers
from openlineage_pyspark.workbench.predict.sql.assigned import assigned
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from support.flat_edges import flat
from support.kept_answers import sessions_of
from support.spark_jobs import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

of_spark_4 = pytest.mark.skipif(SPARK_VERSION < "4", reason="Spark has variables and functions of SQL from 4.0 on")
DDL = "CREATE TABLE a (id INT, v INT); CREATE TABLE b (id INT, w INT);"


@pytest.fixture(scope="module")
def sessions(process_jvm: Any) -> Iterator[Callable[[Given], Any]]:
    """Give what makes sessions in one Spark."""
    with throw_away_session({}) as spark:
        yield sessions_of(spark)


def told(sessions: Callable[[Given], Any], *texts: str) -> list[StatementLineage]:
    """Return the lineage of files, the first of which only declares tables."""
    scripts = [Script("ddl.sql", DDL, is_ddl=True), *(Script(f"{at}.sql", each) for at, each in enumerate(texts))]
    return list(lineage_of_answers(answers_of(scripts, Given(), session=sessions), ()))


def edges(found: StatementLineage) -> set[str]:
    """Return the edges to the columns of a statement."""
    assert found.problem is None
    assert found.lineage is not None
    return {
        f"{edge.column} <- {edge.source_table}.{edge.source_column} {edge.subtype}"
        for edge in flat(found.lineage)
        if edge.column is not None
    }


@pytest.mark.spark
@pytest.mark.any_spark
@pytest.mark.parametrize(
    ("texts", "last"),
    [
        pytest.param(
            ["ALTER TABLE a RENAME TO c", "SELECT v FROM c"],
            {"v <- default.c.v IDENTITY"},
            id="a renamed table has its new name",
        ),
        pytest.param(
            ["CREATE TABLE IDENTIFIER('db' || '.made') USING parquet AS SELECT v FROM a", "SELECT v FROM db.made"],
            {"v <- db.made.v IDENTITY"},
            id="a table has the name that an expression makes",
            marks=of_spark_4,
        ),
        pytest.param(
            ["CREATE WIDGET TEXT p DEFAULT 'id'; CREATE WIDGET TEXT p DEFAULT \"v\"", "SELECT ${p} AS x FROM a"],
            {"x <- default.a.v IDENTITY"},
            id="a parameter of a notebook has its last default",
        ),
        pytest.param(
            ["SET p = v; CREATE WIDGET DROPDOWN p DEFAULT 'id' CHOICES SELECT id FROM a", "SELECT ${p} FROM a"],
            {"v <- default.a.v IDENTITY"},
            id="a parameter that is given keeps its value",
        ),
        pytest.param(
            ["CREATE TABLE c (id INT, n INT GENERATED ALWAYS AS (id * 2))", "INSERT INTO c (id) SELECT v FROM a"],
            {"id <- default.a.v IDENTITY", "n <- default.a.v TRANSFORMATION"},
            id="a computed column has the sources of those in its expression",
        ),
        pytest.param(
            ["ALTER TABLE a RENAME TO c"],
            {"id <- default.a.id IDENTITY", "v <- default.a.v IDENTITY"},
            id="a renamed table continues each column",
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b)", "SELECT v + x AS s FROM a"],
            {"s <- default.a.v TRANSFORMATION", "s <- default.b.w AGGREGATION"},
            id="a variable has the sources of its query",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b)", "CREATE TABLE c AS SELECT v + x AS s FROM a"],
            {"s <- default.a.v TRANSFORMATION", "s <- default.b.w AGGREGATION"},
            id="a variable has them in the query of a new table",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b)", "CREATE TABLE lake.d.c AS SELECT v + x AS s FROM a"],
            {"s <- default.a.v TRANSFORMATION", "s <- default.b.w AGGREGATION"},
            id="a variable has them in that of a new table in another catalog",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b)",
             "CREATE OR REPLACE TEMP VIEW c AS SELECT v + x AS s FROM a; SELECT s FROM c"],
            {"s <- default.a.v TRANSFORMATION", "s <- default.b.w AGGREGATION"},
            id="a variable has them behind a temporary view",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b)", "INSERT INTO a (v, id) VALUES (x, 2), (3, 4)"],
            {"v <- default.b.w AGGREGATION"},
            id="a variable has them in VALUES too",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b)", "SELECT n FROM VALUES (x) AS v(n)"],
            {"n <- default.b.w AGGREGATION"},
            id="a variable has them in any VALUES",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT DEFAULT (SELECT max(w) FROM b); DECLARE y INT; SET VAR y = x + 1", "SELECT y FROM a"],
            {"y <- default.b.w AGGREGATION"},
            id="a variable has the sources of its default, and of other variables",
            marks=of_spark_4,
        ),
        pytest.param(
            ["BEGIN FOR r AS SELECT w, id FROM b DO INSERT INTO a (v, id) VALUES (r.w + 1, r.id); END FOR; END"],
            {"id <- default.b.id IDENTITY", "v <- default.b.w TRANSFORMATION"},
            id="a column of the row of a loop has its sources",
        ),
        pytest.param(
            ["EXECUTE IMMEDIATE 'INSERT INTO a (v, id) SELECT w + ?, id FROM b' USING 1"],
            {"id <- default.b.id IDENTITY", "v <- default.b.w TRANSFORMATION"},
            id="a statement in a string is read",
        ),
        pytest.param(
            ["DECLARE x INT; DECLARE y INT; SET VAR (x, y) = (SELECT max(w), min(id) FROM b)", "SELECT y FROM a"],
            {"y <- default.b.id AGGREGATION"},
            id="several variables are set by one query",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b); SET VAR x = 1", "SELECT x + v AS s FROM a"],
            {"s <- default.a.v TRANSFORMATION"},
            id="the last value of a variable counts",
            marks=of_spark_4,
        ),
        pytest.param(
            ["DECLARE x INT; SET VAR x = (SELECT max(w) FROM b)", "SELECT x.v AS s FROM a x"],
            {"s <- default.a.v IDENTITY"},
            id="a column goes before a variable",
        ),
        pytest.param(
            ["CREATE TEMP VIEW a AS SELECT id, w AS v FROM b", "SELECT v FROM a"],
            {"v <- default.b.w IDENTITY"},
            id="a temporary view hides a table, across files",
        ),
        pytest.param(
            ["CREATE TEMP VIEW a AS SELECT w AS v FROM b; DROP VIEW a", "SELECT v FROM a"],
            {"v <- default.a.v IDENTITY"},
            id="a table is there again after the view that hid it",
        ),
        pytest.param(
            ["CREATE TEMP VIEW a AS SELECT w AS v FROM b", "SELECT v FROM default.a"],
            {"v <- default.a.v IDENTITY"},
            id="a whole name is that of the table behind a temporary view",
        ),
        pytest.param(
            ["CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1", "SELECT f(v) AS s FROM a"],
            {"s <- default.a.v TRANSFORMATION"},
            id="a function of SQL is read",
        ),
        pytest.param(
            ["CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN (SELECT max(w) FROM b WHERE b.id = x)",
             "SELECT f(v) AS s FROM a"],
            {"s <- default.a.v FILTER", "s <- default.b.id FILTER", "s <- default.b.w AGGREGATION"},
            id="a function of SQL reads a table",
            marks=of_spark_4,
        ),
        pytest.param(
            ["CREATE TABLE n (id INT, box STRUCT<x: INT, y: STRUCT<z: INT>>)",
             "MERGE INTO n USING a ON n.id = a.id WHEN MATCHED THEN UPDATE SET n.box.y.z = a.v"],
            {"box <- default.n.box IDENTITY", "box <- default.n.box TRANSFORMATION",
             "box <- default.a.v TRANSFORMATION"},
            id="MERGE sets a field of a struct",
        ),
        pytest.param(
            ["CREATE TABLE n (id INT, box STRUCT<x: INT, y: STRUCT<z: INT>>)",
             "UPDATE n SET box.x = id + 1 WHERE id > 1"],
            {"box <- default.n.box IDENTITY", "box <- default.n.box TRANSFORMATION",
             "box <- default.n.id TRANSFORMATION"},
            id="UPDATE sets a field of a struct",
        ),
    ],
)  # fmt: skip
def test_what_earlier_statements_did_is_followed(
    sessions: Callable[[Given], Any], texts: list[str], last: set[str]
) -> None:
    assert edges(told(sessions, *texts)[-1]) == last


@pytest.mark.spark
@pytest.mark.any_spark
def test_a_database_whose_name_spark_does_not_take_costs_nothing(sessions: Callable[[Given], Any]) -> None:
    made, after = told(sessions, "CREATE TABLE @schema.c AS SELECT n.x FROM nowhere n; SELECT v FROM a")
    assert made.problem is not None
    assert made.problem.code == "NO_VALUE"
    assert edges(after) == {"v <- default.a.v IDENTITY"}


@pytest.mark.spark
@pytest.mark.any_spark
def test_the_old_name_of_a_renamed_table_is_not_known(sessions: Callable[[Given], Any]) -> None:
    *_, last = told(sessions, "ALTER TABLE a RENAME TO db.c; SELECT v FROM db.c; SELECT v FROM a")
    assert last.problem is not None
    assert last.problem.code == "TABLE_OR_VIEW_NOT_FOUND"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET VAR x = 1", (("x", "1"),)),
        ("SET VARIABLE session.X = a = b, `y z` = (SELECT 1, 2)", (("x", "a = b"), ("y z", "(SELECT 1, 2)"))),
        (
            "SET VAR (a, b) = (SELECT 1, 2)",
            (
                ("a", "(SELECT `a` FROM (SELECT 1, 2) AS `set` (`a`, `b`))"),
                ("b", "(SELECT `b` FROM (SELECT 1, 2) AS `set` (`a`, `b`))"),
            ),
        ),
        ("SET VAR", ()),
    ],
)
def test_what_variables_are_set_to_is_in_the_text(text: str, expected: tuple[tuple[str, str], ...]) -> None:
    assert assigned(text) == expected
