"""What a statement reads through SQL functions that Spark can't analyze."""

from __future__ import annotations

import pytest
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.report import Lineage

_GAP = "what these functions return of the tables that they read is unknown: f"


@pytest.mark.parametrize(
    ("function", "query", "inputs"),
    [
        (
            "CREATE TEMPORARY FUNCTION f(x INT) RETURNS STRING RETURN (SELECT max(l.n) FROM l WHERE l.id = x)",
            "SELECT r.a, f(r.a) AS n FROM r",
            ["default.r", "default.l"],
        ),
        (
            "CREATE OR REPLACE FUNCTION s.f(k INT) RETURNS TABLE (a INT) RETURN SELECT l.a FROM l WHERE l.k = k",
            "SELECT q.a FROM s.f(5) q",
            ["default.l"],
        ),
        (
            "CREATE OR REPLACE TABLE FUNCTION d.f(y INT64) AS SELECT r.a FROM d.l r",
            "SELECT a FROM d.f (2026)",
            ["d.l"],
        ),
        ("CREATE MACRO f(k) AS TABLE SELECT r.a FROM l r WHERE r.k = k", "SELECT a FROM f(3)", ["default.l"]),
    ],
)
def test_the_tables_in_the_body_of_a_function_are_read_by_what_calls_it(
    function: str, query: str, inputs: list[str]
) -> None:
    *_, last = _told(f"{function}; CREATE TABLE t AS {query}")
    assert [each.identifier.name for each in last.inputs] == inputs
    assert last.gaps[-1].message == _GAP


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1; CREATE TABLE t AS SELECT f(a) AS b FROM q",
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN (SELECT n FROM l); CREATE TABLE t AS SELECT f AS b FROM q",
    ],
)
def test_a_function_without_tables_or_that_is_not_called_reads_none(text: str) -> None:
    *_, last = _told(text)
    assert [each.identifier.name for each in last.inputs] == ["default.q"]
    assert _GAP not in {gap.message for gap in last.gaps}


def _told(text: str) -> list[Lineage]:
    refusal = Refusal("PARSE_SYNTAX_ERROR", "no such syntax")
    answers = [StatementAnswer(each, Analyzed("", refusal=refusal)) for each in statements_of(text, "f.sql")]
    return [each.lineage for each in lineage_of_answers(answers, ()) if each.lineage is not None]
