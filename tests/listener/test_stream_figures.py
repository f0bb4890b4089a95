"""What a streaming query's run counts, and how its job is named, from the records of its micro-batches."""

from __future__ import annotations

import re
from typing import Any

import pytest
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Dataset, Identifier
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.runs.open_run import output_label, stream_label
from support.assembled import Assembled

V2 = "org.apache.spark.sql.execution.datasources.v2."
STREAMING = "org.apache.spark.sql.execution.streaming."
TO_V2 = STREAMING + "sources.WriteToMicroBatchDataSource"
TO_V1 = STREAMING + "sources.WriteToMicroBatchDataSourceV1"
SAVE = "org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand"
TABLE = "com.example.OrdersTable"
END = {"k": "stream", "event": "QueryTerminatedEvent", "time": 9000, "run": "s"}


def encoded(classes: list[Any], nodes: list[Any], *columns: int) -> dict[str, Any]:
    return {
        "classes": classes,
        "types": ["int"],
        "attributes": [[column, "a", 0] for column in columns],
        "session": {"warehouse": "file:/w", "catalog": "in-memory", "caseSensitive": False},
        "cut": False,
        "nodes": nodes,
    }


def source(name: str) -> list[Any]:
    return [1, [1], [{"o": TABLE, "name": name}]]


def to_table(name: str = "out") -> dict[str, Any]:
    """Give a micro-batch from a table of DataSource V2 into another one, as Spark 4.1 and older know it."""
    classes = [[TO_V2, "P", ["table", "query"]], [V2 + "DataSourceV2Relation", "P", ["table"]]]
    plan = encoded(classes, [[0, [], [{"o": TABLE, "name": name}, -1]], source("in")], 1)
    return {"plan": plan, "class": TO_V2, "stream": "s"}


def to_foreach(name: str = "in") -> dict[str, Any]:
    sink = {"o": STREAMING + "sources.ForeachBatchSink"}
    classes = [[TO_V1, "P", ["sink", "query"]], [V2 + "DataSourceV2Relation", "P", ["table"]]]
    return {"plan": encoded(classes, [[0, [], [sink, -1]], source(name)], 1), "class": TO_V1, "stream": "s"}


def save(path: str, mode: str = "Append") -> dict[str, Any]:
    """Give a write of a micro-batch's rows, which have the exprIds of the source."""
    classes = [[SAVE, "P", ["query", "path", "mode"]], ["org.apache.spark.sql.execution.LogicalRDD", "P", []]]
    nodes = [[0, [], [-1, f"file:{path}", mode]], [1, [1], []]]
    return {"plan": encoded(classes, nodes, 1), "class": SAVE, "command": True}


def scan(rows: int) -> dict[str, Any]:
    return {"w": False, "ids": [1], "m": {"numOutputRows": rows}}


def write(rows: int, **more: int) -> dict[str, Any]:
    return {"w": True, "ids": [], "m": {"committedRows": rows, **more}}


def start(id_: int, root: int, more: dict[str, Any]) -> dict[str, Any]:
    return {"k": "start", "id": id_, "root": root, "time": id_, **more}


def end(id_: int, *metrics: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"k": "end", "id": id_, "time": id_, "metrics": list(metrics), **more}


def last(*records: dict[str, Any]) -> Any:
    """Give the last state that comes of the records, and of the end of their query."""
    found = Assembled()
    return [state for record in (*records, END) for state in found.feed(record)][-1]


def figures(state: Any) -> tuple[list[Any], list[Any]]:
    """Give the rows of each input, and the rows and bytes of each output."""
    read = [each.statistics and each.statistics.rows for each in state.inputs]
    return read, [each.statistics and (each.statistics.rows, each.statistics.bytes) for each in state.outputs]


def test_the_execution_in_a_micro_batch_that_repeats_its_plan_counts_no_row_again() -> None:
    """Only its tasks know the bytes."""
    both = (write(4), scan(4))
    records = [
        record
        for batch in (2, 4)
        for record in (
            start(batch, batch, to_table()),
            start(batch + 1, batch, to_table()),
            end(batch + 1, *both, written=[4, 90]),
            end(batch, *both),
        )
    ]
    state = last(*records)

    assert figures(state) == ([8], [(8, 180)])
    assert [state.outputs[0].dataset.identifier, state.gaps] == [Identifier("datasource:OrdersTable", "out"), ()]


def test_each_output_of_a_micro_batch_has_its_own_figures_and_the_source_is_counted_once() -> None:
    state = last(
        start(1, 1, to_foreach()),
        start(2, 1, save("/all")),
        end(2, scan(3), write(3, numOutputBytes=30)),
        start(3, 1, save("/some")),
        # A write may consist of several executions.
        start(4, 1, {"read": True}),
        end(4, scan(3), write(1, numOutputBytes=10)),
        end(3),
        end(1, scan(3)),
    )

    assert [each.dataset.identifier.name for each in state.outputs] == ["/all", "/some"]
    assert figures(state) == ([3], [(3, 30), (1, 10)])


