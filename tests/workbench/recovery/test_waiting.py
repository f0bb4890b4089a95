"""An application that a person runs is done when each table that it writes has a new version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs
import pytest
from openlineage_pyspark.errors import StepFailedError, StoreError
from openlineage_pyspark.workbench.recovery.applying.apply import PlanApplication
from openlineage_pyspark.workbench.recovery.applying.given_plan import Consent, GivenPlan
from openlineage_pyspark.workbench.recovery.applying.journal import Journal
from openlineage_pyspark.workbench.recovery.applying.live import LiveStatement, LiveTable, LiveVersion, TableLayout
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan, RecoveryStep, RepeatedRun, TableCheck
from openlineage_pyspark.workbench.recovery.model.statements import TableId

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.live import LiveSession

TABLES = (TableId(("ice", "db", "daily"), "iceberg"), TableId(("ice", "db", "report"), "iceberg"))
STEP = RecoveryStep("run", "Run gold again.", "shell", ("spark-submit gold.py",), writes=TABLES)
PLAN = RecoveryPlan(Mode.INCREMENTAL, "t", "1", (), (STEP,))
IN_PART = "ice.db.report has no new version, so it is not done yet, or only in part."
NOT_AT_ALL = "its tables have no new version, so it is not done yet."


def line_of(operations: Iterable[str]) -> LiveTable:
    """Return a table with a version for each operation; `RESTORE to 1` brings back another one."""
    versions = {}
    for n, made in enumerate(operations, 1):
        operation, _, restored = made.partition(" to ")
        versions[str(n)] = LiveVersion(str(n), str(n - 1) if n > 1 else "", operation, "now", restored=restored)
    return LiveTable("/lake", str(len(versions) or ""), versions)


class Tables:
    """Tables with the versions that they have now."""

    def __init__(self) -> None:
        self.versions = {"daily": "1", "report": "1"}
        self.ran: list[str] = []
        self._restored: dict[str, dict[int, str]] = {}

    def table(self, named: TableId) -> LiveTable | None:
        if (version := self.versions.get(named.parts[-1])) is None:
            return None
        restored = self._restored.get(named.parts[-1], {})
        return line_of(
            f"RESTORE to {restored[number]}" if number in restored else "append"
            for number in range(1, int(version or 0) + 1)
        )

    def leftover(self, _table: TableId) -> str:
        return ""

    def columns_of(self, _table: TableId, _version: str = "") -> tuple[str, ...]:
        return ()

    def layouts_of(self, _table: TableId, _version: str) -> tuple[TableLayout, TableLayout]:
        return TableLayout(()), TableLayout(())

    def write(self, name: str) -> None:
        """Append to a table."""
        self.versions[name] = str(int(self.versions.get(name, 0)) + 1)

    @property
    def rows(self) -> dict[str, int]:
        """Return how often each table was appended to, as far as that counts."""
        found = {}
        for name in self.versions:
            live = self.table(TableId((name,)))
            assert live is not None
            found[name] = len([*live.since("")])
        return found

    def run(self, sql: str, _settings: object = ()) -> None:
        """Roll a table back, as its format does it."""
        self.ran.append(sql)
        if back := re.fullmatch(r"CALL ice\.system\.rollback_to_snapshot\('ice\.db\.(\w+)', (\d+)\)", sql):
            self.versions[back[1]] = back[2]
        elif back := re.fullmatch(r"RESTORE TABLE spark_catalog\.db\.(\w+) TO VERSION AS OF (\d+)", sql):
            self.write(back[1])
            self._restored.setdefault(back[1], {})[int(self.versions[back[1]])] = back[2]

    def apply(self, folder: Path, *done: int) -> tuple[str, list[str]]:
        """Apply the plan without anybody to ask; return what came of it and what was said."""
        said: list[str] = []
        session, journal = cast("LiveSession", self), Journal(folder / "journal.jsonl")
        return PlanApplication(GivenPlan(PLAN, session, journal, said.append, None, Consent(done=done))).apply(), said


@pytest.mark.parametrize(
    ("wrote", "outcome", "said"),
    [
        ((), "waits", f"step 1: {NOT_AT_ALL} If it is done, use --done 1"),
        # It was killed after its first write.
        (("daily",), "waits", f"step 1: {IN_PART} If it is done, use --done 1"),
        (("daily", "report"), "applied", "all steps are done"),
    ],
)
def test_an_application_that_wrote_some_of_its_tables_is_not_done(
    tmp_path: Path, wrote: tuple[str, ...], outcome: str, said: str
) -> None:
    tables = Tables()
    assert tables.apply(tmp_path)[0] == "waits"
    tables.versions |= dict.fromkeys(wrote, "2")

    found, lines = tables.apply(tmp_path)

    assert (found, lines[0]) == (outcome, said)


@pytest.mark.parametrize(
    ("step", "how"),
    [
        (STEP, "--resume"),
        (attrs.evolve(STEP, writes=()), "--resume --done 1, because no table's version shows it"),
    ],
)
def test_a_step_by_hand_says_how_to_continue(tmp_path: Path, step: RecoveryStep, how: str) -> None:
    said: list[str] = []
    plan, session = attrs.evolve(PLAN, steps=(step,)), cast("LiveSession", Tables())

    PlanApplication(GivenPlan(plan, session, Journal(tmp_path / "j"), said.append, None, Consent())).apply()

    assert said[-1] == f"step 1 must be done by hand: do it, then continue with {how}"


def test_who_says_that_it_is_done_is_believed(tmp_path: Path) -> None:
    tables = Tables()
    tables.apply(tmp_path)
    tables.versions["daily"] = "2"

    assert tables.apply(tmp_path, 1) == ("applied", ["all steps are done"])


def test_who_is_asked_learns_which_table_is_missing(tmp_path: Path) -> None:
    tables, said = Tables(), list[str]()

    def answers() -> Iterator[bool]:
        yield True
        tables.versions["daily"] = "2"
        yield True
        # It still runs.
        yield False
        tables.versions["report"] = "2"
        yield True

    given = answers()
    session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")

    assert (
        PlanApplication(GivenPlan(PLAN, session, journal, said.append, lambda _: next(given), Consent())).apply()
        == "applied"
    )
    assert [each for each in said if "new version" in each] == [IN_PART]
    assert tables.ran == []


def test_a_table_that_something_else_writes_meanwhile_is_not_written_on_top_of_that(tmp_path: Path) -> None:
    tables, said = Tables(), list[str]()
    steps = tuple(attrs.evolve(STEP, writes=(each,), before=(TableCheck("newest", each, "1"),)) for each in TABLES)

    def answers() -> Iterator[bool]:
        yield True
        tables.write("daily")
        # A job that is scheduled writes the table of the next step.
        tables.write("report")
        yield True

    given = answers()
    session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")
    plan = attrs.evolve(PLAN, steps=steps)

    assert (
        PlanApplication(GivenPlan(plan, session, journal, said.append, lambda _: next(given), Consent())).apply()
        == "failed"
    )
    assert said[-1] == (
        "step 2 was not done: something else wrote ice.db.report after version 1, while this recovery ran: "
        "2 (append, now)"
    )
    # It is asked about as if it had been there at the beginning.
    assert PlanApplication(GivenPlan(plan, session, journal, said.append, None, Consent())).apply() == "refused"
    assert "accept that with --accept-newer ice.db.report" in said[-1]


UNDO = "CALL ice.system.rollback_to_snapshot('ice.db.daily', 1)"


def test_who_is_asked_may_undo_what_an_application_wrote_before_it_was_killed(tmp_path: Path) -> None:
    tables = Tables()

    def answers() -> Iterator[bool]:
        yield True
        tables.versions["daily"] = "2"
        yield True
        yield True
        # Nothing is done since.
        yield True
        tables.versions = {"daily": "2", "report": "2"}
        yield True

    given = answers()
    session, journal, said = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl"), list[str]()

    assert (
        PlanApplication(GivenPlan(PLAN, session, journal, said.append, lambda _: next(given), Consent())).apply()
        == "applied"
    )
    assert [each for each in said if "new version" in each] == [IN_PART, NOT_AT_ALL]
    assert tables.ran == [UNDO]


def checked(*tables: TableId) -> RecoveryPlan:
    """Return the plan as it is made: each table is checked, and each of the runs made one version."""
    newest = tuple(TableCheck("newest", each, "1", table_id="") for each in tables)
    made = tuple(TableCheck("made", each, known=("1",)) for each in tables)
    return attrs.evolve(PLAN, steps=(attrs.evolve(STEP, writes=tables, before=newest, after=made),))


def resumed(
    plan: RecoveryPlan, tables: Tables, folder: Path, done: tuple[int, ...] = (), undo: tuple[int, ...] = ()
) -> tuple[str, list[str]]:
    said: list[str] = []
    session, journal = cast("LiveSession", tables), Journal(folder / "journal.jsonl")
    return PlanApplication(
        GivenPlan(plan, session, journal, said.append, None, Consent(done=done, undo=undo))
    ).apply(), said


DELTA = tuple(TableId(("spark_catalog", *each.parts[1:]), "delta") for each in TABLES)


@pytest.mark.parametrize(
    ("writes", "name", "undo"),
    [
        (TABLES, "ice.db.report", UNDO),
        (DELTA, "spark_catalog.db.report", "RESTORE TABLE spark_catalog.db.daily TO VERSION AS OF 1"),
    ],
)
def test_what_a_killed_application_wrote_is_undone_before_it_runs_again(
    tmp_path: Path, writes: tuple[TableId, ...], name: str, undo: str
) -> None:
    tables, plan = Tables(), checked(*writes)
    assert resumed(plan, tables, tmp_path)[0] == "waits"
    tables.write("daily")

    # Whoever resumes it is told what is missing and how to go on, and nothing is done.
    stopped = (
        "waits",
        [
            f"step 1: {name} has no new version, so it is not done yet, or only in part. If it is done, use --done 1",
            "step 1: if it has ended, undo what it has written before you run it again:",
            f"  {undo}",
            "    removes version 2 (append, now)",
            "step 1: --resume --undo 1 does that",
        ],
    )
    assert [resumed(plan, tables, tmp_path) for _ in range(2)] == [stopped, stopped]
    assert tables.ran == []

    assert resumed(plan, tables, tmp_path, undo=(1,))[0] == "waits"
    assert (tables.ran, tables.rows["daily"]) == ([undo], 1)
    # Once more changes nothing.
    outcome, said = resumed(plan, tables, tmp_path, undo=(1,))
    assert (outcome, said[1]) == ("waits", "step 1: there is nothing to undo")
    tables.write("daily")
    tables.write("report")
    assert resumed(plan, tables, tmp_path) == ("applied", ["all steps are done"])
    assert (tables.ran, tables.rows) == ([undo], {"daily": 2, "report": 2})


@pytest.mark.parametrize("writes", [TABLES, DELTA])
def test_a_person_may_undo_it_and_an_application_that_ran_twice_is_seen(
    tmp_path: Path, writes: tuple[TableId, ...]
) -> None:
    tables, plan = Tables(), checked(*writes)
    resumed(plan, tables, tmp_path)
    tables.write("daily")
    undo = resumed(plan, tables, tmp_path)[1][2].strip()
    tables.run(undo)

    # A RESTORE makes a version, and it is not that of the application.
    assert resumed(plan, tables, tmp_path)[0] == "waits"
    for _ in range(2):
        tables.write("daily")
        tables.write("report")
    outcome, said = resumed(plan, tables, tmp_path)
    names = [".".join(each.parts) for each in writes]
    twice = f"{names[0]} has 2 new versions and not 1, and {names[1]} has 2 new versions and not 1"
    assert (outcome, said[0]) == ("waits", f"step 1: {twice}, so it may have run twice. If it is done, use --done 1")
    assert resumed(plan, tables, tmp_path, done=(1,)) == ("applied", ["all steps are done"])


def test_an_application_that_was_killed_between_two_writes_of_one_table_is_not_done(tmp_path: Path) -> None:
    tables, plan = Tables(), checked(*TABLES)
    twice = TableCheck("made", TABLES[0], known=("1", "2"))
    plan = attrs.evolve(plan, steps=(attrs.evolve(plan.steps[0], after=(twice,)),))
    resumed(plan, tables, tmp_path)
    tables.write("daily")
    tables.write("report")

    outcome, said = resumed(plan, tables, tmp_path)

    missing = "ice.db.daily has 1 new version and not 2, so it is not done yet, or only in part."
    assert (outcome, said[0]) == ("waits", f"step 1: {missing} If it is done, use --done 1")
    removed = "    removes version 2 (append, now)"
    assert said[2:6] == [f"  {UNDO}", removed, "  CALL ice.system.rollback_to_snapshot('ice.db.report', 1)", removed]


def test_a_table_that_had_no_rows_is_emptied_and_one_that_was_not_there_is_left_to_a_person(tmp_path: Path) -> None:
    tables = Tables()
    tables.versions = {"report": "1"}
    three = (*TABLES, TableId(("ice", "db", "empty"), "iceberg"))
    plan = attrs.evolve(PLAN, steps=(attrs.evolve(STEP, writes=three),))
    tables.versions["empty"] = ""
    resumed(plan, tables, tmp_path)
    tables.versions |= {"daily": "1", "empty": "1"}

    outcome, said = resumed(plan, tables, tmp_path)

    by_hand = "  ice.db.daily was not there before: drop it by hand"
    removed = "    removes version 1 (append, now)"
    assert (outcome, said[2:5]) == ("waits", ["  DELETE FROM ice.db.empty", removed, by_hand])


OTHER = TableId(("ice", "db", "x"), "iceberg")
ALSO = attrs.evolve(STEP, after=(TableCheck("unwritten", OTHER),))
HARMED = (
    "step 1 was done by hand: it must not write ice.db.x, which has new versions since: 2 (append, now). If the step "
    "made them, roll it back to version 1. If something else did, --accept-newer ice.db.x keeps them"
)


class Lines(Tables):
    """Tables of which one must not be written, with the versions from which it comes."""

    def __init__(self, *operations: str) -> None:
        super().__init__()
        self.made = list(operations)

    def table(self, named: TableId) -> LiveTable | None:
        if named != OTHER:
            return super().table(named)
        return line_of(self.made)

    def apply(self, folder: Path, *done: int, newer: tuple[str, ...] = ()) -> tuple[str, list[str]]:
        said: list[str] = []
        session, journal = cast("LiveSession", self), Journal(folder / "journal.jsonl")
        plan, consent = attrs.evolve(PLAN, steps=(ALSO,)), Consent(newer=newer, done=done)
        return PlanApplication(GivenPlan(plan, session, journal, said.append, None, consent)).apply(), said


@pytest.mark.parametrize("done", [(), (1,)])
def test_who_wrote_what_the_step_must_not_write_is_stopped_until_it_is_rolled_back(
    tmp_path: Path, done: tuple[int, ...]
) -> None:
    tables = Lines("append")
    assert tables.apply(tmp_path)[0] == "waits"
    tables.versions = {"daily": "2", "report": "2"}
    tables.made.append("append")

    for _ in range(2):
        with pytest.raises(StepFailedError) as stopped:
            tables.apply(tmp_path, *done)
        assert str(stopped.value) == HARMED

    # It is rolled back in place, as Iceberg does it.
    tables.made.pop()
    assert tables.apply(tmp_path, *done) == ("applied", ["all steps are done"])


def test_new_versions_of_what_the_step_must_not_write_are_accepted_by_name(tmp_path: Path) -> None:
    tables = Lines("append")
    tables.apply(tmp_path)
    tables.versions = {"daily": "2", "report": "2"}
    tables.made.append("append")

    assert tables.apply(tmp_path, newer=("ice.db.x",)) == ("applied", ["all steps are done"])


@pytest.mark.parametrize("since", [(), ("replace",), ("OPTIMIZE", "VACUUM END"), ("WRITE", "RESTORE to 1", "OPTIMIZE")])
def test_what_has_the_rows_that_it_had_is_as_it_was(tmp_path: Path, since: tuple[str, ...]) -> None:
    tables = Lines("append")
    tables.apply(tmp_path)
    tables.versions = {"daily": "2", "report": "2"}
    tables.made += since

    assert tables.apply(tmp_path) == ("applied", ["all steps are done"])


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        (("WRITE", "WRITE", "RESTORE to 2"), "4 (RESTORE, now), 3 (WRITE, now), 2 (WRITE, now)"),
        # Its log names a time.
        (("WRITE", "RESTORE"), "3 (RESTORE, now), 2 (WRITE, now)"),
        (("WRITE", "RESTORE to 1", "WRITE"), "4 (WRITE, now), 3 (RESTORE, now), 2 (WRITE, now)"),
    ],
)
def test_a_table_that_was_restored_elsewhere_is_not_as_it_was(
    tmp_path: Path, since: tuple[str, ...], shown: str
) -> None:
    tables = Lines("append")
    tables.apply(tmp_path)
    tables.versions = {"daily": "2", "report": "2"}
    tables.made += since

    with pytest.raises(StepFailedError) as stopped:
        tables.apply(tmp_path)
    assert str(stopped.value) == HARMED.replace("2 (append, now)", shown)


def test_a_step_that_never_waited_leaves_what_it_must_not_write_to_the_person(tmp_path: Path) -> None:
    assert Lines("append").apply(tmp_path, 1) == (
        "applied",
        [
            "1/1 Run gold again.",
            "step 1: nobody can check that it left ice.db.x unchanged: it was done before it waited",
        ],
    )


def test_a_table_that_spark_cannot_read_and_no_step_needs_stops_nothing(tmp_path: Path) -> None:
    class Unreadable(Lines):
        def table(self, named: TableId) -> LiveTable | None:
            if named == OTHER:
                raise StoreError("Spark can't read it: no catalog ice")
            return super().table(named)

    tables = Unreadable()
    outcome, said = tables.apply(tmp_path)
    tables.versions = {"daily": "2", "report": "2"}

    unreadable = "step 1: check by hand that it does not write ice.db.x: Spark can't read it: no catalog ice"
    assert (outcome, said[1]) == ("waits", unreadable)
    assert tables.apply(tmp_path)[0] == "applied"


FILES = TableId(("spark_catalog", "db", "files"), "parquet")


class Mixed(Tables):
    """Tables with versions, and one of files."""

    files = "before"

    def table(self, named: TableId) -> LiveTable | None:
        return LiveTable("/files") if named == FILES else super().table(named)

    def files_of(self, _: TableId) -> str:
        return self.files


@pytest.mark.parametrize(
    ("files", "outcome", "said"),
    [
        (
            "before",
            "waits",
            "step 1: spark_catalog.db.files has no other files, so it is not done yet, or only in part. ",
        ),
        ("after", "applied", "all steps are done"),
    ],
)
def test_an_application_that_also_writes_files_is_done_when_these_are_new(
    tmp_path: Path, files: str, outcome: str, said: str
) -> None:
    tables, lines = Mixed(), list[str]()
    plan = attrs.evolve(PLAN, steps=(attrs.evolve(STEP, writes=(*TABLES, FILES)),))

    def apply() -> str:
        journal = Journal(tmp_path / "journal.jsonl")
        return PlanApplication(
            GivenPlan(plan, cast("LiveSession", tables), journal, lines.append, None, Consent())
        ).apply()

    apply()
    lines.clear()
    tables.versions = {"daily": "2", "report": "2"}
    tables.files = files

    assert apply() == outcome
    assert lines[0].startswith(said)


def checkpoint(folder: Path, begun: int, ended: int) -> str:
    """Make the checkpoint of a query that has begun and ended micro-batches."""
    for name, last in (("offsets", begun), ("commits", ended)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for batch in range(last + 1):
            (folder / name / str(batch)).write_text("v1\n{}\n{}")
    (folder / "metadata").write_text('{"id": "the old one"}')
    return str(folder)


@pytest.mark.parametrize("before", [None, 0])
def test_a_stream_that_was_killed_is_not_done_and_its_checkpoint_goes_back_with_its_tables(
    tmp_path: Path, before: int | None
) -> None:
    tables, state = Tables(), tmp_path / "state"
    if before is not None:
        checkpoint(state, before, before)
    plan = attrs.evolve(PLAN, steps=(attrs.evolve(STEP, title="Start it again.", checkpoints=(str(state),)),))

    def apply(*undo: int) -> tuple[str, list[str]]:
        said, session = list[str](), cast("LiveSession", tables)
        journal = Journal(tmp_path / "journal.jsonl")
        return PlanApplication(GivenPlan(plan, session, journal, said.append, None, Consent(undo=undo))).apply(), said

    assert apply()[0] == "waits"
    # Its second micro-batch wrote the first of its two tables.
    checkpoint(state, 2, 1)
    tables.write("daily")
    tables.write("report")
    tables.write("daily")

    outcome, said = apply()
    undoing = f"move the checkpoint {state} away"
    if before is not None:
        undoing = f"reset the checkpoint {state} to micro-batch 0"
    assert outcome == "waits"
    assert said[0] == (
        f"step 1: the query of {state} has not ended its micro-batch 2, so it is not done yet, or only in part. "
        "If it is done, use --done 1"
    )
    assert f"  {undoing}" in said

    assert apply(1)[0] == "waits"
    assert tables.versions == {"daily": "1", "report": "1"}
    left = sorted(each.name for each in (state / "offsets").iterdir()) if state.exists() else None
    assert left == (None if before is None else ["0"])
    assert (tmp_path / "state.undone-1" / "offsets" / "2").exists()

    checkpoint(state, 2, 2)
    for name in ("daily", "report", "daily", "report"):
        tables.write(name)
    assert apply() == ("applied", ["all steps are done"])


def test_an_undo_that_was_killed_before_the_checkpoint_is_finished(tmp_path: Path) -> None:
    tables, state = Tables(), tmp_path / "state"
    checkpoint(state, 0, 0)
    plan = attrs.evolve(PLAN, steps=(attrs.evolve(STEP, checkpoints=(str(state),)),))

    def apply(*undo: int) -> str:
        session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")
        return PlanApplication(GivenPlan(plan, session, journal, lambda _: None, None, Consent(undo=undo))).apply()

    apply()
    # The tables are back at where they were.
    checkpoint(state, 1, 1)

    assert apply() == "waits"
    assert apply(1) == "waits"
    assert sorted(each.name for each in (state / "commits").iterdir()) == ["0"]


class Sized(Tables):
    """Tables whose first version added many rows, and whose other ones a few."""

    application = "recovery"

    def table(self, named: TableId) -> LiveTable | None:
        live = super().table(named)
        assert live is not None
        return attrs.evolve(
            live,
            versions={
                name: attrs.evolve(made, added=1000 if name == "1" else 3) for name, made in live.versions.items()
            },
        )

    def run(self, sql: str, _settings: object = ()) -> None:
        self.ran.append(sql)
        self.write("daily")

    def parsed(self, _sql: str) -> LiveStatement:
        return LiveStatement("InsertIntoStatement", TABLES[0].parts)

    def problem_of(self, _sql: str) -> str:
        return ""


def test_a_result_of_another_size_is_accepted_by_whoever_has_seen_it(tmp_path: Path) -> None:
    like = TableCheck("like", TABLES[0], "1")
    step = RecoveryStep(
        "run", "Run it.", "sql", ("INSERT",), again=(RepeatedRun("r", "daily"),), writes=TABLES[:1], after=(like,)
    )
    plan, tables, said = attrs.evolve(PLAN, steps=(step,)), Sized(), list[str]()

    def resumed_with(*doubts: int) -> str:
        session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")
        return PlanApplication(GivenPlan(plan, session, journal, said.append, None, Consent(doubts=doubts))).apply()

    # A consent that was given before the step was done is not about what came of it.
    assert [resumed_with(1), resumed_with(), resumed_with(1)] == ["failed", "failed", "applied"]
    differs = "ice.db.daily: the new version added 3 rows, and the one that it repeats 1000"
    assert said[-1] == f"step 1 differs from the run that it repeats: {differs}"
    assert said.count("step 1: if that is right, --resume --accept-doubt 1 continues") == 2
    assert tables.ran == ["INSERT"]


class Older(Tables):
    """Tables of a Spark and a Delta Lake that can't replace a table by a query."""

    application = "recovery"

    def __init__(self, *, columns: bool) -> None:
        super().__init__()
        self.has_same_columns = columns
        self.partitions: tuple[str, ...] = ()
        self.properties: dict[str, str] = {}
        self.under: tuple[tuple[str, str], ...] = ()

    def run(self, sql: str, settings: object = ()) -> None:
        self.ran.append(sql)
        if sql.startswith("CREATE OR REPLACE TABLE"):
            raise StoreError("Spark did not finish it: Table daily does not support truncate in batch mode.")
        self.under = cast("tuple[tuple[str, str], ...]", settings)
        self.write("daily")

    def parsed(self, sql: str) -> LiveStatement:
        kind = "ReplaceTableAsSelect" if sql.startswith("CREATE") else "InsertIntoStatement"
        return LiveStatement(kind, TABLES[0].parts)

    def problem_of(self, _sql: str) -> str:
        return ""

    def partitions_of(self, name: str) -> tuple[str, ...]:
        assert name == "ice.db.daily"
        return self.partitions

    def properties_of(self, name: str) -> dict[str, str]:
        assert name == "ice.db.daily"
        return self.properties

    def is_as_wide(self, query: str, name: str, _settings: object) -> bool:
        assert (query, name) == ("SELECT k FROM ice.db.raw", "ice.db.daily")
        return self.has_same_columns


