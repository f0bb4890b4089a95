"""How a value gets to its target, in a real browser: operators, steps, certainty, and the parts of a statement."""

from __future__ import annotations

import pytest
from openlineage_pyspark.graph.model import (
    ColumnNode,
    DatasetNode,
    EdgeKind,
    EdgeStep,
    Graph,
    GraphEdge,
    OperatorNode,
    sure,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SOURCE, TARGET = DatasetNode("n", "orders", "orders"), DatasetNode("", "(query)", "(query)")
AMOUNT, TOTAL, NAME = ColumnNode(SOURCE.id, "amount"), ColumnNode(TARGET.id, "total"), ColumnNode(TARGET.id, "name")
PATH = ("LogicalRelation#4", "View#3", "SubqueryAlias#2", "Aggregate#1", "Project#0")
SUMMED = (
    EdgeStep("Aggregate#1", "sum(amount)", call_site="jobs/daily.py:12"),
    EdgeStep("Project#0", "f(x.s)", "opaque"),
)


def statement() -> Graph:
    """Return the graph of a query over a view and a CTE. Nothing runs it, so it has no job."""
    opaque, exact = sure("opaque", SUMMED), sure("exact")
    edges = (
        GraphEdge(
            AMOUNT.id, TOTAL.id, EdgeKind.AGG, exact, "DIRECT", "AGGREGATION", expression="s", operator_path=PATH
        ),
        GraphEdge(AMOUNT.id, TOTAL.id, EdgeKind.EXTERNAL, opaque, operator_path=PATH, steps=SUMMED),
        GraphEdge(AMOUNT.id, NAME.id, EdgeKind.EXTERNAL, opaque, operator_path=PATH[:1]),
    )
    parts = (OperatorNode("", 3, "View", "VIEW", "v"), OperatorNode("", 2, "SubqueryAlias", "CTE", "x"))
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
    assert "AGG" in seen.panel
    assert "1 less certain" in seen.panel
    assert "EXTERNAL" not in seen.panel

    seen.script("document.querySelector('#panel details.rest').open = true")
    assert "EXTERNAL" in seen.panel
    assert "confidence 0.7: It passes code that can't be read: Project#0." in seen.panel


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
    assert "confidence 1: It was read from the plan." in seen.panel


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


def test_where_no_statement_has_parts_there_is_nothing_to_fold(seen, first):
    assert seen.open(first).script("return document.getElementById('parts').closest('label').hidden") is True
