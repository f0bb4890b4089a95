"""The copies of a recovery are dropped when it is finished, and nothing else that has their names."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from openlineage_pyspark.errors import RecoveryError
from openlineage_pyspark.workbench.recovery.journal import Journal, JournalEntry
from openlineage_pyspark.workbench.recovery.kept_copies import drop_copy, kept_copies
from openlineage_pyspark.workbench.recovery.plan import Mode, RecoveryPlan, RecoveryStep, TableId

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
        ({COPY.parts[-1]: "f2"}, (False, "was written or made again since the recovery, and is kept"), []),
        ({}, (True, "is not there any more"), []),
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


def test_a_copy_of_which_the_journal_does_not_tell_the_files_is_kept() -> None:
    session = Files({COPY.parts[-1]: "f1"})

    assert "is kept" in drop_copy(COPY, "", session)[1]
    assert session.ran == []
