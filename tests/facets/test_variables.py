"""Variables of SQL: what reads one has the sources of what it was set to.

The plans in variable_plans.json are what the probe encoded of the statements that `STATEMENTS` has, on Spark 4.3.0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import EarlierPlans, PlanLineage
from openlineage_pyspark.listener.analyses import Analyses
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.listener.probe.records import parse

PLANS = json.loads(Path(__file__).with_name("variable_plans.json").read_text("utf-8"))
STATEMENTS = {
    "declare": "DECLARE OR REPLACE VARIABLE most INT DEFAULT 3",
    "set": "SET VAR most = (SELECT max(pay) FROM secret WHERE team > 1)",
    "raise": "SET VAR most = most + 1",
    "default": "SET VAR most = DEFAULT",
    "declare other": "DECLARE OR REPLACE VARIABLE other INT DEFAULT 1",
    "set both": "SET VAR (most, other) = (SELECT max(pay), min(team) FROM secret)",
    "read": "SELECT name, most + 1 AS pay FROM open WHERE age > most",
    "read other": "SELECT other FROM open",
    "drop": "DROP TEMPORARY VARIABLE other",
}
UNKNOWN = "the sources of the variable session.most are unknown"


def after(*statements: str) -> PlanLineage:
    """Return the lineage of the last of some statements, which follow each other."""
    known, found = {}, PlanLineage()
    for statement in statements:
        plan = decode_plan(PLANS[statement])
        found = lineage_of_plan(plan, Session("file:/warehouse"), EarlierPlans(variables=known))
        known.update(found.variables)
    return found


def words(found: PlanLineage) -> tuple[dict[str, list[str]], list[str], list[str], list[str]]:
    """Return the edges of each column and of all rows, the inputs, and the remarks."""

    def said(edges) -> list[str]:
        named = ((e, e.dataset.name.rpartition("/")[2]) for e in edges)
        return sorted(f"{table}.{e.field} {t.subtype}" for e, table in named for t in e.transformations)

    columns = {column.name: said(column.edges) for column in found.columns.columns}
    inputs = sorted(dataset.identifier.name.rpartition("/")[2] for dataset in found.inputs)
    return columns, said(found.columns.dataset), inputs, [gap.message for gap in found.gaps]


SET = (
    {"name": ["open.name IDENTITY"], "pay": ["secret.pay AGGREGATION", "secret.team FILTER"]},
    ["open.age FILTER", "secret.pay FILTER", "secret.team FILTER"],
    ["open", "secret"],
    [],
)
CONSTANT = ({"name": ["open.name IDENTITY"], "pay": []}, ["open.age FILTER"], ["open"], [])


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (("declare", "set"), SET),
        (("set",), SET),
        (("declare", "set", "raise", "raise"), SET),
        (("declare",), CONSTANT),
        (("set", "default"), CONSTANT),
        (("set", "declare"), CONSTANT),
        ((), (*CONSTANT[:3], [UNKNOWN])),
        (("declare other",), (*CONSTANT[:3], [UNKNOWN])),
    ],
)
def test_a_query_of_a_variable_has_the_sources_of_what_it_was_set_to_last(before, expected) -> None:
    assert words(after(*before, "read")) == expected


def test_each_of_several_variables_has_the_sources_of_its_own_column() -> None:
    assert words(after("set both", "read other"))[0] == {"other": ["secret.team AGGREGATION"]}
    assert words(after("set both", "read"))[0]["pay"] == ["secret.pay AGGREGATION"]


def test_a_variable_that_a_cursor_has_filled_is_a_gap() -> None:
    """A FETCH has target variables as a SET has them, and only the name of the cursor instead of a query."""
    plan = decode_plan(PLANS["set"])
    name = "org.apache.spark.sql.catalyst.plans.logical.FetchCursor"
    top = plan.top._replace(
        name="FetchCursor", class_name=name, children=(), arguments={**plan.top.arguments, "sourceQuery": None}
    )
    operators = list(plan.operators)
    operators[plan.root] = top
    fetch = lineage_of_plan(attrs.evolve(plan, operators=tuple(operators)), Session("file:/warehouse"), EarlierPlans())
    assert (fetch.outputs, fetch.quiet, fetch.unnamed) == ((), True, False)
    known = {**after("declare").variables, **fetch.variables}
    read = lineage_of_plan(decode_plan(PLANS["read"]), Session("file:/warehouse"), EarlierPlans(variables=known))
    assert words(read) == (*CONSTANT[:3], [UNKNOWN])


def test_a_statement_about_variables_writes_no_dataset() -> None:
    for statement in ("declare", "set", "raise", "default", "set both", "drop"):
        found = after(statement)
        assert (found.outputs, found.quiet, found.unnamed) == ((), True, False)


def step(kind: str, id_: int, plan: str | None = None, **more: Any) -> Any:
    record = {
        "k": kind,
        "id": id_,
        "root": id_,
        "time": 1_700_000_000_000,
        "command": True,
        "class": "x",
        "sql": "",
        **more,
    }
    if plan is not None:
        record["plan"] = {**PLANS[plan]}
    return parse(json.dumps(record))


@pytest.mark.parametrize("failing", ["", "set"])
def test_a_statement_that_fails_sets_nothing(failing: str) -> None:
    analyses = Analyses(None, Guard())
    for id_, statement in enumerate(("declare", "set")):
        analyses.of(step("start", id_, statement), wanted=True)
        failed = statement == failing
        error: dict[str, Any] = (
            {"error": {"message": "no", "stack": "", "class": "java.lang.RuntimeException"}} if failed else {}
        )
        analyses.of(step("end", id_, metrics=[], **error), wanted=False)
    found = analyses.of(step("start", 9, "read", command=False), wanted=True)
    assert found is not None
    assert words(found) == (CONSTANT if failing else SET)
