"""The micro-batches in the events of a real stream are those of its checkpoint and of the tables' own histories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.store.events.ingest import lines_of, take
from openlineage_pyspark.workbench.store.sqlite.database import Database
from support import checkpoints
from support.lakes import LAKE_CONF, LAKE_JARS
from support.spark_jobs import Jobs

# In the check they run on files; where there are jars of lakes, `./run test --all` runs them on tables with versions.
pytestmark = pytest.mark.any_spark

SOURCE_ROWS = """
    SELECT l.batch_id, d.name, l.offset_from, l.offset_to, l.snapshot, l.row_count, l.run_id
    FROM source_snapshot_lineage l JOIN dataset d ON d.name_id = l.name_id WHERE l.batch_id >= 0 ORDER BY 1, 2"""
SINK_ROWS = """
    SELECT l.batch_id, d.name, l.snapshot, l.parent, l.row_count, l.run_id
    FROM sink_snapshot_lineage l JOIN dataset d ON d.name_id = l.name_id WHERE l.batch_id >= 0 ORDER BY 1, 2"""
BATCHES = range(10)


@pytest.fixture(scope="module")
def lake(real_spark):
    import pyspark

    return pyspark.__version__[:3] in LAKE_JARS


@pytest.fixture(scope="module")
def job(lake, packaged, tmp_path_factory):
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    conf = {"spark.openlineage.streaming.intervalInSeconds": "1", "spark.sql.shuffle.partitions": "1"}
    if lake:
        warehouse = str(tmp_path_factory.mktemp("lake"))
        conf |= {**LAKE_CONF, "spark.sql.catalog.ice.warehouse": warehouse, "spark.jars": packaged(LAKE_JARS)}
    done = jobs.run("stream_batches.py", "lake" if lake else "files", conf=conf)
    assert done.code == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def tables(job):
    return json.loads((job.folder / "tables.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def rows(job, tmp_path_factory):
    """Give what the lineage tables hold of the batches, made from the events."""
    with Database(tmp_path_factory.mktemp("store") / "lineage.db") as store:
        take(store, lines_of(job.folder / "events.ndjson"))
        runs = store.query("SELECT run_id, job_id, state, query_id, checkpoint FROM run WHERE query_id IS NOT NULL")
        return [tuple(row) for row in store.query(SOURCE_ROWS)], [tuple(row) for row in store.query(SINK_ROWS)], runs


def events_of_stream(job):
    return [event for event in job.queries() if event["job"]["name"].endswith(".streaming_query.both")]


def facets(job):
    return [event["run"]["facets"]["pyspark_micro_batches"] for event in events_of_stream(job)]


def test_what_each_batch_read_is_what_the_checkpoint_says(job, rows):
    sources, _, _ = rows
    places = {0: ("/source", "/first"), 1: ("db/source", "/second")}
    logged = checkpoints.ranges(job.folder / "state")

    assert [each.batch for each in logged] == [batch for batch in BATCHES for _ in places]
    told = {(batch, start, end, name.endswith(places[1])) for batch, name, start, end, *_ in sources}
    assert told == {(each.batch, each.start, each.end, each.source == 1) for each in logged}
    assert len(sources) == len(logged)


def test_what_each_batch_read_has_the_version_of_the_tables_own_history(rows, tables, lake):
    sources, _, _ = rows
    told = [[version for batch, name, _, _, version, *_ in sources if batch == each] for each in BATCHES]

    # By name, Delta Lake's table in the warehouse and Iceberg's in the lake are in either order.
    assert [sorted(each) for each in told] == [sorted(each) for each in tables["read"] or [["", ""]] * len(BATCHES)]


def test_what_each_batch_wrote_is_what_the_tables_own_histories_say(rows, tables, lake):
    _, sinks, _ = rows
    added = [2, *range(2, len(BATCHES) + 1)]
    if not lake:
        by_name = {end: [row for row in sinks if row[1].endswith(end)] for end in ("/all", "/some")}
        counts = {"/all": added, "/some": [2] + [1] * (len(BATCHES) - 1)}
        for end, found in by_name.items():
            assert [(batch, version, rows) for batch, _, version, _, rows, _ in found] == [
                (batch, "", counts[end][batch]) for batch in BATCHES
            ]
        return
    # The first version of Delta Lake's table is its creation, Iceberg has no snapshot of that.
    delta = [[version, rows] for version, rows in tables["sink"] if version != "0"]
    told = [row for row in sinks if not row[1].endswith("db/sink")]
    assert [(batch, version, parent, str(rows)) for batch, _, version, parent, rows, _ in told] == [
        (batch, version, str(int(version) - 1), rows) for batch, (version, rows) in enumerate(delta)
    ]
    told = [row for row in sinks if row[1].endswith("db/sink")]
    assert [(batch, version, parent, str(rows)) for batch, _, version, parent, rows, _ in told] == [
        (batch, version, None if parent is None else str(parent), rows)
        for batch, (version, parent, rows) in enumerate(tables["ice.db.sink"])
    ]
    assert [int(rows) for _, rows in delta] == added


def test_a_restart_is_a_new_run_of_the_same_job_and_the_same_query(job, rows):
    sources, sinks, runs = rows
    by_run = {run: sorted({batch for batch, *_, other in (*sources, *sinks) if other == run}) for run, *_ in runs}
    told = facets(job)

    assert sorted(by_run.values()) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert {(state, query, place) for _, _, state, query, place in runs} == {
        ("COMPLETE", checkpoints.query_id(job.folder / "state"), (job.folder / "state").as_uri().replace("///", "/"))
    }
    assert len({job_id for _, job_id, *_ in runs}) == 1
    runs_in_order = list(dict.fromkeys((each["queryRunId"], each["continues"]) for each in told))
    assert [continues for _, continues in runs_in_order] == [False, True]
    assert {each["queryName"] for each in told} == {"both"}


def test_each_batch_is_in_one_event_and_events_are_few_and_whole(job, violations):
    listed = [batch["batchId"] for facet in facets(job) for batch in facet["batches"]]
    types = [event["eventType"] for event in events_of_stream(job)]

    assert listed == list(BATCHES)
    assert [each for each in types if each != "RUNNING"] == ["START", "COMPLETE"] * 2
    assert types.count("RUNNING") <= len(BATCHES)
    assert violations(job.events()) == []
    assert all("extractionError" not in event["run"]["facets"] for event in events_of_stream(job))


def test_running_events_have_the_versions_of_their_last_batch(job, tables, lake):
    running = [event for event in events_of_stream(job) if event["eventType"] == "RUNNING"]
    assert running
    for event in running:
        last = event["run"]["facets"]["pyspark_micro_batches"]["batches"][-1]["batchId"]
        inputs = [each["facets"].get("version", {}).get("datasetVersion") for each in event["inputs"]]
        outputs = [each["facets"].get("version", {}).get("datasetVersion") for each in event["outputs"]]
        if lake:
            # A source that is idle in a run's first batch is no input yet.
            assert inputs
            assert {*inputs} <= {*tables["read"][last]}
            assert sorted(outputs) == sorted([str(last + 1), tables["ice.db.sink"][last][0]])
        else:
            assert {*inputs, *outputs} == {None}
