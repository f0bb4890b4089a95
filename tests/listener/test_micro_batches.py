"""The micro-batches of streaming queries: which ones are told, in which events, and what is said of them."""

from __future__ import annotations

import datetime as dt
import gc
import json
from typing import Any

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.listener.probe.records import StreamProgressed, parse
from openlineage_pyspark.listener.runs.micro_batches import MOST_CHARACTERS
from support.assembled import Assembled

V2 = "org.apache.spark.sql.execution.datasources.v2."
STREAMING = "org.apache.spark.sql.execution.streaming."
TO_V1 = STREAMING + "sources.WriteToMicroBatchDataSourceV1"
SAVE = "org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand"
UNION = "org.apache.spark.sql.catalyst.plans.logical.Union"
LOCAL = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"
RELATION = V2 + "StreamingDataSourceV2Relation"
TABLE = "com.example.OrdersTable"
QUERY = "11111111-0000-4000-8000-000000000001"
CHECKPOINT = "file:/check/orders"


def began(batch: int) -> str:
    return (dt.datetime(2026, 1, 2) + dt.timedelta(seconds=batch)).isoformat(timespec="milliseconds") + "Z"


def progress(batch: int, time: int, *sources: dict[str, Any], **more: Any) -> dict[str, Any]:
    listed = list(sources) or [source("Orders", batch)]
    rows = sum(each["rows"] for each in listed)
    own = {"duration": 5, "executed": True, "rows": rows, "sources": listed, "sink": "ForeachBatchSink"}
    ids = {"run": "s", "query": QUERY, "batch": batch, "began": began(batch), "time": time}
    return {"k": "progress", **ids, **own, **more}


def source(description: str, batch: int, rows: int = 1, **more: Any) -> dict[str, Any]:
    start = {} if batch == 0 else {"from": f'{{"at":{batch - 1}}}'}
    return {"description": description, "rows": rows, **start, "to": f'{{"at":{batch}}}', **more}


def leaf(name: str | None, column: int) -> list[Any]:
    """Give a leaf with a table of that name, or one without new data."""
    if name is None:
        return [3, [column], [None, True]]
    return [1, [column], [{"o": TABLE, "name": name}]]


def batch_plan(batch: int, *names: str | None) -> dict[str, Any]:
    """Give a micro-batch for `foreachBatch` over the union of some sources."""
    classes = [
        [TO_V1, "P", ["sink", "query"]],
        [RELATION, "P", ["table"]],
        [UNION, "P", ["children"]],
        [LOCAL, "P", ["output", "isStreaming"]],
    ]
    leaves = [leaf(name, column) for column, name in enumerate(names, start=1)]
    sink = {"o": STREAMING + "sources.ForeachBatchSink"}
    union = [2, [1], [[-place for place in range(2, 2 + len(leaves))]]]
    plan = {
        "classes": classes,
        "types": ["int"],
        "attributes": [[column, "a", 0] for column in range(1, len(leaves) + 1)],
        "session": {"warehouse": "file:/w", "catalog": "in-memory", "caseSensitive": False},
        "cut": False,
        "nodes": [[0, [], [sink, -1]], union, *leaves],
    }
    about = {"id": batch, "query": QUERY, "checkpoint": CHECKPOINT}
    return {"plan": plan, "class": TO_V1, "stream": "s", "batch": about}


def save(path: str) -> dict[str, Any]:
    classes = [[SAVE, "P", ["query", "path"]], ["org.apache.spark.sql.execution.LogicalRDD", "P", []]]
    plan = {**batch_plan(0, "x")["plan"], "classes": classes}
    plan["nodes"] = [[0, [], [-1, f"file:{path}"]], [1, [1], []]]
    return {"plan": plan, "class": SAVE, "command": True}


