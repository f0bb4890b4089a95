"""Events of a made-up lake with versions, for the tests of recovery."""

from __future__ import annotations

from typing import Any

from support.lineage_events import at, run_event, symlink

Event = dict[str, Any]
DEFAULTS: Event = {"settings": {}}
"""The facet of a session with nothing but Spark's defaults."""


def table(
    name: str, version: str = "", *, parent: str = "", change: str = "", replaced: str = "", lake: str = "iceberg"
) -> Event:
    """Return a table as an event names it: `ice.db.name` in files, or without versions of its own (lake="parquet")."""
    facets: dict[str, Any] = {
        "symlinks": symlink(f"db.{name}"),
        "catalog": {"framework": lake, "type": "hadoop", "name": "ice" if lake == "iceberg" else "spark_catalog"},
        "storage": {"storageLayer": lake, "fileFormat": "parquet"},
    }
    if version:
        facets["version"] = {"datasetVersion": version}
        facets["pyspark_snapshot"] = {"format": lake, "versions": [version], **({"parent": parent} if parent else {})}
    if change:
        facets["lifecycleStateChange"] = {"lifecycleStateChange": change}
    if replaced:
        facets["pyspark_replaced"] = {"part": replaced}
    return {"namespace": "file", "name": f"/lake/db/{name}", "facets": facets}


def statement(
    job: str,
    minute: float,
    sql: str,
    inputs: tuple[Event, ...],
    *outputs: Event,
    gaps: tuple[str, ...] = (),
    application: str = "",
    ends: str = "COMPLETE",
    session: Event | None = DEFAULTS,
) -> list[Event]:
    """Return the START and the end of a run; its id is `job` and the minute. Without `ends` it never ends."""
    facets: dict[str, Any] = {} if session is None else {"pyspark_session": session}
    if application:
        facets["parent"] = {"run": {"runId": application}, "job": {"namespace": "jobs", "name": application}}
    run = f"{job}-{minute:g}"
    start = run_event(job, "START", minute, run=run, inputs=inputs, outputs=outputs, **facets)
    if sql:
        start["job"]["facets"]["sql"] = {"query": sql}
    if not ends:
        return [start]
    if gaps:
        facets["extractionError"] = {"totalTasks": 1, "failedTasks": 1, "errors": [{"errorMessage": g} for g in gaps]}
    return [start, run_event(job, ends, minute + 0.5, run=run, inputs=inputs, outputs=outputs, **facets)]


def application(name: str, minute: float, *command: str, redacted: bool = False) -> list[Event]:
    """Return the START of an application's own run, whose id is its name."""
    submission = {"command": list(command), "workingDirectory": "/jobs", "deployMode": "client", "redacted": redacted}
    event = run_event(name, "START", minute, run=name, **_said(submission if command else None))
    event["job"]["facets"]["sourceCodeLocation"] = {"type": "file", "url": f"file:///jobs/{name}.py"}
    return [event]


def _said(submission: Event | None) -> dict[str, Any]:
    return {} if submission is None else {"pyspark_submission": submission}


def batch(number: int, minute: float, source: Event, sink: Event, begin: str = "null", end: str = "null") -> Event:
    """Return one micro-batch of the facet: what it read to which place, and what it made."""

    def named(each: Event) -> Event:
        facets = each["facets"]
        found = {"namespace": each["namespace"], "name": each["name"]}
        found["version"] = facets.get("version", {}).get("datasetVersion")
        found["parent"] = facets.get("pyspark_snapshot", {}).get("parent")
        return {key: value for key, value in found.items() if value}

    return {
        "batchId": number,
        "time": at(minute),
        "sources": [{**named(source), "from": begin, "to": end}],
        "sinks": [named(sink)],
    }


def stream(
    job: str,
    minute: float,
    source: Event,
    sink: Event,
    *batches: Event,
    parent: str = "",
    ends: bool = True,
    joined: tuple[Event, ...] = (),
) -> list[Event]:
    """Return the events of a streaming query's run; `joined` is what it reads beside its source."""
    run = f"{job}-{minute:g}"

    def event(type_: str, when: float, found: tuple[Event, ...]) -> Event:
        facet = {"queryId": f"query of {job}", "checkpoint": f"file:///state/{job}", "batches": list(found)}
        facets: dict[str, Any] = {"pyspark_micro_batches": facet}
        if parent:
            facets["parent"] = {"run": {"runId": parent}, "job": {"namespace": "jobs", "name": parent}}
        inputs, outputs = (source, *joined), (sink,)
        return run_event(job, type_, when, run=run, inputs=inputs, outputs=outputs, **facets)

    found = [event("START", minute, ()), event("RUNNING", minute + 0.9, batches)]
    return [*found, event("COMPLETE", minute + 1, ())] if ends else found
