"""Lineage in a notebook: one is executed, made into HTML, and looked at in a browser as its reader sees it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from support import browser
from support.notebooks import execute, texts

pytestmark = [
    *(pytest.mark.any_spark, pytest.mark.browser, pytest.mark.long),
    pytest.mark.usefixtures("real_spark"),
]

SUM = "SELECT country, sum(amount) AS total FROM orders WHERE id > 0 GROUP BY country"
CELLS = {
    "begin": f"""
from pyspark.sql import SparkSession
from openlineage_pyspark import Store, lineage, register
spark = SparkSession.builder.appName("notebook").getOrCreate()
spark.sql("CREATE TABLE orders (id BIGINT, country STRING, amount DOUBLE, `<i>` INT) USING parquet")
spark.sql("INSERT INTO orders VALUES (1, 'CH', 2.5, 0)")
jobs = spark.sparkContext.statusTracker().getJobIdsForGroup()
sql = "{SUM}"
""",
    "a statement": "lineage(spark, 'CREATE TABLE totals USING parquet AS ' + sql)",
    "the extension": "%load_ext openlineage_pyspark",
    "a cell of SQL": f"%%lineage\n{SUM};",
    "a DataFrame": "df = spark.table('orders').selectExpr('upper(country) AS `<b>land</b>`', '`<i>`')\n%lineage df",
    "an expression": "%lineage df.limit(3)",
    "a line of SQL": "%lineage SELECT max(amount) AS `{sql}` FROM orders",
    "a text": "%lineage sql",
    "nothing was run": "assert spark.sparkContext.statusTracker().getJobIdsForGroup() == jobs",
    "the last run": "spark.sql('CREATE TABLE totals USING parquet AS ' + sql)\n%lineage",
    "a store": "assert register(spark).flush(60)\nStore.open('lineage.db').upstream('totals.total')",
    "no variable": "%lineage nowhere",
    "no DataFrame": "%lineage jobs",
    "no SQL": "%%lineage\nSELEC 1",
    "no table": "%%lineage\nSELECT a FROM nowhere",
    "no dry run": "%lineage EXPLAIN SELECT 1",
    "a line too many": "%%lineage df\nSELECT 1",
    "the end": "spark.stop()",
    "no session": "%lineage SELECT 1",
    "the end of the extension": "%unload_ext openlineage_pyspark\nassert get_ipython().find_magic('lineage') is None",
}
REFUSED = ("no session", "no variable", "no DataFrame", "no SQL", "no dry run", "a line too many")
# What a reader sees of each picture: its label, and the label of each part with a place on the screen.
SEEN = """
return [...document.querySelectorAll('svg.openlineage-graph')].map((svg) => ({
  parts: [svg, ...svg.querySelectorAll('[aria-label]')].map((each) => each.getAttribute('aria-label')),
  looks: [...svg.querySelectorAll('path > title')].map((each) => each.parentNode.getAttribute('class')),
  hidden: [...svg.querySelectorAll('text')].filter((each) => {
    const own = each.getBoundingClientRect(), all = svg.getBoundingClientRect();
    return !(own.width > 0 && own.left >= all.left && own.right <= all.right && own.bottom <= all.bottom);
  }).length,
  rows: [...svg.closest('[role=region]').parentNode.querySelectorAll('tbody tr')].map((row) => row.innerText),
  ground: getComputedStyle(svg.querySelector('.ground')).fill,
}))
"""
_DARK = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}


@attrs.frozen
class Read:
    """
    The notebook as it was read.

    Args:
        pictures: what was seen of each picture.
        in_the_dark: the ground of each, where the system likes dark colours and the page says nothing.
        texts: the text that each cell has given.
        console: what the browser complained of.
    """

    pictures: list[dict[str, Any]]
    in_the_dark: set[str]
    texts: dict[str, str]
    console: list[str]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Execute the notebook once, and read it."""
    if browser.found() is None:
        pytest.skip("there is no Chromium, or no chromedriver: apt-get install chromium-driver")
    folder = tmp_path_factory.mktemp("notebook")
    transport = {"type": "store", "path": str(folder / "lineage.db")}
    conf = {f"spark.openlineage.transport.{name}": value for name, value in transport.items()}
    execute(folder, CELLS, conf=conf, failing=REFUSED)
    with browser.started(folder) as chrome:
        chrome.get((folder / "done.html").as_uri())
        pictures = chrome.execute_script(SEEN)
        chrome.execute_script("document.body.removeAttribute('data-jp-theme-light')")
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", _DARK)
        in_the_dark = {each["ground"] for each in chrome.execute_script(SEEN)}
        console = [entry["message"] for entry in chrome.get_log("browser")]
    return Read(pictures, in_the_dark, dict(zip(CELLS, texts(folder), strict=True)), console)


