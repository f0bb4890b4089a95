"""Which run made each version of a table, without a Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.errors import NameNotFoundError, StoreError
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, run_event, taken

Fill = Callable[..., Store]


def version(number: str, parent: str = "", rows: int | None = None, **facets: Any) -> dict[str, Any]:
    """Return a table as a run writes a version of it."""
    facets["version"] = {"datasetVersion": number}
    if parent:
        facets["pyspark_snapshot"] = {"versions": [number], "parent": parent}
    made = dataset("t", **facets)
    return made if rows is None else {**made, "outputFacets": {"outputStatistics": {"rowCount": rows}}}


def stated(event: dict[str, Any], sql: str) -> dict[str, Any]:
    """Return an event whose job has a statement."""
    return {**event, "job": {**event["job"], "facets": {"sql": {"query": sql}}}}


HISTORY = (
    stated(
        run_event("load", "COMPLETE", 1, run="r1", outputs=(version("11", rows=5),)),
        "-- DELETE the old\nWITH x AS (SELECT 'DROP') INSERT INTO t SELECT * FROM x",
    ),
    run_event(
        "replace",
        "COMPLETE",
        2,
        run="r2",
        outputs=(version("12", "11", lifecycleStateChange={"lifecycleStateChange": "OVERWRITE"}),),
    ),
    run_event("append", "COMPLETE", 3, run="r3", outputs=(version("13", "12"),)),
    run_event("read", "COMPLETE", 4, run="r4", inputs=(version("14"),), outputs=(dataset("far"),)),
)


def test_each_version_has_its_run_its_job_and_what_it_did(filled: Fill) -> None:
    answer = filled(*HISTORY).blame("t")

    found = [(row.version, row.run_id, row.job_namespace, row.job, row.operation, row.rows) for row in answer.result]
    assert found == [
        ("14", "", "", "", "", None),
        ("13", "r3", "jobs", "append", "APPEND", None),
        ("12", "r2", "jobs", "replace", "OVERWRITE", None),
        ("11", "r1", "jobs", "load", "INSERT", 5),
    ]


def test_a_version_that_no_known_run_made_makes_the_answer_incomplete(filled: Fill) -> None:
    answer = filled(*HISTORY).blame("t")

    assert not answer.complete
    [diagnostic] = answer.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("unknown-writer", "no run is known that made t@14")
    assert diagnostic.node == "version|lake|t|14"
    assert filled(*HISTORY).blame("far").complete


def test_a_micro_batch_is_named_with_its_run(filled: Fill) -> None:
    batches = [
        {"batchId": number, "sources": [], "sinks": [{"namespace": "lake", "name": "t", "version": str(20 + number)}]}
        for number in (0, 1)
    ]
    facet = {"queryId": "q", "batches": batches}
    store = filled(
        run_event("stream", "RUNNING", 1, run="s", outputs=(dataset("t"),), pyspark_micro_batches=facet),
    )

    assert sorted((row.version, row.run_id, row.batch) for row in store.blame("t").result) == [
        ("20", "s", 0),
        ("21", "s", 1),
    ]
    assert "s, batch 1" in store.blame("t").to_text()


def test_a_column_has_no_versions(filled: Fill) -> None:
    store = filled(run_event("load", "COMPLETE", 1, outputs=(dataset("a/t", columns=("c",)),)))
    with pytest.raises(NameNotFoundError, match=r"^t\.c is a column: name its dataset, a/t$"):
        store.blame("t.c")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key": ("a",)}, "key needs where: a condition that selects rows"),
        ({"limit": 5}, "limit needs where: a condition that selects rows"),
        ({"where": "a = 1", "limit": 0}, "limit is 0: it must be 1 or more"),
    ],
)
def test_what_concerns_rows_is_refused_where_no_row_is_asked_for(
    filled: Fill, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(StoreError, match=f"^{message}$"):
        filled(*HISTORY).blame("t", **arguments)


def test_what_spark_can_not_read_has_its_versions_alone(filled: Fill) -> None:
    store = filled(*HISTORY)
    answer = store.blame("t", where="a = 1")

    assert answer.result == store.blame("t").result
    assert [each.message for each in answer.diagnostics] == [
        "t has no versions of rows, so these are the versions of the whole table: it has no name in Spark's SQL",
        "no run is known that made t@14",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nope", "--where", "a = 1"), "nothing is called 'nope'"),
        (("t", "--where", ""), "t has no versions of rows, so these are the versions of the whole table"),
        (("t", "--conf", "spark.a=b"), "--conf can't be used: "),
    ],
)
def test_what_needs_no_spark_is_said_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    taken(tmp_path / "s.db", [*HISTORY])
    main(["blame", *arguments, "--store", str(tmp_path / "s.db")])

    assert said in capsys.readouterr().err
