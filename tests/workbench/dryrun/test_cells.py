"""What a failing cell of a notebook leaves unknown."""

from __future__ import annotations

import ast

import pytest
from openlineage_pyspark.workbench.dryrun.script.cells import cells_of, may_change

CELLS = """\
# Databricks notebook source
import os.path as paths, json
rate: int = 2
# COMMAND ----------
def scale(x):
    total = x
    return total
orders.createOrReplaceTempView("v")
settings["k"] = max(names)
# COMMAND ----------
%s
"""


@pytest.mark.parametrize("begins", [(), (1, 4, 10)])
def test_a_cell_says_what_it_may_define_and_change(begins: tuple[int, ...]) -> None:
    text = CELLS % "x = 1"
    first, second, last = cells_of(ast.parse(text), text, begins)
    assert [sorted(each) for each in (first.defined, first.changed, first.views)] == [["json", "paths", "rate"], [], []]
    assert [sorted(each) for each in (second.defined, second.changed, second.views)] == [
        ["scale", "total"],
        ["names", "orders", "settings"],
        ["k", "v"],
    ]
    assert (sorted(last.defined), last.is_known) == (["x"], True)


@pytest.mark.parametrize(
    "line", ["_run_notebook('./other')", "spark.sql('USE sales')", "spark.catalog.setCurrentDatabase(db)", "exec(text)"]
)
def test_what_changes_all_that_follows_is_not_known(line: str) -> None:
    text = CELLS % line
    assert [each.is_known for each in cells_of(ast.parse(text), text, ())] == [True, True, False]


def test_a_call_changes_lists_and_the_users_objects_and_no_frame() -> None:
    frame = type("DataFrame", (type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"}),), {})()
    assert [may_change(each) for each in ([], {}, object(), frame, "a", 1, None, ast, cells_of)] == [True] * 3 + [
        False
    ] * 6
