"""What only other engines have, as statements that Spark's grammar has; types by their use; models of dbt."""

from __future__ import annotations

import json
from pathlib import Path, PurePath

import pytest
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Symlink
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation, UseKind
from openlineage_pyspark.workbench.predict.compare import compared, lineage_state_of
from openlineage_pyspark.workbench.predict.from_text.reading import TextLineage, read_statement
from openlineage_pyspark.workbench.predict.from_text.text import unknown_table
from openlineage_pyspark.workbench.predict.outcome import certainty_of_statement
from openlineage_pyspark.workbench.predict.project.dbt import read_project, scripts_of_models
from openlineage_pyspark.workbench.predict.project.exposures import lineage_of_exposures
from openlineage_pyspark.workbench.predict.project.raw_models import scripts_of_raw_models
from openlineage_pyspark.workbench.predict.scripts import Script, StatementLineage
from openlineage_pyspark.workbench.predict.sql.databricks import (
    as_spark,
    columns_beside_query,
    has_no_lineage,
    keeps_places,
    makes_function,
    without_conditions_on,
)
from openlineage_pyspark.workbench.predict.sql.inserts import single_inserts
from openlineage_pyspark.workbench.predict.sql.quoted_names import with_parts_of_names
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.predict.sql.variables import UnknownVariableError, placeheld, substituted
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from openlineage_pyspark.workbench.predict.tables.uses import type_by_use
from openlineage_pyspark.workbench.report import Lineage
from support.flat_edges import flat


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            (
                "CREATE OR REFRESH STREAMING TABLE t (CONSTRAINT c EXPECT (a > 1) ON VIOLATION DROP ROW) "
                "AS SELECT a FROM STREAM(s)"
            ),
            "CREATE TABLE t AS SELECT * FROM ( SELECT a FROM s ) WHERE (a > 1)",
        ),
        (
            "CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (a > 1) ON VIOLATION FAIL UPDATE) AS SELECT a FROM s",
            "CREATE TABLE t AS SELECT a FROM s",
        ),
        ("CREATE LIVE TABLE t COMMENT 'AS x' AS SELECT a FROM LIVE.s", "CREATE TABLE t AS SELECT a FROM s"),
        ("CREATE TEMPORARY STREAMING LIVE VIEW v AS SELECT a FROM STREAM s", "CREATE TEMP VIEW v AS SELECT a FROM s"),
        ("CREATE OR REPLACE MATERIALIZED VIEW a.b AS SELECT stream FROM s", "CREATE TABLE a.b AS SELECT stream FROM s"),
        ("CREATE STREAMING TABLE t", "CREATE TABLE t"),
        (
            (
                "APPLY CHANGES INTO t FROM STREAM(s) KEYS (k) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY ts "
                "COLUMNS * EXCEPT (op)"
            ),
            (
                "CREATE TABLE t AS SELECT * EXCEPT (`newest first`, op) FROM (SELECT *, row_number() OVER "
                "(PARTITION BY k ORDER BY ts) AS `newest first` FROM s) WHERE `newest first` = 1 AND NOT (op = 'D')"
            ),
        ),
        (
            "APPLY CHANGES INTO t FROM s KEYS (k) SEQUENCE BY ts -- orders events\n COLUMNS * EXCEPT (op)",
            (
                "CREATE TABLE t AS SELECT * EXCEPT (`newest first`, op) FROM (SELECT *, row_number() OVER "
                "(PARTITION BY k ORDER BY ts) AS `newest first` FROM s) WHERE `newest first` = 1"
            ),
        ),
        (
            "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (k) SEQUENCE BY ts COLUMNS k, v STORED AS SCD TYPE 1",
            (
                "CREATE TABLE t AS SELECT k, v FROM (SELECT *, row_number() OVER "
                "(PARTITION BY k ORDER BY ts) AS `newest first` FROM s) WHERE `newest first` = 1"
            ),
        ),
        (
            (
                "APPLY CHANGES INTO t FROM s KEYS (k) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY ts "
                "COLUMNS * EXCEPT (op) STORED AS SCD TYPE 2 TRACK HISTORY ON (v)"
            ),
            (
                "CREATE TABLE t AS SELECT * EXCEPT (op) FROM (SELECT *, ts AS `__START_AT`, lead(ts) OVER "
                "(PARTITION BY k ORDER BY ts) AS `__END_AT` FROM s) WHERE NOT (op = 'D')"
            ),
        ),
        (
            "APPLY CHANGES INTO t FROM s KEYS (k) SEQUENCE BY ts COLUMNS (k, v) STORED AS SCD TYPE 2",
            (
                "CREATE TABLE t AS SELECT k, v, `__START_AT`, `__END_AT` FROM (SELECT *, ts AS `__START_AT`, "
                "lead(ts) OVER (PARTITION BY k ORDER BY ts) AS `__END_AT` FROM s)"
            ),
        ),
        (
            (
                "CREATE OR REFRESH STREAMING TABLE t (k INT) COMMENT 'x' FLOW AUTO CDC FROM STREAM(s) KEYS (k) "
                "SEQUENCE BY ts COLUMNS (k)"
            ),
            (
                "CREATE TABLE t AS SELECT k FROM (SELECT *, row_number() OVER "
                "(PARTITION BY k ORDER BY ts) AS `newest first` FROM s) WHERE `newest first` = 1"
            ),
        ),
        (
            "CREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT k FROM s",
            "CREATE FLOW f AS INSERT INTO t BY NAME SELECT k FROM s",
        ),
        ("CREATE FLOW f AS INSERT INTO once BY NAME SELECT 1", "CREATE FLOW f AS INSERT INTO once BY NAME SELECT 1"),
        ("CREATE TABLE a SHALLOW CLONE b", "CREATE TABLE a AS SELECT * FROM b"),
        ("COPY INTO t FROM '/in' FILEFORMAT = CSV", "INSERT INTO t SELECT * FROM csv.`/in`"),
        ("COPY INTO t FROM (SELECT a AS b FROM 's3://x') FILEFORMAT = JSON", "INSERT INTO t SELECT a AS b FROM json.`s3://x`"),
        (
            "COPY INTO t FROM (SELECT 'x' AS b, a FROM 's3://x') FILEFORMAT = JSON PATTERN = 'x'",
            "INSERT INTO t SELECT 'x' AS b, a FROM json.`s3://x`",
        ),
        # The files of Snowflake are in a stage, and no string names them.
        ("COPY INTO t FROM @s/x FILE_FORMAT = (TYPE = 'f')", "COPY INTO t FROM @s/x FILE_FORMAT = (TYPE = 'f')"),
        (
            "LOAD DATA INPATH '/in' OVERWRITE INTO TABLE d.t PARTITION (p = 1)",
            "INSERT OVERWRITE d.t SELECT * FROM textfile.`/in`",
        ),
        ('LOAD DATA LOCAL INPATH "in" INTO TABLE t', "INSERT INTO t SELECT * FROM textfile.`in`"),
        (
            "EXPORT TABLE d.t PARTITION (p = 1) TO '/x'",
            "INSERT OVERWRITE DIRECTORY '/x' USING binaryfile SELECT * FROM d.t",
        ),
        ("IMPORT EXTERNAL TABLE d.t FROM '/x'", "INSERT INTO d.t SELECT * FROM binaryfile.`/x`"),
        ("IMPORT TABLE FROM 'x.sdi'", "IMPORT TABLE FROM 'x.sdi'"),
        ("USE CATALOG lake", "SET CATALOG lake"),
        ("USE catalog", "USE catalog"),
        ("CREATE SNAPSHOT TABLE `a.b.c` CLONE `d.e.f`", "CREATE TABLE a.b.c AS SELECT * FROM d.e.f"),
        ("SELECT * FROM STREAM read_files('/in', format => 'json')", "SELECT * FROM json.`/in`"),
        ("SELECT a FROM table_changes('d.t', 2)", "SELECT a FROM d.t"),
        (
            "CREATE TABLE t (a STRING MASK f, b INT NOT NULL, m MAP<INT, INT>, CONSTRAINT p PRIMARY KEY (a))",
            "CREATE TABLE t ( a STRING, b INT NOT NULL, m MAP<INT, INT>)",
        ),
        ("SELECT 'STREAM(x) LIVE.y', stream FROM live.t", "SELECT 'STREAM(x) LIVE.y', stream FROM live.t"),
    ],
)  # fmt: skip
def test_a_statement_of_databricks_becomes_one_of_spark(statement: str, expected: str) -> None:
    assert plain(as_spark(statement)) == plain(expected).replace("( a", "(a")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            (
                "CREATE OR REFRESH STREAMING TABLE d.t (a STRING NOT NULL, m MAP<INT, INT> COMMENT 'x, y', -- no type\n"
                "CONSTRAINT c EXPECT (a > 1)) COMMENT 'z' AS SELECT * FROM s"
            ),
            "a STRING NOT NULL, m MAP<INT, INT> COMMENT 'x, y'",
        ),
        ("CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (a > 1)) AS SELECT a FROM s", ""),
        ("CREATE MATERIALIZED VIEW v (a COMMENT 'first', b) AS SELECT a, b FROM s", ""),
        ("CREATE MATERIALIZED VIEW v AS SELECT a, b FROM s", ""),
        ("CREATE TABLE t (a INT)", ""),
    ],
)
def test_the_columns_that_a_table_of_a_pipeline_declares_are_found_beside_its_query(
    statement: str, expected: str
) -> None:
    assert columns_beside_query(statement) == expected


