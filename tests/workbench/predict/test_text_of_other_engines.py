"""What the texts of statements tell that other engines have, and Spark and most dialects of sqlglot have not."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.from_text.reading import Known, TextLineage, read_statement, tables_in
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.databricks import has_no_lineage
from openlineage_pyspark.workbench.predict.sql.forgotten_ends import without_forgotten_ends
from openlineage_pyspark.workbench.predict.sql.pipes import with_read_pipes
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement


def told(statement: str, dialect: str = "", known: Known | None = None) -> tuple[TextLineage, ...]:
    found = read_statement(statement, known, dialect)
    assert found is not None
    return found


def columns(found: TextLineage) -> dict[str, list[str] | None]:
    """Return each column with its sources of values, as `table.column`."""
    return {
        name: None
        if sources is None
        else sorted(".".join(source) for source, kinds in sources.items() if any(each.direct for each in kinds))
        for name, sources in found.columns
    }


@pytest.mark.parametrize("dialect", ["", "mysql"])
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE a JOIN b ON a.i = b.i SET b.x = a.y", {"b": {"x": ["a.y", "b.x"]}}),
        ("UPDATE a AS p, s.b q SET q.x = p.y WHERE p.i = q.i", {"s.b": {"x": ["a.y", "s.b.x"]}}),
        (
            "UPDATE a JOIN b ON a.i = b.i JOIN c ON c.i = b.i SET c.z = a.y + b.x, a.y = c.z",
            {"c": {"z": ["a.y", "b.x", "c.z"]}, "a": {"y": ["a.y", "c.z"]}},
        ),
        # Only a table can be set.
        ("UPDATE a JOIN (SELECT i, v FROM b) q ON a.i = q.i SET x = q.v", {"a": {"x": ["a.x", "b.v"]}}),
    ],
)
def test_an_update_of_joined_tables_sets_the_columns_of_the_table_that_it_names(
    statement: str, expected: dict[str, dict[str, list[str]]], dialect: str
) -> None:
    found = told(statement, dialect)
    assert {each.target: columns(each) for each in found} == expected
    assert all(each.whole and each.rows_known for each in found)


@pytest.mark.parametrize("selected", ["COLUMNS('a.*') APPLY(sum)", "* APPLY(max)", "max(COLUMNS('a')) + 1"])
def test_a_pattern_of_columns_makes_columns_that_are_not_known(selected: str) -> None:
    (found,) = told(f"CREATE TABLE x AS SELECT {selected}, b FROM t", "clickhouse")
    assert (found.tables, columns(found), found.whole) == (("t",), {"b": ["t.b"]}, False)


def test_a_set_column_that_several_tables_may_have_is_that_of_no_table() -> None:
    statement = "UPDATE a JOIN b ON a.i = b.i SET x = b.y"
    (found,) = told(statement)
    assert (found.target, found.columns, found.whole) == ("a", (), False)
    (found,) = told(statement, known=Known({"b": ["i", "y"]}))
    assert (found.target, columns(found), found.whole) == ("a", {"x": ["a.x", "b.y"]}, True)
    (found,) = told(statement, known=Known(used={"b": ["x"]}))
    assert (found.target, columns(found), found.whole) == ("b", {"x": ["b.x", "b.y"]}, True)


def test_the_columns_that_an_insert_names_are_filled_even_if_it_may_change_rows() -> None:
    (found,) = told("INSERT INTO t (a, b) SELECT x, y FROM s ON DUPLICATE KEY UPDATE b = VALUES(b)")
    assert (columns(found), found.whole) == ({"a": ["s.x"], "b": ["s.y"]}, False)


def test_an_insert_of_one_query_into_several_tables_fills_each_with_its_values() -> None:
    found = told("INSERT ALL INTO t1 (a, b) VALUES (x, y + 1) INTO t2 (c) VALUES (y) SELECT x, y FROM src", "oracle")
    assert [(each.target, columns(each), each.tables, each.rows) for each in found] == [
        ("t1", {"a": ["src.x"], "b": ["src.y"]}, ("src",), {}),
        ("t2", {"c": ["src.y"]}, ("src",), {}),
    ]


def test_the_conditions_of_an_insert_into_several_tables_decide_about_their_rows() -> None:
    found = told(
        "INSERT FIRST WHEN n > 1 THEN INTO t1 (a) VALUES (x) WHEN m < 1 THEN INTO t2 (b) VALUES (x) "
        "ELSE INTO t3 SELECT x, n, m FROM src",
        "snowflake",
    )
    assert [(each.target, sorted(name for _, name in each.rows)) for each in found] == [
        ("t1", ["n"]),
        ("t2", ["m", "n"]),
        ("t3", ["m", "n"]),
    ]
    assert columns(found[2]) == {"x": ["src.x"], "n": ["src.n"], "m": ["src.m"]}


def test_what_a_merge_of_oracle_deletes_and_skips_decides_about_its_rows() -> None:
    (found,) = told(
        "MERGE INTO t USING s ON (t.i = s.i) WHEN MATCHED THEN UPDATE SET t.v = s.v WHERE s.q > 1 DELETE WHERE s.d = 1 "
        "WHEN NOT MATCHED THEN INSERT (i, v) VALUES (s.i, s.v)"
    )
    assert columns(found) == {"v": ["s.v", "t.v"], "i": ["s.i", "t.i"]}
    assert {
        name: sorted(kind.name for kind in kinds) for (table, name), kinds in found.rows.items() if table == "s"
    } == {
        "i": ["JOIN"],
        "d": ["FILTER"],
    }
    ((_, sources),) = [each for each in found.columns if each[0] == "v"]
    assert [kind.name for kind in (sources or {})["s", "q"]] == ["CONDITIONAL"]


@pytest.mark.parametrize(
    "window",
    [
        "TABLE(TUMBLE(TABLE s.src, DESCRIPTOR(ts), INTERVAL '1' MINUTE))",
        "HOP(DATA => TABLE s.src PARTITION BY k, TIMECOL => DESCRIPTOR(ts), SLIDE => f(1), SIZE => f(5))",
    ],
)
def test_the_windows_of_flink_are_those_of_the_rows_of_a_table(window: str) -> None:
    (found,) = told(f"INSERT INTO out SELECT window_start, sum(w.p) AS p FROM {window} AS w GROUP BY window_start")
    assert (found.tables, columns(found)) == (("s.src",), {"window_start": ["s.src.ts"], "p": ["s.src.p"]})


@pytest.mark.parametrize(
    ("statement", "target", "tables"),
    [
        ("INSERT INTO IDENTIFIER('a.o' || '1') SELECT x FROM IDENTIFIER('t') AS y", "a.o1", ("t",)),
        ("INSERT INTO dbo.t (a, b) EXEC dbo.p 1, 'x'", "dbo.t", ()),
    ],
)
def test_the_tables_that_a_text_makes_or_fills_by_a_call_are_told(
    statement: str, target: str, tables: tuple[str, ...]
) -> None:
    (found,) = told(statement)
    assert (found.target, found.tables) == (target, tables)


@pytest.mark.parametrize(
    "rows",
    ["FROM dbo.a a WITH (NOLOCK)", "FROM a CROSS APPLY (SELECT 1 AS z) s", "FROM dbo.a AS a"],
)
def test_an_alias_before_its_value_is_one_where_only_sql_server_can_mean_the_text(rows: str) -> None:
    (found,) = told(f"INSERT INTO dbo.o SELECT x = a.p, y = a.q + 1 {rows}")
    assert {name: [column.split(".")[-1] for column in each or ()] for name, each in columns(found).items()} == {
        "x": ["p"],
        "y": ["q"],
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("(1, 'a'), (2, 'b')", {"x": [], "y": []}),
        ("(1, (SELECT max(v) FROM s)), (n, 'b')", {"x": None, "y": ["s.v"]}),
    ],
)
def test_values_are_read_as_queries(values: str, expected: dict[str, list[str] | None]) -> None:
    (found,) = told(f"INSERT INTO t (x, y) VALUES {values}")
    assert columns(found) == expected


def test_a_value_is_no_name_of_a_column() -> None:
    (found,) = told("INSERT INTO t VALUES ('hidden', (SELECT max(v) FROM s))")
    assert columns(found) == {"_c0": [], "_c1": ["s.v"]}
    (found,) = told("INSERT INTO t VALUES ('hidden', 1)")
    assert (found.target, found.columns, found.whole) == ("t", (), False)


def test_what_a_parameter_is_stays_unknown() -> None:
    (found,) = told("INSERT INTO t (x) VALUES (@v)", "tsql")
    assert (found.target, found.columns, found.whole) == ("t", (), False)


@pytest.mark.parametrize(
    ("cte", "expected"),
    [
        ("SELECT id, v FROM dbo.t", ("dbo.t", {"v": ["dbo.s.x", "dbo.t.v"]}, True)),
        ("SELECT id, w AS v FROM dbo.t", ("dbo.t", {"w": ["dbo.s.x", "dbo.t.w"]}, True)),
        ("SELECT id, v + 1 AS v FROM dbo.t", ("dbo.t", {}, False)),
        ("SELECT t.id, u.v FROM dbo.t JOIN dbo.u ON t.i = u.i", ("dbo.u", {"v": ["dbo.s.x", "dbo.u.v"]}, True)),
    ],
)
def test_a_change_of_the_rows_of_a_cte_is_one_of_the_table_behind_it(
    cte: str, expected: tuple[str, dict[str, list[str]], bool]
) -> None:
    (found,) = told(f"WITH c AS ({cte}) UPDATE c SET v = s.x FROM c JOIN dbo.s ON c.id = s.id", "tsql")
    assert (found.target, columns(found), found.whole) == expected


def test_rows_are_deleted_from_the_table_behind_a_cte() -> None:
    (found,) = told(
        "WITH c AS (SELECT id, row_number() OVER (ORDER BY a) AS n FROM t) DELETE FROM c WHERE n > 1", "tsql"
    )
    assert (found.target, sorted(found.rows)) == ("t", [("t", "a")])


def test_a_delete_may_be_of_several_tables() -> None:
    found = told("DELETE a, b FROM a JOIN b ON a.i = b.i WHERE b.x = 1", "mysql")
    assert [each.target for each in found] == ["a", "b"]
    assert all(set(each.rows) == {("a", "i"), ("b", "i"), ("b", "x")} for each in found)


def test_an_insert_that_returns_its_rows_fills_its_columns_and_may_store_them() -> None:
    found = told("INSERT INTO dbo.o (a) OUTPUT inserted.a INTO dbo.audit (a) SELECT x FROM dbo.t")
    assert [(each.target, each.tables, columns(each), each.whole) for each in found] == [
        ("dbo.o", ("dbo.t",), {"a": ["dbo.t.x"]}, True),
        ("dbo.audit", ("dbo.t",), {}, False),
    ]


def test_a_change_at_a_cursor_is_one_of_rows_that_the_text_does_not_state() -> None:
    (found,) = told("UPDATE dbo.o SET a = x + 1 WHERE CURRENT OF @rows;")
    assert (found.target, columns(found), found.rows_known) == ("dbo.o", {"a": ["dbo.o.a", "dbo.o.x"]}, False)
    (found,) = told("DELETE FROM dbo.o WHERE CURRENT OF rows")
    assert (found.target, found.rows, found.rows_known) == ("dbo.o", {}, False)


@pytest.mark.parametrize(
    ("star", "expected"),
    [
        ("* RENAME (a AS b)", {"b": ["t.a"], "x": ["t.x"], "y": ["t.y"]}),
        ("* EXCLUDE (x) REPLACE (y + x AS a)", {"a": ["t.x", "t.y"], "y": ["t.y"]}),
        ("* ILIKE '%x%'", {}),
    ],
)
def test_a_star_may_have_other_names_and_values(star: str, expected: dict[str, list[str]]) -> None:
    (found,) = told(f"SELECT {star} FROM (SELECT a, x FROM t) JOIN (SELECT y FROM t) AS q", "snowflake")
    assert columns(found) == expected
    assert not found.whole


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a + A AS x, T.A AS y FROM t", {"x": ["t.a"], "y": ["t.a"]}),
        ("SELECT t.Id AS x, ID AS y FROM t JOIN u USING (id)", {"x": ["t.id"], "y": ["t.id"]}),
        ("SELECT * FROM (SELECT a AS Key FROM t) x JOIN (SELECT c AS KEY FROM u) y USING (key)", {"Key": ["t.a"]}),
        ("SELECT q.ID AS x, t.id AS y FROM t JOIN (SELECT id FROM t) q", {"x": ["t.id"], "y": ["t.id"]}),
    ],
)
def test_a_column_is_one_source_however_it_is_spelled(query: str, expected: dict[str, list[str]]) -> None:
    (found,) = told(query)
    assert columns(found) == expected


def test_clickhouse_tells_columns_apart_by_their_case() -> None:
    (found,) = told("SELECT a + A AS x FROM t", "clickhouse")
    assert columns(found) == {"x": ["t.A", "t.a"]}


@pytest.mark.parametrize("dialect", ["oracle", "postgres", "snowflake", "trino"])
def test_names_keep_their_spelling_in_each_dialect(dialect: str) -> None:
    (found,) = told('SELECT UserId, q.Mail AS eMail, "Zip" FROM Users q', dialect)
    assert columns(found) == {"UserId": ["Users.UserId"], "eMail": ["Users.Mail"], "Zip": ["Users.Zip"]}


@pytest.mark.parametrize(
    ("change", "filled"),
    [
        ("INSERT INTO d.t (a, b) SELECT s.x, s.y FROM s WHERE s.z = ')'", {"a": ["s.x"], "b": ["s.y"]}),
        ("UPDATE d.t SET a = b + 1", {"a": ["d.t.b"]}),
    ],
)
def test_the_rows_that_a_statement_changes_are_read_from_its_table(change: str, filled: dict[str, list[str]]) -> None:
    rows, changed = told(f"CREATE TABLE o AS SELECT n.a FROM FINAL TABLE ({change}) AS n")
    assert (rows.target, rows.tables, columns(rows)) == ("o", ("d.t",), {"a": ["d.t.a"]})
    assert (changed.target, columns(changed)) == ("d.t", filled)


@pytest.mark.parametrize("change", ["INSERT INTO (", "DELETE d.t WHERE ((", "SELECT 1"])
def test_the_rows_of_a_change_that_is_not_read_cost_only_their_query(change: str) -> None:
    assert read_statement(f"SELECT a FROM FINAL TABLE ({change})") is None


def test_a_query_in_parentheses_is_unloaded() -> None:
    (found,) = told("UNLOAD (SELECT a FROM t WHERE (b = ')')) TO 's3://b/' WITH (format = 'PARQUET')")
    assert (found.target, found.tables, columns(found)) == ("parquet.`s3://b/`", ("t",), {"a": ["t.a"]})


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "FROM t |> SET a = b || c, d = (x = 1) |> DROP y",
            "FROM t |> SELECT * REPLACE (b || c AS a, (x = 1) AS d) |> SELECT * EXCEPT (y)",
        ),
        (
            "SELECT * FROM (FROM t |> RENAME a AS b) q |> WINDOW sum(a) OVER () AS w;",
            "SELECT * FROM (FROM t |> SELECT * RENAME (a AS b)) q |> EXTEND sum(a) OVER () AS w;",
        ),
        (
            "FROM t |> SET a = (FROM u |> DROP z |> LIMIT 1)",
            "FROM t |> SELECT * REPLACE ((FROM u |> SELECT * EXCEPT (z) |> LIMIT 1) AS a)",
        ),
        ("SELECT '|> DROP a', set FROM t -- |> SET", "SELECT '|> DROP a', set FROM t -- |> SET"),
        ("SELECT a | b > c, drop FROM t", "SELECT a | b > c, drop FROM t"),
    ],
)
def test_the_operators_of_a_pipe_are_those_that_are_read(statement: str, expected: str) -> None:
    assert " ".join(with_read_pipes(statement).split()).replace(" ;", ";").replace(" )", ")") == expected


@pytest.mark.parametrize("dialect", ["", "bigquery"])
def test_what_a_pipe_renames_drops_and_sets_has_its_sources(dialect: str) -> None:
    (found,) = told(
        "CREATE TABLE o AS FROM t |> SELECT a, b, c |> RENAME a AS x |> SET c = c + b |> DROP b |> SELECT x, c", dialect
    )
    assert (found.target, found.tables, found.whole) == ("o", ("t",), True)
    assert columns(found) == {"x": ["t.a"], "c": ["t.b", "t.c"]}


def test_a_pipe_from_a_table_with_unknown_columns_names_the_table() -> None:
    (found,) = told("CREATE TABLE o AS FROM d.t |> RENAME a AS b |> SELECT b, c", "bigquery")
    assert (found.target, found.tables) == ("o", ("d.t",))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT ALL WHEN n > 1 THEN INTO ?  t1 (a)",
        "INSERT ALL INTO t1 (a, b) VALUES (x,#y) INTOLATERALt2 (c) VALUES (y) SELECT x, y FROM src",
        "MERGE INTO t USING s ON t.i = s.i WHEN NOT MATCHED THEN INSERT (i,  ? v) VALUES (s.i, s.v)",
        "INSERT INTO o SELECT u.x FROM t JOIN UNNEST(xs) WITH ORDINALITY AS uCROSS(., n)",
        "UPDATE (SELECT 1) q SET a = 1",
    ],
)
def test_a_damaged_statement_is_read_as_far_as_it_can_be(statement: str) -> None:
    assert read_statement(statement) != ()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE o AS SELECT s.a + V AS b, w, c FROM s WHERE d = w", {"b": ["s.a"], "w": [], "c": ["s.c"]}),
        ("INSERT INTO o (b, w) VALUES (v, 1)", {"b": [], "w": []}),
        ("MERGE INTO o USING s ON o.i = s.i WHEN MATCHED THEN UPDATE SET v = s.b + w", {"v": ["o.v", "s.b"]}),
        # The query has values of these names.
        ("CREATE TABLE o AS WITH q AS (SELECT a AS v FROM s) SELECT v AS b FROM q", {"b": ["s.a"]}),
        ("CREATE TABLE o AS SELECT v AS b FROM s LATERAL VIEW explode(s.x) y AS v", {"b": ["s.x"]}),
        # A name with that of its table is no variable.
        ("CREATE TABLE o AS SELECT s.v AS b FROM s", {"b": ["s.v"]}),
    ],
)
def test_a_variable_is_no_column(statement: str, expected: dict[str, list[str]]) -> None:
    (found,) = told(statement, known=Known(variables=("v", "w")))
    assert columns(found) == expected
    assert not any(name in ("v", "w") for table, name in (*found.proven, *found.rows) if (table, name) != ("s", "v"))


def test_a_column_that_a_table_is_known_to_have_goes_before_a_variable() -> None:
    statement = "CREATE TABLE o AS SELECT v AS b FROM s"
    for known in (Known({"s": ["v"]}, variables=("v",)), Known(used={"s": ["v"]}, variables=("v",))):
        (found,) = told(statement, known=known)
        assert columns(found) == {"b": ["s.v"]}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "DELETE TOP (10) FROM d.q OUTPUT deleted.id, deleted.v INTO d.old (id, v) WHERE q.st = ') OUTPUT'",
            {"d.q": {}, "d.old": {}},
        ),
        (
            "UPDATE q SET st = s.x OUTPUT inserted.id, 'WHERE' INTO d.old FROM d.q q JOIN s ON s.i = q.i",
            {"d.q": {"st": ["d.q.st", "s.x"]}, "d.old": {}},
        ),
        ("UPDATE TOP (5) PERCENT d.q SET st = 2 OUTPUT inserted.id INTO @t WHERE st = x", {"d.q": {"st": ["d.q.st"]}}),
        (
            "MERGE t USING s ON t.i = s.i WHEN MATCHED THEN UPDATE SET v = s.v OUTPUT $action, s.i INTO d.old (a, i)",
            {"t": {"v": ["s.v", "t.v"]}, "d.old": {}},
        ),
        # A column may have that name.
        ("UPDATE t SET output = s.x FROM s WHERE t.i = s.i", {"t": {"output": ["s.x", "t.output"]}}),
    ],
)
def test_the_rows_that_a_statement_of_sql_server_returns_or_stores_cost_nothing(
    statement: str, expected: dict[str, dict[str, list[str]]]
) -> None:
    assert {each.target: columns(each) for each in told(statement, "tsql")} == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT s.id, tag, pos FROM s, UNNEST(s.tags) AS tag WITH OFFSET AS pos",
         {"id": ["s.id"], "tag": ["s.tags"], "pos": ["s.tags"]}),
        ("SELECT t.k, t.v.x FROM s CROSS JOIN UNNEST(tags) t", {"k": ["s.tags"], "x": ["s.tags"]}),
        ("SELECT s.id, tag FROM s, s.tags AS tag", {"id": ["s.id"], "tag": ["s.tags"]}),
        ("SELECT tag FROM UNNEST([1, 2]) AS tag", {"tag": []}),
        ("SELECT a, b FROM s, UNNEST(s.x) AS a, UNNEST(s.y) AS b", {"a": ["s.x"], "b": ["s.y"]}),
    ],
)  # fmt: skip
def test_an_element_of_an_array_of_bigquery_has_its_source(query: str, expected: dict[str, list[str]]) -> None:
    (found,) = told(query, "bigquery")
    assert columns(found) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("FROM (FROM s MAP k USING 'x' AS m) q INSERT INTO t REDUCE q.m USING 'y' AS r", [("t", ("s",))]),
        (
            "FROM (FROM s MAP k USING 'x' AS m) q INSERT INTO t REDUCE q.m USING 'y' AS r INSERT INTO TABLE u SELECT m",
            [("t", ("s",)), ("u", ("s",))],
        ),
        ("WITH q AS (SELECT a FROM b) INSERT INTO t (x) SELECT ((", [("t", ("b",))]),
        ("WITH q AS (INSERT INTO no SELECT 1) SELECT a FROM c", [("", ("c",))]),
        ("FROM s INSERT INTO t SELECT ((", [("t", ("s",))]),
        ("INSERT INTO t SELECT a FROM b", [("t", ("b",))]),
        ("SELECT a FROM b", [("", ("b",))]),
    ],
)
def test_the_tables_of_a_text_that_nothing_parses(text: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(each.target, each.tables) for each in tables_in(text)] == found


def test_a_key_of_mysql_is_no_column() -> None:
    text = "CREATE TABLE t (a INT NOT NULL AUTO_INCREMENT, `key` INT, KEY k (a)) ENGINE=InnoDB"
    found = read_statement(text)

    assert found is not None
    assert [name for each in found for name, _ in each.columns] == ["a", "key"]


def test_a_variable_that_a_query_sets_is_a_gap_of_a_later_statement() -> None:
    text = "INSERT INTO t (p) SELECT x + z FROM u"
    missing = Refusal("TABLE_OR_VIEW_NOT_FOUND", "no", {"relationName": "`t`"})
    statements = [ScriptStatement(text, "a.sql", 1, 1, variables=("x",), filled=names) for names in ((), ("x",))]
    answers = [StatementAnswer(each, Analyzed("InsertIntoStatement", refusal=missing)) for each in statements]

    gaps = [[gap.message for gap in each.lineage.gaps] for each in lineage_of_answers(answers, ()) if each.lineage]

    assert gaps[0] == gaps[1][:-1]
    assert gaps[1][-1] == "a query before it sets x: the sources of such a variable are unknown"


def test_a_name_may_be_a_field_if_another_item_has_a_column_with_the_name_of_the_table() -> None:
    query = "SELECT a.y, s.k FROM t3 a JOIN (SELECT x.st AS {}, x.k FROM t1 x) s"

    assert columns(told(query.format("a"))[0]) == {"y": None, "k": ["t1.k"]}
    assert columns(told(query.format("b"))[0]) == {"y": ["t3.y"], "k": ["t1.k"]}


@pytest.mark.parametrize(
    ("query", "tables", "expected", "rows"),
    [
        ("SELECT o.id, i.sku FROM t o, o.items i", ("t",), {"id": ["t.id"], "sku": ["t.items"]}, {("t", "items")}),
        ("SELECT i FROM d.t LEFT JOIN t.a.b AS i", ("d.t",), {"i": ["d.t.a"]}, set()),
        ("SELECT j.z FROM t o, o.items i, i.parts j", ("t",), {"z": ["t.items"]}, set()),
        # A schema may have the name of a table in it.
        (
            "SELECT items.x FROM orders.orders JOIN orders.items ON orders.k = items.k",
            ("orders.orders", "orders.items"),
            {"x": ["orders.items.x"]},
            {("orders.orders", "k"), ("orders.items", "k")},
        ),
    ],
)
def test_an_array_of_an_earlier_table_in_a_from_is_no_table(
    query: str, tables: tuple[str, ...], expected: dict[str, list[str]], rows: set[tuple[str, str]]
) -> None:
    (found,) = told(query)
    assert (found.tables, columns(found), set(found.rows)) == (tables, expected, rows)


def test_each_of_several_arrays_has_its_own_column() -> None:
    query = "SELECT u.n, u.m, u.p FROM t, unnest(t.a, t.b) WITH ORDINALITY AS u (n, m, p)"
    (found,) = told(query, "postgres")
    assert columns(found) == {"n": ["t.a"], "m": ["t.b"], "p": ["t.a", "t.b"]}


def test_a_percentile_is_one_of_the_values_by_which_its_group_is_ordered() -> None:
    query = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS p, mode() WITHIN GROUP (ORDER BY w) AS m FROM t"
    (found,) = told(query, "postgres")
    assert dict(found.columns) == {
        "p": {("t", "v"): frozenset((UseKind.AGGREGATION,))},
        "m": {("t", "w"): frozenset((UseKind.AGGREGATION,))},
    }


def test_the_condition_of_the_nearest_row_decides_about_the_rows() -> None:
    query = "SELECT a.x FROM s a ASOF JOIN t b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k"
    (found,) = told(query, "snowflake")
    assert {source: frozenset((UseKind.JOIN,)) for source in found.rows} == found.rows
    assert sorted(".".join(each).lower() for each in found.rows) == ["s.k", "s.ts", "t.k", "t.ts"]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            (
                "WITH m AS (DELETE FROM a WHERE d < 1 RETURNING id, v), n AS (INSERT INTO b (id, v) SELECT id, v "
                "FROM m RETURNING id) INSERT INTO c (i) SELECT id FROM n"
            ),
            [
                ("a", {}, {("a", "d")}),
                ("b", {"id": ["a.id"], "v": ["a.v"]}, {("a", "d")}),
                ("c", {"i": ["b.id"]}, set()),
            ],
        ),
        (
            "WITH u AS (UPDATE t SET v = s.v FROM s WHERE s.id = t.id RETURNING t.id, s.w) SELECT id, w FROM u",
            [
                ("t", {"v": ["s.v", "t.v"]}, {("s", "id"), ("t", "id")}),
                ("", {"id": ["t.id"], "w": ["s.w"]}, {("s", "id"), ("t", "id")}),
            ],
        ),
        (
            "WITH x AS (SELECT a FROM q), d AS (INSERT INTO t (a) SELECT a FROM x) SELECT a FROM x",
            [("t", {"a": ["q.a"]}, set()), ("", {"a": ["q.a"]}, set())],
        ),
    ],
)
def test_a_statement_writes_what_its_ctes_change_too(
    statement: str, expected: list[tuple[str, dict[str, list[str]], set[tuple[str, str]]]]
) -> None:
    assert [(each.target, columns(each), set(each.rows)) for each in told(statement)] == expected


@pytest.mark.parametrize(
    ("statement", "target", "tables"),
    [
        ("ALTER TABLE a.t ATTACH PARTITION 202601 FROM s", "a.t", ("s",)),
        ("ALTER TABLE t ON CLUSTER c REPLACE PARTITION ID 'x' FROM s", "t", ("s",)),
        ("ALTER TABLE s MOVE PARTITION '2026' TO TABLE t", "t", ("s",)),
        ("ALTER TABLE t EXCHANGE PARTITION (d = '1') WITH TABLE s", "t", ("s",)),
        ("ALTER TABLE s SWITCH PARTITION 3 TO t PARTITION 4", "t", ("s",)),
        ("ALTER TABLE t APPEND FROM s FILLTARGET", "t", ("s",)),
        ("CREATE OR REPLACE SYNONYM t FOR hr.s", "t", ("hr.s",)),
        ("CREATE STREAM IF NOT EXISTS t ON TABLE d.s APPEND_ONLY = TRUE", "t", ("d.s",)),
        ("CREATE SNAPSHOT TABLE d.t CLONE d.s OPTIONS (x = 1)", "d.t", ("d.s",)),
        ("CREATE TABLE t CLONE AS s", "t", ("s",)),
        ("CREATE PIPE p AUTO_INGEST = TRUE AS COPY INTO t FROM @stage", "t", ()),
    ],
)
def test_what_moves_rows_or_names_them_anew_writes_one_table_and_reads_the_other(
    statement: str, target: str, tables: tuple[str, ...]
) -> None:
    assert [(each.target, each.tables) for each in told(statement)] == [(target, tables)]
    assert not has_no_lineage(statement)


@pytest.mark.parametrize(
    ("statement", "target", "expected"),
    [
        ("ALTER TABLE t ON CLUSTER c UPDATE v = v + w IN PARTITION 3 WHERE id = 1", "t", {"v": ["t.v", "t.w"]}),
        ("ALTER TABLE t DELETE IN PARTITION 3 WHERE id = 1", "t", {}),
        ("FORALL i IN 1 .. n.COUNT SAVE EXCEPTIONS UPDATE t SET v = w WHERE id = 1", "t", {"v": ["t.v", "t.w"]}),
    ],
)
def test_rows_are_changed_by_other_words_than_update_and_delete(
    statement: str, target: str, expected: dict[str, list[str]]
) -> None:
    (found,) = told(statement)
    assert (found.target, columns(found), found.rows) == (target, expected, {("t", "id"): frozenset((UseKind.FILTER,))})
    assert not has_no_lineage(statement)


@pytest.mark.parametrize("name", ["`Full Name`", "n"])
def test_an_equals_sign_gives_a_column_of_sql_server_its_name(name: str) -> None:
    (found,) = told(f"CREATE VIEW dbo.v WITH SCHEMABINDING AS SELECT TOP 9 c.i, {name} = c.x FROM dbo.c AS c")
    assert columns(found) == {"i": ["dbo.c.i"], name.strip("`"): ["dbo.c.x"]}
    (found,) = told("SELECT a = b FROM t")
    assert [name for name, _ in found.columns] == ["_c0"]


@pytest.mark.parametrize("dialect", ["", "tsql"])
def test_the_name_of_a_temporary_table_keeps_its_sign(dialect: str) -> None:
    (found,) = told("INSERT INTO #a SELECT b.x FROM dbo.b WITH (NOLOCK) JOIN #c c ON c.i = b.i", dialect)
    assert (found.target, found.tables, columns(found)) == ("`#a`", ("dbo.b", "`#c`"), {"x": ["dbo.b.x"]})
    (found,) = told("UPDATE s SET s.x = c.x FROM ##s s JOIN #c c ON c.i = s.i", dialect)
    assert (found.target, columns(found)) == ("`##s`", {"x": ["`##s`.x", "`#c`.x"]})


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ADD COLUMN a INT",
        "ALTER TABLE t SET (append = 'from')",
        "CREATE NONCLUSTERED INDEX i ON t (a)",
        "CREATE OR REPLACE PACKAGE p AS PROCEDURE q(a NUMBER)",
        "FUNCTION f(a NUMBER) RETURN NUMBER",
        "SET 'execution.runtime-mode' = 'streaming'",
        "TRUNCATE d.t",
        "CREATE SCHEMA IF NOT EXISTS d WITH (location = 's3://b')",
    ],
)
def test_other_changes_of_a_table_have_no_lineage(statement: str) -> None:
    assert has_no_lineage(statement)


@pytest.mark.parametrize(
    ("statement", "target", "expected"),
    [
        (
            "EXPORT DATA OPTIONS (uri = 'gs://b/x/*.csv', format = 'CSV') AS SELECT a FROM t",
            "csv.`gs://b/x/*.csv`",
            ["t.a"],
        ),
        ("COPY (SELECT a FROM t) TO '/o/x.csv' WITH (FORMAT csv)", "csv.`/o/x.csv`", ["t.a"]),
        ("COPY t (a) TO '/o/x.csv'", "textfile.`/o/x.csv`", ["t.a"]),
        ("COPY INTO 's3://b/x' FROM (SELECT a FROM t) FILE_FORMAT = (TYPE = PARQUET)", "parquet.`s3://b/x`", ["t.a"]),
        (
            r"SELECT a INTO OUTFILE '/o/x.csv' FIELDS TERMINATED BY ',' LINES TERMINATED BY '\n' FROM t",
            "textfile.`/o/x.csv`",
            ["t.a"],
        ),
        ("SELECT a FROM t INTO OUTFILE '/o/x' FORMAT CSV", "csv.`/o/x`", ["t.a"]),
        # The folder of a relative path is unknown.
        ("COPY (SELECT a FROM t) TO 'x.csv'", "", ["t.a"]),
    ],
)
def test_rows_that_are_written_to_files_are_written_to_their_path(
    statement: str, target: str, expected: list[str]
) -> None:
    (found,) = told(statement)
    assert (found.target, found.tables, columns(found)) == (target, ("t",), {"a": expected})


def test_a_table_that_is_copied_to_files_is_read() -> None:
    (found,) = told("COPY INTO 's3://b/x' FROM d.t STORAGE_INTEGRATION = i")
    assert (found.target, found.tables, found.whole) == ("textfile.`s3://b/x`", ("d.t",), False)


@pytest.mark.parametrize(
    "clause", ["TO b.t", "REFRESH EVERY 1 HOUR TO b.t", "REFRESH AFTER 2 DAY OFFSET 1 HOUR DEPENDS ON x APPEND TO b.t"]
)
def test_a_materialized_view_of_clickhouse_fills_the_table_that_it_names(clause: str) -> None:
    (found,) = told(f"CREATE MATERIALIZED VIEW v {clause} AS SELECT r.a FROM s r")
    assert (found.target, columns(found)) == ("b.t", {"a": ["s.a"]})


def test_a_column_of_snowflake_about_a_row_has_its_whole_name() -> None:
    (found,) = told("INSERT INTO t (a) SELECT s.METADATA$ACTION FROM s")
    assert columns(found) == {"a": ["s.METADATA$ACTION"]}


def test_a_row_filter_is_no_part_of_the_columns() -> None:
    text = "CREATE TABLE t (a INT MASK m) WITH ROW FILTER f ON (a) AS SELECT r.b AS a FROM s r"
    (found,) = told(text)
    assert (columns(found), found.whole) == ({"a": ["s.b"]}, True)


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [
        ("(a, b) = (SELECT s.x, s.y FROM s WHERE s.id = t.id)", {"a": ["s.x"], "b": ["s.y"]}),
        ("(a, b) = (c, c + b)", {"a": ["t.c"], "b": ["t.b", "t.c"]}),
        ("(a) = (SELECT max(s.x) FROM s)", {"a": ["s.x"]}),
    ],
)
def test_several_columns_are_set_at_once(assigned: str, expected: dict[str, list[str]]) -> None:
    (found,) = told(f"UPDATE t SET {assigned}", "postgres")
    assert (columns(found), found.whole) == (expected, True)


def test_a_method_of_a_column_has_the_column_as_its_source() -> None:
    query = "SELECT x.n.value('@a', 'int') AS a, d.o.f(r.b) AS b FROM s r CROSS APPLY r.doc.nodes('/r') AS x(n)"
    (found,) = told(query, "tsql")
    assert columns(found) == {"a": ["s.doc"], "b": ["s.b"]}


def test_a_dictionary_of_clickhouse_is_filled_from_its_table() -> None:
    text = "CREATE DICTIONARY k (id UInt64, n String) PRIMARY KEY id SOURCE(CLICKHOUSE({})) LAYOUT(FLAT())"
    (found,) = told(text.format("TABLE 's' DB 'd'"), "clickhouse")
    assert (found.target, found.tables, columns(found)) == ("k", ("d.s",), {"id": ["d.s.id"], "n": ["d.s.n"]})
    (found,) = told(text.format("QUERY 'SELECT 1'"), "clickhouse")
    assert found.tables == ()


@pytest.mark.parametrize(
    ("statement", "target", "tables"),
    [
        ("CREATE TABLE t AS PIVOT d.s ON y USING sum(v) GROUP BY c", "t", ("d.s",)),
        ("CREATE TABLE t AS UNPIVOT s ON a, b INTO NAME m VALUE v", "t", ("s",)),
        ("BULK INSERT dbo.t FROM 'c:\\x.csv' WITH (FIELDTERMINATOR = ',')", "dbo.t", ()),
        ("CREATE TABLE t AS SELECT c.a FROM APPENDS(TABLE s, NULL, NULL) c", "t", ("s",)),
    ],
)
def test_the_tables_of_what_is_not_parsed_are_named(statement: str, target: str, tables: tuple[str, ...]) -> None:
    assert [(each.target, each.tables) for each in told(statement)] == [(target, tables)]


def test_an_insert_into_a_partition_that_may_exist_has_columns() -> None:
    (found,) = told("INSERT OVERWRITE TABLE t PARTITION (d = '1') IF NOT EXISTS SELECT r.a FROM s r")
    assert (found.target, columns(found), found.given) == ("t", {"a": ["s.a"]}, frozenset({"d"}))


def test_a_partition_of_oracle_is_no_column() -> None:
    (found,) = told("INSERT INTO t PARTITION (p1) SELECT r.a FROM s r", "oracle")
    assert [name.lower() for name, _ in found.columns] == ["a"]
    (found,) = told("INSERT INTO t PARTITION (p1) SELECT r.a FROM s r")
    assert [name for name, _ in found.columns] == ["p1"]


def test_the_columns_about_a_change_are_none_of_the_table_that_changes() -> None:
    query = "SELECT a, _change_type, c._commit_version AS n FROM table_changes('s', 2) c"
    (found,) = told(query)
    assert columns(found) == {"a": ["s.a"], "_change_type": [], "n": []}
    (found,) = told("SELECT _change_type FROM s")
    assert columns(found) == {"_change_type": ["s._change_type"]}


def test_a_damaged_change_in_a_cte_changes_nothing() -> None:
    statement = "WITH m AS (DELETE a WHERE d < 1 RETURNING id) INSERT INTO c (id) SELECT id FROM m"
    assert [each.target for each in told(statement, "postgres")] == ["c"]


def test_a_function_of_a_schema_may_return_a_table() -> None:
    (found,) = told(
        "CREATE TABLE t AS SELECT q.a FROM TABLE(p.system.query(query => 'SELECT a FROM b')) q", "snowflake"
    )
    assert (found.target, found.columns) == ("t", (("a", None),))


def test_statements_without_an_end_between_them_are_read_apart() -> None:
    found = told(
        "CREATE TABLE a (x INT, y INT) WITH ('k' = 'v')\n\nCREATE TABLE b (z INT)\n-- fill it\nINSERT INTO b\n"
        "SELECT x FROM a\n\n  insert into c SELECT (SELECT max(x)\nFROM a) AS m FROM d"
    )
    assert [(each.target, each.tables, columns(each)) for each in found] == [
        ("a", (), {"x": [], "y": []}),
        ("b", ("a",), {"x": ["a.x"]}),
        ("c", ("d", "a"), {"m": ["a.x"]}),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON a FOR EACH ROW\nINSERT INTO b VALUES (1)",
        "FROM a\nINSERT INTO b SELECT x\nINSERT INTO c SELECT y",
        "MERGE INTO a USING b ON a.i = b.i WHEN NOT MATCHED THEN\nINSERT (i) VALUES (b.i)",
        "INSERT INTO a SELECT x FROM b WHERE y = '\nINSERT INTO c'",
        "INSERT INTO a SELECT x FROM (\nINSERT INTO c)",
    ],
)
def test_a_statement_within_another_one_is_not_read_apart(statement: str) -> None:
    assert without_forgotten_ends(statement) == (statement,)


def test_watermarks_and_metadata_of_flink_are_no_parts_of_columns() -> None:
    (found,) = told(
        "CREATE TABLE f (id INT, ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL, h MAP<STRING, INT> METADATA, "
        "metadata STRING, p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, "
        "PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kafka')"
    )
    assert (found.target, [name for name, _ in found.columns], found.whole) == (
        "f",
        ["id", "ts", "h", "metadata", "p"],
        True,
    )
    (found,) = told("CREATE TABLE f WITH ('a' = 'b') AS SELECT metadata, id FROM s")
    assert columns(found) == {"metadata": ["s.metadata"], "id": ["s.id"]}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("count_big(DISTINCT o.id)", UseKind.MASKED_AGGREGATION),
        ("JSONB_AGG(o.id)", UseKind.AGGREGATION),
        ("hll_sketch_agg(o.id)", UseKind.AGGREGATION),
        ("try_sum(o.id)", UseKind.AGGREGATION),
        ("array_agg(o.id)", UseKind.AGGREGATION),
        ("aggregated(o.id)", UseKind.TRANSFORMATION),
    ],
)
def test_the_aggregates_of_each_engine_aggregate(call: str, kind: UseKind) -> None:
    (found,) = told(f"SELECT {call} AS n FROM @schema.t o GROUP BY o.k")
    assert [(name, list((sources or {}).values())) for name, sources in found.columns] == [("n", [frozenset({kind})])]


@pytest.mark.parametrize("files", ["@stage", "@db.s.stage/x", "@stage (FILE_FORMAT => 'f')"])
def test_columns_of_files_have_sources_that_the_text_does_not_tell(files: str) -> None:
    (found,) = told(f"INSERT INTO t (a, b, c) SELECT $1, q.$2::int, 3 FROM {files} q")
    assert (found.target, found.tables, dict(found.columns)) == ("t", (), {"a": None, "b": None, "c": {}})


@pytest.mark.parametrize("dialect", ["bigquery", "postgres", "spark"])
def test_a_star_behind_an_expression_is_any_number_of_columns(dialect: str) -> None:
    (found,) = told("CREATE TABLE c AS SELECT a, if(x IS NULL, p, q).* FROM t", dialect)
    assert (columns(found), found.whole) == ({"a": ["t.a"]}, False)