def executions(batch: int, *names: str | None, outputs: tuple[str, ...] = ("/out",)) -> list[dict[str, Any]]:
    """Give the records of a micro-batch that writes one row to each output."""
    root = batch * 10 + 1
    time = batch * 1000
    found = [{"k": "start", "id": root, "root": root, "time": time, **batch_plan(batch, *(names or ("Orders",)))}]
    for at, path in enumerate(outputs, start=1):
        inner = root + at
        written = [{"w": True, "ids": [], "m": {"numOutputRows": at}}]
        found += [
            {"k": "start", "id": inner, "root": root, "time": time, **save(path)},
            {"k": "end", "id": inner, "time": time, "metrics": written},
        ]
    return [*found, {"k": "end", "id": root, "time": time, "metrics": []}]


def committing(records: list[dict[str, Any]], *versions: str) -> list[dict[str, Any]]:
    """Let each write of a batch commit a version, in order."""
    left = iter(versions)
    found = []
    for record in records:
        inner = record["k"] == "end" and record["id"] % 10 != 1
        version = next(left) if inner else ""
        commit = {"format": "delta", "location": "file:/out", "version": version, "parent": str(int(version or 1) - 1)}
        found.append({**record, "commits": [commit]} if inner else record)
    return found


def started(**more: Any) -> dict[str, Any]:
    return {"k": "stream", "event": "QueryStartedEvent", "time": 0, "run": "s", "query": QUERY, **more}


def ended(time: int, **more: Any) -> dict[str, Any]:
    return {"k": "stream", "event": "QueryTerminatedEvent", "time": time, "run": "s", "query": QUERY, **more}


def fed(found: Assembled, *records: dict[str, Any]) -> list[Any]:
    return [state for record in records for state in found.feed(record)]


def told(states: list[Any]) -> list[tuple[str, list[int]]]:
    """Give the type of each state, and the numbers of the batches that it lists."""
    return [(state.event_type, [batch.id for batch in state.stream.batches]) for state in states]


def sources(state: Any) -> tuple[list[str], list[str]]:
    """Give the names of what a state reads, and of what its one output comes from."""
    (output,) = state.outputs
    edges = output.lineage.columns[0].edges
    return [each.dataset.identifier.name for each in state.inputs], [edge.dataset.name for edge in edges]


@pytest.mark.parametrize("first", [("Orders", None), (None, "Refunds"), (None, None)])
def test_a_source_without_new_data_in_the_first_batches_is_told_as_soon_as_it_has_some(
    first: tuple[str | None, str | None],
) -> None:
    """A query that is started again begins with a batch of one source, or of none."""
    states = fed(
        Assembled(batch_interval=60.0),
        *executions(0, *first),
        progress(0, 1000),
        *executions(1, "Orders", "Refunds"),
        progress(1, 2000),
        *executions(2, *first),
        progress(2, 3000),
        ended(4000),
    )

    both = ["Orders", "Refunds"]
    assert (states[-1].event_type, *map(sorted, sources(states[-1]))) == ("COMPLETE", both, both)


def to_files(record: dict[str, Any]) -> dict[str, Any]:
    """Give the start of a micro-batch that Spark itself writes to files, and not a function."""
    text = json.dumps(record).replace('sources.ForeachBatchSink"', 'FileStreamSink", "path": "file:/out"')
    changed: dict[str, Any] = json.loads(text)
    return changed


def test_a_source_without_new_data_in_the_first_batch_of_a_sink_of_files_is_told_too() -> None:
    def batch(number: int, *names: str | None) -> list[dict[str, Any]]:
        first, *_, last = executions(number, *names)
        return [to_files(first), {**last, "metrics": [{"w": True, "ids": [], "m": {"numOutputRows": 1}}]}]

    records = [*batch(0, "Orders", None), progress(0, 1000), *batch(1, "Orders", "Refunds"), progress(1, 2000)]
    states = fed(Assembled(batch_interval=60.0), *records, ended(3000))

    assert [state.event_type for state in states] == ["START", "COMPLETE"]
    assert sources(states[0]) == (["Orders"], ["Orders"])
    assert sources(states[-1]) == (["Orders", "Refunds"], ["Orders", "Refunds"])


