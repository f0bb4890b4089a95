"""What is read through views that Spark can't analyze, because it does not know their tables."""

from __future__ import annotations

import pytest
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import statements_of


def _last(text: str) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Return the sources of the columns of the last statement, those that decide about its rows, and its gaps."""
    answers = []
    for each in statements_of(text, "f.sql"):
        words = each.text.split()
        kind = "CreateView" if "VIEW" in words[1:4:2] else "CreateViewCommand" if words[1] == "TEMPORARY" else ""
        answers.append(
            StatementAnswer(each, Analyzed(kind, refusal=Refusal("TABLE_OR_VIEW_NOT_FOUND", "no such table")))
        )
    lineage = lineage_of_answers(answers, ())[-1].lineage
    assert lineage is not None
    ((_, found),) = lineage.outputs
    columns = {each.name: [f"{edge.dataset.name}.{edge.field}" for edge in each.edges] for each in found.columns}
    rows = [f"{edge.dataset.name}.{edge.field}" for edge in found.dataset]
    return columns, rows, [gap.message for gap in lineage.gaps[1:]]


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        (
            "CREATE VIEW v AS SELECT * FROM s; CREATE TABLE t AS SELECT v.a, v.b + 1 AS c FROM v WHERE v.d > 1",
            {"a": ["default.s.a"], "c": ["default.s.b"]},
            ["default.s.d"],
        ),
        (
            "CREATE TEMPORARY VIEW v AS SELECT * FROM s WHERE k = 1; CREATE TABLE t AS SELECT a FROM v",
            {"a": ["default.s.a"]},
            ["default.s.k"],
        ),
        # A name in the text of a view comes before the columns that it passes on.
        (
            """
            CREATE VIEW v AS SELECT b + 1 AS a, * FROM s;
            CREATE VIEW w AS SELECT * FROM v;
            CREATE TABLE t AS SELECT a, c FROM w
            """,
            {"a": ["default.s.b"], "c": ["default.s.c"]},
            [],
        ),
        # The names that a view gives to columns are others than those of its table.
        (
            "CREATE VIEW v (a, b) AS SELECT * FROM s; CREATE TABLE t AS SELECT a FROM v",
            {"a": ["default.v.a"]},
            [],
        ),
        (
            "CREATE VIEW v AS SELECT * FROM s; CREATE OR REPLACE VIEW v AS SELECT b FROM u; SELECT b FROM v",
            {"b": ["default.u.b"]},
            [],
        ),
        # Either table may have the column.
        (
            "CREATE VIEW v AS SELECT s.*, u.* FROM s JOIN u ON s.k = u.k; CREATE TABLE t AS SELECT a FROM v",
            {"a": ["default.v.a"]},
            ["default.s.k", "default.u.k"],
        ),
    ],
)
def test_a_view_of_all_columns_of_an_unknown_table_passes_them_on(
    text: str, columns: dict[str, list[str]], rows: list[str]
) -> None:
    assert _last(text) == (columns, rows, [])


def test_a_view_that_is_not_parsed_passes_nothing_on() -> None:
    (view,) = statements_of("CREATE VIEW v AS SELECT ((( FROM s", "f.sql")
    answer = StatementAnswer(view, Analyzed("CreateView", refusal=Refusal("PARSE_SYNTAX_ERROR", "no such syntax")))
    (found,) = lineage_of_answers([answer], ())
    assert found.problem is not None
    assert found.problem.code == "PARSE_SYNTAX_ERROR"


def test_a_column_that_is_not_found_behind_a_temporary_view_is_a_gap() -> None:
    text = "CREATE TEMPORARY VIEW v AS SELECT s.*, u.* FROM s, u; CREATE TABLE t AS SELECT a FROM v"
    gap = "it does not state where these columns of temporary views come from: default.v.a"
    assert _last(text) == ({"a": []}, [], [gap])
