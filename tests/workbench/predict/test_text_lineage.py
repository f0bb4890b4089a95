"""What the text of a statement tells that Spark can't analyze."""

from __future__ import annotations

import sys

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Field, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation, UseKind
from openlineage_pyspark.workbench.predict.from_text.reading import read_statement
from openlineage_pyspark.workbench.predict.from_text.text import TEXT, lineage_of_text, named_table, unknown_table
from openlineage_pyspark.workbench.report import Lineage
from support.flat_edges import flat

NAMES = "it does not name the columns of mart.out that it fills: the query's names are used"
WHY = "the table nope is not known"


def column(name: str, *edges: tuple[str, str, str]) -> OutputColumn:
    """Return a column with edges, each a table with a column and a subtype."""
    made = (
        InputField(named_table(("c", "d", t)).identifier, f, (Transformation("DIRECT", how),)) for t, f, how in edges
    )
    return OutputColumn(name, tuple(made))


# What Spark knows: a table, and a view of it with other names.
TARGET = attrs.evolve(named_table(("c", "d", "target")), fields=tuple(Field(name, "long") for name in ("x", "y", "dt")))
BASE = named_table(("c", "d", "base"))
KNOWN = {
    "target": Lineage(
        (TARGET,), ((None, ColumnLineage(tuple(column(n, ("target", n, "IDENTITY")) for n in ("x", "y", "dt")))),)
    ),
    "view": Lineage(
        (BASE,),
        (
            (
                None,
                ColumnLineage(
                    (column("K", ("base", "id", "IDENTITY")), column("total", ("base", "amount", "AGGREGATION"))),
                    (InputField(BASE.identifier, "day", (Transformation("INDIRECT", "FILTER", "(base.day > 1)"),)),),
                ),
            ),
        ),
    ),
}


def told(statement: str) -> Lineage:
    found = lineage_of_text(statement, WHY, KNOWN.get, unknown_table, is_sql=True)
    assert found is not None
    return found


def test_columns_that_one_table_alone_can_have_are_told_and_marked() -> None:
    found = told("INSERT INTO mart.out SELECT n.a, upper(n.b) AS b FROM nope n")
    assert str(found).splitlines() == [
        "mart.out",
        "  column  from            how",
        "  a       default.nope.a  IDENTITY, text",
        "  b       default.nope.b  TRANSFORMATION, text",
        f"not understood: {TEXT}: Spark can't analyze the statement ({WHY}): its lineage is taken from its text",
        f"not understood: {TEXT}: {NAMES}",
    ]
    assert {edge.certainty for edge in flat(found)} == {"text"}


def test_what_the_text_does_not_tell_is_named_and_not_guessed() -> None:
    found = told("CREATE TABLE out AS SELECT x, a.y FROM a JOIN b ON a.i = b.i")
    assert of_columns(found) == [("y", "default.a", "y", "IDENTITY")]
    assert of_rows(found) == [("default.a", "i", "JOIN"), ("default.b", "i", "JOIN")]
    assert [gap.message for gap in found.gaps][1:] == ["it does not state where these columns come from: x"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # The table may have a column b, which Spark would take before the alias.
        ("SELECT a + 1 AS b, b * 2 AS c FROM nope", {"b": ["a"], "c": None}),
        ("SELECT a AS b, b AS a FROM nope", {"b": ["a"], "a": None}),
        # What makes it reads it, so the table has it.
        ("SELECT trim(b) AS b, upper(b) AS c FROM nope", {"b": ["b"], "c": ["b"]}),
        ("SELECT nope.a AS b, nope.b AS c FROM nope", {"b": ["a"], "c": ["b"]}),
        # All columns are known: this is the alias.
        ("SELECT a + 1 AS b, b * 2 AS c FROM (SELECT a FROM nope)", {"b": ["a"], "c": ["a"]}),
        ("SELECT b * 2 AS c, a + 1 AS b FROM nope", {"c": ["b"], "b": ["a"]}),
    ],
)
def test_a_name_that_an_earlier_column_of_the_same_select_has_is_not_guessed(
    query: str, expected: dict[str, list[str] | None]
) -> None:
    found = told(f"CREATE TABLE out AS {query}")
    (columns,) = [lineage for _, lineage in found.outputs]
    made = {each.name: [edge.field for edge in each.edges] for each in columns.columns}
    assert made == {name: fields for name, fields in expected.items() if fields is not None}
    untold = [name for name, fields in expected.items() if fields is None]
    messages = [f"it does not state where these columns come from: {name}" for name in untold]
    assert [gap.message for gap in found.gaps][1:] == messages


def test_a_time_window_is_no_column_of_the_table() -> None:
    query = "SELECT session_window.start AS s, session_window AS w FROM nope GROUP BY session_window(ts, '5 minutes')"
    assert sources(told(f"CREATE TABLE out AS {query}")) == [
        ("s", "default.nope", "ts", "TRANSFORMATION"),
        ("w", "default.nope", "ts", "TRANSFORMATION"),
        (None, "default.nope", "ts", "GROUP_BY"),
    ]


def test_ctes_and_unions_are_followed() -> None:
    found = told(
        "WITH c AS (SELECT a AS k FROM t1 UNION ALL SELECT b FROM lake.d.t2) INSERT INTO out (kk) SELECT k FROM c"
    )
    assert [(edge.column, edge.source_table, edge.source_column) for edge in flat(found)] == [
        ("kk", "lake.d.t2", "b"),
        ("kk", "default.t1", "a"),
    ]


@pytest.mark.parametrize(
    ("inside", "further"), [("template(*)", []), ("DELETE FROM other RETURNING *", ["default.other"])]
)
def test_a_cte_that_holds_no_query_is_no_table(inside: str, further: list[str]) -> None:
    found = told(f"CREATE TABLE out AS WITH days AS ({inside}) SELECT a.x, d.y FROM nope a, days d")
    assert sorted(each.identifier.name for each in found.inputs) == ["default.nope", *further]
    assert [(edge.column, edge.source_table, edge.source_column) for edge in flat(found)] == [
        ("x", "default.nope", "x"),
    ]
    assert "it does not state where these columns come from: y" in [gap.message for gap in found.gaps]