@pytest.mark.parametrize("is_same", [True, False])
def test_a_table_that_no_query_can_replace_gets_its_rows_where_it_has_its_columns(
    tmp_path: Path, *, is_same: bool
) -> None:
    create = "CREATE OR REPLACE TABLE ice.db.daily USING DELTA AS SELECT k FROM ice.db.raw"
    insert = "INSERT OVERWRITE TABLE ice.db.daily SELECT k FROM ice.db.raw"
    ansi = ("spark.sql.ansi.enabled", "false")
    step = RecoveryStep("run", "Run it.", "sql", (create,), writes=TABLES[:1], settings=(ansi,))
    plan, tables, said = attrs.evolve(PLAN, steps=(step,)), Older(columns=is_same), list[str]()
    session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")

    outcome = PlanApplication(GivenPlan(plan, session, journal, said.append, None, Consent())).apply()

    assert [(each.state, each.text) for each in journal.entries if each.state in ("begun", "finished")] == (
        [("begun", create), ("begun", insert), ("finished", "")] if is_same else [("begun", create)]
    )
    assert (outcome, tables.ran) == (("applied", [create, insert]) if is_same else ("failed", [create]))
    assert tables.under == ((ansi, ("spark.sql.sources.partitionOverwriteMode", "STATIC")) if is_same else ())
    assert ("  This Spark can't replace a table of Delta Lake by a query, so it does this instead:" in said) is is_same


