"""Executions within one another are one run, whatever the listener hears first, and however many there are."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest
from openlineage_pyspark.listener.runs.open_run import MOST_PARTS
from support.assembled import Assembled

EXECUTION = "org.apache.spark.sql.execution."
SAVE = EXECUTION + "datasources.SaveIntoDataSourceCommand"
STREAMED = EXECUTION + "streaming.sources.WriteToMicroBatchDataSourceV1"
FOREACH = EXECUTION + "streaming.sources.ForeachBatchSink"
RELATION = EXECUTION + "datasources.LogicalRelation"
FILES = EXECUTION + "datasources.HadoopFsRelation"


def runs(**more: Any) -> Assembled:
    return Assembled(**more)


def plan(top: str, path: str | None = None, read: str = "/in", column: int = 1) -> dict[str, Any]:
    """Give what the probe sends of a plan that reads a directory, and writes one if it has a path."""
    encoded = {
        "classes": [[top, "P", ["query", "sink" if top == STREAMED else "path"]], [RELATION, "P", ["relation"]]],
        "types": ["int"],
        "attributes": [[column, "a", 0]],
        "session": {"warehouse": "file:/w", "catalog": "in-memory"},
        "cut": False,
        "nodes": [
            [0, [], [-1, {"o": FOREACH} if top == STREAMED else path]],
            [1, [column], [{"o": FILES, "rootPaths": [f"file:{read}"]}]],
        ],
    }
    return {"plan": encoded, "class": top, "command": True}


def save(path: str, read: str = "/in", column: int = 1) -> dict[str, Any]:
    return plan(SAVE, f"file:{path}", read, column)


def start(id_: int, root: int | None = None, **more: Any) -> dict[str, Any]:
    return {"k": "start", "id": id_, "root": id_ if root is None else root, "time": id_ * 1000, **more}


def end(id_: int, **more: Any) -> dict[str, Any]:
    return {"k": "end", "id": id_, "time": id_ * 1000 + 500, **more}


def test_a_run_has_the_settings_of_its_session_from_its_end_where_its_start_has_none() -> None:
    found = runs()

    begun, ended = fed(
        found, start(1), end(1, **save("/out"), session={"spark.sql.ansi.enabled": "true", "schema": "mart"})
    )

    assert begun.session is not None
    assert begun.session == ended.session
    assert (begun.session.settings, begun.session.schema) == ((("spark.sql.ansi.enabled", "true"),), "mart")


def fed(found: Assembled, *records: dict[str, Any]) -> list[Any]:
    return [state for record in records for state in found.feed(record)]


def told(states: list[Any]) -> list[tuple[str, str, list[str]]]:
    """Give of each state its type, its kind of processing and the names that it writes."""
    return [
        (s.event_type, s.job.processing_type, [output.dataset.identifier.name for output in s.outputs]) for s in states
    ]


COUNTED = {"metrics": [{"w": True, "ids": [], "m": {"numOutputRows": 4, "numOutputBytes": 90, "numFiles": 1}}]}


def test_a_write_within_a_write_is_one_run_where_both_plans_come_with_the_ends() -> None:
    """As when the listener's queue is behind: Spark forgets a query that has ended."""
    states = fed(
        runs(), start(1), start(2, root=1), end(2, **save("/table"), **COUNTED), end(1, **save("/table", column=2))
    )

    assert told(states) == [("START", "BATCH", ["/table"]), ("COMPLETE", "BATCH", ["/table"])]
    assert len({state.run_id for state in states}) == 1
    assert [state.event_time.timestamp() for state in states] == [1.0, 1.5]
    assert states[1].outputs[0].statistics.rows == 4


def test_a_write_that_began_with_its_plan_waits_for_the_one_around_it() -> None:
    """The listener has caught up in between."""
    found = runs()

    assert fed(found, start(1), start(2, root=1, **save("/table")), end(2)) == []
    assert [state.event_type for state in fed(found, end(1, **save("/table")))] == ["START", "COMPLETE"]


def test_a_late_write_of_a_micro_batch_belongs_to_its_stream() -> None:
    batch = {**plan(STREAMED), "stream": "s"}
    found = runs()
    states = fed(found, start(1), start(2, root=1), end(2, **save("/table"), **COUNTED), end(1, **batch))
    states += fed(found, {"k": "stream", "event": "QueryTerminatedEvent", "time": 9000, "run": "s"})

    assert told(states) == [("START", "STREAMING", ["/table"]), ("COMPLETE", "STREAMING", ["/table"])]
    assert states[1].outputs[0].statistics.rows == 4


