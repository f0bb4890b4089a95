"""The queries of TPC-DS and TPC-H as CREATE TABLE AS SELECT, run on empty tables under the listener."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from openlineage_pyspark import lineage, register
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.answer import answer_of_graph, schema
from openlineage_pyspark.workbench.page.html import page_of
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.store_api import Store
from support import browser
from support.flat_edges import flat, flat_of
from support.lineage_events import taken
from support.spark_jobs import SPARK_VERSION
from support.surfaces import SURFACES, Told

if TYPE_CHECKING:
    from types import ModuleType

    from openlineage_pyspark import Lineage
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.any_spark

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


@pytest.fixture(scope="module", params=[pytest.param("tpcds", marks=pytest.mark.long), "tpch"])
def runs(request: pytest.FixtureRequest, process_jvm: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run each query as CTAS; give by query the events of its run, and the lineage that was asked for before it ran."""
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
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={work}")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    module.create(spark, database=request.param)
    spark.sql(f"USE {request.param}")
    file = work / "events.ndjson"
    handle = register(
        spark, {"spark.openlineage.transport.type": "file", "spark.openlineage.transport.location": str(file)}
    )
    asked = {name: lineage(spark, sql) for name, sql in module.queries()}
    widths = {name: len(found.outputs[0][1].columns) for name, found in asked.items()}
    statements = {name: module.as_ctas(sql, f"out_{name}", widths[name]) for name, sql in module.queries()}
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


def _pairs(found: Lineage) -> set[tuple[str, str, str, str]]:
    """Return the edges of a lineage: column, table without its database, source column, and how."""
    return {
        ((edge.column or "").lower(), (edge.source_table or "").rpartition(".")[2], edge.source_column, edge.subtype)
        for edge in flat(found)
    }


def test_the_texts_of_the_queries_have_no_edge_that_spark_does_not_have(runs: dict[str, Any]) -> None:
    """Nothing is declared: what one query proves of a table helps the others."""
    refusal = Refusal("TABLE_OR_VIEW_NOT_FOUND", "no", {"relationName": "t"})
    answers = [
        StatementAnswer(statement, Analyzed("Project", refusal=refusal))
        for name, sql in _benchmark(runs["name"]).queries()
        for statement in statements_of(sql, name)
    ]
    told = {each.statement.file: each.lineage for each in lineage_of_answers(answers, ())}
    both = every = 0
    for name, asked in runs["asked"].items():
        lineage_of_text = told[name]
        assert lineage_of_text is not None
        # A column without a name has one of Spark's own, which the text does not tell.
        found = {each for each in _pairs(lineage_of_text) if not re.fullmatch(r"_c\d+", each[0])}
        expected = _pairs(asked)
        assert found - expected == set(), name
        both, every = both + len(found), every + len(expected)
    # The others are of names without a table, which several tables of a join may have.
    assert both / every > 0.2