@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_table_that_keeps_its_partitions_and_properties_because_no_query_can_replace_it_is_told(
    tmp_path: Path, *, is_accepted: bool
) -> None:
    create = (
        "CREATE OR REPLACE TABLE ice.db.daily USING DELTA PARTITIONED BY (day, `a b`) TBLPROPERTIES ('x'='1') "
        "COMMENT 'c' AS SELECT k FROM ice.db.raw"
    )
    step = RecoveryStep("run", "Run it.", "sql", (create,), writes=TABLES[:1])
    plan, tables, said = attrs.evolve(PLAN, steps=(step,)), Older(columns=True), list[str]()
    tables.partitions, tables.properties = ("k",), {"x": "1", "y": "2"}

    def apply(*doubts: int) -> str:
        session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")
        return PlanApplication(GivenPlan(plan, session, journal, said.append, None, Consent(doubts=doubts))).apply()

    assert apply(1) == "failed"
    but = "step 1 was done, but: ice.db.daily: only its rows were replaced, and not its"
    assert said[-3:] == [
        f"{but} partitions: they are k, and the statement has day, `a b`",
        f"{but} properties: they are x=1, y=2, and the statement has x=1",
        "step 1: if that is right, --resume --accept-doubt 1 continues",
    ]
    if not is_accepted:
        tables.partitions, tables.properties = ("day", "`a b`"), {"x": "1"}
    assert apply(*([1] if is_accepted else [])) == "applied"
    assert len(tables.ran) == 2


