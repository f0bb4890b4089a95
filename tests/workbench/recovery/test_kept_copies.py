"""The copies of a recovery are dropped when it is finished, and nothing else that has their names."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import attrs
import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.command.store import recover
from openlineage_pyspark.errors import RecoveryError
from openlineage_pyspark.workbench.questions.registry import answered
from openlineage_pyspark.workbench.recovery.applying.journal import Journal, JournalEntry, journal_of
from openlineage_pyspark.workbench.recovery.applying.kept_copies import drop_copy, kept_copies, uncertainties_of_copies
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan, RecoveryStep, TableId

TABLE, COPY = (TableId(("spark_catalog", "db", name), "parquet") for name in ("a b", "a b_before_recovery"))
NAME = "spark_catalog.db.`a b_before_recovery`"
PLAN = RecoveryPlan(
    Mode.INCREMENTAL,
    "t",
    "2",
    (),
    (
        RecoveryStep("keep", "Keep the rows.", "sql", ("CTAS",), writes=(COPY,), reads=(TABLE,)),
        RecoveryStep("empty", "Empty it.", "sql", ("INSERT",), writes=(TABLE,)),
    ),
)


@attrs.frozen
class Files:
    """A session of tables, each with a text for its files."""

    tables: dict[str, str]
    ran: list[str] = attrs.field(factory=list)

    def files_of(self, table: TableId, /) -> str:
        return self.tables.get(table.parts[-1], "")

    def run(self, sql: str, /) -> None:
        self.ran.append(sql)


def finished(path: Path, *steps: int) -> Journal:
    journal = Journal(path / "plan.jsonl", 2)
    for number in steps:
        journal.write(JournalEntry(number, 1, "finished", files={NAME: "f1"} if number == 1 else {}))
    return journal


def test_the_copies_of_a_plan_that_is_not_finished_are_kept(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match="the plan is not finished: the copies are kept"):
        kept_copies(PLAN, finished(tmp_path, 1))


@pytest.mark.parametrize(
    ("now", "said", "ran"),
    [
        ({COPY.parts[-1]: "f1"}, (True, "is dropped"), [f"DROP TABLE {NAME}"]),
        ({COPY.parts[-1]: "f2"}, (False, "was written or created again since the recovery, and is kept"), []),
        ({}, (True, "no longer exists"), []),
    ],
)
def test_only_a_copy_as_the_recovery_left_it_is_dropped(
    tmp_path: Path, now: dict[str, str], said: tuple[bool, str], ran: list[str]
) -> None:
    session = Files(now)

    ((copy, files),) = kept_copies(PLAN, finished(tmp_path, 1, 2)).items()

    is_gone, sentence = drop_copy(copy, files, session)
    assert (copy, is_gone, sentence.partition(":")[0]) == (COPY, said[0], f"{NAME} {said[1]}")
    assert session.ran == ran


BESIDE = TableId(("spark_catalog", "db", "a b_s1"), "parquet")
DOUBT = ("it may have had rows before",)


@pytest.mark.parametrize(
    ("steps", "doubts"),
    [
        (PLAN.steps, {}),
        ((PLAN.steps[0], attrs.evolve(PLAN.steps[1], doubts=DOUBT)), {2: DOUBT}),
        # Nothing keeps the rows of a table that has versions.
        ((attrs.evolve(PLAN.steps[1], doubts=DOUBT),), {}),
        (
            (
                RecoveryStep("copy", "Make a copy.", "sql", ("CTAS",), doubts=DOUBT, writes=(BESIDE,)),
                PLAN.steps[0],
                RecoveryStep("switch", "Switch.", "sql", ("INSERT",), writes=(TABLE, BESIDE), reads=(BESIDE,)),
            ),
            {1: DOUBT},
        ),
        ((RecoveryStep("run", "Run it.", doubts=DOUBT, writes=(TABLE,)), PLAN.steps[0], PLAN.steps[1]), {}),
    ],
)
def test_rows_that_may_be_in_a_copy_alone_are_doubts(
    steps: tuple[RecoveryStep, ...], doubts: dict[int, tuple[str, ...]]
) -> None:
    assert uncertainties_of_copies(attrs.evolve(PLAN, steps=steps)) == doubts


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--yes"], 1, "nothing was dropped: accept it with --accept-doubt 2, or leave out --yes"),
        (["--dry-run"], 0, ""),
        (["--yes", "--dry-run", "--accept-doubt", "2"], 0, ""),
        ([], 1, "There is no terminal on which to ask: add --yes"),
    ],
)
def test_they_are_dropped_only_by_who_accepts_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    plan = attrs.evolve(PLAN, steps=(PLAN.steps[0], attrs.evolve(PLAN.steps[1], doubts=DOUBT)))
    file = tmp_path / "plan.json"
    answer = attrs.evolve(answered(plan), question="recover")
    file.write_text(json.dumps(answer.to_dict()), "utf-8")
    journal = journal_of(plan, file)
    for number in (1, 2):
        journal.write(JournalEntry(number, 1, "finished", files={NAME: "f1"} if number == 1 else {}))

    assert main(["recover", "forget-copies", str(file), *options]) == code

    found = capsys.readouterr()
    doubt = f"step 2 was uncertain, and rows may be in the copy alone: {DOUBT[0]}"
    assert (doubt in " ".join(found.out.split())) is ("--accept-doubt" not in options)
    assert said in found.err


@pytest.mark.parametrize(
    ("now", "code", "said"),
    [
        ("f1", 0, f"{NAME} is dropped"),
        ("f2", 1, f"{NAME} was written or created again since the recovery, and is kept"),
    ],
)
def test_the_exit_code_says_whether_a_copy_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, now: str, code: int, said: str
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(attrs.evolve(answered(PLAN), question="recover").to_dict()), "utf-8")
    journal = journal_of(PLAN, file)
    for number in (1, 2):
        journal.write(JournalEntry(number, 1, "finished", files={NAME: "f1"} if number == 1 else {}))
    session = Files({COPY.parts[-1]: now})
    monkeypatch.setattr(recover, "_session", lambda *_, **__: nullcontext(session))

    assert main(["recover", "forget-copies", str(file), "--yes"]) == code
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_copy_of_which_the_journal_does_not_tell_the_files_is_kept() -> None:
    session = Files({COPY.parts[-1]: "f1"})

    assert "is kept" in drop_copy(COPY, "", session)[1]
    assert session.ran == []