@pytest.mark.long
def test_a_file_of_the_queries_has_the_lineage_of_the_run(runs: dict[str, Any], tmp_path: Path) -> None:
    """Column by column, edge by edge; the larger benchmark on demand."""
    if runs["name"] == "tpcds" and os.environ.get("SAME_ANSWERS") != "all":
        pytest.skip("SAME_ANSWERS=all asks all queries")
    module = _benchmark(runs["name"])
    tables = module.schema()
    ddl = [f"CREATE TABLE {name} ({', '.join(map(' '.join, columns))})" for name, columns in tables.items()]
    queries = {name: sql for name, sql in module.queries() if runs["events"][name]}
    columns = {
        name: len(events[-1]["outputs"][0]["facets"]["schema"]["fields"]) for name, events in runs["events"].items()
    }
    statements = [module.as_ctas(sql, f"out_{name}", columns[name]) for name, sql in queries.items()]
    (tmp_path / "ddl.sql").write_text(";\n".join(ddl), "utf-8")
    (tmp_path / "queries.sql").write_text(";\n".join(statements), "utf-8")
    command = [sys.executable, "-m", "openlineage_pyspark", "lineage", "queries.sql", "--ddl", "ddl.sql"]
    done = subprocess.run([*command, "--format", "json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, set[tuple[str, ...]]] = {}
    for statement in json.loads(done.stdout)["result"]["statements"]:
        for edge in flat_of(statement["lineage"]):
            source = (edge.source.rpartition(".")[2], edge.source_column)
            how = (edge.type, edge.subtype, str(edge.masking))
            query = str(edge.output).rpartition(".out_")[2]
            found.setdefault(query, set()).add((edge.column or "", *source, *how))
    expected = {name: _edges_of(events[-1]) for name, events in runs["events"].items() if events}
    assert found == {name: edges for name, edges in expected.items() if edges}


def _edges_of(event: dict[str, Any]) -> set[tuple[str, ...]]:
    """Return the edges of an event, without the places of the tables."""
    facet = event["outputs"][0]["facets"]["columnLineage"]
    fields = {"": facet.get("dataset", []), **{name: field["inputFields"] for name, field in facet["fields"].items()}}
    return {
        (name, each["name"].rpartition("/")[2], each["field"], t["type"], t["subtype"], str(t["masking"]))
        for name, sources in fields.items()
        for each in sources
        for t in each["transformations"]
    }


def test_nothing_in_any_plan_is_unknown(runs: dict[str, Any]) -> None:
    """No operator without a rule, no relation without a resolver."""
    messages = {
        name: error["errorMessage"]
        for name, events in runs["events"].items()
        for event in events
        for error in event["run"]["facets"].get("extractionError", {"errors": ()})["errors"]
    }
    # Spark 3.5 puts the common table expressions of a statement that writes in the place of each use of them.
    limit = "more than 16 paths of one kind lead from c_customer_id of "
    limited = {name for name, message in messages.items() if message.startswith(limit)}
    assert limited == ({"q4"} if SPARK_VERSION < "4" and "q4" in runs["events"] else set())
    assert messages.keys() - limited == set()


def test_every_event_is_valid(runs: dict[str, Any], violations: Any, specification: Any) -> None:
    """The JSON Schemas say what is right, and rules that a schema can't express."""
    events = [event for events in runs["events"].values() for event in events]

    assert violations(events) == []
    assert specification.violations(events) == []


def _of_each_shape(document: dict[str, Any]) -> dict[str, Any]:
    """Return a graph with one node and one edge of each shape: all others say the same to the schema."""
    some = {
        part: list({(*each, str(each.get("type"))): each for each in document[part]}.values())
        for part in ("nodes", "edges")
    }
    return {**document, **some}


def test_each_edge_of_each_graph_names_the_operators_from_its_source_to_its_sink(runs: dict[str, Any]) -> None:
    """And each graph's JSON is as its schema says."""
    validator = jsonschema.Draft202012Validator(schema())
    wrong = []
    for name, found in runs["asked"].items():
        answer = answer_of_graph(found.graph()).to_dict()
        document = answer["result"]
        columns = dict(re.findall(r"^ *(?:in a subquery: )?(\S+#\d+) \[(.*)\]$", found.plan, re.MULTILINE))
        sink = next(iter(columns))
        ids = [node["id"] for node in document["nodes"]]
        ends = {end for edge in document["edges"] for end in (edge["source"], edge["target"])}
        wrong += [
            f"{name}: {error.message}"
            for error in validator.iter_errors({**answer, "result": _of_each_shape(document)})
        ]
        wrong += [f"{name}: {id_}" for id_ in ends - set(ids)]
        for edge in document["edges"]:
            field = edge["source"].rpartition("|")[2]
            steps = [step["operator"] for step in edge["paths"][0]["steps"] if "operator" in step]
            path = list(dict.fromkeys(steps))
            if field not in columns[path[0]].split(", ") or path[-1] != sink or len(path) != len(set(path)):
                wrong.append(f"{name}: {edge}")
        assert len(ids) == len(set(ids))
        assert {edge["certainty"] for edge in document["edges"]} <= {"exact"}
    assert wrong == []


def test_each_surface_tells_the_edges_that_the_events_state(runs: dict[str, Any], tmp_path: Path) -> None:
    """A run that failed has changed nothing."""
    told = Told([event for name in runs["events"].keys() - runs["failed"] for event in runs["events"][name]], tmp_path)

    wrong = {}
    for surface in SURFACES:
        found = surface(told)
        wrong[surface.__name__] = {*(told.stated - found), *(found - told.stated)}
    assert wrong == {surface.__name__: set() for surface in SURFACES}


@pytest.mark.browser
def test_the_page_shows_the_queries_without_an_error(runs: dict[str, Any], tmp_path: Path) -> None:
    """All in one page; with the variable TPC_PAGES also each alone, with the parts of its statement."""
    if browser.found() is None:
        pytest.skip("there is no Chromium, or no chromedriver: apt-get install chromium-driver")
    taken(tmp_path / "store.db", [event for events in runs["events"].values() for event in events])
    with Store.open(tmp_path / "store.db") as store:
        pages = {"all": page_of(store.graph().result)}
    asked: dict[str, Lineage] = runs["asked"] if os.environ.get("TPC_PAGES") else {}
    pages |= {name: page_of(found.graph()) for name, found in asked.items()}
    wrong = {}
    with browser.started(tmp_path) as chrome:
        for name, text in pages.items():
            path = tmp_path / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            chrome.get(f"{path.as_uri()}#parts=1")
            chrome.execute_async_script(browser.FRAMES)
            shown = chrome.execute_script("return document.querySelectorAll('#canvas .box').length")
            if said := [entry["message"] for entry in chrome.get_log("browser")] or not shown:
                wrong[name] = said
    assert wrong == {}
