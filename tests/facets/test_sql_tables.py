"""The tables that a text in any SQL names, found without a parser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.facets.foreign_sql.reader import UnreadableError, read_query
from openlineage_pyspark.facets.foreign_sql.tables import is_name, named_tables

SHARED = Path(__file__).parents[3] / "shared"
DIALECTS = (
    None,
    *"postgres redshift mysql tsql oracle snowflake sqlite clickhouse trino teradata derby h2 hsqldb db2 spark".split(),
)


def plain(name):
    """Return a name without its quotes, which have no quotes and no brackets in them."""
    return re.sub(r'["`\[\]]|\s+(?=\.)|(?<=\.)\s+', "", name)


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT a FROM t", ("t",)),
        ("SELECT a FROM t AS x, u y JOIN s.v z ON x.a = z.a, w", ("t", "u", "s.v", "w")),
        ('SELECT a FROM "S"."T" JOIN `d`.`e` JOIN [dbo].[f]', ('"S"."T"', "`d`.`e`", "[dbo].[f]")),
        (
            "WITH t AS (SELECT a FROM o), u (a, b) AS NOT MATERIALIZED (SELECT 1 FROM x.y) SELECT * FROM t JOIN u",
            ("o", "x.y"),
        ),
        ("SELECT EXTRACT(YEAR FROM day), trim(BOTH 'x' FROM name) FROM orders", ("orders",)),
        ("SELECT a IS DISTINCT FROM b FROM t WHERE note = 'from secret' -- from nothing", ("t",)),
        ("SELECT /* from a */ x FROM t WHERE y IN (SELECT z FROM u)", ("t", "u")),
        ("SELECT * FROM generate_series(1, 3) g, t (nolock)", ("t",)),
        ("SELECT a FROM (t JOIN u ON x), LATERAL (SELECT z FROM v) q", ("t", "u", "v")),
        ("SELECT a FROM t ARRAY JOIN arr AS a, b", ("t",)),
        ("SELECT f(a, b) FROM t GROUP BY a, b ORDER BY c, d", ("t",)),
        ("no sql at all", ()),
    ],
)
def test_tables_are_what_stands_after_from_and_join(text, tables):
    assert named_tables(text) == tables


def test_the_last_name_of_a_text_that_was_cut_may_be_cut_itself():
    assert named_tables("SELECT a FROM t JOIN ord", cut=True) == ("t",)
    assert named_tables("SELECT a FROM t JOIN orders o", cut=True) == ("t", "orders")


@pytest.mark.parametrize(
    "text", ["orders", " public.orders ", 'public."my orders"', "[dbo].[t]", "a.b.c", "#temporary"]
)
def test_a_name_is_a_name(text):
    assert is_name(text)


@pytest.mark.parametrize("text", ["(SELECT 1) q", "orders o", "a JOIN b", "f(1)", "(select", ""])
def test_anything_else_is_no_name(text):
    assert not is_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        '"' * 50_001,
        "`" * 50_001,
        "/*" * 50_000,
        "'" * 50_001,
        " " * 100_000,
        "(" * 50_000,
        "a." * 50_000,
        "from " * 20_000,
        "q'[" * 30_000,
        "$a$$b$" * 15_000 + "$c$",
        "x'\\" * 30_001,
        "a as (" * 15_000,
    ],
)
@pytest.mark.slow
def test_any_text_is_read_in_one_pass(text):
    """A quadratic pattern would take minutes."""
    assert ({named_tables(text, dialect) for dialect in (None, "oracle", "tsql")}, is_name(text)) == ({()}, False)


@pytest.mark.parametrize(
    ("dialect", "text", "tables"),
    [
        (None, "SELECT * FROM (WITH t AS (SELECT a FROM o) SELECT a FROM t) q", ("o",)),
        (None, "SELECT * FROM (VALUES (1, a), (2, b)) AS v(x, y), t", ("t",)),
        (None, "SELECT a FROM model, settings, format f, option", ("model", "settings", "format", "option")),
        (None, "SELECT 'C:\\' FROM t", ()),
        (None, "SELECT 'unclosed FROM t", ()),
        (None, 'SELECT "unclosed FROM t', ()),
        (None, "SELECT a # FROM s\n FROM t", ("t",)),
        ("postgres", 'WITH t AS (SELECT 1 FROM o) SELECT * FROM "T"', ("o",)),
        ("postgres", "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", ("orders",)),
        ("postgres", "WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT 1 FROM z) SELECT * FROM a", ("z",)),
        ("postgres", "SELECT * FROM (WITH t AS (SELECT 1 FROM x) SELECT * FROM t) a JOIN t ON 1=1", ("x", "t")),
        ("postgres", "SELECT * FROM generate_series (1, 3) g, t", ("t",)),
        ("postgres", "SELECT a FROM ROWS FROM (f(1), g(2)) AS t, u", ("u",)),
        ("postgres", "SELECT a FROM t FOR UPDATE OF x, y", ("t",)),
        ("postgres", "SELECT 'C:\\' FROM t", ("t",)),
        ("postgres", "SELECT E'it\\'s FROM s' FROM t", ("t",)),
        ("postgres", "SELECT $$ FROM r $$, $a$ FROM $$ s $a$ FROM t", ("t",)),
        ("postgres", "SELECT a /* /* */ FROM s */ FROM t", ("t",)),
        ("postgres", 'SELECT "a""b FROM c" FROM "x""y"."z"', ('"x""y"."z"',)),
        ("postgres", 'SELECT a FROM U&"d\\0061t", t', ("t",)),
        ("postgres", "SELECT ARRAY[a, b] FROM t JOIN u ON t.x[1, 2] = u.y, v", ("t", "u", "v")),
        ("postgres", "SELECT EXTRACT(epoch FROM (SELECT max(y) FROM u)) FROM t", ("u", "t")),
        ("postgres", "SELECT trim(FROM x), substring('a' FROM y), overlay(a PLACING b FROM c) FROM t", ("t",)),
        ("postgres", "SELECT sum(x) OVER w FROM t WINDOW w AS (PARTITION BY a, b), v AS (ORDER BY c)", ("t",)),
        ("redshift", "SELECT a FROM customers c, c.orders o", ("customers",)),
        ("redshift", "SELECT a FROM customers, customers.orders o", ("customers",)),
        ("mysql", "SELECT 'it\\'s FROM s' FROM t", ("t",)),
        ("mysql", 'SELECT "a FROM s" FROM t', ("t",)),
        ("mysql", "SELECT a#FROM s\n FROM t", ("t",)),
        ("mysql", "SELECT a /* /* */ FROM t", ("t",)),
        ("mysql", "SELECT 5--3 FROM t", ("t",)),
        ("spark", "FROM (FROM t x MAP a, b USING 'm' AS k, v) y REDUCE y.k, v USING 'r' AS k2, v2", ("t",)),
        ("spark", "SELECT a FROM map m, reduce AS map, b", ("map", "reduce", "b")),
        ("mysql", "SELECT a FROM t map, b", ("t", "b")),
        ("mysql", "SELECT STRAIGHT_JOIN a, b FROM t USE INDEX FOR JOIN (i) STRAIGHT_JOIN u", ("t", "u")),
        ("tsql", "WITH t(n) AS (SELECT 1 FROM x UNION ALL SELECT n + 1 FROM t) SELECT * FROM t", ("x",)),
        ("tsql", "SELECT a FROM [x]]y].[z] AS [a b], [c], #d, db..e", ("[x]]y].[z]", "[c]", "#d", "db..e")),
        ("tsql", "SELECT a FROM :x, ?, @y, $1, t", ("t",)),
        ("tsql", "SELECT a FROM t x WITH (NOLOCK, INDEX(i)), u (nolock), v", ("t", "u", "v")),
        ("tsql", "SELECT a FROM t CROSS APPLY f(t.x) y OUTER APPLY (SELECT b FROM u) z", ("t", "u")),
        ("tsql", "SELECT a FROM t PIVOT (SUM(x) FOR m IN (p, q)) AS z (k, l), u", ("t", "u")),
        ("oracle", "SELECT q'[it's FROM r]', nq'!it's FROM s!' FROM t", ("t",)),
        ("oracle", "SELECT a FROM t@remote, TABLE(f(x)) b, TABLE(u.c) d, dual, sys.dual, v", ("v",)),
        ("oracle", "SELECT a FROM t START WITH x CONNECT BY PRIOR y = z, w", ("t",)),
        ("oracle", "SELECT NTH_VALUE(a, 2) FROM FIRST OVER (ORDER BY b), c FROM t", ("t",)),
        ("oracle", "SELECT a FROM XMLTABLE('/a' PASSING x COLUMNS b INT PATH 'c', d INT PATH 'e') x, t", ("t",)),
        ("snowflake", "SELECT * FROM VALUES (1, a), (c, d) AS v", ()),
        ("snowflake", "SELECT a // FROM r\n FROM @stage/b, t AT (OFFSET => -60), LATERAL FLATTEN(t.x) f", ("t",)),
        ("clickhouse", "SELECT [a, b] FROM t ARRAY JOIN x, y JOIN u USING k", ("t", "u")),
        ("clickhouse", "WITH (SELECT max(m) FROM u) AS k SELECT id FROM t FINAL SETTINGS a = 1, b = 2", ("u", "t")),
        ("spark", "SELECT a FROM t LATERAL VIEW explode(b) v AS c, d", ("t",)),
    ],
)
def test_what_only_looks_like_a_table_in_some_database_is_none(dialect, text, tables):
    assert named_tables(text, dialect) == tables


@pytest.mark.slow
def test_the_tables_of_the_tpc_queries_are_those_that_the_parser_finds():
    files = sorted(SHARED.glob("tpc*/queries/*.sql"))
    if not files:
        pytest.skip("the TPC queries are not there: ../shared/tpcds and ../shared/tpch beside the repository")
    compared = 0
    for file in files:
        text = file.read_text(encoding="utf-8")
        try:
            parsed = read_query(text, "spark").tables
        except UnreadableError:
            continue
        compared += 1
        for dialect in DIALECTS:
            # Names are compared in lower case: the queries spell some in both.
            assert {name.lower() for name in named_tables(text, dialect)} == {n.lower() for n in parsed}, file.name

    assert compared == len(files)


class Wording:
    """How a dialect writes names, strings and comments."""

    def __init__(self, dialect):
        name = dialect or ""
        backslash = name in ("mysql", "clickhouse", "snowflake", "redshift", "spark")
        self.dialect = dialect
        self.quotes = {"mysql": "``", "spark": "``", "tsql": "[]"}.get(name, '""')
        self.recursive = name in ("postgres", "redshift", "mysql", "clickhouse", "trino", "h2", "hsqldb", "spark")
        self.comments = ["/* FROM no1 */", "-- JOIN no2\n", "/* , no3 (  */", "/* ' */", '-- "\n']
        self.comments += ["# FROM no4\n"] if name in ("mysql", "clickhouse", "") else []
        self.comments += ["// FROM no5\n"] if name == "snowflake" else []
        self.values = ["1", "x", "a.x", "''", "'FROM no6'", "', no7'", "'it''s FROM no8'", "'('", "count(*)"]
        self.values += [r"'it\'s FROM no9'"] if backslash else []
        self.values += ['"FROM no10"'] if name in ("mysql", "spark") else []
        self.values += ["$$ FROM no11 ' $$"] if name in ("postgres", "snowflake", "h2") else []
        self.values += ["q'[it's FROM no12]'"] if name == "oracle" else []
        self.values += ["EXTRACT(YEAR FROM no13)", "trim(BOTH 'y' FROM no14)", "substring(x FROM 2)"]
        self.values += ["CASE WHEN x IS DISTINCT FROM no15 THEN 1 ELSE 2 END", "sum(x) OVER (PARTITION BY a, b)"]
        self.functions = ["f(1, 2)", "generate_series (1, x)", "s.g(a, 'FROM no16')", "LATERAL f(x)", "(VALUES (1, x))"]
        self.functions += ["t9 (NOLOCK)"] if name == "tsql" else []

    def written(self, name, *, quoted):
        return f"{self.quotes[0]}{name}{self.quotes[1]}" if quoted else name


class Drawn:
    """A query that is drawn, and the tables that it reads: the truth that no reader of texts has."""

    def __init__(self, draw, wording):
        self.draw, self.wording = draw, wording
        self.tables: set[str] = set()
        self.aliases = 0
        self.defined: list[str] = []

    def chosen(self, *options):
        return self.draw(st.sampled_from(options))

    def space(self):
        return self.chosen(" ", " ", " ", "\n", f" {self.chosen(*self.wording.comments)} ")

    def joined(self, *words):
        return "".join(f"{word}{self.space()}" for word in words if word)

    def table(self, ctes):
        """Return a name, of which only the truth says whether it is a table's."""
        name = self.chosen("t1", "t2", "t3", "c1", "c2", "c3", "from_t4", "joins")
        name = "t1" if name in self.defined else name
        written = self.wording.written(name, quoted=self.draw(st.booleans()))
        if self.chosen("bare", "bare", "in a schema") == "in a schema":
            self.tables.add(f"s.{name}")
            return f"s.{written}"
        if name not in ctes:
            self.tables.add(name)
        return written

    def value(self, ctes, depth):
        if depth and self.chosen(0, 0, 0, 1):
            return self.joined("(", self.query(ctes, depth - 1), ")")
        return self.chosen(*self.wording.values)

    def item(self, ctes, depth):
        """Return one item of FROM."""
        self.aliases += 1
        alias = self.chosen(f"AS al{self.aliases}", f"al{self.aliases}")
        kind = self.chosen("table", "table", "table", "function", "query", "brackets")
        if kind == "function":
            function = self.chosen(*self.wording.functions)
            self.tables |= {"t9"} & {function.split()[0]}
            return self.joined(function, alias)
        if kind == "query" and depth:
            return self.joined("(", self.query(ctes, depth - 1), ")", alias)
        if kind == "brackets" and depth:
            return self.joined("(", self.items(ctes, depth - 1, ("JOIN", "LEFT JOIN")), ")")
        return self.joined(self.table(ctes), self.chosen("", alias))

    def items(self, ctes, depth, between=(",", "JOIN", "LEFT JOIN", "CROSS JOIN", "NATURAL JOIN")):
        words = [self.item(ctes, depth)]
        for _ in range(self.chosen(0, 0, 1, 2)):
            join = self.chosen(*between)
            words += [join, self.item(ctes, depth)]
            words += ["ON", self.value(ctes, depth), "=", "1"] if join in ("JOIN", "LEFT JOIN") else []
        return self.joined(*words)

    def query(self, ctes, depth):
        words, visible = [], set(ctes)
        if depth and self.chosen(0, 0, 1):
            words.append("WITH")
            for number in range(self.chosen(1, 2)):
                name = self.chosen("c1", "c2", "c3")
                # Elsewhere a common table expression that reads its own name reads itself, or is wrong.
                self.defined += [] if self.wording.recursive else [name]
                columns = self.chosen("", "(a, b)")
                words += ["," * bool(number), self.wording.written(name, quoted=self.draw(st.booleans())), columns]
                words += ["AS", "(", self.query(visible, depth - 1), ")"]
                self.defined = self.defined[:-1]
                visible.add(name)
        words += ["SELECT", self.value(visible, depth)]
        for _ in range(self.chosen(0, 1, 2)):
            words += [",", self.value(visible, depth)]
        words += ["FROM", self.items(visible, depth)]
        if self.chosen(0, 1):
            words += ["WHERE", self.value(visible, depth), "=", self.value(visible, depth)]
        if self.chosen(0, 0, 1):
            words += ["GROUP BY", "x, y", "ORDER BY", "x, y"]
        elif depth and self.chosen(0, 0, 1):
            words += [self.chosen("UNION ALL", "EXCEPT"), self.query(visible, 0)]
        return self.joined(*words)