def test_batches_are_told_by_time_and_the_rest_at_the_end() -> None:
    found = Assembled(batch_interval=60.0)
    records = [started(name="orders")]
    for batch, time in enumerate((1000, 59_000, 61_000, 62_000)):
        records += [*executions(batch), progress(batch, time)]
    states = fed(found, *records, ended(63_000))

    assert told(states) == [("START", []), ("RUNNING", [0, 1, 2]), ("COMPLETE", [3])]
    assert {(s.stream.id, s.stream.run, s.stream.name, s.stream.checkpoint, s.stream.continues) for s in states} == {
        (QUERY, "s", "orders", CHECKPOINT, False)
    }
    assert len({state.run_id for state in states}) == 1
    assert [[each.dataset.identifier.name for each in s.inputs + s.outputs] for s in states] == [["Orders", "/out"]] * 3


@pytest.mark.parametrize(
    ("interval", "events"),
    [
        (0.0, [("START", []), ("RUNNING", [0]), ("RUNNING", [1]), ("RUNNING", [2]), ("COMPLETE", [])]),
        (-1.0, [("START", []), ("COMPLETE", [0, 1, 2])]),
    ],
)
def test_each_batch_or_only_the_end_may_have_an_event(interval: float, events: Any) -> None:
    records = [started()]
    for batch in range(3):
        records += [*executions(batch), progress(batch, 1000)]
    states = fed(Assembled(batch_interval=interval), *records, ended(1000))

    assert told(states) == events
    # The time is what tells the RUNNING events of a run apart.
    assert len({state.event_time for state in states}) == len(states)
    assert states == sorted(states, key=lambda state: state.event_time)


def test_batches_wait_for_no_further_one_once_they_are_due() -> None:
    found = Assembled(batch_interval=60.0)
    fed(found, started(), *executions(0), progress(0, 5000))
    at = [dt.datetime.fromtimestamp(seconds, dt.timezone.utc) for seconds in (59, 60, 200)]

    assert [told(found.pipeline.due(time)) for time in at] == [[], [("RUNNING", [0])], []]


def test_what_a_batch_read_and_wrote_is_listed_with_it() -> None:
    records = executions(3, outputs=("/all", "/some", "/all"))
    mark = {"watermark": "2026-01-02T03:04:05.678Z"}
    states = fed(Assembled(), started(), *records, progress(3, 9, source("Orders", 3, 7), **mark), ended(10))
    (batch,) = states[-1].stream.batches
    (read,) = batch.sources

    assert (batch.id, batch.time.isoformat(), batch.duration, batch.rows) == (3, "2026-01-02T00:00:03+00:00", 5, 7)
    assert batch.watermark.isoformat() == "2026-01-02T03:04:05.678000+00:00"
    assert read.dataset == Identifier("datasource:OrdersTable", "Orders")
    assert (read.description, read.start, read.end, read.rows) == ("Orders", '{"at":2}', '{"at":3}', 7)
    assert [(sink.dataset.name, sink.rows, sink.version) for sink in batch.sinks] == [
        ("/all", 4, None),
        ("/some", 2, None),
    ]
    assert states[-1].stream.continues


def test_each_commit_of_a_batch_is_a_sink_of_its_own() -> None:
    records = committing(executions(0, outputs=("/out", "/out")), "4", "5")
    states = fed(Assembled(), started(), *records, progress(0, 9), ended(10))
    (batch,) = states[-1].stream.batches

    assert [(sink.dataset.name, sink.version, sink.parent, sink.rows) for sink in batch.sinks] == [
        ("/out", "4", "3", 1),
        ("/out", "5", "4", 2),
    ]


@pytest.mark.parametrize("overwriting", [0, 1])
def test_a_batch_that_overwrites_once_and_appends_once_has_overwritten_the_dataset(overwriting: int) -> None:
    records = executions(0, outputs=("/out", "/out"))
    written = [record for record in records if record["k"] == "start"][1:][overwriting]
    written["plan"]["classes"][0][2].append("mode")
    written["plan"]["nodes"][0][2].append("Overwrite")
    states = fed(Assembled(), started(), *records, progress(0, 9), ended(10))
    (batch,) = states[-1].stream.batches

    assert [(sink.dataset.name, sink.rows, sink.change) for sink in batch.sinks] == [("/out", 3, "OVERWRITE")]