def test_places_stay_what_they_were_in_a_table_of_a_pipeline() -> None:
    text = "CREATE OR REFRESH LIVE TABLE t\n  COMMENT 'c'\nAS SELECT a,\n  oops FROM LIVE.s"
    made = as_spark(text)
    assert [made.index("oops"), len(made)] == [text.index("oops"), len(text)]


def test_places_stay_what_they_were_where_an_expectation_drops_rows() -> None:
    text = (
        "CREATE STREAMING TABLE t (\n  CONSTRAINT c EXPECT (a > (1)) ON VIOLATION DROP ROW, -- EXPECT (no)\n"
        "  CONSTRAINT d EXPECT (b = ')') on violation drop row\n) AS\nSELECT a,\n  oops FROM STREAM(s)"
    )
    made = as_spark(text)
    assert made.index("oops") == text.index("oops")
    assert made.endswith("\n) WHERE (a > (1)) AND (b = ')')")
    assert keeps_places(text, made)
    assert not keeps_places(text, f"CREATE {made}")


def test_an_expectation_about_a_column_that_the_query_does_not_return_is_left_out() -> None:
    text = (
        "CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (rescued IS NULL) ON VIOLATION DROP ROW, "
        "CONSTRAINT d EXPECT (a > (1) AND `Rescued Too`) ON VIOLATION DROP ROW) AS SELECT a FROM s"
    )
    made = as_spark(text)
    first = without_conditions_on(made, "RESCUED")
    assert first == made.replace("(rescued IS NULL) AND ", "")
    assert without_conditions_on(first, "rescued") is None
    assert without_conditions_on(first, "rescued too") == f"{made.partition(') WHERE')[0]})"
    assert without_conditions_on("SELECT a FROM t WHERE (b)", "b") is None


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT a FROM `p-1.d.t` WHERE b", "SELECT a FROM `p-1`.d.t WHERE b"),
        ("SELECT a FROM `d.t` WHERE b", "SELECT a FROM d.t   WHERE b"),
        ("SELECT a FROM `{{ p.name }}.d.${x}_t` b", "SELECT a FROM `{{ p.name }}`.d.`${x}_t` b"),
        ("CREATE VIEW `d.t` AS (SELECT 1)", "CREATE VIEW d.t   AS (SELECT 1)"),
        ("SELECT a FROM `p.fetch.t` b", "SELECT a FROM p.`fetch`.t b"),
        ("SELECT a FROM `{{ p.name }}` b", "SELECT a FROM `{{ p.name }}` b"),
        ("SELECT a FROM x JOIN `p.d.e_*` ON b", "SELECT a FROM x JOIN p.d.`e_*` ON b"),
        ("MERGE INTO `p-1.d-2.t` USING `d.s` ON b", "MERGE INTO `p-1`.`d-2`.t USING d.s   ON b"),
        ("CREATE OR REPLACE TABLE IF NOT EXISTS `p.d.t` AS SELECT 1", None),
        # A column, a part of a name, a path and names that may be anything stay as they are.
        ("SELECT `a.b` FROM x.`d.t`", "SELECT `a.b` FROM x.`d.t`"),
        ("SELECT a FROM `d.t`.x", "SELECT a FROM `d.t`.x"),
        ("SELECT a FROM parquet.`/lake/a.b`", "SELECT a FROM parquet.`/lake/a.b`"),
        ("SELECT '`d.t`' FROM x -- FROM `d.t`", "SELECT '`d.t`' FROM x -- FROM `d.t`"),
        ("WITH `a.b` AS (SELECT 1) SELECT * FROM `a.b`", "WITH `a.b` AS (SELECT 1) SELECT * FROM `a.b`"),
        ("CREATE TEMP VIEW `a.b` AS SELECT 1", "CREATE TEMP VIEW `a.b` AS SELECT 1"),
    ],
)
def test_a_table_in_one_pair_of_backticks_has_several_parts(statement: str, expected: str | None) -> None:
    if expected is None:
        expected = statement.replace("`p.d.t`", "p.d.t  ")
    assert with_parts_of_names(statement) == expected
    assert with_parts_of_names(expected) == expected


