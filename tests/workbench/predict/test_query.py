"""A query whose plan was kept: its lineage needs no Spark, and leaves Python's search for cycles as it was."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.workbench.predict import query
from openlineage_pyspark.workbench.predict.query import lineage_of_query
from support import recorded_plans

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _search_is_on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether the search for cycles was on each time that a plan was traced."""
    seen: list[bool] = []
    trace = query.lineage_of_plan

    def traced(*args: object, **options: object) -> object:
        seen.append(gc.isenabled())
        return trace(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(query, "lineage_of_plan", traced)
    return seen


def a_query() -> EncodedQuery:
    """Return a query from a recorded plan."""
    return EncodedQuery(json.dumps(next(iter(recorded_plans.read("4.3", "composed").values()))))


def test_the_search_for_cycles_is_off_while_a_plan_is_traced_and_then_on_again(during: list[bool]) -> None:
    lineage_of_query(a_query())
    assert (during, gc.isenabled()) == ([False], True)


def test_the_search_for_cycles_is_on_again_after_a_plan_that_can_not_be_read(during: list[bool]) -> None:
    with pytest.raises(KeyError, match="classes"):
        lineage_of_query(EncodedQuery("{}"))
    assert (during, gc.isenabled()) == ([], True)


def test_the_search_for_cycles_stays_off_if_the_user_has_turned_it_off(during: list[bool]) -> None:
    gc.disable()
    lineage_of_query(a_query())
    assert (during, gc.isenabled()) == ([False], False)


@pytest.mark.slow
def test_a_traced_plan_and_its_lineage_leave_no_cycle() -> None:
    """In a process of its own: here the search would also find what other tests have left."""
    code = """
import gc, sys
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.workbench.predict.query import lineage_of_query
plan = sys.stdin.read()
lineage_of_query(EncodedQuery(plan))
gc.collect()
gc.set_debug(gc.DEBUG_SAVEALL)
found = lineage_of_query(EncodedQuery(plan))
del found
gc.collect()
print([type(each).__name__ for each in gc.garbage])
"""
    plan = json.dumps(next(iter(recorded_plans.read("4.3", "composed").values())))
    done = subprocess.run([sys.executable, "-c", code], input=plan, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
