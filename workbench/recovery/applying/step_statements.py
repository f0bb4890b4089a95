"""Run the statements of a step, each between two lines of the journal, and check what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.recovery.applying.checks import (
    after_problem,
    beside_problem,
    lost_meanwhile,
    read_problem,
    statement_problem,
)
from openlineage_pyspark.workbench.recovery.applying.journal import JournalEntry
from openlineage_pyspark.workbench.recovery.model.statements import (
    WHOLE_TABLE,
    copied_table,
    partitioned,
    roll_back,
    sql_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.workbench.recovery.applying.given_plan import GivenPlan
    from openlineage_pyspark.workbench.recovery.applying.step_records import StepRecords
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryStep

# Spark 3.5.6 and later with Delta Lake 3.3 replace no table by a query.
_REPLACES_NO_TABLE = "does not support truncate in batch mode"


class StepStatements:
    """
    Run the SQL of steps.

    Args:
        given: the plan that is applied.
        records: reads and records the state of steps.
    """

    def __init__(self, given: GivenPlan, records: StepRecords) -> None:
        self._given = given
        self._records = records

    def apply(self, number: int, step: RecoveryStep, *, is_detached: bool) -> bool:
        """
        Run the statements of a step that have not been run yet, and check the result.

        Args:
            number: its number.
            step: the step.
            is_detached: whether the version to which it rolls back is not an ancestor of the current one.

        Returns:
            Whether it is done, as the user accepts it.
        """
        last = self._given.journal.last(number)
        begin = 0 if last is None else last.place + (last.state == "done")
        was_done = begin >= len(step.code)
        there = {} if was_done else self._records.all_versions(step)
        now = self._records.versions(step)
        # The part that an earlier process did counts too.
        before = self._given.journal.before(number) if begin else now
        for place, planned in enumerate(step.code):
            if place < begin:
                continue
            sql = self._statement(step, planned, is_detached=is_detached)
            self._given.say(f"  {sql}")
            problem, now = self._run(number, step, place, sql, now)
            if problem:
                self._given.say(f"step {number} was not done: {problem}")
                return False
        begun = [each for each in self._given.journal.entries if each.step == number and each.state == "begun"]
        problems = [
            *after_problem(step, before, self._given.session),
            *(lost_meanwhile(step, there, self._given.session) if step.action == "roll back" else ()),
            *beside_problem(step, before, there, {each.application for each in begun} - {""}, self._given.session),
            *read_problem(step, self._given.left(), self._given.consent.newer, self._given.session),
            *self._layout_kept(step, begun),
        ]
        if problems and not self._is_accepted(number, step, problems, was_done=was_done):
            return False
        self._records.record(number, step, before, now)
        self._records.finish(number, step, now)
        return True

    def _is_accepted(self, number: int, step: RecoveryStep, problems: Sequence[str], *, was_done: bool) -> bool:
        """
        Return whether the user accepts the result of a step.

        Args:
            number: its number.
            step: the step.
            problems: what is different, as sentences.
            was_done: whether an earlier call did it and showed the problems, so that the consent refers to them.
        """
        how = "differs from the run that it repeats" if step.again else "was done, but"
        for problem in problems:
            self._given.say(f"step {number} {how}: {problem}")
        if was_done and number in self._given.consent.doubts:
            return True
        if self._given.ask is None:
            self._given.say(f"step {number}: if that is right, --resume --accept-doubt {number} continues")
        return self._given.ask is not None and self._given.ask("Continue anyway?")

    def _statement(self, step: RecoveryStep, planned: str, *, is_detached: bool) -> str:
        """
        Return the statement that is run.

        A version that is not an ancestor of the current one is set as current, and a copy gets its table's partitions.
        """
        if step.action == "copy" and (table := copied_table(planned)):
            return partitioned(planned, self._given.session.partitions_of(table))
        if not is_detached or step.action != "roll back":
            return planned
        return roll_back(step.writes[0], step.after[0].version, is_ancestor=False)

    def _run(
        self, number: int, step: RecoveryStep, place: int, sql: str, before: dict[str, str]
    ) -> tuple[str, dict[str, str]]:
        """
        Run a statement between two lines of the journal.

        Args:
            number: the number of the step.
            step: the step.
            place: the place of the statement within the step.
            sql: the statement.
            before: the versions of the step's tables.

        Returns:
            Why it failed, empty if it did not; and the versions of the tables afterwards.
        """
        if problem := statement_problem(step, sql, self._given.session):
            return problem, before
        files = self._records.files(step)
        if step.action == "keep":
            files |= {sql_name(each): self._given.session.files_of(each) for each in step.reads}
        by = self._given.session.application
        self._given.journal.write(JournalEntry(number, place, "begun", before, sql, files=files, application=by))
        try:
            self._given.session.run(sql, step.settings)
        except StoreError as problem:
            self._given.journal.write(
                JournalEntry(number, place, "failed", before, str(problem), files=files, application=by)
            )
            now = self._records.versions(step)
            if now == before and (other := self._instead(step, sql, str(problem))) is not None:
                self._given.say("  This Spark can't replace a table of Delta Lake by a query, so it does this instead:")
                self._given.say(f"  {other.code[0]}")
                return self._run(number, other, place, other.code[0], before)
            committed = "\nIts tables have a new version nevertheless: --resume counts it as done"
            return f"{problem}{committed if now != before else ''}", now
        now = self._records.versions(step)
        self._given.journal.write(JournalEntry(number, place, "done", now))
        return "", now

    def _instead(self, step: RecoveryStep, sql: str, problem: str) -> RecoveryStep | None:
        """
        Return the step that does the same without replacing a table, for one that failed because of that; else None.

        Args:
            step: the step.
            sql: its statement.
            problem: why that failed.
        """
        if _REPLACES_NO_TABLE not in problem:
            return None
        from openlineage_pyspark.workbench.recovery.model.rewriting import without_replace

        found = without_replace(sql)
        if found is None:
            return None
        if self._given.session.table(step.writes[0]) is None:
            return attrs.evolve(step, code=(found.create,))
        settings = (*step.settings, WHOLE_TABLE)
        is_same = self._given.session.is_as_wide(found.query, found.table, settings)
        return attrs.evolve(step, code=(found.overwrite,), settings=settings) if is_same else None

    def _layout_kept(self, step: RecoveryStep, begun: Sequence[JournalEntry]) -> Iterator[str]:
        """Yield what the overwrite of a table, in place of its replacement, has left as it was: all but the rows."""
        instead = [(step.code[each.place], each.text) for each in begun if each.text != step.code[each.place]]
        for planned, text in instead if step.action == "run" else ():
            from openlineage_pyspark.workbench.recovery.model.rewriting import without_replace

            found = without_replace(planned)
            if found is None or text != found.overwrite:
                continue
            kept = "only its rows were replaced, and not its"
            if (now := self._given.session.partitions_of(found.table)) != found.partitions:
                wanted, there = (", ".join(each) or "none" for each in (found.partitions, now))
                yield f"{found.table}: {kept} partitions: they are {there}, and the statement has {wanted}"
            if (properties := self._given.session.properties_of(found.table)) != dict(found.properties):
                wanted, there = (
                    ", ".join(f"{key}={value}" for key, value in sorted(each.items())) or "none"
                    for each in (dict(found.properties), properties)
                )
                yield f"{found.table}: {kept} properties: they are {there}, and the statement has {wanted}"
