"""What is old leaves the store, and what is current stays, with all that it was made from."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.expiry import expire
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, company, dataset, lineage, run_event, symlink, taken
from support.reached import datasets_of, nodes_of

pytestmark = pytest.mark.slow

DAY = 24 * 60


def ran(
    job: str, run: str, day: float, reads: Iterable[str] = (), writes: Iterable[str] = (), **versions: str
) -> list[dict[str, Any]]:
    """Return the START and the COMPLETE of a run. A dataset's version may be given by its name."""

    def named(name: str) -> dict[str, Any]:
        facets: dict[str, Any] = {"version": {"datasetVersion": versions[name]}} if name in versions else {}
        return dataset(name, **facets)

    inputs, outputs = tuple(map(named, reads)), tuple(map(named, writes))
    return [
        run_event(job, type_, day * DAY + minute, run=run, inputs=inputs, outputs=outputs)
        for type_, minute in (("START", 0), ("COMPLETE", 1))
    ]


def kept(path: Path, events: list[dict[str, Any]], day: float) -> set[str]:
    """Return the runs that are left after what is older than a day was dropped."""
    taken(path, events)
    with Database(path) as database:
        expire(database, microseconds(at(day * DAY)))
        return {run for (run,) in database.query("SELECT run_id FROM run")}


def tables(path: Path) -> dict[str, list[Any]]:
    with Database(path) as database:
        return {
            table.name: sorted(database.query(f'SELECT * FROM "{table.name}"'), key=repr) for table in schema.TABLES
        }


def test_older_runs_of_a_job_go_and_its_last_one_stays(tmp_path: Path) -> None:
    events = [event for day in range(5) for event in ran("load", f"r{day}", day, writes=("t",))]
    assert kept(tmp_path / "s.db", events, 3) == {"r3", "r4"}
    assert kept(tmp_path / "s.db", [], 100) == {"r4"}


def test_the_statements_of_the_last_application_stay_together(tmp_path: Path) -> None:
    events = []
    for day in range(2):
        for number in range(2):
            parent = {"run": {"runId": f"app{day}"}, "job": {"namespace": "jobs", "name": "app"}}
            events.append(run_event("insert", "COMPLETE", day * DAY + number, run=f"r{day}{number}", parent=parent))
        events.append(run_event("app", "COMPLETE", day * DAY + 5, run=f"app{day}"))
    assert kept(tmp_path / "s.db", events, 50) == {"r10", "r11", "app1"}


def test_what_a_version_that_stays_was_made_from_stays_too(tmp_path: Path) -> None:
    events = [
        *ran("raw", "raw1", 0, writes=("raw",), raw="1"),
        *ran("raw", "raw2", 1, writes=("raw",), raw="2"),
        *ran("clean", "clean1", 2, reads=("raw",), writes=("clean",), raw="1", clean="7"),
        *ran("raw", "raw3", 3, writes=("raw",), raw="3"),
        *ran("sum", "sum1", 4, reads=("clean",), writes=("daily",)),
    ]
    # raw2 was read by nobody.
    assert kept(tmp_path / "s.db", events, 50) == {"raw1", "clean1", "raw3", "sum1"}


def test_without_versions_it_was_made_from_the_one_that_was_current(tmp_path: Path) -> None:
    events = [
        *ran("raw", "raw1", 0, writes=("raw",)),
        *ran("raw", "raw2", 1, writes=("raw",)),
        *ran("clean", "clean1", 2, reads=("raw",), writes=("clean",)),
        *ran("raw", "raw3", 3, writes=("raw",)),
    ]
    assert kept(tmp_path / "s.db", events, 50) == {"raw2", "clean1", "raw3"}


def test_a_table_that_is_made_from_itself_each_day_does_not_keep_all_its_days(tmp_path: Path) -> None:
    events = [event for day in range(9) for event in ran("merge", f"r{day}", day, reads=("t", "new"), writes=("t",))]
    assert kept(tmp_path / "s.db", events, 7) == {"r7", "r8"}


def test_of_a_job_that_never_completed_the_last_run_and_those_of_its_edges_stay(tmp_path: Path) -> None:
    made = dataset("t", columnLineage=lineage(a=[("raw", "x", "IDENTITY")]))
    events = [
        run_event("stream", "RUNNING", 0, run="r0", outputs=(made,)),
        run_event("stream", "FAIL", DAY, run="r1"),
        run_event("stream", "FAIL", 2 * DAY, run="r2"),
    ]
    assert kept(tmp_path / "s.db", events, 50) == {"r0", "r2"}
    with Store.open(tmp_path / "s.db") as store:
        assert [*nodes_of(store.upstream("t.a"))] == ["raw.x"]


