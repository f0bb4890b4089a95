"""The copies that keep the rows of tables that a recovery empties. They are dropped when everything is correct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from openlineage_pyspark.errors import RecoveryError
from openlineage_pyspark.workbench.recovery.model.statements import sql_name

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.journal import Journal
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, TableId


class CopySession(Protocol):
    """The Spark session in which copies are dropped."""

    def files_of(self, table: TableId, /) -> str:
        """Return a text that differs once the files of a table have changed; empty if there is no such table."""

    def run(self, sql: str, /) -> None:
        """Run a statement."""


def kept_copies(plan: RecoveryPlan, journal: Journal) -> dict[TableId, str]:
    """
    Return the copies that a plan has made -> a text that differs once their files have changed; empty if unknown.

    Raises:
        RecoveryError: the plan is not finished, or the journal can't be read.
    """
    if len(journal.finished()) < len(plan.steps):
        raise RecoveryError("the plan is not finished: the copies are kept")
    found = {}
    for number, step in enumerate(plan.steps, 1):
        last = journal.last(number)
        if step.action == "keep" and last is not None:
            found[step.writes[0]] = last.files.get(sql_name(step.writes[0]), "")
    return found


def uncertainties_of_copies(plan: RecoveryPlan) -> dict[int, tuple[str, ...]]:
    """Return the uncertain steps that remove rows of a table whose copy is kept -> why: only the copy may have some."""
    tables = {table.parts for step in plan.steps if step.action == "keep" for table in step.reads}
    # A copy that replaces the rows of such a table counts too.
    for step in plan.steps:
        if step.action == "switch" and tables & {table.parts for table in step.writes}:
            tables |= {table.parts for table in step.reads}
    return {
        number: step.doubts
        for number, step in enumerate(plan.steps, 1)
        if step.action in ("copy", "empty") and step.doubts and tables & {table.parts for table in step.writes}
    }


def drop_copy(copy: TableId, files: str, session: CopySession) -> tuple[bool, str]:
    """
    Drop a copy, unless another table has its name by now, or it has other rows.

    Args:
        copy: the copy.
        files: what `kept_copies` returned for it.
        session: the Spark session.

    Returns:
        Whether it is gone, and what became of it as a sentence.

    Raises:
        StoreError: Spark refused it, or it failed.
    """
    name, now = sql_name(copy), session.files_of(copy)
    if not now:
        return True, f"{name} no longer exists"
    if now != files:
        why = "was written or created again since the recovery, and is kept: drop it by hand if nobody needs it"
        return False, f"{name} {why}"
    session.run(f"DROP TABLE {name}")
    return True, f"{name} is dropped"
