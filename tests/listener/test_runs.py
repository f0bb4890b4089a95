"""From the probe's records to the states of runs, where a record is not what it should be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openlineage_pyspark.facets.model.dataset import Trimming
from openlineage_pyspark.listener.guard import Guard
from support.assembled import Assembled

_LATE = "the job ended before the listener inspected it: its outputs are unknown, and its inputs are known by name only"
COMMAND = "org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand"
# A plan that names a class which its table of classes does not have.
UNREADABLE = {"classes": [], "types": [], "attributes": [], "cut": False, "nodes": [[7, None, []]]}


def runs(guard: Guard | None = None, **more: Any) -> Assembled:
    return Assembled(guard, **more)


def start(**more: Any) -> dict[str, Any]:
    return {"k": "start", "id": 3, "root": 3, "time": 1000, "class": COMMAND, "command": True, **more}


def end(**more: Any) -> dict[str, Any]:
    return {"k": "end", "id": 3, "time": 2000, **more}


def rdd_start(**more: Any) -> dict[str, Any]:
    own = {"write": True, "path": "file:/data/out", "format": "org.apache.hadoop.mapred.TextOutputFormat"}
    return {"k": "rdd_start", "job": 5, "time": 1000, "sources": [], **own, **more}


def told(states: list[Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Give the type of each state and its remarks."""
    return [(s.event_type, [(remark.task, remark.message) for remark in s.gaps]) for s in states]


def test_a_command_whose_plan_the_probe_could_not_read_is_a_run_that_says_so() -> None:
    found = runs()
    states = found.feed(start(fault="java.lang.StackOverflowError: null")) + found.feed(end())

    why = "its lineage is unknown: it could not be read (java.lang.StackOverflowError: null)"
    assert told(states) == [("START", [(COMMAND, why)]), ("COMPLETE", [(COMMAND, why)])]
    assert [state.inputs + state.outputs for state in states] == [(), ()]


def test_a_fault_that_comes_back_at_the_end_begins_no_second_run() -> None:
    found = runs()
    states = found.feed(start(fault="java.lang.Error: a")) + found.feed(
        end(fault="java.lang.Error: a", command=True, **{"class": COMMAND})
    )

    assert [state.event_type for state in states] == ["START", "COMPLETE"]
    assert len({state.run_id for state in states}) == 1


def test_a_query_whose_plan_could_not_be_read_is_a_run_where_reads_are_asked_for() -> None:
    record = start(fault="java.lang.Error: a", command=False)

    assert runs().feed(record) == []
    assert [state.event_type for state in runs(reads=True).feed(record)] == ["START"]


def test_a_plan_that_python_can_not_read_costs_its_lineage_and_never_its_run() -> None:
    guard = Guard()
    found = runs(guard)
    states = found.feed(start(plan=UNREADABLE)) + found.feed(end())

    why = "its lineage is unknown: it could not be read (IndexError, see the log)"
    assert told(states) == [("START", [(COMMAND, why)]), ("COMPLETE", [(COMMAND, why)])]
    assert dict(guard.caught) == {"reading a plan: IndexError": 1}


@pytest.mark.parametrize(
    ("dropped", "lost", "message"),
    [
        (0, 0, "the application ended before this run did"),
        (4, 0, "the end of this run was not reported: Spark dropped 4 events from the listener's queue"),
        (
            0,
            2,
            "the end of this run was not reported: the probe dropped 2 records that the listener did not read in time",
        ),
        (
            4,
            2,
            (
                "the end of this run was not reported: Spark dropped 4 events from the listener's queue"
                " and the probe dropped 2 records that the listener did not read in time"
            ),
        ),
    ],
)
def test_a_run_without_an_end_is_aborted_with_the_application(dropped: int, lost: int, message: str) -> None:
    found = runs()
    found.feed(rdd_start())
    found.pipeline.take(json.dumps({"k": "dropped", "count": dropped}))
    (state,) = found.abandon(lost)

    assert (state.event_type, state.failure.message) == ("ABORT", message)
    assert found.abandon() == []


