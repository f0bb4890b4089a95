"""The store in Spark's tables: the same rows and the same answers as in one SQLite file, whatever happens meanwhile."""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import networkx
import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.model.graph import names_of_id
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.expiry import expire
from openlineage_pyspark.workbench.store.spark.ingest import EventOrigin, take_once, take_stream
from openlineage_pyspark.workbench.store.spark.sql import Format
from openlineage_pyspark.workbench.store.spark.tables import SparkTables
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store_api import Store
from support import class_archive, process_jvm
from support.lakes import LAKE_CONF, LAKE_JARS
from support.lineage_events import at, company, company_of_versions, dataset, run_event, symlink, text_of_events
from support.maven import fetched
from support.reached import places_of
from support.spark_jobs import QUICK, SPARK_VERSION, clean_environment, pyspark_folder
from support.spark_stores import HAS_LAKES, differing

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.reach import Reach
    from pyspark.sql import SparkSession

SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    # Thousands of tiny queries: to compile each one takes longer than to run it.
    **class_archive.INTERPRETED,
}
FORMATS = ("iceberg", "delta", "parquet") if HAS_LAKES else ("parquet",)
# The format of the tests that take long.
LONG = FORMATS[0]
SCHEMAS = {"iceberg": "ice.lineage", "delta": "spark_catalog.lineage_delta", "parquet": "lineage"}
# Each of so many is asked, unless the variable says otherwise: 1 for all of them.
EACH = int(os.environ.get("STORE_QUESTIONS_EACH", "200"))
KILLS = int(os.environ.get("STORE_KILLS", "1"))


def table_events() -> list[dict[str, Any]]:
    """Return the events of jobs between tables: with cycles and renames."""
    found = company(7, tables=10, jobs=12)
    rename = {"previousIdentifier": {"namespace": "lake", "name": "t1"}, "lifecycleStateChange": "RENAME"}
    found += [
        run_event("rename", "COMPLETE", 40, outputs=(dataset("u1", columns=("a", "b"), lifecycleStateChange=rename),)),
        run_event("after", "COMPLETE", 41, inputs=(dataset("u1"),), outputs=(dataset("u2"),)),
        run_event("other name", "COMPLETE", 42, outputs=(dataset("t2", symlinks=symlink("t1", namespace="lake")),)),
        run_event("failed", "FAIL", 43, inputs=(dataset("t3"),), errorMessage={"message": "it's \\ 'quoted'"}),
        run_event("version", "COMPLETE", 44, inputs=(dataset("t4", version={"datasetVersion": "41"}),)),
    ]
    return found


def version_events() -> list[dict[str, Any]]:
    """Return the events of jobs between versions of the tables v0 to v8, streams among them."""
    text = json.dumps(company_of_versions(20, steps=24)[0])
    found: list[dict[str, Any]] = json.loads(re.sub(r'"job(\d)"', r'"load\1"', re.sub(r'"t(\d)"', r'"v\1"', text)))
    return found


def events() -> list[dict[str, Any]]:
    """Return all events, of 20 producers: in any order, and a part of them twice."""
    found = [*table_events(), *version_events()]
    for number, event in enumerate(found):
        event["producer"] = f"https://example.org/producer{number % 20}"
    chance = random.Random(7)  # noqa: S311 (a test's choice)
    chance.shuffle(found)
    return found + found[:15]