@st.composite
def drawn_queries(draw):
    wording = Wording(draw(st.sampled_from(DIALECTS)))
    drawn = Drawn(draw, wording)
    return wording.dialect, drawn.query(set(), draw(st.integers(0, 3))), drawn.tables


@pytest.mark.slow
@given(drawn_queries())
def test_the_tables_of_any_query_are_those_that_it_reads(drawn):
    """None that is no table, and none is missing."""
    dialect, text, tables = drawn

    assert {plain(name) for name in named_tables(text, dialect)} == tables


@given(drawn_queries())
def test_what_the_parser_finds_is_found_without_it(drawn):
    """Where sqlglot, which does not know all of these databases, can parse the query."""
    dialect, text, tables = drawn
    try:
        parsed = {plain(name) for name in read_query(text, dialect).tables}
    except UnreadableError:
        return

    assert parsed - tables == set()
    assert parsed - {plain(name) for name in named_tables(text, dialect)} == set()


@given(drawn_queries(), st.data())
def test_a_query_that_was_cut_anywhere_has_no_other_tables(drawn, data):
    dialect, text, tables = drawn
    end = data.draw(st.integers(0, len(text)))

    assert {plain(name) for name in named_tables(text[:end], dialect, cut=True)} - tables == set()


@given(st.text(alphabet="'\"`[]()-*/#$@.,; \\\nafromjiselct1", max_size=60), st.sampled_from(DIALECTS), st.booleans())
def test_any_text_has_tables_that_stand_in_it(text, dialect, cut):
    assert [name for name in named_tables(text, dialect, cut=cut) if name not in text] == []