def test_a_template_among_the_columns_may_make_any_columns() -> None:
    found = told("CREATE TABLE out AS WITH f AS (SELECT a AS k, template(*) FROM nope) SELECT k, z, template(*) FROM f")
    assert [column.name for _, columns in found.outputs for column in columns.columns] == ["k"]
    assert [gap.message for gap in found.gaps][1:] == [
        "it does not state where these columns come from: z",
        "there may be more columns than are listed",
    ]


def test_the_columns_of_a_union_by_name_are_matched_by_their_names() -> None:
    found = told("SELECT id, upper(a) AS a FROM nope UNION ALL BY NAME SELECT b, id FROM more")
    assert sources(found) == [
        ("id", "default.more", "id", "IDENTITY"),
        ("id", "default.nope", "id", "IDENTITY"),
        ("a", "default.nope", "a", "TRANSFORMATION"),
        ("b", "default.more", "b", "IDENTITY"),
    ]
    assert "more columns" in str(told("SELECT id FROM nope UNION BY NAME SELECT * FROM more"))


def test_a_column_that_a_right_join_uses_is_that_of_the_right_table() -> None:
    found = told("SELECT id FROM nope RIGHT JOIN more USING (id)")
    assert of_columns(found) == [("id", "default.more", "id", "IDENTITY")]
    assert of_columns(told("SELECT id FROM nope JOIN more USING (id)")) == [("id", "default.nope", "id", "IDENTITY")]
    both = told("SELECT id FROM nope FULL JOIN more USING (id)")
    assert [source[1:] for source in of_columns(both)] == [
        (table, "id", kind) for table in ("default.more", "default.nope") for kind in ("TRANSFORMATION", "CONDITIONAL")
    ]
    assert of_rows(both) == [("default.more", "id", "JOIN"), ("default.nope", "id", "JOIN")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            (
                "SELECT q.id, x_total AS x, y_total FROM (SELECT id, c, v FROM t) "
                "PIVOT (sum(v) AS total, max(v) AS most FOR c IN ('x', 'y')) q"
            ),
            {
                "id": ["id IDENTITY"],
                "x": ["c CONDITIONAL", "v AGGREGATION"],
                "y_total": ["c CONDITIONAL", "v AGGREGATION"],
                None: ["id GROUP_BY"],
            },
        ),
        (
            "SELECT * FROM (SELECT id, c, v FROM t) PIVOT (sum(v) FOR c IN ('x' AS one, 2))",
            {
                "id": ["id IDENTITY"],
                "one": ["c CONDITIONAL", "v AGGREGATION"],
                "2": ["c CONDITIONAL", "v AGGREGATION"],
                None: ["id GROUP_BY"],
            },
        ),
        (
            "SELECT x, other FROM t PIVOT (sum(v) FOR c IN ('x'))",
            {"x": ["c CONDITIONAL", "v AGGREGATION"], "other": ["other IDENTITY"]},
        ),
        (
            "SELECT * FROM (SELECT id, q1, q2 + 1 AS q2 FROM t) UNPIVOT (v FOR q IN (q1 AS one, q2))",
            {
                "id": ["id IDENTITY"],
                "q": [],
                "v": ["q1 IDENTITY", "q2 TRANSFORMATION"],
                None: ["q1 FILTER", "q2 FILTER"],
            },
        ),
        (
            "SELECT v, w FROM t UNPIVOT INCLUDE NULLS ((v, w) FOR q IN ((a, b) AS one, (c, d) AS two)) AS u",
            {"v": ["a IDENTITY", "c IDENTITY"], "w": ["b IDENTITY", "d IDENTITY"]},
        ),
        (
            "SELECT id, tag FROM t LATERAL VIEW explode(tags) v AS tag",
            {"id": ["id IDENTITY"], "tag": ["tags TRANSFORMATION"], None: ["tags JOIN"]},
        ),
        # Its own edge tells it.
        ("SELECT upper(v.tag) AS tag FROM t LATERAL VIEW explode(t.tags) v AS tag", {"tag": ["tags TRANSFORMATION"]}),
        (
            "SELECT id, explode(tags) AS tag FROM t",
            {"id": ["id IDENTITY"], "tag": ["tags TRANSFORMATION"], None: ["tags JOIN"]},
        ),
        (
            "SELECT id, p, tag FROM t LATERAL VIEW OUTER posexplode(tags) v AS p, tag",
            {"id": ["id IDENTITY"], "p": ["tags TRANSFORMATION"], "tag": ["tags TRANSFORMATION"], None: ["tags JOIN"]},
        ),
        # An array that is spelled out always has as many elements; which of two values is in which field is not told.
        (
            "SELECT id, x FROM t LATERAL VIEW explode(array(a, b)) v AS x",
            {"id": ["id IDENTITY"], "x": ["a TRANSFORMATION", "b TRANSFORMATION"]},
        ),
        ("SELECT id, x FROM t LATERAL VIEW inline(array(struct(1, a))) v AS x, y", {"id": ["id IDENTITY"]}),
        (
            "SELECT id, k, v FROM t LATERAL VIEW stack(2, 'one', a, 'two', b) s AS k, v",
            {"id": ["id IDENTITY"], "k": [], "v": ["a TRANSFORMATION", "b TRANSFORMATION"]},
        ),
        ("SELECT a.* FROM t a JOIN (SELECT k AS id FROM t) b USING (id)", {None: ["id JOIN", "k JOIN"]}),
        (
            "SELECT * FROM (SELECT id, a FROM t) x LEFT JOIN (SELECT id, b FROM t) y USING (id)",
            {"id": ["id IDENTITY"], "a": ["a IDENTITY"], "b": ["b IDENTITY"], None: ["id JOIN"]},
        ),
        (
            "SELECT a FROM t LEFT SEMI JOIN (SELECT k, a FROM t) u ON t.id = u.k",
            {"a": ["a IDENTITY"], None: ["id JOIN", "k JOIN"]},
        ),
        (
            "SELECT coalesce(a, b) AS c, nullif(a, b) AS n FROM t",
            {
                "c": ["a CONDITIONAL", "a TRANSFORMATION", "b CONDITIONAL", "b TRANSFORMATION"],
                "n": ["a CONDITIONAL", "a TRANSFORMATION", "b CONDITIONAL"],
            },
        ),
        (
            "SELECT a, sum(b) AS b FROM t GROUP BY ALL",
            {"a": ["a IDENTITY"], "b": ["b AGGREGATION"], None: ["a GROUP_BY"]},
        ),
        (
            "SELECT a, count(*) AS n FROM t GROUP BY GROUPING SETS ((a, b), (a)), ROLLUP (c)",
            {"a": ["a IDENTITY"], "n": [], None: ["a GROUP_BY", "b GROUP_BY", "c GROUP_BY"]},
        ),
        (
            "SELECT a.x, b.y FROM (((t AS b JOIN t AS a ON b.k = a.k)))",
            {"x": ["x IDENTITY"], "y": ["y IDENTITY"], None: ["k JOIN"]},
        ),
        ("SELECT a FROM t DISTRIBUTE BY c SORT BY b", {"a": ["a IDENTITY"], None: ["b SORT"]}),
        ("SELECT a, b FROM t ORDER BY ALL", {"a": ["a IDENTITY"], "b": ["b IDENTITY"], None: ["a SORT", "b SORT"]}),
        (
            "SELECT a FROM t UNION ALL SELECT b FROM t ORDER BY 1",
            {"a": ["a IDENTITY", "b IDENTITY"], None: ["a SORT", "b SORT"]},
        ),
        ("SELECT listagg(a) WITHIN GROUP (ORDER BY b) AS l FROM t", {"l": ["a AGGREGATION", "b CONDITIONAL"]}),
        (
            "SELECT map_filter(m, (k, v) -> v > x) AS f, iff(x > 1, y, z) AS i FROM t",
            {
                "f": ["m TRANSFORMATION", "x CONDITIONAL"],
                "i": ["x CONDITIONAL", "y TRANSFORMATION", "z TRANSFORMATION"],
            },
        ),
        (
            "SELECT TRANSFORM(a, b + 1) USING 'cat' AS (c INT, d) FROM t WHERE x > 1",
            {
                "c": ["a TRANSFORMATION", "b TRANSFORMATION"],
                "d": ["a TRANSFORMATION", "b TRANSFORMATION"],
                None: ["x FILTER"],
            },
        ),
        (
            "SELECT TRANSFORM(a) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING 'cat' AS c, d FROM t",
            {"c": ["a TRANSFORMATION"], "d": ["a TRANSFORMATION"]},
        ),
        ("SELECT TRANSFORM(a) USING 'cat' FROM t", {"key": ["a TRANSFORMATION"], "value": ["a TRANSFORMATION"]}),
        ("SELECT TRANSFORM(*) USING 'cat' AS (c) FROM t", {}),
        ("SELECT n FROM t MATCH_RECOGNIZE (ORDER BY b MEASURES a AS n PATTERN (x+) DEFINE x AS x.v > 1)", {}),
        ("SELECT a FROM t ARRAY JOIN tags AS tag PREWHERE b > 1", {"a": ["a IDENTITY"], None: ["b FILTER"]}),
        ("SELECT d.t.s.f AS f, d.t.a FROM d.t", {"f": ["s TRANSFORMATION"], "a": ["a IDENTITY"]}),
        ("SELECT a + 1 AS b FROM t ORDER BY b", {"b": ["a TRANSFORMATION"], None: ["a SORT"]}),
        # The table may have a column of that name, which comes first.
        ("SELECT a + 1 AS b FROM t GROUP BY b", {"b": ["a TRANSFORMATION"]}),
        ("SELECT date(a) AS a FROM t GROUP BY a", {"a": ["a TRANSFORMATION"], None: ["a GROUP_BY"]}),
        # What is around may have it.
        ("SELECT (SELECT x + u.a FROM u) AS v, a FROM t", {"a": ["a IDENTITY"]}),
        ("SELECT q.b FROM (SELECT a AS b FROM t) s, LATERAL (SELECT b FROM u) q", {}),
    ],
)
def test_what_a_from_makes_of_columns_is_told(query: str, expected: dict[str | None, list[str]]) -> None:
    found: dict[str | None, list[str]] = {}
    lineage = told(query)
    for _, columns in lineage.outputs:
        found |= {column.name: [] for column in columns.columns}
    for name, _, column, kind in sources(lineage):
        found.setdefault(name, []).append(f"{column} {kind}")
    assert {name: sorted(kinds) for name, kinds in found.items()} == expected


