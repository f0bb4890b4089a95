"""A table is one dataset, however it is written, read, changed and dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.spark_jobs import Jobs, short_name

pytestmark = [pytest.mark.any_spark, pytest.mark.long]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def job(real_spark, lake, tmp_path_factory):
    conf = {"spark.sql.warehouse.dir": f"{lake}/warehouse", "spark.sql.shuffle.partitions": "1"}
    done = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp).run("identity.py", str(lake), conf=conf)
    assert done.code == 0, done.stderr
    return done


def completed(job):
    return [event for event in job.queries() if event["eventType"] == "COMPLETE"]


def uses(job, kind):
    """Give what is read by each way to read a kind of table."""
    read = {}
    for event in completed(job):
        for output in event["outputs"]:
            sink = output["name"].partition("/sinks/")[2]
            if sink.startswith(f"{kind} "):
                read[sink.removeprefix(f"{kind} ")] = [(d["namespace"], d["name"]) for d in event["inputs"]]
    return read


def written(job, label):
    """Give the datasets that are written by jobs whose name ends so, each with the command."""
    found = {}
    for event in completed(job):
        command, _, own = short_name(event).split(".", 1)[1].partition(".")
        for output in event["outputs"]:
            if own == label:
                found.setdefault((output["namespace"], output["name"]), set()).add(command)
    return found


WAYS = ["sql", "sql in another case", "frame", "path", "path in sql", "stream of the path", "stream of the table"]


@pytest.mark.parametrize(("kind", "place"), [("managed", "warehouse/managed"), ("outside", "outside")])
def test_a_table_of_files_is_what_lies_at_its_location(job, lake, kind, place):
    one = ("file", f"{lake}/{place}")
    assert uses(job, kind) == {way: [one] for way in WAYS}
    by_name = written(job, f"default_{kind}")
    assert list(by_name) == [one]
    words = {word.removeprefix("execute_").removesuffix("_command") for word in by_name[one]}
    # Spark truncates no table whose location the user chose.
    assert words & {"drop_table", "truncate_table"} == {
        "drop_table",
        *(["truncate_table"] if kind == "managed" else []),
    }


def test_what_a_stream_has_written_has_one_name_however_its_path_is_spelled(job, lake):
    one = ("file", f"{lake}/sinks/outside stream of the path")
    assert uses(job, "streamed") == {way: [one] for way in ("path", "relative path", "in URI")}


def test_a_catalogs_entry_for_a_jdbc_table_is_that_table(job):
    one = ("derby:memory:shop", "APP.ORDERS")
    assert uses(job, "jdbc") == {way: [one] for way in ("format", "query", "sql", "frame")}
    assert list(written(job, "default_dim")) == [one]
    assert list(written(job, "APP_ORDERS")) == [one]


def test_the_entry_has_its_name_as_a_symlink(job, lake):
    (read,) = [e for e in completed(job) if e["outputs"] and e["outputs"][0]["name"].endswith("/sinks/jdbc sql")]
    links = [(link["namespace"], link["name"]) for link in read["inputs"][0]["facets"]["symlinks"]["identifiers"]]
    assert links == [(f"file://{lake}/warehouse", "default.dim")]


def test_what_was_not_there_is_not_dropped(job):
    assert "never_made" not in json.dumps([event["outputs"] for event in job.queries()])
    assert "seen" not in json.dumps([event["outputs"] for event in job.queries()])


def test_nothing_is_unknown(job, violations):
    assert violations(job.events()) == []
    assert [
        e["run"]["facets"]["extractionError"] for e in completed(job) if "extractionError" in e["run"]["facets"]
    ] == []