def test_a_temporary_view_with_a_dot_in_its_name_keeps_it_in_later_statements() -> None:
    statement = "SELECT * FROM `A.b` JOIN `p.d.t` USING (x)"

    assert with_parts_of_names(statement, {"a.b", "t"}) == "SELECT * FROM `A.b` JOIN p.d.t   USING (x)"
    assert as_spark(statement, {"a.b"}) == "SELECT * FROM `A.b` JOIN p.d.t   USING (x)"
    assert as_spark(statement) == "SELECT * FROM A.b   JOIN p.d.t   USING (x)"


def test_the_tables_of_bigquery_are_named_by_their_parts() -> None:
    assert [each.tables for each in read_statement("  SELECT a FROM `p.d.s`") or ()] == [("p.d.s",)]
    (found,) = read_statement("CREATE TABLE `p.d.t` AS SELECT a FROM `p-1.d.s`") or ()
    assert (found.target, found.tables) == ("p.d.t", ("`p-1`.d.s",))
    assert unknown_table(found.tables[0]).identifier == Identifier("p-1", "d.s")


def test_a_query_that_bigquery_sends_to_another_database_reads_tables_of_the_connection() -> None:
    inner = """WITH c AS (SELECT id, e AS mail FROM users) SELECT c.id, mail FROM app.logins l JOIN c ON l.id = c.id"""
    statement = f'SELECT lower(x.mail) AS mail FROM EXTERNAL_QUERY("p.us.shop", """{inner}""") AS x WHERE x.id > 1'
    (found,) = read_statement(statement) or ()
    users, logins = "`p.us.shop`.users", "`p.us.shop`.app.logins"
    assert sorted(found.tables) == [logins, users]
    assert found.columns == (("mail", {(users, "e"): frozenset({UseKind.TRANSFORMATION})}),)
    assert found.rows[users, "id"] == frozenset({UseKind.FILTER, UseKind.JOIN})
    assert unknown_table(logins).identifier == Identifier("p.us.shop", "app.logins")
    # A parameter tells no query.
    assert [each.tables for each in read_statement(statement.replace(inner, "{{ q }}")) or ()] == [()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT {% if a %} x {% elif b %} y {% else %} z {% endif %} AS v FROM t", "SELECT x AS v FROM t"),
        ("SELECT a FROM t {%- if a -%} WHERE {% if b %} c {% else %} d {% endif %} {%- endif -%}",
         "SELECT a FROM t WHERE c"),
        ("SELECT {% if a %}x{% else %} {% if b %} y {% else %} z {% endif %} {% endif %} FROM t", "SELECT x FROM t"),
        ("SELECT {% for a in b %} x, {% else %} y, {% endfor %} z FROM t", "SELECT x, z FROM t"),
        ("SELECT a {% else %} b {% endif %} FROM t", "SELECT a FROM t"),
    ],
)  # fmt: skip
def test_of_the_branches_of_a_template_the_first_one_is_read(text: str, expected: str) -> None:
    assert " ".join(placeheld(text).split()) == expected
    assert len(placeheld(text)) == len(text)