@pytest.mark.parametrize(("around", "change"), [("Append", None), ("ErrorIfExists", "CREATE")])
def test_a_write_inside_a_statement_of_the_batch_changes_what_the_statement_says(
    around: str, change: str | None
) -> None:
    """As the first `saveAsTable` that appends: the write inside it overwrites an empty folder."""
    batch, outer, outer_end, inner, inner_end, batch_end = executions(0, outputs=("/out", "/out"))
    for record, mode in ((outer, around), (inner, "Overwrite")):
        record["plan"]["classes"][0][2].append("mode")
        record["plan"]["nodes"][0][2].append(mode)
    records = (batch, outer, inner, inner_end, {**outer_end, "metrics": []}, batch_end)
    states = fed(Assembled(), started(), *records, progress(0, 9), ended(10))
    (told_batch,) = states[-1].stream.batches

    assert [(sink.dataset.name, sink.rows, sink.change) for sink in told_batch.sinks] == [("/out", 2, change)]


def test_what_a_failed_batch_has_committed_all_the_same_is_said() -> None:
    error = {"class": "java.lang.Error", "message": "a", "stack": "a"}
    failed = committing(executions(1, outputs=("/out", "/out")), "4", "5")
    failed = [{**record, "error": error} if record.get("id") in (11, 13) else record for record in failed]
    failed = [{**record, "commits": []} if "error" in record else record for record in failed]
    states = fed(Assembled(), started(), *executions(0), progress(0, 10), *failed, ended(20, error=error))

    assert told(states)[-1] == ("FAIL", [0])
    assert [gap.message for gap in states[-1].gaps] == [
        "batch 1 was not completed, and is not listed; it has committed version 4 of /out"
    ]


def test_inputs_have_the_last_version_that_a_batch_has_read() -> None:
    path = "com.example.lake/orders"
    listed = [{**source(path, batch), "to": f'{{"reservoirVersion":{batch + 7},"index":0}}'} for batch in (0, 1)]
    found = Assembled(batch_interval=0.0)
    states = fed(found, started(), *executions(0), progress(0, 1, listed[0]), *executions(1), progress(1, 2, listed[1]))
    batches = [state.stream.batches for state in states]

    assert [[each.sources[0].version for each in listed] for listed in batches] == [[], ["7"], ["8"]]


def test_a_trigger_without_a_batch_and_a_batch_that_is_told_again_are_none() -> None:
    idle = progress(1, 20, executed=False)
    del idle["executed"]
    nothing = progress(1, 30, source("Orders", 1, 0))
    states = fed(Assembled(), started(), *executions(0), progress(0, 10), idle, progress(0, 11))
    # Spark runs batches without rows to drop old state: they commit too.
    states += fed(Assembled(), started(), *executions(0), progress(0, 10), idle, *executions(1), nothing, ended(40))

    assert told(states)[-1] == ("COMPLETE", [0, 1])
    assert [batch.rows for batch in states[-1].stream.batches] == [1, None]


def test_a_restart_is_a_new_run_of_the_same_job_that_continues_the_query() -> None:
    found = Assembled()
    first = fed(found, started(), *executions(0), progress(0, 10), ended(20))
    again = [
        {**record, **({"run": "t"} if "run" in record else {}), **({"stream": "t"} if "stream" in record else {})}
        for record in (started(), *executions(1), progress(1, 30), ended(40))
    ]
    second = fed(found, *again)

    assert told(second) == [("START", []), ("COMPLETE", [1])]
    assert first[0].run_id != second[0].run_id
    assert first[0].job == second[0].job
    assert [s.stream.continues for s in (*first, *second)] == [False, False, True, True]
    assert {s.stream.id for s in (*first, *second)} == {QUERY}
    assert [s.stream.run for s in second] == ["t", "t"]


def test_a_batch_that_fails_is_not_listed() -> None:
    error = {"class": "java.lang.Error", "message": "a", "stack": "a"}
    failed = [{**record, "error": error} if record.get("id") == 11 else record for record in executions(1)]
    states = fed(Assembled(), started(), *executions(0), progress(0, 10), *failed, ended(20, error=error))

    assert told(states) == [("START", []), ("FAIL", [0])]


