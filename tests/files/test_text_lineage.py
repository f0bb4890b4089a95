"""What the text of a statement tells that Spark can't analyze."""

from __future__ import annotations

import sys

import pytest
from openlineage_pyspark.facets.report import Lineage
from openlineage_pyspark.facets.statement_text import TEXT, lineage_of_text, unknown_table

WHY = "the table nope is not known"


def told(statement: str) -> Lineage:
    found = lineage_of_text(statement, WHY, unknown_table)
    assert found is not None
    return found


def test_columns_that_one_table_alone_can_have_are_told_and_marked() -> None:
    found = told("INSERT INTO mart.out SELECT n.a, upper(n.b) AS b FROM nope n")
    assert str(found).splitlines() == [
        "mart.out",
        "  column  from            how",
        "  a       default.nope.a  IDENTITY, unknown",
        "  b       default.nope.b  TRANSFORMATION, unknown",
        f"not understood: {TEXT}: Spark can't analyze the statement ({WHY}): its lineage is taken from its text",
    ]
    assert {edge.certainty for edge in found.edges} == {"unknown"}


def test_what_the_text_does_not_tell_is_named_and_not_guessed() -> None:
    found = told("CREATE TABLE out AS SELECT x, a.y FROM a JOIN b ON a.i = b.i")
    assert [(edge.column, edge.source_table) for edge in found.edges] == [("y", "default.a")]
    assert [gap.message for gap in found.gaps][1:] == ["it does not tell where these columns come from: x"]


def test_ctes_and_unions_are_followed() -> None:
    found = told(
        "WITH c AS (SELECT a AS k FROM t1 UNION ALL SELECT b FROM lake.d.t2) INSERT INTO out (kk) SELECT k FROM c"
    )
    assert [(edge.column, edge.source_table, edge.source_column) for edge in found.edges] == [
        ("kk", "lake.d.t2", "b"),
        ("kk", "default.t1", "a"),
    ]


@pytest.mark.parametrize(
    ("statement", "reads", "writes"),
    [
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET t.b = s.b", ["default.s"], "default.t"),
        ("UPDATE t SET a = 1 WHERE a IN (SELECT x FROM u)", ["default.u"], "default.t"),
        ("INSERT INTO t SELECT * FROM nope", ["default.nope"], "default.t"),
    ],
)
def test_the_tables_of_other_statements_are_told(statement: str, reads: list[str], writes: str) -> None:
    found = told(statement)
    assert [dataset.symlinks[0].name for dataset in found.inputs] == reads
    assert [dataset.symlinks[0].name for dataset, _ in found.outputs if dataset] == [writes]


@pytest.mark.parametrize("statement", ["SELEC id FROM emp WHERE (", "SELECT 1", "SET x = 1"])
def test_a_text_that_tells_nothing_gives_nothing(statement: str) -> None:
    assert lineage_of_text(statement, WHY, unknown_table) is None


def test_without_sqlglot_the_tables_are_told_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    found = told("INSERT INTO t SELECT a FROM nope")
    assert "default.nope" in [dataset.symlinks[0].name for dataset in found.inputs]
    assert "sqlglot, which reads columns there, is not installed" in found.gaps[0].message


def test_of_a_text_that_is_too_long_to_be_parsed_the_tables_are_told() -> None:
    long = "INSERT INTO t SELECT a FROM nope WHERE a IN (" + ", ".join(map(str, range(20_000))) + ")"
    found = told(long)
    assert [dataset.symlinks[0].name for dataset in found.inputs] == ["default.nope"]
    assert found.edges == ()
    assert found.gaps[-1].message == "there may be more columns than are listed"