def test_a_variable_before_the_first_word_of_a_statement_is_a_header() -> None:
    assert (
        placeheld("{{ header }}\nWITH a AS (SELECT {{ x }}) SELECT 1")
        == f"{' ' * 12}\nWITH a AS (SELECT NULL) SELECT 1"
    )
    assert (
        placeheld("{{ header }}\n-- why\nCREATE VIEW v AS SELECT 1") == f"{' ' * 12}\n-- why\nCREATE VIEW v AS SELECT 1"
    )
    assert placeheld("{{ a }} + 1") == "NULL + 1"


@pytest.mark.parametrize(
    "statement",
    [
        "COPY INTO t FROM @stage FILE_FORMAT = (TYPE = CSV)",
        "-- all\nCOPY INTO t FROM (SELECT $1 FROM @s.stage/path)",
        "COPY INTO @stage/x FROM t",
        "SELECT $1 FROM @stage/path x",
    ],
)
def test_files_of_snowflake_are_no_variables(statement: str) -> None:
    assert substituted(statement, lambda _: None) == statement


def test_a_table_variable_of_sql_server_has_no_value() -> None:
    with pytest.raises(UnknownVariableError, match="the variable t has no value"):
        substituted("SELECT a FROM @t", lambda _: None)


def test_a_field_of_a_file_that_mysql_loads_is_no_variable() -> None:
    statement = "LOAD DATA LOCAL INFILE 'f.csv' INTO TABLE d.t FIELDS TERMINATED BY ',' (a, @x) SET b = @x"
    assert substituted(statement, lambda _: None) == statement
    assert read_statement(statement) == (TextLineage("d.t", ()),)
    with pytest.raises(UnknownVariableError):
        substituted("LOAD DATA INPATH '@x' INTO TABLE @x", lambda _: None)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SHOW SHARES IN PROVIDER p", True),
        ("CREATE EXTERNAL LOCATION x URL 'y'", True),
        ("CREATE OR REPLACE POLICY p ON SCHEMA s", True),
        ("ALTER TABLE t SET OWNER TO `joe`", True),
        ("ALTER TABLE t ALTER COLUMN c SET MASK m", True),
        ("DROP VOLUME v", True),
        ("GRANT SELECT ON t TO joe", True),
        ("/* nightly */ CALL lake.system.expire_snapshots(table => 'shop.orders')", True),
        ("call `lake`.system.`rewrite_data_files` ('shop.orders')", True),
        ("CALL lake.system.rollback_to_snapshot('shop.expire_snapshots', 1)", False),
        ("CALL shop.load(expire_snapshots => true)", False),
        ("CALL", False),
        ("SET @a = 1", True),
        ("SET @a = (SELECT b FROM t)", False),
        ("SET NOCOUNT, XACT_ABORT ON", True),
        ("v := w + 1", True),
        ("LET v NUMBER(10, 2) := 1", True),
        ("v := (SELECT a FROM t)", False),
        ("PRINT 'x'", True),
        ("RETURN 1", True),
        ("RETURN (SELECT a FROM t)", False),
        ("END FOR", True),
        ("DECLARE days INT64 DEFAULT 30", True),
        ("DECLARE days INT64 DEFAULT (SELECT max(d) FROM t)", False),
        ("ALTER VIEW v AS SELECT a FRM b", False),
        ("CREATE TABLE t AS SELECT a FRM b", False),
        ("SELEC a", False),
        ("SET ROLE r", True),
        ("SET LOCAL SESSION AUTHORIZATION r", True),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", True),
        ("SET x = (SELECT max(a) FROM t)", False),
        ("SET a.role = 1", False),
        ("REASSIGN OWNED BY a TO b", True),
    ],
)
def test_what_manages_or_looks_has_no_lineage(statement: str, expected: bool) -> None:  # noqa: FBT001
    assert has_no_lineage(statement) is expected


def test_a_function_is_made_in_whatever_language() -> None:
    assert makes_function("CREATE OR REPLACE TEMPORARY FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS $$ return a $$")
    assert not makes_function("CREATE TABLE f (a INT)")


