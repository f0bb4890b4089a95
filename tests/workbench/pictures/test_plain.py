"""What other people's events say does nothing to a terminal, a spreadsheet or a comment in a pull request."""

from __future__ import annotations

import csv
import io

import pytest
from openlineage_pyspark.workbench.pictures.plain import csv_of, plain
from openlineage_pyspark.workbench.pictures.table import code_of
from openlineage_pyspark.workbench.questions.changes import ChangeRow, Diff, text_of_diff
from openlineage_pyspark.workbench.recovery.model.formats import PLAN_FORMATS
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan, RecoveryStep


def test_a_text_stays_on_its_line_and_loses_what_a_terminal_acts_on() -> None:
    assert plain("a\x1b[2Jb\nc\r\x9bd\u202ee \ud800") == "a [2Jb c  d e  "
    assert plain("é 表 `x`") == "é 表 `x`"


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1"])
def test_a_spreadsheet_computes_nothing(text: str) -> None:
    (row,) = csv.reader(io.StringIO(csv_of([[text, 1, -5, None, 'a "b", c\nd\x1b[2J']])))
    assert row == [f"'{plain(text)}", "1", "-5", "", 'a "b", c\nd [2J']


def test_a_difference_shows_each_change_on_one_line() -> None:
    found = Diff((ChangeRow("column", "added", "t.x\nnothing changed\x1b[1A", "", "int"),), (("u\x1b[2K", 1),))
    assert text_of_diff(found).splitlines() == [
        "+ column t.x nothing changed [1A: int",
        "downstream of it:",
        "  1  u [2K",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"rlike(a, 'x\|y')", r"`rlike(a, 'x\ \|y')`"),
        (r"x\\| ![](http://tracker) |", r"`x\\ \| ![](http://tracker) \|`"),
        ("a`b|c", r"`` a`b\|c ``"),
    ],
)
def test_no_text_ends_its_cell_in_markdown(text: str, shown: str) -> None:
    assert code_of(text) == shown


def test_a_plan_of_recovery_shows_its_commands_as_they_are() -> None:
    hidden = "rm -rf x\x1b[1A\x1b[2K"
    step = RecoveryStep("run", "run \x1b[8m it", language="shell", code=(hidden,))
    made = RecoveryPlan(next(iter(Mode)), "t\x1b[31m", "1", (), (step,))
    assert "\x1b" not in PLAN_FORMATS["text"](made)
    assert "rm -rf x [1A [2K" in PLAN_FORMATS["text"](made)
    assert "\x1b" not in PLAN_FORMATS["sql"](made)
    assert [line for line in PLAN_FORMATS["shell"](made).splitlines() if "\x1b" in line] == [hidden]
