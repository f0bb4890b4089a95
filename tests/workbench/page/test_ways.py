"""How a value gets to its target, in a real browser: operators, steps, certainty, and the parts of a statement."""

from __future__ import annotations

import re

import pytest
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    OperatorColumn,
    OperatorNode,
    Step,
    steps_of,
)
from support.lineage_paths import path

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SOURCE, TARGET = DatasetNode("n", "orders", "orders"), DatasetNode("", "(query)", "(query)")
AMOUNT, TOTAL, NAME = ColumnNode(SOURCE.id, "amount"), ColumnNode(TARGET.id, "total"), ColumnNode(TARGET.id, "name")
PATH = ("LogicalRelation#4", "View#3", "SubqueryAlias#2", "Aggregate#1", "Project#0")
SUMMED = (
    Step("Aggregate#1", "sum(amount)", call_site="jobs/daily.py:12"),
    Step("Project#0", "f(x.s)", certainty="opaque"),
)
RELATIONS = (Step("View#3", relation="v", column="amount"), Step("SubqueryAlias#2", relation="x", column="a"))


# Points of a path are absolute: each line has one at the right side of the box.
_HEIGHTS = """
const found = [];
for (const path of document.querySelectorAll('#canvas .edge')) {
  const matrix = path.getScreenCTM();
  const points = path.getAttribute('d').split(/[A-Z ]/).map((pair) => pair.split(',').map(Number));
  for (const [x, y] of points) {
    const point = new DOMPoint(x, y).matrixTransform(matrix);
    if (Math.abs(point.x - arguments[0]) < 2) { found.push(point.y); break; }
  }
}
return found;
"""


def statement() -> Graph:
    """Return the graph of a query over a view and a CTE. Nothing runs it, so it has no job."""
    edges = (
        Edge(
            AMOUNT.id,
            TOTAL.id,
            (
                path("AGGREGATION", "s", steps=(PATH[0], *RELATIONS, *PATH[3:])),
                path("TRANSFORMATION", certainty="opaque", steps=steps_of(PATH, SUMMED)),
            ),
        ),
        Edge(AMOUNT.id, NAME.id, (path("TRANSFORMATION", certainty="opaque", steps=PATH[:1]),)),
    )
    columns = (OperatorColumn("other"), OperatorColumn("a", "bigint"))
    parts = (OperatorNode("", 3, "View", "VIEW", "v"), OperatorNode("", 2, "SubqueryAlias", "CTE", "x", columns))
    return Graph((SOURCE, TARGET, AMOUNT, TOTAL, NAME, *parts, OperatorNode("", 1, "Aggregate")), edges)


def lines(seen) -> int:
    return seen.script("return document.querySelectorAll('#canvas .edge').length")


def test_a_statement_that_is_no_job_stands_between_what_it_reads_and_gives(seen):
    seen.open(statement(), "#focus=orders&depth=1")

    assert (seen.tables, seen.jobs) == (["(query)", "orders"], [])
    left, right = (seen.rectangle(f'#canvas [aria-label="Table {name}"]')[0] for name in ("orders", "(query)"))
    assert left < right


def test_the_surest_edge_is_shown_and_the_others_on_demand(seen):
    seen.open(statement(), "#lit=%28query%29.total&focus=orders")
    assert "computed from several rows" in seen.panel
    assert "1 less certain" in seen.panel
    assert not re.search(r"^computed$", seen.panel, re.MULTILINE)

    seen.script("document.querySelector('#panel details.rest').open = true")
    assert re.search(r"^computed$", seen.panel, re.MULTILINE)
    assert "opaque: It passes code that can't be read: Project#0." in seen.panel