def test_an_insert_into_several_tables_is_taken_apart() -> None:
    text = (
        "FROM (SELECT a FROM x WHERE b = 1) t INSERT INTO m SELECT a WHERE a > 1 INSERT INTO n SELECT max(a) GROUP BY a"
    )
    assert [plain(each) for each in single_inserts(text)] == [
        "INSERT INTO m SELECT a FROM (SELECT a FROM x WHERE b = 1) t WHERE a > 1",
        "INSERT INTO n SELECT max(a) FROM (SELECT a FROM x WHERE b = 1) t GROUP BY a",
    ]
    for other in ("INSERT INTO t SELECT a FROM b", "SELECT a FROM b", "FROM b SELECT a"):
        assert single_inserts(other) == (other,)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT c.a.b, c.d FROM t", "STRUCT<`a`: STRUCT<`b`: STRING>, `d`: STRING>"),
        ("SELECT t.c.items[0].price FROM t", "STRUCT<`items`: ARRAY<STRUCT<`price`: STRING>>>"),
        ("SELECT c['k'], c[key] FROM t", "MAP<STRING, STRING>"),
        ("SELECT C[1] FROM t", "ARRAY<STRING>"),
        ("SELECT `c`.`odd name` FROM t", "STRUCT<`odd name`: STRING>"),
        ("SELECT c, 'c.a' FROM t", None),
    ],
)
def test_a_type_follows_what_is_taken_out_of_a_column(statement: str, expected: str | None) -> None:
    assert type_by_use(statement, "c") == expected


def manifest(folder: Path) -> Path:
    def model(name: str, kind: str, *reads: str) -> dict[str, object]:
        return {
            "unique_id": f"model.shop.{name}", "resource_type": "model", "name": name, "package_name": "shop",
            "original_file_path": f"models/{name}.sql", "database": "lake", "schema": "mart", "alias": name,
            "config": {"materialized": kind}, "depends_on": {"nodes": list(reads)}, "compiled_code": f"select {name}",
        }  # fmt: skip

    first = model("a", "table", "model.shop.b", "source.shop.raw.orders")
    nodes = {"1": first, "2": model("b", "view"), "3": model("c", "ephemeral")}
    source = {"unique_id": "source.shop.raw.orders", "schema": "raw", "name": "o", "identifier": "orders"}
    exposure = {
        "name": "weekly", "type": "dashboard", "owner": {"name": "Jo", "email": "jo@example.org"},
        "original_file_path": "models/uses.yml", "depends_on": {"nodes": ["model.shop.a", "source.shop.raw.orders"]},
    }  # fmt: skip
    documents = {"nodes": nodes, "sources": {"s": source}, "exposures": {"e": exposure, "f": {"name": "f"}}}
    (folder / "manifest.json").write_text(json.dumps(documents), "utf-8")
    columns = {"x": {"name": "x", "type": "int", "index": 2}, "y": {"name": "y", "type": "string", "index": 1}}
    described = {"sources": {"source.shop.raw.orders": {"columns": columns}}}
    (folder / "catalog.json").write_text(json.dumps(described), "utf-8")
    return folder / "manifest.json"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_a_manifest_that_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(TextError, match=r"manifest\.json is not valid JSON: "):
        read_project(tmp_path / "manifest.json")


def test_compiled_models_make_the_tables_of_the_manifest_in_the_order_of_dbt(tmp_path: Path) -> None:
    project = read_project(manifest(tmp_path))
    assert [each.id for each in project.models] == ["model.shop.b", "model.shop.a"]
    assert project.tables == (DeclaredTable(("spark_catalog", "raw", "orders"), (("y", "string"), ("x", "int"))),)
    compiled = "x/target/compiled/shop/models"
    names = [f"{compiled}/a.sql", f"{compiled}/b.sql", f"{compiled}/c.sql", "other.sql"]
    made = scripts_of_models([Script(name, name) for name in names], project)
    assert made == [
        Script(names[1], names[1], head="CREATE VIEW `lake`.`mart`.`b` AS "),
        Script(names[0], names[0], head="CREATE TABLE `lake`.`mart`.`a` AS "),
        Script("other.sql", "other.sql"),
    ]
    raw = scripts_of_models([Script("models/a.sql", "{{ ref('b') }}")], project)
    assert raw == [Script("models/a.sql", "select a", head="CREATE TABLE `lake`.`mart`.`a` AS ")]


def made_of(kind: str) -> StatementLineage:
    """Return the lineage of a statement that makes the model `a` of the manifest, by an edge of a kind."""
    table = Dataset(Identifier("lake", "mart.a"), symlinks=(Symlink("lake", "lake.mart.a"),), type="TABLE")
    source = Dataset(Identifier("spark_catalog", "raw.orders"), symlinks=(Symlink("spark_catalog", "raw.orders"),))
    edge = InputField(source.identifier, "y", (Transformation("DIRECT", kind),))
    lineage = Lineage((source,), ((table, ColumnLineage((OutputColumn("x", (edge,)), OutputColumn("z", ())))),))
    return StatementLineage(ScriptStatement("SELECT 1", "a.sql", 1, 1), lineage)