def test_what_one_write_of_foreach_batch_reads_is_no_source_of_another_one() -> None:
    """The source of the query itself is one of both."""
    found = runs()
    states = fed(found, start(1, **plan(STREAMED), stream="s"), start(2, root=1, **save("/a", read="/in")))
    states += fed(found, start(3, root=1, **save("/b", read="/rates")), end(3), end(2), end(1))
    states += fed(found, {"k": "stream", "event": "QueryTerminatedEvent", "time": 9000, "run": "s"})

    made = [[(o.dataset.identifier.name, [each.name for each in o.sources]) for o in s.outputs] for s in states]
    assert made == [[("/a", ["/in"])], [("/a", ["/in"]), ("/b", ["/in", "/rates"])]]


def test_the_output_of_a_stream_or_a_statement_alone_comes_from_all_inputs() -> None:
    stream = plan(STREAMED)
    stream["plan"]["nodes"][0][2][1] = {"o": EXECUTION + "streaming.FileStreamSink", "path": "file:/out"}
    states = fed(runs(), start(1, **stream, stream="s"), start(2, **save("/table")), end(2))

    assert [[output.sources for output in state.outputs] for state in states] == [[None]] * 3


def test_late_writes_within_what_is_no_run_are_runs_of_their_own() -> None:
    states = fed(
        runs(),
        start(1),
        start(2, root=1),
        end(2, **save("/a")),
        start(3, root=1),
        end(3, **save("/b")),
        end(1, read=True),
    )

    assert told(states) == [
        ("START", "BATCH", ["/a"]),
        ("COMPLETE", "BATCH", ["/a"]),
        ("START", "BATCH", ["/b"]),
        ("COMPLETE", "BATCH", ["/b"]),
    ]
    assert [state.event_time.timestamp() for state in states] == [2.0, 2.5, 3.0, 3.5]


def test_a_late_write_is_told_at_the_end_of_the_application_where_its_roots_end_never_came() -> None:
    found = runs()
    assert fed(found, start(1), start(2, root=1), end(2, **save("/a")), start(3, root=1, **save("/b"))) == []

    assert told(found.abandon()) == [
        ("START", "BATCH", ["/a"]),
        ("COMPLETE", "BATCH", ["/a"]),
        ("START", "BATCH", ["/b"]),
        ("ABORT", "BATCH", ["/b"]),
    ]


def test_a_long_stream_keeps_sums_and_counts_every_batch() -> None:
    """Each batch of a file source reads under exprIds of its own."""
    found = runs()
    for number in range(100):
        batch, inner = 2 * number, 2 * number + 1
        scan = {"metrics": [{"w": False, "ids": [inner], "m": {"numOutputRows": 2}}], "written": [3, 30]}
        own = {**plan(STREAMED, column=inner), "stream": "s"}
        fed(found, start(batch, **own), start(inner, root=batch, **save("/table")), end(inner, **COUNTED))
        fed(found, end(batch, **scan))
    (state,) = found.feed({"k": "stream", "event": "QueryTerminatedEvent", "time": 9000, "run": "s"})

    assert (state.inputs[0].dataset.identifier.name, state.inputs[0].statistics.rows) == ("/in", 200)
    assert (state.outputs[0].statistics.rows, state.outputs[0].statistics.bytes) == (400, 9000)


@pytest.mark.long
@pytest.mark.slow
def test_a_streams_memory_does_not_grow_with_its_batches() -> None:
    found = runs()

    def feed_batches(first: int, last: int) -> None:
        for number in range(2 * first, 2 * last, 2):
            own, read = {**plan(STREAMED), "stream": "s"}, {"w": False, "ids": [1], "m": {"numOutputRows": 2}}
            fed(found, start(number, **own), start(number + 1, root=number, **save("/table")))
            fed(found, end(number + 1, **COUNTED), end(number, metrics=[read]))

    feed_batches(0, 100)
    tracemalloc.start()
    feed_batches(100, 2100)
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert grown < 100_000


@pytest.mark.slow
def test_a_run_of_very_many_different_writes_tells_the_first_and_that_there_are_more() -> None:
    found = runs()
    fed(found, start(0, **plan(STREAMED), stream="s"))
    for number in range(1, MOST_PARTS + 3):
        fed(found, start(number, root=0, **save(f"/part/{number}")), end(number))
    (state,) = found.feed({"k": "stream", "event": "QueryTerminatedEvent", "time": 9000, "run": "s"})

    assert len(state.outputs) == MOST_PARTS
    assert [remark.message for remark in state.gaps if remark.task == "nested writes"] == [
        "only the first 1000 of this run's different writes are reported"
    ]


@pytest.mark.parametrize(("known", "begun"), [({}, []), (save("/table"), ["START"])])
def test_a_nested_writes_end_ends_no_run_but_its_own(known: dict[str, Any], begun: list[str]) -> None:
    own = save("/table")
    found = runs()
    states = fed(found, start(1, **known), start(2, root=1), end(2, **own))

    assert [state.event_type for state in states] == begun
    assert fed(found, end(1, **own))[-1].event_type == "COMPLETE"
    assert found.abandon() == []