def test_a_cte_that_nothing_reads_is_not_read() -> None:
    found = told("WITH a AS (SELECT x FROM nope), b AS (SELECT y FROM more) SELECT y FROM b")
    assert [each.identifier.name for each in found.inputs] == ["default.more"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT map('a') AS m FROM nope",
        "SELECT map('a', id, x) AS m FROM nope",
        "FROM nope |> LIMIT n5",
        "FROM nope |> UNION ALL TABLE nope",
        "MERGE FROM nope USING nope s ON nope.id = s.id WHEN MATCHED THEN UPDATE SET x = s.x",
    ],
)
def test_a_text_on_which_the_parser_stumbles_tells_its_tables_if_spark_can_parse_it(statement: str) -> None:
    assert [dataset.symlinks[0].name for dataset in told(statement).inputs] == ["default.nope"]
    assert lineage_of_text(statement.replace("nope", ""), WHY, KNOWN.get, unknown_table) is None


@pytest.mark.parametrize(
    "query",
    [
        "TABLE nope",
        "SELECT n.table AS a FROM nope n",
        "SELECT table FROM nope",
        "SELECT 1 AS table FROM nope",
        "SELECT id FROM nope WHERE data:table = 1",
        "SELECT id FROM nope UNION ALL TABLE nope",
    ],
)
def test_table_begins_a_query_only_where_a_name_follows_it(query: str) -> None:
    for statement in (f"INSERT INTO t {query}", f"INSERT INTO t (a) {query}", f"CREATE TABLE t AS {query}"):
        found = read_statement(statement, None, "snowflake")
        assert [(each.target, each.tables) for each in found or ()] == [("t", ("nope",))]


