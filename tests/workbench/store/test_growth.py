"""The work of an answer and of an ingest grows with what they touch, and not with what else is in the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.questions.reach.reach import Direction, Limits, reach
from openlineage_pyspark.workbench.questions.registry import last_seen
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.names import find
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event, taken, text_of_events
from support.reached import nodes_of

pytestmark = pytest.mark.slow

_GRAIN = 10


def chain(name: str, jobs: int, runs: int = 2) -> list[dict[str, Any]]:
    """Return the events of jobs that each make a table from the one before."""
    columns = ("a", "b")
    events = []
    for run in range(runs):
        for number in range(jobs):
            before = f"{name}{number}"
            edges = lineage(a=[(before, "a", "IDENTITY")], b=[(before, "b", "AGGREGATION"), (before, "a", "FILTER")])
            output = dataset(f"{name}{number + 1}", columns=columns, columnLineage=edges)
            inputs = (dataset(before, columns=columns),)
            event = run_event(f"{name}{number}", "COMPLETE", 10 * run + number, inputs=inputs, outputs=(output,))
            events.append(event)
    return events


def steps(database: Database, work: Callable[[], object]) -> int:
    """Return how many instructions SQLite does for some work, in units of ten."""
    count = 0

    def counted() -> int:
        nonlocal count
        count += 1
        return 0

    database._file.connection.set_progress_handler(counted, _GRAIN)
    work()
    database._file.connection.set_progress_handler(None, 0)
    return count


def _columns(database: Database, table: str, column: str, direction: Direction) -> None:
    start = (find(database, table).dataset.id, column)
    found = reach(database, [start], direction, Limits(), by_columns=bool(column))
    assert len(found.depths) > 10


def test_an_answer_costs_the_same_in_a_large_store(tmp_path: Path) -> None:
    """The newest time in its envelope aside: all jobs are looked through for that."""
    costs = []
    for others in (20, 400):
        path = tmp_path / f"{others}.db"
        taken(path, [*chain("db.asked", 10), *chain("other", others)])
        with Database(path, read_only=True) as database:
            store = Store(database)
            assert len(nodes_of(store.downstream("asked0"))) == 10
            newest = steps(database, partial(last_seen, database))
            answers: list[Callable[[], object]] = [
                partial(store.downstream, "asked0"),
                partial(store.upstream, "lake/db.asked10"),
                partial(store.between, "asked0", "asked5"),
                partial(store.history, "asked5"),
                partial(store.downstream, "asked0.a"),
                partial(store.upstream, "Asked10.b"),
            ]
            columns: list[Callable[[], object]] = [
                partial(_columns, database, "asked0", "a", Direction.DOWNSTREAM),
                partial(_columns, database, "asked10", "b", Direction.UPSTREAM),
            ]
            found = [steps(database, each) - newest for each in answers]
            costs.append([*found, *(steps(database, each) for each in columns)])
    small, large = costs
    assert [each for each in zip(small, large, strict=True) if each[1] > 1.2 * each[0]] == []


def test_a_plan_of_recovery_costs_the_same_in_a_large_store(tmp_path: Path) -> None:
    costs = []
    for others in (20, 400):
        path = tmp_path / f"{others}.db"
        # A job without lineage of columns.
        plain = run_event("plain", "COMPLETE", 90, inputs=(dataset("db.asked5"),), outputs=(dataset("db.plain"),))
        taken(path, [*chain("db.asked", 10), plain, *chain("other", others)])
        with Database(path, read_only=True) as database:
            store = Store(database)
            assert any("plain" in step.title for step in store.recover("asked0.a").result.steps)
            asked = ("asked0", "asked0.a")
            costs.append([steps(database, partial(store.recover, each)) for each in asked])
    small, large = costs
    assert [each for each in zip(small, large, strict=True) if each[1] > 1.2 * each[0]] == []


def test_an_answer_grows_linearly_with_what_it_reaches(tmp_path: Path) -> None:
    costs = []
    for length in (20, 80):
        path = tmp_path / f"{length}.db"
        taken(path, chain("asked", length))
        with Database(path, read_only=True) as database:
            store = Store(database)
            costs.append(steps(database, partial(store.downstream, "asked0.a")))
    assert costs[1] < 4.8 * costs[0]


def test_events_cost_the_same_in_a_large_store(tmp_path: Path) -> None:
    lines = [EventLine("test", line) for line in text_of_events(chain("new", 20)).splitlines()]
    costs = []
    for others in (20, 400):
        path = tmp_path / f"{others}.db"
        taken(path, chain("other", others))
        with Database(path) as database:
            costs.append(steps(database, partial(take, database, lines)))
    assert costs[1] < 1.2 * costs[0]


def test_what_many_runs_say_alike_is_written_once_for_each_part(tmp_path: Path) -> None:
    def cost(runs: int) -> int:
        lines = [EventLine("test", line) for line in text_of_events(chain("t", 5, runs)).splitlines()]
        with Database(tmp_path / f"{runs}.db") as database:
            before = database._file.connection.total_changes
            take(database, lines)
            return database._file.connection.total_changes - before

    # Each further event has its own rows in event and run, the version of its job that the run has, and one version of
    # a dataset that it read and one that it wrote.
    assert cost(40) - cost(20) == 20 * 5 * 5