def test_a_job_of_rdds_has_inputs_an_output_and_what_was_counted() -> None:
    found = runs()
    sources = [
        ["kafka:h:1,h:2", "clicks"],
        "file:/data/in",
        "file:/data/part=1/part-00000",
        "file:/logs/2026-*/x",
        ["jdbc:derby:memory:d", "T"],
    ]
    begun = found.feed(rdd_start(sources=sources))
    (state,) = found.feed({"k": "rdd_end", "job": 5, "time": 2000, "written": [4, 80], "read": 3})

    assert [s.event_type for s in [*begun, state]] == ["START", "COMPLETE"]
    assert state.run_id == begun[0].run_id
    assert (state.job.name, state.job.type) == ("app.save_rdd.data_out", "RDD_JOB")
    names = [(read.dataset.identifier.namespace, read.dataset.identifier.name) for read in state.inputs]
    assert names == [
        ("file", "/data/in"),
        ("file", "/data"),
        ("file", "/logs"),
        ("kafka://h:1", "clicks"),
        ("derby:memory:d", "APP.T"),
    ]
    (output,) = state.outputs
    assert (output.dataset.identifier.name, output.dataset.file_format, output.lineage) == ("/data/out", "text", None)
    assert (output.statistics.rows, output.statistics.bytes) == (4, 80)
    assert state.gaps == ()


def test_a_job_that_reads_and_writes_another_directory_each_day_stays_the_same() -> None:
    def told_of(day: str, path: str) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
        (state,) = runs().feed(rdd_start(path=f"file:{path.format(day)}", sources=[f"file:/in/{day}"]))
        datasets = [*(read.dataset for read in state.inputs), *(written.dataset for written in state.outputs)]
        return state.job.name, [(dataset.identifier.name, dataset.locations) for dataset in datasets]

    name, datasets = told_of("2026-01-02", "/srv/out/{}")
    assert told_of("2026-01-03", "/srv/out/{}")[0] == name
    assert datasets == [("/in", ("/in/2026-01-02",)), ("/srv/out", ("/srv/out/2026-01-02",))]
    # A date in the middle of a path is part of the dataset, and still not of the job.
    name, (_, output) = told_of("2026-01-02", "/srv/{}/out")
    assert told_of("2026-01-03", "/srv/{}/out")[0] == name
    assert output == ("/srv/2026-01-02/out", ())
    whole = runs(trimming=Trimming(())).feed(rdd_start(path="file:/srv/out/2026-01-02"))
    assert [written.dataset.identifier.name for written in whole[0].outputs] == ["/srv/out/2026-01-02"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "app.save_rdd.data_out"),
        ({"append_command": False}, "app.data_out"),
        ({"append_dataset_name": False}, "app.save_rdd"),
        ({"append_command": False, "append_dataset_name": False}, "app.save_rdd"),
        ({"append_command": False, "replace_dots": True}, "app_data_out"),
    ],
)
def test_the_parts_of_a_job_s_name_can_be_chosen(options: dict[str, Any], name: str) -> None:
    """It never has the application's name alone, which is that of another job."""
    (state,) = runs(**options).feed(rdd_start())
    assert state.job.name == name


def test_an_end_of_a_job_that_is_no_run_gives_nothing() -> None:
    found = runs(rdds=False)

    assert found.feed(rdd_start()) == []
    assert found.feed({"k": "rdd_end", "job": 5, "time": 2000}) == []


@pytest.mark.parametrize(
    ("more", "remark"),
    [
        (
            {"path": None, "format": None},
            (
                "RDD",
                _LATE,
            ),
        ),
        (
            {"path": None, "format": "org.apache.hadoop.hbase.mapreduce.TableOutputFormat"},
            (
                "org.apache.hadoop.hbase.mapreduce.TableOutputFormat",
                "an output format without a directory: what it writes is unknown",
            ),
        ),
        (
            {"sources": ["?KafkaRDD"]},
            ("RDD (KafkaRDD)", "a source without a resolver: what it reads is unknown"),
        ),
        (
            {"sources": ["file:/in", "?SQLExecutionRDD"]},
            (
                "RDD (SQLExecutionRDD)",
                "the rows come from a query: the tables that it reads by a broadcast join or a subquery are unknown",
            ),
        ),
    ],
)
def test_what_is_not_known_of_a_job_of_rdds_is_named(more: dict[str, Any], remark: tuple[str, str]) -> None:
    assert told(runs().feed(rdd_start(**more))) == [("START", [remark])]
