"""Each operator and expression has the lineage that is true of it: all edges and no others.

The cases stand in cases/*.yaml, one list a theme, over the tables of tables.yaml:

- id: unique
  states: what the case shows, as a sentence
  setup: statements that come before, as views
  sql: one statement
  python: in its place, a snippet that leaves a DataFrame or a statement in `query`; it has `spark`, `F`, `Window`
  columns: every output column in its order, each with all its edges, "table.column KIND" and "masked" after it
  rows: the edges that decide about all rows
  texts: the composed texts of columns, and of "(every row)"; those of the steps are not told
  reads: datasets that are read without an edge
  remarks: what is not known
  output: the dataset that is written; absent for a query
  outputs: in place of columns, rows and output: several datasets that are written, each with its columns and rows
  min_spark: the first Spark version that knows the syntax
  varies: by Spark version, why its plan is not the same each time; such a plan is recorded once, and not compared
"""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark import lineage
from openlineage_pyspark.listener.analyze import analyzed_plan
from openlineage_pyspark.listener.probe.client import Probe
from openlineage_pyspark.listener.probe.limits import ProbeLimits
from support import cases, recorded_plans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

CASES = cases.all_cases()
THEMES = sorted({case.theme for case in CASES})


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> cases.Case:
    """Give each case: pytest runs all tests of one before those of the next, so each is prepared once."""
    found: cases.Case = request.param
    return found


@pytest.fixture(scope="module")
def query(
    session: SparkSession, case: cases.Case, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SparkSession, str | DataFrame]:
    """Give a session of the case's own, prepared, and what the case asks."""
    from pyspark.sql import Window, functions

    if not case.runs_on(session.version):
        pytest.skip(f"Spark {session.version} doesn't know the syntax: it came with {case.content['min_spark']}")
    spark = session.newSession()
    for statement in case.content.get("setup", []):
        spark.sql(statement)
    if "sql" in case.content:
        return spark, case.content["sql"]
    snippet = tmp_path_factory.mktemp("case") / "snippet.py"
    snippet.write_text(case.content["python"], encoding="utf-8")
    scope = {"spark": spark, "F": functions, "Window": Window}
    return spark, runpy.run_path(str(snippet), scope, "__main__")["query"]


@pytest.fixture(scope="module")
def encode(session: SparkSession) -> Callable[[SparkSession, Any], str]:
    """Give what encodes a plan as the listener's probe does."""
    probe = Probe(session.sparkContext._gateway, ProbeLimits())
    return lambda spark, query: probe.encode(analyzed_plan(spark, query), spark._jsparkSession)


@pytest.fixture(scope="module")
def recording(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[dict[str, dict[str, Any]]]:
    """Give the plans recorded on this version of Spark, by theme and case; `--regold` writes what they became."""
    recorded = {theme: recorded_plans.read(session.version, theme) for theme in THEMES}
    yield recorded
    if request.config.getoption("--regold"):
        for theme, plans in recorded.items():
            there = [case.id for case in CASES if case.theme == theme]
            recorded_plans.write(session.version, theme, {id_: plans[id_] for id_ in there if id_ in plans})


def test_every_edge_of_a_case_is_found_and_no_other(
    case: cases.Case, query: tuple[SparkSession, str | DataFrame]
) -> None:
    """Sources, kinds, masking, what decides about rows, and the datasets that are read and written."""
    assert cases.comparable(lineage(*query)) == case.expected()


def test_the_probe_sends_the_plan_that_is_recorded(
    case: cases.Case,
    query: tuple[SparkSession, str | DataFrame],
    encode: Callable[[SparkSession, Any], str],
    recording: dict[str, dict[str, Any]],
    request: pytest.FixtureRequest,
) -> None:
    """What `test_recorded_plans` shows without a Spark is true of this one; `--regold` records anew."""
    plan = recorded_plans.normalised(encode(*query))
    recorded = recording[case.theme].get(case.id)
    varies = case.content.get("varies", {}).get(query[0].version[:3])
    if request.config.getoption("--regold") and (varies is None or recorded is None):
        recording[case.theme][case.id] = plan
    if not any(recording.values()):
        pytest.skip("no plans are recorded of this version of Spark: --regold records them")
    if varies is not None:
        pytest.skip(f"this plan is not the same each time: {varies}")
    assert plan == recording[case.theme].get(case.id)
