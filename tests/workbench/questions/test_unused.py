"""Which columns and tables no recorded job reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, dataset, lineage, run_event, symlink

Fill = Callable[..., Store]
RAW = dataset("raw", columns=("id", "name", "secret"))


def orders(**facets: Any) -> dict[str, Any]:
    return dataset("orders", columns=("id", "name"), **facets)


def topic(**facets: Any) -> dict[str, Any]:
    return {**dataset("orders-out", columns=("key",), **facets), "namespace": "kafka://broker:9092"}


def shop() -> tuple[dict[str, Any], ...]:
    """Raw becomes orders; the id of an order goes to a topic; names and the table of counts are read by nobody."""
    made = orders(columnLineage=lineage(id=[("raw", "id", "IDENTITY")], name=[("raw", "name", "IDENTITY")]))
    counts = dataset("counts", columns=("n",), columnLineage=lineage(n=[("orders", "id", "AGGREGATION")]))
    out = topic(columnLineage=lineage(key=[("raw", "id", "IDENTITY")]))
    return (
        run_event("fill", "COMPLETE", 1, run="f", outputs=(RAW,)),
        run_event("clean", "COMPLETE", 2, run="c", inputs=(RAW,), outputs=(made,)),
        run_event("count", "COMPLETE", 3, run="n", inputs=(orders(),), outputs=(counts,)),
        run_event("export", "COMPLETE", 4, run="e", inputs=(RAW,), outputs=(out,)),
    )


def uses(answer: Answer[Any]) -> dict[str, str]:
    """Return what is listed, with its use."""
    return {".".join(filter(None, (row.dataset, row.column))): row.use for row in answer.result}


def test_columns_that_no_job_reads_are_listed_with_who_writes_them_and_since_when(filled: Fill) -> None:
    answer = filled(*shop()).unused()

    assert uses(answer) == {
        "counts.n": "unused",
        "orders-out.key": "exported",
        "orders.name": "unused",
        "raw.secret": "unused",
    }
    row = next(row for row in answer.result if row.column == "secret")
    assert (row.writers, row.since and row.since.isoformat(), row.last_written == row.since) == (("fill",), at(1), True)
    assert answer.complete


def test_tables_that_no_job_reads_are_listed(filled: Fill) -> None:
    assert uses(filled(*shop()).unused(by="table")) == {"counts": "unused", "orders-out": "exported"}


def test_what_is_read_for_sinks_outside_alone_is_exported(filled: Fill) -> None:
    made = topic(columnLineage=lineage(key=[("raw", "name", "TRANSFORMATION")], _rows=[("raw", "id", "FILTER")]))
    store = filled(shop()[0], run_event("export", "COMPLETE", 2, inputs=(RAW,), outputs=(made,)))

    found = {row.column: (row.use, row.exported_to) for row in store.unused("raw").result}
    assert found == {
        "id": ("exported", ("orders-out",)),
        "name": ("exported", ("orders-out",)),
        "secret": ("unused", ()),
    }
    [table] = store.unused("raw", by="table").result
    assert (table.use, table.exported_to) == ("exported", ("orders-out",))


@pytest.mark.parametrize(
    ("namespace", "facets", "use"),
    [
        ("postgres://db:5432", {}, "exported"),
        ("s3://lake", {}, "exported"),
        ("s3://lake", {"symlinks": symlink("db.t")}, "unused"),
        ("s3://lake", {"storage": {"storageLayer": "delta"}}, "unused"),
        ("s3://lake", {"version": {"datasetVersion": "7"}}, "unused"),
        ("hive://metastore:9083", {}, "unused"),
        ("lake", {}, "unused"),
    ],
)
def test_a_sink_is_outside_unless_it_is_a_table_of_a_lake(
    filled: Fill, namespace: str, facets: dict[str, Any], use: str
) -> None:
    made = dataset("a/t", namespace=namespace, columns=("c",), **facets)
    assert [row.use for row in filled(run_event("w", "COMPLETE", 1, outputs=(made,))).unused().result] == [use]


def test_a_job_that_only_writes_a_table_again_is_no_reader(filled: Fill) -> None:
    again = dataset("t", columns=("a",), columnLineage=lineage(a=[("t", "a", "TRANSFORMATION")]))
    store = filled(run_event("merge", "COMPLETE", 1, inputs=(dataset("t", columns=("a",)),), outputs=(again,)))

    assert uses(store.unused()) == {"t.a": "unused"}
    assert uses(store.unused(by="table")) == {"t": "unused"}


def test_a_job_that_tells_no_columns_may_read_all_of_them_and_the_answer_says_so(filled: Fill) -> None:
    store = filled(shop()[0], run_event("task", "COMPLETE", 2, inputs=(RAW,), outputs=(dataset("far"),)))
    answer = store.unused()

    assert (uses(answer), answer.complete) == ({"far": "unused"}, False)
    [diagnostic] = answer.diagnostics
    assert (diagnostic.code, diagnostic.node) == ("unknown-columns", "dataset|lake|raw")
    assert diagnostic.message == "no event states which columns of raw are read by task: none of its columns is listed"


def test_a_job_may_state_the_columns_of_one_output_alone(filled: Fill) -> None:
    far, near = (
        dataset("far"),
        dataset("near", columns=("id",), columnLineage=lineage(id=[("orders", "id", "IDENTITY")])),
    )
    # The explicit facet states that `far` is made from `raw`, and not from which columns.
    entries = [
        {"namespace": "lake", "name": name, "type": "DATASET", "inputs": [dataset(source) | {"type": "DATASET"}]}
        for name, source in (("far", "raw"), ("near", "orders"))
    ]
    task = run_event("task", "COMPLETE", 2, run="r", inputs=(RAW, orders()), outputs=(far, near))
    task["job"]["facets"]["lineage"] = {"entries": entries}
    answer = filled(shop()[0], task).unused("raw")

    assert uses(answer) == {}
    assert [each.message for each in answer.diagnostics if each.missing] == [
        "no event states which columns of raw are read by task: none of its columns is listed"
    ]


def test_what_a_job_reads_no_longer_is_unused_unless_it_is_asked_for(filled: Fill) -> None:
    def copied(column: str, minute: int) -> dict[str, Any]:
        made = dataset("copy", columns=("x",), columnLineage=lineage(x=[("raw", column, "IDENTITY")]))
        return run_event("copy", "COMPLETE", minute, run=f"r{minute}", inputs=(RAW,), outputs=(made,))

    store = filled(shop()[0], copied("name", 2), copied("id", 3))

    assert uses(store.unused("raw")) == {"raw.name": "unused", "raw.secret": "unused"}
    assert uses(store.unused("raw", ever=True)) == {"raw.secret": "unused"}
    assert uses(store.unused("raw", since=at(4))) == {"raw.id": "unused", "raw.name": "unused", "raw.secret": "unused"}
    assert uses(store.unused("raw", by="table", since=at(4))) == {"raw": "unused"}


def test_a_struct_stands_for_its_fields_and_a_field_that_is_read_for_its_struct(filled: Fill) -> None:
    source = dataset("s", columns=("a", "a.b", "a.c", "z", "z.q"))
    made = dataset("t", columns=("x",), columnLineage=lineage(x=[("s", "a.b", "IDENTITY")]))
    store = filled(
        run_event("fill", "COMPLETE", 1, outputs=(source,)),
        run_event("use", "COMPLETE", 2, inputs=(source,), outputs=(made,)),
    )

    assert uses(store.unused("s")) == {"s.a.c": "unused", "s.z": "unused"}


def test_a_table_for_people_has_one_row_for_columns_of_a_table_that_are_alike(filled: Fill) -> None:
    make = "app.execute_create_data_source_table_as_select_command.made"
    made = dataset("made", columns=("a", "b", "c"))
    last = dataset("last", columns=("x",), columnLineage=lineage(x=[("made", "b", "IDENTITY")]))
    store = filled(
        *shop(),
        run_event(make, "COMPLETE", 5, outputs=(made,)),
        run_event("use", "COMPLETE", 6, inputs=(made,), outputs=(last,)),
    )

    assert store.unused().to_text().splitlines() == [
        "  table       columns  use       since                last written         written by",
        "  counts      n        unused    2026-01-01 00:03:00  2026-01-01 00:03:00  count",
        "  last        x        unused    2026-01-01 00:06:00  2026-01-01 00:06:00  use",
        "  made        a, c     unused    2026-01-01 00:05:00  2026-01-01 00:05:00  app.made",
        "  orders      name     unused    2026-01-01 00:02:00  2026-01-01 00:02:00  clean",
        "  orders-out  key      exported  2026-01-01 00:04:00  2026-01-01 00:04:00  export",
        "  raw         secret   unused    2026-01-01 00:01:00  2026-01-01 00:01:00  fill",
        "7 unused names; complete; last seen 2026-01-01 00:06:00",
    ]


def test_a_table_whose_columns_no_event_states_is_listed_as_a_whole(filled: Fill) -> None:
    answer = filled(run_event("w", "COMPLETE", 1, outputs=(dataset("bare"),))).unused()

    assert (uses(answer), answer.complete) == ({"bare": "unused"}, True)


def test_a_table_that_is_read_and_whose_columns_no_event_states_is_named(filled: Fill) -> None:
    answer = filled(run_event("w", "COMPLETE", 1, inputs=(dataset("bare"),), outputs=(RAW,))).unused("bare")

    assert (uses(answer), answer.complete) == ({}, False)
    assert [each.message for each in answer.diagnostics] == [
        "no event states the columns of bare: none of them is listed"
    ]


def test_a_table_that_was_dropped_is_listed_only_if_it_was_created_again(filled: Fill) -> None:
    made = run_event("fill", "COMPLETE", 1, outputs=(RAW,))
    gone = dataset("raw", lifecycleStateChange={"lifecycleStateChange": "DROP"})
    drop = run_event("drop", "COMPLETE", 2, outputs=(gone,))
    store = filled(made, drop)

    assert uses(store.unused(by="table")) == uses(store.unused()) == {}
    assert uses(store.unused(by="table", ever=True)) == {"raw": "unused"}
    again = filled(made, drop, run_event("fill", "COMPLETE", 3, outputs=(RAW,)))
    assert uses(again.unused(by="table")) == {"raw": "unused"}


def test_what_a_run_did_not_understand_may_be_read(filled: Fill) -> None:
    error = {"task": "MapInPandas", "taskNumber": 0, "errorMessage": "no rule"}
    gap: dict[str, Any] = {"extractionError": {"totalTasks": 1, "failedTasks": 1, "errors": [error]}}
    store = filled(*shop(), run_event("odd", "COMPLETE", 5, run="o", outputs=(orders(),), **gap))

    for answer in (store.unused(), store.unused(by="table"), store.unused(ever=True)):
        assert [(each.run, each.message) for each in answer.diagnostics if each.missing] == [("run|o", "no rule")]


def test_an_empty_answer_about_some_names_says_so(filled: Fill) -> None:
    store = filled(*shop())

    assert store.unused("rwa").to_text("markdown") == "nothing with 'rwa' in a name is unused\n"