def test_a_run_on_a_table_with_another_layout_is_done_only_where_that_is_accepted(tmp_path: Path) -> None:
    class Altered(Older):
        def layouts_of(self, _table: TableId, _version: str) -> tuple[TableLayout, TableLayout]:
            return TableLayout(("k", "v")), TableLayout(("v", "k"))

    insert = "INSERT INTO ice.db.daily SELECT k, v FROM ice.db.raw"
    like = (TableCheck("like", TABLES[0], "1"),)
    step = RecoveryStep("run", "Run it.", "sql", (insert,), writes=TABLES[:1], after=like)
    plan, tables, said = attrs.evolve(PLAN, steps=(step,)), Altered(columns=True), list[str]()

    def apply(*doubts: int) -> str:
        session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")
        return PlanApplication(GivenPlan(plan, session, journal, said.append, None, Consent(doubts=doubts))).apply()

    assert (apply(), tables.ran) == ("declined", [])
    doubt = (
        "ice.db.daily has the columns v, k, and had k, v when the run that it repeats made its version: values may "
        "get into other columns, unless each is named"
    )
    assert said == [
        "step 1 is uncertain. Run it.",
        f"- {doubt}",
        "accept it with --accept-doubt 1, or leave out --yes",
        "nothing was done",
    ]
    assert (apply(1), tables.ran) == ("applied", [insert])