@pytest.mark.parametrize("statement", ["DELETE nope", "DELETE nope WHERE id = 1"])
def test_a_delete_without_from_is_no_sql(statement: str) -> None:
    assert lineage_of_text(statement, WHY, KNOWN.get, unknown_table) is None


@pytest.mark.parametrize(
    ("statement", "target"),
    [
        ("CREATE MATERIALIZED VIEW out AS SELECT id FROM nope", "default.out"),
        ("CREATE OR REFRESH STREAMING TABLE out AS SELECT id FROM STREAM nope", "default.out"),
        ("CREATE FLOW f AS INSERT INTO out BY NAME SELECT id FROM STREAM nope", "default.out"),
        ("ALTER VIEW `out` AS SELECT id FROM nope", "default.out"),
    ],
)
def test_what_pipelines_and_altered_views_read_and_write_is_told(statement: str, target: str) -> None:
    found = told(statement)
    assert sources(found) == [("id", "default.nope", "id", "IDENTITY")]
    assert [dataset.symlinks[0].name for dataset, _ in found.outputs if dataset] == [target]


def test_a_cte_within_another_hides_a_name_there_alone() -> None:
    found = told(
        """WITH orders AS (SELECT id, qty AS n FROM orders),
        pay AS (WITH orders AS (SELECT id, salary AS n FROM emp) SELECT * FROM orders)
        SELECT o.n AS a, p.n AS b FROM orders o JOIN pay p ON o.id = p.id"""
    )
    assert sources(found) == [
        ("a", "default.orders", "qty", "IDENTITY"),
        ("b", "default.emp", "salary", "IDENTITY"),
        (None, "default.emp", "id", "JOIN"),
        (None, "default.orders", "id", "JOIN"),
    ]


@pytest.mark.parametrize(
    ("statement", "reads", "writes"),
    [
        (
            "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET t.b = s.b",
            ["default.t", "default.s"],
            "default.t",
        ),
        ("UPDATE t SET a = 1 WHERE a IN (SELECT x FROM u)", ["default.t", "default.u"], "default.t"),
        ("INSERT INTO t SELECT * FROM nope", ["default.nope"], "default.t"),
        ("INSERT INTO t TABLE nope", ["default.nope"], "default.t"),
    ],
)
def test_the_tables_of_other_statements_are_told(statement: str, reads: list[str], writes: str) -> None:
    found = told(statement)
    assert [dataset.symlinks[0].name for dataset in found.inputs] == reads
    assert [dataset.symlinks[0].name for dataset, _ in found.outputs if dataset] == [writes]


def sources(found: Lineage) -> list[tuple[str | None, str | None, str, str]]:
    return [(edge.column, edge.source_table, edge.source_column, edge.subtype) for edge in flat(found)]


def of_columns(found: Lineage) -> list[tuple[str | None, str | None, str, str]]:
    return [each for each in sources(found) if each[0] is not None]


