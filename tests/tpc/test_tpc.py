"""The queries of TPC-DS and TPC-H as CREATE TABLE AS SELECT, run on empty tables under the listener."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from openlineage_pyspark import lineage, register
from openlineage_pyspark.graph.model import schema
from openlineage_pyspark.page.html import page_of
from openlineage_pyspark.store.answers import Store
from support import browser
from support.lineage_events import taken
from support.spark_jobs import QUICK

if TYPE_CHECKING:
    from types import ModuleType

    from openlineage_pyspark import Lineage
    from pyspark.sql import SparkSession

SHARED = Path(__file__).parents[3] / "shared"
DIVIDES_BY_ZERO = {"q90"}
"""On empty tables it divides a count by a count: under ANSI, the default of Spark 4, a failure."""


def _benchmark(name: str) -> ModuleType:
    source = SHARED / name / "create_tables.py"
    if not source.is_file():
        pytest.skip(f"the {name} tables and queries are not there: ../shared/{name} beside the repository")
    spec = importlib.util.spec_from_file_location(f"create_{name}_tables", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _fails(spark: SparkSession, statement: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        spark.sql(statement)
    except PySparkException:
        return True
    return False


@pytest.fixture(scope="module", params=["tpcds", "tpch"])
def runs(request: pytest.FixtureRequest, real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run each query as CTAS; give by query the events of its run, and the lineage that was asked for before."""
    from pyspark.sql import SparkSession

    module = _benchmark(request.param)
    work = tmp_path_factory.mktemp(request.param)
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("tpc")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        .config("spark.sql.legacy.createHiveTableByDefault", "false")
        .config("spark.driver.extraJavaOptions", f"{QUICK['spark.driver.extraJavaOptions']} -Dderby.system.home={work}")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    module.create(spark, database=request.param)
    spark.sql(f"USE {request.param}")
    file = work / "events.ndjson"
    handle = register(
        spark, {"spark.openlineage.transport.type": "file", "spark.openlineage.transport.location": str(file)}
    )
    statements = {
        name: module.as_ctas(sql, f"out_{name}", len(spark.sql(sql).columns)) for name, sql in module.queries()
    }
    asked = {name: lineage(spark, statement) for name, statement in statements.items()}
    failed = {name for name, statement in statements.items() if _fails(spark, statement)}
    handle.close()
    spark.stop()
    by_query: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in module.queries()}
    for line in file.read_text().splitlines():
        event = json.loads(line)
        for output in event["outputs"]:
            by_query[output["name"].rpartition("/out_")[2]].append(event)
    return {"events": by_query, "failed": failed, "name": request.param, "asked": asked}


def test_every_query_is_one_run_that_ends_as_the_statement_did(runs: dict[str, Any]) -> None:
    """A START and one terminal event; a query that failed is shown as failed."""
    ended = {name: [event["eventType"] for event in events] for name, events in runs["events"].items()}

    assert ended == {name: ["START", "FAIL" if name in runs["failed"] else "COMPLETE"] for name in ended}
    assert runs["failed"] <= DIVIDES_BY_ZERO


def test_every_output_column_has_its_lineage(runs: dict[str, Any], golden: Any) -> None:
    """Only what counts rows, names a constant or numbers a grouping has no source; the golden file lists them."""
    without: dict[str, list[str]] = {}
    for name, events in runs["events"].items():
        for event in events:
            facets = event["outputs"][0]["facets"]
            fields = facets["columnLineage"]["fields"]
            columns = [field["name"] for field in facets["schema"]["fields"]]
            assert [column for column in columns if column not in fields] == [], name
            without[name] = sorted(c for c in columns if not fields[c]["inputFields"])

    listed = {name: columns for name, columns in without.items() if columns}
    golden(f"tpc/{runs['name']}_columns_without_source.json", json.dumps(listed, indent=1, sort_keys=True) + "\n")


def test_nothing_in_any_plan_is_unknown(runs: dict[str, Any]) -> None:
    """No operator without a rule, no relation without a resolver."""
    unknown = {
        name: event["run"]["facets"]["extractionError"]
        for name, events in runs["events"].items()
        for event in events
        if "extractionError" in event["run"]["facets"]
    }

    assert unknown == {}


def test_every_event_is_valid(runs: dict[str, Any], violations: Any, specification: Any) -> None:
    """By the JSON Schemas and by the rules that they can't say."""
    events = [event for events in runs["events"].values() for event in events]

    assert violations(events) == []
    assert specification.violations(events) == []


def test_each_edge_of_each_graph_names_the_operators_from_its_source_to_its_sink(runs: dict[str, Any]) -> None:
    """And each graph's JSON is as its schema says."""
    validator = jsonschema.Draft202012Validator(schema())
    wrong = []
    for name, found in runs["asked"].items():
        document = found.graph().to_dict()
        columns = dict(re.findall(r"^ *(?:in a subquery: )?(\S+#\d+) \[(.*)\]$", found.plan, re.MULTILINE))
        sink = next(iter(columns))
        ids = [node["id"] for node in document["nodes"]]
        ends = {end for edge in document["edges"] for end in (edge["from"], edge["to"])}
        wrong += [f"{name}: {error.message}" for error in validator.iter_errors(document)]
        wrong += [f"{name}: {id_}" for id_ in ends - set(ids)]
        for edge in document["edges"]:
            field, path = edge["from"].rpartition("|")[2], edge["operatorPath"]
            if field not in columns[path[0]].split(", ") or path[-1] != sink or len(path) != len(set(path)):
                wrong.append(f"{name}: {edge}")
        assert len(ids) == len(set(ids))
        assert {edge["confidence"] for edge in document["edges"]} <= {1.0}
    assert wrong == []


@pytest.mark.browser
def test_the_page_shows_the_queries_without_an_error(runs: dict[str, Any], tmp_path: Path) -> None:
    """All in one page; with the variable TPC_PAGES also each alone, with the parts of its statement."""
    if browser.found() is None:
        pytest.skip("there is no Chromium, or no chromedriver: apt-get install chromium-driver")
    taken(tmp_path / "store.db", [event for events in runs["events"].values() for event in events])
    with Store.open(tmp_path / "store.db") as store:
        pages = {"all": page_of(store.graph())}
    asked: dict[str, Lineage] = runs["asked"] if os.environ.get("TPC_PAGES") else {}
    pages |= {name: page_of(found.graph()) for name, found in asked.items()}
    wrong = {}
    with browser.started(tmp_path) as chrome:
        for name, text in pages.items():
            path = tmp_path / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            chrome.get(f"{path.as_uri()}#parts=1")
            shown = chrome.execute_script("return document.querySelectorAll('#canvas .box').length")
            if said := [entry["message"] for entry in chrome.get_log("browser")] or not shown:
                wrong[name] = said
    assert wrong == {}