def test_a_table_that_is_not_there_is_created_where_none_can_be_replaced(tmp_path: Path) -> None:
    create = "CREATE {}TABLE ice.db.daily USING DELTA AS SELECT k FROM ice.db.raw"
    step = RecoveryStep("run", "Run it.", "sql", (create.format("OR REPLACE "),), writes=TABLES[:1])
    tables = Older(columns=True)
    del tables.versions["daily"]
    session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")

    plan = attrs.evolve(PLAN, steps=(step,))
    outcome = PlanApplication(GivenPlan(plan, session, journal, lambda _: None, None, Consent())).apply()

    assert (outcome, tables.ran) == ("applied", [create.format("OR REPLACE "), create.format("")])


class Partitioned(Tables):
    """The same tables, of which one has partitions."""

    def partitions_of(self, name: str) -> tuple[str, ...]:
        return ("day",) if name == "ice.db.daily" else ()

    def parsed(self, _sql: str) -> LiveStatement:
        return LiveStatement("CreateTableAsSelect", ("ice", "db", "daily_s1"))

    @property
    def application(self) -> str:
        return "local-1"

    def run(self, sql: str, _settings: object = ()) -> None:
        self.ran.append(sql)
        self.write("daily_s1")


def test_a_copy_is_made_with_the_partitions_of_its_table(tmp_path: Path) -> None:
    """Else a dynamic overwrite, repeated on the copy, would replace all of its rows."""
    sql = "CREATE TABLE ice.db.daily_s1 USING iceberg{} AS SELECT * FROM ice.db.daily VERSION AS OF 1"
    step = RecoveryStep(
        "copy", "Make a copy.", "sql", (sql.format(""),), writes=(TableId(("ice", "db", "daily_s1"), "iceberg"),)
    )
    lake = Partitioned()
    plan = RecoveryPlan(Mode.SIDE_BY_SIDE, "t", "1", (), (step,))
    journal = Journal(tmp_path / "journal.jsonl")

    outcome = PlanApplication(GivenPlan(plan, cast("LiveSession", lake), journal, print, None, Consent())).apply()

    assert (outcome, lake.ran) == ("applied", [sql.format(" PARTITIONED BY (day)")])
