"""The views, and the queries of Paimon's proposal of lineage tables, as they stand there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, dataset, run_event, symlink
from support.reached import nodes_of

Fill = Callable[..., Store]
UPSTREAM_TABLES = """
SELECT S.database, S.table FROM
    source_job_lineage S
    JOIN sink_job_lineage T ON S.job=T.job
    where T.`database`='myDatabase' and T.`table`='myTable';
"""
DOWNSTREAM_TABLES = """
SELECT T.database, T.table FROM
    source_job_lineage S
    JOIN sink_job_lineage T ON S.job=T.job
    where S.`database`='myDatabase' and S.`table`='myTable';
"""
UPSTREAM_SNAPSHOTS = """
SELECT S.database, S.table, S.snapshot_id FROM
    source_snapshot_lineage S
    JOIN sink_snapshot_lineage T
    ON S.job=T.job AND S.barrier_id=T.barrier_id
    where T.`database`='myDatabase' and T.`table`='myTable' and T.snapshot_id=123;
"""
# The proposal asks the tables without snapshots here, in which there are none.
DOWNSTREAM_SNAPSHOTS = """
SELECT T.database, T.table, T.snapshot_id FROM
    source_snapshot_lineage S
    JOIN sink_snapshot_lineage T
    ON S.job=T.job AND S.barrier_id=T.barrier_id
    where S.`database`='myDatabase' and S.`table`='myTable' and S.snapshot_id=123;
