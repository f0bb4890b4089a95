"""
The edges between tables of a store in a catalog are those of a store in a file.

SQLite runs the statements here that Spark runs there, over the tables of a catalog.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.store.events.ingest import EventLine, portions, take
from openlineage_pyspark.workbench.store.spark.rows import version_rows
from openlineage_pyspark.workbench.store.spark.sql import VIEWS
from openlineage_pyspark.workbench.store.spark.views import column_edges, table_edges
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store.tables.stored import STATED_FLOW
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import company, dataset, lineage, run_event, symlink, text_of_events

pytestmark = pytest.mark.slow


class Both:
    """The same events in a file's tables, and in those of a catalog."""

    def __init__(self, file: Path, events: list[dict[str, Any]]) -> None:
        lines = [EventLine("test", line) for line in text_of_events(events).splitlines()]
        self.file = Database(file)
        take(self.file, lines)
        self.catalog = sqlite3.connect(":memory:")
        for table in schema.TABLES:
            self._fill(table, self.file.query(f"SELECT {', '.join(c.name for c in table.stored)} FROM {table.name}"))
        [portion] = portions(lines)
        for name, rows in version_rows(portion).items():
            self._fill(next(each for each in schema.OF_VERSIONS if each.name == name), rows)

    def _fill(self, table: schema.StoredTable, rows: Any) -> None:
        columns = ", ".join(column.name for column in table.stored)
        self.catalog.execute(f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)}))")
        marks = ", ".join("?" for _ in table.stored)
        self.catalog.executemany(f"INSERT OR IGNORE INTO {table.name} VALUES ({marks})", rows)

    def edges(self) -> set[tuple[str, str, str]]:
        """Return the edges of the view `table_edges`: source, target and job."""
        sql = f"SELECT source_name, target_name, job_name FROM ({table_edges('main')})"
        return set(self.catalog.execute(sql))


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Any]:
    """Return a function that takes events into both kinds of tables."""
    made: list[Both] = []

    def fill(*events: dict[str, Any]) -> Both:
        made.append(Both(tmp_path / f"{len(made)}.db", [*events]))
        return made[-1]

    yield fill
    for each in made:
        with closing(each.catalog), each.file:
            pass


def loaded(source: str, target: str, minute: int, type_: str = "COMPLETE") -> dict[str, Any]:
    """Return the event of a run of the job `load`, which is called once for each table."""
    return run_event("load", type_, minute, run=f"run{minute}", inputs=(dataset(source),), outputs=(dataset(target),))


def test_runs_of_one_job_that_read_and_write_other_tables_make_no_product(both: Any) -> None:
    found = both(loaded("a", "b", 1), loaded("c", "d", 2))
    assert found.edges() == {("a", "b", "load"), ("c", "d", "load")}
    assert sorted(found.catalog.execute(VIEWS[STATED_FLOW])) == sorted(
        found.file.query(f"SELECT job_id, input_id, output_id, first_time, last_time FROM {STATED_FLOW}")
    )


def test_what_no_later_complete_run_wrote_stays_and_what_one_wrote_anew_goes(both: Any) -> None:
    found = both(
        *(loaded("a", "b", 1), loaded("c", "d", 2), loaded("e", "b", 3), loaded("f", "d", 4, "FAIL")),
        loaded("g", "b", 5, "START"),
    )
    assert found.edges() >= {("c", "d", "load"), ("e", "b", "load"), ("g", "b", "load")}
    assert ("a", "b", "load") not in found.edges()


def test_the_start_may_name_the_inputs_and_the_end_the_outputs(both: Any) -> None:
    start = run_event("r", "START", 1, run="r", inputs=(dataset("a"),))
    found = both(start, run_event("r", "COMPLETE", 2, run="r", outputs=(dataset("b"),)))
    assert found.edges() == {("a", "b", "r")}


def test_an_output_may_state_its_sources(both: Any) -> None:
    entries = [
        {"namespace": "lake", "name": name, "type": "DATASET", "inputs": [dataset(source) | {"type": "DATASET"}]}
        for name, source in (("x", "a"), ("y", "b"))
    ]
    event = run_event("r", "COMPLETE", 1, inputs=(dataset("a"), dataset("b")), outputs=(dataset("x"), dataset("y")))
    event["job"]["facets"]["lineage"] = {"entries": entries}
    assert both(event).edges() == {("a", "x", "r"), ("b", "y", "r")}


def test_an_event_without_a_run_stands_alone(both: Any) -> None:
    def job(name: str, source: str, target: str, minute: int) -> dict[str, Any]:
        event = run_event(name, "COMPLETE", minute, inputs=(dataset(source),), outputs=(dataset(target),))
        return {key: value for key, value in event.items() if key not in ("eventType", "run")} | {
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent"
        }

    found = both(job("j", "a", "b", 1), job("j", "c", "d", 2))
    assert found.edges() == {("a", "b", "j"), ("c", "d", "j")}


@pytest.mark.parametrize("seed", range(6))
def test_the_flows_of_a_company_are_those_of_a_file(both: Any, seed: int) -> None:
    events = company(seed, tables=9, jobs=14)
    for number, event in enumerate(events):
        event["job"]["name"] = f"job{number // 4}"
        if number % 5 == 0:
            event["outputs"] = []
    named = dataset("T1", symlinks=symlink("t1", namespace="lake"))
    found = both(*events, run_event("named", "COMPLETE", 30, inputs=(named,), outputs=(dataset("u"),)))

    flows = set(found.catalog.execute(VIEWS[STATED_FLOW]))
    assert flows == set(
        found.file.query(f"SELECT job_id, input_id, output_id, first_time, last_time FROM {STATED_FLOW}")
    )


def test_columns_of_a_table_that_a_later_run_did_not_write_stay_too(both: Any) -> None:
    def copied(source: str, target: str, minute: int) -> dict[str, Any]:
        made = dataset(target, columns=("a",), columnLineage=lineage(a=[(source, "a", "IDENTITY")]))
        return run_event("load", "COMPLETE", minute, inputs=(dataset(source),), outputs=(made,))

    found = both(copied("a", "b", 1), copied("c", "d", 2), copied("e", "b", 3))
    sql = f"SELECT source_name, source_column, target_name FROM ({column_edges('main')})"
    assert set(found.catalog.execute(sql)) == {("c", "a", "d"), ("e", "a", "b")}
    with_file = Store(found.file)
    assert {row.name for row in with_file.datasets().result.rows} == {"a", "b", "c", "d", "e"}
