"""What the runs of jobs repeat, in the tables of a catalog: questions read there what they read in a file."""

from __future__ import annotations

import random
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.model.times import FOREVER, microseconds
from openlineage_pyspark.workbench.questions.run_details import details_stated_by
from openlineage_pyspark.workbench.store.described import described_by_runs, described_without_runs
from openlineage_pyspark.workbench.store.events.ingest import EventLine, portions
from openlineage_pyspark.workbench.store.spark.rows import version_rows
from openlineage_pyspark.workbench.store.spark.sql import VIEWS
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema
from support.lineage_events import at, company, dataset, lineage, run_event, symlink, taken, text_of_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from openlineage_pyspark.workbench.store.names import DroppedRuns, QueriedTables

GAP = {"errors": [{"errorMessage": "no rule", "taskNumber": 3, "task": "Odd"}], "failedTasks": 1, "totalTasks": 4}
DROP = {"lifecycleStateChange": "DROP"}
EDGES = "output_id, output_column, job_id, input_id, input_column, type, subtype, masking, expression"
TIMES = "first_time, first_run, last_time, last_run"


def steps(name: str, source: str) -> dict[str, Any]:
    """Return the facet that says by which path a column comes from one of t1."""
    known = {"namespace": "lake", "name": "t1", "field": source, "type": "DIRECT", "subtype": "IDENTITY"}
    path = {**known, "masking": False, "certainty": "opaque", "operators": [], "steps": []}
    return {"operators": [], "expressions": [], "columns": {name: [path]}, "rows": []}


def without_run(event: dict[str, Any]) -> dict[str, Any]:
    """Return what a job states without a run."""
    return {key: value for key, value in event.items() if key not in ("run", "eventType")}


def some_events() -> list[dict[str, Any]]:
    """Return the events of runs and of jobs without a run, with gaps, other names, drops and the steps of edges."""
    found = company(3, tables=8, jobs=10)
    made = dataset("made", columns=("x",), columnLineage=lineage(x=[("t1", "a", "IDENTITY")]))
    made["facets"]["pyspark_lineage_steps"] = steps("x", "a")
    read = dataset("t1", symlinks=symlink("db.t1"))
    found += [
        run_event("made", "START", 50, run="m1", inputs=(read,)),
        run_event("made", "COMPLETE", 51, run="m1", inputs=(read,), outputs=(made,), extractionError=GAP),
        run_event("made", "COMPLETE", 53, run="m2", inputs=(read,), outputs=(made,)),
        run_event("drop", "COMPLETE", 54, outputs=(dataset("t2", lifecycleStateChange=DROP),)),
        without_run(run_event("made", "COMPLETE", 55, inputs=(read,), outputs=(made,))),
        without_run(run_event("static", "COMPLETE", 56, inputs=(read, dataset("t2")), outputs=(made,))),
    ]
    return found


class Catalog:
    """The tables of a catalog, in memory: the queries of questions are in SQLite's dialect."""

    damage = ""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.connection = sqlite3.connect(":memory:")
        for table in schema.OF_VERSIONS:
            columns = ", ".join(f"{column.name} {column.type.value[0]}" for column in table.stored)
            self.connection.execute(f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)}))")
        for name, query in VIEWS.items():
            self.connection.execute(f"CREATE VIEW {name} AS {query}")
        (portion,) = portions(EventLine("here", text) for text in text_of_events(events).splitlines())
        for name, rows in version_rows(portion).items():
            marks = ", ".join("?" * len(rows[0]))
            self.connection.executemany(f"INSERT OR IGNORE INTO {name} VALUES ({marks})", rows)

    def query(self, sql: str, parameters: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, parameters).fetchall()

    def dropped(self) -> list[DroppedRuns]:
        return []


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Catalog, Database]]:
    """Return the same events in the tables of a catalog and in a file."""
    events = some_events()
    random.Random(1).shuffle(events)  # noqa: S311 (a test's choice)
    taken(tmp_path / "s.db", events)
    catalog = Catalog(events)
    with Database(tmp_path / "s.db", read_only=True) as database:
        yield catalog, database
    catalog.connection.close()


def edges_of(tables: QueriedTables, descriptions: frozenset[int]) -> list[tuple[Any, ...]]:
    """Return the edges of descriptions, apart from their numbers."""
    listed = ", ".join(map(str, descriptions))
    return sorted(tables.query(f"SELECT {EDGES}, {TIMES} FROM stated_edge WHERE description IN ({listed})"))


@pytest.mark.parametrize("time", [FOREVER, microseconds(at(5)), microseconds(at(52))])
def test_a_catalog_has_the_descriptions_and_details_of_a_file(stores: tuple[Catalog, Database], time: int) -> None:
    runs = [run for (run,) in stores[1].query("SELECT run_id FROM run")]
    jobs = [job for (job,) in stores[1].query("SELECT job_id FROM job")]
    found = []
    for tables in stores:
        described = described_by_runs(tables, runs, time)
        alone = described_without_runs(tables, jobs, time)
        details = details_stated_by(tables, runs, time)
        found.append(
            (
                {run: (edges_of(tables, each.descriptions), *each[1:]) for run, each in described.items()},
                {job: [(*each.described[1:], each.last_time) for each in listed] for job, listed in alone.items()},
                {
                    run: [(details.versions[key].gaps, sorted(details.versions[key].paths)) for key in versions]
                    for run, versions in details.of_run.items()
                },
            )
        )
    assert found[0] == found[1]
    assert bool(found[0][1]) is (time == FOREVER)
    assert any(paths for listed in found[0][2].values() for _, paths in listed) is (time != microseconds(at(5)))


def test_the_gaps_of_a_run_are_those_of_its_versions(stores: tuple[Catalog, Database]) -> None:
    for tables in stores:
        details = details_stated_by(tables, ["m1", "m2"], FOREVER)
        gaps = {
            run: [gap for key in versions for gap in details.versions[key].gaps]
            for run, versions in details.of_run.items()
        }
        assert gaps == {"m1": [("Odd", "no rule")], "m2": []}


def test_the_events_of_a_job_without_a_run_do_not_count_before_they_are_there(stores: tuple[Catalog, Database]) -> None:
    for tables in stores:
        jobs = dict(stores[1].query("SELECT name, job_id FROM job"))
        # A run has stated the same before.
        assert described_without_runs(tables, [jobs["made"]], microseconds(at(54))) == {}
        (alone,) = described_without_runs(tables, [jobs["made"]], microseconds(at(55)))[jobs["made"]]
        assert alone.last_time == microseconds(at(55))
