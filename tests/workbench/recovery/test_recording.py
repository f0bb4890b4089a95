"""A store learns what a recovery did: asked again, nothing is left to do, and no job is new."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.recovery.applying.apply import PlanApplication
from openlineage_pyspark.workbench.recovery.applying.given_plan import Consent, GivenPlan
from openlineage_pyspark.workbench.recovery.applying.journal import Journal, JournalEntry, journal_of
from openlineage_pyspark.workbench.recovery.applying.recording import Recorder
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, RecoveryStep
from openlineage_pyspark.workbench.recovery.model.statements import sql_name
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import taken
from support.recovery_events import application, batch, statement, stream, table

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
    from openlineage_pyspark.workbench.recovery.model.plan import TableId

INSERT = "INSERT INTO db.raw SELECT * FROM db.files"
MADE = "INSERT INTO db.made SELECT * FROM db.raw"


def events(lake: str, *, versions: bool = True) -> list[dict[str, Any]]:
    """Return three loads of `raw`, the second one bad, and what is made of each."""

    def made(name: str, version: str, parent: str = "") -> dict[str, Any]:
        kind = lake if versions or name == "raw" else "parquet"
        has = versions or name == "raw"
        return table(name, version if has else "", parent=parent if has else "", lake=kind)

    parts = []
    for place, minute in ((1, 1), (2, 5), (3, 9)):
        before = str(place - 1) if place > 1 else ""
        parts += statement("load", minute, INSERT, (table("files", lake="parquet"),), made("raw", str(place), before))
        parts += statement("make", minute + 2, MADE, (made("raw", str(place)),), made("made", str(place), before))
    return parts


def recovered(plan: RecoveryPlan, store: Path, *, until: int | None = None) -> dict[str, str]:
    """
    Do the steps of a plan as the storage would: statements make versions, and Iceberg goes back to old ones.

    Returns:
        The tables that keep versions -> the one at which they are left.
    """
    now = {"raw": 3, "made": 3}
    reached: dict[str, str] = {}
    recorder = Recorder(plan, store)
    for number, step in enumerate(plan.steps[:until], 1):
        before = {sql_name(each): str(now[each.parts[-1]]) for each in step.writes if each.format != "parquet"}
        for name in before:
            key = name.rpartition(".")[2]
            goes_back = step.action == "roll back" and "CALL" in step.code[0]
            now[key] = 1 if goes_back else max(now[key], 3) + 1
            reached[name] = str(now[key])
        assert recorder.record(number, step, before, dict(reached)) == ""
    return reached


def corrected(store: Store) -> RecoveryPlan:
    """Return the plan for the second load, which SQL corrects."""
    return store.recover("db.raw", version="2", correction=("INSERT INTO db.raw VALUES (1)",)).result


@pytest.mark.parametrize("lake", ["iceberg", "delta"])
@pytest.mark.parametrize("versions", [True, False])
def test_asked_again_after_a_recovery_the_plan_is_empty(tmp_path: Path, lake: str, *, versions: bool) -> None:
    file = tmp_path / "lineage.db"
    taken(file, events(lake, versions=versions))
    with Store.open(file) as store:
        plan = corrected(store)
        jobs = {line.name for line in store.jobs().result}
    assert [step.action for step in plan.steps if step.action == "run"] == ["run"] * (3 if versions else 4)

    recovered(plan, file)

    with Store.open(file) as store:
        assert corrected(store).steps == ()
        assert {line.name for line in store.jobs().result} == jobs
        assert store.recover("db.raw").result.version != "3"


def test_a_recovery_whose_journal_is_gone_is_named_until_its_last_step_is_recorded(tmp_path: Path) -> None:
    file = tmp_path / "lineage.db"
    taken(file, events("iceberg"))
    with Store.open(file) as store:
        plan = corrected(store)
    recorded = [number for number, step in enumerate(plan.steps, 1) if step.like]
    assert recorded == [3, 4, 5, 6]
    journal = Journal(tmp_path / "lineage.db.recovery" / f"{plan.id}.jsonl", len(plan.steps), plan=plan.id)
    journal.write(JournalEntry(1, 0, "finished"))

    recovered(plan, file, until=4)
    with Store.open(file) as store:
        [begun] = store.recover("db.raw", version="2").diagnostics
    journal.path.unlink()
    with Store.open(file) as store:
        [gone] = store.recover("db.raw", version="2").diagnostics
    recovered(plan, file)
    with Store.open(file) as store:
        finished = store.recover("db.raw", version="2").diagnostics

    assert (begun.place, begun.missing) == (str(journal.path), True)
    assert (gone.code, gone.place, gone.missing) == ("unfinished-recovery", plan.id, True)
    assert "there are runs of its steps 3, 4, and none of its step 6" in gone.message
    assert finished == ()


@pytest.mark.parametrize("made", ["1", "2"])
def test_asked_again_nothing_is_left_of_a_run_that_made_no_version(tmp_path: Path, made: str) -> None:
    """The RESTORE before it makes none either, and perhaps the repeated run makes none again."""

    def delta(name: str, version: str = "") -> dict[str, Any]:
        return table(name, version, parent=str(int(version) - 1) if version else "", lake="delta")

    file = tmp_path / "lineage.db"
    load = "INSERT INTO db.raw SELECT * FROM db.files"
    taken(file, statement("load", 1, load, (), delta("raw", "1")))
    taken(file, statement("make", 2, MADE, (delta("raw", "1"),), delta("made", "1")))
    taken(file, statement("load", 3, load, (), delta("raw", "2")))
    taken(file, statement("make", 4, MADE, (delta("raw", "2"),), delta("made")))
    with Store.open(file) as store:
        plan = corrected(store)
    assert [step.action for step in plan.steps] == ["roll back", "roll back", "correct", "run"]
    changes = [("2", "3"), ("1", "1"), ("3", "4"), ("1", made)]
    reached: dict[str, str] = {}

    for number, (step, (before, now)) in enumerate(zip(plan.steps, changes, strict=True), 1):
        name = sql_name(step.writes[0])
        reached[name] = now
        Recorder(plan, file).record(number, step, {name: before}, dict(reached))

    with Store.open(file) as store:
        assert corrected(store).steps == ()


def test_what_was_told_twice_counts_once(tmp_path: Path) -> None:
    file = tmp_path / "lineage.db"
    taken(file, events("iceberg"))
    with Store.open(file) as store:
        plan = corrected(store)

    for _ in range(2):
        recovered(plan, file)

    with Store.open(file) as store:
        assert corrected(store).steps == ()
        assert len([line for line in store.runs().result if line.job == "make"]) == 5


class Files:
    """A session that is asked for files alone."""

    def files_of(self, _table: TableId) -> str:
        return "files"


def test_a_step_that_a_person_calls_done_after_a_kill_is_told_too(tmp_path: Path) -> None:
    file = tmp_path / "lineage.db"
    taken(file, events("iceberg", versions=False))
    with Store.open(file) as store:
        plan = corrected(store)
    last = len(plan.steps)
    reached = recovered(plan, file, until=last - 1)
    journal = Journal(tmp_path / "journal.jsonl")
    for number in range(1, last):
        journal.write(JournalEntry(number, 1, "finished", reached))
    journal.write(JournalEntry(last, 0, "begun", text=plan.steps[-1].code[0], files={"spark_catalog.db.made": "x"}))

    # Its table keeps no versions, so the session is asked for its files alone.
    session, consent = cast("LiveSession", Files()), Consent(done=[last])
    assert (
        PlanApplication(GivenPlan(plan, session, journal, print, None, consent, Recorder(plan, file))).apply()
        == "applied"
    )

    with Store.open(file) as store:
        assert corrected(store).steps == ()
        runs = [line for line in store.runs().result if line.job == "make"]
    assert len(runs) == 3 + sum(step.like.startswith("make") for step in plan.steps)


def test_files_that_a_person_moved_away_are_known_to_be_gone(tmp_path: Path) -> None:
    """An export adds to a folder that no table names, so a person empties that."""

    def export(minute: int, version: str) -> list[dict[str, Any]]:
        out = table("out", replaced="partitions", lake="parquet")
        del out["facets"]["symlinks"], out["facets"]["catalog"]
        return statement("export", minute, "", (table("raw", version),), out, application=f"app-{minute}")

    apps = [each for minute in (3, 7) for each in application(f"app-{minute}", minute, "spark-submit", "e.py")]
    loads = [statement("load", 1, INSERT, (), table("raw", "1"))]
    loads.append(statement("load", 5, INSERT, (), table("raw", "2", parent="1")))
    file = tmp_path / "lineage.db"
    taken(file, [*apps, *loads[0], *export(3, "1"), *loads[1], *export(7, "2")])
    with Store.open(file) as store:
        plan = corrected(store)
    (number,) = (place for place, step in enumerate(plan.steps, 1) if step.action == "empty")
    journal = Journal(tmp_path / "journal.jsonl")
    for place in range(1, len(plan.steps) + 1):
        if place != number:
            journal.write(JournalEntry(place, 1, "finished"))

    session, consent = cast("LiveSession", Files()), Consent(done=[number])
    assert (
        PlanApplication(GivenPlan(plan, session, journal, print, None, consent, Recorder(plan, file))).apply()
        == "applied"
    )

    with Store.open(file) as store:
        changes = [line.change for line in store.history("out").result]
    assert sorted(changes) == ["", "", "TRUNCATE"]


@pytest.mark.parametrize("unwritable", ["lineage.db", "."])
def test_a_store_that_can_not_be_written_is_refused_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unwritable: str
) -> None:
    path = tmp_path / "lineage.db"
    taken(path, events("iceberg"))
    file = tmp_path / "plan.json"
    assert main(["recover", "db.raw@2", "--store", str(path), "--output", str(file)]) == 0
    monkeypatch.setattr(os, "access", lambda at, mode: not (mode == os.W_OK and Path(at) == tmp_path / unwritable))
    capsys.readouterr()

    assert main(["recover", "apply", str(file), "--yes"]) == 1
    said = f"nothing was done: the steps could not be recorded, because {tmp_path / unwritable} can't be written. "
    assert capsys.readouterr().err == f"openlineage-pyspark: {said}Make it writable, and try again\n"
    plan = Answer.from_dict(json.loads(file.read_text("utf-8"))).result
    assert journal_of(plan, file).entries == ()


def test_a_store_in_a_folder_that_may_not_be_searched_is_refused_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lineage.db"
    taken(path, events("iceberg"))
    file = tmp_path / "plan.json"
    assert main(["recover", "db.raw@2", "--store", str(path), "--output", str(file)]) == 0
    capsys.readouterr()

    def refused(at: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(at))

    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(Path, "is_file", refused)
    assert main(["recover", "apply", str(file), "--yes"]) == 1
    said = f"openlineage-pyspark: nothing was done: {path} can't be read: Permission denied\n"
    assert capsys.readouterr().err == said


def test_a_step_of_which_the_store_has_no_run_is_said(tmp_path: Path) -> None:
    file = tmp_path / "lineage.db"
    taken(file, events("iceberg"))
    with Store.open(file) as store:
        plan = corrected(store)
    step: RecoveryStep = attrs.evolve(plan.steps[-1], like="gone")

    assert Recorder(plan, file).record(9, step, {}, {}) == (
        "the store has no event of the run gone, so step 9 is not recorded in it"
    )


UPDATE = "UPDATE db.raw SET v = 1 WHERE k = 2"


def by_column(*later: dict[str, Any]) -> list[dict[str, Any]]:
    """Return two loads of `raw`, the second one bad, and what is made of both."""
    raw = [table("raw", str(n), parent=str(n - 1) if n > 1 else "") for n in (1, 2)]
    for each in raw:
        each["facets"]["schema"] = {"fields": [{"name": "v", "type": "int"}]}
    return [
        *statement("load", 1, INSERT, (), raw[0]),
        *statement("load", 3, INSERT, (), raw[1]),
        *statement("make", 5, MADE, (raw[1],), table("made", "1")),
        *later,
    ]


def test_a_column_is_corrected_in_place_if_all_that_is_made_again_read_the_newest_version(tmp_path: Path) -> None:
    file = tmp_path / "lineage.db"
    taken(file, by_column())
    with Store.open(file) as store:
        plan = store.recover("db.raw", version="2", column="v", correction=(UPDATE,)).result
    assert [step.code for step in plan.steps if step.action != "run"] == [("DELETE FROM ice.db.made",), (UPDATE,)]

    recovered(plan, file)

    with Store.open(file) as store:
        assert store.recover("db.raw", version="2", column="v", correction=(UPDATE,)).result.steps == ()


def test_a_column_is_not_corrected_in_place_under_what_read_an_older_version(tmp_path: Path) -> None:
    raw = [table("raw", str(n), parent=str(n - 1)) for n in (2, 3)]
    file = tmp_path / "lineage.db"
    taken(file, by_column(*statement("load", 7, INSERT, (raw[0],), raw[1])))
    with Store.open(file) as store:
        plan = store.recover("db.raw", version="2", column="v", correction=(UPDATE,)).result

    assert next(step.action for step in plan.steps) == "roll back"


@pytest.mark.parametrize(
    ("correction", "is_sure"),
    [
        (UPDATE, False),
        ("MERGE INTO db.raw USING x ON raw.k = x.k WHEN MATCHED THEN UPDATE SET *", False),
        ("MERGE INTO db.raw USING x ON raw.k = x.k WHEN NOT MATCHED THEN INSERT *", True),
        ("INSERT INTO db.raw VALUES (1)", True),
    ],
)
def test_a_correction_that_adds_no_row_is_not_sure_where_the_bad_rows_go_by_a_roll_back(
    tmp_path: Path, correction: str, *, is_sure: bool
) -> None:
    file = tmp_path / "lineage.db"
    taken(file, by_column())
    with Store.open(file) as store:
        plan = store.recover("db.raw", version="2", correction=(correction,)).result

    (step,) = (step for step in plan.steps if step.action == "correct")
    doubt = (
        "it only changes existing rows, and those of version 2 are gone by then: use statements that insert the "
        "correct rows"
    )
    assert step.doubts == (() if is_sure else (doubt,))


def test_a_table_that_a_stream_fills_is_emptied_by_no_micro_batch(tmp_path: Path) -> None:
    raw = [table("raw", str(n), parent=str(n - 1) if n > 1 else "") for n in (1, 2)]
    end = {"snapshot_id": 2, "position": 1}
    first = batch(0, 5.5, raw[1], table("made", "1"), "null", json.dumps(end))
    file = tmp_path / "lineage.db"
    events = [*statement("load", 1, INSERT, (), raw[0]), *statement("load", 3, INSERT, (), raw[1])]
    taken(file, [*events, *stream("s", 5, raw[1], table("made", "1"), first)])
    with Store.open(file) as store:
        plan = corrected(store)
    empty = next(number for number, step in enumerate(plan.steps, 1) if step.action == "empty")

    Recorder(plan, file).record(empty, plan.steps[empty - 1], {"ice.db.made": "1"}, {"ice.db.made": "2"})

    with Store.open(file) as store:
        found = store.recover("db.made", version="2").result
        assert [(each.bad, each.last_good) for each in found.datasets] == [(("2",), "1")]
