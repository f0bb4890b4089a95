"""The journal of a plan: what is on disk after a kill, and who may write it."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import pytest
from openlineage_pyspark.errors import RecoveryError
from openlineage_pyspark.workbench.recovery.applying.journal import Journal, JournalEntry, journal_of
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan

PLAN = RecoveryPlan(Mode.INCREMENTAL, "t", "1", (), ())


def seen(journal: Journal) -> list[tuple[int, int, str]]:
    return [(entry.step, entry.place, entry.state) for entry in journal.entries]


def test_what_was_written_is_read_by_the_next_process(tmp_path: Path) -> None:
    first = Journal(tmp_path / "of" / "plan.jsonl")
    first.write(JournalEntry(1, 0, "begun", {"t": "3"}, "X"))
    first.write(JournalEntry(1, 0, "done", {"t": "4"}))
    first.write(JournalEntry(1, 1, "finished", {"t": "4"}))
    first.write(JournalEntry(2, 0, "begun", {"u": "1"}))

    second = Journal(tmp_path / "of" / "plan.jsonl")
    assert second.entries == first.entries
    assert (second.finished(), second.reached()) == (frozenset({1}), {"t": "4"})
    assert second.last(2) == first.entries[-1]
    assert second.last(3) is None
    assert (second.begun(), second.before(1), second.before(3)) == (frozenset({1}), {"t": "3"}, {})


@pytest.mark.slow
def test_a_kill_at_any_byte_costs_at_most_the_last_line_and_the_next_line_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "plan.jsonl"
    whole = Journal(path)
    whole.write(JournalEntry(1, 0, "begun", {"t": "3"}, "SELECT 'é\n'"))
    whole.write(JournalEntry(1, 0, "done", {"t": "4"}))
    text = path.read_bytes()
    for length in range(len(text) + 1):
        path.write_bytes(text[:length])
        journal = Journal(path)
        before = seen(journal)
        assert before in ([], [(1, 0, "begun")], [(1, 0, "begun"), (1, 0, "done")])
        journal.write(JournalEntry(2, 0, "begun"))
        assert seen(Journal(path)) == [*before, (2, 0, "begun")]


def exclude_each_other(first: Journal, second: Journal) -> None:
    """Hold the first, so that the second can't be held until that ends."""
    with first.held(), pytest.raises(RecoveryError, match="another process applies a plan"), second.held():
        pass
    with second.held():
        pass


def test_one_process_applies_a_plan_at_a_time(tmp_path: Path) -> None:
    exclude_each_other(Journal(tmp_path / "plan.jsonl"), Journal(tmp_path / "plan.jsonl"))


def test_what_another_process_did_before_it_let_the_lock_go_is_known(tmp_path: Path) -> None:
    first, second = (Journal(tmp_path / "plan.jsonl") for _ in range(2))
    with first.held():
        first.write(JournalEntry(1, 0, "finished", {"t": "4"}))

    with second.held():
        assert second.finished() == frozenset({1})


def test_a_plan_is_out_of_date_once_another_one_of_its_store_was_applied(tmp_path: Path) -> None:
    store = tmp_path / "lineage.db"
    store.touch()
    journal = journal_of(attrs.evolve(PLAN, store=str(store)), tmp_path / "p")
    assert not journal.is_written_after("2026-01-01T00:00:00+00:00")
    journal.write(JournalEntry(1, 0, "finished"))

    assert journal.is_written_after("2026-01-01T00:00:00+00:00")
    assert not journal.is_written_after("2999-01-01T00:00:00+00:00")
    assert not journal.is_written_after("")
    # A plan that is made right after it knows of it.
    assert not journal.is_written_after(journal.entries[-1].time)


def test_one_plan_of_a_store_is_applied_at_a_time(tmp_path: Path) -> None:
    store = tmp_path / "lineage.db"
    store.touch()
    one, other = (attrs.evolve(PLAN, store=str(store), version=version) for version in ("1", "2"))
    first, second = (journal_of(plan, tmp_path / "p.json") for plan in (one, other))
    assert first.path != second.path

    # Neither has begun: the checks of the first one take their time, or it asks a person.
    exclude_each_other(first, second)


def test_it_lies_beside_the_store_that_all_share_and_else_beside_the_plan(tmp_path: Path) -> None:
    store = tmp_path / "lineage.db"
    plan = attrs.evolve(PLAN, store=str(store))

    assert journal_of(plan, tmp_path / "p.json").path == tmp_path / "p.json.journal"
    store.touch()
    assert journal_of(plan, tmp_path / "p.json").path == tmp_path / "lineage.db.recovery" / f"{plan.id}.jsonl"


