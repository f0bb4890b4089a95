"""An application that a person runs is done when each table that it writes has a new version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs
import pytest
from openlineage_pyspark.workbench.recovery.apply import Consent, PlanApplication
from openlineage_pyspark.workbench.recovery.journal import Journal
from openlineage_pyspark.workbench.recovery.live import LiveTable
from openlineage_pyspark.workbench.recovery.plan import Mode, RecoveryPlan, RecoveryStep
from openlineage_pyspark.workbench.recovery.statements import TableId

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.live import LiveSession

TABLES = (TableId(("ice", "db", "daily"), "iceberg"), TableId(("ice", "db", "report"), "iceberg"))
STEP = RecoveryStep("run", "Run gold again.", "shell", ("spark-submit gold.py",), writes=TABLES)
PLAN = RecoveryPlan(Mode.INCREMENTAL, "t", "1", (), (STEP,))
IN_PART = "ice.db.report has no new version, so it is not done yet, or only in part."
NOT_AT_ALL = "its tables have no new version, so it is not done yet."


class Tables:
    """Tables with the versions that they have now."""

    def __init__(self) -> None:
        self.versions = {"daily": "1", "report": "1"}

    def table(self, named: TableId) -> LiveTable:
        return LiveTable("/lake", self.versions[named.parts[-1]], {})

    def apply(self, folder: Path, *done: int) -> tuple[str, list[str]]:
        """Apply the plan without anybody to ask; return what came of it and what was said."""
        said: list[str] = []
        session, journal = cast("LiveSession", self), Journal(folder / "journal.jsonl")
        return PlanApplication(PLAN, session, journal, said.append, None, Consent(done=done)).apply(), said


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

    PlanApplication(plan, session, Journal(tmp_path / "j"), said.append, None, Consent()).apply()

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
        tables.versions["report"] = "2"
        yield True

    given = answers()
    session, journal = cast("LiveSession", tables), Journal(tmp_path / "journal.jsonl")

    assert PlanApplication(PLAN, session, journal, said.append, lambda _: next(given), Consent()).apply() == "applied"
    assert [each for each in said if "version" in each] == [IN_PART]
