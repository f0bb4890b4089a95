"""PROTOCOL.md names what the probe sends and what it is sent, all of it and nothing else."""

from __future__ import annotations

import importlib.resources
import json
import re
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.listener.probe import java_sources, readings
from openlineage_pyspark.listener.probe.client import Probe
from openlineage_pyspark.listener.probe.limits import ProbeLimits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = importlib.resources.files("openlineage_pyspark.listener.probe").joinpath("PROTOCOL.md").read_text("utf-8")
JAVA = java_sources.compilation_unit()
# The first argument of whatever begins a field.
FIELD = re.compile(r"\.write(?:\w+Field|\w+FieldStart|FieldName)\(([^,()]+(?:\(\))?)[,)]")
# Names of readings, of metrics and of columns: the ids of attributes.
NAMED_BY_OTHERS = {"row[0]", "name", "setting[0]"}
KINDS = (
    *("start", "end", "stream", "progress", "rdd_start", "rdd_end", "table_dropped", "application_end", "dropped"),
    "fault",
)


@attrs.frozen
class Table:
    """A table of the page: the name in its first column, the heading that it stands under, and its rows."""

    subject: str
    heading: str
    rows: dict[str, list[str]]


def tables() -> list[Table]:
    """Give the tables of the page."""
    found, heading = [], ""
    for block in PAGE.split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("#"):
            heading = lines[0].lstrip("# ").strip("`")
        if not lines[0].startswith("| "):
            continue
        cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
        names = [row[0].strip("`") for row in cells[2:]]
        assert len(set(names)) == len(names)
        found.append(Table(cells[0][0], heading, dict(zip(names, cells[2:], strict=True))))
    return found


def names(subject: str) -> set[str]:
    """Give the names in the first columns of all tables on a subject."""
    return {name for table in tables() if table.subject == subject for name in table.rows}


def test_each_key_that_the_probe_writes_stands_in_the_page_and_no_other() -> None:
    written = set(FIELD.findall(JAVA))
    literal = {argument.strip('"') for argument in written if argument.startswith('"')}

    assert {argument for argument in written if not argument.startswith('"')} == NAMED_BY_OTHERS
    assert names("key") == literal


def test_each_kind_of_record_has_a_heading() -> None:
    assert tuple(sorted(re.findall(r"JsonText\.record\(\"(\w+)\"\)", JAVA))) == tuple(sorted(KINDS))
    assert re.findall(r"^### `(\w+)`$", PAGE, re.MULTILINE) == list(KINDS)


def test_the_table_and_its_chains_are_what_both_halves_know() -> None:
    asked = [line.split("\t")[3] for line in readings.table().splitlines() if line.startswith("describe")]
    chains = {chain.partition(":")[0] for chain in asked if chain.startswith("#")}

    assert names("line") == set(re.findall(r"line\[0\]\.equals\(\"(\w+)\"\)", JAVA))
    assert names("line") == {line.split("\t")[0] for line in readings.table().splitlines()}
    assert names("chain") == set(re.findall(r"chain\.(?:equals|startsWith)\(\"(#[^\"]+)\"\)", JAVA))
    assert {chain.rstrip(":") for chain in names("chain")} == chains


@pytest.mark.parametrize("bound", re.findall(r"static final int (?:LONGEST|DEEPEST|MOST_KEYS)\w* = (\d+);", JAVA))
def test_the_bounds_of_what_is_sent_are_said(bound: str) -> None:
    assert re.search(rf"(?<![\d,]){int(bound):,}(?![\d,])", PAGE)


