"""Apply a recovery plan: it is checked first, its SQL runs in a Spark session, and a journal records each step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs
from openlineage_pyspark.errors import CheckpointError, StepFailedError, StoreError
from openlineage_pyspark.workbench.recovery.applying.checkpoint import (
    finish_move,
    kept_place,
    last_batches,
    put_away,
    set_back,
    take_back,
    undone_sources,
)
from openlineage_pyspark.workbench.recovery.applying.checks import (
    Findings,
    after_problem,
    beside_problem,
    check_plan,
    files_problem,
    left_problem,
    listed_versions,
    lost_meanwhile,
    meanwhile_problem,
    read_problem,
    rolled_back_at,
    statement_problem,
    unwritten_tables,
    written_problem,
)
from openlineage_pyspark.workbench.recovery.applying.interrupted import StepProgress, queries_since, written_since
from openlineage_pyspark.workbench.recovery.applying.journal import JournalEntry
from openlineage_pyspark.workbench.recovery.model.formats import in_folder
from openlineage_pyspark.workbench.recovery.model.statements import (
    OVERWRITTEN_FORMATS,
    WHOLE_TABLE,
    copied_table,
    partitioned,
    roll_back,
    sql_name,
)

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.checks import PlanProblem
    from openlineage_pyspark.workbench.recovery.applying.journal import Journal
    from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
    from openlineage_pyspark.workbench.recovery.applying.recording import Recorder
    from openlineage_pyspark.workbench.recovery.model.plan import CheckpointMove, RecoveryPlan, RecoveryStep, TableId

# Spark 3.5.6 and later with Delta Lake 3.3 replace no table by a query.
_REPLACES_NO_TABLE = "does not support truncate in batch mode"

PlanOutcome: TypeAlias = Literal["applied", "refused", "declined", "failed", "waits"]
"""`refused`: a check failed; `declined`: a person said no; `waits`: a person does the next step."""

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


class PlanApplication:
    """
    A plan that is being applied.

    Args:
        plan: the plan.
        session: the Spark session.
        journal: its journal, which is held.
        say: shows a line to the user.
        ask: asks the user; None if there is no terminal.
        consent: the consent given beforehand.
        recorder: reports the steps to the store; None if the plan's store is not a file.
    """

    def __init__(
        self,
        plan: RecoveryPlan,
        session: LiveSession,
        journal: Journal,
        say: Callable[[str], None],
        ask: Ask,
        consent: Consent,
        recorder: Recorder | None = None,
    ) -> None:
        self._plan = plan
        self._session = session
        self._journal = journal
        self._say = say
        self._ask = ask
        self._consent = consent
        self._recorder = recorder
        self._findings = Findings()
        self._undone: set[int] = set()

    def apply(self) -> PlanOutcome:
        """
        Check the plan, ask the user, and do the remaining steps.

        Raises:
            StoreError: Spark can't be queried.
            RecoveryError: the journal can't be written, or it is unknown whether a step was done.
        """
        if not self._settle():
            return "waits"
        finished = self._journal.finished()
        begun = self._journal.begun()
        self._findings = check_plan(self._plan, self._session, finished, self._journal.reached(), begun)
        problems = [each for each in self._findings.problems if each.newer not in self._consent.newer or not each.newer]
        if problems:
            self._refuse(problems)
            return "refused"
        for number, note in self._findings.notes:
            self._say(f"step {number}: {note}")
        steps = [(number, step) for number, step in enumerate(self._plan.steps, 1) if number not in finished]
        if not steps:
            self._say("all steps are done")
            return "applied"
        if not self._agreed(steps):
            self._say("nothing was done")
            return "declined"
        for number, step in steps:
            self._say(f"{number}/{len(self._plan.steps)} {step.title}")
            outcome = self._do(number, step) if self._is_as_left(number, step) else "failed"
            if outcome != "applied":
                return outcome
        taken_back = list(left_problem(self._left(), self._session))
        for each in taken_back:
            self._say(f"all steps are done, but {each}")
        return "failed" if taken_back else "applied"

    def _left(self) -> dict[TableId, str]:
        """Return the tables with versions that the recovery has written -> the versions at which it left them."""
        left: dict[TableId, str] = {}
        for entry in self._journal.entries:
            if entry.state not in ("done", "finished"):
                continue
            for table in self._plan.steps[entry.step - 1].writes:
                if (version := entry.tables.get(sql_name(table))) is not None:
                    left[table] = version
                else:
                    # It was dropped, or keeps no versions.
                    left.pop(table, None)
        return left

    def _refuse(self, problems: list[PlanProblem]) -> None:
        begun = "no further step was begun" if self._journal.entries else "nothing was done"
        self._say(f"{begun}, because the plan can't be finished:")
        for each in problems:
            self._say(f"- step {each.step}: {each.message}")

    def _agreed(self, steps: list[tuple[int, RecoveryStep]]) -> bool:
        """Return whether the steps may begin: the user confirms that, and accepts each uncertain step."""
        if self._ask is not None and not self._ask(f"Apply {len(steps)} of {len(self._plan.steps)} steps?"):
            return False
        found: dict[int, tuple[str, ...]] = {}
        for number, doubt in self._findings.doubts:
            found[number] = (*found.get(number, ()), doubt)
        doubtful = [
            (number, step, (*step.doubts, *found.get(number, ())))
            for number, step in steps
            if step.language and number not in {*self._consent.doubts, *self._consent.done}
        ]
        doubtful = [each for each in doubtful if each[-1]]
        for number, step, doubts in doubtful:
            self._say(f"step {number} is uncertain. {step.title}")
            for doubt in doubts:
                self._say(f"- {doubt}")
            if self._ask is None:
                self._say(f"accept it with --accept-doubt {number}, or leave out --yes")
            elif not self._ask("Do it anyway?"):
                return False
        return self._ask is not None or not doubtful

    # The state that an earlier process left.

    def _settle(self) -> bool:
        """
        Find out how far the last step that was begun got.

        Returns:
            Whether the plan can continue: no application has ended after some of its writes.

        Raises:
            StepFailedError: that is uncertain.
        """
        for number, step in enumerate(self._plan.steps, 1):
            last = self._journal.last(number)
            if last is None or last.state in ("done", "finished"):
                continue
            if last.state != "waits":
                self._settle_statement(number, step, last)
            elif not self._settle_wait(number, step, last):
                return False
        for number in sorted({*self._consent.undo} - self._undone):
            self._say(f"step {number}: there is nothing to undo")
        return True

    def _settle_wait(self, number: int, step: RecoveryStep, last: JournalEntry) -> bool:
        """Return whether the plan can continue, or still wait for the step: it has not been done in part."""
        progress = self._progress(step, last)
        if number in self._consent.done or (progress.tables and not progress.problem):
            self._finish_by_hand(number, step, self._versions(step))
        elif not progress.tables:
            self._say(
                f"step {number}: confirm with --done {number} when it is done, because no table's version shows it"
            )
        else:
            self._say(f"step {number}: {progress.problem} If it is done, use --done {number}")
            return not progress.is_begun or self._is_undone(number, step, progress)
        return True

    def _is_undone(self, number: int, step: RecoveryStep, progress: StepProgress) -> bool:
        """Undo what an application wrote before it ended, if the user wants that; return whether that was done."""
        self._say(f"step {number}: if it has ended, undo what it has written before you run it again:")
        for line in (*progress.undo_lines, *progress.by_hand):
            self._say(f"  {line}")
        if not progress.undo and not progress.moved:
            return False
        if number not in self._consent.undo:
            if self._ask is None:
                self._say(f"step {number}: --resume --undo {number} does that")
            if self._ask is None or not self._ask("Has it ended, and shall that be done?"):
                return False
        for sql in progress.undo:
            self._session.run(sql)
        # The tables first: a query that is ahead of its tables is noticed, and undone by the next call.
        try:
            for query in progress.moved:
                for sentence in take_back(Path(query.checkpoint), query.before, number):
                    self._say(f"  {sentence}")
        except (CheckpointError, OSError, ValueError) as problem:
            raise StepFailedError(f"step {number} was undone only in part: {problem}", step=number) from problem
        self._undone.add(number)
        last = self._journal.last(number)
        self._begin_to_wait(number, step, {} if last is None else last.unwritten)
        return True

    def _settle_statement(self, number: int, step: RecoveryStep, last: JournalEntry) -> None:
        try:
            is_done = number in self._consent.done or (step.move is not None and finish_move(step.move))
        except (CheckpointError, OSError, ValueError) as problem:
            raise StepFailedError(f"step {number} was begun: {problem}", step=number) from problem
        now = self._versions(step)
        if is_done:
            if step.move is None:
                # The user states it, and the process that did it may not have recorded it in the store.
                self._record(number, step, self._journal.before(number), now)
            self._finish(number, step, now)
            return
        if step.move is not None:
            return
        if now and now != dict(last.tables):
            if step.action == "roll back":
                # What something else wrote on top of it is found by the checks.
                now = self._rolled_back(step, last)
            if not now or self._is_as_begun(number, step, last):
                return
            self._say(f"step {number}: statement {last.place + 1} was committed before the end was written down")
            self._journal.write(JournalEntry(number, last.place, "done", now))
        elif not now:
            self._settle_files(number, step, last)

    def _rolled_back(self, step: RecoveryStep, last: JournalEntry) -> dict[str, str]:
        """Return the tables of a step that was begun -> the version at which it left them; none if it did nothing."""
        table, name = step.writes[0], sql_name(step.writes[0])
        live = self._session.table(table)
        at = "" if live is None else rolled_back_at(live, last.tables.get(name, ""), step.after[0])
        return {name: at} if at else {}

    def _is_as_begun(self, number: int, step: RecoveryStep, last: JournalEntry) -> bool:
        """
        Return whether the tables of a step have the rows that they had when its statement was begun.

        Raises:
            StepFailedError: the statement was not committed, and something else wrote a table since.
        """
        if step.action == "roll back" or self._versions(step).keys() != last.tables.keys():
            return False
        changed = [each for each in written_since(step, last.tables, self._session) if each.since]
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
        if step.action in ("keep", "copy") and self._session.table(step.writes[0]) is None:
            # The copy does not exist, so it can be made.
            return
        now = self._files(step)
        if last.files and now == dict(last.files):
            self._say(f"step {number}: statement {last.place + 1} has changed no file, so it is tried again")
            return
        if last.files and [name for name in now if bool(now[name]) != bool(last.files.get(name))]:
            # It made a table, or dropped one, and Spark does that at the end.
            self._journal.write(JournalEntry(number, last.place, "done"))
            return
        if last.files and step.action == "empty":
            # It removes all rows, however many are there, and they are in the copy.
            self._say(f"step {number}: statement {last.place + 1} is tried again")
            return
        name = ", ".join(sql_name(each) for each in step.writes)
        raise StepFailedError(
            f"step {number} was started and did not end, and {name} keeps no versions: check it. "
            f"If the step is done, use --done {number}; it began: {last.text}",
            step=number,
            statement=last.text,
        )

    # One step.

    def _is_as_left(self, number: int, step: RecoveryStep) -> bool:
        """Return whether the tables of a step are as the checks found them, or as an earlier step left them."""
        expected = {**self._findings.versions, **self._journal.reached()}
        problems = [
            *meanwhile_problem(step, expected, self._session),
            *read_problem(step, self._left(), self._consent.newer, self._session),
            *self._files_problem(number, step),
        ]
        for problem in problems:
            self._say(f"step {number} was not done: {problem}")
        return not problems

    def _files_problem(self, number: int, step: RecoveryStep) -> Iterator[str]:
        """Yield which tables without versions something else wrote after the checks, or an earlier step."""
        left = dict(self._findings.files)
        for entry in self._journal.entries:
            done = self._plan.steps[entry.step - 1]
            if entry.state == "finished":
                # If Spark could not read a table after the step, its files are unknown since.
                written = {sql_name(each) for each in done.writes}
                left = {name: files for name, files in left.items() if name not in written} | dict(entry.files)
            elif entry.state == "begun" and done.action == "keep":
                # The copy has the rows that the table had then, or more.
                left |= {name: entry.files[name] for name in map(sql_name, done.reads) if name in entry.files}
        # A step that was begun may itself have changed the files of its tables.
        own = () if self._journal.last(number) is not None else step.writes
        return files_problem((*own, *step.reads), left, self._consent.newer, self._session)

    def _do(self, number: int, step: RecoveryStep) -> PlanOutcome:
        if step.move is not None:
            return self._set_back(number, step, step.move)
        if step.language != "sql":
            return self._wait(number, step)
        last = self._journal.last(number)
        begin = 0 if last is None else last.place + (last.state == "done")
        was_done = begin >= len(step.code)
        there = {} if was_done else self._all_versions(step)
        now = self._versions(step)
        # The part that an earlier process did counts too.
        before = self._journal.before(number) if begin else now
        for place, planned in enumerate(step.code):
            if place < begin:
                continue
            sql = self._statement(number, step, planned)
            self._say(f"  {sql}")
            problem, now = self._run(number, step, place, sql, now)
            if problem:
                self._say(f"step {number} was not done: {problem}")
                return "failed"
        begun = [each for each in self._journal.entries if each.step == number and each.state == "begun"]
        problems = [
            *after_problem(step, before, self._session),
            *(lost_meanwhile(step, there, self._session) if step.action == "roll back" else ()),
            *beside_problem(step, before, there, {each.application for each in begun} - {""}, self._session),
            *read_problem(step, self._left(), self._consent.newer, self._session),
            *self._layout_kept(step, begun),
        ]
        if problems and not self._is_accepted(number, step, problems, was_done=was_done):
            return "failed"
        self._record(number, step, before, now)
        self._finish(number, step, now)
        return "applied"

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
            self._say(f"step {number} {how}: {problem}")
        if was_done and number in self._consent.doubts:
            return True
        if self._ask is None:
            self._say(f"step {number}: if that is right, --resume --accept-doubt {number} continues")
        return self._ask is not None and self._ask("Continue anyway?")

    def _record(self, number: int, step: RecoveryStep, before: dict[str, str], now: dict[str, str]) -> None:
        """Record a step in the store before the journal calls it finished. Recording it again changes nothing."""
        if self._recorder is not None:
            reached = {**self._journal.reached(), **now}
            if note := self._recorder.record(number, step, before, reached):
                self._say(f"  {note}")

    def _statement(self, number: int, step: RecoveryStep, planned: str) -> str:
        """
        Return the statement that is run.

        A version that is not an ancestor of the current one is set as current, and a copy gets its table's partitions.
        """
        if step.action == "copy" and (table := copied_table(planned)):
            return partitioned(planned, self._session.partitions_of(table))
        if number not in self._findings.detached or step.action != "roll back":
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
        if problem := statement_problem(step, sql, self._session):
            return problem, before
        files = self._files(step)
        if step.action == "keep":
            files |= {sql_name(each): self._session.files_of(each) for each in step.reads}
        by = self._session.application
        self._journal.write(JournalEntry(number, place, "begun", before, sql, files=files, application=by))
        try:
            self._session.run(sql, step.settings)
        except StoreError as problem:
            self._journal.write(
                JournalEntry(number, place, "failed", before, str(problem), files=files, application=by)
            )
            now = self._versions(step)
            if now == before and (other := self._instead(step, sql, str(problem))) is not None:
                self._say("  This Spark can't replace a table of Delta Lake by a query, so it does this instead:")
                self._say(f"  {other.code[0]}")
                return self._run(number, other, place, other.code[0], before)
            committed = "\nIts tables have a new version nevertheless: --resume counts it as done"
            return f"{problem}{committed if now != before else ''}", now
        now = self._versions(step)
        self._journal.write(JournalEntry(number, place, "done", now))
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
        if self._session.table(step.writes[0]) is None:
            return attrs.evolve(step, code=(found.create,))
        settings = (*step.settings, WHOLE_TABLE)
        is_same = self._session.is_as_wide(found.query, found.table, settings)
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
            if (now := self._session.partitions_of(found.table)) != found.partitions:
                wanted, there = (", ".join(each) or "none" for each in (found.partitions, now))
                yield f"{found.table}: {kept} partitions: they are {there}, and the statement has {wanted}"
            if (properties := self._session.properties_of(found.table)) != dict(found.properties):
                wanted, there = (
                    ", ".join(f"{key}={value}" for key, value in sorted(each.items())) or "none"
                    for each in (dict(found.properties), properties)
                )
                yield f"{found.table}: {kept} properties: they are {there}, and the statement has {wanted}"

    def _set_back(self, number: int, step: RecoveryStep, move: CheckpointMove) -> PlanOutcome:
        self._journal.write(JournalEntry(number, 0, "begun", text=step.code[0] if step.code else step.title))
        path = Path(move.path)
        if move.keeps_all and not path.is_dir():
            self._say(f"  there is no checkpoint at {path}, so the query was given up")
            self._finish(number, step, {})
            return "applied"
        try:
            if move.back_to is None:
                done = put_away(path)
            else:
                done = set_back(path, move.back_to, kept_place(path), undone_sources(move))
        except (CheckpointError, OSError, ValueError) as problem:
            self._say(f"step {number} was not done: {problem}")
            return "failed"
        for sentence in done:
            self._say(f"  {sentence}")
        self._finish(number, step, {})
        return "applied"

    def _wait(self, number: int, step: RecoveryStep) -> PlanOutcome:
        """Let a person do a step. Code that only an event states is shown, and never run."""
        before = self._versions(step)
        if number in self._consent.done:
            self._finish_by_hand(number, step, before)
            return "applied"
        last = self._journal.last(number)
        if last is None or last.state != "waits":
            last = self._begin_to_wait(number, step, self._unwritten(number, step))
        for code in step.code:
            self._say(f"  {in_folder(step, code)}")
        while self._ask is not None and self._ask("Is this done?"):
            progress = self._progress(step, self._journal.last(number) or last)
            if not progress.tables or not progress.problem:
                self._finish_by_hand(number, step, self._versions(step))
                return "applied"
            self._say(progress.problem)
            if progress.is_begun:
                self._is_undone(number, step, progress)
        how = "--resume" if before else f"--resume --done {number}, because no table's version shows it"
        self._say(f"step {number} must be done by hand: do it, then continue with {how}")
        return "waits"

    def _begin_to_wait(self, number: int, step: RecoveryStep, unwritten: Mapping[str, str]) -> JournalEntry:
        """Record the state of the tables and queries before somebody else does a step."""
        before, files = self._versions(step), self._files_by_hand(step)
        batches = {place: last_batches(Path(place))[0] for place in step.checkpoints}
        entry = JournalEntry(number, 0, "waits", before, files=files, unwritten=unwritten, batches=batches)
        self._journal.write(entry)
        return entry

    def _progress(self, step: RecoveryStep, begun: JournalEntry) -> StepProgress:
        """Return what a step has done since it began to wait: an application may have ended after its first table."""
        now = self._files_by_hand(step)
        same = tuple(name for name, found in now.items() if begun.files.get(name) == found)
        new = tuple(name for name in now if name not in same)
        queries = queries_since(begun.batches)
        return StepProgress(tuple(written_since(step, begun.tables, self._session)), same, new, queries)

    def _finish_by_hand(self, number: int, step: RecoveryStep, now: dict[str, str]) -> None:
        """
        Finish a step that a person did. An application reports to the store itself what it wrote; a person does not.

        Raises:
            StepFailedError: what it must not write has a new version.
        """
        last = self._journal.last(number)
        before = {} if last is None else last.unwritten
        problems = [
            *written_problem(step, before, self._consent.newer, self._session),
            *read_problem(step, self._left(), self._consent.newer, self._session),
        ]
        if problems:
            raise StepFailedError(f"step {number} was done by hand: {'; '.join(problems)}", step=number)
        if last is None and (unknown := ", ".join(map(sql_name, unwritten_tables(step)))):
            self._say(f"step {number}: nobody can check that it left {unknown} unchanged: it was done before it waited")
        if step.action == "empty":
            self._record(number, step, {}, now)
        self._finish(number, step, now)

    def _finish(self, number: int, step: RecoveryStep, now: dict[str, str]) -> None:
        # They show later steps what something else writes, and `recover forget-copies` that a copy is unchanged.
        files = self._files(step) if step.language == "sql" else self._files_by_hand(step)
        self._journal.write(JournalEntry(number, len(step.code), "finished", now, files=files))

    def _unwritten(self, number: int, step: RecoveryStep) -> dict[str, str]:
        """Return the tables that a step must not write -> their current versions, as far as Spark can read them."""
        found = {}
        for table in unwritten_tables(step):
            try:
                live = self._session.table(table)
            except StoreError as problem:
                # No other step needs it, and this session may not have its catalog.
                self._say(f"step {number}: check by hand that it does not write {sql_name(table)}: {problem}")
                continue
            if live is not None:
                found[sql_name(table)] = live.version
        return found

    def _files(self, step: RecoveryStep) -> dict[str, str]:
        """Return the tables of a step that keep no versions -> a text that differs once their files have changed."""
        plain = [each for each in step.writes if each.format not in ("iceberg", "delta")]
        return {sql_name(each): self._session.files_of(each) for each in plain}

    def _files_by_hand(self, step: RecoveryStep) -> dict[str, str]:
        """Return the same of the tables that a person writes, as far as Spark can read them and they have files."""
        found = {}
        for table in step.writes:
            if table.format in OVERWRITTEN_FORMATS:
                with suppress(StoreError):
                    found[sql_name(table)] = self._session.files_of(table)
        return found

    def _all_versions(self, step: RecoveryStep) -> dict[str, frozenset[str]]:
        """Return the tables of a step -> all versions that they have."""
        every = ((sql_name(each), self._session.table(each)) for each in step.writes)
        return {name: frozenset(live.versions) for name, live in every if live is not None}

    def _versions(self, step: RecoveryStep) -> dict[str, str]:
        """Return the tables of a step that keep versions -> their current ones."""
        found = {}
        for table in step.writes:
            if table.format in ("iceberg", "delta") and (live := self._session.table(table)) is not None:
                found[sql_name(table)] = live.version
        return found