"""


def table(path: str, name: str, version: str = "") -> dict[str, Any]:
    """Return a table in a catalog, with a version if it has one."""
    facets: dict[str, Any] = {"version": {"datasetVersion": version}} if version else {}
    return dataset(path, symlinks=symlink(name), **facets)


def batch(number: int, source: str, sink: str) -> dict[str, Any]:
    """Return what a micro-batch read of the middle table and made of the last one."""
    return {
        "batchId": number,
        "time": at(10 + number),
        "sources": [{"namespace": "lake", "name": "/w/my", "version": source}],
        "sinks": [{"namespace": "lake", "name": "/w/last", "version": sink}],
    }


EVENTS = (
    run_event("make", "START", 1, run="r1", inputs=(table("/w/first", "myDatabase.first"),)),
    run_event(
        "make",
        "COMPLETE",
        2,
        run="r1",
        inputs=(table("/w/first", "myDatabase.first", "7"),),
        outputs=(table("/w/my", "cat.myDatabase.myTable", "123"),),
    ),
    run_event(
        "make",
        "COMPLETE",
        4,
        run="r2",
        inputs=(table("/w/first", "myDatabase.first", "8"),),
        outputs=(table("/w/my", "cat.myDatabase.myTable", "124"),),
    ),
    run_event(
        "stream",
        "RUNNING",
        20,
        run="q",
        inputs=(table("/w/my", "cat.myDatabase.myTable"),),
        outputs=(table("/w/last", "last"),),
        pyspark_micro_batches={"queryId": "q", "batches": [batch(0, "123", "501"), batch(1, "124", "502")]},
    ),
)


@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        (UPSTREAM_TABLES, ("database", "table"), [("myDatabase", "first")]),
        (DOWNSTREAM_TABLES, ("database", "table"), [("default", "last")]),
        (UPSTREAM_SNAPSHOTS, ("database", "table", "snapshot_id"), [("myDatabase", "first", "7")]),
        (DOWNSTREAM_SNAPSHOTS, ("database", "table", "snapshot_id"), [("default", "last", "501")]),
    ],
)
def test_the_queries_of_the_proposal_run_as_they_stand(
    filled: Fill, query: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    assert filled(*EVENTS).sql(query).table() == (columns, rows)


def test_the_views_with_names_stand_in_the_file(filled: Fill) -> None:
    store = filled(*EVENTS)
    assert store.sql("SELECT job, barrier_id, snapshot_id FROM sink_snapshot_lineage_by_name ORDER BY 1, 2").table()[
        1
    ] == [
        ("make", microseconds(at(1)), "123"),
        ("make", microseconds(at(4)), "124"),
        ("stream", 0, "501"),
        ("stream", 1, "502"),
    ]
    # Our own tables with ids are there for the other questions of the same store.
    assert [*nodes_of(store.upstream("last"))] == [
        "cat.myDatabase.myTable",
        "myDatabase.first",
    ]


@pytest.mark.parametrize(
    ("namespace", "name", "database", "table_name"),
    [
        ("lake", "t", "default", "t"),
        ("lake", "db.t", "db", "t"),
        ("lake", "cat.db.t", "db", "t"),
        ("s3://bucket", "/lake/sales/orders.v2/", "sales", "orders.v2"),
        ("file", "/t", "default", "t"),
    ],
)
def test_a_name_is_split_into_database_and_table(
    filled: Fill, namespace: str, name: str, database: str, table_name: str
) -> None:
    store = filled(run_event("load", "COMPLETE", 1, outputs=(dataset(name, namespace=namespace),)))
    assert store.sql("SELECT database, `table` FROM dataset_name").table()[1] == [(database, table_name)]


def test_jobs_of_one_name_are_not_one_job(filled: Fill) -> None:
    other = run_event("make", "COMPLETE", 9, inputs=(dataset("b"),))
    other["job"]["namespace"] = "elsewhere"
    store = filled(run_event("make", "COMPLETE", 1, outputs=(dataset("a"),)), other)
    jobs = store.sql(
        "SELECT job FROM source_job_lineage UNION ALL SELECT job FROM sink_job_lineage ORDER BY 1"
    ).table()[1]
    assert jobs == [("elsewhere/make",), ("jobs/make",)]


def test_a_read_without_a_version_is_of_the_one_that_was_current(filled: Fill) -> None:
    store = filled(
        run_event("load", "COMPLETE", 1, run="w1", outputs=(dataset("s"),)),
        run_event("use", "START", 2, run="r", inputs=(dataset("s"),)),
        run_event("load", "FAIL", 2, run="w2", outputs=(dataset("s"),)),
        run_event("load", "COMPLETE", 3, run="w3", outputs=(dataset("s"),)),
        run_event("use", "COMPLETE", 4, run="r", inputs=(dataset("s"),), outputs=(dataset("t"),)),
    )
    assert store.sql("SELECT snapshot_id, inferred FROM source_snapshot_lineage").table()[1] == [("w1", 1)]
    assert store.sql("SELECT version, kind FROM dataset_version ORDER BY time").table()[1] == [
        ("w1", "run"),
        ("w3", "run"),
        ("r", "run"),
    ]


def test_the_schema_of_a_version_can_be_asked(filled: Fill) -> None:
    def made(version: str, *columns: tuple[str, str]) -> dict[str, Any]:
        fields = [{"name": name, "type": type_} for name, type_ in columns]
        return dataset("t", version={"datasetVersion": version}, schema={"fields": fields})

    store = filled(
        run_event("load", "COMPLETE", 1, outputs=(made("1", ("a", "int")),)),
        run_event("load", "COMPLETE", 2, outputs=(made("2", ("a", "bigint"), ("b", "string")),)),
    )
    assert store.sql("SELECT version, column_name, type FROM version_column ORDER BY 1, 2").table()[1] == [
        ("1", "a", "int"),
        ("2", "a", "bigint"),
        ("2", "b", "string"),
    ]


def test_all_tables_upstream_are_found_by_a_recursive_query(filled: Fill) -> None:
    query = """
    WITH RECURSIVE up (id, depth) AS (
      SELECT dataset_id, 0 FROM dataset_name WHERE `table` = 'last'
      UNION
      SELECT l.source_id, up.depth + 1 FROM up JOIN table_lineage l ON l.target_id = up.id WHERE up.depth < 10
    )
    SELECT d.name, min(up.depth) FROM up JOIN dataset_name d ON d.dataset_id = up.id GROUP BY 1 ORDER BY 2
    """
    assert filled(*EVENTS).sql(query).table()[1] == [
        ("last", 0),
        ("cat.myDatabase.myTable", 1),
        ("myDatabase.first", 2),
    ]


def test_a_query_on_which_the_parser_itself_fails_is_refused(filled: Fill) -> None:
    with pytest.raises(StoreError, match=r"^the query can't be read: sqlglot fails with IndexError"):
        filled(*EVENTS).sql("SELECT map('a') FROM event", dialect="spark").table()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("DELETE FROM event", "the query must be one SELECT"),
        ("ATTACH 'x' AS y", "the query can't be read: "),
        ("SELECT 1; SELECT 2", "the query must be one SELECT"),
        ("SELECT (", "the query can't be read: "),
        ("SELECT array(" * 2000, "the query can't be read: it is nested too deeply"),
        ("SELECT none FROM event", "the query can't be answered: no such column: none"),
    ],
)
def test_what_is_no_query_is_said(filled: Fill, query: str, reason: str) -> None:
    with pytest.raises(StoreError) as raised:
        filled(*EVENTS).sql(query).table()
    assert str(raised.value).startswith(reason)