def of_rows(found: Lineage) -> list[tuple[str | None, str, str]]:
    return [(table, column, kind) for name, table, column, kind in sources(found) if name is None]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            (
                "MERGE INTO lake.t USING s ON t.id = s.id WHEN MATCHED AND s.x > 1 THEN UPDATE SET t.a = s.a+1, b=s.b "
                "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, a)"
            ),
            [
                ("a", "default.s", "a", "IDENTITY"),
                ("a", "default.s", "a", "TRANSFORMATION"),
                ("a", "default.s", "x", "CONDITIONAL"),
                ("a", "lake.t", "a", "IDENTITY"),
                ("b", "default.s", "b", "IDENTITY"),
                ("b", "default.s", "x", "CONDITIONAL"),
                ("b", "lake.t", "b", "IDENTITY"),
                ("id", "default.s", "id", "IDENTITY"),
                ("id", "lake.t", "id", "IDENTITY"),
                (None, "default.s", "id", "JOIN"),
                (None, "lake.t", "id", "JOIN"),
            ],
        ),
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, b * a)",
            [
                ("id", "default.s", "id", "IDENTITY"),
                ("a", "default.s", "a", "TRANSFORMATION"),
                ("a", "default.s", "b", "TRANSFORMATION"),
                (None, "default.s", "id", "JOIN"),
                (None, "default.t", "id", "JOIN"),
            ],
        ),
        (
            "MERGE INTO t USING (SELECT a, b AS c FROM s) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT *",
            [
                ("a", "default.s", "a", "IDENTITY"),
                ("c", "default.s", "b", "IDENTITY"),
                (None, "default.s", "a", "JOIN"),
                (None, "default.t", "a", "JOIN"),
            ],
        ),
        (
            (
                "MERGE INTO t AS x USING (SELECT id, max(v) AS m FROM s GROUP BY id) y ON x.id = y.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
                "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET x.n = 1, x.o = p"
            ),
            [
                ("id", "default.s", "id", "IDENTITY"),
                ("id", "default.t", "id", "IDENTITY"),
                ("m", "default.s", "v", "AGGREGATION"),
                ("m", "default.t", "m", "IDENTITY"),
                ("n", "default.t", "n", "IDENTITY"),
                ("o", "default.t", "o", "IDENTITY"),
                ("o", "default.t", "p", "IDENTITY"),
                (None, "default.s", "id", "GROUP_BY"),
                (None, "default.s", "id", "JOIN"),
                (None, "default.t", "id", "JOIN"),
            ],
        ),
        (
            "WITH c AS (SELECT k, w AS v FROM z) MERGE INTO t USING c ON t.k = c.k WHEN MATCHED THEN UPDATE SET v=c.v",
            [
                ("v", "default.t", "v", "IDENTITY"),
                ("v", "default.z", "w", "IDENTITY"),
                (None, "default.t", "k", "JOIN"),
                (None, "default.z", "k", "JOIN"),
            ],
        ),
        (
            "UPDATE t AS x SET x.a = a + 1, c.d = e, g = g, h = a, i = (SELECT max(a) FROM u)",
            [
                ("a", "default.t", "a", "TRANSFORMATION"),
                # The other fields of c stay.
                ("c", "default.t", "c", "TRANSFORMATION"),
                ("c", "default.t", "e", "TRANSFORMATION"),
                ("h", "default.t", "a", "IDENTITY"),
                ("i", "default.u", "a", "AGGREGATION"),
            ],
        ),
        (
            "UPDATE t SET a = u.v FROM u JOIN w ON u.k = w.k WHERE u.id = t.id",
            [
                ("a", "default.t", "a", "IDENTITY"),
                ("a", "default.u", "v", "IDENTITY"),
                (None, "default.t", "id", "FILTER"),
                (None, "default.u", "id", "FILTER"),
                (None, "default.u", "k", "JOIN"),
                (None, "default.w", "k", "JOIN"),
            ],
        ),
        (
            "DELETE FROM t USING u WHERE u.id = t.id",
            [(None, "default.t", "id", "FILTER"), (None, "default.u", "id", "FILTER")],
        ),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO t USING u ON t.k = u.k WHEN NOT MATCHED THEN INSERT (k) VALUES (u.k)",
            [("k", "default.u", "k", "IDENTITY"), (None, "default.t", "k", "JOIN"), (None, "default.u", "k", "JOIN")],
        ),
        (
            "UPDATE t SET a = (SELECT max(v) FROM u WHERE u.k = t.k)",
            [
                ("a", "default.t", "k", "FILTER"),
                ("a", "default.u", "k", "FILTER"),
                ("a", "default.u", "v", "AGGREGATION"),
            ],
        ),
        (
            "DELETE FROM t WHERE a IN (SELECT x FROM u)",
            [(None, "default.t", "a", "FILTER"), (None, "default.u", "x", "FILTER")],
        ),
    ],
)
def test_the_columns_that_a_statement_sets_are_told(statement: str, expected: list[tuple[str, str, str, str]]) -> None:
    found = told(statement)
    assert sources(found) == expected
    assert {edge.source_table for edge in flat(found)} <= {each.symlinks[0].name for each in found.inputs}
    # Nothing but why it is taken from the text.
    assert len(found.gaps) == 1


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
            "there may be more columns than are listed",
        ),
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b)",
            "there may be more columns than are listed",
        ),
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = b",
            "it does not state where these columns come from: a",
        ),
    ],
)
def test_what_a_statement_sets_without_naming_it_is_said(statement: str, said: str) -> None:
    found = told(statement)
    assert sources(found) == [(None, "default.s", "id", "JOIN"), (None, "default.t", "id", "JOIN")]
    assert [gap.message for gap in found.gaps][1:] == [said]


def test_a_column_that_is_set_to_all_columns_of_a_table_is_not_told() -> None:
    found = told("MERGE INTO t USING target s ON t.x = s.x WHEN MATCHED THEN UPDATE SET t.a = s.*")
    assert of_columns(found) == []
    assert [gap.message for gap in found.gaps][1:] == ["there may be more columns than are listed"]


def test_an_insert_by_position_fills_the_columns_of_a_known_table() -> None:
    found = told("INSERT INTO target SELECT n.a, upper(n.b) AS y, n.c FROM nope n")
    assert sources(found) == [
        ("x", "default.nope", "a", "IDENTITY"),
        ("y", "default.nope", "b", "TRANSFORMATION"),
        ("dt", "default.nope", "c", "IDENTITY"),
    ]
    partition = told("INSERT OVERWRITE target PARTITION (DT = '2020') SELECT n.a, n.b FROM nope n")
    assert [edge[0] for edge in sources(partition)] == ["x", "y"]
    by_name = told("INSERT INTO target BY NAME SELECT n.a AS dt, n.b AS x FROM nope n")
    assert [edge[0] for edge in sources(by_name)] == ["dt", "x"]
    assert [len(each.gaps) for each in (found, partition, by_name)] == [1, 1, 1]


def test_the_last_columns_of_a_query_fill_the_partitions_that_an_insert_names() -> None:
    found = told("INSERT OVERWRITE TABLE nope PARTITION (ds = '2020', hr, `n`) SELECT m.a, m.hh, m.b + 1 AS c FROM m")
    assert sources(found) == [
        ("a", "default.m", "a", "IDENTITY"),
        ("hr", "default.m", "hh", "IDENTITY"),
        ("n", "default.m", "b", "TRANSFORMATION"),
    ]
    known = told("INSERT OVERWRITE target PARTITION (dt) SELECT m.a, m.b, m.c FROM m")
    assert [edge[0] for edge in sources(known)] == ["x", "y", "dt"]
    few = told("INSERT INTO nope PARTITION (ds, hr) SELECT m.a FROM m")
    assert [edge[0] for edge in sources(few)] == ["a"]


def test_a_view_that_spark_knows_is_followed_to_its_tables() -> None:
    found = told("SELECT v.k, v.total + 1 AS more, n.a FROM view v JOIN nope n ON n.id = v.k")
    assert sources(found) == [
        ("k", "c.d.base", "id", "IDENTITY"),
        ("more", "c.d.base", "amount", "AGGREGATION"),
        ("a", "default.nope", "a", "IDENTITY"),
        (None, "c.d.base", "day", "FILTER"),
        (None, "c.d.base", "id", "JOIN"),
        (None, "default.nope", "id", "JOIN"),
    ]
    assert [dataset.symlinks[0].name for dataset in found.inputs] == ["c.d.base", "default.nope"]
    assert {edge.certainty for edge in flat(found)} == {"text"}


