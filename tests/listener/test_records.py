"""From the probe's texts to typed records, and what is wrong with a text that is none."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Statistics
from openlineage_pyspark.facets.model.run import Failure
from openlineage_pyspark.listener.probe.records import (
    ApplicationEnded,
    Commit,
    EventsDropped,
    ExecutionEnded,
    ExecutionMetrics,
    ExecutionStarted,
    GeneratedColumn,
    InvalidRecordError,
    ParsedStatement,
    ProbeFault,
    QueryExecution,
    RddJobEnded,
    RddJobStarted,
    Record,
    ScanMetrics,
    StreamStarted,
    StreamTerminated,
    TableDropped,
    TaskMetrics,
    parse,
)

TIME = dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.timezone.utc)
ERROR = {"class": "x.Problem", "message": "no", "stack": "x.Problem: no\n\tat y"}
FAILURE = Failure("no", "JAVA", "x.Problem: no\n\tat y")


def parsed(**members: Any) -> Record:
    return parse(json.dumps(members))


def start(**more: Any) -> ExecutionStarted:
    record = parsed(k="start", id=3, root=1, time=1500, **more)
    assert isinstance(record, ExecutionStarted)
    return record


def end(**more: Any) -> ExecutionEnded:
    record = parsed(k="end", id=3, time=1500, **more)
    assert isinstance(record, ExecutionEnded)
    return record


@pytest.mark.parametrize(
    ("members", "record"),
    [
        ({"k": "start", "id": 3, "root": 1, "time": 1500}, ExecutionStarted(3, 1, TIME)),
        (
            {"k": "start", "id": 3, "root": 1, "time": 1500, "loads": ["a.M", "a.Above"]},
            ExecutionStarted(3, 1, TIME, loads=("a.M", "a.Above")),
        ),
        ({"k": "end", "id": 3, "time": 1500, "error": ERROR}, ExecutionEnded(3, TIME, failure=FAILURE)),
        (
            {"k": "stream", "event": "QueryStartedEvent", "run": "r", "id": "q", "time": 1500, "name": "n"},
            StreamStarted("r", TIME, "n"),
        ),
        (
            {"k": "stream", "event": "QueryTerminatedEvent", "run": "r", "id": "q", "time": 1500, "error": ERROR},
            StreamTerminated("r", TIME, FAILURE),
        ),
        (
            {
                "k": "rdd_start",
                "job": 5,
                "time": 1500,
                "write": True,
                "path": None,
                "format": "x.Format",
                "sources": ["file:/in", ["jdbc:derby:d", {"cut": "(SELECT"}], "?KafkaRDD", None],
            },
            RddJobStarted(
                5,
                TIME,
                writes=True,
                format="x.Format",
                sources=("file:/in", ("jdbc:derby:d", "(SELECT..."), "?KafkaRDD", "?..."),
            ),
        ),
        (
            {"k": "rdd_end", "job": 5, "time": 1500, "written": [4, 80], "read": 3},
            RddJobEnded(5, TIME, None, ExecutionMetrics(tasks=TaskMetrics(3, 4, 80))),
        ),
        (
            {
                "k": "end",
                "id": 3,
                "time": 1500,
                "commits": [
                    {"format": "delta", "location": "file:/t", "version": "0"},
                    {
                        "format": "iceberg",
                        "location": "s3://b/t",
                        "version": "77",
                        "parent": "76",
                        "table": "ice.db.t",
                        "operation": "append",
                        "branch": "audit",
                        "query": "q",
                        "time": 1500,
                        "rows": 2,
                        "bytes": 90,
                        "id": "id of t",
                    },
                    {
                        "format": "delta",
                        "location": "file:/g",
                        "version": "1",
                        "generated": [{"name": "year", "type": "int", "expression": "year(day)"}],
                    },
                ],
            },
            ExecutionEnded(
                3,
                TIME,
                commits=(
                    Commit("delta", "file:/t", "0"),
                    Commit(
                        "iceberg", "s3://b/t", "77", TIME, "76", "ice.db.t", "append", "audit", "q", 2, 90, "id of t"
                    ),
                    Commit("delta", "file:/g", "1", generated=(GeneratedColumn("year", "int", "year(day)"),)),
                ),
            ),
        ),
        ({"k": "application_end", "time": 1500}, ApplicationEnded(TIME)),
        ({"k": "dropped", "count": 4}, EventsDropped(4)),
        ({"k": "table_dropped", "database": "Shop", "table": "T"}, TableDropped("shop.t")),
        ({"k": "fault", "where": "onJobEnd", "message": "x.Error: no"}, ProbeFault("onJobEnd", "x.Error: no")),
    ],
)
def test_each_kind_of_record_has_a_class(members: dict[str, Any], record: Record) -> None:
    assert parsed(**members) == record


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a record is not JSON: Expecting property name"),
        ("[1]", "a record is not a JSON object but of type list"),
        ("{}", "a record has no 'k'"),
        ('{"k":"begin"}', "no record is of the kind 'begin'"),
        ('{"k":"start","id":3,"time":1}', "the record 'start' has no 'root'"),
        ('{"k":"dropped","count":"4"}', "the record 'dropped': 'count' should be a whole number and is of type str"),
        ('{"k":"dropped","count":true}', "the record 'dropped': 'count' should be a whole number and is of type bool"),
        ('{"k":"application_end","time":1e99}', "the record 'application_end': 'time' should be a whole number"),
        ('{"k":"application_end","time":99999999999999999}', "the record 'application_end': 'time' is out of range"),
        (
            '{"k":"end","id":3,"time":1,"error":"canary"}',
            "the record 'end': 'error' is not a JSON object but of type str",
        ),
        (
            '{"k":"end","id":3,"time":1,"metrics":[{"w":false,"ids":["1"],"m":{}}]}',
            "the record 'end': an item of 'metrics': 'ids' should be a list of whole numbers and is of type list",
        ),
    ],
)
def test_a_text_that_is_no_record_says_what_is_wrong_and_quotes_no_value(text: str, message: str) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)
    assert "canary" not in str(caught.value)


def test_what_is_seen_of_a_query_is_typed_and_its_plan_is_decoded_only_when_it_is_asked_for() -> None:
    query = start(plan={"nodes": "no list"}, command=True, stream="s", text=7, sql="INSERT INTO t SELECT 1").query
    plan = query.plan
    assert plan is not None
    assert query == QueryExecution(
        plan=plan,
        is_command=True,
        stream="s",
        sql="INSERT INTO t SELECT 1",
        text_identity=7,
    )
    with pytest.raises(KeyError):
        plan.decode()


def test_a_record_can_not_be_changed() -> None:
    record = end(metrics=[{"w": False, "ids": [1], "m": {"numOutputRows": 2}}])
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        record.metrics.scans[0].read.rows = 5  # type: ignore[misc]
    assert hash(record) == hash(end(metrics=[{"w": False, "ids": [1], "m": {"numOutputRows": 2}}]))


def test_metrics_are_those_of_scans_those_of_writes_and_those_of_tasks() -> None:
    entries = [
        {
            "c": "FileSourceScanExec",
            "w": False,
            "ids": [1, 2],
            "m": {"numOutputRows": 9, "filesSize": 80, "numFiles": 1},
        },
        {"c": "BatchScanExec", "w": False, "ids": [], "m": {"numSplits": 4}},
        {"c": "DataWritingCommandExec", "w": True, "ids": [], "m": {"numOutputRows": 4, "numOutputBytes": 70}},
        {"c": "AppendDataExec", "w": True, "ids": [], "m": {"committedRows": 5}},
    ]
    assert end(metrics=entries, written=[4, 70]).metrics == ExecutionMetrics(
        (ScanMetrics((1, 2), Statistics(9, 80, 1)), ScanMetrics((), Statistics())),
        (Statistics(4, 70), Statistics(5)),
        TaskMetrics(0, 4, 70),
    )


def test_what_the_probe_says_of_a_statement_is_typed() -> None:
    said = {"class": "InsertIntoStatement", "writes": True, "inserts": 2}
    query = end(querySql="SELECT 1", statement=said, command=True).query
    assert query.statement == ParsedStatement("InsertIntoStatement", writes=True, inserts=2)
    assert query.statement_text == "SELECT 1"


@pytest.mark.parametrize(
    ("members", "is_checkpoint", "rdd"),
    [
        ({"checkpoint": True, "rdd": 7}, True, 7),
        ({"checkpoint": True}, True, None),
        ({"name": "collect"}, False, None),
        ({}, False, None),
    ],
)
def test_a_checkpoint_is_told_apart(members: dict[str, Any], rdd: int | None, *, is_checkpoint: bool) -> None:
    assert (end(**members).is_checkpoint, end(**members).rdd) == (is_checkpoint, rdd)


def text_of_statement(**texts: Any) -> str | None:
    return start(**texts).query.statement_text


def statement(*, writes: bool) -> dict[str, Any]:
    return {"class": "CreateTableAsSelect" if writes else "Project", "writes": writes, "inserts": 0}


def test_the_text_of_a_query_within_is_the_statements_where_that_writes() -> None:
    text = "CREATE TABLE t AS SELECT 1"
    assert text_of_statement(querySql=text, statement=statement(writes=True)) == text


@pytest.mark.parametrize("known", [{}, {"statement": statement(writes=False)}])
def test_the_text_of_a_mere_query_or_of_what_is_not_known_is_not(known: dict[str, Any]) -> None:
    assert text_of_statement(querySql="SELECT 1", **known) is None


def test_the_statements_own_text_goes_before_all() -> None:
    assert text_of_statement(sql="SELECT 1", statement=statement(writes=False)) == "SELECT 1"
    assert text_of_statement() is None
