"""Which versions of Iceberg's and Delta Lake's tables the events of a real job name, against what the tables say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.lakes import LAKE_CONF, LAKE_JARS
from support.spark_jobs import Jobs

CONF = {**LAKE_CONF, "spark.sql.shuffle.partitions": "1"}


@pytest.fixture(scope="module")
def job(packaged, tmp_path_factory):
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    lake = str(tmp_path_factory.mktemp("lake"))
    conf = {**CONF, "spark.sql.catalog.ice.warehouse": f"{lake}/ice", "spark.jars": packaged(LAKE_JARS)}
    done = jobs.run("versions.py", lake, conf=conf)
    assert done.code == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def told(job):
    """Give what the tables say of themselves."""
    return json.loads((job.folder / "told.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def done(job):
    return [event for event in job.queries() if event["eventType"] == "COMPLETE"]


def short(dataset):
    return dataset["name"].rpartition("/")[2]


def version(dataset):
    return dataset["facets"].get("version", {}).get("datasetVersion")


def more(dataset):
    """Give the facet `pyspark_snapshot` without what each facet has, and without the table's id."""
    facet = dataset["facets"].get("pyspark_snapshot")
    return facet and {name: value for name, value in facet.items() if not name.startswith("_") and name != "tableId"}


def table_ids(done, table):
    """Give the ids of a table that the runs tell which committed to it, in the order of the events."""
    written = [output for event in done for output in event["outputs"] if short(output) == table and version(output)]
    return [each["facets"]["pyspark_snapshot"].get("tableId") for each in written]


def writes(done, table):
    """Give the versions that were committed to a table, in the order of the events; without those of streams."""
    found = []
    for event in done:
        found += [version(output) for output in event["outputs"] if short(output) == table]
    return found


def reads(done, table):
    """Give the inputs of the statement that made a table, by name."""
    event = next(e for e in done if [short(o) for o in e["outputs"]] == [table] and e["inputs"])
    return {short(dataset): dataset for dataset in event["inputs"]}


def test_each_commit_to_iceberg_is_told_by_the_run_that_made_it(done, told):
    # CREATE TABLE commits no rows.
    assert writes(done, "a") == [None, *told["ice.db.a"]]
    assert writes(done, "m") == told["ice.db.m"]
    assert writes(done, "of_empty") != [None]
    first, *_, last = [o for e in done for o in e["outputs"] if short(o) == "m"]
    ids = told["ice.db.m"]
    assert more(first) == {"format": "iceberg", "versions": [ids[0]], "operation": "append"}
    assert more(last) == {"format": "iceberg", "versions": [ids[-1]], "parent": ids[-2], "operation": "overwrite"}


def test_each_commit_to_delta_is_told_by_the_run_that_made_it_and_none_by_one_that_made_none(done, told):
    assert told["d"] == [
        [0, "CREATE TABLE"],
        [1, "WRITE"],
        [2, "WRITE"],
        [3, "UPDATE"],
        [4, "DELETE"],
        [5, "MERGE"],
    ]
    # The second UPDATE finds no row.
    assert writes(done, "d") == ["0", "1", "2", "3", None, "4", "5"]
    assert writes(done, "e") == [str(number) for number, _ in told["e"]]
    assert writes(done, "path") == ["0"] == [str(number) for number, _ in told["path"]]
    merged = [o for e in done for o in e["outputs"] if short(o) == "d"][-1]
    assert more(merged) == {"format": "delta", "versions": ["5"], "parent": "4"}


def test_each_commit_tells_the_id_of_its_table(done, told):
    made, again = told["twice"]
    assert made != again
    assert table_ids(done, "twice") == [made, again]
    assert set(table_ids(done, "d")) == {told["id of d"]}
    assert len(set(table_ids(done, "m"))) == 1


def test_a_read_is_of_the_version_that_the_statement_names_and_else_of_the_one_before_its_own(done, told):
    first, second, third, *_, last = told["ice.db.a"]
    pinned = {
        "by_version": first,
        "by_system": second,
        "by_time": second,
        "by_option": first,
        "by_time_option": second,
        "of_empty": None,
        "n": last,
    }
    assert {table: version(reads(done, table)["a"]) for table in pinned} == pinned
    # A metadata table is a thing of its own.
    assert [(name.partition("#")[0], version(each)) for name, each in reads(done, "by_metadata").items()] == [
        ("a", None)
    ]
    changes = [e for e in done if [short(o) for o in e["outputs"]] == ["a"]]
    own = [[version(i) for i in event["inputs"] if short(i) == "a"] for event in changes]
    assert own == [[], [], [first], [second], [third]]


