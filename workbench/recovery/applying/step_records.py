"""The tables and queries of steps as they are now, and what the journal and the store record of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import StepFailedError, StoreError
from openlineage_pyspark.workbench.recovery.applying.checkpoint import last_batches
from openlineage_pyspark.workbench.recovery.applying.checks import read_problem, unwritten_tables, written_problem
from openlineage_pyspark.workbench.recovery.applying.interrupted import StepProgress, queries_since, written_since
from openlineage_pyspark.workbench.recovery.applying.journal import JournalEntry
from openlineage_pyspark.workbench.recovery.model.statements import OVERWRITTEN_FORMATS, sql_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.workbench.recovery.applying.given_plan import GivenPlan
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryStep


class StepRecords:
    """
    Read the state of a step's tables, and write down what was done.

    Args:
        given: the plan that is applied.
    """

    def __init__(self, given: GivenPlan) -> None:
        self._given = given

    def versions(self, step: RecoveryStep) -> dict[str, str]:
        """Return the tables of a step that keep versions -> their current ones."""
        found = {}
        for table in step.writes:
            if table.format in ("iceberg", "delta") and (live := self._given.session.table(table)) is not None:
                found[sql_name(table)] = live.version
        return found

    def all_versions(self, step: RecoveryStep) -> dict[str, frozenset[str]]:
        """Return the tables of a step -> all versions that they have."""
        every = ((sql_name(each), self._given.session.table(each)) for each in step.writes)
        return {name: frozenset(live.versions) for name, live in every if live is not None}

    def files(self, step: RecoveryStep) -> dict[str, str]:
        """Return the tables of a step that keep no versions -> a text that differs once their files have changed."""
        plain = [each for each in step.writes if each.format not in ("iceberg", "delta")]
        return {sql_name(each): self._given.session.files_of(each) for each in plain}

    def files_by_hand(self, step: RecoveryStep) -> dict[str, str]:
        """Return the same of the tables that a person writes, as far as Spark can read them and they have files."""
        found = {}
        for table in step.writes:
            if table.format in OVERWRITTEN_FORMATS:
                with suppress(StoreError):
                    found[sql_name(table)] = self._given.session.files_of(table)
        return found

    def unwritten(self, number: int, step: RecoveryStep) -> dict[str, str]:
        """Return the tables that a step must not write -> their current versions, as far as Spark can read them."""
        found = {}
        for table in unwritten_tables(step):
            try:
                live = self._given.session.table(table)
            except StoreError as problem:
                # No other step needs it, and this session may not have its catalog.
                self._given.say(f"step {number}: check by hand that it does not write {sql_name(table)}: {problem}")
                continue
            if live is not None:
                found[sql_name(table)] = live.version
        return found

    def progress(self, step: RecoveryStep, begun: JournalEntry) -> StepProgress:
        """Return what a step has done since it began to wait: an application may have ended after its first table."""
        now = self.files_by_hand(step)
        same = tuple(name for name, found in now.items() if begun.files.get(name) == found)
        new = tuple(name for name in now if name not in same)
        queries = queries_since(begun.batches)
        return StepProgress(tuple(written_since(step, begun.tables, self._given.session)), same, new, queries)

    def begin_to_wait(self, number: int, step: RecoveryStep, unwritten: Mapping[str, str]) -> JournalEntry:
        """Record the state of the tables and queries before somebody else does a step."""
        before, files = self.versions(step), self.files_by_hand(step)
        batches = {place: last_batches(Path(place))[0] for place in step.checkpoints}
        entry = JournalEntry(number, 0, "waits", before, files=files, unwritten=unwritten, batches=batches)
        self._given.journal.write(entry)
        return entry

    def record(self, number: int, step: RecoveryStep, before: dict[str, str], now: dict[str, str]) -> None:
        """Record a step in the store before the journal calls it finished. Recording it again changes nothing."""
        if self._given.recorder is not None:
            reached = {**self._given.journal.reached(), **now}
            if note := self._given.recorder.record(number, step, before, reached):
                self._given.say(f"  {note}")

    def finish(self, number: int, step: RecoveryStep, now: dict[str, str]) -> None:
        """Write into the journal that a step is finished, with the versions of its tables."""
        # They show later steps what something else writes, and `recover forget-copies` that a copy is unchanged.
        files = self.files(step) if step.language == "sql" else self.files_by_hand(step)
        self._given.journal.write(JournalEntry(number, len(step.code), "finished", now, files=files))

    def finish_by_hand(self, number: int, step: RecoveryStep, now: dict[str, str]) -> None:
        """
        Finish a step that a person did. An application reports to the store itself what it wrote; a person does not.

        Raises:
            StepFailedError: what it must not write has a new version.
        """
        last = self._given.journal.last(number)
        before = {} if last is None else last.unwritten
        problems = [
            *written_problem(step, before, self._given.consent.newer, self._given.session),
            *read_problem(step, self._given.left(), self._given.consent.newer, self._given.session),
        ]
        if problems:
            raise StepFailedError(f"step {number} was done by hand: {'; '.join(problems)}", step=number)
        if last is None and (unknown := ", ".join(map(sql_name, unwritten_tables(step)))):
            self._given.say(
                f"step {number}: nobody can check that it left {unknown} unchanged: it was done before it waited"
            )
        if step.action == "empty":
            self.record(number, step, {}, now)
        self.finish(number, step, now)