def test_each_value_is_shown_as_a_picture_on_the_screen(read: Read) -> None:
    assert [each["parts"][0].removeprefix("Lineage graph: 2 tables, ") for each in read.pictures] == [
        *("4 edges", "4 edges", "2 edges", "2 edges", "1 edge", "4 edges"),
        *("1 job, 4 edges", "1 job, 3 edges", "1 edge"),
    ]
    assert [each["hidden"] for each in read.pictures] == [0] * 9
    assert read.console == []


def test_the_picture_of_a_statement_has_its_tables_and_columns_and_a_table_beneath(read: Read) -> None:
    statement = read.pictures[0]

    assert [part for part in statement["parts"][1:] if "default." in part] == [
        "Table default.orders",
        "Table default.totals, every row: FILTER of default.orders.id, GROUP_BY of default.orders.country",
        "Column country string, IDENTITY of default.orders.country",
        "Column total double, AGGREGATION of default.orders.amount",
    ]
    assert sorted(statement["looks"]) == ["influence", "influence", "value", "value"]
    assert [row.rpartition("\t")[0] for row in statement["rows"]] == [
        "country\tdefault.orders.country\tIDENTITY",
        "total\tdefault.orders.amount\tAGGREGATION",
        "(every row)\tdefault.orders.country\tGROUP_BY",
        "\tdefault.orders.id\tFILTER",
    ]
    assert statement["rows"][1].rpartition("\t")[2].endswith("orders.amount)")


def test_the_magics_show_what_lineage_shows(read: Read) -> None:
    of_cell, of_frame, of_expression, of_line, of_text = read.pictures[1:6]

    assert (of_cell["rows"], of_text["rows"]) == (read.pictures[0]["rows"],) * 2
    assert of_frame["rows"] == of_expression["rows"]
    assert [row.split("\t")[0] for row in of_frame["rows"]] == ["<b>land</b>", "<i>"]
    # Braces are SQL's, and no variable of the notebook.
    assert [row.split("\t")[0] for row in of_line["rows"]] == ["{sql}"]


def test_the_last_run_and_a_stores_answer_show_the_job_too(read: Read) -> None:
    last, answer = read.pictures[6:8]
    (job,) = [part for part in last["parts"] if part.startswith("Job ")]

    assert job.endswith("totals, its last run: complete")
    assert last["rows"][0] == "country\tdefault.orders.country\tIDENTITY\t"
    assert [part.split(",")[0] for part in answer["parts"] if part.startswith("Column ")] == [
        *("Column total double", "Column amount double", "Column country string", "Column id bigint"),
    ]


def test_a_table_that_is_not_there_is_taken_from_the_text_and_that_is_said(read: Read) -> None:
    assert "Table default.nowhere" in read.pictures[8]["parts"]
    said = read.texts["no table"]
    assert "nowhere` cannot be found" in said
    assert "its lineage is taken from its text" in said
    # What PySpark would log of it says the same once more.
    assert '"level": "ERROR"' not in said


def test_what_is_refused_is_said_in_a_line_and_fails_the_cell(read: Read) -> None:
    # Before that stands what Spark has logged.
    said = {name: "".join(read.texts[name].partition("UsageError: ")[1:]) for name in REFUSED}

    assert [name for name, text in said.items() if not text.startswith("UsageError: ")] == []

    assert "there is no variable nowhere" in said["no variable"]
    assert "takes a DataFrame or the text of an SQL statement, not list" in said["no DataFrame"]
    assert "PARSE_SYNTAX_ERROR" in said["no SQL"]
    assert "does not support EXPLAIN" in said["no dry run"]
    assert "there is no active Spark session" in said["no session"]
    assert "takes nothing on its own line" in said["a line too many"]
    assert [text for text in said.values() if "Traceback" in text or "UnresolvedRelation" in text] == []


def test_the_colours_follow_the_notebook_or_else_the_system(read: Read) -> None:
    assert {each["ground"] for each in read.pictures} == {"rgb(247, 248, 250)"}
    assert read.in_the_dark == {"rgb(18, 22, 28)"}
