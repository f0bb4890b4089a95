"""What the runs of a job repeat is stored once, and the tables are the same as if each row were merged."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event, taken, text_of_events
from support.reached import nodes_of

pytestmark = pytest.mark.slow

_COLUMNS = ("a", "b", "c")


def statement(job: int, number: int, text: str = "") -> dict[str, Any]:
    """
    Return what a job writes with one of its statements: all share an edge; a text changes its expression.

    The first and the third statement have the same columns in another order.
    """
    edges = lineage(a=[("s", "a", "IDENTITY"), (f"s{number}", "b", "AGGREGATION")], b=[("s", "b", "FILTER")])
    edges["fields"]["a"]["inputFields"][0]["transformations"][0]["description"] += text
    columns = _COLUMNS[: 2 + number % 2]
    return dataset(f"t{job}", columns=columns[::-1] if number == 2 else columns, columnLineage=edges)


def run(job: int, minute: float, output: dict[str, Any], type_: str = "COMPLETE", name: str = "") -> dict[str, Any]:
    """Return an event of a job that writes something."""
    inputs = (dataset("s", columns=_COLUMNS[: 1 + job % 3]),)
    return run_event(f"job{job}", type_, minute, run=name, inputs=inputs, outputs=(output,))


def many_runs(seed: int) -> list[dict[str, Any]]:
    """Return events of jobs that change their statements now and then; some come late, twice, or at one time."""
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    events = []
    statements = {job: statement(job, 0) for job in range(4)}
    for minute in range(150):
        job = chance.randrange(4)
        if chance.random() < 0.15:
            statements[job] = statement(job, chance.randrange(3), chance.choice(("", "x")))
        begun = statements[job] if chance.random() < 0.8 else statement(job, chance.randrange(3))
        time, name = minute // chance.choice((1, 1, 1, 2)), f"run{minute // 2}"
        events += [run(job, time, begun, "START", name), run(job, time, statements[job], name=name)]
        if chance.random() < 0.1:
            events.append(events[chance.randrange(len(events))])
        if chance.random() < 0.1:
            place = chance.randrange(len(events))
            events.append(events.pop(place))
    return events


def lines(events: list[dict[str, Any]]) -> list[EventLine]:
    """Return events as they are taken in."""
    return [EventLine("test", line) for line in text_of_events(events).splitlines()]


def contents(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, sorted."""
    return {table.name: sorted(database.query(f'SELECT * FROM "{table.name}"'), key=repr) for table in schema.TABLES}


def parts_of(database: Database) -> dict[str, int]:
    """Return how many rows the tables have of what runs repeat."""
    names = ("job_version", "description", "field", "edge")
    return {name: database.query(f"SELECT count(*) FROM {name}")[0][0] for name in names}


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_tables_are_the_same_as_if_nothing_was_remembered(tmp_path: Path, seed: int) -> None:
    events = many_runs(seed)
    parts = [events[begin : begin + 5] for begin in range(0, len(events), 5)]
    for part in parts:
        # Each one opens the store anew.
        taken(tmp_path / "forgetful.db", part)
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    with (
        Database(tmp_path / "forgetful.db") as forgetful,
        Database(tmp_path / "s.db") as alone,
        Database(tmp_path / "two.db") as first,
        Database(tmp_path / "two.db") as second,
    ):
        for part in parts:
            take(alone, lines(part))
            take(chance.choice((first, first, first, second)), lines(part))
        assert contents(alone) == contents(first) == contents(forgetful)


def test_what_a_run_says_again_moves_times_alone(tmp_path: Path) -> None:
    with Database(tmp_path / "s.db") as database:
        take(database, lines([run(0, 1, statement(0, 0))]))
        once = parts_of(database)
        assert once == {"job_version": 1, "description": 2, "field": 3, "edge": 3}
        take(database, lines([run(0, 2, statement(0, 0)), run(0, 0, statement(0, 0))]))
        assert parts_of(database) == once
        times = "SELECT DISTINCT (last_time - first_time) / 60000000, first_run = last_run FROM column_lineage"
        assert database.query(times) == [(2, 0)]
        # The expression of one edge is another one: so is the output, and what is read is not.
        take(database, lines([run(0, 3, statement(0, 0, "x"))]))
        assert parts_of(database) == {"job_version": 2, "description": 3, "field": 5, "edge": 6}
        found = database.query("SELECT expression FROM column_lineage WHERE expression LIKE 'IDENTITY%'")
        assert found == [("IDENTITY of a",), ("IDENTITY of ax",)]


def test_what_another_connection_wrote_is_not_written_again(tmp_path: Path) -> None:
    with Database(tmp_path / "s.db") as database, Database(tmp_path / "s.db") as other:
        take(database, lines([run(0, 1, statement(0, 0))]))
        take(other, lines([run(0, 3, statement(0, 0, "x"))]))
        other.rebuild()
        take(database, lines([run(0, 4, statement(0, 0, "x")), run(0, 2, statement(0, 0))]))
        assert parts_of(database) == {"job_version": 2, "description": 3, "field": 5, "edge": 6}
        with Database(tmp_path / "straight.db") as straight:
            events = [run(0, minute, statement(0, 0, "x" if minute > 2 else "")) for minute in (1, 2, 3, 4)]
            take(straight, lines(events))
            assert contents(database) == contents(straight)


def test_what_was_undone_is_written_again(tmp_path: Path) -> None:
    events = [run(0, minute, statement(0, 0)) for minute in range(2)]
    with Database(tmp_path / "s.db") as database:
        database.query("CREATE TEMP TRIGGER full BEFORE INSERT ON stored_event BEGIN SELECT RAISE(ABORT, 'x'); END")
        with pytest.raises(StoreError):
            take(database, lines(events[:1]))
        database.query("DROP TRIGGER temp.full")
        for event in events:
            take(database, lines([event]))
        with Database(tmp_path / "straight.db") as straight:
            take(straight, lines(events))
            assert contents(database) == contents(straight)


def with_unique_labels(jobs: int) -> list[dict[str, Any]]:
    """Return runs of one job of which each one makes a table of its own from another one."""
    return [
        run_event("loader", "COMPLETE", number, inputs=(dataset(f"s{number}"),), outputs=(dataset(f"t{number}"),))
        for number in range(jobs)
    ]


def test_a_table_comes_from_what_the_run_read_that_wrote_it(tmp_path: Path) -> None:
    taken(tmp_path / "s.db", with_unique_labels(3))
    with Store.open(tmp_path / "s.db") as store:
        assert [[*nodes_of(store.upstream(f"t{each}"))] for each in range(3)] == [
            ["s0"],
            ["s1"],
            ["s2"],
        ]
        assert store.sql("SELECT source_table, target_table FROM table_lineage ORDER BY 1").table()[1] == [
            ("s0", "t0"),
            ("s1", "t1"),
            ("s2", "t2"),
        ]


def test_what_the_start_of_a_run_reads_and_what_its_end_writes_belong_together(tmp_path: Path) -> None:
    events = []
    for number in range(2):
        read, written = (dataset(f"s{number}"),), (dataset(f"t{number}"),)
        events.append(run_event("loader", "START", 10 * number, run=f"r{number}", inputs=read))
        events.append(run_event("loader", "COMPLETE", 10 * number + 1, run=f"r{number}", outputs=written))
    for order in itertools.permutations(events):
        path = tmp_path / "s.db"
        for event in order:
            taken(path, [event])
        with Store.open(path) as store:
            assert [[*nodes_of(store.upstream(f"t{each}"))] for each in range(2)] == [
                ["s0"],
                ["s1"],
            ]
        path.unlink()
