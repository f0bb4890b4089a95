"""How statements came out, and what an exit code says of them."""

from __future__ import annotations

import json

import attrs
import pytest
from openlineage_pyspark.command.statement_formats import WRITERS
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.predict.from_text.text import gap_of_types
from openlineage_pyspark.workbench.predict.outcome import (
    GATES,
    certainty_of_statement,
    fails,
    severity_of,
    summary_of,
)
from openlineage_pyspark.workbench.predict.scripts import (
    Problem,
    StatementAnswer,
    StatementLineage,
    lineage_of_answers,
)
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.report import Lineage
from support.valid_answers import valid_answer

FOUND = Lineage((), ((None, ColumnLineage(())),))


def told(line: int, code: str = "", message: str = "", *, lineage: bool = True, text: bool = True) -> StatementLineage:
    statement = ScriptStatement("SELECT 1", "a.sql", line, 1)
    problem = Problem("a.sql", line, 3, code, message) if message else None
    return StatementLineage(
        statement, FOUND if lineage else None, problem, from_text=text and lineage and problem is not None
    )


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


def test_the_cells_of_a_notebook_are_one_file() -> None:
    names = ("a.ipynb[1]", "a.ipynb[12]", "b.ipynb[1]", "c[1].py", "c[2].py")
    found = [StatementLineage(ScriptStatement("", each, 1, 1), FOUND) for each in names]
    assert summary_of(found).files == 4


def test_a_refused_temporary_view_is_known_from_its_text() -> None:
    refused = Analyzed("CreateViewCommand", refusal=Refusal("TABLE_OR_VIEW_NOT_FOUND", "no", {}, None, None))
    statement = ScriptStatement("CREATE TEMPORARY VIEW v AS SELECT a FROM nope", "a.sql", 1, 1)
    (found,) = lineage_of_answers([StatementAnswer(statement, refused)], ())
    assert (found.lineage, certainty_of_statement(found)) == (None, "text")


def test_a_line_with_many_problems_of_one_kind_says_it_once_with_their_number() -> None:
    many = [told(7, "NO_SCHEMA", f"the columns of f{at}.csv are unknown", lineage=False) for at in range(31)]
    few = [told(8, "NO_SCHEMA", f"the columns of g{at}.csv are unknown", lineage=False) for at in range(3)]
    assert [str(each) for each in summary_of([*many, *few, *many]).causes] == [
        "a.sql:7:3: the columns of f0.csv are unknown (and 30 more such messages about this line)",
        *(f"a.sql:8:3: the columns of g{at}.csv are unknown" for at in range(3)),
    ]
    assert summary_of(many).counts == (("exact", 0), ("text", 0), ("nothing", 31))


def test_that_types_may_be_others_is_said_once() -> None:
    gaps = [gap_of_types("mart.a", "a.sql:1"), gap_of_types("mart.b", "a.sql:2"), Gap("Generate", "another one")]
    each_gaps = (gaps, gaps[1:], [])
    found = [attrs.evolve(told(n), lineage=attrs.evolve(FOUND, gaps=tuple(each))) for n, each in enumerate(each_gaps)]
    first = (
        "the types of the columns of mart.a may be different: Spark can't analyze the statement that makes it (a.sql:1)"
    )
    assert [line for line in WRITERS["text"](found).splitlines() if "different" in line or "another" in line] == [
        f"  {first}; and 1 more table has the same problem",
        "  not understood: Generate: another one",
        "  not understood: Generate: another one",
    ]
    answer = json.loads(WRITERS["json"](found))
    assert json.dumps(answer["result"]).count("may be different") == 3
    assert json.dumps(answer["diagnostics"]).count("may be different") == 2


@pytest.mark.parametrize("code", ["STAND_IN", "DECISION", "PATTERN", "NOT_DONE", "HANDLED"])
def test_what_a_dry_run_assumes_makes_an_answer_incomplete(code: str) -> None:
    outcome = summary_of([EXACT, told(7, code, "collect() returns stand-ins", lineage=False)])
    assert outcome.lines() == [
        "1 statement in 1 file: 1 exactly",
        "  1 assumption of the dry run: a real run may differ there",
    ]
    assert outcome.diagnostics() == (
        Diagnostic("dry-run", "collect() returns stand-ins", missing=True, place="a.sql:7"),
    )


def test_markdown_lists_assumptions_apart_from_what_was_not_analyzed() -> None:
    shown = WRITERS["markdown"]([TABLE, told(7, "STAND_IN", "collect() returns stand-ins", lineage=False)])
    assert shown.split("\n\n**", 1)[1] == (
        "Not analyzed by Spark**:\n\n- `a.sql:2:3` `the table t is not known`\n"
        "\n**Assumed by the dry run**:\n\n- `a.sql:7:3` `collect() returns stand-ins`\n"
    )


