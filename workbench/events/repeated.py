"""Make the event of a repeated run from that of the first run: only some values are new."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import attrs

PlaceOf: TypeAlias = "Callable[[str, str], str]"
"""Returns the place of a dataset, from its namespace and its name."""

_VERSIONS = ("version", "pyspark_snapshot")


@attrs.frozen
class Repetition:
    """
    The new values.

    Args:
        run_id: the new run.
        time: when it ended (ISO 8601, UTC).
        sql: the statement that it ran.
        written: the place of each dataset that it wrote -> the version before and the one that it made; both are empty
            where no versions are kept.
        read: the place of a dataset that it read -> the version that was there.
        pinned: the names of the datasets of which it read the same version as the first run.
        reads_nothing: whether it has no inputs: it rolls a table back, or empties it.
        empties: whether its tables have no rows afterwards.
        about: the new facets of the run.
    """

    run_id: str
    time: str
    sql: str
    written: Mapping[str, tuple[str, str]]
    read: Mapping[str, str]
    pinned: Collection[str] = ()
    reads_nothing: bool = False
    empties: bool = False
    about: Mapping[str, Mapping[str, Any]] = attrs.Factory(dict)


def repeated(event: Mapping[str, Any], new: Repetition, place_of: PlaceOf) -> dict[str, Any] | None:
    """
    Return the event of a run that repeated another one; None if it wrote no dataset that the other one wrote.

    Args:
        event: the last event of the other run.
        new: the new values.
        place_of: returns the places of datasets.
    """
    outputs = [
        _written(each, new, *new.written[place])
        for each in event.get("outputs", ())
        if (place := place_of(each["namespace"], each["name"])) in new.written
    ]
    if not outputs:
        return None
    inputs = [] if new.reads_nothing else event.get("inputs", ())
    base = {"_producer": event["producer"], "_schemaURL": event["schemaURL"]}
    facets = {**event["run"].get("facets", {}), **{name: {**base, **facet} for name, facet in new.about.items()}}
    # A statement has no micro-batches, but the run that it repeats may be that of a stream.
    facets.pop("pyspark_micro_batches", None)
    of_job = event["job"].get("facets", {})
    sql = {**base, **of_job.get("sql", {}), "query": new.sql}
    return {
        **event,
        "eventTime": new.time,
        "run": {"runId": new.run_id, "facets": facets},
        "job": {**event["job"], "facets": {**of_job, "sql": sql}},
        "inputs": [_read(each, new, place_of(each["namespace"], each["name"])) for each in inputs],
        "outputs": outputs,
    }


def _written(dataset: Mapping[str, Any], new: Repetition, before: str, version: str) -> dict[str, Any]:
    """Return an output with the version that was made."""
    old = dataset.get("facets", {})
    facets = {name: facet for name, facet in old.items() if name not in _VERSIONS}
    if version:
        snapshot = {name: value for name, value in old.get("pyspark_snapshot", {}).items() if name != "parent"}
        facets["version"] = {**old.get("version", {}), "datasetVersion": version}
        facets["pyspark_snapshot"] = {**snapshot, "versions": [version], **({"parent": before} if before else {})}
    if new.reads_nothing:
        for stated in ("lifecycleStateChange", "pyspark_replaced"):
            facets.pop(stated, None)
    if new.empties:
        facets["lifecycleStateChange"] = {"lifecycleStateChange": "TRUNCATE"}
    return {**dataset, "facets": facets}


def _read(dataset: Mapping[str, Any], new: Repetition, place: str) -> dict[str, Any]:
    """Return an input with the version that was read."""
    facets = dataset.get("facets", {})
    names = {dataset["name"], *(each.get("name") for each in facets.get("symlinks", {}).get("identifiers", ()))}
    version = new.read.get(place, "")
    if not version or names & set(new.pinned) or "version" not in facets:
        return dict(dataset)
    found = {**facets, "version": {**facets["version"], "datasetVersion": version}}
    if "pyspark_snapshot" in found:
        found["pyspark_snapshot"] = {**found["pyspark_snapshot"], "versions": [version]}
    return {**dataset, "facets": found}
