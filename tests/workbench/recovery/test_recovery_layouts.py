"""Plans of recovery for layouts that are easily taken for others: what looks new, gone, renamed or already replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts
from openlineage_pyspark.workbench.recovery.model.formats import PLAN_FORMATS
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, TableCheck, TableId
from openlineage_pyspark.workbench.recovery.model.statements import roll_back, table_id
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, run_event
from support.reached import nodes_of
from support.recovery_events import Event, application, batch, statement, stream, table

# As a group they take seconds. They count in the coverage of this package, so they run on the oldest Python.
pytestmark = [pytest.mark.slow, pytest.mark.every_python]

Fill = Callable[..., Store]

ROOT = statement("a", 1, "INSERT INTO ice.db.a VALUES (1)", (), table("a", "1"))
COPY = "INSERT INTO ice.db.b SELECT * FROM ice.db.a"
BAD_B = statement("b", 2, COPY, (table("a", "1"),), table("b", "11", parent="10"))
BACK = "CALL ice.system.rollback_to_snapshot('ice.db.b', 10)"


def code_of(found: RecoveryPlan) -> list[str]:
    """Return all that a plan runs, in order; what a person does is its action."""
    return [each for step in found.steps for each in (step.code or (f"({step.action})",))]


def doubts_of(found: RecoveryPlan) -> list[str]:
    """Return all that is not certain at the steps but for the dataset itself."""
    return [doubt for step in found.steps if step.action != "correct" for doubt in step.doubts]


def plain(name: str, **facets: Any) -> Event:
    """Return a table of Parquet."""
    return table(name, lake="parquet", **facets)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE IF NOT EXISTS ice.db.b (v INT)",
        "/* once */ -- first\n CREATE TABLE IF NOT EXISTS ice.db.b (v INT)",
        "CREATE TABLE ice.db.b USING parquet LOCATION '/lake/db/b'",
        "",
    ],
)
def test_a_creation_that_finds_the_table_there_does_not_end_bad_data(filled: Fill, sql: str) -> None:
    created = statement("app.create_table.db_b", 3, sql, (), table("b", change="CREATE"))
    last = statement("b", 4, COPY, (table("a", "1"),), table("b", "12", parent="11"))
    found = filled(*ROOT, *BAD_B, *created, *last).recover("db.a").result

    assert (found.datasets[1].bad, found.datasets[1].is_clean) == (("11", "12"), False)
    assert code_of(found) == [BACK, "(correct)", COPY, COPY]


def test_a_full_plan_goes_back_behind_a_creation_that_finds_the_table_there(filled: Fill) -> None:
    create, copy = "CREATE TABLE IF NOT EXISTS db.b (v INT)", "INSERT INTO db.b SELECT * FROM ice.db.a"
    events = [*ROOT, *statement("create", 2, create, (), plain("b", change="CREATE"))]
    events += statement("b", 3, copy, (table("a", "1"),), plain("b"))
    events += statement("a", 4, "INSERT INTO ice.db.a VALUES (2)", (), table("a", "2", parent="1"))
    events += statement("create", 5, create, (), plain("b", change="CREATE"))
    events += statement("b", 6, copy, (table("a", "2"),), plain("b"))

    for mode in ("incremental", "full"):
        found = filled(*events).recover("db.a", version="2", mode=mode).result
        runs = [again.run_id for step in found.steps for again in step.again]
        assert [run for run in runs if run.startswith("b-")] == ["b-3", "b-6"], mode
        assert doubts_of(found) == [], mode


def test_a_replacement_of_a_table_by_clean_data_ends_bad_data(filled: Fill) -> None:
    sql = "CREATE OR REPLACE TABLE ice.db.b AS SELECT * FROM ice.db.c"
    replaced = statement("r", 3, sql, (table("c", "7"),), table("b", "12", change="OVERWRITE"))
    found = filled(*ROOT, *BAD_B, *replaced).recover("db.a").result

    assert [(each.dataset, each.bad, each.is_clean) for each in found.datasets][1:] == [("db.b", ("11",), True)]
    assert code_of(found) == ["(correct)"]


@pytest.mark.parametrize(
    ("replaced", "again", "doubts"),
    [
        ("all", ["export-3"], []),
        ("partitions", ["export-1", "export-3"], []),
        ("", ["export-1", "export-3"], 2 * ["it is unknown whether it replaced all of db/e, or only partitions"]),
    ],
)
def test_files_that_are_replaced_as_a_whole_need_no_earlier_run(
    filled: Fill, replaced: str, again: list[str], doubts: list[str]
) -> None:
    def export(minute: int, version: str) -> list[Event]:
        # Of what replaces a part, the listener does not say OVERWRITE.
        change = "" if replaced == "partitions" else "OVERWRITE"
        out = plain("e", change=change, replaced=replaced)
        del out["facets"]["symlinks"]
        return statement("export", minute, "", (table("a", version),), out, application=f"app-{minute}")

    events = [*application("app-1", 0, "spark-submit", "e.py"), *application("app-3", 0, "spark-submit", "e.py")]
    events += [*ROOT, *export(1, "1"), *statement("a", 2, "INSERT INTO ice.db.a VALUES (2)", (), table("a", "2"))]
    found = filled(*events, *export(3, "2")).recover("db.a", version="2").result

    assert [run.run_id for step in found.steps for run in step.again] == again
    assert [each for each in doubts_of(found) if "replaced all" in each] == doubts
    removed = [step.title for step in found.steps if step.action == "empty"]
    assert bool(removed) is (replaced != "all"), removed


def exports(*also: Event, replaced: str = "all") -> list[Event]:
    """Return two runs of an application that adds to files and replaces a table, and a bad version before the last."""

    def export(minute: int, version: str, before: str) -> list[Event]:
        app, change = f"app-{minute}", "OVERWRITE" if replaced == "all" else ""
        made = table("x", f"9{minute}", parent=before, change=change, replaced=replaced)
        log = statement("log", minute + 0.1, "", (table("a", version),), plain("log"), application=app)
        return [*log, *statement("x", minute + 0.2, "", (table("a", version),), made, application=app)]

    apps = [each for minute in (1, 4) for each in application(f"app-{minute}", minute, "spark-submit", "e.py")]
    bad = statement("a", 2, "INSERT INTO ice.db.a VALUES (2)", (), table("a", "2", parent="1"))
    return [
        *apps,
        *statement("a", 0, "INSERT INTO ice.db.a VALUES (1)", (), table("a", "1")),
        *export(1, "1", "90"),
        *bad,
        *also,
        *export(4, "2", "91"),
    ]


def test_what_an_application_writes_beside_and_a_later_step_replaces_needs_no_care(filled: Fill) -> None:
    found = filled(*exports()).recover("db.a", version="2").result

    first, last = [step for step in found.steps if step.title in ("Run app-1 again.", "Run app-4 again.")]
    assert [run.run_id for run in first.again] == ["log-1.1"]
    assert (first.doubts, first.notes[0]) == ((), "It writes db.x too, which a later step replaces as a whole.")
    assert [each.parts[-1] for each in first.writes] == ["x", "log"]
    assert [run.run_id for run in last.again] == ["log-4.1", "x-4.2"]
    # Nothing of it survives, so it goes back to no version.
    assert not [step for step in found.steps if step.action == "roll back" and "db.x" in step.title]


@pytest.mark.parametrize(
    "facts",
    [
        exports(replaced="partitions"),
        # Another run needs what it holds in between.
        exports(
            *statement(
                "c",
                3,
                "INSERT INTO ice.db.c SELECT * FROM ice.db.x JOIN ice.db.a",
                (table("x", "91"), table("a", "2")),
                table("c", "31"),
            )
        ),
    ],
)
def test_what_an_application_writes_beside_and_stays_or_is_read_needs_care(filled: Fill, facts: list[Event]) -> None:
    found = filled(*facts).recover("db.a", version="2").result

    (first,) = [step for step in found.steps if step.title == "Run app-1 again."]
    assert "it also writes db.x, which need no recovery: prevent that" in first.doubts
    assert first.after == (TableCheck("unwritten", TableId(("ice", "db", "x"), "iceberg", "file:/lake/db/x")),)


@pytest.mark.parametrize(
    ("replaced", "ends_it", "doubts"), [("all", [True], 0), ("partitions", [False], 0), ("", [True], 1)]
)
def test_what_an_event_states_of_an_overwrite_counts_more_than_its_statement(
    filled: Fill, replaced: str, ends_it: list[bool], doubts: int
) -> None:
    sql = "INSERT OVERWRITE db.b SELECT * FROM ice.db.c"
    bad = statement("b", 2, "INSERT INTO db.b SELECT * FROM ice.db.a", (table("a", "1"),), plain("b"))
    over = statement("r", 3, sql, (table("c", "7"),), plain("b", change="OVERWRITE", replaced=replaced))
    found = filled(*ROOT, *bad, *over).recover("db.a").result

    assert [each.is_clean for each in found.datasets if each.dataset == "db.b"] == ends_it
    assert len(found.doubts) == doubts


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("RESTORE TABLE db.b TO VERSION AS OF 1", False),
        # DeltaTable.restoreToVersion has no statement.
        ("", True),
    ],
)
def test_a_table_of_delta_that_was_restored_is_clean(filled: Fill, *, sql: str, read: bool) -> None:
    def of(name: str, *version: str, **facets: Any) -> Event:
        return table(name, *version, lake="delta", **facets)

    found = (
        filled(
            *statement("a", 1, "INSERT INTO db.a VALUES (1)", (), of("a", "1")),
            *statement("b", 2, "INSERT INTO db.b VALUES (1)", (), of("b", "1", parent="0")),
            *statement("b", 3, "INSERT INTO db.b SELECT * FROM db.a", (of("a", "1"),), of("b", "2", parent="1")),
            *statement(
                "app.execute_restore_table_command.db_b",
                4,
                sql,
                (of("b", "1"),) if read else (),
                of("b", "3", parent="2", change="OVERWRITE"),
            ),
            *statement("b", 5, "INSERT INTO db.b VALUES (2)", (), of("b", "4", parent="3")),
        )
        .recover("db.a")
        .result
    )

    assert [(each.dataset, each.bad, each.is_clean) for each in found.datasets][1:] == [("db.b", ("2",), True)]
    assert code_of(found) == ["(correct)"]


def _restored_by(sql: str, *later: Event) -> list[Event]:
    """Return a good version of `b` (3), a bad one (4), and a RESTORE (5)."""

    def of(name: str, version: str, parent: str, change: str = "") -> Event:
        return table(name, version, parent=parent, change=change, lake="delta")

    return [
        *statement("b", 0.5, "INSERT INTO db.b VALUES (1)", (), of("b", "3", "2")),
        *statement("a", 1, "INSERT INTO db.a VALUES (1)", (), of("a", "1", "0")),
        *statement("b", 2, "INSERT INTO db.b SELECT * FROM db.a", (of("a", "1", "0"),), of("b", "4", "3")),
        *statement("r.execute_restore_table_command.db_b", 3, sql, (), of("b", "5", "4", "OVERWRITE")),
        *later,
    ]


BACK_B = "RESTORE TABLE spark_catalog.db.b TO VERSION AS OF 3"
UNKNOWN_RESTORED = (
    "db.b: 5 restored version 1, which no run in the store made: check that it does not contain the bad data."
)


@pytest.mark.parametrize(
    ("to", "bad", "doubts"),
    [
        ("VERSION AS OF 3", ("4",), ()),
        ("VERSION AS OF '3'", ("4",), ()),
        ("VERSION AS OF 4", ("4", "5"), ()),
        # Nobody knows who made it, but the bad version came later.
        ("VERSION AS OF 1", ("4",), (UNKNOWN_RESTORED,)),
    ],
)
def test_a_restore_repairs_a_table_only_if_the_version_that_it_brought_back_is_good(
    filled: Fill, to: str, bad: tuple[str, ...], doubts: tuple[str, ...]
) -> None:
    found = filled(*_restored_by(f"/* back */ RESTORE TABLE db.b TO {to}")).recover("db.a").result

    assert (found.datasets[1].bad, found.doubts) == (bad, doubts)
    assert [code for code in code_of(found) if code.startswith("RESTORE TABLE spark_catalog.db.b")] == (
        [BACK_B] if "5" in bad else []
    )


def test_a_restore_to_a_time_makes_the_roll_back_uncertain(filled: Fill) -> None:
    found = filled(*_restored_by("RESTORE TABLE db.b TO TIMESTAMP AS OF '2026-01-01'")).recover("db.a").result

    (step,) = [step for step in found.steps if step.code == (BACK_B,)]
    run = "r.execute_restore_table_command.db_b-3"
    unclear = f"the run {run} restored db.b to a time, and no event states to which version: what it removed is "
    how = "repeated too. If DESCRIBE HISTORY shows that it removed the bad data, leave this table unchanged"
    assert step.doubts == (f"{unclear}{how}",)
    assert not [code for code in code_of(found) if "TIMESTAMP" in code]


def test_what_read_bad_data_that_were_rolled_back_since_is_uncertain(filled: Fill) -> None:
    used = statement(
        "c",
        2.7,
        "INSERT OVERWRITE db.c SELECT * FROM db.b",
        (table("b", "4", lake="delta"),),
        plain("c", change="OVERWRITE"),
    )
    found = filled(*_restored_by("RESTORE TABLE db.b TO VERSION AS OF 3"), *used).recover("db.a").result

    assert "it read version 4 of db.b, which was rolled back since: it reads the current data" in doubts_of(found)


def test_what_a_merge_found_after_a_roll_back_is_the_version_before_its_own(filled: Fill) -> None:
    """A roll back of Iceberg makes no version, so the one that was made last is no longer there."""
    merge = "MERGE INTO ice.db.b USING ice.db.c ON b.k = c.k WHEN NOT MATCHED THEN INSERT *"
    merged = statement("m", 3, merge, (table("c", "7"), table("b")), table("b", "12", parent="10"))
    found = filled(*ROOT, *BAD_B, *merged).recover("db.a").result

    assert [(each.bad, each.is_clean) for each in found.datasets][1:] == [(("11",), True)]
    assert code_of(found) == ["(correct)"]


def test_what_was_written_to_a_branch_last_does_not_hide_what_is_bad_in_the_main_one(filled: Fill) -> None:
    branch = table("b", "12", parent="10")
    branch["facets"]["pyspark_snapshot"]["branch"] = "audit"
    store = filled(*ROOT, *BAD_B, *statement("x", 3, "INSERT INTO ice.db.b.branch_audit VALUES (1)", (), branch))

    assert code_of(store.recover("db.a").result) == [BACK, "(correct)", COPY]
    found = store.recover("db.b", version="12").result
    assert found.steps == ()
    assert " ".join(found.doubts) == (
        "The version was written to the branch audit. This plan is about the main branch, which contains "
        "the version only if the branch was published."
    )


def test_a_renamed_table_is_recovered_under_its_new_name(filled: Fill) -> None:
    events = [*ROOT, *BAD_B, *_renamed(3, "b", "c")]
    events += statement("d", 4, "INSERT INTO ice.db.d SELECT * FROM ice.db.c", (table("c", "11"),), table("d", "21"))
    found = filled(*events).recover("db.a").result

    assert code_of(found) == [
        "CALL ice.system.rollback_to_snapshot('ice.db.c', 10)",
        "DELETE FROM ice.db.d",
        "(correct)",
        "INSERT INTO ice.db.c SELECT * FROM ice.db.a",
        "INSERT INTO ice.db.d SELECT * FROM ice.db.c",
    ]


def test_a_version_that_was_made_under_the_old_name_of_a_table_is_found_by_its_new_name(filled: Fill) -> None:
    good = statement("b", 4, "INSERT INTO ice.db.c SELECT * FROM ice.db.z", (table("z", "5"),), table("c", "12"))
    read = statement("d", 5, "INSERT INTO ice.db.d SELECT * FROM ice.db.c", (table("c", "11"),), table("d", "21"))
    store = filled(*ROOT, *BAD_B, *_renamed(3, "b", "c"), *good, *read)

    plans = [store.recover(name, version="11").result for name in ("db.c", "db.b")]
    assert code_of(plans[0]) == code_of(plans[1])
    (check,) = (each for each in plans[0].steps[0].before if each.check == "newest")
    assert (check.table.parts, check.version) == (("ice", "db", "c"), "12")
    assert (check.known, check.unknown) == (("11", "12"), ())


@pytest.mark.parametrize("readers", [1, 0])
def test_the_newest_version_of_a_table_that_was_only_renamed_since_is_that_of_its_old_name(
    filled: Fill, readers: int
) -> None:
    read = statement("d", 5, "INSERT INTO ice.db.d SELECT * FROM ice.db.c", (table("c", "11"),), table("d", "21"))
    store = filled(*ROOT, *BAD_B, *_renamed(3, "b", "c"), *(read * readers))
    found = store.recover("db.c").result

    assert (found.version, found.doubts) == ("11", ())
    assert code_of(found) == code_of(store.recover("db.b").result)


def _renamed(minute: int, old: str, new: str, lake: str = "iceberg") -> list[Event]:
    found = table(new, lake=lake, change="RENAME")
    found["facets"]["lifecycleStateChange"]["previousIdentifier"] = {"namespace": "file", "name": f"/lake/db/{old}"}
    return statement("rename", minute, f"ALTER TABLE db.{old} RENAME TO db.{new}", (), found)


def test_a_renamed_table_without_versions_gets_the_rows_of_its_old_name_again(filled: Fill) -> None:
    fill = "INSERT INTO db.{} SELECT * FROM {}"
    found = (
        filled(
            *ROOT,
            *statement("create", 2, "CREATE TABLE db.b (v INT)", (), plain("b", change="CREATE")),
            *statement("b", 3, fill.format("b", "ice.db.z"), (table("z", "5"),), plain("b")),
            *_renamed(4, "b", "c", lake="parquet"),
            *statement("c", 5, fill.format("c", "ice.db.a"), (table("a", "1"),), plain("c")),
        )
        .recover("db.a")
        .result
    )

    assert [each for each in code_of(found) if each.startswith("INSERT INTO")] == [
        "INSERT INTO spark_catalog.db.c SELECT * FROM ice.db.z VERSION AS OF 5",
        "INSERT INTO spark_catalog.db.c SELECT * FROM ice.db.a",
    ]
    assert not any("RENAME" in each or "db.b" in each for each in code_of(found))


def test_a_table_that_was_dropped_is_created_again_for_what_was_made_of_it(filled: Fill) -> None:
    found = (
        filled(
            *ROOT,
            *statement("b", 2, COPY, (table("a", "1"),), table("b", "11", parent="10")),
            *statement("d", 3, "INSERT INTO ice.db.d SELECT * FROM ice.db.b", (table("b", "11"),), table("d", "21")),
            *statement("drop", 4, "DROP TABLE ice.db.b", (), table("b", change="DROP")),
        )
        .recover("db.a")
        .result
    )

    assert [step.title for step in found.steps][:2] == ["Create db.b again, without rows.", "Empty db.d."]
    assert code_of(found) == [
        "(empty)",
        "DELETE FROM ice.db.d",
        "(correct)",
        COPY,
        "INSERT INTO ice.db.d SELECT * FROM ice.db.b",
        "DROP TABLE ice.db.b",
    ]


def test_a_table_is_not_rolled_back_behind_its_drop(filled: Fill) -> None:
    found = (
        filled(
            *ROOT,
            *statement("b", 2, "INSERT INTO ice.db.b VALUES (1)", (), table("b", "10")),
            *statement("b", 3, COPY, (table("a", "1"),), table("b", "11", parent="10")),
            *statement("d", 4, "INSERT INTO ice.db.d SELECT * FROM ice.db.b", (table("b", "11"),), table("d", "21")),
            *statement("drop", 5, "DROP TABLE ice.db.b", (), table("b", change="DROP")),
            *statement("new", 6, "CREATE TABLE ice.db.b AS SELECT 5 AS v", (), table("b", "31", change="CREATE")),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found) == [
        "DELETE FROM ice.db.b",
        "DELETE FROM ice.db.d",
        "(correct)",
        "INSERT INTO ice.db.b VALUES (1)",
        COPY,
        "INSERT INTO ice.db.d SELECT * FROM ice.db.b",
        "DROP TABLE ice.db.b",
        "CREATE OR REPLACE TABLE ice.db.b AS SELECT 5 AS v",
    ]
    assert "db.b was dropped and created again since: it may have had other columns before" in found.steps[0].doubts


def test_a_table_that_replaced_its_bad_version_gets_that_again(filled: Fill) -> None:
    whole = {"change": "OVERWRITE"}
    found = (
        filled(
            *statement("a", 1, "INSERT OVERWRITE ice.db.a SELECT 1", (), table("a", "1", **whole)),
            *statement("a", 2, "INSERT OVERWRITE ice.db.a SELECT 2", (), table("a", "2", **whole)),
            *statement("b", 3, COPY, (table("a", "2"),), table("b", "11", parent="10")),
            *statement("a", 4, "INSERT OVERWRITE ice.db.a SELECT 3", (), table("a", "3", **whole)),
            *statement("b", 5, COPY, (table("a", "3"),), table("b", "12", parent="11")),
        )
        .recover("db.a", version="2")
        .result
    )

    assert code_of(found) == [
        "CALL ice.system.rollback_to_snapshot('ice.db.a', 1)",
        BACK,
        "(correct)",
        COPY,
        "INSERT OVERWRITE TABLE ice.db.a SELECT 3",
        COPY,
    ]


def test_a_table_without_versions_that_was_replaced_since_is_named(filled: Fill) -> None:
    found = (
        filled(
            *statement("a", 2, "INSERT OVERWRITE db.a SELECT 2", (), plain("a", change="OVERWRITE")),
            *statement("b", 3, "INSERT INTO ice.db.b SELECT * FROM db.a", (plain("a"),), table("b", "11", parent="10")),
            *statement("a", 4, "INSERT OVERWRITE db.a SELECT 3", (), plain("a", change="OVERWRITE")),
        )
        .recover("db.a", run="a-2")
        .result
    )

    assert found.steps[1].doubts == (
        "db.a can't be rolled back: remove the bad data by hand",
        "db.a no longer contains it since a-4: restore that version when the steps below are done",
    )


def test_a_table_without_versions_is_made_again_with_all_that_a_later_overwrite_replaced(filled: Fill) -> None:
    fill = "INSERT INTO db.b SELECT * FROM ice.db.{}"
    found = (
        filled(
            *ROOT,
            *statement("create", 2, "CREATE TABLE db.b (v INT)", (), plain("b", change="CREATE")),
            *statement("b", 3, fill.format("z"), (table("z", "5"),), plain("b")),
            *statement("b", 4, fill.format("a"), (table("a", "1"),), plain("b")),
            *statement("d", 5, "INSERT INTO ice.db.d SELECT * FROM db.b", (plain("b"),), table("d", "21")),
            *statement("b", 6, "INSERT OVERWRITE db.b SELECT 1", (), plain("b", change="OVERWRITE")),
        )
        .recover("db.a")
        .result
    )

    assert [again.run_id for step in found.steps for again in step.again] == ["b-3", "b-4", "d-5", "b-6"]


def test_a_statement_that_names_a_bad_version_reads_what_is_corrected(filled: Fill) -> None:
    sql = "INSERT INTO ice.db.b SELECT * FROM ice.db.a VERSION AS OF 2"
    found = (
        filled(
            *ROOT,
            *statement("a", 2, "INSERT INTO ice.db.a VALUES (2)", (), table("a", "2", parent="1")),
            *statement("b", 3, sql, (table("a", "2"),), table("b", "11", parent="10")),
        )
        .recover("db.a", version="2")
        .result
    )

    assert code_of(found)[-1] == COPY
    assert doubts_of(found) == ["it named a version of db.a, and now reads the current rows"]


def test_an_application_that_read_an_older_version_is_named(filled: Fill) -> None:
    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *ROOT,
            *statement("a", 2, "INSERT INTO ice.db.a VALUES (2)", (), table("a", "2", parent="1")),
            *statement("b", 3, "", (table("a", "1"),), table("b", "11", parent="10"), application="app"),
        )
        .recover("db.a", version="1")
        .result
    )

    doubt = (
        "it read version 1 of db.a although a later one existed: if its code names this version, remove that, so that "
        "it reads the corrected data"
    )
    assert doubts_of(found) == [doubt]


def test_the_source_of_a_merge_is_pinned_within_a_query(filled: Fill) -> None:
    sql = "MERGE INTO ice.db.b USING db.r ON b.k = r.k WHEN NOT MATCHED THEN INSERT *"
    found = (
        filled(
            *ROOT,
            *BAD_B,
            *statement("m", 3, sql, (table("r", "7"), table("b", "11")), table("b", "12", parent="11")),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found)[-1] == (
        "MERGE INTO ice.db.b USING (SELECT * FROM ice.db.r VERSION AS OF 7) AS r ON b.k = r.k "
        "WHEN NOT MATCHED THEN INSERT *"
    )


def test_a_run_that_began_to_read_bad_data_and_never_ended_is_named(filled: Fill) -> None:
    found = (
        filled(
            *ROOT, *statement("y", 2, "INSERT INTO ice.db.y SELECT * FROM a", (table("a", "1"),), table("y"), ends="")
        )
        .recover("db.a")
        .result
    )

    assert found.doubts == (
        "db.y: the run y-2 of y began to read db.a and never reported an end. It may have written there.",
    )


def test_what_a_task_says_that_a_statement_in_it_wrote_is_repeated_once(filled: Fill) -> None:
    task = {"run": {"runId": "task"}, "job": {"namespace": "airflow", "name": "dag.task"}}
    app = application("app", 2, "spark-submit", "app.py")
    app[0]["run"]["facets"]["parent"] = task
    ends = {"inputs": (dataset("/lake/db/a", namespace="file"),), "outputs": (dataset("/lake/db/b", namespace="file"),)}
    store = filled(
        *ROOT,
        run_event("dag.task", "START", 2, run="task"),
        *app,
        *statement("b", 3, COPY, (table("a", "1"),), table("b", "11", parent="10"), application="app"),
        run_event("dag.task", "COMPLETE", 4, run="task", **ends),
    )

    assert [each.version for each in store.history("db.b").result] == ["11"]
    assert {*nodes_of(store.downstream("run:task"))} == {"db.b@11"}
    found = store.recover("db.a").result
    assert (found.datasets[1].bad, code_of(found)) == (("11",), [BACK, "(correct)", COPY])


def test_runs_that_name_each_other_as_their_parents_keep_their_versions(filled: Fill) -> None:
    events = []
    for run, other in ("xy", "yx"):
        parent = {"run": {"runId": other}, "job": {"namespace": "jobs", "name": other}}
        events.append(run_event(run, "COMPLETE", 1, run=run, outputs=(dataset("t"),), parent=parent))
    store = filled(*events)

    assert sorted(each.version for each in store.history("t").result) == ["x", "y"]


def test_a_table_of_a_database_is_emptied_by_a_person(filled: Fill) -> None:
    made = {"namespace": "postgres://host:5432", "name": "shop.public.t", "facets": {}}
    store = filled(*ROOT, *statement("t", 2, "", (table("a", "1"),), made))

    assert code_of(store.recover("db.a").result) == ["(empty)", "(correct)", "(run)"]
    assert store.recover("db.a").result.steps[0].notes[-1] == "No event states that it is a table of Spark."
    assert code_of(store.recover("db.a", mode="side-by-side").result)[1] == "(copy)"


def test_what_came_after_a_truncation_that_is_repeated_comes_again(filled: Fill) -> None:
    found = (
        filled(
            *ROOT,
            *BAD_B,
            *statement("c", 3, "INSERT INTO ice.db.c SELECT * FROM ice.db.b", (table("b", "11"),), table("c", "21")),
            *statement("t", 4, "TRUNCATE TABLE ice.db.b", (), table("b", "12", parent="11", change="TRUNCATE")),
            *statement("b", 5, "INSERT INTO ice.db.b VALUES (7)", (), table("b", "13", parent="12")),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found)[-3:] == [
        "INSERT INTO ice.db.c SELECT * FROM ice.db.b",
        "TRUNCATE TABLE ice.db.b",
        "INSERT INTO ice.db.b VALUES (7)",
    ]


@pytest.mark.parametrize(
    ("sql", "change"),
    [
        ("CREATE TABLE IF NOT EXISTS ice.db.r (v INT)", "CREATE"),
        ("ALTER TABLE ice.db.r ADD COLUMNS (w INT)", "ALTER"),
    ],
)
def test_what_is_read_after_a_statement_without_rows_is_the_version_before_it(
    filled: Fill, sql: str, change: str
) -> None:
    join = "INSERT INTO ice.db.b SELECT * FROM ice.db.a JOIN ice.db.r"
    found = (
        filled(
            *statement("r", 0, "INSERT INTO ice.db.r VALUES (1)", (), table("r", "70")),
            *ROOT,
            *statement("x", 2, sql, (), table("r", change=change)),
            *statement("b", 3, join, (table("a", "1"), table("r")), table("b", "11", parent="10")),
            *statement("r", 4, "INSERT INTO ice.db.r VALUES (2)", (), table("r", "71", parent="70")),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found)[-1] == ("INSERT INTO ice.db.b SELECT * FROM ice.db.a JOIN ice.db.r VERSION AS OF 70 ON TRUE")


@pytest.mark.parametrize(("lake", "is_repeated"), [("iceberg", False), ("delta", True)])
def test_other_columns_are_given_again_only_where_a_restore_takes_them_back(
    filled: Fill, lake: str, *, is_repeated: bool
) -> None:
    def of(name: str, *version: str, **facets: Any) -> Event:
        return table(name, *version, lake=lake, **facets)

    found = (
        filled(
            *statement("a", 1, "INSERT INTO db.a VALUES (1)", (), of("a", "1")),
            *statement("b", 2, "INSERT INTO db.b SELECT * FROM db.a", (of("a", "1"),), of("b", "11", parent="10")),
            *statement("x", 3, "ALTER TABLE db.b ADD COLUMNS (w INT)", (), of("b", "12", parent="11", change="ALTER")),
            *statement("b", 4, "INSERT INTO db.b VALUES (1, 2)", (), of("b", "13", parent="12")),
        )
        .recover("db.a")
        .result
    )

    assert ("x-3" in {again.run_id for step in found.steps for again in step.again}) is is_repeated
    assert found.datasets[1].bad == (("11", "12", "13") if is_repeated else ("11", "13"))


def test_a_version_that_went_with_the_drop_of_its_table_is_named(filled: Fill) -> None:
    join = "INSERT INTO ice.db.b SELECT * FROM ice.db.a JOIN ice.db.r"
    found = (
        filled(
            *statement("r", 0, "INSERT INTO ice.db.r VALUES (1)", (), table("r", "70")),
            *ROOT,
            *statement("b", 3, join, (table("a", "1"), table("r", "70")), table("b", "11", parent="10")),
            *statement("x", 4, "DROP TABLE ice.db.r", (), table("r", change="DROP")),
        )
        .recover("db.a")
        .result
    )

    assert doubts_of(found) == ["version 70 of db.r was lost with its drop: it reads the current data"]


@pytest.mark.parametrize("sql", ["CREATE TABLE spark_catalog.db.b (v INT) USING parquet LOCATION '/lake/db/b'", ""])
@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_table_over_files_that_is_emptied_is_not_created_once_more(
    filled: Fill, sql: str, *, is_dropped: bool
) -> None:
    made = statement("execute_create_data_source_table_command.b", 0, sql, (), plain("b"))
    dropped = (
        *statement("x", 3, "DROP TABLE spark_catalog.db.b", (), plain("b", change="DROP")),
        *statement("execute_create_data_source_table_command.b", 4, sql, (), plain("b")),
    )
    insert = "INSERT INTO spark_catalog.db.b SELECT * FROM ice.db.a"
    again = statement("b", 2, insert, (table("a", "1"),), plain("b"))

    found = filled(*made, *ROOT, *again, *(dropped if is_dropped else ())).recover("db.a").result

    assert code_of(found)[-4:] == [
        "INSERT OVERWRITE spark_catalog.db.b SELECT * FROM spark_catalog.db.b_empty",
        "DROP TABLE spark_catalog.db.b_empty",
        "(correct)",
        insert,
    ]
    assert [doubt.split(":")[0] for step in found.steps if step.action == "empty" for doubt in step.doubts] == [
        "db.b may have had rows before execute_create_data_source_table_command.b-0",
        *["db.b was dropped and created again since"] * is_dropped,
    ]


def test_a_table_of_delta_that_was_created_at_a_location_is_rolled_back_to_that(filled: Fill) -> None:
    def of(name: str, *version: str, **facets: Any) -> Event:
        return table(name, *version, lake="delta", **facets)

    create = "CREATE TABLE spark_catalog.db.b (v INT) USING delta LOCATION '/lake/db/b'"
    found = (
        filled(
            *statement("create_table.b", 0, create, (), of("b", "0")),
            *statement("a", 1, "INSERT INTO db.a VALUES (1)", (), of("a", "1")),
            *statement("b", 2, "INSERT INTO db.b SELECT * FROM db.a", (of("a", "1"),), of("b", "1", parent="0")),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found)[-3:] == [
        "RESTORE TABLE spark_catalog.db.b TO VERSION AS OF 0",
        "(correct)",
        "INSERT INTO spark_catalog.db.b SELECT * FROM spark_catalog.db.a",
    ]


def test_files_that_a_stream_wrote_are_emptied_with_its_list_of_them(filled: Fill) -> None:
    sink = plain("b")
    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *ROOT,
            *stream("s", 2, table("a"), sink, batch(0, 2, table("a", "1"), sink), parent="app"),
        )
        .recover("db.a")
        .result
    )

    assert found.steps[1].doubts[1] == (
        "a stream writes it: if file:/lake/db/b has a folder _spark_metadata, remove that too, for the stream skips "
        "the micro-batches that are in it, and Spark reads only the files that are in it"
    )


@pytest.mark.parametrize(
    ("name", "statement_"),
    [
        ("ice.db.my-table", "CALL ice.system.rollback_to_snapshot('ice.db.`my-table`', 3)"),
        ("ice.db.`it's`", "CALL ice.system.rollback_to_snapshot('ice.db.`it\\'s`', 3)"),
        ("db.t", "CALL system.rollback_to_snapshot('db.t', 3)"),
    ],
)
def test_a_table_of_iceberg_is_rolled_back_under_its_name(name: str, statement_: str) -> None:
    assert roll_back(table_id(DatasetFacts(1, "t", name, "iceberg")), "3") == statement_


def test_the_current_catalog_is_taken_where_no_event_tells_another(filled: Fill) -> None:
    raw = [table("r", "1"), table("r", "2", parent="1")]
    for each in raw:
        del each["facets"]["catalog"]
    found = filled(*statement("r", 1, "", (), raw[0]), *statement("r", 2, "", (), raw[1])).recover("r").result

    assert found.steps[0].doubts == ("no event names the catalog of db.r: the current one is assumed",)


def test_a_version_that_is_no_number_gets_into_no_statement(filled: Fill) -> None:
    evil = "1); DROP TABLE x; --"
    found = filled(
        *ROOT,
        *statement("b", 2, COPY, (table("a", "1"),), table("b", "11", parent=evil)),
        *statement("c", 3, "", (table("b", "11"),), table("c", evil)),
        *statement("c", 4, "", (table("b", "11"),), table("c", "2", parent=evil)),
    )

    for mode in ("incremental", "full", "side-by-side"):
        assert not any("DROP TABLE x" in each for each in code_of(found.recover("db.a", mode=mode).result))
    assert not any("DROP TABLE x" in each for each in code_of(found.recover("db.c", version="2").result))


def test_a_dataset_without_a_recorded_version_is_said_so(filled: Fill) -> None:
    store = filled(*statement("b", 2, COPY, (plain("a"),), table("b", "11", parent="10")))

    assert "- db.a: no version is recorded\n" in PLAN_FORMATS["text"](store.recover("db.a").result)


def test_a_truncation_of_a_partition_does_not_end_bad_data(filled: Fill) -> None:
    sql = "TRUNCATE TABLE ice.db.b PARTITION (day = 1)"
    found = (
        filled(*ROOT, *BAD_B, *statement("t", 3, sql, (), table("b", "12", parent="11", change="TRUNCATE")))
        .recover("db.a")
        .result
    )

    assert found.datasets[1].bad == ("11", "12")
    assert code_of(found)[-1].startswith("TRUNCATE TABLE ice.db.b PARTITION")


def test_an_overwrite_that_may_be_of_some_partitions_is_named(filled: Fill) -> None:
    found = (
        filled(
            *ROOT,
            *statement("b", 2, "INSERT INTO db.b SELECT * FROM ice.db.a", (table("a", "1"),), plain("b")),
            *statement("b", 3, "INSERT OVERWRITE db.b SELECT 1", (), plain("b", change="OVERWRITE")),
        )
        .recover("db.a")
        .result
    )

    assert found.datasets[1].is_clean
    assert " ".join(found.doubts) == (
        "db.b: b-3 overwrote the bad data. With spark.sql.sources.partitionOverwriteMode=dynamic, and in a Hive "
        "table with partitions, it only overwrote the partitions that it wrote."
    )


@pytest.mark.parametrize(
    ("sql", "doubt"),
    [
        ("SELECT * FROM ice.db.a", "its text is a query, and no event states how its rows were written"),
        ("INSERT INTO b SELECT * FROM ice.db.a WHERE v > :low", "its statement has parameters, and no event states"),
    ],
)
def test_a_text_that_does_not_write_what_its_run_wrote_is_run_by_a_person(filled: Fill, sql: str, doubt: str) -> None:
    found = (
        filled(*ROOT, *statement("b", 2, sql, (table("a", "1"),), table("b", "11", parent="10"))).recover("db.a").result
    )

    assert (found.steps[-1].language, found.steps[-1].code) == ("", ())
    assert found.steps[-1].doubts[0].startswith(doubt)
    assert found.steps[-1].doubts[1] == f"its statement is: {sql}"


def test_a_statement_of_another_database_is_not_run_by_spark(filled: Fill) -> None:
    made = {"namespace": "postgres://host:5432", "name": "shop.public.t", "facets": {}}
    sql = "INSERT INTO public.t SELECT * FROM a"
    step = filled(*ROOT, *statement("t", 2, sql, (table("a", "1"),), made)).recover("db.a").result.steps[-1]

    assert step.language == ""
    assert step.doubts == ("no event states that shop.public.t is a table of Spark: run it where it ran",)


def test_what_an_application_does_with_a_query_is_done_by_the_application(filled: Fill) -> None:
    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *ROOT,
            *statement(
                "b", 2, "SELECT * FROM ice.db.a", (table("a", "1"),), table("b", "11", parent="10"), application="app"
            ),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found) == [BACK, "(correct)", "python app.py"]


def test_columns_that_name_their_table_find_its_copy(filled: Fill) -> None:
    merge = "MERGE INTO ice.db.b USING db.a ON b.k = a.k WHEN MATCHED THEN UPDATE SET v = a.v"
    select = "INSERT INTO ice.db.c SELECT db.b.v, r.v FROM db.b JOIN ice.db.r ON b.k = r.k"
    found = (
        filled(
            *ROOT,
            *statement("b", 2, merge, (table("a", "1"), table("b", "10")), table("b", "11", parent="10")),
            *statement("c", 3, select, (table("b", "11"), table("r", "7")), table("c", "21", parent="20")),
        )
        .recover("db.a", mode="side-by-side")
        .result
    )

    assert [code for step in found.steps if step.again for code in step.code] == [
        "MERGE INTO ice.db.b_s1 AS b USING ice.db.a_s1 AS a ON b.k = a.k WHEN MATCHED THEN UPDATE SET v = a.v",
        "INSERT INTO ice.db.c_s1 SELECT b.v, r.v FROM ice.db.b_s1 AS b JOIN ice.db.r VERSION AS OF 7 ON b.k = r.k",
    ]


def test_a_copy_that_begins_with_bad_data_is_named(filled: Fill) -> None:
    found = filled(*ROOT, *BAD_B).recover("db.a", mode="side-by-side").result

    (step,) = [step for step in found.steps if step.action == "correct"]
    assert step.doubts == ("ice.db.a_s1 begins with all rows of db.a: remove the bad data by hand",)


def test_an_empty_version_is_no_last_good_one(filled: Fill) -> None:
    emptied = statement("t", 2, "TRUNCATE TABLE ice.db.b", (), table("b", "10", change="TRUNCATE"))
    copy = statement("b", 3, COPY, (table("a", "1"),), table("b", "11"))

    assert filled(*ROOT, *emptied, *copy).recover("db.a").result.datasets[1].last_good == ""


def _of_columns(name: str, source: str, column: str) -> Event:
    made = table(name, "2", parent="1")
    field = {"namespace": "file", "name": f"/lake/db/{source}", "field": column, "transformations": []}
    made["facets"]["columnLineage"] = {"fields": {"v": {"inputFields": [field]}}}
    return made


def test_a_column_goes_on_through_what_tells_no_columns(filled: Fill) -> None:
    both = (_of_columns("d", "a", "q"), table("e", "2", parent="1"))
    wide = table("a", "1")
    wide["facets"]["schema"] = {"fields": [{"name": "q"}, {"name": "v"}]}
    store = filled(
        *ROOT,
        *statement("b", 2, "", (wide,), table("b", "2", parent="1")),
        *statement("c", 3, "", (table("b", "2"),), _of_columns("c", "b", "x")),
        *statement("both", 4, "", (table("a", "1"),), *both),
    )

    reached = {
        column: {each.dataset for each in store.recover("db.a", column=column).result.datasets} for column in ("q", "v")
    }
    every = {"db.a", "db.b", "db.c", "db.e"}
    assert reached == {"q": {*every, "db.d"}, "v": every}


def test_a_column_may_have_gone_where_the_events_name_a_gap(filled: Fill) -> None:
    store = filled(
        *ROOT,
        *statement("d", 4, "", (table("a", "1"),), _of_columns("d", "a", "q")),
        *statement("f", 5, "", (table("a", "1"),), _of_columns("f", "a", "p"), gaps=("it can't be read",)),
        *statement("g", 6, "", (table("a", "1"),), _of_columns("g", "a", "p")),
    )

    assert {each.dataset for each in store.recover("db.a", column="q").result.datasets} == {"db.a", "db.d", "db.f"}


def test_the_newest_version_is_the_last_one_that_rows_were_written_to(filled: Fill) -> None:
    altered = statement("x", 3, "ALTER TABLE ice.db.b ADD COLUMNS (w INT)", (), table("b", change="ALTER"))
    used = statement("c", 2.5, "INSERT INTO ice.db.c SELECT * FROM ice.db.b", (table("b", "11"),), table("c", "21"))
    found = filled(*ROOT, *BAD_B, *used, *altered).recover("db.b").result

    assert [(each.dataset, each.bad) for each in found.datasets] == [("db.b", ("11",)), ("db.c", ("21",))]
    assert code_of(found)[0] == BACK


def test_an_application_is_told_of_the_new_name_of_what_it_writes(filled: Fill) -> None:
    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *ROOT,
            *statement("b", 2, "", (table("a", "1"),), table("b", "11", parent="10"), application="app"),
            *_renamed(3, "b", "c"),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found) == ["CALL ice.system.rollback_to_snapshot('ice.db.c', 10)", "(correct)", "python app.py"]
    assert doubts_of(found) == ["ice.db.b was renamed to ice.db.c: change the name in its code"]


def test_of_what_keeps_no_versions_nothing_shows_whether_an_application_wrote_it(filled: Fill) -> None:
    good = statement("x", 3, "", (), table("x", lake="parquet"), application="app")
    bad = statement("b", 2, "", (table("a", "1"),), table("b", "21"), application="app")

    step = filled(*application("app", 0, "spark-submit", "b.py"), *ROOT, *bad, *good).recover("db.a").result.steps[-1]

    made = TableCheck("made", TableId(("ice", "db", "b"), "iceberg", "file:/lake/db/b"), known=("21",))
    assert (step.title, step.after) == ("Run app again.", (made,))
    assert step.doubts[-2:] == (
        "it also writes db.x, which need no recovery: prevent that",
        "no version shows whether it wrote db.x: check that by hand",
    )


@pytest.mark.parametrize("tables", [1, 0])
def test_of_files_beside_tables_nothing_shows_whether_an_application_wrote_them(filled: Fill, tables: int) -> None:
    files = {"namespace": "file", "name": "/out/log", "facets": {"storage": {"fileFormat": "parquet"}}}
    logged = statement("log", 3, "", (table("a", "1"),), files, application="app")
    made = statement("b", 2, "", (table("a", "1"),), table("b", "21"), application="app") * tables

    step = (
        filled(*application("app", 0, "spark-submit", "b.py"), *ROOT, *made, *logged).recover("db.a").result.steps[-1]
    )

    notes = [each for each in step.notes if "No version" in each]
    # Of files alone, `apply` asks for --done.
    assert notes == ["No version shows whether it wrote out/log: check that before you continue."] * tables


def test_what_an_application_also_writes_is_stored_as_its_latest_run_states(filled: Fill) -> None:
    """Ids of runs have no order: the run with the greatest one wrote files, before the table was created."""
    files = statement("z", 1, "", (), table("x", lake="parquet"), application="app")
    created = statement("a", 3, "", (), table("x", "91"), application="app")
    bad = statement("b", 2, "", (table("a", "1"),), table("b", "11", parent="10"), application="app")
    started = application("app", 0, "spark-submit", "b.py")

    step = filled(*started, *ROOT, *files, *bad, *created).recover("db.a").result.steps[-1]

    assert step.after[1:] == (TableCheck("unwritten", TableId(("ice", "db", "x"), "iceberg", "file:/lake/db/x")),)


def test_a_table_is_stored_as_its_latest_event_states_however_many_runs_wrote_it(filled: Fill) -> None:
    """The store is asked for some hundred runs at a time, by their ids."""
    files = [
        event
        for number in range(600)
        for event in statement("z", 2 + number / 1000, "", (), table("b", lake="parquet"))[1:]
    ]
    created = statement("a", 3, "", (), table("b", "10", change="CREATE"))
    bad = statement("a", 4, COPY, (table("a", "1"),), table("b", "11", parent="10"))

    assert code_of(filled(*ROOT, *files, *created, *bad).recover("db.a").result) == [BACK, "(correct)", COPY]


@pytest.mark.parametrize(
    ("earlier", "back"),
    [
        # It writes these rows again too, so they must not be there.
        ({}, 10),
        ({"change": "OVERWRITE", "replaced": "partitions"}, 10),
        ({"change": "OVERWRITE", "replaced": "all"}, 11),
    ],
)
def test_a_table_goes_back_to_before_all_that_an_application_which_runs_again_wrote(
    filled: Fill, earlier: dict[str, str], back: int
) -> None:
    good = statement("g", 1.9, "", (table("c", "7"),), table("b", "11", parent="10", **earlier), application="app")
    bad = statement("b", 2.5, "", (table("a", "1"),), table("b", "12", parent="11"), application="app")
    found = filled(*application("app", 0, "spark-submit", "b.py"), *ROOT, *good, *bad).recover("db.a").result

    rolled_back = f"CALL ice.system.rollback_to_snapshot('ice.db.b', {back})"
    assert code_of(found) == [rolled_back, "(correct)", "spark-submit b.py"]


def test_a_table_keeps_what_other_runs_of_a_job_wrote(filled: Fill) -> None:
    """The statement is repeated alone, without its application."""
    good = statement("g", 1.9, "INSERT INTO ice.db.b VALUES (1)", (), table("b", "11", parent="10"), application="app")
    bad = statement("b", 2.5, COPY, (table("a", "1"),), table("b", "12", parent="11"), application="app")
    found = filled(*application("app", 0, "spark-submit", "b.py"), *ROOT, *good, *bad).recover("db.a").result

    assert code_of(found)[0] == "CALL ice.system.rollback_to_snapshot('ice.db.b', 11)"


def test_an_application_that_also_made_the_bad_version_must_not_make_it_again(filled: Fill) -> None:
    made = [
        event
        for number in (11, 12, 13)
        for event in statement("a", number, "", (), table("a", str(number), parent=str(number - 1)), application="app")
    ]
    found = filled(*application("app", 0, "spark-submit", "a.py"), *made).recover("db.a", version="12").result

    assert doubts_of(found) == ["it also makes db.a@11, db.a@12 again, which are kept: prevent those writes"]


LATE = statement("a", 60, "INSERT INTO ice.db.a VALUES (1)", (), table("a", "12", parent="11"))
USED = statement("c", 70, "INSERT INTO ice.db.c SELECT * FROM ice.db.b", (table("b", "22"),), table("c", "31"))


@pytest.mark.parametrize("minute", [61, 5])
def test_what_a_driver_with_a_slow_clock_made_of_bad_data_is_followed(filled: Fill, minute: int) -> None:
    """By its own clock it ran before the bad version was there."""
    read, appended = "INSERT INTO ice.db.b SELECT * FROM ice.db.a", "INSERT INTO ice.db.b VALUES (5)"
    made = statement("b", minute, read, (table("a", "12"),), table("b", "21", parent="20"))
    more = statement("b", minute + 1, appended, (), table("b", "22", parent="21"))
    further = statement("d", 71, "INSERT INTO ice.db.d SELECT * FROM ice.db.c", (table("c", "31"),), table("d", "41"))
    found = filled(*LATE, *made, *more, *USED, *further).recover("db.a").result

    assert [(each.dataset, each.bad) for each in found.datasets] == [
        ("db.a", ("12",)),
        ("db.b", ("21", "22")),
        ("db.c", ("31",)),
        ("db.d", ("41",)),
    ]


@pytest.mark.parametrize(
    ("correction", "doubts", "reads"),
    [
        (
            "MERGE INTO ice.db.a USING (SELECT * FROM ice.db.b) AS s ON a.k = s.k WHEN NOT MATCHED THEN INSERT *",
            ("it reads db.b, which is not correct before later steps have rebuilt it",),
            ["b"],
        ),
        ("INSERT INTO ice.db.a SELECT * FROM ice.db.ok WHERE v <> 'ice.db.b'", (), []),
        # Only Spark can parse it.
        ("INSERT INTO ice.db.a SELECT FROM WHERE ((", (), ["b"]),
    ],
)
def test_a_correction_that_reads_what_is_rebuilt_after_it_is_uncertain(
    filled: Fill, correction: str, doubts: tuple[str, ...], reads: list[str]
) -> None:
    used = statement("b", 70, COPY, (table("a", "12"),), table("b", "11", parent="10"))
    found = filled(*LATE, *used).recover("db.a", correction=(correction,)).result

    (step,) = (step for step in found.steps if step.action == "correct")
    assert step.doubts == doubts
    assert [each.parts[-1] for each in step.reads] == reads


def test_a_delta_table_that_got_a_column_after_it_was_overwritten_is_rolled_back_first(filled: Fill) -> None:
    overwrite = "INSERT OVERWRITE TABLE spark_catalog.db.b SELECT * FROM ice.db.a"
    written = table("b", "11", change="OVERWRITE", replaced="all", lake="delta")
    add = "ALTER TABLE spark_catalog.db.b ADD COLUMN w INT"
    events = (
        *ROOT,
        *statement("b", 1.5, "CREATE TABLE spark_catalog.db.b (k INT) USING delta", (), table("b", "10", lake="delta")),
        *statement("b", 2, overwrite, (table("a", "1"),), written),
    )
    altered = statement("b", 3, add, (), table("b", "12", change="ALTER", lake="delta"))

    # With the columns that it had, its statement needs no rollback.
    assert code_of(filled(*events).recover("db.a").result) == ["(correct)", overwrite]
    assert code_of(filled(*altered).recover("db.a").result) == [
        "RESTORE TABLE spark_catalog.db.b TO VERSION AS OF 10",
        "(correct)",
        overwrite,
        add,
    ]