@pytest.mark.parametrize(("wrote", "figure"), [(3, None), (0, 0)])
def test_rows_that_a_sink_computes_by_itself_are_not_said_to_be_none(wrote: int, figure: int | None) -> None:
    """On Spark 4.1, Delta Lake's sink runs a plan of its own: nothing is counted in that of the micro-batch."""
    state = last(start(1, 1, to_table()), end(1, scan(0), write(wrote)))

    assert figures(state) == ([figure], [(wrote, None)])


def test_what_belongs_to_none_of_several_outputs_is_left_out() -> None:
    """Threads may write both at a time."""
    state = last(
        start(1, 1, to_foreach()),
        start(2, 1, save("/a")),
        start(3, 1, save("/b")),
        start(4, 1, {"read": True}),
        end(4, write(7)),
        end(3, write(2)),
        end(2),
        end(1),
    )

    assert figures(state) == ([None], [None, (2, None)])


def test_a_query_that_another_ones_micro_batch_starts_counts_for_itself() -> None:
    """Its thread inherits the id of the execution that started it."""
    inner = {**to_table("inner"), "stream": "t"}
    found = Assembled()
    records = [
        start(1, 1, to_foreach()),
        start(2, 1, save("/all")),
        start(3, 1, inner),
        end(3, write(5)),
        end(2, write(3)),
    ]
    for record in [*records, end(1)]:
        found.feed(record)
    (inner_end,), (outer_end,) = found.feed({**END, "run": "t"}), found.feed(END)

    assert figures(inner_end)[1] == [(5, None)]
    assert figures(outer_end)[1] == [(3, None)]


def test_a_job_that_is_named_by_what_it_writes_has_no_options_in_its_name() -> None:
    state = last(start(1, 1, to_table("Orders(rate=5, cores=8)")), end(1))

    assert re.fullmatch(r"app\.streaming_query\.Orders_[0-9a-f]{6}", state.job.name)


def test_a_query_without_a_name_is_named_by_what_it_writes_also_in_foreach_batch() -> None:
    state = last(start(1, 1, to_foreach()), start(2, 1, save("/data/all")), end(2), end(1))
    started = {"k": "stream", "event": "QueryStartedEvent", "time": 1, "run": "s", "name": "My Query"}
    named = last(started, start(1, 1, to_foreach()), start(2, 1, save("/data/all")), end(2), end(1))

    assert state.job.name == "app.streaming_query.data_all"
    assert named.job.name == "app.streaming_query.my_query"


@pytest.mark.parametrize(
    ("namespace", "name", "label"),
    [
        ("datasource:OrdersTable", "Orders(rate=5, cores=8)", "orders_table"),
        ("datasource:OrdersTable", "Orders[host:99]", "orders_table"),
        ("datasource:PythonTable", "my_source", "my_source"),
        ("kafka://h:9092", "clicks", "clicks"),
        ("file", "/data/orders (old)", "orders_old"),
    ],
)
def test_a_job_that_is_named_by_what_it_reads_has_no_options_in_its_name(namespace: str, name: str, label: str) -> None:
    part = PlanLineage(inputs=(Dataset(Identifier(namespace, name)),))

    assert output_label(part, DEFAULT_TRIMMING) == stream_label(None, [part], DEFAULT_TRIMMING) == label
    written = PlanLineage(outputs=(WrittenDataset(Write(Dataset(Identifier("file", "/x")), label="x"), None),))
    assert stream_label(None, [part, written], DEFAULT_TRIMMING) == "x"


@pytest.mark.parametrize(
    "folder", ["/data/out/{}", "/data/out/batch_{}", "/data/out/batchId={}", "/data/out/epoch-00{}", "/data/out/{}.csv"]
)
def test_folders_of_the_number_of_a_batch_are_one_output_and_one_job(folder: str) -> None:
    def run(first: int) -> tuple[str, list[str]]:
        found = Assembled()
        batches = (first, first + 1)
        for at, batch in enumerate(batches):
            outer, inner = 10 * at + 1, 10 * at + 2
            around = {**to_foreach(), "batch": {"id": batch, "query": "q"}}
            for record in (start(outer, outer, around), start(inner, outer, save(folder.format(batch), "Overwrite"))):
                found.feed(record)
            found.feed(end(inner, write(2)))
            found.feed(end(outer))
        (state,) = found.feed(END)
        assert [(output.lifecycle, output.replaced) for output in state.outputs] == [(None, "partitions")]
        return state.job.name, [output.dataset.identifier.name for output in state.outputs]

    assert run(0) == run(7) == ("app.streaming_query.data_out", ["/data/out"])


@pytest.mark.parametrize("folder", ["/data/v7", "/data/part_7", "/data/8", "/data/7/all", "/7"])
def test_a_folder_that_only_has_a_number_is_an_output_of_its_own(folder: str) -> None:
    found = Assembled()
    for record in (
        start(1, 1, {**to_foreach(), "batch": {"id": 7, "query": "q"}}),
        start(2, 1, save(folder)),
        end(2),
        end(1),
    ):
        found.feed(record)
    (state,) = found.feed(END)
    assert [output.dataset.identifier.name for output in state.outputs] == [folder]