def test_what_is_read_through_an_ephemeral_model_comes_first_and_a_snapshot_has_the_query_of_the_manifest(
    tmp_path: Path,
) -> None:
    def node(name: str, materialized: str, reads: str = "", kind: str = "model") -> tuple[str, dict[str, object]]:
        made: dict[str, object] = {"unique_id": f"{kind}.shop.{name}", "resource_type": kind, "package_name": "shop"}
        made |= {"name": name, "schema": "mart", "config": {"materialized": materialized}, "compiled_code": f"q{name}"}
        nodes = [f"model.shop.{reads}"] if reads else []
        return f"{kind}.shop.{name}", {
            **made,
            "original_file_path": f"{kind}s/{name}.sql",
            "depends_on": {"nodes": nodes},
        }

    nodes = [
        node("c", "table", "b"),
        node("s", "snapshot", "c", "snapshot"),
        node("b", "ephemeral", "a"),
        node("a", "view"),
    ]
    (tmp_path / "manifest.json").write_text(json.dumps({"nodes": dict(nodes), "sources": {}}), "utf-8")
    project = read_project(tmp_path / "manifest.json")
    compiled = "target/compiled/shop/models"
    made = scripts_of_models([Script(f"{compiled}/{name}.sql", name) for name in ("b", "c", "a")], project)
    assert [(each.name, each.text) for each in made] == [
        (f"{compiled}/a.sql", "a"),
        (f"{compiled}/c.sql", "c"),
        (str(PurePath("snapshots/s.sql")), "qs"),
    ]
    assert made[2].head == "CREATE TABLE `spark_catalog`.`mart`.`s` AS "


def test_a_change_of_a_model_reaches_the_exposures_of_the_project(tmp_path: Path) -> None:
    project = read_project(manifest(tmp_path))
    assert [each.label for each in project.exposures] == ["dashboard weekly of Jo <jo@example.org>", "exposure f"]
    before, after = ([made_of(kind)] for kind in ("IDENTITY", "TRANSFORMATION"))
    states = [lineage_state_of([*each, *lineage_of_exposures(project.exposures, each)]) for each in (before, after)]
    diff, _ = compared(states[0], states[1], None)
    assert diff.downstream == (("dashboard weekly of Jo <jo@example.org>", 1),)
    assert compared(states[0], states[0], None)[0].downstream == ()


def test_an_exposure_reads_all_columns_of_its_tables_and_is_exact(tmp_path: Path) -> None:
    weekly, other = lineage_of_exposures(read_project(manifest(tmp_path)).exposures, [made_of("IDENTITY")])
    assert weekly.lineage is not None
    edges = flat(weekly.lineage)
    assert [(each.source_table, each.source_column) for each in edges] == [("lake.mart.a", "x"), ("lake.mart.a", "z")]
    assert [each.identifier.name for each in weekly.lineage.inputs] == ["mart.a", "raw.orders"]
    assert (weekly.statement.file, certainty_of_statement(weekly)) == ("models/uses.yml", "exact")
    assert other.lineage is not None
    assert other.lineage.inputs == ()


@pytest.mark.parametrize("text", ["[]", "{}", '{"nodes": {"a": {"resource_type": "model"}}}', "no"])
def test_what_is_no_manifest_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(TextError, match=r"manifest\.json is no"):
        read_project(tmp_path / "manifest.json")


def test_models_as_people_write_them_are_resolved_at_their_places(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop", "utf-8")
    text = (
        "{{ config(materialized='table') }}\nselect a, '{{ var('x', '3') }}' from {{ ref('up') }} "
        "join {{ source('raw', 'o') }} {% if is_incremental() %} where a > 1 {% endif %}"
    )
    scripts = [Script(str(tmp_path / PurePath(name)), text) for name in ("models/down.sql", "macros/m.sql")]
    up = Script(str(tmp_path / "models" / "up.sql"), "select 1 as a")
    first, second = scripts_of_raw_models([scripts[0], up, scripts[1]])
    assert (first.text, first.head) == ("select 1 as a", "CREATE TABLE `up` AS ")
    assert second.head == "CREATE TABLE `down` AS "
    assert plain(second.text) == "select a, '3 ' from `up` join `raw`.`o`"
    assert second.text.index("`up`") == text.index("{{ ref")


def test_models_in_python_run_after_those_that_they_read(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: shop", "utf-8")
    python = "def model(dbt, session):\n    dbt.config(tags=['a'])\n    return dbt.ref('pack', 'up')"
    texts = {"down.sql": "select * from {{ ref('made') }}", "made.py": python, "up.sql": "select 1", "own.py": "X = 1"}
    texts["wrong.py"] = "def model(dbt, session:"
    made = scripts_of_raw_models(Script(str(tmp_path / "models" / name), text) for name, text in texts.items())
    assert [(PurePath(each.name).name, each.head, each.model) for each in made] == [
        ("own.py", "", ""),
        ("up.sql", "CREATE TABLE `up` AS ", ""),
        ("made.py", "", "`made`"),
        ("down.sql", "CREATE TABLE `down` AS ", ""),
        ("wrong.py", "", "`wrong`"),
    ]
    assert made[2].text == python


def test_a_compiled_model_in_python_makes_the_table_of_the_manifest(tmp_path: Path) -> None:
    python = "def model(dbt, session):\n    return dbt.ref('a')"
    node = {
        "resource_type": "model",
        "unique_id": "model.shop.m",
        "package_name": "shop",
        "schema": "mart",
        "name": "m",
        "original_file_path": "models/m.py",
        "compiled_code": f"{python}\n\nclass dbtObj: pass",
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"nodes": {"m": node}}), "utf-8")
    project = read_project(tmp_path / "manifest.json")
    for name in ("target/compiled/shop/models/m.py", "models/m.py"):
        (made,) = scripts_of_models([Script(name, python)], project)
        assert (made.model, made.head) == ("`spark_catalog`.`mart`.`m`", "")
        assert ("dbtObj" in made.text) is (name == "models/m.py")