def test_a_column_that_a_known_table_or_view_has_not_is_not_taken_from_it() -> None:
    found = told("SELECT t.xx, v.kk, t.X FROM target t JOIN view v")
    assert [edge[0] for edge in sources(found) if edge[0]] == ["X"]
    assert [gap.message for gap in found.gaps][1:] == ["it does not state where these columns come from: xx, kk"]


def test_names_in_backticks_and_paths_are_what_they_are() -> None:
    found = told("SELECT n.a, p.b FROM `my.db`.`my table` n JOIN parquet.`s3a://Lake/In.dir` p ON n.i = p.i")
    assert [dataset.identifier for dataset in found.inputs] == [
        Identifier("spark_catalog", "my.db.my table"),
        Identifier("s3://Lake", "In.dir"),
    ]
    assert sources(found)[0] == ("a", "my.db.my table", "a", "IDENTITY")
    other = told("SELECT a FROM lake.Shop.Orders")
    assert other.inputs[0].identifier == Identifier("lake", "Shop.Orders")


@pytest.mark.parametrize(
    ("statement", "target"),
    [
        ("REPLACE TABLE out AS SELECT a FROM nope", "default.out"),
        ("CREATE OR REPLACE TEMP VIEW `a b`.out AS SELECT a:x.y:z z FROM nope", "a b.out"),
        ("INSERT OVERWRITE TABLE lake.d.out SELECT a:x.y:z z FROM nope", "lake.d.out"),
    ],
)
def test_the_tables_of_what_spark_alone_can_parse_are_told(statement: str, target: str | None) -> None:
    found = told(statement)
    assert [dataset.symlinks[0].name for dataset in found.inputs] == ["default.nope"]
    assert [dataset.symlinks[0].name for dataset, _ in found.outputs if dataset] == ([target] if target else [])


@pytest.mark.parametrize(
    ("statement", "file_format"),
    [
        ("INSERT OVERWRITE DIRECTORY '/out' USING parquet OPTIONS ('a' 'b') SELECT a AS x FROM nope", "parquet"),
        ('WITH c AS (SELECT a FROM nope) INSERT OVERWRITE DIRECTORY "/out" USING csv SELECT a x FROM c', "csv"),
        (
            (
                "INSERT OVERWRITE LOCAL DIRECTORY '/out' ROW FORMAT SERDE 'y' WITH SERDEPROPERTIES ('a' = 'b')"
                " STORED AS orc WITH c AS (SELECT a FROM nope) SELECT a AS x FROM c"
            ),
            "orc",
        ),
        ("INSERT OVERWRITE DIRECTORY '/out' SELECT a AS x FROM nope", "textfile"),
    ],
)
def test_what_a_statement_writes_into_a_directory_is_told(statement: str, file_format: str) -> None:
    found = told(statement)
    assert [(each.identifier, each.file_format) for each, _ in found.outputs if each] == [
        (Identifier("file", "/out"), file_format)
    ]
    assert sources(found) == [("x", "default.nope", "a", "IDENTITY")]
    assert len(found.gaps) == 1


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("CREATE TABLE out (a INT, b DOUBLE PRECISION, PRIMARY KEY (a)) CHARACTER SET = UTF8MB4", ["a", "b"]),
        ("CREATE TABLE out (a TEXT NOT NULL, b TIMESTAMP(3), CONSTRAINT k UNIQUE (b))", ["a", "b"]),
    ],
)
def test_the_columns_of_a_table_that_another_database_declares_are_all_told(statement: str, columns: list[str]) -> None:
    (found,) = read_statement(statement) or ()
    assert ([name for name, sources in found.columns if sources == {}], found.whole) == (columns, True)


def test_an_insert_into_several_places_may_write_into_a_directory() -> None:
    found = told("FROM nope INSERT INTO more SELECT a INSERT OVERWRITE DIRECTORY '/out' USING csv SELECT b WHERE c > 1")
    assert [(each.identifier.name, each.file_format) for each, _ in found.outputs if each] == [
        ("default.more", None),
        ("/out", "csv"),
    ]
    assert sources(found) == [
        ("a", "default.nope", "a", "IDENTITY"),
        ("b", "default.nope", "b", "IDENTITY"),
        (None, "default.nope", "c", "FILTER"),
    ]


def test_what_neither_spark_nor_sqlglot_can_parse_tells_nothing() -> None:
    assert lineage_of_text("REPLACE TABLE out AS SELECT a FROM nope (", WHY, KNOWN.get, unknown_table) is None


def test_what_another_database_can_parse_is_read_in_its_dialect() -> None:
    found = lineage_of_text(
        "SELECT n.a::int AS x FROM nope n ASOF JOIN more m ON n.id >= m.id", WHY, KNOWN.get, unknown_table
    )
    assert found is not None
    assert sources(found) == [
        ("x", "default.nope", "a", "TRANSFORMATION"),
        (None, "default.more", "id", "JOIN"),
        (None, "default.nope", "id", "JOIN"),
    ]


