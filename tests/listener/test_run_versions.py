"""Which versions the states of a run have, from the probe's records of its execution."""

from __future__ import annotations

from typing import Any

import attrs
from openlineage_pyspark.facets.model.dataset import TableVersions
from support.assembled import Assembled

SAVE = "org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand"
V2 = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation"
SPARK_TABLE = "org.apache.iceberg.spark.source.SparkTable"


def plan(snapshot: str | None, path: str) -> dict[str, Any]:
    """Give a write of an Iceberg table's rows to a path."""
    table = {"o": SPARK_TABLE, "name": "ice.db.s", "location": "/lake/s", "provider": "iceberg", "snapshot": snapshot}
    return {
        "classes": [[SAVE, "P", ["query", "path"]], [V2, "P", ["table"]]],
        "types": ["int"],
        "attributes": [[1, "a", 0]],
        "session": {"warehouse": "file:/w", "catalog": "in-memory", "caseSensitive": False},
        "cut": False,
        "nodes": [[0, [], [-1, f"file:{path}"]], [1, [1], [table]]],
    }


def start(id_: int = 3, snapshot: str | None = "5", path: str = "/lake/t", time: int = 1000) -> dict[str, Any]:
    query = {"plan": plan(snapshot, path), "class": SAVE, "command": True}
    return {"k": "start", "id": id_, "root": id_, "time": time, **query}


def end(*versions: str, id_: int = 3, time: int = 3000, **more: Any) -> dict[str, Any]:
    commits = [{"format": "delta", "location": "file:/lake/t", "version": v, "parent": "0"} for v in versions]
    return {"k": "end", "id": id_, "time": time, "commits": commits, **more}


def scan(version: str) -> dict[str, Any]:
    return {"metrics": [{"w": False, "ids": [1], "version": version, "m": {"numOutputRows": 2}}]}


def told(*records: dict[str, Any]) -> list[tuple[str, list[TableVersions | None], list[TableVersions | None]]]:
    """Give the type of each state with the versions of its inputs and of its outputs."""
    runs = Assembled()
    states = [state for record in records for state in runs.feed(record)]
    return [
        (s.event_type, [i.dataset.versions for i in s.inputs], [o.dataset.versions for o in s.outputs]) for s in states
    ]


READ = TableVersions("iceberg", ("5",))


def test_an_output_has_what_the_run_has_committed_when_it_has_completed() -> None:
    written = TableVersions("delta", ("1", "2"), parent="0")

    assert told(start(), end("1", "2")) == [("START", [READ], [None]), ("COMPLETE", [READ], [written])]


def test_a_run_that_failed_has_committed_nothing() -> None:
    error = {"class": "x.Problem", "message": "no", "stack": "x.Problem: no"}

    assert told(start(), end("1", error=error))[1] == ("FAIL", [READ], [None])


def test_a_commit_to_another_table_is_not_told() -> None:
    assert told(start(path="/lake/other"), end("1"))[1] == ("COMPLETE", [READ], [None])


def test_a_commit_that_may_be_that_of_a_run_beside_is_not_told() -> None:
    states = told(start(), start(4), end("1"), end("1", id_=4))

    assert [written for type_, _, written in states if type_ == "COMPLETE"] == [[None], [None]]
    elsewhere = told(start(), start(4, path="/lake/other"), end("1"), end(id_=4))
    assert [written for type_, _, written in elsewhere if type_ == "COMPLETE"] == [
        [TableVersions("delta", ("1",), parent="0")],
        [None],
    ]


def test_an_input_has_the_version_that_was_scanned_if_spark_has_planned_another_than_it_analyzed() -> None:
    assert [read for _, read, _ in told(start(), end(**scan("6")))] == [[READ], [attrs.evolve(READ, ids=("6",))]]
    assert told(start(snapshot=None), end(**scan("6")))[1][1] == [attrs.evolve(READ, ids=("6",))]


def test_the_version_that_a_statement_reads_is_not_remembered_with_the_table() -> None:
    first, second = told(start(), end(), start(4, snapshot="7", time=5000), end(id_=4, time=6000))[1::2]

    assert [first[1], second[1]] == [[READ], [attrs.evolve(READ, ids=("7",))]]