FROM_T = "FROM t INSERT INTO a SELECT x INSERT OVERWRITE b SELECT y"


def part(text: str, path: str, instance: int = 1, inserts: int = 2) -> dict[str, Any]:
    """Give a plan that is an execution of a statement's text, of which the JVM has that instance."""
    statement = {"class": "Union", "writes": True, "inserts": inserts}
    return {**save(path), "sql": text, "text": instance, "statement": statement}


def test_a_statement_whose_inserts_spark_runs_one_by_one_is_one_run() -> None:
    found = runs()
    first = fed(found, start(1, **part(FROM_T, "/a")), start(2, root=1, **save("/a")), end(2, **COUNTED), end(1))
    second = fed(found, start(3, **part(FROM_T, "/b")), start(4, root=3, **save("/b")), end(4), end(3))

    assert told(first) == [("START", "BATCH", ["/a"])]
    assert told(second) == [("COMPLETE", "BATCH", ["/a", "/b"])]
    assert first[0].run_id == second[0].run_id
    assert second[0].event_time.timestamp() == 3.5
    assert [s.event_type for s in fed(found, start(5, **part(FROM_T, "/a")), end(5))] == ["START"]


def test_the_first_insert_that_fails_ends_its_statement() -> None:
    """Spark begins no other then. The text may be run again."""
    found = runs()
    error = {"error": {"class": "x.Problem", "message": "no", "stack": ""}}
    states = fed(found, start(1, **part(FROM_T, "/a")), end(1, **error))
    states += fed(found, start(2, **part(FROM_T, "/a")), end(2), start(3, **part(FROM_T, "/b")), end(3))

    assert [state.event_type for state in states] == ["START", "FAIL", "START", "COMPLETE"]
    assert len({state.run_id for state in states}) == 2


def test_the_same_text_that_two_threads_run_is_two_statements() -> None:
    found = runs()
    fed(found, start(1, **part(FROM_T, "/a", 7)), start(2, **part(FROM_T, "/a", 8)), end(1), end(2))
    states = fed(found, start(3, **part(FROM_T, "/b", 8)), end(3), start(4, **part(FROM_T, "/b", 7)), end(4))

    assert told(states) == [("COMPLETE", "BATCH", ["/a", "/b"])] * 2


def test_a_statement_of_which_an_insert_never_comes_is_aborted_with_the_application() -> None:
    found = runs()
    fed(found, start(1, **part(FROM_T, "/a")), end(1))

    assert told(found.abandon()) == [("ABORT", "BATCH", ["/a"])]


@pytest.mark.parametrize("inserts", [0, 1])
def test_any_other_statement_is_over_with_its_execution(inserts: int) -> None:
    own = part("INSERT INTO a SELECT insert FROM t", "/a", inserts=inserts)

    assert [s.event_type for s in fed(runs(), start(1, **own), end(1))] == ["START", "COMPLETE"]


def test_a_statement_that_the_parser_was_not_asked_about_is_over_with_its_execution() -> None:
    own = {**save("/a"), "sql": "INSERT INTO a SELECT x", "text": 1}

    assert [s.event_type for s in fed(runs(), start(1, **own), end(1))] == ["START", "COMPLETE"]


def test_a_statement_whose_inserts_are_one_execution_is_over_with_it() -> None:
    """As since Spark 4: what is on top of its plan is no command."""
    own = {**part(FROM_T, "/a"), "command": False}

    assert [s.event_type for s in fed(runs(), start(1, **own), end(1))] == ["START", "COMPLETE"]


def test_a_statement_whose_inner_part_can_not_be_analyzed_fails_once() -> None:
    error = {"class": "AnalysisException", "message": "refused", "stack": ""}
    inner = {"unresolved": "org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand"}
    states = fed(runs(), start(1, **save("/a")), start(2, 1), end(2, error=error, **inner), end(1, error=error))

    assert told(states) == [("START", "BATCH", ["/a"]), ("FAIL", "BATCH", ["/a"])]


def test_a_table_that_is_made_without_columns_has_those_that_spark_finds() -> None:
    schema = '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]}'
    create = plan("org.apache.spark.sql.execution.command.CreateDataSourceTableCommand")
    table = {"o": "org.apache.spark.sql.catalyst.catalog.CatalogTable", "locationUri": "file:/in", "kind": "EXTERNAL"}
    name = {"o": "org.apache.spark.sql.catalyst.TableIdentifier", "table": "t", "database": "d"}
    encoded = create["plan"]
    encoded["classes"][0][2] = ["table"]
    encoded["nodes"] = [[0, [], [{**table, "identifier": name}]]]
    states = fed(runs(), start(1, **create), end(1, schema=schema))

    fields = [[(f.name, f.type) for f in state.outputs[0].dataset.fields] for state in states]
    assert (fields, [state.outputs[0].lifecycle for state in states]) == ([[], [("a", "int")]], [None, None])
