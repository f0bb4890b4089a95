"""How statements came out, and what an exit code says of them."""

from __future__ import annotations

import json

import attrs
import pytest
from openlineage_pyspark.command.statement_formats import WRITERS
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.workbench.predict.outcome import GATES, fails, severity_of, summary_of
from openlineage_pyspark.workbench.predict.scripts import Problem, StatementLineage
from openlineage_pyspark.workbench.predict.statements import ScriptStatement
from openlineage_pyspark.workbench.predict.text import gap_of_types
from openlineage_pyspark.workbench.report import Lineage
from support.valid_answers import valid_answer

FOUND = Lineage((), ((None, ColumnLineage(())),))


def told(line: int, code: str = "", message: str = "", *, lineage: bool = True, text: bool = True) -> StatementLineage:
    statement = ScriptStatement("SELECT 1", "a.sql", line, 1)
    problem = Problem("a.sql", line, 3, code, message) if message else None
    return StatementLineage(statement, FOUND if lineage else None, problem, from_text=text and problem is not None)


EXACT = told(1)
TABLE = told(2, "TABLE_OR_VIEW_NOT_FOUND", "the table t is not known")
FUNCTION = told(3, "UNRESOLVED_ROUTINE", "no f", text=False)
SYNTAX = told(4, "PARSE_SYNTAX_ERROR", "Syntax error at or near 'x'")
NOTHING = told(5, "NO_VALUE", "the variable x has no value", lineage=False)
AGAIN = told(6, "TABLE_OR_VIEW_NOT_FOUND", "the table t is not known")
EVERY = (EXACT, TABLE, FUNCTION, SYNTAX, NOTHING, AGAIN)


def test_the_outcome_counts_how_much_is_known_and_says_each_cause_once() -> None:
    outcome = summary_of(EVERY)
    assert outcome.lines() == [
        "6 statements in 1 file: 2 exactly, 3 from the text, 1 not at all",
        "  2 for an undeclared table",
        "  1 for an undeclared function",
        "  1 for syntax that Spark does not support",
        "  1 for a variable without a value",
    ]
    assert [str(each) for each in outcome.causes] == [
        "a.sql:2:3: the table t is not known (and 1 more statement: a.sql:6)",
        "a.sql:3:3: no f",
        "a.sql:4:3: Syntax error at or near 'x'",
        "a.sql:5:3: the variable x has no value",
    ]
    assert summary_of([]).lines() == []


def test_that_types_may_be_others_is_said_once() -> None:
    gaps = [gap_of_types("mart.a", "a.sql:1"), gap_of_types("mart.b", "a.sql:2"), Gap("Generate", "another one")]
    found = [attrs.evolve(EXACT, lineage=attrs.evolve(FOUND, gaps=tuple(each))) for each in (gaps, gaps[1:], [])]
    first = (
        "the types of the columns of mart.a may be different: Spark can't analyze the statement that makes it (a.sql:1)"
    )
    assert [line for line in WRITERS["text"](found).splitlines() if "others" in line or "another" in line] == [
        f"  {first}; and 1 more table has the same problem",
        "  not understood: Generate: another one",
        "  not understood: Generate: another one",
    ]
    assert WRITERS["json"](found).count("may be different") == 3


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("short", [2, 4, 5, 6]),
        ("text-only", [2, 4, 6]),
        ("nothing", [5]),
        ("any", [2, 3, 4, 5, 6]),
        ("never", []),
        ("error", [4, 5]),
        ("unknown-table", [2, 6]),
        ("unknown-function", [3]),
        ("no-value", [5]),
        ("syntax", [4]),
        ("unsupported", []),
        ("unknown-column", []),
    ],
)
def test_a_gate_is_about_the_statements_that_it_names(gate: str, expected: list[int]) -> None:
    assert gate in GATES
    assert [each.statement.line for each in EVERY if fails(each, {gate})] == expected


def test_a_statement_is_as_bad_as_what_is_missing() -> None:
    assert [severity_of(each) for each in EVERY] == ["note", "warning", "note", "error", "error", "warning"]


def test_annotations_escape_what_their_format_reads() -> None:
    odd = attrs.evolve(TABLE, problem=Problem("a,b:c.sql", 2, 3, "X", "100%\nof it"))
    assert WRITERS["github"]([EXACT, odd, FUNCTION]) == (
        "::error file=a%2Cb%3Ac.sql,line=2,col=3,title=error::100%25%0Aof it\n"
        "::notice file=a.sql,line=3,col=3,title=unknown-function::no f\n"
    )


def test_sarif_has_a_result_for_each_problem() -> None:
    (run,) = json.loads(WRITERS["sarif"](EVERY))["runs"]
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("unknown-table", "warning"),
        ("unknown-function", "note"),
        ("syntax", "error"),
        ("no-value", "error"),
        ("unknown-table", "warning"),
    ]
    assert run["results"][0]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a.sql"},
        "region": {"startLine": 2, "startColumn": 3},
    }


def test_json_begins_with_the_outcome() -> None:
    result = valid_answer(WRITERS["json"](EVERY))["result"]
    assert list(result)[1:] == ["summary", "statements"]
    assert {key: result["summary"][key] for key in ("statements", "exact", "text", "nothing")} == {
        "statements": 6,
        "exact": 2,
        "text": 3,
        "nothing": 1,
    }
    assert [each["certainty"] for each in result["statements"]] == ["exact", "text", "exact", "text", "nothing", "text"]
