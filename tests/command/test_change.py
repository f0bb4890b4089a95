"""What `lineage --diff --plan` prints of a change."""

from __future__ import annotations

import json

import pytest
from openlineage_pyspark.command.change import (
    JudgedChange,
    annotations_of_change,
    comment_of_change,
    markdown_of_change,
    sarif_of_change,
    text_of_change,
)
from openlineage_pyspark.command.file_state import FileState
from openlineage_pyspark.workbench.questions.changes import ChangeRow, Diff
from openlineage_pyspark.workbench.rebuild.findings import ChangeFinding
from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan, TablePlan

MADE = RebuildPlan((TablePlan("t", "make", "a setting"),))
KEPT = RebuildPlan((TablePlan("t", "keep", "it stays", is_downstream=False),))


@pytest.mark.parametrize(
    ("plan", "first"),
    [
        pytest.param(None, "nothing changed", id="without a plan"),
        pytest.param(KEPT, "nothing changed", id="a plan that makes nothing again"),
        pytest.param(MADE, "no column and no edge is different", id="other rows by the same edges"),
    ],
)
def test_nothing_changed_is_printed_only_where_no_table_is_made_again(plan: RebuildPlan | None, first: str) -> None:
    assert text_of_change(JudgedChange(Diff((), ()), plan, ())).splitlines()[0] == first


UNMASKED = "a.mail -> c.who: the value is no longer masked; it was masked in c before"
CHANGE = JudgedChange(
    Diff((ChangeRow("column", "added", "b.x", "", "int"),), ()),
    MADE,
    (
        ChangeFinding("masked-to-unmasked", UNMASKED, "jobs/n.ipynb[4]", 2, is_edge=False),
        ChangeFinding("rebuild", "t must be rebuilt: a setting", "sql/a.sql", 3),
    ),
)


def test_a_value_that_is_unmasked_through_several_statements_is_printed_first() -> None:
    assert text_of_change(CHANGE).splitlines()[:2] == [f"! {UNMASKED}", "+ column b.x: int"]


def test_a_value_that_is_unmasked_is_first_in_markdown_and_the_plan_is_below_the_changes() -> None:
    lines = markdown_of_change(CHANGE, FileState(())).splitlines()
    assert lines[0] == f"- **masked to unmasked** `jobs/n.ipynb[4]:2` `{UNMASKED}`"
    assert lines.index("| added | column | `b.x` |  | `int` |") < lines.index("**Rebuild plan**: 1 table to rebuild.")


def test_a_finding_in_a_cell_of_a_notebook_is_shown_in_the_file_of_the_notebook() -> None:
    assert annotations_of_change(CHANGE).splitlines() == [
        "::error file=jobs/n.ipynb,line=1,col=1,title=masked-to-unmasked::cell 4, line 2: " + UNMASKED,
        "::notice file=sql/a.sql,line=3,col=1,title=rebuild::t must be rebuilt: a setting",
    ]
    (run,) = json.loads(sarif_of_change(CHANGE, FileState(())))["runs"]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert [(each["artifactLocation"]["uri"], each["region"]["startLine"]) for each in places] == [
        ("jobs/n.ipynb", 1),
        ("sql/a.sql", 3),
    ]
    assert run["results"][0]["message"]["text"] == f"cell 4, line 2: {UNMASKED}"


def test_a_comment_is_cut_at_the_end_of_a_line_before_it_is_longer_than_github_accepts() -> None:
    rows = tuple(ChangeRow("column", "added", f"b.{'x' * 90}{at}", "", "int") for at in range(1000))
    long = comment_of_change(JudgedChange(Diff(rows, ()), None, CHANGE.findings), FileState(()), lambda: "graph")
    lines = long.splitlines()
    assert 59_000 < len(long) < 61_000
    assert lines[1] == "**1 value no longer masked; 1,000 changes of lineage.**"
    shown = sum(line.startswith("| added |") for line in lines)
    left = f"**{1000 - shown} more lines**"
    assert lines[-1] == f"{left}: they do not fit into a comment, `--format markdown` prints them."