def test_what_only_the_other_outcome_of_a_decision_writes_is_not_missing() -> None:
    found = [told(7, "BRANCH", "only written if", lineage=False), attrs.evolve(EXACT)]
    assert [(each.level, each.missing) for each in summary_of(found).diagnostics()] == [("note", False)]


def test_gaps_of_exact_statements_make_an_answer_incomplete_and_types_do_not() -> None:
    gaps = (gap_of_types("mart.a", "a.sql:1"), Gap("Generate", "no rule"))
    found = [attrs.evolve(EXACT, lineage=attrs.evolve(FOUND, gaps=gaps))] * 2
    assert [(each.code, each.operator, each.missing, each.place) for each in summary_of(found).diagnostics()] == [
        ("text-only", "", False, "a.sql:1"),
        ("unknown-operator", "Generate", True, "a.sql:1"),
    ]


def test_a_write_in_a_loop_is_shown_once_with_its_number() -> None:
    shown = WRITERS["text"]([EXACT, TABLE, EXACT, EXACT]).splitlines()
    assert [line for line in shown if line.startswith("a.sql")] == [
        "a.sql:1: SELECT 1 (3 times)",
        "a.sql:2: (from the text) SELECT 1",
    ]


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("short", [2, 4, 5, 6]),
        ("text-only", [2, 4, 6]),
        ("nothing", [5]),
        ("any", [2, 3, 4, 5, 6, 8]),
        ("never", []),
        ("error", [4, 5]),
        ("unknown-table", [2, 6]),
        ("unknown-function", [3]),
        ("no-value", [5]),
        ("syntax", [4]),
        ("unsupported", []),
        ("dry-run", [8]),
        ("unknown-column", []),
    ],
)
def test_a_gate_is_about_the_statements_that_it_names(gate: str, expected: list[int]) -> None:
    assert gate in GATES
    every = (*EVERY, told(8, "STAND_IN", "collect() returns stand-ins", lineage=False))
    assert [each.statement.line for each in every if fails(each, {gate})] == expected


def test_what_only_a_comparison_needs_is_no_statement() -> None:
    opened = StatementLineage(ScriptStatement("", "b.py", 1, 1), opened="settings.py")
    assert summary_of([EXACT, opened]).lines() == ["1 statement in 1 file: 1 exactly"]


def test_a_statement_is_as_bad_as_what_is_missing() -> None:
    assert [severity_of(each) for each in EVERY] == ["note", "warning", "note", "error", "error", "warning"]


def test_annotations_escape_what_their_format_reads() -> None:
    odd = attrs.evolve(TABLE, problem=Problem("a,b:c.sql", 2, 3, "X", "100%\nof \x1b[1mit"))
    assert WRITERS["github"]([EXACT, odd, FUNCTION]) == (
        "::error file=a%2Cb%3Ac.sql,line=2,col=3,title=error::100%25%0Aof \\x1b[1mit\n"
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


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("sql/a b.sql", "sql/a%20b.sql"),
        ("a:1%20#é.sql", "a%3A1%2520%23%C3%A9.sql"),
        ("/sql/\udcff?.sql", "/sql/%FF%3F.sql"),
    ],
)
def test_sarif_names_a_file_by_a_uri(file: str, uri: str) -> None:
    odd = attrs.evolve(TABLE, problem=Problem(file, 2, 3, "X", "odd"))
    ((result,),) = [run["results"] for run in json.loads(WRITERS["sarif"]([odd]))["runs"]]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}


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


_WHEN_RUN = "the variable d of a script or a routine has a value only when this runs"
_NO_VALUE = "the variable d has no value: set it with --conf d=VALUE, or with SET in a file"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (ScriptStatement("INSERT INTO t SELECT :d FROM s", "a.sql", 1, 1, variables=("d",)), _WHEN_RUN),
        (ScriptStatement("INSERT INTO t SELECT @d FROM s", "a.sql", 1, 1, filled=("@d",)), _WHEN_RUN),
        (ScriptStatement("INSERT INTO t SELECT :d FROM s", "a.sql", 1, 1, variables=("e",)), _NO_VALUE),
    ],
)
def test_a_variable_of_a_routine_is_not_asked_for(statement: ScriptStatement, message: str) -> None:
    answer = StatementAnswer(statement, Analyzed("", refusal=Refusal("NO_VALUE", _NO_VALUE)))
    (found,) = lineage_of_answers([answer], ())
    assert found.problem is not None
    assert found.problem.message == message
