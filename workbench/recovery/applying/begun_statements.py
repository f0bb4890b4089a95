"""How far a step got that an earlier process began and did not end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.errors import CheckpointError, StepFailedError
from openlineage_pyspark.workbench.recovery.applying.checkpoint import finish_move
from openlineage_pyspark.workbench.recovery.applying.checks import listed_versions, rolled_back_at
from openlineage_pyspark.workbench.recovery.applying.interrupted import written_since
from openlineage_pyspark.workbench.recovery.applying.journal import JournalEntry
from openlineage_pyspark.workbench.recovery.model.statements import sql_name

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.given_plan import GivenPlan
    from openlineage_pyspark.workbench.recovery.applying.step_records import StepRecords
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryStep


class BegunStatements:
    """
    Find out whether statements ended that an earlier process began.

    Args:
        given: the plan that is applied.
        records: reads and records the state of steps.
    """

    def __init__(self, given: GivenPlan, records: StepRecords) -> None:
        self._given = given
        self._records = records

    def settle(self, number: int, step: RecoveryStep, last: JournalEntry) -> None:
        """
        Write into the journal what became of a step that was begun.

        Args:
            number: its number.
            step: the step.
            last: its last line in the journal.

        Raises:
            StepFailedError: that is uncertain.
        """
        try:
            is_done = number in self._given.consent.done or (step.move is not None and finish_move(step.move))
        except (CheckpointError, OSError, ValueError) as problem:
            raise StepFailedError(f"step {number} was begun: {problem}", step=number) from problem
        now = self._records.versions(step)
        if is_done:
            if step.move is None:
                # The user states it, and the process that did it may not have recorded it in the store.
                self._records.record(number, step, self._given.journal.before(number), now)
            self._records.finish(number, step, now)
            return
        if step.move is not None:
            return
        if now and now != dict(last.tables):
            if step.action == "roll back":
                # What something else wrote on top of it is found by the checks.
                now = self._rolled_back(step, last)
            if not now or self._is_as_begun(number, step, last):
                return
            self._given.say(f"step {number}: statement {last.place + 1} was committed before the end was written down")
            self._given.journal.write(JournalEntry(number, last.place, "done", now))
        elif not now:
            self._settle_files(number, step, last)

    def _rolled_back(self, step: RecoveryStep, last: JournalEntry) -> dict[str, str]:
        """Return the tables of a step that was begun -> the version at which it left them; none if it did nothing."""
        table, name = step.writes[0], sql_name(step.writes[0])
        live = self._given.session.table(table)
        at = "" if live is None else rolled_back_at(live, last.tables.get(name, ""), step.after[0])
        return {name: at} if at else {}

    def _is_as_begun(self, number: int, step: RecoveryStep, last: JournalEntry) -> bool:
        """
        Return whether the tables of a step have the rows that they had when its statement was begun.

        Raises:
            StepFailedError: the statement was not committed, and something else wrote a table since.
        """
        if step.action == "roll back" or self._records.versions(step).keys() != last.tables.keys():
            return False
        changed = [each for each in written_since(step, last.tables, self._given.session) if each.since]
        if last.application and changed and not any(each.is_made_by(last.application) for each in changed):
            wrote = ", ".join(f"{sql_name(each.table)}: {listed_versions(each.since)}" for each in changed)
            back = "; ".join(each.undo for each in changed if each.undo)
            raise StepFailedError(
                f"step {number} was begun and its statement did not end, and something else wrote since: {wrote}. "
                "If its rows are right, append them again from there when all steps are done. "
                f"Undo that, and use --resume: {back}",
                step=number,
            )
        return not changed

    def _settle_files(self, number: int, step: RecoveryStep, last: JournalEntry) -> None:
        """
        Decide about a statement that was begun on tables without versions: only their files may show whether it ended.

        Raises:
            StepFailedError: they do not show it.
            StoreError: Spark can't read them.
        """
        if step.action in ("keep", "copy") and self._given.session.table(step.writes[0]) is None:
            # The copy does not exist, so it can be made.
            return
        now = self._records.files(step)
        if last.files and now == dict(last.files):
            self._given.say(f"step {number}: statement {last.place + 1} has changed no file, so it is tried again")
            return
        if last.files and [name for name in now if bool(now[name]) != bool(last.files.get(name))]:
            # It made a table, or dropped one, and Spark does that at the end.
            self._given.journal.write(JournalEntry(number, last.place, "done"))
            return
        if last.files and step.action == "empty":
            # It removes all rows, however many are there, and they are in the copy.
            self._given.say(f"step {number}: statement {last.place + 1} is tried again")
            return
        name = ", ".join(sql_name(each) for each in step.writes)
        raise StepFailedError(
            f"step {number} was started and did not end, and {name} keeps no versions: check it. "
            f"If the step is done, use --done {number}; it began: {last.text}",
            step=number,
            statement=last.text,
        )