pytestmark = [
    pytest.mark.own_jvm,
    pytest.mark.long,
    # PySpark 3.5 leaves it to Python to close a socket. pytest would keep the warning, and with it each query.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `events` in two files, one of them gzipped, and a line that is no event."""
    found = tmp_path_factory.mktemp("store")
    lines = text_of_events(events()).splitlines(keepends=True)
    (found / "events" / "below").mkdir(parents=True)
    (found / "events" / "first.ndjson").write_text("".join(lines[:30]) + "no event\n")
    with gzip.open(found / "events" / "below" / "second.ndjson.gz", "wt") as packed:
        packed.write("".join(lines[30:]))
    (found / "events" / "notes.txt").write_text("no event file")
    return found


@pytest.fixture(scope="module")
def conf(folder: Path, real_spark: None) -> dict[str, str]:
    """Return the Spark properties of a session with the catalogs of the formats."""
    lakes = {}
    if HAS_LAKES:
        jars = ",".join(str(fetched(jar, folder)) for jar in LAKE_JARS[SPARK_VERSION[:3]])
        lakes = {**LAKE_CONF, "spark.jars": jars, "spark.sql.catalog.ice.warehouse": str(folder / "ice")}
        if not SPARK_VERSION.startswith("3."):
            # Iceberg's extension refuses functions with parameters. From Spark 4 on, nothing else here needs it.
            lakes["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
    return {**QUICK, **SMALL, **lakes, "spark.sql.warehouse.dir": str(folder / "warehouse")}


@pytest.fixture(scope="module")
def session(conf: dict[str, str]) -> Iterator[SparkSession]:
    """Return a session; it stops with the module."""
    from openlineage_pyspark.workbench.store.spark.session import active_or_new_session

    with process_jvm.with_jars(conf.get("spark.jars", "")):
        found = active_or_new_session(conf)
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()


@pytest.fixture(scope="module")
def lite(folder: Path) -> Iterator[Database]:
    """Return the same events in one SQLite file."""
    with Database(folder / "lineage.db") as database:
        lines = [*text_of_events(events()).splitlines(), "no event"]
        take(database, [EventLine("test", line) for line in lines])
        yield database


@pytest.fixture(scope="module")
def filled(session: SparkSession, folder: Path) -> Callable[[str], SparkTables]:
    """Return a function that gives the store of a format, filled once."""
    made: dict[str, SparkTables] = {}

    def fill(format_: str) -> SparkTables:
        if format_ not in made:
            made[format_] = SparkTables.make(session, SCHEMAS[format_], Format(format_))
            taken = take_once(made[format_], EventOrigin(str(folder / "events")))
            assert (taken.events, taken.rejected) == (len(events()), 1)
        return made[format_]

    return fill


def questions() -> list[tuple[str, Callable[[Store], Any]]]:
    """Return 200 questions, with their names."""
    tables = [f"t{number}" for number in range(8)]
    found: list[tuple[str, Callable[[Store], Any]]] = []
    for table in tables:
        found += [
            (f"downstream {table}", methodcaller("downstream", table)),
            (f"upstream {table}", methodcaller("upstream", table)),
            (f"downstream {table} ever", methodcaller("downstream", table, ever=True)),
            (f"near {table}", methodcaller("upstream", table, depth=1)),
            (f"{table} then", methodcaller("upstream", table, as_of=at(12))),
            (f"history {table}", methodcaller("history", table)),
            (f"datasets {table}", methodcaller("datasets", containing=table)),
        ]
        for name in (f"{table}.a", f"{table}.c"):
            found += [
                (f"downstream {name}", methodcaller("downstream", name)),
                (f"upstream {name}", methodcaller("upstream", name, direct=True)),
            ]
    ways = [
        (f"between {source} {target}", methodcaller("between", source, target))
        for source in tables[:2]
        for target in tables
    ]
    for number in range(9):
        table = f"v{number}"
        found += [
            (f"history {table}", methodcaller("history", table)),
            (f"downstream {table} latest", methodcaller("downstream", f"{table}@latest")),
            (f"upstream {table} snapshots", methodcaller("upstream", table, by="snapshot")),
            (f"upstream {table} jobs", methodcaller("upstream", table, by="job")),
            (f"downstream {table} columns", methodcaller("downstream", f"t{number}", by="column")),
            (f"upstream of the job of {table}", methodcaller("upstream", f"job:load{number}")),
            (f"recover {table}", methodcaller("recover", table)),
            (f"recover {table} then", methodcaller("recover", table, time=at(12), mode="full")),
            (f"diff {number}", methodcaller("diff", at(2 * number), at(24))),
        ]
    of_versions = sorted({event["run"]["runId"] for event in version_events()})
    found += [(f"downstream of the run {run}", methodcaller("downstream", f"run:{run}")) for run in of_versions[:5]]
    found += [(f"upstream of the run {run}", methodcaller("upstream", f"run:{run}")) for run in of_versions[5:10]]
    found.append(("diff of runs", methodcaller("diff", f"run:{of_versions[0]}", f"run:{of_versions[1]}")))
    lists = [
        ("jobs", methodcaller("jobs", containing="JOB1")),
        ("failed runs", methodcaller("runs", state=("FAIL",))),
        ("runs", methodcaller("runs", job="job", since=at(3), limit=9)),
        ("late jobs", methodcaller("jobs", as_of=at(900))),
        ("late runs", methodcaller("runs", late=True, as_of=at(900))),
        ("unused columns", methodcaller("unused")),
        ("unused tables", methodcaller("unused", by="table", ever=True)),
        ("blame", methodcaller("blame", "t3")),
        ("graph", methodcaller("graph")),
        ("graph around t3", methodcaller("graph", "t3")),
    ]
    return [*ways[: 200 - len(found) - len(lists)], *found, *lists]


def answered(store: Store, ask: Callable[[Store], Answer[Any]]) -> Answer[Any] | str:
    """Return an answer, or why there is none; but not where the text came from that was no event."""
    try:
        answer = ask(store)
    except StoreError as problem:
        return str(problem)
    *others, rejected = answer.diagnostics
    assert rejected.code == "rejected"
    return attrs.evolve(answer, diagnostics=(*others, attrs.evolve(rejected, message="", place="")))


@pytest.mark.parametrize("format_", FORMATS)
def test_the_rows_are_those_of_sqlite_also_when_events_are_taken_again(
    filled: Callable[[str], SparkTables], lite: Database, folder: Path, format_: str
) -> None:
    tables = filled(format_)
    assert differing(tables, lite) == []
    if format_ == LONG:
        take_once(tables, EventOrigin(str(folder / "events" / "first.ndjson")))
        assert differing(tables, lite) == []


def test_questions_have_the_answers_of_sqlite(
    filled: Callable[[str], SparkTables], lite: Database, session: SparkSession
) -> None:
    tables = filled(LONG)
    asked = questions()
    assert len(asked) == 200
    names = [f"{SCHEMAS[LONG]}.{table.name}" for table in schema.TABLES if table is not schema.EVENT]
    # To cache the tables takes longer than to answer one question from them.
    cached = names if len(asked) > EACH else []
    for name in cached:
        session.sql(f"CACHE TABLE {name}")
    try:
        for name, ask in asked[::EACH]:
            assert answered(Store(tables), ask) == answered(Store(lite), ask), name
    finally:
        for name in cached:
            session.sql(f"UNCACHE TABLE {name}")


def test_view_shows_a_store_in_a_catalog_as_it_shows_one_in_a_file(
    filled: Callable[[str], SparkTables], lite: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(LONG)
    graph, page = tmp_path / "t3.json", tmp_path / "t3.html"
    name = [SCHEMAS[LONG]] if "." in SCHEMAS[LONG] else ["--store", SCHEMAS[LONG], "--spark"]
    around = ["--around", "t3", "--depth", "1"]

    assert main(["view", *name, *around, "--format", "json", "-o", str(graph)]) == 0
    assert main(["view", *name, *around, "--compare", at(12), "-o", str(page)]) == 0

    expected = Store(lite).graph("t3", depth=1).to_dict()
    found = json.loads(graph.read_text())
    assert {**found["result"], "time": ""} == {**expected["result"], "time": ""}
    # The line that is no event is in a file of another name.
    assert [each["code"] for each in found["diagnostics"]] == ["limit", "rejected"]
    assert [each["code"] for each in expected["diagnostics"]] == ["limit", "rejected"]
    assert found["diagnostics"][0] == expected["diagnostics"][0]
    assert re.search(
        'id="before">{"schema":"3-0-0","question":"graph",[^<]*"asOf":"2026-01-01T00:12:00Z"', page.read_text()
    )
    assert capsys.readouterr().err == ""


def test_what_is_neither_a_file_nor_a_schema_is_named(
    filled: Callable[[str], SparkTables], capsys: pytest.CaptureFixture[str]
) -> None:
    filled(LONG)

    assert main(["view", "spark_catalog.nowhere"]) == 2

    assert capsys.readouterr().err == (
        "openlineage-pyspark: spark_catalog.nowhere is not an existing file, nor a store in Spark's tables: there is "
        "no store at spark_catalog.nowhere. `openlineage-pyspark ingest --spark --store spark_catalog.nowhere --from "
        "DIR` makes one\n"
    )


@pytest.mark.skipif(shutil.which("jcmd") is None, reason="needs the JDK's jcmd, which lists what a JVM holds")
def test_the_jvm_forgets_a_query_that_was_answered(filled: Callable[[str], SparkTables], session: SparkSession) -> None:
    tables = filled("parquet")
    gc.collect()
    gc.disable()
    try:
        before = _queries_in(session)
        for number in range(20):
            assert tables.query("SELECT count(*) FROM job WHERE job_id = ?", (number,)) == [(0,)]
        # py4j tells the JVM a moment later.
        held = [_queries_in(session) - before]
        while held[-1] >= 10 and len(held) < 30:
            time.sleep(0.2)
            held.append(_queries_in(session) - before)
        assert held[-1] < 10, held
    finally:
        gc.enable()


def _queries_in(session: SparkSession) -> int:
    """Return how many queries the JVM holds, after it has looked for what nobody needs."""
    gateway: Any = session.sparkContext._gateway
    asked = ["jcmd", str(gateway.proc.pid), "GC.class_histogram"]
    histogram = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+) +\d+ +org\.apache\.spark\.sql\.(classic\.)?Dataset( |$)", histogram, re.MULTILINE)
    assert "java.lang.String" in histogram
    return int(found[1]) if found else 0


def test_answers_of_this_lineage_are_those_of_a_plain_graph(lite: Database) -> None:
    # What t2 is called too is no longer a table of its own.
    own = {"t1": "t2"}
    graph: networkx.DiGraph[str] = networkx.DiGraph([("t2", "u1")])
    graph.add_edges_from(
        (own.get(source["name"], source["name"]), own.get(target["name"], target["name"]))
        for event in table_events()
        for source in event["inputs"]
        for target in event["outputs"]
    )
    for table in sorted(graph):
        depths = networkx.single_source_shortest_path_length(graph, table)
        found = {name: depth for (name, _), depth in places_of(Store(lite).downstream(table)).items()}
        assert found == {name: depth for name, depth in depths.items() if depth}, table


def test_a_stream_takes_each_file_once_and_goes_on_from_its_checkpoint(
    session: SparkSession, folder: Path, lite: Database
) -> None:
    tables = SparkTables.make(session, "ice.stream" if HAS_LAKES else "lineage_stream", Format(LONG))
    arriving, checkpoint = folder / "arriving", str(folder / "checkpoint")
    arriving.mkdir()
    lines = text_of_events(events()).splitlines(keepends=True)
    (arriving / "a.ndjson").write_text("".join(lines[:30]))
    assert take_stream(tables, EventOrigin(str(arriving)), checkpoint=checkpoint).events == 30
    (arriving / "b.ndjson").write_text("".join(lines[30:]) + "no event\n")
    taken = take_stream(tables, EventOrigin(str(arriving)), checkpoint=checkpoint)
    assert (taken.events, taken.rejected) == (len(lines) - 30, 1)
    assert differing(tables, lite) == []
    with pytest.raises(StoreError, match="a stream needs a folder for its checkpoint"):
        take_stream(tables, EventOrigin(str(arriving)))


def take_forever(tables: SparkTables, origin: EventOrigin) -> None:
    """Take events until something breaks."""
    while True:
        take_once(tables, origin)


@pytest.mark.skipif(HAS_LAKES, reason="there, whole processes are killed")
def test_an_ingest_that_is_broken_off_again_and_again_loses_and_doubles_nothing(
    session: SparkSession, folder: Path, lite: Database
) -> None:
    tables = SparkTables.make(session, "lineage_broken", Format.PARQUET)
    chance = random.Random(3)  # noqa: S311 (a test's choice)
    ended = threading.Event()

    def break_off() -> None:
        while not ended.wait(chance.uniform(0.1, 1.5)):
            session.sparkContext.cancelAllJobs()

    for _ in range(KILLS):
        ended.clear()
        breaker = threading.Thread(target=break_off)
        breaker.start()
        try:
            with pytest.raises(StoreError):
                take_forever(tables, EventOrigin(str(folder / "events")))
        finally:
            ended.set()
            breaker.join()
    take_once(tables, EventOrigin(str(folder / "events")))
    assert differing(tables, lite) == []


@pytest.mark.skipif(not HAS_LAKES, reason="no Iceberg is named here for this Spark")
def test_an_ingest_that_is_killed_again_and_again_loses_and_doubles_nothing(
    session: SparkSession, conf: dict[str, str], folder: Path, lite: Database
) -> None:
    chance = random.Random(5)  # noqa: S311 (a test's choice)
    settings = [f"--conf={key}={value}" for key, value in conf.items()]
    place = ["--store", "ice.killed", "--from", str(folder / "events")]
    command = [sys.executable, "-m", "openlineage_pyspark", "ingest", "--spark", *place, *settings]
    warehouse = folder / "ice" / "killed"
    for _ in range(KILLS):
        # So many files later it is killed: in the middle of any of its statements.
        enough = len(list(warehouse.rglob("*"))) + chance.randint(1, 80)
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd=folder
        )
        while process.poll() is None and len(list(warehouse.rglob("*"))) < enough:
            time.sleep(0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, f"{len(events())} events added to ice.killed\n"), done.stderr[-2000:]
    assert differing(SparkTables(session, "ice.killed"), lite) == []


def test_a_compaction_changes_no_row(filled: Callable[[str], SparkTables], lite: Database) -> None:
    tables = filled(LONG)
    tables.compact()
    assert differing(tables, lite) == []
    assert differing(SparkTables(tables.session, SCHEMAS[LONG]), lite) == []


def test_sql_alone_asks_the_store(filled: Callable[[str], SparkTables], lite: Database, session: SparkSession) -> None:
    tables = filled("parquet")
    tables.make_views()
    edges = {(row.source_name, row.target_name) for row in session.table("lineage.table_edges").collect()}
    near = Store(lite).downstream("t5", depth=1).result.graph.edges
    names = {(names_of_id(edge.source)[1], names_of_id(edge.target)[1]) for edge in near}
    assert {edge for edge in edges if edge[0] == "t5"} == names


@pytest.mark.skipif(SPARK_VERSION.startswith("3."), reason="Spark has table functions in SQL from 4.0 on")
def test_table_functions_have_the_answers_of_python(
    filled: Callable[[str], SparkTables], lite: Database, session: SparkSession
) -> None:
    assert filled(LONG).make_functions() == "spark_catalog.lineage"
    session.sql("USE spark_catalog.lineage")
    # Spark 4.0 takes no schema before the name of a table function.
    where = "" if SPARK_VERSION.startswith("4.0") else "lineage."

    def told(function: str, *given: object) -> list[tuple[int, str]]:
        values = ", ".join(map(repr, given))
        rows = session.sql(f"SELECT depth, name FROM {where}{function}({values})").collect()
        return sorted((row.depth, row.name) for row in rows)

    def expected(answer: Answer[Reach]) -> list[tuple[int, str]]:
        return sorted((depth, name) for (name, _), depth in places_of(answer).items())

    store = Store(lite)
    for table in ("t2", "t5", "u1", "lake/t0"):
        assert told("upstream_tables", table) == expected(store.upstream(table)), table
        assert told("downstream_tables", table) == expected(store.downstream(table)), table
    assert told("downstream_tables", "t5", 1) == expected(store.downstream("t5", depth=1))
    with pytest.raises(Exception, match="nothing is called none"):
        told("downstream_tables", "none")

    def columns_told(function: str, table: str, column: str, more: str = "") -> list[tuple[int, str, str]]:
        call = f"{where}{function}('{table}', '{column}'{more})"
        return sorted(tuple(row) for row in session.sql(f"SELECT depth, name, column_name FROM {call}").collect())

    def columns_expected(answer: Answer[Reach]) -> list[tuple[int, str, str]]:
        return sorted((depth, *place) for place, depth in places_of(answer).items())

    for table, column in (("t2", "a"), ("lake/t0", "b")):
        thing = f"{table}.{column}"
        assert columns_told("upstream_columns", table, column) == columns_expected(store.upstream(thing)), thing
        assert columns_told("downstream_columns", table, column) == columns_expected(store.downstream(thing)), thing
    near, direct = store.downstream("t5.a", depth=1), store.upstream("t2.a", direct=True)
    assert columns_told("downstream_columns", "t5", "a", ", 1") == columns_expected(near)
    assert columns_told("upstream_columns", "t2", "a", ", direct => true") == columns_expected(direct)
    with pytest.raises(Exception, match="t5 has no column none"):
        columns_told("upstream_columns", "t5", "none")
    session.sql("USE spark_catalog.default")


@pytest.mark.parametrize("format_", ["iceberg", "delta"] if HAS_LAKES else ["parquet"])
def test_what_is_old_leaves_the_tables_as_it_leaves_sqlite(
    session: SparkSession, folder: Path, tmp_path: Path, format_: str
) -> None:
    tables = SparkTables.make(session, f"{SCHEMAS[format_]}_old", Format(format_))
    take_once(tables, EventOrigin(str(folder / "events")))
    time = microseconds(at(20))
    with Database(tmp_path / "lineage.db") as small:
        take(small, [EventLine("test", line) for line in [*text_of_events(events()).splitlines(), "no event"]])
        dry, found, expected = expire(tables, time, dry_run=True), expire(tables, time), expire(small, time)
        assert 0 < expected.events < expected.before["event"]
        assert (dry.events, dry.runs, dry.after) == (expected.events, expected.runs, expected.before)
        assert (found.events, found.runs, found.after) == (expected.events, expected.runs, expected.after)
        assert differing(tables, small) == []
        assert tables.dropped() == small.dropped() != []


def make_old(session: SparkSession, name: str, format_: str) -> None:
    """Make of a store one of an older version: a table has other columns, and one is missing."""
    kind = "VIEW" if format_ == "parquet" else "TABLE"
    other = f"TABLE {name}.run (run_id INT) USING {format_}"
    if kind == "VIEW":
        other = f"VIEW {name}.run TBLPROPERTIES ('openlineage_pyspark.rows' = 'run_rows') AS SELECT 1 AS run_id"
    # The version of a store is that of its events.
    session.sql(f"ALTER {kind} {name}.event SET TBLPROPERTIES ('openlineage_pyspark.version' = '1')")
    session.sql(f"CREATE OR REPLACE {other}")
    session.sql(f"DROP {kind} {name}.column_lineage")


@pytest.mark.parametrize("format_", FORMATS)
def test_a_store_of_an_older_version_is_refused_and_rebuilt_from_its_events(
    session: SparkSession, folder: Path, lite: Database, format_: str
) -> None:
    name = f"{SCHEMAS[format_]}_older"
    take_once(SparkTables.make(session, name, Format(format_)), EventOrigin(str(folder / "events")))
    make_old(session, name, format_)
    now = schema.CATALOG_VERSION
    why = rf"of version 1, and this package knows version {now}: `openlineage-pyspark store rebuild --spark"
    for opened in (lambda: SparkTables(session, name), lambda: SparkTables.make(session, name)):
        with pytest.raises(StoreError, match=why):
            opened()
    # It has each event once.
    assert SparkTables(session, name, may_be_old=True).rebuild() == len(events()) - 15
    assert differing(SparkTables(session, name), lite) == []


def test_the_events_of_an_older_version_with_other_columns_make_a_new_store(
    session: SparkSession, folder: Path, lite: Database
) -> None:
    take_once(SparkTables.make(session, "lineage_other", Format.PARQUET), EventOrigin(str(folder / "events")))
    rows = session.table("lineage_other.event_rows").drop("producer").collect()
    session.sql("DROP TABLE lineage_other.event_rows")
    session.createDataFrame(rows).write.saveAsTable("lineage_other.event_rows")
    make_old(session, "lineage_other", "parquet")
    with pytest.raises(StoreError, match=r"make a new store from its events, by .* --from store:lineage_other`"):
        SparkTables(session, "lineage_other", may_be_old=True).rebuild()
    session.sql("CREATE OR REPLACE VIEW lineage_other.event AS SELECT event_id, json FROM lineage_other.event_rows")
    anew = SparkTables.make(session, "lineage_anew", Format.PARQUET)
    assert take_once(anew, EventOrigin("store:lineage_other")).rejected == 0
    assert [name for name in differing(anew, lite) if name != schema.REJECTED.name] == []


@pytest.mark.parametrize(
    ("address", "lacking", "package"),
    [
        (
            "kafka://127.0.0.1:9/lineage",
            "the source of Kafka",
            r"org\.apache\.spark:spark-sql-kafka-0-10_2\.1[23]:{spark}",
        ),
        (
            "s3a://bucket/events",
            "Hadoop's client of S3",
            r"org\.apache\.hadoop:hadoop-aws:{hadoop}",
        ),
    ],
)
def test_what_spark_lacks_is_named_with_the_package_that_brings_it(
    session: SparkSession, address: str, lacking: str, package: str
) -> None:
    (hadoop,) = (pyspark_folder() / "jars").glob("hadoop-client-api-*.jar")
    package = package.format(spark=SPARK_VERSION, hadoop=hadoop.stem.rpartition("-")[2])
    said = rf"{re.escape(address)} can't be read: (.|\n)*\nIf Spark lacks {lacking}, --packages {package} brings it\."
    tables = SparkTables.make(session, "lineage", Format.PARQUET)
    for take_in in (take_once, partial(take_stream, checkpoint="none")):
        with pytest.raises(StoreError) as raised:
            take_in(tables, EventOrigin(address))
        assert re.fullmatch(said, str(raised.value)), raised.value


def test_the_command_runs_on_the_interpreter_that_started_it(
    conf: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    # Another Python comes first in the PATH, which lacks the package.
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 3\n")
    other.chmod(0o755)
    env = {**clean_environment(), "PATH": f"{other.parent}:{os.environ['PATH']}"}
    del env["PYSPARK_PYTHON"]
    place = ["--store", "lineage", "--from", str(folder / "events" / "first.ndjson")]
    settings = {**conf, "spark.sql.warehouse.dir": str(tmp_path / "warehouse")}
    command = [sys.executable, "-m", "openlineage_pyspark", "ingest", "--spark", *place]
    command += [f"--conf={key}={value}" for key, value in settings.items()]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "30 events added to lineage\n"), done.stderr[-2000:]


def test_what_is_no_store_is_refused(session: SparkSession, filled: Callable[[str], SparkTables], folder: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no store at nowhere\. `openlineage-pyspark ingest --spark"):
        Store.open_spark(session, "nowhere")
    with pytest.raises(StoreError, match=r"'a\.b\.c' is no schema: write CATALOG\.SCHEMA"):
        Store.open_spark(session, "a.b.c")
    with pytest.raises(StoreError, match="holds no event files"):
        take_once(
            SparkTables.make(session, "lineage", Format.PARQUET),
            EventOrigin(str(session.conf.get("spark.sql.warehouse.dir"))),
        )
