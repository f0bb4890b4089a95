"""What the runs of a job say again moves times alone, and the tables are the same as if each row were merged."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.errors import StoreError
from openlineage_pyspark.workbench.store import sqlite
from openlineage_pyspark.workbench.store.events.ingest import take
from openlineage_pyspark.workbench.store.events.portions import EventLine
from openlineage_pyspark.workbench.store.sqlite import Database
from openlineage_pyspark.workbench.store.tables import schema
from support.lineage_events import dataset, lineage, run_event, taken, text_of_events

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


def merged_into(database: Database, events: list[dict[str, Any]]) -> set[str]:
    """Take events in, and return the tables of which rows are merged by their keys."""
    found = set()

    def seen(sql: str) -> None:
        if sql.startswith("INSERT"):
            found.add(sql.split()[2].strip('"') if sql.split()[1] == "INTO" else sql.split()[4])

    database._connection.set_trace_callback(seen)
    take(database, lines(events))
    database._connection.set_trace_callback(None)
    return found & {"dataset_column", "column_lineage"}


@pytest.mark.parametrize("seed", range(6))
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
        assert merged_into(database, [run(0, 1, statement(0, 0))]) == {"column_lineage", "dataset_column"}
        assert merged_into(database, [run(0, 2, statement(0, 0))]) == set()
        times = "SELECT DISTINCT first_time < last_time, first_run = last_run FROM column_lineage"
        assert database.query(times) == [(1, 0)]
        # The expression of one edge is another one.
        assert merged_into(database, [run(0, 3, statement(0, 0, "x"))]) == {"column_lineage"}
        # Its rows are there, and nobody else's: they were looked for.
        assert merged_into(database, [run(0, 4, statement(0, 0, "x"))]) == set()
        late = run(0, 0, statement(0, 0, "x"))
        assert merged_into(database, [late]) == {"column_lineage"}
        assert merged_into(database, [late]) == {"column_lineage"}


def test_what_another_connection_wrote_is_merged_by_its_key(tmp_path: Path) -> None:
    with Database(tmp_path / "s.db") as database, Database(tmp_path / "s.db") as other:
        take(database, lines([run(0, 1, statement(0, 0))]))
        take(other, lines([run(0, 3, statement(0, 0, "x"))]))
        assert merged_into(database, [run(0, 2, statement(0, 0))]) == {"column_lineage", "dataset_column"}
        found = database.query("SELECT expression FROM column_lineage WHERE expression LIKE 'IDENTITY%'")
        assert found == [("IDENTITY of ax",)]


def test_what_was_undone_is_merged_again(tmp_path: Path) -> None:
    events = [run(0, minute, statement(0, 0)) for minute in range(2)]
    with Database(tmp_path / "s.db") as database:
        database.query("CREATE TEMP TRIGGER full BEFORE INSERT ON column_lineage BEGIN SELECT RAISE(ABORT, 'x'); END")
        with pytest.raises(StoreError):
            take(database, lines(events[:1]))
        database.query("DROP TRIGGER temp.full")
        for event in events:
            take(database, lines([event]))
        with Database(tmp_path / "straight.db") as straight:
            take(straight, lines(events))
            assert contents(database) == contents(straight)


def test_a_store_of_which_the_tables_lie_in_the_order_of_their_keys_takes_events_too(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        for sql in sqlite.ddl():
            is_edges = sql.startswith('CREATE TABLE IF NOT EXISTS "column_lineage"')
            before = f"{sql} WITHOUT ROWID" if is_edges else sql.replace("UNIQUE (time, event_id)", "UNIQUE (event_id)")
            connection.execute(before)
        connection.execute(f"PRAGMA user_version = {schema.VERSION}")
    events = many_runs(1)
    with Database(tmp_path / "old.db") as database, Database(tmp_path / "new.db") as new:
        for begin in range(0, len(events), 5):
            for each in (database, new):
                take(each, lines(events[begin : begin + 5]))
        assert contents(database) == contents(new)
        database.rebuild()
        assert "column_lineage" in merged_into(database, [run(0, 1000, statement(0, 0))])
        assert "column_lineage" not in merged_into(database, [run(0, 1001, statement(0, 0))])