def models_of(folder: Path, project: str, texts: dict[str, str]) -> list[tuple[str, str]]:
    """Return the head and the plain text of each model of a project, in their order."""
    (folder / "dbt_project.yml").write_text(project, "utf-8")
    made = scripts_of_raw_models([Script(str(folder / name), text) for name, text in texts.items()])
    return [(each.head.removeprefix("CREATE TABLE ").removesuffix(" AS "), plain(each.text)) for each in made]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{config({\n 'materialized': 'incremental', \"tags\": [\"nightly\"]})\n}}\nselect 1", "select 1"),
        ("{{- config(schema=env_var('A', 'x)}}'), d={'a': {'b': 1}}) -}} select 1", "select 1"),
        ("select * from {{ source('raw', var('o', 'orders')) }}", "select * from `raw`.`orders`"),
        ("select * from {{ source('raw', var('o')) }}", "select * from {{ source('raw', var('o')) }}"),
        ("select * from {{ source(var('s'), 'o') }}", "select * from {{ source(var('s'), 'o') }}"),
        ("select * from {{ ref('up', v=2) }} {# {{ config( #}", "select * from `up`"),
        ("select * from {{ ref('pack', 'up') }} where b = '{{'", "select * from `up` where b = '{{'"),
        ("select {{ f('{{ ref(1) }}') }} from {{ ref('a') }}", "select {{ f('{{ ref(1) }}') }} from `a`"),
        ("select {{ ref('a').x }}, {{ this.schema }} from {{ this }}",
         "select {{ ref('a').x }}, {{ this.schema }} from `m`"),
        ("select {{ var('a', 1) }}, {{ var('b', c) }}", "select 1 , {{ var('b', c) }}"),
    ],
)  # fmt: skip
def test_expressions_of_a_model_are_resolved_if_they_need_no_code(tmp_path: Path, text: str, expected: str) -> None:
    assert models_of(tmp_path, "name: shop", {"models/m.sql": text}) == [("`m`", expected)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% if is_incremental() %} a {% else %} b {% endif %} c", "b c"),
        ("{%- if is_incremental() and x -%} a {% if y %} b {% endif %} c {%- endif -%} d", "d"),
        ("{% if not is_incremental() %} a {% else %} b {% endif %}", "a"),
        ("{% if x %} {% if is_incremental() %} a {% endif %} b {% endif %}", "{% if x %} b {% endif %}"),
        ("{% for i in x %} {% if is_incremental() %} a {% endif %} {% else %} b {% endfor %}",
         "{% for i in x %} {% else %} b {% endfor %}"),
        ("{% if is_incremental() %} a {% elif x %}{% endif %}", "{% if is_incremental() %} a {% elif x %}{% endif %}"),
        ("{% if is_incremental() or x %} a {% endif %}", "{% if is_incremental() or x %} a {% endif %}"),
        ("{% endif %} {% if is_incremental() %} a", "{% endif %} {% if is_incremental() %} a"),
    ],
)  # fmt: skip
def test_a_model_is_read_as_in_its_first_run(tmp_path: Path, text: str, expected: str) -> None:
    assert models_of(tmp_path, "name: shop", {"models/m.sql": text}) == [("`m`", expected)]


@pytest.mark.parametrize(
    ("project", "expected"),
    [
        ("name: x\nmodel-paths: ['a/models/', \"b\"]\n", ["`m`", "`n`"]),
        ("# model-paths: ['c']\nmodel-paths:\n  - a/models\n  - 'b' # more\nother: [c]\n", ["`m`", "`n`"]),
        ("source-paths: [b]", ["`n`"]),
        ("name: x", ["`o`"]),
    ],
)
def test_the_folders_of_models_are_those_of_the_project(tmp_path: Path, project: str, expected: list[str]) -> None:
    texts = {"a/models/m.sql": "select 1", "b/c/n.sql": "select 2", "models/o.sql": "select 3"}
    assert [head for head, _ in models_of(tmp_path, project, texts) if head] == expected


