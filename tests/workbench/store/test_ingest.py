"""Events become rows: in any order, any number of times, whoever made them."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.store.events import ingest
from openlineage_pyspark.workbench.store.events.ingest import EventLine, files_of, lines_of, take
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.sqlite import file as sqlite_file
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, company, dataset, lineage, run_event, symlink, taken, text_of_events
from support.reached import nodes_of


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, sorted."""
    with Database(path) as database:
        return {
            table.name: sorted(database.query(f'SELECT * FROM "{table.name}"'), key=repr) for table in schema.TABLES
        }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_events_and_their_repetition_change_nothing(tmp_path: Path, seed: int) -> None:
    events = company(seed)
    taken(tmp_path / "straight.db", events)
    shuffled = events + events[::3]
    random.Random(seed).shuffle(shuffled)  # noqa: S311 (a test's choice)
    for begin in range(0, len(shuffled), 7):
        taken(tmp_path / "shuffled.db", shuffled[begin : begin + 7])
    assert contents(tmp_path / "shuffled.db") == contents(tmp_path / "straight.db")
    assert len(contents(tmp_path / "straight.db")["event"]) == len(events)


def test_one_event_in_two_spellings_is_kept_in_both_and_says_the_same(tmp_path: Path) -> None:
    event = run_event("load", "COMPLETE", 1, inputs=(dataset("s"),), outputs=(dataset("t", columns=("a",)),))
    taken(tmp_path / "once.db", [event])
    taken(tmp_path / "twice.db", [event, dict(reversed(event.items()))])
    once, twice = contents(tmp_path / "once.db"), contents(tmp_path / "twice.db")
    assert sorted(row[-1] for row in twice.pop("event")) == sorted(
        json.dumps(each) for each in (event, dict(reversed(event.items())))
    )
    assert len(once.pop("event")) == 1
    assert once == twice


def test_what_is_no_event_is_set_aside_with_its_reason_and_stops_nothing(tmp_path: Path) -> None:
    no_time, no_name, no_run = run_event("a", "START", 1), run_event("a", "START", 1), run_event("a", "START", 1)
    del no_time["eventTime"]
    no_name["inputs"] = [{"namespace": "lake"}]
    no_run["run"] = {}
    wrong_type = run_event("a", "BEGIN", 1)
    lines = [
        "{",
        "[1]",
        "",
        *text_of_events([no_time, no_name, no_run, wrong_type, run_event("a", "START", 1)]).splitlines(),
    ]
    lines.append('{"a": ' * 100_000)
    with Database(tmp_path / "s.db") as database:
        found = take(database, [EventLine(f"file:{number}", line) for number, line in enumerate(lines, 1)])
        kept = dict(database.query("SELECT source, reason FROM rejected"))
    assert (found.events, found.rejected) == (1, 7)
    assert kept == {
        "file:1": "not JSON: Expecting property name enclosed in double quotes at column 2",
        "file:2": "not a JSON object",
        "file:4": "`eventTime` is missing or not a string",
        "file:5": "`inputs` has no namespace or no name",
        "file:6": "`run.runId` is missing or not a string",
        "file:7": '`eventType` is "BEGIN"',
        "file:9": kept["file:9"],
    }
    assert "maximum recursion depth" in kept["file:9"]


@pytest.mark.parametrize(
    "facets",
    [
        {"schema": []},
        {"schema": {"fields": [None, {"name": 1}, {"name": "s", "fields": "x"}]}},
        {"symlinks": {"identifiers": [{"namespace": "x"}, 5]}},
        {"columnLineage": {"fields": {"a": {"inputFields": [{"field": "x"}, None]}, "b": 7}, "dataset": {}}},
        {"version": {"datasetVersion": 5}},
        {"lifecycleStateChange": {"previousIdentifier": "t"}},
        {"storage": "iceberg"},
    ],
)
def test_a_known_facet_of_another_shape_costs_that_facet_alone(tmp_path: Path, facets: dict[str, Any]) -> None:
    found = taken(tmp_path / "s.db", [run_event("a", "COMPLETE", 1, outputs=(dataset("t", **facets),))])
    assert (found.events, found.rejected) == (1, 0)
    assert len(contents(tmp_path / "s.db")["sink_job_lineage"]) == 1