@pytest.mark.parametrize("steps", [(1,), (1, 2)], ids=["unfinished", "finished"])
def test_another_plan_whose_file_had_the_same_name_has_not_done_the_steps_of_this_one(
    tmp_path: Path, steps: tuple[int, ...]
) -> None:
    file = tmp_path / "p.json"
    old, new = (attrs.evolve(PLAN, version=version) for version in ("1", "2"))
    for step in steps:
        journal_of(old, file).write(JournalEntry(step, 0, "finished"))

    assert journal_of(old, file).finished() == frozenset(steps)
    with pytest.raises(RecoveryError, match="is the journal of another plan") as raised:
        journal_of(new, file).finished()
    assert str(tmp_path / "p.json.journal") in str(raised.value)
    assert journal_of(new, tmp_path / "other.json").entries == ()


def test_a_journal_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    Journal(tmp_path / "p.json.journal").write(JournalEntry(1, 0, "finished"))

    assert journal_of(PLAN, file).finished() == frozenset({1})


def test_a_started_plan_is_found_again_where_its_store_was_moved_away(tmp_path: Path) -> None:
    store, file = tmp_path / "lineage.db", tmp_path / "p.json"
    plan = attrs.evolve(PLAN, store=str(store))
    store.touch()
    begun = journal_of(plan, file)
    begun.write(JournalEntry(1, 0, "begun"))
    store.unlink()

    assert journal_of(plan, file).path == begun.path
    assert seen(journal_of(plan, file)) == [(1, 0, "begun")]


def test_a_started_plan_is_found_again_where_the_folder_of_its_store_became_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, file = tmp_path / "lineage.db", tmp_path / "p.json"
    plan = attrs.evolve(PLAN, store=str(store))
    store.touch()
    begun = journal_of(plan, file)
    begun.write(JournalEntry(1, 0, "begun"))

    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    assert journal_of(plan, file).path == begun.path


def test_a_started_plan_is_found_again_where_the_folder_of_its_store_can_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, file = tmp_path / "lineage.db", tmp_path / "p.json"
    plan = attrs.evolve(PLAN, store=str(store))
    store.touch()
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda path, mode: mode != os.W_OK and path.exists())
        journal_of(plan, file).write(JournalEntry(1, 0, "begun"))

    assert seen(journal_of(plan, file)) == [(1, 0, "begun")]
    exclude_each_other(journal_of(plan, file), journal_of(attrs.evolve(plan, version="2"), file))


def test_an_unfinished_plan_tells_what_is_done_and_which_copies_stand_and_to_keep_its_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl", 5)
    copy = "CREATE TABLE c.`a b`.`x y_before_recovery` USING parquet AS SELECT * FROM c.`a b`.`x y`"
    journal.write(JournalEntry(1, 0, "begun", text=copy))
    journal.write(JournalEntry(1, 0, "finished"))
    for place, text in enumerate(
        (
            "CREATE TABLE c.x_empty USING parquet AS SELECT * FROM c.x WHERE false",
            "INSERT OVERWRITE c.x SELECT * FROM c.x_empty",
            "DROP TABLE c.x_empty",
        )
    ):
        journal.write(JournalEntry(2, place, "begun", text=text))
    journal.write(JournalEntry(2, 3, "finished"))
    journal.write(JournalEntry(3, 0, "begun", text="INSERT INTO c.x SELECT * FROM c.y"))

    assert journal.remains == (
        "2 of its 5 steps are done (1, 2), and step 3 was begun. Continue it by `recover apply PLAN --resume`. "
        "These copies may have rows that are nowhere else: c.`a b`.`x y_before_recovery`. Do not remove its journal: "
        "no new plan has the steps that are left. If you give it up, first do these by hand, or undo the others: the "
        "journal states the versions of their tables before and after each statement. Only then move it away"
    )


def test_an_unfinished_plan_without_a_finished_step_or_a_copy_names_none(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl", 5)
    journal.write(JournalEntry(1, 0, "waits"))

    assert journal.remains.startswith("0 of its 5 steps are done, and step 1 was begun. Continue it by")
    assert "copies" not in journal.remains


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "file" / "plan.jsonl")
    (tmp_path / "file").touch()

    with pytest.raises(RecoveryError, match="can't be written"):
        journal.write(JournalEntry(1, 0, "begun"))