@pytest.mark.parametrize(
    ("query", "column", "expected"),
    [
        ("SELECT CASE WHEN n.a = 1 THEN n.b ELSE n.c END AS x", "x",
         ["a CONDITIONAL", "b TRANSFORMATION", "c TRANSFORMATION"]),
        ("SELECT nvl2(n.a, n.b, 1) AS x", "x", ["a CONDITIONAL", "b TRANSFORMATION"]),
        ("SELECT decode(n.a, 1, n.b, n.c, n.d, n.e) AS x", "x",
         ["a CONDITIONAL", "b TRANSFORMATION", "c CONDITIONAL", "d TRANSFORMATION", "e TRANSFORMATION"]),
        ("SELECT filter(n.a, q -> q > n.b) AS x", "x", ["a TRANSFORMATION", "b CONDITIONAL"]),
        ("SELECT max_by(n.a, n.b) AS x", "x", ["a AGGREGATION", "b CONDITIONAL"]),
        ("SELECT sum(n.a) FILTER (WHERE n.b > 1) AS x", "x", ["a AGGREGATION", "b CONDITIONAL"]),
        ("SELECT sum(n.a) OVER (PARTITION BY n.b ORDER BY n.c) AS x", "x", ["a AGGREGATION", "b WINDOW", "c WINDOW"]),
        ("SELECT grouping(n.a) AS x", "x", []),
        ("SELECT struct(n.a, n.b AS c).c AS x", "x", ["b IDENTITY"]),
        # Which of the values is in the field, the text does not tell.
        ("SELECT max(struct(n.a, n.b)).b AS x", "x", None),
        ("SELECT n.n.a AS x", "x", ["n TRANSFORMATION"]),
    ],
)  # fmt: skip
def test_how_a_value_arrives_is_told_as_spark_tells_it(query: str, column: str, expected: list[str] | None) -> None:
    found = told(f"CREATE TABLE out AS {query} FROM nope n")
    made = {each.name: each for _, lineage in found.outputs for each in lineage.columns}
    edges = made[column].edges if column in made else None
    words = None if edges is None else [f"{e.field} {t.subtype}" for e in edges for t in e.transformations]
    assert words == expected


def test_the_fields_of_a_struct_that_a_cte_builds_are_followed_one_by_one() -> None:
    found = told(
        "WITH c AS (SELECT n.p, named_struct('q', n.p.zip, 'i', n.id) AS s FROM nope n) SELECT p.city, s.q, s.i FROM c"
    )
    assert sources(found) == [
        ("city", "default.nope", "p", "TRANSFORMATION"),
        ("q", "default.nope", "p", "TRANSFORMATION"),
        ("i", "default.nope", "id", "IDENTITY"),
    ]


@pytest.mark.parametrize("join", [", UNNEST(t.hours) AS h", "CROSS JOIN UNNEST(t.hours) AS h"])
def test_an_array_that_becomes_rows_decides_about_them(join: str) -> None:
    (found,) = read_statement(f"SELECT t.id, h FROM t {join}") or ()
    assert dict(found.columns)["h"] == {("t", "hours"): frozenset({UseKind.TRANSFORMATION})}
    assert (found.rows, found.rows_known) == ({("t", "hours"): frozenset({UseKind.JOIN})}, True)


@pytest.mark.parametrize(
    ("value", "sources"),
    [
        ("DATE_DIFF(a, b, DAY)", "ab"),
        ("DATE_DIFF(DATE(a), DATE_TRUNC(b, ISOWEEK), QUARTER)", "ab"),
        ("DATE_TRUNC(a, MONTH)", "a"),
        ("date_trunc( CAST(a AS DATE), WEEK(MONDAY) )", "a"),
        ("DATE_PART(year, a)", "a"),
        ("DATENAME(month, a)", "a"),
        ("DATE_TRUNC('month', a)", "a"),
        # Here the words are columns.
        ("DATE_TRUNC(a, b)", "b"),
        ("concat(a, month)", ["a", "month"]),
        ("DATE_TRUNC('DATE_TRUNC(x, DAY)', a)", "a"),
    ],
)
def test_a_unit_of_time_is_no_column(value: str, sources: str | list[str]) -> None:
    (found,) = read_statement(f"SELECT {value} AS made FROM t") or ()
    ((_, made),) = found.columns
    assert made is not None
    assert sorted(column for _, column in made) == [*sources]


def test_an_insert_into_several_tables_is_told_for_each_of_them() -> None:
    found = told(
        "WITH c AS (SELECT a, b FROM nope WHERE d = 1) FROM c INSERT INTO m1 SELECT a WHERE b > 1 "
        "INSERT OVERWRITE TABLE m2 SELECT b, count(*) AS n GROUP BY b"
    )
    written = [dataset.symlinks[0].name for dataset, _ in found.outputs if dataset is not None]
    assert written == ["default.m1", "default.m2"]
    first, second = (lineage for _, lineage in found.outputs)
    assert [(each.name, [e.field for e in each.edges]) for each in first.columns] == [("a", ["a"])]
    assert [(e.field, t.subtype) for e in first.dataset for t in e.transformations] == [
        ("b", "FILTER"),
        ("d", "FILTER"),
    ]
    assert [(each.name, [e.field for e in each.edges]) for each in second.columns] == [("b", ["b"]), ("n", [])]


def test_a_name_that_a_known_table_has_is_that_of_no_unknown_one() -> None:
    found = told("SELECT x, a FROM target JOIN nope ON y = b")
    assert sources(found) == [
        ("x", "c.d.target", "x", "IDENTITY"),
        ("a", "default.nope", "a", "IDENTITY"),
        (None, "c.d.target", "y", "JOIN"),
        (None, "default.nope", "b", "JOIN"),
    ]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("count(*), lag(a) OVER w, b", ["_c0", "_c1", "b"]),
        ("posexplode(a) AS (p, c), b", ["p", "c", "b"]),
        ("date_trunc('month', a), CAST(a AS INT), concat('x', a)", ["_c0", "a", "_c2"]),
        ("s.f.g, b", ["g", "b"]),
        ("b, explode_outer(a)", ["b", "..."]),
        ("inline(a)", ["..."]),
        ("stack(2, a, b)", ["..."]),
    ],
)
def test_only_names_that_the_columns_have_are_told(columns: str, names: list[str]) -> None:
    found = read_statement(f"SELECT {columns} FROM nope WINDOW w AS (ORDER BY b)")
    assert found is not None
    (one,) = found
    told = [name for name, sources in one.columns if sources is not None]
    assert [*told, *([] if one.whole else ["..."])] == names


@pytest.mark.parametrize("statement", ["SELEC id FROM emp WHERE (", "SELECT 1", "SET x = 1"])
def test_a_text_that_tells_nothing_gives_nothing(statement: str) -> None:
    assert lineage_of_text(statement, WHY, KNOWN.get, unknown_table) is None