def test_numbers_and_texts_that_no_database_takes_are_taken(tmp_path: Path) -> None:
    output = dataset("t\ud800")
    output["outputFacets"] = {"outputStatistics": {"rowCount": float("inf"), "size": 1 << 70}}
    found = taken(tmp_path / "s.db", [run_event("a", "COMPLETE", 1, outputs=(output,))])
    assert (found.events, found.rejected) == (1, 0)
    ((name, rows, size),) = _query(
        tmp_path, "SELECT name, row_count, bytes FROM dataset JOIN sink_snapshot_lineage USING (name_id)"
    )
    assert (name, rows, size) == ("t?", None, None)


def test_events_of_jobs_and_datasets_are_taken_too(tmp_path: Path) -> None:
    whole = run_event("load", "START", 1, inputs=(dataset("a"),), outputs=(dataset("b"),))
    of_job = {key: value for key, value in whole.items() if key not in ("run", "eventType")}
    of_dataset = {
        "eventTime": at(2),
        "producer": "https://example.org",
        "schemaURL": "x",
        "dataset": dataset("b", columns=("x",), version={"datasetVersion": "7"}),
    }
    assert taken(tmp_path / "s.db", [of_job, of_dataset]).events == 2
    assert _query(tmp_path, "SELECT type, run_id FROM event ORDER BY type") == [("DATASET", ""), ("JOB", "")]
    assert _query(tmp_path, "SELECT name FROM dataset JOIN source_job_lineage USING (name_id)") == [("a",)]
    assert _query(tmp_path, "SELECT snapshot FROM sink_snapshot_lineage") == [("7",)]
    assert _query(tmp_path, "SELECT column_name, type FROM dataset_column") == [("x", "int")]


def test_a_run_keeps_its_end_whenever_its_other_events_arrive(tmp_path: Path) -> None:
    parent = {"run": {"runId": "p"}, "job": {"namespace": "n", "name": "dag"}, "root": {"run": {"runId": "r"}}}
    events = [
        run_event("load", "FAIL", 3, run="1", errorMessage={"message": "no space"}),
        run_event("load", "RUNNING", 4, run="1"),
        run_event("load", "START", 1, run="1", parent=parent),
    ]
    for event in events:
        taken(tmp_path / "s.db", [event])
    found = _query(tmp_path, "SELECT state, started, ended, parent_run_id, root_run_id, error FROM run")
    assert found == [("FAIL", microseconds(at(1)), microseconds(at(3)), "p", "r", "no space")]


def test_the_facts_of_a_job_are_the_latest_that_an_event_told(tmp_path: Path) -> None:
    events = []
    for minute, query in ((1, "SELECT 1"), (3, None), (2, "SELECT 2")):
        event = run_event("load", "START", minute)
        event["job"]["facets"] = {"sql": {"query": query}} if query else {}
        events.append(event)
    for event in events:
        taken(tmp_path / "s.db", [event])
    assert _query(tmp_path, "SELECT sql FROM job") == [("SELECT 2",)]


def test_the_names_that_one_event_gives_are_one_dataset(tmp_path: Path) -> None:
    made = run_event("make", "COMPLETE", 1, outputs=(dataset("db.t", namespace="catalog"),))
    written = run_event("write", "COMPLETE", 2, outputs=(dataset("/w/t", symlinks=symlink("db.t")),))
    taken(tmp_path / "s.db", [made])
    assert len(_datasets(tmp_path)) == 1
    taken(tmp_path / "s.db", [written])
    assert _datasets(tmp_path) == {identity("dataset", "lake", "/w/t"): {"/w/t", "db.t"}}


def test_a_name_belongs_to_the_dataset_that_had_it_last(tmp_path: Path) -> None:
    new = run_event("write", "COMPLETE", 2, outputs=(dataset("/w/new", symlinks=symlink("db.t")),))
    old = run_event("write", "COMPLETE", 1, outputs=(dataset("/w/old", symlinks=symlink("db.t")),))
    taken(tmp_path / "s.db", [new])
    taken(tmp_path / "s.db", [old])
    assert sorted(map(sorted, _datasets(tmp_path).values())) == [["/w/new", "db.t"], ["/w/old"]]


def test_two_names_that_call_each_other_the_other_name_are_one_dataset(tmp_path: Path) -> None:
    first = run_event("a", "COMPLETE", 1, outputs=(dataset("x", namespace="n", symlinks=symlink("y", namespace="n")),))
    other = run_event("b", "COMPLETE", 2, outputs=(dataset("y", namespace="n", symlinks=symlink("x", namespace="n")),))
    taken(tmp_path / "s.db", [first])
    taken(tmp_path / "s.db", [other])
    assert list(_datasets(tmp_path).values()) == [{"x", "y"}]