@pytest.fixture(scope="module")
def records(process_jvm: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    """Give the records of statements, reads, a checkpoint, a stream and jobs of RDDs; one of each fails."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("protocol")
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.legacy.createHiveTableByDefault", "false")
        .getOrCreate()
    )
    context = session.sparkContext
    context.setLogLevel("OFF")
    probe = Probe(context._gateway, ProbeLimits(reads=True))
    probe.attach(context._jsc)
    run_all(session, folder)
    probe.settle(context._jsc, 60)
    taken: list[str] = []
    while batch := probe.take(0):
        taken += batch
    yield [json.loads(record) for record in taken]
    probe.detach(context._jsc)
    session.stop()


STATEMENTS = {
    "CREATE TABLE t (a INT, b INT) USING parquet": None,
    "CREATE TABLE u (a INT) USING parquet": None,
    "FROM t INSERT INTO u SELECT a INSERT OVERWRITE u SELECT b": ("Union", True, 2),
    "WITH q AS (SELECT * FROM t) FROM q INSERT INTO u SELECT a INSERT INTO u SELECT b": ("Union", True, 2),
    "INSERT INTO u SELECT a FROM t -- insert": ("InsertIntoStatement", True, 1),
    "WITH insert AS (SELECT a FROM t) INSERT INTO u SELECT a FROM insert": ("InsertIntoStatement", True, 1),
    "/* SELECT */ create TABLE v USING parquet AS WITH q AS (SELECT a FROM t) SELECT * FROM q": (
        "CreateTableAsSelect",
        True,
        0,
    ),
}
QUERIES = [
    "SELECT a FROM t",
    "-- INSERT\nSELECT a AS insert FROM t",
    "WITH q AS (SELECT 'INSERT' AS `insert`) SELECT * FROM q",
    "FROM t SELECT a",
]


def run_all(spark: Any, folder: Path) -> None:
    """Do something of each kind."""
    for statement in STATEMENTS:
        spark.sql(statement)
    for number, query in enumerate(QUERIES):
        spark.sql(query).write.parquet(str(folder / f"query{number}"))
    spark.table("t").localCheckpoint().count()
    rdd = spark.sparkContext.parallelize([1, 2], 1)
    rdd.map(str).saveAsTextFile(str(folder / "text"))
    spark.sparkContext.textFile(str(folder / "text")).count()
    for number, failing in enumerate((rdd.map(lambda n: n // 0), rdd.map(lambda n: [][n]))):
        with pytest.raises(Exception, match="Error"):
            failing.map(str).saveAsTextFile(str(folder / f"broken{number}"))
    with pytest.raises(Exception, match="nope"):
        spark.sql("INSERT INTO u SELECT nope FROM t")
    stream = spark.readStream.schema("a INT").parquet(str(folder / "query0")).writeStream.queryName("named")
    started = stream.format("parquet").option("checkpointLocation", str(folder / "state"))
    started.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()
    spark.sql("DROP TABLE u")


def under(heading: str) -> list[Table]:
    """Give the tables of keys under a heading."""
    return [table for table in tables() if table.heading == heading and table.subject == "key"]


PLAN_OF_AN_EXECUTION, STATEMENT, BATCH = under("The plan of an execution")
PLANS, SESSION = under("Plans")
(ERRORS,), (METRICS,), (SOURCE,) = under("Errors"), under("Metrics"), under("Progress of a source")


def test_the_records_of_a_live_spark_have_the_keys_of_their_kind_and_always_those_that_are_always_there(
    records: list[dict[str, Any]],
) -> None:
    for record in records:
        kind = record["k"]
        (own,) = under(kind)
        keys = {"k": "always", **{name: row[2] for name, row in own.rows.items()}}
        if kind in ("start", "end"):
            keys.update((name, row[2]) for name, row in PLAN_OF_AN_EXECUTION.rows.items())
        assert set(record) <= set(keys), kind
        assert {key for key, there in keys.items() if there == "always"} <= set(record), kind
        if "statement" in record:
            assert set(record["statement"]) == set(STATEMENT.rows)
        if "batch" in record and kind != "progress":
            assert set(record["batch"]) == set(BATCH.rows)
        for source in record.get("sources", ()) if kind == "progress" else ():
            assert set(source) <= set(SOURCE.rows)
            assert {"description", "rows", "to"} <= set(source)
        if "error" in record:
            assert set(record["error"]) == set(ERRORS.rows)
        for entry in record.get("metrics", ()):
            assert set(entry) | {"committedRows", "version"} == set(METRICS.rows)
        if "plan" in record:
            assert set(record["plan"]) == set(PLANS.rows)
            assert set(record["plan"]["session"]) == set(SESSION.rows)
    assert {record["k"] for record in records} == set(KINDS) - {"application_end", "dropped", "fault"}
    assert {"error", "written", "read"} <= {key for record in records if record["k"] == "rdd_end" for key in record}


@pytest.mark.parametrize("text", [text for text, expected in STATEMENTS.items() if expected])
def test_the_sessions_parser_says_what_a_statement_is(records: list[dict[str, Any]], text: str) -> None:
    """Words in comments, in strings and in names do not count."""
    executions = [record for record in records if text in (record.get("sql"), record.get("querySql"))]
    known = {tuple(record["statement"].values()) for record in executions if "statement" in record}

    assert executions != []
    # Of a command with its own text that says INSERT once, nothing is asked.
    assert known == {STATEMENTS[text]} or (known == set() and all("sql" in record for record in executions))
    assert len({record["text"] for record in executions}) == 1


@pytest.mark.parametrize("text", QUERIES)
def test_the_text_that_a_written_frame_begins_with_is_no_statement_that_writes(
    records: list[dict[str, Any]], text: str
) -> None:
    (execution,) = [record for record in records if record.get("querySql") == text and record.get("command")]

    assert execution["statement"] == {"class": "Project", "writes": False, "inserts": 0}


def test_a_checkpoint_says_that_it_is_one(records: list[dict[str, Any]]) -> None:
    assert [record["checkpoint"] for record in records if "checkpoint" in record] == [True]
