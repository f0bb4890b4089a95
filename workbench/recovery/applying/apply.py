"""Apply a recovery plan: it is checked first, its SQL runs in a Spark session, and a journal records each step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from openlineage_pyspark.errors import CheckpointError
from openlineage_pyspark.workbench.recovery.applying.begun_statements import BegunStatements
from openlineage_pyspark.workbench.recovery.applying.by_hand import StepsByHand
from openlineage_pyspark.workbench.recovery.applying.checkpoint import kept_place, put_away, set_back, undone_sources
from openlineage_pyspark.workbench.recovery.applying.checks import (
    Findings,
    check_plan,
    files_problem,
    left_problem,
    meanwhile_problem,
    read_problem,
)
from openlineage_pyspark.workbench.recovery.applying.given_plan import GivenPlan
from openlineage_pyspark.workbench.recovery.applying.journal import JournalEntry
from openlineage_pyspark.workbench.recovery.applying.step_records import StepRecords
from openlineage_pyspark.workbench.recovery.applying.step_statements import StepStatements
from openlineage_pyspark.workbench.recovery.model.statements import sql_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.workbench.recovery.applying.checks import PlanProblem
    from openlineage_pyspark.workbench.recovery.model.plan import CheckpointMove, RecoveryStep

PlanOutcome: TypeAlias = Literal["applied", "refused", "declined", "failed", "waits"]
"""`refused`: a check failed; `declined`: a person said no; `waits`: a person does the next step."""


class PlanApplication:
    """
    A plan that is being applied.

    Args:
        given: the plan, and all that it is applied with.
    """

    def __init__(self, given: GivenPlan) -> None:
        self._given = given
        self._records = StepRecords(given)
        self._by_hand = StepsByHand(given, self._records)
        self._begun = BegunStatements(given, self._records)
        self._statements = StepStatements(given, self._records)
        self._findings = Findings()

    def apply(self) -> PlanOutcome:
        """
        Check the plan, ask the user, and do the remaining steps.

        Raises:
            StoreError: Spark can't be queried.
            RecoveryError: the journal can't be written, or it is unknown whether a step was done.
        """
        if not self._settle():
            return "waits"
        finished = self._given.journal.finished()
        begun = self._given.journal.begun()
        self._findings = check_plan(
            self._given.plan, self._given.session, finished, self._given.journal.reached(), begun
        )
        problems = [
            each for each in self._findings.problems if each.newer not in self._given.consent.newer or not each.newer
        ]
        if problems:
            self._refuse(problems)
            return "refused"
        for number, note in self._findings.notes:
            self._given.say(f"step {number}: {note}")
        steps = [(number, step) for number, step in enumerate(self._given.plan.steps, 1) if number not in finished]
        if not steps:
            self._given.say("all steps are done")
            return "applied"
        if not self._agreed(steps):
            self._given.say("nothing was done")
            return "declined"
        for number, step in steps:
            self._given.say(f"{number}/{len(self._given.plan.steps)} {step.title}")
            outcome = self._do(number, step) if self._is_as_left(number, step) else "failed"
            if outcome != "applied":
                return outcome
        taken_back = list(left_problem(self._given.left(), self._given.session))
        for each in taken_back:
            self._given.say(f"all steps are done, but {each}")
        return "failed" if taken_back else "applied"

    def _refuse(self, problems: list[PlanProblem]) -> None:
        begun = "no further step was begun" if self._given.journal.entries else "nothing was done"
        self._given.say(f"{begun}, because the plan can't be finished:")
        for each in problems:
            self._given.say(f"- step {each.step}: {each.message}")

    def _agreed(self, steps: list[tuple[int, RecoveryStep]]) -> bool:
        """Return whether the steps may begin: the user confirms that, and accepts each uncertain step."""
        if self._given.ask is not None and not self._given.ask(
            f"Apply {len(steps)} of {len(self._given.plan.steps)} steps?"
        ):
            return False
        found: dict[int, tuple[str, ...]] = {}
        for number, doubt in self._findings.doubts:
            found[number] = (*found.get(number, ()), doubt)
        doubtful = [
            (number, step, (*step.doubts, *found.get(number, ())))
            for number, step in steps
            if step.language and number not in {*self._given.consent.doubts, *self._given.consent.done}
        ]
        doubtful = [each for each in doubtful if each[-1]]
        for number, step, doubts in doubtful:
            self._given.say(f"step {number} is uncertain. {step.title}")
            for doubt in doubts:
                self._given.say(f"- {doubt}")
            if self._given.ask is None:
                self._given.say(f"accept it with --accept-doubt {number}, or leave out --yes")
            elif not self._given.ask("Do it anyway?"):
                return False
        return self._given.ask is not None or not doubtful

    def _settle(self) -> bool:
        """
        Find out how far the last step that was begun got.

        Returns:
            Whether the plan can continue: no application has ended after some of its writes.

        Raises:
            StepFailedError: that is uncertain.
        """
        for number, step in enumerate(self._given.plan.steps, 1):
            last = self._given.journal.last(number)
            if last is None or last.state in ("done", "finished"):
                continue
            if last.state != "waits":
                self._begun.settle(number, step, last)
            elif not self._by_hand.settle(number, step, last):
                return False
        for number in sorted({*self._given.consent.undo} - self._by_hand.undone):
            self._given.say(f"step {number}: there is nothing to undo")
        return True

    def _is_as_left(self, number: int, step: RecoveryStep) -> bool:
        """Return whether the tables of a step are as the checks found them, or as an earlier step left them."""
        expected = {**self._findings.versions, **self._given.journal.reached()}
        problems = [
            *meanwhile_problem(step, expected, self._given.session),
            *read_problem(step, self._given.left(), self._given.consent.newer, self._given.session),
            *self._files_problem(number, step),
        ]
        for problem in problems:
            self._given.say(f"step {number} was not done: {problem}")
        return not problems

    def _files_problem(self, number: int, step: RecoveryStep) -> Iterator[str]:
        """Yield which tables without versions something else wrote after the checks, or an earlier step."""
        left = dict(self._findings.files)
        for entry in self._given.journal.entries:
            done = self._given.plan.steps[entry.step - 1]
            if entry.state == "finished":
                # If Spark could not read a table after the step, its files are unknown since.
                written = {sql_name(each) for each in done.writes}
                left = {name: files for name, files in left.items() if name not in written} | dict(entry.files)
            elif entry.state == "begun" and done.action == "keep":
                # The copy has the rows that the table had then, or more.
                left |= {name: entry.files[name] for name in map(sql_name, done.reads) if name in entry.files}
        # A step that was begun may itself have changed the files of its tables.
        own = () if self._given.journal.last(number) is not None else step.writes
        return files_problem((*own, *step.reads), left, self._given.consent.newer, self._given.session)

    def _do(self, number: int, step: RecoveryStep) -> PlanOutcome:
        if step.move is not None:
            return "applied" if self._set_back(number, step, step.move) else "failed"
        if step.language != "sql":
            return "applied" if self._by_hand.wait(number, step) else "waits"
        is_detached = number in self._findings.detached
        return "applied" if self._statements.apply(number, step, is_detached=is_detached) else "failed"

    def _set_back(self, number: int, step: RecoveryStep, move: CheckpointMove) -> bool:
        self._given.journal.write(JournalEntry(number, 0, "begun", text=step.code[0] if step.code else step.title))
        path = Path(move.path)
        if move.keeps_all and not path.is_dir():
            self._given.say(f"  there is no checkpoint at {path}, so the query was given up")
            self._records.finish(number, step, {})
            return True
        try:
            if move.back_to is None:
                done = put_away(path)
            else:
                done = set_back(path, move.back_to, kept_place(path), undone_sources(move))
        except (CheckpointError, OSError, ValueError) as problem:
            self._given.say(f"step {number} was not done: {problem}")
            return False
        for sentence in done:
            self._given.say(f"  {sentence}")
        self._records.finish(number, step, {})
        return True