def test_a_read_at_two_versions_tells_both(done, told):
    first, second = told["ice.db.a"][:2]
    both = reads(done, "by_two")["a"]
    assert {version(both)} < {first, second} | {None}
    assert sorted(more(both)["versions"]) == sorted([first, second])
    joined = [i for e in done for i in e["inputs"] if short(i) == "d" and more(i)]
    assert [sorted(more(each)["versions"]) for each in joined] == [["1", "2"]]


def test_a_branch_is_named_where_it_is_written_and_read(done, told):
    main, audit = told["ice.db.n"]
    (written,) = [o for e in done for o in e["outputs"] if short(o) == "n" and (more(o) or {}).get("branch")]
    expected = {"format": "iceberg", "versions": [audit], "branch": "audit"}
    assert more(written) == {**expected, "parent": main, "operation": "append"}
    assert more(reads(done, "by_branch")["n"]) == expected


def test_deltas_reads_tell_their_versions(done):
    assert version(reads(done, "path")["d"]) == "2"
    changes = [e for e in done if [short(o) for o in e["outputs"]] in (["d"], ["e"])]
    read = [{short(i): version(i) for i in event["inputs"]} for event in changes]
    assert read == [
        {},
        {},
        {"d": "1"},
        {"d": "1"},
        {"d": "2"},
        {"d": "3"},
        {"d": "3"},
        {"d": "4", "e": "0"},
        {"d": "5"},
        {"d": "2"},
        {"path": "0"},
        {},
        {},
        {},
    ]


def test_writers_at_once_never_tell_the_commit_of_another(done, told):
    events = [e for e in done if "append_data" in e["job"]["name"] and [short(o) for o in e["outputs"]] == ["busy"]]
    rows = {version(o): str(o["outputFacets"]["outputStatistics"]["rowCount"]) for e in events for o in e["outputs"]}
    assert rows == told["busy"]


def test_a_stream_tells_the_last_versions_that_it_has_read_and_committed(done, told):
    (iceberg,) = [e for e in done if e["job"]["name"].endswith("streaming_query.iceberg")]
    (delta,) = [e for e in done if e["job"]["name"].endswith("streaming_query.delta")]
    assert [[version(o), told["iceberg"]] for o in iceberg["outputs"]] == told["streamed"]
    assert [version(o) for o in delta["outputs"]] == [str(told["sink"][-1][0])]
    assert [version(i) for i in (*iceberg["inputs"], *delta["inputs"])] == [told["source"][-1], "0"]


def test_a_run_that_has_not_ended_tells_no_version_of_its_outputs_and_the_schemas_hold(job, specification):
    for event in job.events():
        if event["eventType"] != "COMPLETE":
            assert [more(o) or version(o) for o in event["outputs"]] == [None] * len(event["outputs"])
    assert specification.violations(job.events()) == []


@pytest.mark.long
def test_the_versions_cost_no_request_to_the_file_system(packaged, tmp_path_factory):
    """What is asked of it is the same with the listener and without, and nothing is asked on the listener's threads."""
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    conf = {
        **CONF,
        "spark.jars": packaged(LAKE_JARS),
        "spark.master": "local[1]",
        "spark.delta.logStore.counted.impl": "io.delta.storage.LocalLogStore",
    }
    asked = {}
    for lineage in (True, False):
        done = jobs.run("counted_files.py", str(tmp_path_factory.mktemp("lake")), conf=conf, lineage=lineage)
        assert done.code == 0, done.stderr[-3000:]
        asked[lineage] = json.loads((done.folder / "calls.json").read_text("utf-8"))
        told = [version(o) for e in done.queries() if e["eventType"] == "COMPLETE" for o in e["outputs"]]
        assert len([each for each in told if each]) == (11 if lineage else 0)
    assert asked[True] == asked[False]
    assert {name.partition(" ")[0] for name in asked[True]} == {"job"}


@pytest.mark.long
def test_a_delta_table_that_is_dropped_and_made_again_has_the_versions_of_both_lives(packaged, tmp_path_factory):
    """A number that comes again is another commit; a statement that changes no row has made none."""
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    done = jobs.run("made_again.py", conf={**CONF, "spark.jars": packaged(LAKE_JARS)})
    assert done.code == 0, done.stderr[-3000:]
    assert json.loads((done.folder / "told.json").read_text("utf-8")) == [[0, 1, 2], [0, 1, 2]]
    ends = [event for event in done.queries() if event["eventType"] == "COMPLETE"]
    assert writes(ends, "d") == ["0", "1", None, None, "2", None, "0", "1", None, None, "2"]