def test_without_sqlglot_the_tables_are_told_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    found = told("INSERT INTO t SELECT a FROM nope")
    assert "default.nope" in [dataset.symlinks[0].name for dataset in found.inputs]
    assert "sqlglot, which reads columns there, is not installed" in found.gaps[0].message


def test_of_a_text_that_is_too_long_to_be_parsed_the_tables_are_told() -> None:
    long = f"INSERT INTO t SELECT {', '.join(f'a AS a{number}' for number in range(20_000))} FROM nope"
    found = told(long)
    assert [dataset.symlinks[0].name for dataset in found.inputs] == ["default.nope"]
    assert flat(found) == []
    assert found.gaps[-1].message == "there may be more columns than are listed"


def test_a_database_is_told_by_its_parts_whatever_signs_are_in_them() -> None:
    assert unknown_table("t", "lake", "`a``b`") == named_table(("lake", "a`b", "t"))


@pytest.mark.parametrize("dialect", ["", "tsql", "mysql"])
def test_the_target_of_a_change_may_be_an_alias_in_its_from(dialect: str) -> None:
    statement = "UPDATE x SET a = y.c FROM t AS x JOIN u AS y ON x.i = y.j WHERE y.k = 1"
    (found,) = read_statement(statement, None, dialect) or ()
    assert (found.target, found.tables, found.rows_known) == ("t", ("t", "u"), True)
    assert [(name, sorted(sources or {})) for name, sources in found.columns] == [("a", [("t", "a"), ("u", "c")])]
    kinds = {source: sorted(kind.name for kind in each) for source, each in found.rows.items()}
    assert kinds == {("t", "i"): ["JOIN"], ("u", "j"): ["JOIN"], ("u", "k"): ["FILTER"]}
    (deleted,) = read_statement("DELETE y FROM t AS x JOIN u AS y ON x.i = y.j WHERE x.k = 1", None, dialect) or ()
    assert (deleted.target, set(deleted.tables), deleted.rows_known) == ("u", {"t", "u"}, True)
    kinds = {source: sorted(kind.name for kind in each) for source, each in deleted.rows.items()}
    assert kinds == {("t", "i"): ["JOIN"], ("u", "j"): ["JOIN"], ("t", "k"): ["FILTER"]}


def test_what_is_applied_to_each_row_of_a_change_stays_unknown() -> None:
    (found,) = read_statement("UPDATE x SET a = y.c FROM t AS x CROSS APPLY (SELECT c FROM u) AS y", None, "tsql") or ()
    assert (found.target, found.tables, found.rows_known) == ("t", ("t", "u"), False)
    assert found.columns == (("a", None),)


@pytest.mark.parametrize("dialect", ["", "mysql"])
@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        ("UPDATE t JOIN u ON t.i = u.i SET t.a = u.c WHERE u.k = 1", {"i": ["JOIN"], "k": ["FILTER"]}),
        ("UPDATE t AS x LEFT JOIN u AS y USING (i, k) SET x.a = y.c", {"i": ["JOIN"], "k": ["JOIN"]}),
        ("UPDATE t, u SET t.a = u.c WHERE t.i = u.i", {"i": ["FILTER"]}),
        ("UPDATE t, (SELECT i, c FROM u) AS y SET t.a = y.c WHERE t.i = y.i", {"i": ["FILTER"]}),
    ],
)
def test_a_change_may_read_the_tables_before_its_set(statement: str, kinds: dict[str, list[str]], dialect: str) -> None:
    (found,) = read_statement(statement, None, dialect) or ()
    assert (found.target, set(found.tables), found.rows_known) == ("t", {"t", "u"}, True)
    assert [(name, sorted(sources or {})) for name, sources in found.columns] == [("a", [("t", "a"), ("u", "c")])]
    of_other = {name: sorted(kind.name for kind in each) for (table, name), each in found.rows.items() if table == "u"}
    assert of_other == kinds
    assert {table for table, _ in found.rows} == {"t", "u"}


def test_the_columns_by_which_a_deletion_joins_are_known_if_they_are_named_and_of_two_tables() -> None:
    (found,) = read_statement("DELETE t FROM t JOIN u USING (i) WHERE u.k = 1", None, "mysql") or ()
    kinds = {source: sorted(kind.name for kind in each) for source, each in found.rows.items()}
    assert (found.target, found.rows_known) == ("t", True)
    assert kinds == {("t", "i"): ["JOIN"], ("u", "i"): ["JOIN"], ("u", "k"): ["FILTER"]}
    for statement in ("DELETE t FROM t JOIN u USING (i) JOIN v USING (i)", "DELETE t FROM t NATURAL JOIN u"):
        (found,) = read_statement(statement, None, "mysql") or ()
        assert (found.target, found.rows_known) == ("t", False)


@pytest.mark.parametrize(
    "literals", [range(30_000), [f"'{number}'" for number in range(30_000)], range(0, -30_000, -1)]
)
def test_a_long_list_of_literals_costs_a_statement_nothing(literals: list[object]) -> None:
    text = "CREATE TABLE t AS SELECT a, b, 1 FROM s WHERE k IN ({}) AND c IN (1, 2)"

    assert read_statement(text.format(", ".join(map(str, literals)))) == read_statement(text.format("0"))


def test_a_statement_that_is_too_long_to_be_read_still_names_its_tables() -> None:
    rows = ", ".join(f"({number}, 'x')" for number in range(10_000))
    (inserted,) = read_statement(f"INSERT INTO d.t (a, b) VALUES {rows}") or ()
    assert (inserted.target, inserted.tables, inserted.whole) == ("d.t", (), False)
    (selected,) = (
        read_statement(f"CREATE TABLE t AS SELECT {', '.join(f'a AS a{n}' for n in range(20_000))} FROM s") or ()
    )
    assert (selected.target, selected.tables, selected.columns, selected.whole) == ("t", ("s",), (), False)