def test_two_models_of_one_name_are_both_read_after_what_they_read(tmp_path: Path) -> None:
    texts = {
        "a/down.sql": "select x from {{ ref('up') }}",
        "a/up.sql": "select 1 as x",
        "b/up.sql": "select 2 as x",
    }
    assert models_of(tmp_path, "model-paths: [a, b]", texts) == [
        ("`up`", "select 1 as x"),
        ("`up`", "select 2 as x"),
        ("`down`", "select x from `up`"),
    ]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT a INTO d.x FROM t UNION SELECT a FROM u", [("d.x", ("t", "u"), ["a"])]),
        ("SELECT a INTO #x FROM t", [("`#x`", ("t",), ["a"])]),
        ("REPLACE INTO x SELECT a FROM t", [("x", ("t",), ["a"])]),
        ("CREATE TABLE x CLONE t", [("x", ("t",), [])]),
        ("INSERT ALL INTO x VALUES (a) INTO y (c) VALUES (b) SELECT a, b FROM t",
         [("x", ("t",), ["a"]), ("y", ("t",), ["c"])]),
        ("COPY INTO x FROM @s/p FILE_FORMAT = (TYPE = CSV)", [("x", (), [])]),
        ("COPY INTO x (a) FROM (SELECT $1 FROM @s/p s)", [("x", (), [])]),
        ("COPY x FROM 's3://b' IAM_ROLE 'r' CSV", [("x", (), [])]),
        ("COPY INTO @s/p FROM (SELECT a FROM t)", [("", ("t",), [])]),
        ("UNLOAD ('SELECT a FROM t WHERE b = \\'c\\'') TO 's3://b' IAM_ROLE 'r'",
         [("textfile.`s3://b`", ("t",), ["a"])]),
        ("UNLOAD ('SELECT a FROM t') TO 's3://b' FORMAT AS PARQUET", [("parquet.`s3://b`", ("t",), ["a"])]),
        ("UNLOAD ('SELECT a FROM t')", [("", ("t",), ["a"])]),
        # A routine is no table, and what it fills is not what it reads.
        ("CREATE PROCEDURE p AS INSERT INTO x SELECT a FROM t", [("", ("t",), [])]),
        ("CREATE TABLE FUNCTION d.f(a INT64) AS SELECT a FROM t", [("", ("t",), [])]),
    ],
)  # fmt: skip
def test_what_statements_of_other_engines_read_and_fill_is_read(
    statement: str, expected: list[tuple[str, tuple[str, ...], list[str]]]
) -> None:
    found = read_statement(statement)
    assert found is not None
    assert [(each.target, each.tables, [name for name, _ in each.columns]) for each in found] == expected


def test_a_materialized_view_that_fills_a_table_is_an_insert_into_it() -> None:
    text = "CREATE MATERIALIZED VIEW v ON CLUSTER c\nTO d.x (a Int) AS\nSELECT a, oops FROM s"
    made = as_spark(text)
    assert plain(made) == "INSERT INTO d.x BY NAME SELECT a, oops FROM s"
    assert made.index("oops") == text.index("oops")


def test_clickhouse_is_recognized_by_its_functions_and_reads_later_aliases() -> None:
    text = "SELECT {}(b) || c AS a, substr(t.js, 1) AS b FROM t"
    made = [read_statement(text.format(name)) for name in ("toString", "lower")]
    sources = [dict(each[0].columns)["a"] for each in made if each is not None]
    assert [sorted(column for _, column in each or ()) for each in sources] == [["c", "js"], ["b", "c"]]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("INSERT INTO IDENTIFIER(:c || '.s_' || :n || '.t') SELECT a FROM identifier('d.' || :n)",
         "INSERT INTO `${c}`.`s_${n}`.`t` SELECT a FROM `d`.`${n}`"),
        ("SELECT CAST(a AS {{ text() }}) AS b, c::{{ t() }} FROM x", "SELECT CAST(a AS STRING) AS b, c::STRING FROM x"),
        ("SELECT a AS {{ b() }} FROM x", "SELECT a AS template(*) FROM x"),
    ],
)  # fmt: skip
def test_what_makes_names_and_types_is_held(statement: str, expected: str) -> None:
    assert placeheld(statement) == expected


def test_a_name_that_an_expression_makes_is_no_table() -> None:
    found = read_statement("INSERT INTO IDENTIFIER(concat('a', 'b')) SELECT a FROM t")
    assert found is not None
    assert [(each.target, each.tables) for each in found] == [("", ("t",))]


def test_a_path_may_have_quotes_and_templates() -> None:
    text = 'SELECT a FROM read_files(\'{{ var("x") }}/in\', format => "csv")'
    assert as_spark(text) == 'SELECT a FROM csv.`{{ var("x") }}/in`'


def test_a_merge_without_the_word_into_inserts_values_of_its_source() -> None:
    text = "MERGE `p.d.t` USING d.s ON false WHEN NOT MATCHED AND c > 1 THEN INSERT (a) VALUES (b)"
    found = read_statement(text)
    assert found is not None
    assert [(each.target, each.tables) for each in found] == [("p.d.t", ("p.d.t", "d.s"))]
    ((name, sources),) = found[0].columns
    assert name == "a"
    assert sorted(sources or ()) == [("d.s", "b"), ("d.s", "c")]


@pytest.mark.parametrize(
    ("statement", "columns", "rows"),
    [
        ("CREATE TABLE x AS SELECT f.value:id AS i FROM s t, LATERAL FLATTEN(input => t.items) f", ["items"], []),
        ("SELECT t.a FROM t, u WHERE t.x = u.x(+)", ["a"], ["x", "x"]),
        ("SELECT level, t.a FROM t CONNECT BY PRIOR id = p", ["a"], []),
    ],
)
def test_what_only_another_dialect_means_is_read_in_it(statement: str, columns: list[str], rows: list[str]) -> None:
    found = read_statement(statement)
    assert found is not None
    sources = [column for _, each in found[0].columns for _, column in each or ()]
    assert (sources, [column for _, column in found[0].rows]) == (columns, rows)


def test_an_insert_that_changes_rows_has_perhaps_more_columns() -> None:
    found = read_statement("INSERT INTO x (id) SELECT id FROM t ON CONFLICT (id) DO UPDATE SET m = x.m + 1")
    assert found is not None
    assert [(each.target, each.whole) for each in found] == [("x", False)]
