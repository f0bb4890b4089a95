"""Plans of recovery that would do harm are not applied, on real tables of Iceberg and of Delta Lake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.lakes import LAKE_CONF, LAKE_JARS
from support.spark_jobs import QUICK, Jobs

pytestmark = pytest.mark.own_jvm

# The trap, for each format -> what comes of it, and the rows of the tables that are watched.
EITHER: dict[str, tuple[str, list[list[int]]]] = {
    "right": ("applied", [[1]]),
    "somebody unknown has written": ("refused", [[1, 2, 3, 99]]),
    "that is accepted": ("applied", [[1]]),
    "a version that never was": ("refused", [[1, 2, 3]]),
    "a table that is gone": ("refused", []),
    "another table of this name": ("refused", [[1, 2, 3]]),
    "a later statement has an error": ("refused", [[1, 2, 3]]),
    "a statement that drops another table": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement that writes another table": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement that does two things": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement that hides in a comment": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement that sets a property": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement that adds a jar": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement that loads a script": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement that calls": ("refused", [[1, 2, 3], [1, 2, 3]]),
    "a statement fails": ("failed", [[1]]),
    "a statement fails, and goes on": ("applied", [[1, 5]]),
    "a doubt": ("declined", [[1, 2, 3]]),
    "a doubt that is accepted": ("applied", [[1, 5]]),
    "killed after a commit": ("applied", [[1, 2, 3, 8]]),
    "killed before a commit": ("applied", [[1, 2, 3, 8]]),
    "a command": ("waits", [[1, 2, 3]]),
    "a command of which no new version came": ("waits", [[1, 2, 3]]),
    "some partitions": ("applied", [[1, 9]]),
    "an odd name": ("applied", [[1]]),
}
ALONE: dict[str, tuple[str, list[list[int]]]] = {
    "iceberg a version between expired": ("applied", [[1]]),
    "delta vacuumed": ("refused", [[2, 3]]),
    "delta two words": ("applied", [[1]]),
    "delta per%20cent": ("applied", [[1]]),
    "delta a copy at a path": ("applied", [[1]]),
    "a table whose place is not known": ("refused", [[1]]),
    "files where a copy would be": ("refused", [[1]]),
    "a copy first": ("applied", [[], [1]]),
    "a copy that is there": ("refused", [[], [1]]),
    "a person says that it is done": ("applied", [[], [1]]),
    "a statement fails on a table without versions": ("failed", [[]]),
    "a statement fails on a table without versions, and goes on": ("applied", [[5]]),
    "killed between the statements of a step": ("applied", [[]]),
}
EXPECTED = {f"{format_} {trap}": found for format_ in ("iceberg", "delta") for trap, found in EITHER.items()} | ALONE


# The trap in a recovery that was begun -> the begin of what comes of it, and the rows.
RESUMED: dict[str, tuple[str, list[list[int]]]] = {
    **{f"{each} killed after a commit of its own": ("applied", [[1, 2, 3, 8]]) for each in ("iceberg", "delta")},
    **{
        f"{each} killed, and somebody else wrote": (
            "StepFailedError: step 1 was begun and its statement did not end, and something else wrote since: ",
            [[1, 2, 3, 99]],
        )
        for each in ("iceberg", "delta")
    },
    **{
        f"{each} killed, and somebody else wrote, which is undone": ("applied", [[1, 2, 3, 8]])
        for each in ("iceberg", "delta")
    },
    "delta restored to where it was": ("applied", [[1, 8]]),
    "delta restored elsewhere": ("refused", [[1, 99]]),
}


@pytest.fixture(scope="module")
def told(packaged, tmp_path_factory) -> dict[str, dict[str, Any]]:
    """Return what came of each trap; all are laid in one application."""
    folder = tmp_path_factory.mktemp("traps")
    conf = {
        **QUICK,
        **LAKE_CONF,
        "spark.master": "local[1]",
        "spark.sql.shuffle.partitions": "1",
        # VACUUM lists the files of a table in ten thousand tasks otherwise.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        # A catalog of the name that the schema has: Iceberg takes the first part of a name for a catalog if it can.
        "spark.sql.catalog.db": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.db.type": "hadoop",
        "spark.sql.catalog.db.warehouse": str(folder / "other"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.jars": packaged(LAKE_JARS),
    }
    done = Jobs(Path(__file__).parent / "jobs", lambda _: folder).run("traps.py", str(folder), conf=conf, lineage=False)
    assert done.code == 0, done.stderr[-3000:]
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


@pytest.mark.parametrize("trap", EXPECTED)
def test_a_plan_does_what_is_right_or_nothing(told: dict[str, dict[str, Any]], trap: str) -> None:
    assert (told[trap]["outcome"], told[trap]["rows"]) == EXPECTED[trap], told[trap]["said"]


@pytest.mark.parametrize("trap", RESUMED)
def test_a_recovery_that_goes_on_looks_at_who_wrote_and_what_was_restored(
    told: dict[str, dict[str, Any]], trap: str
) -> None:
    outcome, rows = RESUMED[trap]

    assert (told[trap]["outcome"][: len(outcome)], told[trap]["rows"]) == (outcome, rows), told[trap]["said"]


def test_each_trap_is_asked_about(told: dict[str, dict[str, Any]]) -> None:
    assert set(told) == {*EXPECTED, *RESUMED, "killed while a table without versions was emptied"}


def test_a_plan_that_is_refused_has_begun_nothing(told: dict[str, dict[str, Any]]) -> None:
    refused = [trap for trap, (outcome, _) in EXPECTED.items() if outcome in ("refused", "declined")]

    assert len(refused) > 20
    assert [trap for trap in refused if told[trap]["states"]] == []


@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_what_was_done_is_not_done_again(told: dict[str, dict[str, Any]], format_: str) -> None:
    begun = {trap: told[f"{format_} {trap}"]["states"] for trap in EITHER}

    assert begun["killed after a commit"] == [[1, "begun"], [1, "done"], [1, "finished"]]
    assert begun["killed before a commit"] == [[1, "begun"], [1, "begun"], [1, "done"], [1, "finished"]]
    roll_back = [[1, "begun"], [1, "done"], [1, "finished"]]
    assert begun["a statement fails"] == [*roll_back, [2, "begun"], [2, "failed"]]
    assert begun["a statement fails, and goes on"] == [
        *begun["a statement fails"],
        *([2, state] for state in ("begun", "done", "finished")),
    ]


def test_a_table_without_versions_that_was_perhaps_emptied_is_for_a_person(told: dict[str, dict[str, Any]]) -> None:
    found = told["killed while a table without versions was emptied"]

    assert found["outcome"].startswith(
        "StepFailedError: step 2 was started and did not end, and spark_catalog.db.plain keeps no"
    )
    assert found["rows"] == [[], [1]]


@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_who_is_refused_learns_why_and_what_to_do(told: dict[str, dict[str, Any]], format_: str) -> None:
    said = "\n".join(told[f"{format_} somebody unknown has written"]["said"])

    assert "has versions that the store does not know, and their rows would be lost: " in said
    assert "--accept-newer" in said
