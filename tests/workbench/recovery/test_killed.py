"""A recovery that is killed at any point, and resumed: the rows are right, and the store asks for nothing more."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import pytest
from openlineage_pyspark.errors import StepFailedError
from openlineage_pyspark.workbench.recovery.applying.apply import PlanApplication, PlanOutcome
from openlineage_pyspark.workbench.recovery.applying.given_plan import Consent, GivenPlan
from openlineage_pyspark.workbench.recovery.applying.journal import Journal, JournalEntry
from openlineage_pyspark.workbench.recovery.applying.live import LiveStatement, LiveTable, LiveVersion, TableLayout
from openlineage_pyspark.workbench.recovery.applying.recording import Recorder
from openlineage_pyspark.workbench.recovery.model.statements import sql_name
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import taken
from support.recovery_events import statement, table

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, TableId

pytestmark = pytest.mark.slow

Rows: TypeAlias = "tuple[str, ...]"
Result = TypeVar("Result")

LOAD = "INSERT INTO db.raw SELECT * FROM db.files"
MAKE = "INSERT {verb} db.made SELECT * FROM db.raw"
RIGHT = "INSERT INTO {}.db.raw VALUES (1)"
_STATEMENTS = (
    ("Call", r"CALL ice\.system\.rollback_to_snapshot\('ice\.db\.(?P<back>\w+)', (?P<to>\d+)\)"),
    ("RestoreTableStatement", r"RESTORE TABLE (?P<target>\S+) TO VERSION AS OF (?P<restored>\d+)"),
    (
        "CreateTableAsSelect",
        r"CREATE TABLE (?P<target>\S+) USING parquet AS SELECT \* FROM (?P<source>\S+)( (?P<none>WHERE false))?",
    ),
    ("InsertIntoStatement", r"INSERT OVERWRITE (TABLE )?(?P<target>\S+) SELECT \* FROM (?P<source>\S+)(?P<replaces>)"),
    (
        "InsertIntoStatement",
        r"INSERT INTO (?P<target>\S+) SELECT \* FROM (?P<source>\S+)( VERSION AS OF (?P<version>\d+))?",
    ),
    ("InsertIntoStatement", r"INSERT INTO (?P<target>\S+) VALUES \(1\)"),
    ("DeleteFromTable", r"DELETE FROM (?P<target>\S+)(?P<replaces>)"),
    ("DropTable", r"DROP TABLE (IF EXISTS )?(?P<target>\S+)(?P<drops>)"),
)


class KilledError(Exception):
    """Ends the process."""


class Points:
    """The points at which a process may be killed, one before and one after whatever it changes."""

    def __init__(self, *kills: int) -> None:
        self.kills = list(kills)
        self.passed = 0

    def around(self, change: Callable[[], Result]) -> Result:
        """Make a change, unless the process is killed before it."""
        self._pass()
        made = change()
        self._pass()
        return made

    def _pass(self) -> None:
        self.passed += 1
        if self.passed in self.kills:
            raise KilledError


class Lake:
    """Tables as values, which take the statements of plans; those of Iceberg and Delta Lake keep versions."""

    def __init__(self, versioned: Collection[str] = ("ice.db.raw", "ice.db.made")) -> None:
        self.versioned = versioned
        self.rows: dict[str, Rows] = {"spark_catalog.db.files": ("loaded",)}
        self.versions: dict[str, dict[str, tuple[Rows, LiveVersion]]] = {}
        self.current: dict[str, str] = {}
        self.writes: dict[str, int] = {}
        self.application = "another"

    def write(self, name: str, rows: Rows, operation: str, restored: str = "") -> None:
        """Give a table other rows, by a version of its own if it keeps versions."""
        self.rows[name] = rows
        self.writes[name] = self.writes.get(name, 0) + 1
        if name in self.versioned:
            made = self.versions.setdefault(name, {})
            parent, by = self.current.get(name, ""), self.application
            version = LiveVersion(str(len(made) + 1), parent, operation, "now", 1, restored=restored, application=by)
            made[version.version] = (rows, version)
            self.current[name] = version.version

    def run(self, sql: str) -> None:
        """Run a statement."""
        found = _match(sql)[1]
        if found.get("back"):
            name = f"ice.db.{found['back']}"
            self.current[name], self.rows[name] = found["to"], self.versions[name][found["to"]][0]
            return
        target = found["target"]
        if "restored" in found:
            self.write(target, self.versions[target][found["restored"]][0], "RESTORE", found["restored"])
            return
        if "drops" in found:
            del self.rows[target]
            return
        source: Rows = ("right",) if " VALUES " in sql else ()
        if found.get("version"):
            source = self.versions[found["source"]][found["version"]][0]
        elif found.get("source") and not found.get("none"):
            source = self.rows[found["source"]]
        before = () if "replaces" in found else self.rows.get(target, ())
        operation = "append" if sql.startswith("INSERT INTO") else "overwrite" if source else "delete"
        self.write(target, (*before, *source), operation)


def _match(sql: str) -> tuple[str, dict[str, str]]:
    for kind, form in _STATEMENTS:
        if (found := re.fullmatch(form, sql)) is not None:
            return kind, {key: value for key, value in found.groupdict().items() if value is not None}
    raise AssertionError(sql)


class Process:
    """What a process has of a lake, of a journal and of a store, until it is killed."""

    def __init__(self, lake: Lake, points: Points, plan: RecoveryPlan, folder: Path) -> None:
        self._lake, self._points, self._plan, self._folder = lake, points, plan, folder

    def apply(self, done: list[int], said: list[str] | None = None, newer: Collection[str] = ()) -> PlanOutcome:
        """Apply the plan, or go on with it."""
        points = self._points

        class KilledJournal(Journal):
            def write(self, entry: JournalEntry) -> None:
                points.around(lambda: super(KilledJournal, self).write(entry))

        class KilledRecorder(Recorder):
            def record(self, *told: Any) -> str:
                return points.around(lambda: super(KilledRecorder, self).record(*told))

        journal, recorder = KilledJournal(self._folder / "j"), KilledRecorder(self._plan, self._folder / "lineage.db")
        session = cast("LiveSession", self)
        consent = Consent(newer=newer, doubts=range(1, len(self._plan.steps) + 1), done=done)
        say = print if said is None else said.append
        return PlanApplication(GivenPlan(self._plan, session, journal, say, None, consent, recorder)).apply()

    # The session.

    def run(self, sql: str, _settings: object = ()) -> None:
        self._lake.application = self.application
        self._points.around(lambda: self._lake.run(sql))

    @property
    def application(self) -> str:
        return f"process {id(self)}"

    def table(self, named: TableId) -> LiveTable | None:
        name = sql_name(named)
        if name not in self._lake.rows:
            return None
        versions = {version: told for version, (_, told) in self._lake.versions.get(name, {}).items()}
        return LiveTable(f"/lake/db/{named.parts[-1]}", self._lake.current.get(name, ""), versions)

    def files_of(self, named: TableId) -> str:
        name = sql_name(named)
        return str(self._lake.writes.get(name, 0)) if name in self._lake.rows else ""

    def leftover(self, _table: TableId) -> str:
        return ""

    def columns_of(self, _table: TableId, _version: str = "") -> tuple[str, ...]:
        return ()

    def layouts_of(self, _table: TableId, _version: str) -> tuple[TableLayout, TableLayout]:
        return TableLayout(()), TableLayout(())

    def parsed(self, sql: str) -> LiveStatement:
        kind, found = _match(sql)
        return LiveStatement(kind, tuple(found["target"].split(".")) if "target" in found else None)

    def problem_of(self, _sql: str) -> str:
        return ""

    def has_files_of(self, _table: TableId, _version: str) -> bool:
        return True

    def count_of(self, table: TableId) -> int:
        return len(self._lake.rows[sql_name(table)])


def history(lake: str, verb: str) -> tuple[list[dict[str, Any]], Lake, Lake]:
    """Return the events of three loads and of what is made of each, the lake after them, and the one of right rows."""
    has_versions = lake != "parquet"
    of_raw = lake if has_versions else "iceberg"
    loaded = "spark_catalog.db.raw" if lake == "delta" else "ice.db.raw"
    made = "ice.db.made" if lake == "iceberg" else "spark_catalog.db.made"
    versioned = (loaded, made)[: 1 + has_versions]
    events, bad, good = [], Lake(versioned), Lake(versioned)
    for number in (1, 2, 3):
        before = str(number - 1) if number > 1 else ""
        raw = table("raw", str(number), parent=before, lake=of_raw)
        out = table("made", str(number) if has_versions else "", parent=before * has_versions, lake=lake)
        if verb == "OVERWRITE":
            out = table("made", str(number) if has_versions else "", parent=before, change="OVERWRITE", lake=lake)
        events += statement("load", 4 * number, LOAD, (table("files", lake="parquet"),), raw)
        events += statement(
            "make", 4 * number + 2, MAKE.format(verb=verb), (table("raw", str(number), lake=of_raw),), out
        )
        for each in (bad, good):
            row = {bad: "wrong", good: "right"}[each] if number == 2 else "loaded"
            each.write(loaded, (*each.rows.get(loaded, ()), row), "append")
            kept = () if verb == "OVERWRITE" else each.rows.get(made, ())
            each.write(made, (*kept, *each.rows[loaded]), "overwrite" if verb == "OVERWRITE" else "append")
    return events, bad, good


def asked(folder: Path, lake: str = "") -> RecoveryPlan:
    right = RIGHT.format("spark_catalog" if lake == "delta" else "ice")
    with Store.open(folder / "lineage.db") as store:
        return store.recover("db.raw", version="2", correction=(right,)).result


def applied(plan: RecoveryPlan, lake: Lake, points: Points, folder: Path) -> None:
    """Apply a plan, again after each kill, as a person does who looks at a table if that is asked."""
    done: list[int] = []
    for _ in range(len(points.kills) + 4):
        try:
            outcome = Process(lake, points, plan, folder).apply(done)
        except KilledError:
            continue
        except StepFailedError as problem:
            # Its files have changed: it was done.
            done = [problem.step or 0]
            continue
        assert outcome == "applied"
        return
    raise AssertionError("it does not end")


@pytest.mark.parametrize(
    ("lake", "verb"),
    [
        ("iceberg", "INTO"),
        ("delta", "INTO"),
        pytest.param("parquet", "INTO", marks=pytest.mark.long),
        ("parquet", "OVERWRITE"),
    ],
)
def test_a_recovery_that_is_killed_at_any_point_is_right_and_known_in_the_end(
    tmp_path: Path, lake: str, verb: str, *, is_all: bool
) -> None:
    """Each point with --all, else each third, from another one for each table."""
    events, _, right = history(lake, verb)
    taken(tmp_path / "lineage.db", events)
    plan = asked(tmp_path, lake)

    def tried(*kills: int) -> int:
        folder = tmp_path / "-".join(["of", *map(str, kills)])
        folder.mkdir()
        shutil.copy(tmp_path / "lineage.db", folder)
        now, points = history(lake, verb)[1], Points(*kills)
        applied(plan, now, points, folder)
        rows = {name: sorted(now.rows[name]) for name in right.rows}
        assert (kills, rows) == (kills, {name: sorted(found) for name, found in right.rows.items()})
        assert (kills, [step.title for step in asked(folder).steps]) == (kills, [])
        return points.passed

    count = tried()
    assert count > 20
    for point in range(1 if is_all else 1 + len(lake) % 3, count + 1, 1 if is_all else 3):
        tried(point)
    chance = random.Random(lake + verb)  # noqa: S311 (a test's choice)
    for _ in range(10 if is_all else 3):
        tried(*sorted(chance.sample(range(1, 2 * count), 4)))


@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_what_somebody_else_wrote_after_a_kill_is_not_taken_for_the_statement(tmp_path: Path, format_: str) -> None:
    events, _, right = history(format_, "INTO")
    taken(tmp_path / "lineage.db", events)
    plan, stopped = asked(tmp_path, format_), 0
    for point in range(1, 60):
        folder, lake = tmp_path / str(point), history(format_, "INTO")[1]
        folder.mkdir()
        shutil.copy(tmp_path / "lineage.db", folder)
        with suppress(KilledError):
            Process(lake, Points(point), plan, folder).apply([])
        entries = Journal(folder / "j").entries
        if not entries or entries[-1].state != "begun":
            continue
        name, then = next(iter(entries[-1].tables.items()))
        if lake.current[name] != then or "INSERT" not in entries[-1].text:
            continue
        lake.application = "another"
        lake.write(name, (*lake.rows[name], "somebody else's"), "append")
        number = entries[-1].step
        newer = f"{lake.current[name]} (append, now)"
        back = f"CALL ice.system.rollback_to_snapshot('{name}', {then})"
        if format_ == "delta":
            back = f"RESTORE TABLE {name} TO VERSION AS OF {then}"
        with pytest.raises(StepFailedError) as problem:
            Process(lake, Points(), plan, folder).apply([])
        assert str(problem.value) == (
            f"step {number} was begun and its statement did not end, and something else wrote since: {name}: {newer}. "
            "If its rows are right, append them again from there when all steps are done. "
            f"Undo that, and use --resume: {back}"
        )
        lake.run(back)
        applied(plan, lake, Points(), folder)
        assert {each: sorted(lake.rows[each]) for each in right.rows} == {
            each: sorted(rows) for each, rows in right.rows.items()
        }
        stopped += 1
    assert stopped > 2


@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_what_somebody_else_wrote_around_a_roll_back_that_was_killed_is_not_taken_for_it(
    tmp_path: Path,
    format_: str,
    is_back: bool,  # noqa: FBT001
) -> None:
    events, _, _ = history(format_, "INTO")
    taken(tmp_path / "lineage.db", events)
    plan, stopped = asked(tmp_path, format_), 0
    for point in range(1, 60):
        folder, lake = tmp_path / str(point), history(format_, "INTO")[1]
        folder.mkdir()
        shutil.copy(tmp_path / "lineage.db", folder)
        with suppress(KilledError):
            Process(lake, Points(point), plan, folder).apply([])
        entries = Journal(folder / "j").entries
        if not entries or entries[-1].state != "begun" or "INSERT" in entries[-1].text:
            continue
        (name, then), number = next(iter(entries[-1].tables.items())), entries[-1].step
        if (lake.current[name] != then) is not is_back:
            continue
        back_at, rows = lake.current[name], (*lake.rows[name], "somebody else's")
        lake.application = "another"
        lake.write(name, rows, "append")
        said: list[str] = []

        outcome = Process(lake, Points(), plan, folder).apply([], said)

        new = lake.current[name]
        assert (outcome, lake.rows[name]) == ("refused", rows)
        assert said[-1].startswith(
            f"- step {number}: this recovery left {name} at version {back_at}, but it is at {new}: "
            if is_back
            else f"- step {number}: {name} has versions that the store does not know, and their rows would be lost: "
        )
        stopped += 1
    assert stopped > 1


class Meddling(Points):
    """The points at which something else, which has no lock in common, writes a table."""

    def __init__(self, at: int, write: Callable[[], None]) -> None:
        super().__init__()
        self._at, self._write = at, write

    def _pass(self) -> None:
        self.passed += 1
        if self.passed == self._at:
            self._write()


@pytest.mark.parametrize("verb", ["INTO", "OVERWRITE"])
def test_what_something_else_appends_to_a_table_without_versions_is_neither_lost_nor_overwritten(
    tmp_path: Path, verb: str, *, is_all: bool
) -> None:
    """It writes at each point with --all, else at each second."""
    events, _, right = history("parquet", verb)
    taken(tmp_path / "lineage.db", events)
    plan = asked(tmp_path)
    name = "spark_catalog.db.made"
    outcomes = dict.fromkeys(("applied", "failed"), 0)
    between = 1 if is_all else 2
    point, passed = 0, 1
    while point < passed:
        point += between
        lake, said = history("parquet", verb)[1], list[str]()
        folder = tmp_path / str(point)
        folder.mkdir()
        shutil.copy(tmp_path / "lineage.db", folder)
        steps: list[int] = []

        def meddled(lake: Lake = lake, said: list[str] = said, steps: list[int] = steps, of: Path = folder) -> None:
            steps += (sum("/" in each[:3] for each in said), len(Journal(of / "j").finished()))
            lake.write(name, (*lake.rows[name], "somebody else's"), "append")

        points = Meddling(point, meddled)
        outcome = Process(lake, points, plan, folder).apply([], said)
        passed = max(passed, points.passed if outcome == "applied" else point + 1)
        if points.passed < point:
            break
        if steps[0] > steps[1]:
            # No version shows what something else writes while a step runs.
            continue
        outcomes[outcome] += 1
        assert (point, "somebody else's" in lake.rows[name]) == (point, True), said
        if outcome == "applied":
            # It came after the last step that writes the table.
            assert steps[1] == len(plan.steps)
            continue
        # Nothing of it is lost, and a person has decided.
        assert f"something else wrote {name} while this recovery ran" in said[-1], said
        lake.write(name, tuple(row for row in lake.rows[name] if row != "somebody else's"), "overwrite")
        accepted = Process(lake, Points(), plan, folder).apply([], said, [name])
        assert (point, accepted, sorted(lake.rows[name])) == (point, "applied", sorted(right.rows[name])), said
    assert outcomes["failed"] > 2, outcomes


@pytest.mark.parametrize("what", ["append", "back"])
@pytest.mark.parametrize("table_", ["raw", "made"])
@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_what_something_else_writes_between_two_steps_is_neither_lost_nor_read_unsaid(
    tmp_path: Path, format_: str, table_: str, what: str, *, is_all: bool
) -> None:
    """
    As another recovery of another store does it, or a job: it is seen by the versions of the tables.

    It writes at each point with --all, else at each third.
    """
    events, _, right = history(format_, "INTO")
    taken(tmp_path / "lineage.db", events)
    plan = asked(tmp_path, format_)
    name = f"{'ice' if format_ == 'iceberg' else 'spark_catalog'}.db.{table_}"
    outcomes = dict.fromkeys(("applied", "refused", "failed"), 0)
    between = 1 if is_all else 3
    point, passed = 0, 1
    while point < passed:
        point += between
        lake, said = history(format_, "INTO")[1], list[str]()
        folder = tmp_path / str(point)
        folder.mkdir()
        shutil.copy(tmp_path / "lineage.db", folder)

        def meddled(lake: Lake = lake) -> None:
            own, lake.application = lake.application, "another"
            if what == "append":
                lake.write(name, (*lake.rows[name], "somebody else's"), "append")
            elif format_ == "delta":
                lake.run(f"RESTORE TABLE {name} TO VERSION AS OF 1")
            else:
                lake.run(f"CALL ice.system.rollback_to_snapshot('ice.db.{table_}', 1)")
            lake.application = own

        points = Meddling(point, meddled)
        outcome = Process(lake, points, plan, folder).apply([], said)
        passed = max(passed, points.passed if outcome == "applied" else point + 1)
        if points.passed < point:
            break
        outcomes[outcome] += 1
        if outcome != "applied":
            assert name in said[-1] or any(name in line for line in said[-3:]), said
            continue
        more = ["somebody else's"] if what == "append" else []
        assert (point, sorted(lake.rows[name])) == (point, sorted([*right.rows[name], *more])), said
        other = next(each for each in right.rows if each != name and each.endswith(("raw", "made")))
        assert (point, sorted(lake.rows[other])) == (point, sorted(right.rows[other])), said
    assert (outcomes["refused"] + outcomes["failed"]) * between > 5, outcomes
