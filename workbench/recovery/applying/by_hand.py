"""The steps that a person does: they are shown, waited for, and undone if an application did them in part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import CheckpointError, StepFailedError
from openlineage_pyspark.workbench.recovery.applying.checkpoint import take_back
from openlineage_pyspark.workbench.recovery.model.formats import in_folder

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.given_plan import GivenPlan
    from openlineage_pyspark.workbench.recovery.applying.interrupted import StepProgress
    from openlineage_pyspark.workbench.recovery.applying.journal import JournalEntry
    from openlineage_pyspark.workbench.recovery.applying.step_records import StepRecords
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryStep


class StepsByHand:
    """
    Let a person do steps.

    Args:
        given: the plan that is applied.
        records: reads and records the state of steps.
    """

    def __init__(self, given: GivenPlan, records: StepRecords) -> None:
        self._given = given
        self._records = records
        self.undone: set[int] = set()
        """The numbers of the steps that were undone."""

    def settle(self, number: int, step: RecoveryStep, last: JournalEntry) -> bool:
        """Return whether the plan can continue, or still wait for the step: it has not been done in part."""
        progress = self._records.progress(step, last)
        if number in self._given.consent.done or (progress.tables and not progress.problem):
            self._records.finish_by_hand(number, step, self._records.versions(step))
        elif not progress.tables:
            self._given.say(
                f"step {number}: confirm with --done {number} when it is done, because no table's version shows it"
            )
        else:
            self._given.say(f"step {number}: {progress.problem} If it is done, use --done {number}")
            return not progress.is_begun or self._is_undone(number, step, progress)
        return True

    def _is_undone(self, number: int, step: RecoveryStep, progress: StepProgress) -> bool:
        """Undo what an application wrote before it ended, if the user wants that; return whether that was done."""
        self._given.say(f"step {number}: if it has ended, undo what it has written before you run it again:")
        for line in (*progress.undo_lines, *progress.by_hand):
            self._given.say(f"  {line}")
        if not progress.undo and not progress.moved:
            return False
        if number not in self._given.consent.undo:
            if self._given.ask is None:
                self._given.say(f"step {number}: --resume --undo {number} does that")
            if self._given.ask is None or not self._given.ask("Has it ended, and shall that be done?"):
                return False
        for sql in progress.undo:
            self._given.session.run(sql)
        # The tables first: a query that is ahead of its tables is noticed, and undone by the next call.
        try:
            for query in progress.moved:
                for sentence in take_back(Path(query.checkpoint), query.before, number):
                    self._given.say(f"  {sentence}")
        except (CheckpointError, OSError, ValueError) as problem:
            raise StepFailedError(f"step {number} was undone only in part: {problem}", step=number) from problem
        self.undone.add(number)
        last = self._given.journal.last(number)
        self._records.begin_to_wait(number, step, {} if last is None else last.unwritten)
        return True

    def wait(self, number: int, step: RecoveryStep) -> bool:
        """
        Let a person do a step, and return whether it is done.

        Code that only an event states is shown, and never run.
        """
        before = self._records.versions(step)
        if number in self._given.consent.done:
            self._records.finish_by_hand(number, step, before)
            return True
        last = self._given.journal.last(number)
        if last is None or last.state != "waits":
            last = self._records.begin_to_wait(number, step, self._records.unwritten(number, step))
        for code in step.code:
            self._given.say(f"  {in_folder(step, code)}")
        while self._given.ask is not None and self._given.ask("Is this done?"):
            progress = self._records.progress(step, self._given.journal.last(number) or last)
            if not progress.tables or not progress.problem:
                self._records.finish_by_hand(number, step, self._records.versions(step))
                return True
            self._given.say(progress.problem)
            if progress.is_begun:
                self._is_undone(number, step, progress)
        how = "--resume" if before else f"--resume --done {number}, because no table's version shows it"
        self._given.say(f"step {number} must be done by hand: do it, then continue with {how}")
        return False