def test_the_end_of_the_application_tells_the_rest() -> None:
    found = Assembled()
    fed(found, started(), *executions(0), progress(0, 10))

    assert told(found.abandon()) == [("ABORT", [0])]


def test_batches_that_spark_did_not_report_are_said_to_be_missing() -> None:
    states = fed(Assembled(), started(), *executions(0), progress(0, 10), *executions(4), progress(4, 20), ended(30))

    assert told(states)[-1] == ("COMPLETE", [0, 4])
    assert [(gap.task, gap.message) for gap in states[-1].gaps] == [
        ("micro-batches", "Spark did not report the batches 1 to 3: they are not listed")
    ]


def test_sources_are_the_leaves_of_the_plan_in_their_order_also_where_some_are_idle() -> None:
    names = ("A", "B", "C")
    records = [started()]
    for batch, plan in enumerate([("A", None, None), (None, "B", None), ("A", "B", None), ("A", "B", "C")]):
        listed = [source(f"com.example.Stream@{place}f", batch, int(plan[place] is not None)) for place in range(3)]
        records += [*executions(batch, *plan), progress(batch, 10 + batch, *listed)]
    states = fed(Assembled(), *records, ended(60))

    batches = states[-1].stream.batches
    # Once it is known what a source is, it is so for the batches before too.
    assert [[each.dataset.name for each in batch.sources] for batch in batches] == [list(names)] * 4
    assert {each.description for batch in batches for each in batch.sources} == {"com.example.Stream"}
    assert states[-1].gaps == ()


def test_a_source_that_can_not_be_told_has_no_name_and_that_is_said() -> None:
    # Both are read, and Spark lists one more source than the plan has.
    listed = [source(f"com.example.Stream@{place}f", 0) for place in range(3)]
    states = fed(Assembled(), started(), *executions(0, "A", "B"), progress(0, 10, *listed), ended(20))

    (batch,) = states[-1].stream.batches
    assert [each.dataset for each in batch.sources] == [None] * 3
    assert [gap.message for gap in states[-1].gaps] == [
        "it is unknown which input the source com.example.Stream is",
    ]


@pytest.mark.parametrize(("wrote", "rows"), [(1, [None, 0]), (0, [0, 0])])
def test_rows_are_not_said_to_be_none_if_a_batch_has_written_some_and_its_plan_has_counted_none(
    wrote: int, rows: list[int | None]
) -> None:
    """The source that has no new data has none."""
    written = executions(0, "Orders", "Refunds")
    written[-2]["metrics"] = [{"w": True, "ids": [], "m": {"numOutputRows": wrote}}]
    written[-1]["metrics"] = [{"w": False, "ids": [1], "m": {"numOutputRows": 0}}]
    idle = {"description": "Refunds", "rows": 0, "from": "1", "to": "1"}
    listed = progress(0, 10, source("Orders", 0, 0), idle)
    (batch,) = fed(Assembled(), started(), *written, listed, ended(20))[-1].stream.batches

    assert [each.rows for each in batch.sources] == rows
    assert batch.rows == (None if None in rows else 0)


def test_rows_that_spark_can_not_assign_to_a_source_are_not_said_to_be_none() -> None:
    listed = [source("A", 1, 0), {**source("B", 1, 0), "from": '{"at":1}'}]
    states = fed(Assembled(), started(), *executions(1, "A", None), progress(1, 10, *listed), ended(20))

    (batch,) = states[-1].stream.batches
    assert ([each.rows for each in batch.sources], batch.rows) == ([None, 0], None)


def test_offsets_that_were_too_long_are_said_to_be_left_out() -> None:
    listed = [{"description": "Orders", "rows": 1, "cut": True}]
    states = fed(Assembled(), started(), *executions(0), progress(0, 10, *listed), ended(20))

    assert [gap.message for gap in states[-1].gaps] == ["an offset is left out because it is too long"]


