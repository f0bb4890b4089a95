"""Rows are joined to the runs that made their versions, and what is not known of one is said."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from openlineage_pyspark.workbench.blame.made import BlamedRow, BlameRow, LiveRow, join_rows, text_of_rows
from openlineage_pyspark.workbench.recovery.applying.live import LiveVersion

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
MICROS = round(NOON.timestamp() * 1_000_000)
BACKFILL = "ROW TRACKING BACKFILL"
MADE = {
    "70": BlameRow("70", NOON, "jobs", "load", "run-1", None, "INSERT", 5),
    "80": BlameRow("80", NOON, "jobs", "stream", "run-2", 4, "MERGE"),
    "90": BlameRow("90", NOON),
}


def live(operation: str = "append", version: str = "90") -> dict[str, LiveVersion]:
    """Return a version that the table itself knows."""
    return {version: LiveVersion(version, "", operation, "2026-01-01 12:00:00", micros=MICROS)}


def row(number: int | None, version: str, **values: object) -> LiveRow:
    """Return a row that a version wrote last."""
    return LiveRow(values, 3, number, version)


def test_each_row_has_the_run_of_its_version_and_the_newest_come_first() -> None:
    joined = join_rows([row(1, "70", id=1), row(2, "80", id=2)], MADE, {}, "t")

    assert joined.diagnostics == ()
    assert joined.rows == (
        BlamedRow("80", NOON, "jobs", "stream", "run-2", 4, "MERGE", row_id=3, values={"id": 2}),
        BlamedRow("70", NOON, "jobs", "load", "run-1", None, "INSERT", 5, row_id=3, values={"id": 1}),
    )


@pytest.mark.parametrize(
    ("found", "table", "why", "time"),
    [
        (row(None, ""), {}, "t kept no versions of rows yet", None),
        (row(6, ""), {}, "t no longer has the snapshot with the sequence number 6", None),
        (row(6, "99"), {}, "no run is known that made t@99", None),
        (row(6, "90"), {}, "no run is known that made t@90", None),
        (row(6, "90"), live(), "no run is known that made t@90, committed 2026-01-01 12:00:00 (append)", NOON),
        (row(6, "70"), live("replace", "70"), "t@70 only copied older rows (replace)", NOON),
        (row(6, "70"), live(BACKFILL, "70"), f"t@70 only copied older rows ({BACKFILL})", NOON),
    ],
)
def test_a_row_whose_run_is_not_known_says_why(
    found: LiveRow, table: dict[str, LiveVersion], why: str, time: datetime | None
) -> None:
    joined = join_rows([found], MADE, table, "t")

    assert joined.rows == (BlamedRow(found.version, time, row_id=3),)
    [diagnostic] = joined.diagnostics
    assert (diagnostic.code, diagnostic.missing, diagnostic.message) == (
        "unknown-writer",
        True,
        f"1 row without a run: {why}",
    )


def test_rows_without_a_run_for_one_reason_are_counted_together() -> None:
    joined = join_rows([row(6, "99"), row(6, "99"), row(None, "")], MADE, {}, "t")

    assert [each.message for each in joined.diagnostics] == [
        "2 rows without a run: no run is known that made t@99",
        "1 row without a run: t kept no versions of rows yet",
    ]


def test_the_table_for_people_has_the_values_of_each_row() -> None:
    joined = join_rows([row(2, "80", id=2, name=None), row(None, "", id=True, name="x")], MADE, {}, "t")

    assert text_of_rows(joined.rows).to_text() == (
        "  id    name  version  time                 operation  run             job\n"
        "  2     NULL  80       2026-01-01 12:00:00  MERGE      run-2, batch 4  stream\n"
        "  True  x                                              unknown\n"
    )
    assert text_of_rows([]).to_text() == "no row meets the condition\n"
