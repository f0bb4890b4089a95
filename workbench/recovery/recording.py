"""What a recovery has done, as events of the jobs that it repeats: so the store knows that it was recovered."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.recovery.statements import place_of_files, sql_name
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.names import name_with_namespace
from openlineage_pyspark.workbench.store.sqlite import Database

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.plan import RecoveryPlan, RecoveryStep

FACET = "pyspark_recovery"
"""The facet of a run that a recovery made: its plan, its step, and the run that it repeats."""

_RUNS = uuid.UUID("6f1f6d0e-54a0-4d2a-9f6e-0b7c3d5b0c11")
_VERSIONS = ("version", "pyspark_snapshot")
_LAST = "SELECT json FROM event WHERE run_id = ? AND type = 'COMPLETE' ORDER BY time DESC LIMIT 1"


class Recorder:
    """
    Writes what the steps of a plan did into its store.

    An event of a step is the one of the run that it repeats, with what is new: the run, the time, the versions, and the
    statement. So the job keeps its lineage. A step that repeats no run (a table that goes back, or is emptied) is a run
    of the job that made the rows to which the table goes back, or that fills it next.

    Args:
        plan: the plan.
        store: the file of its store.
    """

    def __init__(self, plan: RecoveryPlan, store: Path) -> None:
        self._plan = plan
        self._store = store

    def record(self, number: int, step: RecoveryStep, before: Mapping[str, str], reached: Mapping[str, str]) -> str:
        """
        Write a step that is done into the store; once more changes nothing.

        Args:
            number: its number.
            step: the step, whose statements the session ran.
            before: the tables that it writes and that keep versions -> their versions before it.
            reached: all tables that the recovery has written -> the versions at which it left them.

        Returns:
            Why nothing was written, as a sentence; empty if it was, or if there is nothing to tell.

        Raises:
            StoreError: the store can't be written.
        """
        if not step.like:
            return ""
        with Database(self._store) as database:
            found = database.query(_LAST, (step.like,))
            if not found:
                return f"the store has no event of the run {step.like}, so it does not learn of step {number}"
            event = self._event(json.loads(found[0][0]), number, step, before, reached)
            if event is not None:
                take(database, [EventLine("the recovery", json.dumps(event))])
        return ""

    def _event(
        self,
        event: dict[str, Any],
        number: int,
        step: RecoveryStep,
        before: Mapping[str, str],
        reached: Mapping[str, str],
    ) -> dict[str, Any] | None:
        """Make the event of a repeated run that of the step; return None if the step has changed no table."""
        written = {
            place_of_files(each.location): sql_name(each)
            for each in step.writes
            if each.location and (sql_name(each) not in before or reached.get(sql_name(each)) != before[sql_name(each)])
        }
        tables = (table for each in self._plan.steps for table in each.writes if table.location)
        known = {place_of_files(table.location): sql_name(table) for table in tables}
        event["outputs"] = [
            _written(each, step, before.get(written[place], ""), reached.get(written[place], ""))
            for each in event.get("outputs", ())
            if (place := _place_of(each)) in written
        ]
        if not event["outputs"]:
            return None
        if step.action in ("roll back", "empty"):
            event["inputs"] = []
        # What it reads of its own tables is what was there before.
        versions = {place: {**reached, **before}.get(name, "") for place, name in known.items()}
        event["inputs"] = [_read(each, step, versions.get(_place_of(each), "")) for each in event.get("inputs", ())]
        run, job = event["run"], event["job"]
        about = {"plan": self._plan.id, "step": number, "repeats": run["runId"]}
        run["runId"] = str(uuid.uuid5(_RUNS, f"{self._plan.id} {number}"))
        made = {"_producer": event["producer"], "_schemaURL": event["schemaURL"], **about}
        run["facets"] = {**run.get("facets", {}), FACET: made}
        event["eventTime"] = datetime.now(timezone.utc).isoformat()
        if step.code and "sql" in job.get("facets", {}):
            job["facets"]["sql"]["query"] = step.code[-1]
        elif step.code:
            job.setdefault("facets", {})["sql"] = {**_facet(event), "query": step.code[-1]}
        return event


def _written(dataset: dict[str, Any], step: RecoveryStep, before: str, version: str) -> dict[str, Any]:
    """Return an output with the version that a step made."""
    facets = {name: facet for name, facet in dataset.get("facets", {}).items() if name not in _VERSIONS}
    old = dataset.get("facets", {})
    if version:
        about = {name: old.get(name, {}) for name in _VERSIONS}
        facets["version"] = {**about["version"], "datasetVersion": version}
        snapshot = {**about["pyspark_snapshot"], "versions": [version]}
        snapshot.pop("parent", None)
        facets["pyspark_snapshot"] = {**snapshot, **({"parent": before} if before else {})}
    if step.action in ("roll back", "empty"):
        facets.pop("lifecycleStateChange", None)
    if step.action == "empty":
        facets["lifecycleStateChange"] = {**_facet(old.get("version", {})), "lifecycleStateChange": "TRUNCATE"}
    return {**dataset, "facets": facets}


def _read(dataset: dict[str, Any], step: RecoveryStep, version: str) -> dict[str, Any]:
    """Return an input with the version that a step read: the one that it was pinned to, or what was there."""
    facets = dataset.get("facets", {})
    names = {dataset["name"], *(each.get("name") for each in facets.get("symlinks", {}).get("identifiers", ()))}
    is_pinned = any(pin.version and not pin.affected and pin.dataset in names for pin in step.inputs)
    if is_pinned or not version or "version" not in facets:
        return dataset
    found = {**facets, "version": {**facets["version"], "datasetVersion": version}}
    if "pyspark_snapshot" in found:
        found["pyspark_snapshot"] = {**found["pyspark_snapshot"], "versions": [version]}
    return {**dataset, "facets": found}


def _facet(about: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that each facet has, from an event or from another facet."""
    return {
        "_producer": about.get("producer") or about.get("_producer", ""),
        "_schemaURL": about.get("schemaURL") or about.get("_schemaURL", ""),
    }


def _place_of(dataset: Mapping[str, Any]) -> str:
    return place_of_files(name_with_namespace(dataset["namespace"], dataset["name"]))