def test_each_edge_names_its_operators_and_what_each_of_them_does(seen):
    seen.open(statement(), "#lit=%28query%29.total&focus=orders")
    assert " > ".join(PATH) in seen.panel
    assert "jobs/daily.py:12" not in seen.panel

    seen.script("document.querySelectorAll('#panel details').forEach((each) => { each.open = true; })")
    steps = seen.script("return [...document.querySelectorAll('#panel ol li')].map((each) => each.innerText)")
    assert [" ".join(step.split()) for step in steps] == [
        "Aggregate#1 jobs/daily.py:12 sum(amount)",
        "Project#0opaque f(x.s)",
    ]
    assert "exact: It was read from the plan." in seen.panel


def test_uncertain_edges_can_be_hidden(seen):
    seen.open(statement())
    assert lines(seen) == 3
    seen.script("document.getElementById('uncertain').click()")
    assert (lines(seen.settled()), seen.address) == (1, "#uncertain=0")


def test_the_parts_of_a_statement_are_shown_or_folded(seen):
    seen.open(statement())
    assert seen.all("#canvas .part") == []
    seen.script("document.getElementById('parts').click()")

    assert seen.settled().all("#canvas .part") == ["CTE x", "View v"]
    labels = ("Table orders", "View v", "CTE x", "Table (query)")
    places = [seen.rectangle(f'#canvas [aria-label="{label}"]')[0] for label in labels]
    assert places == sorted(places)
    assert seen.address == "#parts=1"
    seen.click_on("Column", "orders.amount")
    assert seen.script("return document.querySelectorAll('#canvas .part.lit').length") == 2

    seen.script("document.getElementById('parts').click()")
    assert seen.settled().all("#canvas .part") == []


def test_a_page_that_was_made_unfolded_begins_so_and_an_address_says_otherwise(seen):
    seen.open(statement(), unfold=True)
    assert (seen.all("#canvas .part"), seen.address) == (["CTE x", "View v"], "#parts=1")

    seen.script("document.getElementById('parts').click()")
    assert (seen.settled().all("#canvas .part"), seen.address) == ([], "#parts=0")
    seen.open(statement(), "#parts=0", unfold=True)
    assert seen.all("#canvas .part") == []


def test_a_cte_shows_its_columns_and_lines_pass_the_one_through_which_the_value_comes(seen):
    seen.open(statement(), "#parts=1")
    assert seen.script("return [...document.querySelectorAll('#canvas .part .row')].map((e) => e.ariaLabel)") == [
        "Column x.other",
        "Column x.a bigint",
    ]
    x, y, width, height = seen.rectangle('#canvas [aria-label="Column x.a bigint"]')
    middle = y + height / 2
    # Of each line, the height at which it leaves the box of the CTE.
    heights = seen.script(_HEIGHTS, x + width)
    assert [abs(each - middle) < 1 for each in heights].count(True) == 1

    seen.click_on("Column", "x.a")
    assert seen.lit == ["(query).total", "orders.amount", "x.a"]
    assert "Column x.a" in seen.panel
    assert "orders.amount → (query).total" in " ".join(seen.panel.split())
    assert seen.address == "#lit=operator%7C%7CSubqueryAlias%232%7Ca&parts=1"
    seen.go("#lit=operator%7C%7CSubqueryAlias%232%7Ca")
    assert seen.lit == ["(query).total", "orders.amount", "x.a"]


def test_an_edge_names_the_columns_of_ctes_on_its_way_and_leads_to_them(seen):
    seen.open(statement(), "#lit=%28query%29.total&focus=orders")
    assert "through x.a" in seen.panel

    seen.click('#panel .through [data-go="operator||SubqueryAlias#2|a"]')
    assert seen.all("#canvas .part") == ["CTE x", "View v"]
    assert "x.a" in seen.lit


def test_the_columns_of_a_cte_are_folded(seen):
    seen.open(statement(), "#parts=1").click('#canvas .part [data-fold="operator||SubqueryAlias#2"]')

    assert seen.all("#canvas .part .row") == []
    assert lines(seen) == 3


def test_where_no_statement_has_parts_there_is_nothing_to_fold(seen, first):
    assert seen.open(first).script("return document.getElementById('parts').closest('label').hidden") is True