def test_a_run_that_goes_on_for_long_stays_as_a_whole(tmp_path: Path) -> None:
    events = [run_event("stream", "RUNNING", day * DAY, run="long") for day in range(5)]
    assert kept(tmp_path / "s.db", events, 3) == {"long"}
    assert len(tables(tmp_path / "s.db")["event"]) == 5


def test_events_of_jobs_and_datasets_stay_while_no_later_one_says_the_same(tmp_path: Path) -> None:
    def told(minute: float, **facets: Any) -> dict[str, Any]:
        whole = {"eventTime": at(minute), "producer": "p", "schemaURL": "s"}
        return {**whole, "dataset": dataset("t", **facets)}

    events = [
        told(0, symlinks=symlink("db.t")),
        told(1, schema={"fields": [{"name": "a"}]}),
        told(2, schema={"fields": [{"name": "b"}]}),
    ]
    kept(tmp_path / "s.db", events, 50)
    found = tables(tmp_path / "s.db")
    assert len(found["event"]) == 2
    assert [row[1] for row in found["dataset_column"]] == ["b"]
    assert len(found["dataset"]) == 2


@pytest.mark.parametrize(
    "seed",
    [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.long)],
)
def test_the_events_that_stay_make_the_same_tables_and_what_holds_now_is_answered_the_same(
    tmp_path: Path, seed: int
) -> None:
    events = []
    for generation in range(4):
        for number, event in enumerate(company(seed + 10 * generation)):
            events.append({**event, "eventTime": at(100 * generation + number / 2)})
    random.Random(seed).shuffle(events)  # noqa: S311 (a test's choice)
    taken(tmp_path / "s.db", events)
    with Store.open(tmp_path / "s.db") as store:
        names = [line.label for line in store.datasets().result]
        before = {name: [*nodes_of(store.upstream(name))] for name in names}
    with Database(tmp_path / "s.db") as database:
        found = expire(database, microseconds(at(320)))
        texts = [text for (text,) in database.query("SELECT json FROM event")]
    assert 0 < found.events < len(events)
    assert found.after["event"] == len(texts) == len(events) - found.events
    with Database(tmp_path / "again.db") as database:
        take(database, [EventLine("test", text) for text in texts])
    assert tables(tmp_path / "s.db") == tables(tmp_path / "again.db")
    with Store.open(tmp_path / "s.db") as store:
        assert {name: [*nodes_of(store.upstream(name))] for name in before} == before


def test_a_dry_run_says_the_same_and_changes_nothing_and_a_second_one_finds_nothing(tmp_path: Path) -> None:
    taken(tmp_path / "s.db", [event for day in range(50) for event in ran("load", f"r{day}", day, writes=("t",))])
    before = tables(tmp_path / "s.db")
    with Database(tmp_path / "s.db") as database:
        planned = expire(database, microseconds(at(40 * DAY)), dry_run=True)
        assert tables(tmp_path / "s.db") == before
        done = expire(database, microseconds(at(40 * DAY)))
        assert (planned.events, planned.runs) == (done.events, done.runs) == (80, 40)
        assert done.shrunk
        assert (done.size_after or 0) < (done.size_before or 0)
        assert expire(database, microseconds(at(40 * DAY))).events == 0


def test_what_the_last_application_said_holds_afterwards_too(tmp_path: Path) -> None:
    """That of all statements of the last application, and neither that of another one between nor of failed runs."""
    statements = []
    for run, day, source, parent in (("first", 1, "a", "app"), ("between", 2, "b", "other"), ("last", 3, "c", "app")):
        for event in ran("job", run, day, (source,), ("t",)):
            event["run"]["facets"]["parent"] = {"run": {"runId": parent}, "job": {"namespace": "jobs", "name": parent}}
            statements.append(event)
    failed = [
        run_event("job", "FAIL", day * DAY, run=f"failed-{day}", inputs=(dataset("d"),), outputs=(dataset("t"),))
        for day in (4, 5)
    ]
    taken(tmp_path / "s.db", [*statements, *failed])

    def sources() -> set[str]:
        with Store.open(str(tmp_path / "s.db")) as store:
            return datasets_of(store.upstream("t"))

    assert sources() == {"a", "c"}
    assert kept(tmp_path / "s.db", [], 100) == {"first", "last"}
    assert sources() == {"a", "c"}


def test_a_run_that_goes_on_is_kept_though_a_failed_one_has_said_the_same_since(tmp_path: Path) -> None:
    begun, failed = (
        run_event("job", type_, day * DAY, run=type_, inputs=(dataset("b"),), outputs=(dataset("t"),))
        for day, type_ in ((2, "START"), (3, "FAIL"))
    )
    taken(tmp_path / "s.db", [*ran("job", "last", 1, ("a",), ("t",)), begun, failed])
    assert kept(tmp_path / "s.db", [], 100) == {"last", "START"}