@pytest.fixture
def most_batches(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have an event list few batches, so that it takes few to be too many."""
    monkeypatch.setattr("openlineage_pyspark.listener.runs.micro_batches.MOST_BATCHES", 20)
    return 20


def test_a_query_that_writes_nothing_is_no_run_and_keeps_only_its_last_batches(most_batches: int) -> None:
    found = Assembled()
    records = [started()]
    for batch in range(30):
        records += [*executions(batch, outputs=()), progress(batch, batch)]
    assert fed(found, *records) == []
    states = fed(found, *executions(30), progress(30, 31), ended(32))

    assert [type_ for type_, _ in told(states)] == ["START", "RUNNING", "COMPLETE"]
    listed = [each for _, ids in told(states) for each in ids]
    assert listed == list(range(31 - len(listed), 31))
    assert most_batches <= len(listed) < 30
    forgotten = f"{31 - len(listed)} batches before the first write are not listed"
    assert [gap.message for gap in states[-1].gaps] == [forgotten]


REFUSED = {"class": "x.Error", "message": "no", "stack": ""}


def test_a_query_that_fails_before_its_first_batch_is_a_failed_run_without_datasets() -> None:
    states = fed(Assembled(), started(name="orders"), ended(9, error=REFUSED))

    assert [type_ for type_, _ in told(states)] == ["START", "FAIL"]
    assert {state.job.name for state in states} == {"app.streaming_query.orders"}
    assert [(state.inputs, state.outputs) for state in states] == [((), ())] * 2
    assert [state.event_time.timestamp() for state in states] == [0, 0.009]
    assert fed(Assembled(), started(), ended(9)) == []


def test_a_query_whose_function_for_each_batch_fails_before_it_writes_is_a_failed_run_with_its_inputs() -> None:
    states = fed(Assembled(), started(), *executions(0, outputs=()), ended(9, error=REFUSED))

    assert [type_ for type_, _ in told(states)] == ["START", "FAIL"]
    assert [[each.dataset.identifier.name for each in state.inputs] for state in states] == [["Orders"]] * 2
    assert [state.outputs for state in states] == [(), ()]


def test_a_query_that_writes_nothing_tells_all_its_batches_where_reads_are_asked_for(most_batches: int) -> None:
    found = Assembled(reads=True)
    records = [started()]
    for batch in range(most_batches + 5):
        records += [*executions(batch, outputs=()), progress(batch, batch)]
    states = fed(found, *records, ended(60))

    assert [type_ for type_, _ in told(states)] == ["START", "RUNNING", "COMPLETE"]
    assert [each for _, ids in told(states) for each in ids] == list(range(most_batches + 5))


def test_an_event_lists_no_more_batches_than_its_bounds_allow() -> None:
    long = "x" * (MOST_CHARACTERS // 5)
    records = [started()]
    for batch in range(8):
        records += [*executions(batch), progress(batch, batch, source("Orders", batch, to=f'"{long}"'))]
    states = fed(Assembled(batch_interval=-1.0), *records, ended(60))

    assert told(states) == [("START", []), ("RUNNING", [0, 1, 2, 3]), ("COMPLETE", [4, 5, 6, 7])]


@pytest.mark.long
@pytest.mark.slow
def test_a_hundred_thousand_batches_are_each_told_once_in_flat_memory() -> None:
    found, told_so_far, held = Assembled(batch_interval=-1.0), 0, list[int]()
    fed(found, started(), *executions(0))
    template = parse(json.dumps(progress(0, 0)))
    assert isinstance(template, StreamProgressed)
    for batch in range(100_000):
        for state in found.pipeline.states(attrs.evolve(template, batch=batch)):
            ids = [each.id for each in state.stream.batches]
            assert ids == list(range(told_so_far, told_so_far + len(ids)))
            told_so_far += len(ids)
        if batch % 25_000 == 24_999:
            gc.collect()
            held.append(len(gc.get_objects()))
    (end,) = fed(found, ended(200_000))

    assert [each.id for each in end.stream.batches] == list(range(told_so_far, 100_000))
    # One event lists a thousand of them at most.
    assert max(held) - min(held) < 10_000