def test_files_folders_and_compressed_files_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    (folder / "below").mkdir(parents=True)
    (folder / "a.ndjson").write_text(text_of_events([run_event("a", "START", 1)]))
    (folder / "below" / "b.ndjson.gz").write_bytes(gzip.compress(text_of_events([run_event("b", "START", 1)]).encode()))
    (folder / "readme.txt").write_text("not events")
    assert [path.name for path in files_of(folder)] == ["a.ndjson", "b.ndjson.gz"]
    lines = [line.source.rpartition("/")[2] for path in files_of(folder) for line in lines_of(path)]
    assert lines == ["a.ndjson:1", "b.ndjson.gz:1"]


def test_a_newer_store_and_a_foreign_database_are_refused(tmp_path: Path) -> None:
    with Database(tmp_path / "s.db") as database:
        database.query(f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(StoreError, match="upgrade the package"):
        Database(tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE x (y)")
    with pytest.raises(StoreError, match="a database of another program"):
        Database(tmp_path / "other.db")
    with pytest.raises(StoreError, match="there is no store at"):
        Database(tmp_path / "none.db", read_only=True)


@pytest.mark.parametrize("version", [0, 1, schema.VERSION, schema.VERSION + 1])
@pytest.mark.parametrize("mark", [0, 42])
@pytest.mark.parametrize("how", [{}, {"migrate": False}, {"read_only": True}], ids=["migrate", "later", "read"])
def test_a_foreign_database_of_any_version_stays_as_it_is(
    tmp_path: Path, version: int, mark: int, how: dict[str, bool]
) -> None:
    """Many applications count the versions of their own tables from 1."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as other:
        other.executescript(
            f"PRAGMA user_version = {version}; PRAGMA application_id = {mark}; CREATE TABLE customer (name TEXT);"
            "CREATE TABLE event (event_id TEXT, json TEXT); INSERT INTO customer VALUES ('Ada');"
        )
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is a database of another program, and nothing in it was changed"):
        Database(path, **how)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["shop.db"]


def test_what_a_user_put_beside_our_tables_outlives_a_rebuild(tmp_path: Path) -> None:
    taken(tmp_path / "s.db", company(1))
    with Database(tmp_path / "s.db") as database:
        database.query("CREATE TABLE mine AS SELECT run_id FROM run")
        database.query("CREATE VIEW ours AS SELECT name FROM dataset")
        database.rebuild()
        assert database.query("SELECT count(*) FROM mine") == [(40,)]
        assert database.query("SELECT count(*) > 0 FROM ours") == [(1,)]


@pytest.mark.slow
def test_many_parts_are_added_while_the_log_is_copied_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = company(3)
    taken(tmp_path / "straight.db", events)
    monkeypatch.setattr(ingest, "_MOST_LINES", 4)
    monkeypatch.setattr(sqlite_file, "_MOST_LOG_PAGES", 100)
    lines = [EventLine("test", line) for line in text_of_events(events).splitlines()]
    with Database(tmp_path / "s.db") as database:
        with database.many():
            take(database, lines)
            assert database.query("PRAGMA wal_autocheckpoint") == [(0,)]
        assert database.query("PRAGMA wal_autocheckpoint") == [(sqlite_file.LOG_PAGES,)]
        assert database._file._copying is None
    assert contents(tmp_path / "s.db") == contents(tmp_path / "straight.db")


def test_the_indexes_of_a_store_are_those_of_this_version(tmp_path: Path) -> None:
    taken(tmp_path / "s.db", company(1))
    names = "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name"
    with Database(tmp_path / "s.db") as database:
        wanted = database.query(names)
        database.query("DROP INDEX read_version_by_job_id_time")
        database.query("DROP INDEX edge_by_input")
    with Database(tmp_path / "s.db") as database:
        assert database.query(names) == wanted


_WRITER = """
import sys
import threading
from pathlib import Path
from openlineage_pyspark.workbench.store.events.ingest import lines_of, take
from openlineage_pyspark.workbench.store.sqlite.database import Database
for _ in range(3):
    with Database(Path(sys.argv[1])) as database:
        take(database, lines_of(Path(sys.argv[2])))
"""


@pytest.mark.slow
def test_two_processes_write_one_store_at_once(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"{number}.ndjson").write_text(text_of_events(company(number, jobs=100)))
    started = [
        subprocess.Popen(
            [sys.executable, "-I", "-c", _WRITER, str(tmp_path / "s.db"), str(tmp_path / f"{number}.ndjson")]
        )
        for number in range(2)
    ]
    assert [each.wait() for each in started] == [0, 0]
    assert len(contents(tmp_path / "s.db")["event"]) == 400


def test_a_store_that_another_process_makes_at_this_moment_is_waited_for(tmp_path: Path) -> None:
    maker = sqlite3.connect(tmp_path / "s.db", isolation_level=None, check_same_thread=False)
    maker.execute("BEGIN IMMEDIATE")
    ended = threading.Timer(0.3, maker.execute, ["COMMIT"])
    ended.start()
    with Database(tmp_path / "s.db") as database:
        assert database.query("PRAGMA journal_mode") == [("wal",)]
    ended.join()
    maker.close()


_INGEST = """
import sys
import threading
from openlineage_pyspark.command.main import main
from openlineage_pyspark.workbench.store.events import ingest
ingest._MOST_LINES = 400
sys.exit(main(["ingest", *sys.argv[1:]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.long)])
def test_an_ingest_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path: Path, times: int) -> None:
    events = [event for seed in range(40) for event in company(seed)]
    (tmp_path / "events.ndjson").write_text(text_of_events(events))
    command = [sys.executable, "-I", "-c", _INGEST, str(tmp_path / "events.ndjson"), "--store", str(tmp_path / "s.db")]
    chance = random.Random(1)  # noqa: S311 (a test's choice)
    ends = set()
    for _ in range(times):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as started:
            try:
                ends.add(started.wait(chance.uniform(0.2, 1.2)))
            except subprocess.TimeoutExpired:
                started.kill()
                ends.add(-9)
    assert -9 in ends
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    taken(tmp_path / "straight.db", events)
    assert contents(tmp_path / "s.db") == contents(tmp_path / "straight.db")


def test_a_rename_continues_each_column_under_the_new_name(filled: Callable[..., Store]) -> None:
    renamed = dataset(
        "new",
        columns=("a",),
        lifecycleStateChange={
            "lifecycleStateChange": "RENAME",
            "previousIdentifier": {"namespace": "lake", "name": "old"},
        },
    )
    store = filled(
        run_event(
            "fill", "COMPLETE", 1, outputs=(dataset("old", columnLineage=lineage(a=[("raw", "x", "IDENTITY")])),)
        ),
        run_event("rename", "COMPLETE", 2, outputs=(renamed,)),
    )
    assert [*nodes_of(store.upstream("new.a"))] == ["old.a", "raw.x"]


def _query(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with Database(folder / "s.db") as database:
        return database.query(sql)


def _read_by_batches(folder: Path) -> list[tuple[Any, ...]]:
    """Return what each micro-batch has read."""
    return _query(
        folder,
        "SELECT batch_id, name, snapshot, time, offset_from, offset_to, row_count FROM source_snapshot_lineage "
        "JOIN dataset USING (name_id) ORDER BY 1, 2",
    )


def _datasets(folder: Path) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for dataset_id, name in _query(
        folder, "SELECT dataset_id, name FROM dataset JOIN dataset_identity USING (name_id)"
    ):
        found.setdefault(dataset_id, set()).add(name)
    return found


def test_each_micro_batch_has_its_own_versions_and_the_event_that_sums_them_up_has_none(tmp_path: Path) -> None:
    batches = [
        {
            "batchId": number,
            "time": f"2026-01-01T00:0{number}:00Z",
            "sources": [
                {"namespace": "n", "name": "a", "from": '"3"', "to": '"7"', "version": f"s{number}", "rows": 4},
                {"namespace": "k", "name": "topic", "from": None, "to": '{"topic":{"0":9}}', "rows": None},
            ],
            "sinks": [{"namespace": "n", "name": "b", "version": f"t{number}", "parent": "t", "rows": 3}],
        }
        for number in (0, 1)
    ]
    facet = {"queryId": "q", "checkpoint": "file:/c", "batches": [*batches, {"batchId": None}, "no batch"]}
    read = (dataset("a", namespace="n"), dataset("topic", namespace="k"))
    made = (dataset("b", namespace="n"),)
    event = run_event("stream", "RUNNING", 5, inputs=read, outputs=made, pyspark_micro_batches=facet)
    taken(tmp_path / "s.db", [event])
    assert _read_by_batches(tmp_path) == [
        row
        for number, time in ((0, "2026-01-01T00:00:00Z"), (1, "2026-01-01T00:01:00Z"))
        for row in (
            (number, "a", f"s{number}", microseconds(time), '"3"', '"7"', 4),
            (number, "topic", "", microseconds(time), None, '{"topic":{"0":9}}', None),
        )
    ]
    assert _query(tmp_path, "SELECT batch_id, snapshot, parent, row_count FROM sink_snapshot_lineage ORDER BY 1") == [
        (0, "t0", "t", 3),
        (1, "t1", "t", 3),
    ]
    assert _query(tmp_path, "SELECT query_id, checkpoint FROM run") == [("q", "file:/c")]


def test_each_micro_batch_has_read_what_its_query_reads_beside_its_sources(tmp_path: Path) -> None:
    """A table that a stream joins is no source: the facet of the micro-batches does not list it."""
    source = {"namespace": "n", "name": "a", "from": None, "to": "1", "version": "s"}
    batches = [{"batchId": number, "time": f"2026-01-01T00:0{number}:00Z", "sources": [source]} for number in (0, 1)]
    read = (
        dataset("a", namespace="n", version={"datasetVersion": "later"}),
        dataset("plain", namespace="n", inputFacets={"inputStatistics": {"rowCount": 9}}),
        dataset("told", namespace="n", version={"datasetVersion": "4"}),
        dataset("moving", namespace="n", pyspark_snapshot={"versions": ["6", "7"]}),
    )
    facet = {"queryId": "q", "batches": batches}
    taken(tmp_path / "s.db", [run_event("stream", "COMPLETE", 5, inputs=read, pyspark_micro_batches=facet)])

    assert _read_by_batches(tmp_path) == [
        row
        for number, time in ((0, "2026-01-01T00:00:00Z"), (1, "2026-01-01T00:01:00Z"))
        for row in (
            (number, "a", "s", microseconds(time), None, "1", None),
            (number, "moving", "", microseconds(time), None, None, None),
            (number, "plain", "", microseconds(time), None, None, None),
            (number, "told", "4", microseconds(time), None, None, None),
        )
    ]


def test_several_versions_of_a_dataset_in_one_run_follow_each_other(tmp_path: Path) -> None:
    read = dataset("a", version={"datasetVersion": "2"}, pyspark_snapshot={"versions": ["1", "2"]})
    made = dataset("b", version={"datasetVersion": "9"}, pyspark_snapshot={"versions": ["8", "9"], "parent": "7"})
    taken(tmp_path / "s.db", [run_event("job", "COMPLETE", 0, inputs=(read,), outputs=(made,))])
    assert _query(tmp_path, "SELECT snapshot FROM source_snapshot_lineage ORDER BY 1") == [("1",), ("2",)]
    assert _query(tmp_path, "SELECT snapshot, parent FROM sink_snapshot_lineage ORDER BY 1") == [("8", "7"), ("9", "8")]


def test_a_wrong_path_is_refused_with_what_is_wrong_with_it(tmp_path: Path) -> None:
    text = tmp_path / "events.ndjson"
    text.write_text('{"eventType": "START"}\n')
    lost = tmp_path / "no" / "such.db"
    opened = "can't be opened as a store"
    for path, reason in (
        (tmp_path, "it is a folder"),
        (lost, f"there is no folder {lost.parent}"),
        (text, "it is another kind of file; name a store, or a new file"),
    ):
        with pytest.raises(StoreError) as caught:
            Database(path)
        assert str(caught.value) == f"{path} {opened}: {reason}"
    with pytest.raises(StoreError, match="it is a folder"):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match=f"; if it has events, `openlineage-pyspark ingest {text} --store"):
        Store.open(text)


def test_a_column_has_the_place_that_was_told_last(tmp_path: Path) -> None:
    """A CTAS tells the order of its query, and what reads the table tells that of the table; columns go and come."""

    def told(minute: float, *columns: str) -> dict[str, Any]:
        return run_event("job", "COMPLETE", minute, inputs=(dataset("t", columns=columns),))

    events = [told(1, "id", "country", "hash"), told(2, "id", "hash", "country"), told(3, "hash", "new", "country")]
    for order in (events, events[::-1], [events[1], events[2], events[0]]):
        with Database(tmp_path / "s.db") as database:
            for event in order:
                take(database, [EventLine("test", text_of_events([event]))])
            rows = database.query("SELECT column_name, position FROM dataset_column ORDER BY last_time, position")
        (tmp_path / "s.db").unlink()
        assert rows == [("id", 0), ("hash", 0), ("new", 1), ("country", 2)]


def test_a_chain_of_names_follows_its_end(tmp_path: Path) -> None:
    def named(name: str, other: str, minute: int) -> dict[str, Any]:
        made = dataset(name, symlinks=symlink(other, namespace="lake"))
        return run_event(f"job {name}", "COMPLETE", minute, outputs=(made,))

    for event in (named("b", "c", 1), named("a", "b", 2), named("z", "a", 3)):
        taken(tmp_path / "store.db", [event])
    with Database(tmp_path / "store.db") as database:
        found = dict(
            database.query(
                "SELECT n.name, o.name FROM dataset_identity i JOIN dataset n ON n.name_id = i.name_id "
                "JOIN dataset o ON o.name_id = i.dataset_id"
            )
        )
    assert found == dict.fromkeys("abcz", "z")


def _of_version_1(path: Path, events: list[dict[str, Any]]) -> None:
    """Make a store as version 1 made it, with its events and nothing else in it."""
    taken(path.with_name("new.db"), events)
    with Database(path.with_name("new.db")) as database:
        rows = database.query("SELECT * FROM event")
    with sqlite3.connect(path) as old:
        old.executescript(VERSION_1.read_text("utf-8"))
        old.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", rows)
        old.execute("INSERT INTO rejected VALUES ('1', 'no JSON', 'file:1', '{')")
        old.execute("PRAGMA user_version = 1")
    old.close()


VERSION_1 = Path(__file__).with_name("store_of_version_1.sql")


def test_a_store_of_an_older_version_is_made_anew_from_its_events(tmp_path: Path) -> None:
    events = company(1)
    _of_version_1(tmp_path / "s.db", events)
    with pytest.raises(StoreError) as raised:
        Store.open(tmp_path / "s.db")
    assert str(raised.value) == (
        f"{tmp_path}/s.db is a store of version 1, and this package reads version {schema.VERSION}: "
        f"`openlineage-pyspark store rebuild --store {tmp_path}/s.db` migrates it"
    )
    made = contents(tmp_path / "s.db")
    assert made.pop("rejected") == [("1", "no JSON", "file:1", "{")]
    whole = contents(tmp_path / "new.db")
    assert made == {table: rows for table, rows in whole.items() if table != "rejected"}
    with Store.open(tmp_path / "s.db") as store:
        assert store.sql("SELECT count(*) FROM dataset_version").table()[1] == [(40,)]


def test_a_store_of_an_older_version_may_be_migrated_when_it_is_first_written(tmp_path: Path) -> None:
    _of_version_1(tmp_path / "s.db", company(1))
    with Database(tmp_path / "s.db", migrate=False) as database:
        assert database.query("PRAGMA user_version") == [(1,)]
        take(database, [EventLine("test", text_of_events(company(1)[:1]))])
        assert database.query("PRAGMA user_version") == [(schema.VERSION,)]
        assert database.query("SELECT count(*) FROM run") == [(40,)]


def test_a_migration_that_does_not_reach_its_end_loses_nothing(tmp_path: Path) -> None:
    events = company(1)
    _of_version_1(tmp_path / "s.db", events)
    with Database(tmp_path / "s.db", migrate=False) as database:
        before = database.query("SELECT event_id, json FROM event ORDER BY 1")
        (pages,) = database.query("PRAGMA page_count")[0]
        database.query(f"PRAGMA max_page_count = {pages + 10}")
        with pytest.raises(StoreError, match="database or disk is full"):
            database.rebuild()
    with Database(tmp_path / "s.db", migrate=False) as database:
        assert database.query("PRAGMA user_version") == [(1,)]
        assert database.query("SELECT event_id, json FROM event ORDER BY 1") == before
    with Database(tmp_path / "s.db") as database:
        assert database.query("SELECT event_id, json FROM event ORDER BY 1") == before


def test_all_tables_are_made_anew_from_the_events(tmp_path: Path) -> None:
    events = company(2)
    taken(tmp_path / "s.db", events)
    before = contents(tmp_path / "s.db")
    with Database(tmp_path / "s.db") as database:
        for name in (*(table.name for table in stored.MERGED), *stored.OF_VERSIONS):
            if name != schema.REJECTED.name:
                database.query(f"DELETE FROM {name}")
        assert database.rebuild(only_if_old=True) == 0
        assert database.query("SELECT count(*) FROM run") == [(0,)]
        assert database.rebuild() == len(events)
    assert contents(tmp_path / "s.db") == before
