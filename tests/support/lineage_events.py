"""Events of a made-up company, for the tests of the store: any producer, any order."""

from __future__ import annotations

import json
import random
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from openlineage_pyspark.store.ingest import EventLine, Taken, take
from openlineage_pyspark.store.sqlite import Database

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def at(minute: float) -> str:
    """Return a time of the made-up day, as events write it."""
    return (BEGIN + timedelta(minutes=minute)).isoformat()


def dataset(name: str, *, namespace: str = "lake", columns: tuple[str, ...] = (), **facets: Any) -> dict[str, Any]:
    """Return a dataset with its schema, if it has columns."""
    if columns:
        facets["schema"] = {"fields": [{"name": column, "type": "int"} for column in columns]}
    return {"namespace": namespace, "name": name, "facets": facets}


def symlink(*names: str, namespace: str = "catalog") -> dict[str, Any]:
    """Return the facet that gives a dataset other names."""
    return {"identifiers": [{"namespace": namespace, "name": name, "type": "TABLE"} for name in names]}


def lineage(**columns: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the facet columnLineage: column -> its sources, as (dataset, column, subtype). `_rows` is for all rows."""

    def field(name: str, column: str, subtype: str) -> dict[str, Any]:
        kind = "DIRECT" if subtype in ("IDENTITY", "TRANSFORMATION", "AGGREGATION") else "INDIRECT"
        transformation = {"type": kind, "subtype": subtype, "description": f"{subtype} of {column}", "masking": False}
        return {"namespace": "lake", "name": name, "field": column, "transformations": [transformation]}

    rows = columns.pop("_rows", [])
    return {
        "fields": {name: {"inputFields": [field(*each) for each in found]} for name, found in columns.items()},
        "dataset": [field(*each) for each in rows],
    }


def run_event(
    job: str,
    type_: str,
    minute: float,
    *,
    run: str = "",
    inputs: tuple[dict[str, Any], ...] = (),
    outputs: tuple[dict[str, Any], ...] = (),
    **run_facets: Any,
) -> dict[str, Any]:
    """Return the event of a run."""
    return {
        "eventType": type_,
        "eventTime": at(minute),
        "producer": "https://example.org/a-producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run or str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job}/{minute}")), "facets": run_facets},
        "job": {"namespace": "jobs", "name": job, "facets": {}},
        "inputs": list(inputs),
        "outputs": list(outputs),
    }


def company(seed: int, *, tables: int = 30, jobs: int = 40) -> list[dict[str, Any]]:
    """
    Return the events of many jobs that read and write each other's tables: with cycles, self-reads and other names.

    Args:
        seed: makes the same company again.
        tables: how many tables there are, of four columns each.
        jobs: how many jobs there are. Each one has a START and a COMPLETE.
    """
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    columns = ("a", "b", "c", "d")
    events = []
    for number in range(jobs):
        sources = chance.sample(range(tables), chance.randint(1, 3))
        target = chance.randrange(tables)
        edges = {
            column: [
                (f"t{source}", chance.choice(columns), chance.choice(("IDENTITY", "AGGREGATION", "CONDITIONAL")))
                for source in chance.sample(sources, chance.randint(0, len(sources)))
            ]
            for column in columns
        }
        if chance.random() < 0.5:
            edges["_rows"] = [(f"t{sources[0]}", chance.choice(columns), "FILTER")]
        inputs = tuple(_table(source, columns) for source in sources)
        output = _table(target, columns)
        output["facets"]["columnLineage"] = lineage(**edges)
        for type_, minute in (("START", number), ("COMPLETE", number + 0.5)):
            run = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{seed}/{number}"))
            events.append(run_event(f"job{number}", type_, minute, run=run, inputs=inputs, outputs=(output,)))
    return events


def _table(number: int, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return a table; of each third one, the catalog's name is known too."""
    links: dict[str, Any] = {"symlinks": symlink(f"db.t{number}")} if number % 3 == 0 else {}
    return dataset(f"t{number}", columns=columns, **links)


def text_of(events: list[dict[str, Any]]) -> str:
    """Return events as the text of an event file."""
    return "".join(json.dumps(event) + "\n" for event in events)


def taken(path: Path, events: list[dict[str, Any]]) -> Taken:
    """Take events into the store in a file."""
    with Database(path) as database:
        return take(database, [EventLine("test", line) for line in text_of(events).splitlines()])
