"""Report the steps of a recovery as events of the jobs that they repeat, so the store knows of the recovery."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.events.repeated import Repetition, repeated
from openlineage_pyspark.workbench.recovery.model.statements import place_of_files, sql_name
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.names import name_with_namespace
from openlineage_pyspark.workbench.store.sqlite.database import Database

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, RecoveryStep

FACET = "pyspark_recovery"
"""The facet of a run that a recovery made: its plan, its step, and the run that it repeats."""

_RUNS = uuid.UUID("6f1f6d0e-54a0-4d2a-9f6e-0b7c3d5b0c11")
_LAST = "SELECT json FROM event WHERE run_id = ? AND type = 'COMPLETE' ORDER BY time DESC LIMIT 1"


class Recorder:
    """
    Report the steps of a plan to its store.

    An event of a step is the one of the run that it repeats, with what is new: the run, the time, the versions, and the
    statement. So the job keeps its lineage. A step that repeats no run, because it rolls a table back or empties it, is
    a run of the job that made the rows to which the table is rolled back, or that fills it next.

    Args:
        plan: the plan.
        store: the file of its store.
    """

    def __init__(self, plan: RecoveryPlan, store: Path) -> None:
        self._plan = plan
        # It is a hash of the whole plan, so it is calculated once.
        self._id = plan.id
        self._store = store

    def refuse_unwritable(self) -> None:
        """
        Refuse a store that can't be written, before the first step: its steps could not be recorded.

        Raises:
            StoreError: the store or its folder can't be written.
        """
        for path in (self._store, self._store.absolute().parent):
            if not os.access(path, os.W_OK):
                raise StoreError(
                    f"nothing was done: the steps could not be recorded, because {path} can't be written. "
                    "Make it writable, and try again"
                )

    def record(self, number: int, step: RecoveryStep, before: Mapping[str, str], reached: Mapping[str, str]) -> str:
        """
        Record a finished step in the store. Recording it again changes nothing.

        Args:
            number: its number.
            step: the step, whose statements the session ran.
            before: the tables that it writes and that keep versions -> their versions before it.
            reached: all tables that the recovery has written -> the versions at which it left them.

        Returns:
            Why nothing was written, as a sentence; empty if it was, or if there is nothing to record.

        Raises:
            StoreError: the store can't be written.
        """
        if not step.like:
            return ""
        with Database(self._store) as database:
            found = database.query(_LAST, (step.like,))
            if not found:
                return f"the store has no event of the run {step.like}, so step {number} is not recorded in it"
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
        """Make an event of the repeated run that reports the step; return None if the step has changed no table."""
        written = {}
        for table in step.writes:
            name = sql_name(table)
            if table.location and (name not in before or reached.get(name) != before[name]):
                written[place_of_files(table.location)] = (before.get(name, ""), reached.get(name, ""))
            elif table.location and step.action == "roll back":
                # A RESTORE of the newest version makes no version, but what came after that version no longer counts.
                written[place_of_files(table.location)] = (before[name], "")
        # It reads its own tables as they were before.
        versions = {**reached, **before}
        tables = (table for each in self._plan.steps for table in each.writes if table.location)
        puts_back = step.action in ("roll back", "empty")
        new = Repetition(
            str(uuid.uuid5(_RUNS, f"{self._id} {number}")),
            datetime.now(timezone.utc).isoformat(),
            step.code[-1] if step.code else "",
            written,
            {place_of_files(table.location): versions.get(sql_name(table), "") for table in tables},
            {pin.dataset for pin in step.inputs if pin.version and not pin.affected},
            puts_back,
            step.action == "empty",
            {FACET: self._facet(number, step)},
        )
        return repeated(event, new, lambda namespace, name: place_of_files(name_with_namespace(namespace, name)))

    def _facet(self, number: int, step: RecoveryStep) -> dict[str, Any]:
        # Without its journal, only the run of the last step shows that a recovery was finished.
        last = max(number for number, each in enumerate(self._plan.steps, 1) if each.like)
        about = {"plan": self._id, "step": number, "lastStep": last}
        return {**about, "repeats": step.like, "corrects": step.corrects}
