"""The tables that a text in any SQL names, if it can't be parsed."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.datasets.sql_tables import is_name, named_tables


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
    ],
)
def test_any_text_is_read_in_one_pass(text):
    """A quadratic pattern would take minutes."""
    assert (named_tables(text), is_name(text)) == ((), False)
