"""
The lineage store and a real Marquez answer the same on the same events.

What Marquez 0.51.1 answers otherwise, and so is not compared: it knows no lineage of all rows of a dataset (`dataset`
in the facet columnLineage), and it keeps a name that a symlink gives as a dataset of its own.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event, taken
from support.marquez_graph import Edges, columns_told
from support.reached import places_of

pytestmark = pytest.mark.marquez

COLUMNS = ("a", "b", "c")
TABLES = 12


@attrs.frozen
class Both:
    """
    A store and a Marquez that were told the same.

    Args:
        store: the store.
        marquez: the Marquez.
        name: the beginning of the tables' names, which are unique in both.
    """

    store: Store
    marquez: Any
    name: str

    @property
    def tables(self) -> list[str]:
        return [f"{self.name}{number}" for number in range(TABLES)]


def told(name: str) -> list[dict[str, Any]]:
    """Return the events of jobs that each make a table from one to three earlier ones; the last reads its own too."""
    chance = random.Random(7)  # noqa: S311 (a test's choice)
    events = []
    for number in range(TABLES):
        sources = chance.sample(range(number), min(number, chance.randint(1, 3)))
        if number == TABLES - 1:
            sources.append(number)
        edges = {
            column: [
                (f"{name}{source}", chance.choice(COLUMNS), chance.choice(("IDENTITY", "AGGREGATION")))
                for source in chance.sample(sources, chance.randint(1, len(sources)))
            ]
            for column in COLUMNS
            if sources
        }
        inputs = tuple(dataset(f"{name}{source}", columns=COLUMNS) for source in sources)
        facets: dict[str, Any] = {"columnLineage": lineage(**edges)} if edges else {}
        output = dataset(f"{name}{number}", columns=COLUMNS, **facets)
        run = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}{number}"))
        for type_, minute in (("START", number), ("COMPLETE", number + 0.5)):
            event = run_event(f"{name}job{number}", type_, minute, run=run, inputs=inputs, outputs=(output,))
            # Marquez wants both of each facet.
            for each in (*event["inputs"], *event["outputs"]):
                for facet in each["facets"].values():
                    facet |= {"_producer": event["producer"], "_schemaURL": event["schemaURL"]}
            events.append(event)
    return events


@pytest.fixture(scope="module")
def both(marquez: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    name = f"t{uuid.uuid4().hex[:8]}_"
    path: Path = tmp_path_factory.mktemp("store") / "s.db"
    events = told(name)
    taken(path, events)
    for event in events:
        marquez.post(event)
    with Store.open(path) as store:
        yield Both(store, marquez, name)


def reached(edges: Edges, start: str) -> set[str]:
    """Return what edges lead to, without the start."""
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        new = {end for begin, end in edges if begin == here} - found
        found |= new
        waiting += new
    return found - {start}


def test_the_datasets_up_and_down_of_each_dataset_are_the_same(both: Both) -> None:
    for table in both.tables:
        node = f"dataset:lake:{table}"
        edges = both.marquez.lineage(node)
        down = {each for each in reached(edges, node) if each.startswith("dataset:")}
        up = {each for each in reached({(end, begin) for begin, end in edges}, node) if each.startswith("dataset:")}
        assert {f"dataset:lake:{name}" for name, _ in places_of(both.store.downstream(table))} == down
        assert {f"dataset:lake:{name}" for name, _ in places_of(both.store.upstream(table))} == up


def test_the_columns_that_each_column_comes_from_are_the_same(both: Both) -> None:
    for table in both.tables:
        edges = {(end, begin) for begin, end in both.marquez.column_lineage(f"dataset:lake:{table}")}
        for column in COLUMNS:
            answer = both.store.upstream(f"{table}.{column}")
            assert {" ".join(place) for place in places_of(answer)} == reached(edges, f"{table} {column}")


def test_the_columns_that_are_made_from_each_column_are_the_same(both: Both) -> None:
    """Marquez is asked for what is upstream of each: of what is downstream of a column it tells a part at most."""
    edges: Edges = set()
    for table in both.tables:
        edges |= both.marquez.column_lineage(f"dataset:lake:{table}")
    for table in both.tables:
        for column in COLUMNS:
            answer = both.store.downstream(f"{table}.{column}")
            found = {" ".join(place) for place in places_of(answer)}
            assert found == reached(edges, f"{table} {column}")
            part = both.marquez.get(
                "column-lineage", nodeId=f"datasetField:lake:{table}:{column}", depth=20, withDownstream="true"
            )
            assert reached(columns_told(part), f"{table} {column}") <= found
