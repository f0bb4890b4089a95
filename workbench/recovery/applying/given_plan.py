"""A plan to apply, with all that it is applied with."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeAlias

import attrs
from openlineage_pyspark.workbench.recovery.model.statements import sql_name

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.journal import Journal
    from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
    from openlineage_pyspark.workbench.recovery.applying.recording import Recorder
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, TableId

Ask: TypeAlias = "Callable[[str], bool] | None"
"""Asks a person a question; None if nobody can be asked."""


@attrs.frozen
class Consent:
    """
    The consent that the caller has given beforehand.

    Args:
        newer: the names of tables that something else may have written: what it wrote may be lost, kept or read.
        doubts: the numbers of steps that are done although they are uncertain.
        done: the numbers of steps that a person has done.
        undo: the numbers of steps that a person runs again: what they have written so far is rolled back.
    """

    newer: Collection[str] = ()
    doubts: Collection[int] = ()
    done: Collection[int] = ()
    undo: Collection[int] = ()


@attrs.frozen
class GivenPlan:
    """
    A plan to apply.

    Args:
        plan: the plan.
        session: the Spark session.
        journal: its journal, which is held.
        say: shows a line to the user.
        ask: asks the user; None if there is no terminal.
        consent: the consent given beforehand.
        recorder: reports the steps to the store; None if the plan's store is not a file.
    """

    plan: RecoveryPlan
    session: LiveSession
    journal: Journal
    say: Callable[[str], None]
    ask: Ask
    consent: Consent
    recorder: Recorder | None = None

    def left(self) -> dict[TableId, str]:
        """Return the tables with versions that the recovery has written -> the versions at which it left them."""
        left: dict[TableId, str] = {}
        for entry in self.journal.entries:
            if entry.state not in ("done", "finished"):
                continue
            for table in self.plan.steps[entry.step - 1].writes:
                if (version := entry.tables.get(sql_name(table))) is not None:
                    left[table] = version
                else:
                    # It was dropped, or keeps no versions.
                    left.pop(table, None)
        return left
