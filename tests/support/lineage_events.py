"""Events of a made-up company, for the tests of the store: any producer, any order."""

from __future__ import annotations

import json
import random
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import networkx
from openlineage_pyspark.workbench.store.events.ingest import EventLine, Ingested, take
from openlineage_pyspark.workbench.store.sqlite.database import Database

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


Content = tuple[str, str, str]
"""A table, one of its versions, and `added` or `all`: the rows that this version added, or all that it has."""


def company_of_versions(seed: int, *, steps: int = 60) -> tuple[list[dict[str, Any]], networkx.DiGraph[Content]]:
    """
    Return the events of jobs that read and write versions, and which rows went where.

    Each third table has no versions of its own; those of another third are numbers, as in Delta; streams read them.

    Args:
        seed: makes the same company again.
        steps: how often something is written.

    Returns:
        The events, and the graph: an edge has the weight 1 if a run lies between, and 0 if rows are only kept.
    """
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    graph: networkx.DiGraph[Content] = networkx.DiGraph()
    histories: dict[int, list[str]] = {number: [] for number in range(9)}
    done: dict[tuple[int, int], int] = {}
    events = []
    for step in range(steps):
        target, run = chance.randrange(9), str(uuid.uuid5(uuid.NAMESPACE_URL, f"{seed}/{step}"))
        known = [number for number, versions in histories.items() if versions]
        streamed = [number for number in known if number % 3 == 1 and number != target]
        change = chance.choice(("", "", "OVERWRITE"))
        if streamed and chance.random() < 0.3:
            source = chance.choice(streamed)
            begin, end = done.get((source, target)), len(histories[source])
            if begin == end:
                continue
            done[source, target] = end
            made = run + "/0" if target % 3 == 0 else _snapshot(histories, target, step)
            read = [(source, id_, "added") for id_ in histories[source][begin or 0 : end]]
            read = [(source, histories[source][-1], "all")] if begin is None else read
            events.append(_batch(step, run, (source, begin, end), target, histories, made, change))
        else:
            sources = chance.sample(known, min(len(known), chance.randint(0, 2)))
            made = run if target % 3 == 0 else _snapshot(histories, target, step)
            read = [(source, histories[source][-1], "all") for source in sources]
            events += _statement(step, run, sources, target, histories, made, change)
        for source, id_, part in read:
            graph.add_edge((f"t{source}", id_, part), (f"t{target}", made, "added"), weight=1)
        _keep(graph, histories[target], target, made, change)
    return events, graph


def _keep(graph: networkx.DiGraph[Content], history: list[str], target: int, made: str, change: str) -> None:
    """Add a version to a table: it has what it added, and what was there before if that is not overwritten."""
    graph.add_edge((f"t{target}", made, "added"), (f"t{target}", made, "all"), weight=0)
    if history and not change:
        graph.add_edge((f"t{target}", history[-1], "all"), (f"t{target}", made, "all"), weight=0)
    history.append(made)


def _snapshot(histories: dict[int, list[str]], table: int, step: int) -> str:
    return str(len(histories[table])) if table % 3 == 1 else f"s{step * 7919 % 1000}"


def _versioned(number: int, histories: dict[int, list[str]], made: str = "", change: str = "") -> dict[str, Any]:
    """Return a table as a run reads it, or as it writes a version."""
    facets: dict[str, Any] = {}
    before = histories[number][-1:]
    if number % 3 and (made or before):
        facets["version"] = {"datasetVersion": made or before[0]}
        if made and before:
            facets["pyspark_snapshot"] = {"versions": [made], "parent": before[0]}
    if change:
        facets["lifecycleStateChange"] = {"lifecycleStateChange": change}
    return dataset(f"t{number}", **facets)


def _statement(
    step: int, run: str, sources: list[int], target: int, histories: dict[int, list[str]], made: str, change: str
) -> list[dict[str, Any]]:
    inputs = tuple(_versioned(source, histories) for source in sources)
    output = (_versioned(target, histories, made, change),)
    return [
        run_event(f"job{target}", "START", step, run=run, inputs=inputs),
        run_event(f"job{target}", "COMPLETE", step + 0.5, run=run, inputs=inputs, outputs=output),
    ]


def _batch(
    step: int,
    run: str,
    read: tuple[int, int | None, int],
    target: int,
    histories: dict[int, list[str]],
    made: str,
    change: str,
) -> dict[str, Any]:
    """Return the event of a micro-batch that reads a table's versions from one number to another, as of Delta."""
    source, begin, end = read
    name = {"namespace": "lake", "name": f"t{source}"}
    offsets = [None if at is None else json.dumps({"reservoirVersion": at, "index": -1}) for at in (begin, end)]
    sink = {"namespace": "lake", "name": f"t{target}", "change": change}
    if target % 3:
        sink |= {"version": made} | ({"parent": histories[target][-1]} if histories[target] else {})
    sources = [name | {"from": offsets[0], "to": offsets[1], "version": str(end - 1)}]
    batch = {"batchId": 0, "time": at(step + 0.25), "sources": sources, "sinks": [sink]}
    facet = {"queryId": f"q{source}-{target}", "batches": [batch]}
    tables = ((dataset(f"t{source}"),), (dataset(f"t{target}"),))
    return run_event(
        f"stream{target}",
        "RUNNING",
        step + 0.5,
        run=run,
        inputs=tables[0],
        outputs=tables[1],
        pyspark_micro_batches=facet,
    )


def _table(number: int, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return a table; of each third one, the catalog's name is known too."""
    links: dict[str, Any] = {"symlinks": symlink(f"db.t{number}")} if number % 3 == 0 else {}
    return dataset(f"t{number}", columns=columns, **links)


def text_of_events(events: list[dict[str, Any]]) -> str:
    """Return events as the text of an event file."""
    return "".join(json.dumps(event) + "\n" for event in events)


def taken(path: Path, events: list[dict[str, Any]]) -> Ingested:
    """Take events into the store in a file."""
    with Database(path) as database:
        return take(database, [EventLine("test", line) for line in text_of_events(events).splitlines()])
