"""Plans of recovery on made-up lineages: which versions are bad, what runs again, on what, and in which order."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.errors import NameNotFoundError, StoreError
from openlineage_pyspark.workbench.recovery.applying.journal import JournalEntry, journal_of, journals_of_store
from openlineage_pyspark.workbench.recovery.model.affected import Flow, spread, to_repeat
from openlineage_pyspark.workbench.recovery.model.facts import (
    DatasetFacts,
    Facts,
    HistoryPlace,
    MadeVersion,
    ReadFacts,
    RunFacts,
    effect,
)
from openlineage_pyspark.workbench.recovery.model.formats import PLAN_FORMATS
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan, RecoveryRequest
from openlineage_pyspark.workbench.recovery.model.rewriting import Rewritten, rewritten
from openlineage_pyspark.workbench.recovery.model.statements import copied_whole, copy_name, switched
from openlineage_pyspark.workbench.recovery.planning.make_plan import plan
from openlineage_pyspark.workbench.recovery.recover import ModeName
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import taken
from support.recovery_events import application, batch, statement, stream, table
from support.valid_answers import valid_answer

# As a group they take seconds. They count in the coverage of this package, so they run on the oldest Python.
pytestmark = [pytest.mark.slow, pytest.mark.every_python]

Fill = Callable[..., Store]


def code_of(found: RecoveryPlan) -> list[str]:
    """Return all that a plan runs, in order; what a person does is its action."""
    return [each for step in found.steps for each in (step.code or (f"({step.action})",))]


def doubts_of(found: RecoveryPlan) -> list[str]:
    """Return all that is not certain at the steps."""
    return [doubt for step in found.steps for doubt in step.doubts]


def three_layers() -> list[dict[str, Any]]:
    """Return a load of `raw` in three parts, the second one bad, and what is made of it in two layers."""
    insert = "INSERT INTO ice.db.raw SELECT * FROM files"
    return [
        *statement("load", 1, insert, (), table("raw", "11")),
        *statement("clean", 2, CLEAN, (table("raw", "11"), table("rates", "91")), table("clean", "21")),
        *statement("load", 3, insert, (), table("raw", "12", parent="11")),
        *statement("clean", 4, CLEAN, (table("raw", "12"), table("rates", "91")), table("clean", "22", parent="21")),
        *statement("load", 5, insert, (table("files"),), table("raw", "13", parent="12")),
        *statement("sum", 6, SUM, (table("clean", "22"),), table("total", "31", change="OVERWRITE")),
        *statement("other", 7, "INSERT INTO x SELECT * FROM rates", (table("rates", "91"),), table("x", "41")),
    ]


CLEAN = "INSERT INTO db.clean SELECT r.k, r.v * x.rate AS v FROM db.raw r JOIN ice.db.rates x ON r.k = x.k"
SUM = "INSERT OVERWRITE ice.db.total SELECT sum(v) FROM ice.db.clean"
CLEAN_AGAIN = (
    "INSERT INTO ice.db.clean SELECT r.k, r.v * x.rate AS v FROM ice.db.raw{} AS r "
    "JOIN ice.db.rates VERSION AS OF 91 AS x ON r.k = x.k"
)
SWITCH = "INSERT OVERWRITE ice.db.{0} SELECT * FROM ice.db.{0}_s1"
SUM_AGAIN = "INSERT OVERWRITE TABLE ice.db.total SELECT SUM(v) FROM ice.db.clean"


def test_an_incremental_plan_rolls_back_and_repeats_only_what_holds_bad_data(filled: Fill) -> None:
    found = filled(*three_layers()).recover("db.raw", version="12").result

    assert [(each.dataset, each.bad, each.last_good) for each in found.datasets] == [
        ("db.raw", ("12", "13"), "11"),
        ("db.clean", ("22",), "21"),
        ("db.total", ("31",), ""),
    ]
    assert code_of(found) == [
        "CALL ice.system.rollback_to_snapshot('ice.db.raw', 11)",
        "CALL ice.system.rollback_to_snapshot('ice.db.clean', 21)",
        "(correct)",
        CLEAN_AGAIN.format(""),
        "INSERT INTO ice.db.raw SELECT * FROM ice.db.files",
        SUM_AGAIN,
    ]


def test_a_full_plan_makes_the_datasets_downstream_again_from_their_first_run(filled: Fill) -> None:
    found = filled(*three_layers()).recover("db.raw", version="12", mode="full").result

    assert code_of(found) == [
        "CALL ice.system.rollback_to_snapshot('ice.db.raw', 11)",
        "DELETE FROM ice.db.clean",
        "(correct)",
        CLEAN_AGAIN.format(" VERSION AS OF 11"),
        CLEAN_AGAIN.format(""),
        "INSERT INTO ice.db.raw SELECT * FROM ice.db.files",
        SUM_AGAIN,
    ]


def test_a_full_plan_leaves_a_table_as_it_is_that_its_first_run_replaces(filled: Fill) -> None:
    found = filled(*three_layers()).recover("db.raw", version="12", mode="full").result

    assert [step.title for step in found.steps if step.action in ("roll back", "empty")] == [
        "Roll db.raw back to version 11.",
        "Empty db.clean.",
    ]


@pytest.mark.parametrize(("mode", "copy"), [("incremental", ""), ("side-by-side", "_s1")])
def test_a_step_names_the_tables_that_it_reads_as_they_are_then(filled: Fill, mode: ModeName, copy: str) -> None:
    """What it reads at a version that it names stays as it was, whatever else is written."""
    right = "INSERT INTO db.raw SELECT k, v FROM db.clean"
    found = filled(*three_layers()).recover("db.raw", version="12", mode=mode, correction=(right,)).result

    read = {
        step.title: [each.parts for each in step.reads] for step in found.steps if step.action in ("correct", "run")
    }
    assert read == {
        f"Put the correct data of version 12 into {'ice.db.raw_s1' if copy else 'db.raw'}.": [("ice", "db", "clean")],
        "Run the statement of clean again.": [("ice", "db", f"raw{copy}")],
        "Run the statement of load again.": [("ice", "db", "files")],
        "Run the statement of sum again.": [("ice", "db", f"clean{copy}")],
    }


def test_the_newest_version_is_bad_if_none_is_named(filled: Fill) -> None:
    found = filled(*three_layers()).recover("db.raw").result

    assert (found.version, [each.dataset for each in found.datasets]) == ("13", ["db.raw"])
    assert code_of(found) == ["CALL ice.system.rollback_to_snapshot('ice.db.raw', 12)", "(correct)"]


@pytest.mark.parametrize(
    "which",
    [
        {"run": "load-3"},
        {"run": "ad-3"},
        {"time": "2026-01-01T00:04:00Z"},
        {"version": "12"},
        {"version": "2026-01-01T00:04:00Z"},
    ],
)
def test_a_version_is_named_by_itself_by_its_run_or_by_a_time(filled: Fill, which: dict[str, Any]) -> None:
    assert filled(*three_layers()).recover("raw", **which).result.version == "12"


def test_the_latest_version_has_a_name(filled: Fill) -> None:
    assert filled(*three_layers()).recover("db.raw", version="latest").result.version == "13"


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ({"version": "99"}, "'99'"),
        ({"run": "zzz"}, "that the run 'zzz' made"),
        ({"batch": 3}, "of micro-batch 3"),
        ({"version": "12", "run": "load-5"}, "'12' that the run 'load-5' made"),
        ({"time": "2026-01-01T00:00:00Z"}, "at 2026-01-01T00:00:00+00:00"),
    ],
)
def test_a_version_that_is_not_there_is_named_with_the_latest_ones(
    filled: Fill, which: dict[str, Any], said: str
) -> None:
    with pytest.raises(StoreError) as problem:
        filled(*three_layers()).recover("db.raw", **which)

    assert str(problem.value) == f"db.raw has no version {said}; its versions, the latest first: 13, 12, 11"


def test_in_a_diamond_each_side_is_made_before_what_joins_them(filled: Fill) -> None:
    join = "INSERT OVERWRITE ice.db.d SELECT b.v, c.w FROM ice.db.b JOIN ice.db.c"
    found = (
        filled(
            *statement("a", 1, "INSERT INTO ice.db.a VALUES (1)", (), table("a", "1")),
            *statement(
                "b", 2, "INSERT OVERWRITE ice.db.b SELECT * FROM ice.db.a", (table("a", "1"),), _whole("b", "2")
            ),
            *statement(
                "c", 3, "INSERT OVERWRITE ice.db.c SELECT * FROM ice.db.a", (table("a", "1"),), _whole("c", "3")
            ),
            *statement("d", 4, join, (table("b", "2"), table("c", "3")), _whole("d", "4")),
        )
        .recover("db.a")
        .result
    )

    assert [step.again[0].job for step in found.steps if step.again] == ["b", "c", "d"]
    assert [(pin.dataset, pin.affected) for pin in found.steps[-1].inputs] == [("db.b", True), ("db.c", True)]


def _whole(name: str, version: str) -> dict[str, Any]:
    return table(name, version, change="OVERWRITE")


@pytest.mark.parametrize(
    ("sql", "bad"),
    [
        ("INSERT OVERWRITE ice.db.b SELECT * FROM ice.db.clean", ("21",)),
        ("INSERT OVERWRITE ice.db.b PARTITION (day = 1) SELECT * FROM ice.db.clean", ("21", "22")),
        ("", ("21", "22")),
    ],
)
def test_an_overwrite_of_the_whole_table_from_clean_data_ends_it(filled: Fill, sql: str, bad: tuple[str, ...]) -> None:
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement("b", 2, "INSERT INTO ice.db.b SELECT * FROM ice.db.a", (table("a", "11"),), table("b", "21")),
            *statement("b2", 3, sql, (table("clean", "91"),), _whole("b", "22")),
        )
        .recover("db.a")
        .result
    )

    assert [(each.dataset, each.bad, each.is_clean) for each in found.datasets][1:] == [("db.b", bad, len(bad) == 1)]
    assert len([step for step in found.steps if step.again]) == len(bad) * (len(bad) > 1)


@pytest.mark.parametrize("operator", ["overwrite_partitions_dynamic", "delta_dynamic_partition_overwrite_command"])
def test_an_overwrite_of_some_partitions_is_repeated_as_one_and_ends_no_bad_data(filled: Fill, operator: str) -> None:
    """In a session of its own, the same text would empty all other partitions."""
    daily = "INSERT OVERWRITE ice.db.b SELECT * FROM ice.db.a"
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement(f"app.{operator}.b", 2, daily, (table("a", "11"),), _whole("b", "21")),
            *statement(f"app.{operator}.b", 3, daily, (table("clean", "91"),), _whole("b", "22")),
        )
        .recover("db.a")
        .result
    )

    mode = "spark.sql.sources.partitionOverwriteMode"
    repeated = [step for step in found.steps if step.again]
    assert [each.bad for each in found.datasets] == [("11",), ("21", "22")]
    assert [step.settings for step in repeated] == [((mode, "dynamic"),)] * 2
    assert ["INSERT OVERWRITE" in code for step in repeated for code in step.code] == [True, True]
    assert PLAN_FORMATS["sql"](found).count(f"SET {mode}=dynamic;\nINSERT OVERWRITE") == 2
    assert PLAN_FORMATS["sql"](found).count(f";\nRESET {mode};\n") == 2
    # Each call of spark-sql is a session, whose settings end with it.
    calls = PLAN_FORMATS["shell"](found).split("spark-sql -e ")[1:]
    bodies = [call.split("\n\n")[0] for call in calls if "INSERT OVERWRITE" in call]
    assert [body.count(mode) for body in bodies] == [2, 2]


def test_a_statement_is_repeated_under_the_settings_of_its_session(filled: Fill) -> None:
    mode = "spark.sql.sources.partitionOverwriteMode"
    told = {"settings": {"spark.sql.ansi.enabled": "false", mode: "DYNAMIC"}}
    overwrite = "INSERT OVERWRITE ice.db.b SELECT * FROM ice.db.a"
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement("b", 2, "INSERT INTO ice.db.b SELECT * FROM ice.db.a", (table("a", "11"),), table("b", "21")),
            *statement("c", 3, overwrite, (table("a", "11"),), table("c", "31", change="OVERWRITE"), session=told),
            *statement("d", 4, overwrite, (table("a", "11"),), table("d", "41", change="OVERWRITE")),
            *statement("e", 5, overwrite, (table("a", "11"),), table("e", "51", change="OVERWRITE"), session=None),
        )
        .recover("db.a")
        .result
    )

    repeated = {step.like: step for step in found.steps if step.like and step.code}
    assert {run: step.settings for run, step in repeated.items()} == {
        "b-2": (),
        "c-3": (("spark.sql.ansi.enabled", "false"), (mode, "DYNAMIC")),
        "d-4": ((mode, "STATIC"),),
        "e-5": (),
    }
    doubt = "no event states the settings of its session, such as spark.sql.ansi.enabled: the current ones apply"
    assert [run for run, step in repeated.items() if any(each.startswith(doubt) for each in step.doubts)] == ["e-5"]


def test_only_settings_of_the_list_are_set_again(filled: Fill) -> None:
    mode = "spark.sql.sources.partitionOverwriteMode"
    hostile = {mode: "DYNAMIC; DROP TABLE t", "spark.sql.catalog.evil": "x.Evil", "spark.sql.ansi.enabled": "false"}
    insert = "INSERT INTO ice.db.b SELECT * FROM ice.db.a"
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement("b", 2, insert, (table("a", "11"),), table("b", "21"), session={"settings": hostile}),
        )
        .recover("db.a")
        .result
    )

    (step,) = [each for each in found.steps if each.action == "run" and each.like == "b-2"]
    assert step.settings == (("spark.sql.ansi.enabled", "false"),)
    assert f"it ran under settings that are not repeated: spark.sql.catalog.evil, {mode}" in step.doubts


def test_a_statement_that_may_need_the_current_schema_says_which_it_was(filled: Fill) -> None:
    place = {"settings": {}, "currentCatalog": "ice", "currentSchema": "mart"}
    insert = "INSERT INTO ice.db.b SELECT * FROM ice.db.a"
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement("b", 2, f"{insert} JOIN helper", (table("a", "11"),), table("b", "21"), session=place),
            *statement("c", 3, insert, (table("a", "11"),), table("b", "22", parent="21"), session=place),
        )
        .recover("db.a")
        .result
    )

    said = "it ran in ice.mart, where names without a schema are looked up"
    assert [step.like for step in found.steps if said in step.doubts] == ["b-2"]


def test_the_id_of_a_table_is_checked_since_its_last_drop(filled: Fill) -> None:
    def made(version: str, id_: str, **facets: str) -> dict[str, Any]:
        found = table("a", version, **facets)
        found["facets"]["pyspark_snapshot"]["tableId"] = id_
        return found

    dropped = table("a", change="DROP")
    store = filled(
        *statement("a", 1, "", (), made("11", "first")),
        *statement("drop", 2, "DROP TABLE ice.db.a", (), dropped),
        *statement("a", 3, "", (), made("12", "second", change="CREATE")),
        *statement("a", 4, "", (), table("a", "13", parent="12")),
    )
    checks = [check for step in store.recover("db.a").result.steps for check in step.before if check.check == "newest"]

    assert {(check.version, check.table_id) for check in checks} == {("13", "second")}


@pytest.mark.parametrize("last", ["b", "c"])
def test_tables_of_one_run_whose_versions_have_the_same_number_keep_their_own_ids(filled: Fill, last: str) -> None:
    def made(name: str, version: str, **facets: str) -> dict[str, Any]:
        found = table(name, version, lake="delta", **facets)
        found["facets"]["pyspark_snapshot"]["tableId"] = f"id of {name}"
        return found

    outputs = sorted((made("b", "1"), made("c", "1")), key=lambda each: bool(each["name"].endswith(last)))
    store = filled(
        *statement("a", 1, "", (), made("a", "0")),
        *statement("a", 2, "", (), made("a", "1", parent="0")),
        *statement("both", 3, "", (made("a", "1"),), *outputs),
    )
    checks = [check for step in store.recover("db.a").result.steps for check in step.before if check.check == "newest"]

    known = {(check.table.parts[-1], check.version, check.table_id) for check in checks}
    assert known == {(name, "1", f"id of {name}") for name in ("a", "b", "c")}


def test_a_merge_keeps_bad_data_and_reads_the_table_it_writes(filled: Fill) -> None:
    merge = "MERGE INTO ice.db.b USING ice.db.a ON b.k = a.k WHEN MATCHED THEN UPDATE SET v = a.v"
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement("m", 2, merge, (table("a", "11"), table("b", "20")), table("b", "21", parent="20")),
            *statement("u", 3, "UPDATE ice.db.b SET v = 0", (table("b", "21"),), table("b", "22", parent="21")),
        )
        .recover("db.a")
        .result
    )

    assert found.datasets[1].bad == ("21", "22")
    assert found.cycles == (("db.b",),)
    assert code_of(found)[1:] == [
        "(correct)",
        "MERGE INTO ice.db.b USING ice.db.a ON b.k = a.k WHEN MATCHED THEN UPDATE SET v = a.v",
        "UPDATE ice.db.b SET v = 0",
    ]
    assert code_of(found)[0] == "CALL ice.system.rollback_to_snapshot('ice.db.b', 20)"


def test_tables_that_are_made_from_each_other_are_named_and_repeated_as_they_ran(filled: Fill) -> None:
    there, back = "INSERT INTO ice.db.b SELECT * FROM ice.db.a", "INSERT INTO ice.db.a SELECT * FROM ice.db.b"
    found = (
        filled(
            *statement("there", 1, there, (table("a", "10"),), table("b", "21")),
            *statement("back", 2, back, (table("b", "21"),), table("a", "11", parent="10")),
            *statement("there", 3, there, (table("a", "11"),), table("b", "22", parent="21")),
            *statement("back", 4, back, (table("b", "22"),), table("a", "12", parent="11")),
        )
        .recover("db.a", version="11")
        .result
    )

    assert found.cycles == (("db.a", "db.b"),)
    assert [each.run_id for step in found.steps for each in step.again] == ["there-3", "back-4"]


def streams(lake: str = "iceberg", *, first: int = 0) -> list[dict[str, Any]]:
    """Return a stream from `raw` to `clean` in three micro-batches, the second of which reads bad data, and its sum."""
    raw, clean = table("raw", lake=lake), table("clean", lake=lake)

    def each(number: int, minute: float) -> dict[str, Any]:
        versions = (str(number), str(number - 1) if number > 1 else "")
        source = table("raw", versions[0], lake=lake)
        sink = table("clean", f"{number + 50}", parent=f"{number + 49}", lake=lake)
        return batch(first + number - 1, minute, source, sink, *_offsets(lake, number))

    return [
        *application("app", 0.5, "python", "app.py", "--from", "raw"),
        *statement("load", 1, "", (), table("raw", "1", lake=lake)),
        *stream("s", 2, raw, clean, each(1, 2), parent="app"),
        *statement("load", 4, "", (), table("raw", "2", parent="1", lake=lake)),
        *stream("s", 5, raw, clean, each(2, 5), parent="app"),
        *statement("load", 7, "INSERT INTO db.raw VALUES (3)", (), table("raw", "3", parent="2", lake=lake)),
        *stream("s", 8, raw, clean, each(3, 8), parent="app"),
    ]


def _offsets(lake: str, number: int) -> tuple[str, str]:
    if lake == "iceberg":
        begin, end = ({"version": 1, "snapshot_id": place, "position": 1} for place in (number - 1, number))
    else:
        begin, end = ({"reservoirVersion": place, "index": -1} for place in (number, number + 1))
    return json.dumps(begin), json.dumps(end)


def test_a_stream_goes_back_to_the_micro_batch_before_the_first_bad_one(filled: Fill) -> None:
    found = filled(*streams()).recover("db.raw", version="2").result

    assert code_of(found) == [
        "CALL ice.system.rollback_to_snapshot('ice.db.raw', 1)",
        "CALL ice.system.rollback_to_snapshot('ice.db.clean', 51)",
        "(correct)",
        "openlineage-pyspark checkpoint /state/s --back-to 0 --restored /lake/db/raw",
        "INSERT INTO ice.db.raw VALUES (3)",
        "python app.py --from raw",
    ]
    step = found.steps[-1]
    assert (step.language, step.folder, step.notes[:2]) == (
        "shell",
        "/jobs",
        ("s continues after micro-batch 0.", f"It reads db.raw again after {_offsets('iceberg', 2)[0]}."),
    )
    assert [(again.run_id, again.batches) for again in step.again] == [("s-5", (1, 1)), ("s-8", (2, 2))]


def test_a_stream_from_delta_goes_on_after_the_restore_of_its_source(filled: Fill) -> None:
    found = filled(*streams("delta")).recover("db.raw", version="2").result

    assert code_of(found)[:4] == [
        "RESTORE TABLE spark_catalog.db.raw TO VERSION AS OF 1",
        "RESTORE TABLE spark_catalog.db.clean TO VERSION AS OF 51",
        "(correct)",
        "openlineage-pyspark checkpoint /state/s --back-to 0 --restored /lake/db/raw",
    ]


@pytest.mark.parametrize(
    ("lake", "end", "moved"),
    [
        ("delta", {"reservoirVersion": 2, "index": -1}, ["--back-to 0 --restored /lake/db/raw"]),
        ("iceberg", {"version": 1, "snapshot_id": 1, "position": 1}, []),
        # None of the bad snapshot's files is done, and it is gone all the same.
        ("iceberg", {"version": 1, "snapshot_id": 2, "position": 0}, ["--back-to 0 --restored /lake/db/raw"]),
    ],
)
def test_a_stream_that_has_read_nothing_bad_is_moved_if_its_place_is_gone(
    filled: Fill, lake: str, end: dict[str, Any], moved: list[str]
) -> None:
    raw, clean = table("raw", lake=lake), table("clean", "51", lake=lake)
    first = batch(0, 2, table("raw", "1", lake=lake), clean, "null", json.dumps(end))
    found = (
        filled(
            *statement("load", 1, "", (), table("raw", "1", lake=lake)),
            *stream("s", 2, raw, clean, first),
            *statement("load", 4, "", (), table("raw", "2", parent="1", lake=lake)),
        )
        .recover("db.raw", version="2")
        .result
    )

    assert [each.dataset for each in found.datasets] == ["db.raw"]
    assert code_of(found)[1:] == ["(correct)", *(f"openlineage-pyspark checkpoint /state/s {each}" for each in moved)]
    assert [step.move.keeps_all for step in found.steps if step.move] == [True for _ in moved]


def test_a_query_that_was_recovered_before_has_one_checkpoint_with_its_earlier_self(filled: Fill) -> None:
    """A copy of a checkpoint has another query id; micro-batch 1 came again from the end of micro-batch 0."""
    again = batch(1, 12, table("raw", "4"), table("clean", "62", parent="51"), *_offsets("iceberg", 4))
    events = [
        *streams(),
        *statement("load", 10, "INSERT INTO db.raw VALUES (4)", (), table("raw", "4", parent="1")),
        *stream("s", 12, table("raw"), table("clean"), again, parent="app"),
    ]
    for event in events[-3:]:
        event["run"]["facets"]["pyspark_micro_batches"]["queryId"] = "another query of s"
    store = filled(*events)

    assert code_of(store.recover("db.raw", version="2").result) == []
    found = store.recover("db.raw", version="4").result
    assert [(each.dataset, each.bad) for each in found.datasets] == [("db.raw", ("4",)), ("db.clean", ("62",))]
    assert [step.code for step in found.steps if step.action == "checkpoint"] == [
        ("openlineage-pyspark checkpoint /state/s --back-to 0 --restored /lake/db/raw",)
    ]
    first = store.recover("db.raw", version="1").result
    assert [(step.move.path, step.move.back_to) for step in first.steps if step.move] == [("/state/s", None)]
    # Whoever starts the query again is asked whether it ended its last micro-batch there.
    assert [step.checkpoints for step in found.steps if step.action == "run"] == [("/state/s",)]


@pytest.mark.parametrize("lake", ["iceberg", "delta"])
def test_a_wrong_version_of_a_table_that_a_stream_joins_is_in_the_micro_batches_since(filled: Fill, lake: str) -> None:
    """The table has no place in the checkpoint, which goes back all the same."""
    raw, clean, rates = table("raw", lake=lake), table("clean", lake=lake), table("rates", lake=lake)

    def each(number: int, minute: float) -> dict[str, Any]:
        sink = table("clean", f"{number + 50}", parent=f"{number + 49}", lake=lake)
        return batch(number - 1, minute, table("raw", str(number), lake=lake), sink, *_offsets(lake, number))

    found = (
        filled(
            *application("app", 0.5, "python", "app.py"),
            *statement("rate", 1, "", (), table("rates", "71", lake=lake)),
            *stream("s", 2, raw, clean, each(1, 2), parent="app", joined=(rates,)),
            *statement("rate", 3, "", (), table("rates", "72", parent="71", lake=lake)),
            *stream("s", 4, raw, clean, each(2, 4), parent="app", joined=(rates,)),
            *statement("sum", 6, "INSERT INTO db.total SELECT 1", (clean,), table("total", "9", lake=lake)),
        )
        .recover("db.rates", version="72")
        .result
    )

    assert [(each.dataset, each.bad) for each in found.datasets] == [
        ("db.rates", ("72",)),
        ("db.clean", ("52",)),
        ("db.total", ("9",)),
    ]
    assert [code for code in code_of(found) if "checkpoint" in code or "app.py" in code] == [
        "openlineage-pyspark checkpoint /state/s --back-to 0",
        "python app.py",
    ]
    (step,) = [step for step in found.steps if step.title == "Start app again."]
    assert [(pin.dataset, pin.affected) for pin in step.inputs] == [("db.raw", False), ("db.rates", True)]
    assert step.notes[:2] == (
        "s continues after micro-batch 0.",
        f"It reads db.raw again after {_offsets(lake, 2)[0]}.",
    )


def read_in_the_middle(*, ends: bool = True, applications: tuple[str, ...] = ("app2", "app3")) -> list[dict[str, Any]]:
    """Return a stream that runs once after each load, the second of which is bad, and what appends sums of it then."""
    insert, add = "INSERT INTO db.raw VALUES ({})", "INSERT INTO ice.db.total SELECT sum(v) FROM ice.db.clean"
    raw, clean = table("raw"), table("clean")
    events = [event for name in ("app1", "app2", "app3") for event in application(name, 0.5, "python", f"{name}.py")]
    for number, app in enumerate(("app1", *applications), 1):
        before = str(number - 1) if number > 1 else ""
        source, sink = table("raw", str(number), parent=before), table("clean", f"5{number}", parent=f"5{number - 1}")
        part = batch(number - 1, number * 4 + 1, source, sink, *_offsets("iceberg", number))
        total = table("total", f"7{number}", parent=f"7{number - 1}")
        events += statement("load", number * 4, insert.format(number), (), source)
        events += stream("s", number * 4 + 1, raw, clean, part, parent=app, ends=ends)
        events += statement("sum", number * 4 + 2.5, add, (sink,), total)
    return events


SUM_OF_CLEAN = "INSERT INTO ice.db.total SELECT SUM(v) FROM ice.db.clean"


def test_a_stream_is_repeated_up_to_where_others_read_what_it_made_until_then(filled: Fill) -> None:
    found = filled(*read_in_the_middle()).recover("db.raw", version="2").result

    assert [
        code for step in found.steps if step.action in ("correct", "run") for code in step.code or ("(correct)",)
    ] == [
        "(correct)",
        "python app2.py",
        SUM_OF_CLEAN,
        "INSERT INTO ice.db.raw VALUES (3)",
        "python app3.py",
        SUM_OF_CLEAN,
    ]
    assert doubts_of(found) == []
    starts = [step for step in found.steps if step.language == "shell" and step.action == "run"]
    assert [(len(step.notes), step.again[0].batches) for step in starts] == [(4, (1, 1)), (1, (2, 2))]
    assert starts[0].notes[-2] == "Let it read everything and end before the next step, which needs its output."


def test_a_part_of_a_stream_that_read_two_loads_comes_after_both(filled: Fill) -> None:
    events = read_in_the_middle()
    (part,) = (
        each
        for event in events
        for each in event["run"]["facets"].get("pyspark_micro_batches", {}).get("batches", ())
        if each["batchId"] == 1
    )
    part["sources"][0] |= {"version": "25", "to": json.dumps({"version": 1, "snapshot_id": 25, "position": 1})}
    more = statement("load", 8.45, "INSERT INTO db.raw VALUES (2.5)", (), table("raw", "25", parent="2"))
    for each in (output for event in events for output in event["outputs"]):
        if each["facets"].get("version") == {"datasetVersion": "3"}:
            each["facets"]["pyspark_snapshot"]["parent"] = "25"

    found = filled(*events, *more).recover("db.raw", version="2").result

    assert [step.code[0] for step in found.steps if step.action == "run"] == [
        "INSERT INTO ice.db.raw VALUES (2.5)",
        "python app2.py",
        SUM_OF_CLEAN,
        "INSERT INTO ice.db.raw VALUES (3)",
        "python app3.py",
        SUM_OF_CLEAN,
    ]
    assert doubts_of(found) == []


@pytest.mark.parametrize("how", [{"ends": False}, {"applications": ("app2", "app2")}])
def test_a_stream_that_can_not_be_repeated_in_parts_is_read_at_its_end(filled: Fill, how: dict[str, Any]) -> None:
    """It runs on, or one application does all of it."""
    found = filled(*read_in_the_middle(**how)).recover("db.raw", version="2").result

    assert [step.language for step in found.steps if step.action == "run"].count("shell") == 1
    assert (
        "it read db.clean while a stream was writing it; the repeated run reads all that the stream made"
        in doubts_of(found)
    )


def test_a_stream_is_not_repeated_in_parts_if_a_source_of_it_has_later_rows_already(filled: Fill) -> None:
    other = [table("other", "90"), table("other", "91", parent="90")]
    events = read_in_the_middle()
    for event in events:
        for part in event["run"]["facets"].get("pyspark_micro_batches", {}).get("batches", ()):
            source = {
                "namespace": "file",
                "name": "/lake/db/other",
                "version": "90",
                "from": "null",
                "to": '{"snapshot_id": 90, "position": 1}',
            }
            part["sources"].append(source if part["batchId"] == 1 else {**source, "version": "91", "to": "{}"})
    events += statement("load", 3, "", (), other[0]) + statement("load", 11.8, "", (), other[1])

    found = filled(*events).recover("db.raw", version="2").result

    assert any("while a stream was writing it" in each for each in doubts_of(found))


def test_a_full_plan_starts_a_stream_with_an_empty_checkpoint(filled: Fill) -> None:
    found = filled(*streams()).recover("db.raw", version="2", mode="full").result

    assert code_of(found) == [
        "CALL ice.system.rollback_to_snapshot('ice.db.raw', 1)",
        "CALL ice.system.rollback_to_snapshot('ice.db.clean', 50)",
        "(correct)",
        "mv /state/s /state/s.before-recovery",
        "INSERT INTO ice.db.raw VALUES (3)",
        "python app.py --from raw",
    ]


def test_a_checkpoint_that_may_be_gone_is_named(filled: Fill) -> None:
    events = streams()
    late = batch(200, 9, table("raw", "3"), table("clean", "99", parent="53"), *_offsets("iceberg", 4))
    events += stream("s", 9, table("raw"), table("clean"), late, parent="app")
    (step,) = [
        step for step in filled(*events).recover("db.raw", version="2").result.steps if step.action == "checkpoint"
    ]

    (note,) = [note for note in step.notes if "minBatchesToRetain" in note]
    assert note == (
        "It made 200 micro-batches since, and Spark keeps 100 unless spark.sql.streaming.minBatchesToRetain is larger. "
        "If this one is gone, recover with --mode full, or start a new query after the offsets below."
    )


def test_a_stream_that_has_not_ended_is_stopped_first(filled: Fill) -> None:
    events = streams()
    late = batch(3, 9, table("raw", "3"), table("clean", "54", parent="53"), *_offsets("iceberg", 4))
    events += stream("s", 9, table("raw"), table("clean"), late, parent="app", ends=False)

    step = filled(*events).recover("db.raw", version="2").result.steps[0]
    assert (step.action, step.title) == ("stop", "Stop the streaming query of s, if it still runs.")


def test_an_expired_version_is_replaced_by_the_nearest_before_it(filled: Fill) -> None:
    events = three_layers()
    found = filled(*events).recover("db.raw", version="13", expired=("12",)).result

    # What is made again of the versions between comes before the correction, as it came before the bad version.
    again = "INSERT INTO ice.db.raw SELECT * FROM files"
    assert code_of(found) == ["CALL ice.system.rollback_to_snapshot('ice.db.raw', 11)", again, "(correct)"]
    assert found.steps[0].notes == ("Version 12 expired; version 11 is the nearest before it.",)
    assert [each.run_id for step in found.steps for each in step.again] == ["load-3"]


def test_an_expired_input_is_said_with_the_nearest_version(filled: Fill) -> None:
    events = [*statement("rate", 0, "", (), table("rates", "90")), *three_layers()]
    found = filled(*events).recover("db.raw", version="12", expired=("91",)).result

    assert doubts_of(found) == [
        "version 91 of db.rates expired: it reads version 90, the nearest",
        "its event does not state which version of db.files it read: the one that was current then is assumed",
    ]
    assert code_of(found)[3] == CLEAN_AGAIN.format("").replace("91", "90")


@pytest.mark.parametrize(
    ("expired", "version", "rates"),
    [
        ((), 2, 2),
        # Versions of Delta Lake are small numbers, and those of other tables are still there.
        (("db.raw@2",), 1, 2),
        (("SPARK_CATALOG.db.rates@2",), 2, 3),
        (("db.raw@2", "db.rates@2"), 1, 3),
        (("2",), 1, 3),
    ],
)
def test_an_expired_version_is_one_of_its_table(
    filled: Fill, expired: tuple[str, ...], version: int, rates: int
) -> None:
    def delta(name: str, version: int) -> dict[str, Any]:
        return table(name, str(version), parent=str(version - 1), lake="delta")

    insert, make = "INSERT INTO db.{} SELECT 1", "INSERT INTO db.made SELECT * FROM db.raw JOIN db.rates"
    events = [
        *(event for n in (1, 2) for event in statement("rate", n, insert.format("rates"), (), delta("rates", n))),
        *(event for n in (1, 2, 3) for event in statement("load", 2 + n, insert.format("raw"), (), delta("raw", n))),
        *statement("make", 6, make, (delta("raw", 3), delta("rates", 2)), delta("made", 2)),
        *statement("rate", 7, insert.format("rates"), (), delta("rates", 3)),
    ]

    code = code_of(filled(*events).recover("db.raw", version="3", expired=expired).result)

    assert code[0] == f"RESTORE TABLE spark_catalog.db.raw TO VERSION AS OF {version}"
    assert f"spark_catalog.db.rates VERSION AS OF {rates}" in code[-1]


@pytest.mark.parametrize("expired", ["77", "db.raw@77", "db.nothing@11", "db.raw@", ""])
def test_an_expired_version_that_no_table_has_is_refused(filled: Fill, expired: str) -> None:
    with pytest.raises(StoreError, match=f"no dataset that the recovery looks at has a version {expired}"):
        filled(*three_layers()).recover("db.raw", version="13", expired=(expired,))


def idle_runs() -> list[dict[str, Any]]:
    """Return a lake of Delta Lake in which runs after a bad load changed no row, of which it makes no versions."""

    def delta(name: str, version: int | None = None) -> dict[str, Any]:
        stated = "" if version is None else str(version)
        return table(name, stated, parent=str(version - 1) if version else "", lake="delta")

    insert = "INSERT INTO spark_catalog.db.{} SELECT 1"
    make = "INSERT INTO spark_catalog.db.made SELECT * FROM spark_catalog.db.raw"
    merge = "MERGE INTO spark_catalog.db.other o USING spark_catalog.db.raw r ON r.k = o.k WHEN MATCHED THEN DELETE"
    read = "INSERT INTO spark_catalog.db.out SELECT * FROM spark_catalog.db.made"
    delete = "DELETE FROM spark_catalog.db.{} WHERE k > 5"
    return [
        *statement("load", 1, insert.format("raw"), (), delta("raw", 1)),
        *statement("make", 2, make, (delta("raw", 1),), delta("made", 1)),
        *statement("load", 3, insert.format("raw"), (), delta("raw", 2)),
        *statement("make", 4, make, (delta("raw", 2),), delta("made", 2)),
        *statement("delete", 5, delete.format("made"), (delta("made", 2),), delta("made")),
        *statement("read", 6, read, (delta("made", 2),), delta("out", 1)),
        *statement("merge", 7, merge, (delta("raw", 2), delta("other", 4)), delta("other")),
        *statement("make", 8, make, (delta("raw", 2),), delta("made", 3)),
        *statement("delete", 9, delete.format("clean"), (delta("clean", 7),), delta("clean")),
        *statement("more", 10, insert.format("other"), (delta("clean", 7),), delta("other", 5)),
    ]


def test_a_run_that_changed_no_row_is_repeated_for_with_right_data_it_may(filled: Fill) -> None:
    found = filled(*idle_runs()).recover("db.raw", version="2").result

    assert {each.dataset: each.bad for each in found.datasets} == {
        "db.raw": ("2",),
        "db.made": ("2", "delete-5", "3"),
        "db.other": ("merge-7", "5"),
        "db.out": ("1",),
    }
    again = [each.run_id for step in found.steps for each in step.again]
    assert again == ["make-4", "delete-5", "read-6", "merge-7", "make-8", "more-10"]
    assert "spark_catalog.db.other TO VERSION AS OF 4" in code_of(found)[2]
    assert doubts_of(found) == []


def test_a_restore_of_the_newest_version_ends_what_came_after_it_and_made_none(filled: Fill) -> None:
    def delta(name: str, version: str = "") -> dict[str, Any]:
        return table(name, version, parent=str(int(version) - 1) if version else "", lake="delta")

    make = "INSERT INTO db.made SELECT * FROM db.raw WHERE k > 5"
    events = [
        *statement("load", 1, "INSERT INTO db.raw SELECT 1", (), delta("raw", "1")),
        *statement("make", 2, make, (delta("raw", "1"),), delta("made", "1")),
        *statement("load", 3, "INSERT INTO db.raw SELECT 1", (), delta("raw", "2")),
        # It found no row.
        *statement("make", 4, make, (delta("raw", "2"),), delta("made")),
    ]
    later = statement("make", 7, make, (delta("raw", "3"),), delta("made", "2"))
    back = [
        *statement("back", 5, "RESTORE TABLE db.raw TO VERSION AS OF 1", (), delta("raw", "3")),
        *statement("back", 6, "RESTORE TABLE db.made TO VERSION AS OF 1", (), delta("made")),
    ]

    def bad(*more: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        found = filled(*events, *more).recover("db.raw", version="2").result
        return {each.dataset: each.bad for each in found.datasets if not each.is_clean}

    assert bad() == {"db.raw": ("2",), "db.made": ("make-4",)}
    # The next version continues from the run that found none, unless it comes after the RESTORE.
    assert bad(*later) == {"db.raw": ("2", "3"), "db.made": ("make-4", "2")}
    assert bad(*back) == {}


def test_a_table_is_of_the_format_that_one_of_its_events_states(filled: Fill) -> None:
    """The events of CREATE TABLE ... AS of Delta Lake state none."""
    made = table("top", "0", change="CREATE", lake="delta")
    made["facets"]["storage"] = {"storageLayer": "default"}
    create = "CREATE TABLE db.top USING delta AS SELECT * FROM db.raw"
    events = [
        *statement("load", 1, "INSERT INTO db.raw SELECT 1", (), table("raw", "1", lake="delta")),
        *statement("drop", 2, "DROP TABLE db.top", (), table("top", change="DROP", lake="delta")),
        *statement("make", 3, create, (table("raw", "1", lake="delta"),), made),
    ]

    code = code_of(filled(*events).recover("db.raw", version="1", correction=("INSERT INTO db.raw SELECT 2",)).result)

    assert code[-1] == "CREATE OR REPLACE TABLE spark_catalog.db.top USING DELTA AS SELECT * FROM spark_catalog.db.raw"
    assert not [each for each in code if "DROP TABLE" in each]


KEEP_B = "CREATE TABLE spark_catalog.db.b_before_recovery USING parquet AS SELECT * FROM spark_catalog.db.b"
EMPTY_B = (
    "CREATE TABLE spark_catalog.db.b_empty USING parquet AS SELECT * FROM spark_catalog.db.b WHERE false",
    "INSERT OVERWRITE spark_catalog.db.b SELECT * FROM spark_catalog.db.b_empty",
    "DROP TABLE spark_catalog.db.b_empty",
)


def test_a_table_without_versions_is_made_again_from_its_first_run(filled: Fill) -> None:
    def plain(name: str) -> dict[str, Any]:
        return table(name, lake="parquet")

    copy = "INSERT INTO db.b SELECT * FROM db.a"
    found = (
        filled(
            *statement("a", 1, "", (), plain("a")),
            *statement("b", 2, copy, (plain("a"),), plain("b")),
            *statement("a", 3, "", (), plain("a")),
            *statement("b", 4, copy, (plain("a"),), plain("b")),
        )
        .recover("db.a")
        .result
    )

    again = "INSERT INTO spark_catalog.db.b SELECT * FROM spark_catalog.db.a"
    assert code_of(found) == [KEEP_B, *EMPTY_B, "(correct)", again, again]
    assert found.steps[2].doubts == ("db.a can't be rolled back: remove the bad data by hand",)
    assert doubts_of(found) == [
        "db.b may have had rows before b-2: no recorded run can make them again",
        "db.a can't be rolled back: remove the bad data by hand",
        "db.a keeps no versions and was written since: it reads the current data",
    ]


CTAS = "CREATE TABLE IF NOT EXISTS db.b USING {} AS SELECT * FROM db.a"


def _created(lake: str, sql: str) -> list[dict[str, Any]]:
    return [
        *statement("a", 1, "", (), table("a", "1" if lake != "parquet" else "", lake=lake)),
        *statement("b", 2, sql, (table("a", lake=lake),), table("b", lake=lake, change="CREATE")),
    ]


@pytest.mark.parametrize("mode", ["incremental", "full"])
def test_a_table_that_can_not_be_replaced_is_dropped_before_it_is_created_again(filled: Fill, mode: ModeName) -> None:
    found = filled(*_created("parquet", CTAS.format("parquet"))).recover("db.a", mode=mode).result

    assert code_of(found) == [
        KEEP_B,
        "(correct)",
        "DROP TABLE IF EXISTS spark_catalog.db.b",
        "CREATE TABLE spark_catalog.db.b USING PARQUET AS SELECT * FROM spark_catalog.db.a",
    ]


@pytest.mark.parametrize(("lake", "catalog"), [("iceberg", "ice"), ("delta", "spark_catalog")])
def test_a_table_of_a_format_that_can_replace_it_is_replaced(filled: Fill, lake: str, catalog: str) -> None:
    found = filled(*_created(lake, CTAS.format(lake))).recover("db.a").result

    assert code_of(found)[-1] == (
        f"CREATE OR REPLACE TABLE {catalog}.db.b USING {lake.upper()} AS SELECT * FROM {catalog}.db.a"
    )


def test_side_by_side_drops_only_the_copy_and_leaves_it_without_the_location_of_the_table(filled: Fill) -> None:
    sql = CTAS.format("parquet LOCATION '/lake/db/b'")
    found = filled(*_created("parquet", sql)).recover("db.a", mode="side-by-side").result

    assert code_of(found)[3:5] == [
        "DROP TABLE IF EXISTS spark_catalog.db.b_s1",
        "CREATE TABLE spark_catalog.db.b_s1 USING PARQUET AS SELECT * FROM spark_catalog.db.a_s1",
    ]


def test_files_that_a_dropped_table_leaves_are_named(filled: Fill) -> None:
    found = filled(*_created("parquet", CTAS.format("parquet LOCATION '/lake/db/b'"))).recover("db.a").result

    assert "DROP TABLE leaves the files in /lake/db/b: remove them before the table is created" in doubts_of(found)


def test_what_an_application_creates_again_is_dropped_before(filled: Fill) -> None:
    def written(minute: int, sql: str, *change: str) -> list[dict[str, Any]]:
        made = table("c", lake="parquet", change="".join(change))
        return statement("c", minute, sql, (table("a", lake="parquet"),), made, application="app")

    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *statement("a", 1, "", (), table("a", lake="parquet")),
            *statement("b", 2, "", (table("a", lake="parquet"),), _plain("b"), application="app"),
            *written(3, "", "CREATE"),
            *written(4, ""),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found) == [
        KEEP_B,
        "DROP TABLE IF EXISTS spark_catalog.db.b",
        KEEP_B.replace("db.b", "db.c"),
        "DROP TABLE IF EXISTS spark_catalog.db.c",
        "(correct)",
        "python app.py",
    ]
    assert (found.steps[1].title, found.steps[1].notes) == ("Drop db.b.", ("app creates it again.",))


def test_a_table_of_a_database_that_an_application_creates_again_is_dropped_by_a_person(filled: Fill) -> None:
    made: dict[str, Any] = {"namespace": "postgres://host:5432", "name": "shop.public.b"}
    made["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": "CREATE"}}
    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *statement("a", 1, "", (), table("a", lake="parquet")),
            *statement("b", 2, "", (table("a", lake="parquet"),), made, application="app"),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found) == ["(empty)", "(correct)", "python app.py"]
    assert found.steps[0].notes == ("app creates it again.", "No event states that it is a table of Spark.")


def test_a_table_that_may_be_external_is_truncated_or_emptied_by_hand(filled: Fill) -> None:
    def of_hive() -> dict[str, Any]:
        made = table("b", lake="default")
        made["facets"]["storage"]["fileFormat"] = "hive"
        return made

    a = table("a", lake="parquet")
    found = (
        filled(
            *statement("a", 1, "", (), a), *statement("b", 2, "INSERT INTO db.b SELECT * FROM db.a", (a,), of_hive())
        )
        .recover("db.a")
        .result
    )

    files = "INSERT OVERWRITE DIRECTORY 'file:/lake/db/b' USING text SELECT '' WHERE false"
    kept = "CREATE TABLE spark_catalog.db.b_before_recovery USING parquet AS SELECT * FROM spark_catalog.db.b"
    assert [step.code for step in found.steps[:2]] == [(kept,), ("TRUNCATE TABLE spark_catalog.db.b",)]
    assert found.steps[1].notes[1:] == (
        "TRUNCATE TABLE refuses an external table: then empty it by hand, and continue with the next step.",
        f"Without partitions: {'; '.join(EMPTY_B)}.",
        f"With partitions: {files}; MSCK REPAIR TABLE spark_catalog.db.b SYNC PARTITIONS.",
    )


def test_a_table_with_versions_that_an_application_creates_again_is_named(filled: Fill) -> None:
    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *statement("a", 1, "", (), table("a", "1")),
            *statement("b", 2, "", (table("a", "1"),), table("b", "2", change="CREATE"), application="app"),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found) == ["(correct)", "python app.py"]
    assert "it created db.b: if it fails because db.b exists, drop that first" in found.steps[-1].doubts


def test_a_step_names_the_job_without_the_name_of_sparks_class(filled: Fill) -> None:
    job = "shop.execute_insert_into_hadoop_fs_relation_command.db_b"
    reads = (table("a", lake="parquet"),)

    found = (
        filled(*statement("a", 1, "", (), *reads), *statement(job, 2, "INSERT INTO b SELECT * FROM a", reads, _of_b()))
        .recover("db.a")
        .result
    )

    assert found.steps[-1].title == "Run the statement of shop.db_b again."
    assert [repeated.job for repeated in found.steps[-1].again] == [job]


def test_a_table_that_was_created_empty_by_a_run_without_a_text_is_emptied_and_filled_by_its_statement(
    filled: Fill,
) -> None:
    created = "app.execute_create_data_source_table_command.default_b"
    found = (
        filled(
            *application("app", 0, "python", "app.py"),
            *statement("a", 1, "", (), table("a", lake="parquet")),
            *statement(created, 2, "", (), _plain("b"), application="app"),
            *statement(
                "b", 3, "INSERT INTO b SELECT * FROM a", (table("a", lake="parquet"),), _of_b(), application="app"
            ),
        )
        .recover("db.a")
        .result
    )

    assert code_of(found) == [
        KEEP_B,
        *EMPTY_B,
        "(correct)",
        "INSERT INTO spark_catalog.db.b SELECT * FROM spark_catalog.db.a",
    ]


def _of_b() -> dict[str, Any]:
    return table("b", lake="parquet")


def test_a_version_that_no_recorded_run_made_is_bad_for_all_that_read_it(filled: Fill) -> None:
    found = filled(*three_layers()).recover("rates").result

    assert [(each.dataset, each.bad) for each in found.datasets] == [
        ("db.rates", ("91",)),
        ("db.clean", ("21", "22")),
        ("db.x", ("41",)),
        ("db.total", ("31",)),
    ]


def test_a_dataset_that_no_run_wrote_is_bad_since_the_time_that_is_named(filled: Fill) -> None:
    copy, files = "INSERT INTO ice.db.a SELECT * FROM db.files", table("files", lake="parquet")
    found = (
        filled(
            *statement("a", 1, copy, (files,), table("a", "11")),
            *statement("a", 5, copy, (files,), table("a", "12", parent="11")),
        )
        .recover("files", time="2026-01-01T00:03:00Z")
        .result
    )

    assert [(each.dataset, each.bad) for each in found.datasets] == [("db.files", ("",)), ("db.a", ("12",))]
    assert found.doubts == ("No run that wrote db.files is recorded: everything that has read it since counts as bad.",)
    assert code_of(found)[0] == "CALL ice.system.rollback_to_snapshot('ice.db.a', 11)"


def test_what_is_not_sure_is_said_where_it_matters(filled: Fill) -> None:
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement(
                "b",
                2,
                "INSERT INTO ice.db.b SELECT f(v), now() FROM ice.db.a JOIN news",
                (table("a", "11"),),
                table("b", "21", parent="20"),
                gaps=("f: a foreign function",),
            ),
            *statement("b", 3, "INSERT INTO ice.db.b SELECT * FROM ice.db.a", (table("a", "11"),), table("b"), ends=""),
            *statement("c", 4, "THIS is (no SQL", (table("b", "21"),), table("c", "31", parent="30")),
            *statement("d", 5, "", (table("b", "21"),), table("d", "41", parent="40")),
        )
        .recover("db.a")
        .result
    )

    assert found.doubts == ("db.b: the run b-3 of b never reported an end. It may have written there.",)
    by_job = {step.again[0].job: step for step in found.steps if step.again}
    assert by_job["b"].doubts == (
        "its event reports missing lineage: f: a foreign function",
        "news is left unchanged: it may be a temporary view",
        "now returns a different value when it runs again",
    )
    assert by_job["c"].language == by_job["d"].language == ""
    assert by_job["c"].doubts[0].startswith("its statement can't be parsed to pin what it reads (")
    assert by_job["c"].doubts[1] == "its statement is: THIS is (no SQL"
    assert by_job["d"].doubts == ("it is unknown how it was started",)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT map('a') FROM ice.db.a", "sqlglot fails with IndexError: "),
        (f"SELECT {'(' * 3000}v{')' * 3000} FROM ice.db.a", "it is nested too deeply"),
    ],
)
def test_a_statement_on_which_the_parser_itself_fails_is_shown(filled: Fill, query: str, reason: str) -> None:
    found = (
        filled(
            *statement("a", 1, "", (), table("a", "11")),
            *statement("b", 2, f"INSERT INTO ice.db.b {query}", (table("a", "11"),), table("b", "21", parent="20")),
        )
        .recover("db.a")
        .result
    )

    (doubts,) = [step.doubts for step in found.steps if step.again and step.again[0].job == "b"]
    assert doubts[0].startswith(f"its statement can't be parsed to pin what it reads ({reason}")
    assert doubts[1].startswith("its statement is: INSERT INTO ice.db.b SELECT")


@pytest.mark.long
@pytest.mark.slow
def test_a_statement_of_any_depth_is_written_again_or_refused() -> None:
    """The parser may read what is too deep for it to write."""
    made = [
        rewritten(f"INSERT INTO t {'SELECT * FROM (' * depth}SELECT 1{')' * depth}", (), (), {}, {})
        for depth in range(5, 1000, 5)
    ]

    assert made[0].text.startswith("INSERT INTO t SELECT * FROM (SELECT * FROM (")
    assert made[-1].doubts == ("its statement can't be parsed to pin what it reads (it is nested too deeply)",)
    assert {each.doubts[-1] for each in made if not each.text} <= {
        *("its statement is nested too deeply to be written again", made[-1].doubts[0]),
    }


def test_a_command_with_secrets_is_shown_and_not_run(filled: Fill) -> None:
    found = (
        filled(
            *application("app", 0, "spark-submit", "--conf", "k=[REDACTED]", "app.py", redacted=True),
            *statement("a", 1, "", (), table("a", "11")),
            *statement("b", 2, "", (table("a", "11"),), table("b", "21"), application="app"),
            *statement("x", 3, "", (), table("x", "91"), application="app"),
        )
        .recover("db.a")
        .result
    )

    step = found.steps[-1]
    assert (step.language, step.title) == ("", "Run app again.")
    assert step.notes == (
        "Its script: file:///jobs/app.py",
        "Its command: spark-submit --conf 'k=[REDACTED]' app.py",
    )
    assert step.doubts == (
        "parts of its command are left out because they are secret: put them in",
        "it also writes db.x, which need no recovery: prevent that",
    )


def test_only_the_datasets_that_a_column_reaches_are_bad(filled: Fill) -> None:
    def made_of(column: str, name: str) -> dict[str, Any]:
        found = table(name, "2")
        source = {"namespace": "file", "name": "/lake/db/a", "field": column, "transformations": []}
        found["facets"]["columnLineage"] = {"fields": {"v": {"inputFields": [source]}}}
        return found

    store = filled(
        *statement("a", 1, "", (), table("a", "1")),
        *statement("b", 2, "", (table("a", "1"),), made_of("p", "b")),
        *statement("c", 3, "", (table("a", "1"),), made_of("q", "c")),
        *statement("d", 4, "", (table("a", "1"),), table("d", "2")),
    )

    reached = {
        column: [e.dataset for e in store.recover("db.a", column=column).result.datasets] for column in ("p", "q")
    }
    assert reached == {"p": ["db.a", "db.b", "db.d"], "q": ["db.a", "db.c", "db.d"]}


def test_side_by_side_works_on_copies_and_switches_at_the_end(filled: Fill) -> None:
    found = filled(*three_layers()).recover("db.raw", version="12", mode="side-by-side").result

    clean = CLEAN_AGAIN.format("").replace("ice.db.clean", "ice.db.clean_s1").replace("db.raw ", "db.raw_s1 ")
    assert code_of(found) == [
        "CREATE TABLE ice.db.raw_s1 USING iceberg AS SELECT * FROM ice.db.raw VERSION AS OF 11",
        "CREATE TABLE ice.db.clean_s1 USING iceberg AS SELECT * FROM ice.db.clean VERSION AS OF 21",
        "CREATE TABLE ice.db.total_s1 USING iceberg AS SELECT * FROM ice.db.total WHERE false",
        "(correct)",
        clean,
        "INSERT INTO ice.db.raw_s1 SELECT * FROM ice.db.files",
        "INSERT OVERWRITE TABLE ice.db.total_s1 SELECT SUM(v) FROM ice.db.clean_s1",
        *(text for name in ("raw", "clean", "total") for text in (SWITCH.format(name), f"DROP TABLE ice.db.{name}_s1")),
    ]
    assert [step.title for step in found.steps if step.action == "correct"] == [
        "Put the correct data of version 12 into ice.db.raw_s1."
    ]


@pytest.mark.parametrize(
    ("correction", "planned"),
    [
        ("INSERT INTO ice.db.raw SELECT 1 AS v", "INSERT INTO ice.db.raw_s1 SELECT 1 AS v"),
        (
            "MERGE INTO db.raw AS r USING db.right AS n ON r.v = n.v WHEN MATCHED THEN UPDATE SET r.v = n.v",
            "MERGE INTO ice.db.raw_s1 AS r USING db.right AS n ON r.v = n.v WHEN MATCHED THEN UPDATE SET r.v = n.v",
        ),
        ("INSERT INTO ice.db.raw_s1 VALUES  (1)", "INSERT INTO ice.db.raw_s1 VALUES  (1)"),
    ],
)
def test_side_by_side_the_correction_of_a_table_goes_into_its_copy(filled: Fill, correction: str, planned: str) -> None:
    asked = filled(*three_layers()).recover("db.raw", version="12", mode="side-by-side", correction=(correction,))

    (step,) = (step for step in asked.result.steps if step.action == "correct")
    assert step.code == (planned,)


def test_side_by_side_a_table_that_something_else_wrote_since_its_copy_is_not_switched(filled: Fill) -> None:
    steps = filled(*three_layers()).recover("db.raw", version="12", mode="side-by-side").result.steps
    checks = {step.writes[0].parts[-1]: step.before for step in steps if step.action == "switch"}

    assert {name: [(each.check, each.version) for each in found] for name, found in checks.items()} == {
        "raw": [("newest", "13")],
        "clean": [("newest", "22")],
        "total": [("newest", "31")],
    }


def test_what_the_store_only_knows_to_have_been_there_is_checked_although_the_storage_may_have_forgotten_it(
    filled: Fill,
) -> None:
    insert = "INSERT INTO ice.db.audit SELECT * FROM ice.db.raw"
    events = [
        *statement("make", 0, "CREATE TABLE ice.db.audit (k INT)", (), table("audit", change="CREATE")),
        *statement("load", 1, "INSERT INTO ice.db.raw SELECT 1", (), table("raw", "1")),
        *statement("audit", 2, insert, (table("raw", "1"),), table("audit", "11")),
        # Somebody without the listener made version 12.
        *statement("audit", 3, insert, (table("raw", "1"),), table("audit", "13", parent="12")),
        *statement("load", 4, "INSERT INTO ice.db.raw SELECT 1", (), table("raw", "2", parent="1")),
        *statement("audit", 5, insert, (table("raw", "2"),), table("audit", "14", parent="13")),
    ]

    def unknown(*expired: str) -> set[tuple[str, tuple[str, ...]]]:
        steps = filled(*events).recover("db.raw", version="2", expired=expired).result.steps
        checks = [check for step in steps for check in step.before if check.table.parts[-1] == "audit"]
        return {(check.since, check.unknown) for check in checks if check.check == "newest"}

    assert unknown() == {("13", ())}
    assert unknown("13") == {("12", ())}
    assert unknown("13", "12", "11") == {("", ("12",))}


def test_no_statement_drops_a_copy_that_has_only_a_path() -> None:
    raw = DatasetFacts(1, "raw", "delta.`/lake/raw`", "delta", "file:///lake/raw")

    assert switched(raw, copy_name(raw, "_s1")) == (
        "INSERT OVERWRITE delta.`/lake/raw` SELECT * FROM delta.`/lake/raw_s1`",
    )


def chain(length: int, beside: int) -> Facts:
    """Return a chain of tables, each made from the one before, and other tables that have nothing to do with it."""
    every = range(length + beside)
    return Facts(
        {number: DatasetFacts(number, f"t{number}", f"t{number}", "delta") for number in every},
        {
            number: (MadeVersion(number, "", -1, "0", 0), MadeVersion(number, f"r{number}", -1, "1", number))
            for number in every
        },
        tuple(ReadFacts(number - 1, f"r{number}", -1, "1") for number in range(1, length)),
        {
            f"r{number}": RunFacts(f"r{number}", f"j{number}", sql=f"INSERT INTO t{number} VALUES (1)")
            for number in every
        },
    )


@pytest.mark.slow
def test_a_long_chain_is_planned_in_order_and_nothing_beside_it() -> None:
    facts = chain(1000, 500)
    flow = Flow(facts)
    found = spread(flow, HistoryPlace(0, 1))

    assert list(found.because) == [(number, 1) for number in range(1000)]
    assert set(to_repeat(flow, found, {})) == set(found.because)
    made = plan(facts, RecoveryRequest(HistoryPlace(0, 1), Mode.FULL))
    assert [each.again[0].run_id for each in made.steps if each.again] == [f"r{number}" for number in range(1, 1000)]


def test_the_same_plan_is_text_json_sql_and_shell(filled: Fill) -> None:
    found = filled(*streams()).recover("db.raw", version="2").result

    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert [step["number"] for step in found.to_dict()["steps"]] == [1, 2, 3, 4, 5, 6]
    text = PLAN_FORMATS["text"](found)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text.startswith(TEXT)
    assert PLAN_FORMATS["sql"](found).splitlines()[:8] == [
        "-- Recovery of db.raw from its version 2 (incremental).",
        "",
        "-- 1. Roll db.raw back to version 1.",
        "CALL ice.system.rollback_to_snapshot('ice.db.raw', 1);",
        "",
        "-- 2. Roll db.clean back to version 51.",
        "CALL ice.system.rollback_to_snapshot('ice.db.clean', 51);",
        "",
    ]
    shell = PLAN_FORMATS["shell"](found).splitlines()
    assert shell[:2] == ["#!/usr/bin/env bash", "set -euo pipefail"]
    assert """spark-sql -e 'CALL ice.system.rollback_to_snapshot('"'"'ice.db.raw'"'"', 1)'""" in shell
    assert "(cd /jobs && python app.py --from raw)" in shell
    assert "read -r -p '3. Put the correct data of version 2 into db.raw. Then press Enter. '" in shell


TEXT = """\
Recovery of db.raw from its version 2 (incremental)

2 datasets with 4 bad versions since 2026-01-01 00:04:30 UTC. 6 steps: 2
rollbacks, 1 correction, 1 checkpoint to reset, 2 runs to repeat. Last time the
runs took 30 seconds. Manual steps: 2. Uncertain steps: 0.

Affected datasets, in order:

- db.raw: versions 2, 3; last good version 1
- db.clean: versions 52, 53, from db.raw@2; last good version 51

1. Roll db.raw back to version 1.
     CALL ice.system.rollback_to_snapshot('ice.db.raw', 1)
"""


@pytest.mark.parametrize("name", ["ice.db.raw", "ICE.db.raw", "`ice`.db.`raw`"])
def test_a_table_is_found_by_its_name_with_the_catalog_as_plans_write_it(filled: Fill, name: str) -> None:
    store = filled(*three_layers())

    assert store.recover(name, version="12").result.steps == store.recover("db.raw", version="12").result.steps


@pytest.mark.parametrize("name", ["other.db.raw", "ice.ice.db.raw", "ice.raw.v", "ice"])
def test_a_table_of_another_catalog_is_not_taken_for_one_of_the_same_name(filled: Fill, name: str) -> None:
    with pytest.raises(NameNotFoundError, match=f"nothing is called '{name}'"):
        filled(*three_layers()).recover(name, version="12")


def test_the_command_shows_a_plan_and_does_nothing(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    taken(tmp_path / "s.db", streams())
    store = ["--store", str(tmp_path / "s.db")]

    assert main(["recover", "db.raw@2", *store]) == 0
    assert capsys.readouterr().out.startswith(TEXT)
    assert main(["recover", "db.raw@2", "--format", "json", *store]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["mode"] == "incremental"
    assert main(["recover", "db.raw@77", *store]) == 2
    assert "db.raw has no version '77'" in capsys.readouterr().err


def test_the_text_of_a_plan_has_one_blank_between_words_and_one_full_stop(filled: Fill) -> None:
    sql = "INSERT INTO db.a\n        SELECT *\n        FROM files"
    text = PLAN_FORMATS["text"](filled(*statement("a", 1, sql, (), table("a", lake="parquet"))).recover("db.a").result)

    assert "   - Its statement was: INSERT INTO db.a SELECT * FROM files\n" in text
    assert "   - Uncertain: db.a can't be rolled back: remove the bad data by hand.\n" in text


def test_a_plan_is_the_same_from_its_plain_values(filled: Fill) -> None:
    for events in (three_layers(), streams("delta")):
        answer = filled(*events).recover("db.raw", version="2" if len(events) > 14 else "12")
        read = valid_answer(answer.to_text("json"))["result"]
        assert RecoveryPlan.from_dict(read) == answer.result
        assert {"lastGood", "isClean"} < {*read["datasets"][0]}


NO_PLAN = ["", "[]", "{}", '{"mode": "full", "steps": [3]}', '{"schema": "3-0-0", "result": {"type": "plan"}}']


@pytest.mark.parametrize("text", NO_PLAN)
def test_a_file_without_a_plan_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text, "utf-8")

    assert main(["recover", "apply", str(file)]) == 2
    assert capsys.readouterr().err.startswith(
        f"openlineage-pyspark: {file} is not a plan written by `recover --output`: "
    )


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("steps",), {}, "steps must be an array"),
        (("steps", 0, "code"), "CALL x", "steps[0].code must be an array"),
        (("steps", 0, "writes", 0), ["a", "b"], "steps[0].writes[0] must be an object"),
        (("steps", 0, "before", 0, "version"), 3, "steps[0].before[0].version must be a text"),
        (("steps", 0, "move"), "/x", "steps[0].move must be an object"),
        (("steps", 0, "title"), None, "steps[0].title must be a text"),
        (("mode",), "sideways", "mode must be one of 'full', 'incremental', 'side-by-side'"),
        (("datasets", 0, "bad"), None, "datasets[0].bad must be an array"),
        (("since",), ..., "since is missing"),
    ],
)
def test_a_damaged_plan_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: tuple[Any, ...], value: object, said: str
) -> None:
    taken(tmp_path / "s.db", three_layers())
    file = tmp_path / "plan.json"
    assert main(["recover", "db.raw@12", "--store", str(tmp_path / "s.db"), "--output", str(file)]) == 0
    answer = json.loads(file.read_text("utf-8"))
    *above, last = ("result", *where)
    place = answer
    for each in above:
        place = place[each]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    file.write_text(json.dumps(answer), "utf-8")

    assert main(["recover", "apply", str(file)]) == 2
    assert capsys.readouterr().err == (
        f"openlineage-pyspark: {file} is not a plan written by `recover --output`: it is damaged: {said}. "
        "Plan again, or use an unchanged copy of the plan; if it was already started, only the copy can continue it\n"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is not JSON from line 1, column 1 on. "),
        (b'{\n"schema": "3-0-0",\n', "it is not JSON from line 3, column 1 on. "),
        (b"\xff\xfe", "it is not UTF-8 text. "),
        (b"[]", "it is not an answer of a command. "),
        (b'{"result": {"type": "rows"}}', "it is the answer of another command. "),
        (b'{"schema": "3-0-0", "result": {"type": "plan"}}', "it lacks 'question'. "),
        (b"[" * 100_000, "maximum recursion depth exceeded"),
    ],
)
def test_a_file_that_is_cut_or_none_of_a_plan_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str
) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(content)

    assert main(["recover", "apply", str(file)]) == 2
    assert f"`recover --output`: {said}" in capsys.readouterr().err


def test_a_plan_that_was_changed_by_hand_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken(tmp_path / "s.db", streams())
    file = tmp_path / "plan.json"
    assert main(["recover", "db.raw@2", "--store", str(tmp_path / "s.db"), "--output", str(file)]) == 0
    assert main(["recover", "db.raw@2", "--store", str(tmp_path / "s.db"), "--output", str(file)]) == 2
    assert f"{file} already exists" in capsys.readouterr().err
    text = file.read_text("utf-8")
    added = json.loads(text)
    added["result"]["steps"][0]["repeat"] = 3
    for changed in (text.replace("rollback_to_snapshot('ice.db.raw', 1)", "drop_all('ice.db.raw')"), json.dumps(added)):
        file.write_text(changed, "utf-8")

        assert main(["recover", "apply", str(file)]) == 2
        assert "it was changed since it was made" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--done", "--accept-doubt"])
def test_a_step_that_a_plan_does_not_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    taken(tmp_path / "s.db", streams())
    file = tmp_path / "plan.json"
    assert main(["recover", "db.raw@2", "--store", str(tmp_path / "s.db"), "--output", str(file)]) == 0
    steps = len(json.loads(file.read_text("utf-8"))["result"]["steps"])

    assert main(["recover", "apply", str(file), option, str(steps + 1)]) == 2
    assert f"there is no step {steps + 1}: the plan has {steps}" in capsys.readouterr().err


def test_a_table_that_a_plan_does_not_have_can_not_be_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken(tmp_path / "s.db", streams())
    file = tmp_path / "plan.json"
    assert main(["recover", "db.raw@2", "--store", str(tmp_path / "s.db"), "--output", str(file)]) == 0

    assert main(["recover", "apply", str(file), "--accept-newer", "db.raw"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("openlineage-pyspark: the plan has no table db.raw: it has ice.db.")
    assert "ice.db.raw" in said


def test_a_plan_made_within_a_recovery_says_what_it_may_lack_and_is_not_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, first, second = tmp_path / "s.db", tmp_path / "first.json", tmp_path / "second.json"
    taken(store, streams())
    asked = ["recover", "db.raw@2", "--store", str(store), "--output"]
    assert main([*asked, str(first)]) == 0
    begun = RecoveryPlan.from_dict(json.loads(first.read_text("utf-8"))["result"])
    journal = journal_of(begun, first)
    for number in range(1, len(begun.steps)):
        journal.write(JournalEntry(number, 0, "finished"))

    assert main([*asked, str(second), "--mode", "full"]) == 0
    [found] = json.loads(second.read_text("utf-8"))["diagnostics"]
    assert (found["code"], found["missing"], found["place"]) == ("unfinished-recovery", True, str(journal.path))
    assert "a recovery of this store is not finished" in "".join(capsys.readouterr())
    assert main(["recover", "apply", str(second), "--dry-run"]) == 2
    assert f"another recovery of this store is not finished ({journal.path})" in capsys.readouterr().err
    assert main(["recover", "apply", str(first), "--dry-run", "--resume"]) == 0
    assert begun.steps[0].title not in capsys.readouterr().out

    journal.write(JournalEntry(len(begun.steps), 0, "finished"))
    assert [each.is_unfinished for each in journals_of_store(store)] == [False]
    second.unlink()
    assert main([*asked, str(second)]) == 0
    assert json.loads(second.read_text("utf-8"))["diagnostics"] == []
    (journal.path.parent / "odd.jsonl").mkdir()
    assert main(asked[:-1]) == 2
    assert "odd.jsonl can't be read: Is a directory" in capsys.readouterr().err


def test_a_plan_in_the_file_of_an_older_one_is_not_continued_by_its_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, away, file = tmp_path / "s.db", tmp_path / "away.db", tmp_path / "plan.json"
    taken(store, streams())
    asked = ["recover", "db.raw@2", "--store", str(store), "--output", str(file)]
    assert main(asked) == 0
    old = RecoveryPlan.from_dict(json.loads(file.read_text("utf-8"))["result"])
    store.rename(away)
    for number in range(1, len(old.steps) + 1):
        journal_of(old, file).write(JournalEntry(number, 0, "finished"))
    away.rename(store)
    file.unlink()
    assert main([*asked, "--mode", "full"]) == 0
    store.rename(away)

    for option in ((), ("--resume",)):
        assert main(["recover", "apply", str(file), "--dry-run", *option]) == 2
        assert "is the journal of another plan, whose file had this name" in "".join(capsys.readouterr())
    file.rename(tmp_path / "other.json")
    assert main(["recover", "apply", str(tmp_path / "other.json"), "--dry-run"]) == 0


def test_the_journals_of_a_store_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store, file = tmp_path / "s.db", tmp_path / "plan.json"
    taken(store, streams())
    folder = tmp_path / "s.db.recovery"
    folder.mkdir()
    line = {"step": 1, "place": 0, "state": "finished", "time": "2020-01-01T00:00:00+00:00", "steps": 1}
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    assert main(["recover", "db.raw@2", "--store", str(store), "--output", str(file)]) == 0
    read, read_text = list[str](), Path.read_text

    def seen(path: Path, *how: Any, **named: Any) -> str:
        read.append(path.name)
        return read_text(path, *how, **named)

    monkeypatch.setattr(Path, "read_text", seen)
    assert main(["recover", "apply", str(file), "--dry-run"]) == 0
    assert capsys.readouterr().err == ""
    made = RecoveryPlan.from_dict(json.loads(read_text(file))["result"])
    assert sorted(each for each in read if each.endswith(".jsonl")) == sorted(
        ["a.jsonl", "b.jsonl", f"{made.id}.jsonl"]
    )


def _plain(name: str) -> dict[str, Any]:
    return table(name, lake="parquet", change="CREATE")


def test_what_was_rolled_back_already_is_not_repeated(filled: Fill) -> None:
    events = [
        *three_layers(),
        *statement("load", 8, "INSERT INTO ice.db.raw SELECT * FROM files", (), table("raw", "14", parent="11")),
        *statement("clean", 9, CLEAN, (table("raw", "14"), table("rates", "91")), table("clean", "23", parent="21")),
    ]
    found = filled(*events).recover("db.raw", version="12").result

    assert [(each.dataset, each.bad, each.is_clean) for each in found.datasets] == [
        ("db.raw", ("12", "13"), True),
        ("db.clean", ("22",), True),
        ("db.total", ("31",), False),
    ]
    assert code_of(found) == [SUM_AGAIN]


def test_the_page_shows_the_plan_of_its_example(filled: Fill) -> None:
    page = (Path(__file__).parents[3] / "docs" / "recovery.md").read_text("utf-8")
    shown = page.split("<!-- The plan of the test `three_layers`. -->\n```\n")[1].split("```")[0]

    assert shown == PLAN_FORMATS["text"](filled(*three_layers()).recover("db.raw", version="12").result)


def test_a_micro_batch_of_iceberg_that_ends_before_a_snapshot_did_not_read_it(filled: Fill) -> None:
    places = [json.dumps({"version": 1, "snapshot_id": number, "position": 0}) for number in (2, 3)]
    raw, clean = table("raw"), table("clean")
    found = (
        filled(
            *statement("load", 1, "", (), table("raw", "1")),
            *statement("load", 2, "", (), table("raw", "2", parent="1")),
            *stream(
                "s",
                3,
                raw,
                clean,
                batch(0, 3, raw, table("clean", "51"), "null", places[0]),
                batch(1, 3.1, raw, table("clean", "52", parent="51"), *places),
            ),
        )
        .recover("db.raw", version="2")
        .result
    )

    assert [(each.dataset, each.bad) for each in found.datasets] == [("db.raw", ("2",)), ("db.clean", ("52",))]
    assert "openlineage-pyspark checkpoint /state/s --back-to 0 --restored /lake/db/raw" in code_of(found)


def test_a_delta_table_that_is_named_by_its_path_is_so_in_statements(filled: Fill) -> None:
    def made(version: str, parent: str = "") -> dict[str, Any]:
        found = table("a", version, parent=parent, lake="delta")
        found["facets"]["symlinks"]["identifiers"][0]["name"] = "delta./lake/d.b/a"
        return found

    found = (
        filled(*statement("a", 1, "", (), made("0")), *statement("a", 2, "", (), made("1", "0")))
        .recover("d.b/a")
        .result
    )
    assert code_of(found)[0] == "RESTORE TABLE delta.`/lake/d.b/a` TO VERSION AS OF 0"


@pytest.mark.parametrize("lake", ["parquet", "delta"])
def test_what_was_written_after_the_bad_version_is_not_written_twice_if_it_can_not_be_rolled_back(
    filled: Fill, lake: str
) -> None:
    events = [
        event for minute in (1, 2, 3) for event in statement("a", minute, "INSERT INTO db.a VALUES (1)", (), _of(lake))
    ]
    found = filled(*events).recover("db.a", run="a-2").result

    assert code_of(found) == ["(correct)"]
    assert doubts_of(found) == ["db.a can't be rolled back: remove the bad data by hand"]


def _of(lake: str) -> dict[str, Any]:
    return table("a", lake=lake)


@pytest.mark.parametrize("lake", ["iceberg", "delta"])
def test_a_table_that_began_empty_and_got_bad_rows_first_is_emptied(filled: Fill, lake: str) -> None:
    create = "CREATE TABLE db.raw (k INT)"
    insert = "INSERT INTO db.raw SELECT * FROM db.files"
    files = table("files", lake="parquet")
    began = table("raw", "0" if lake == "delta" else "", change="CREATE", lake=lake)
    events = [
        *statement("begin", 1, create, (), began),
        *statement("load", 2, insert, (files,), table("raw", "1", parent="0" if lake == "delta" else "", lake=lake)),
        *statement("load", 3, insert, (files,), table("raw", "2", parent="1", lake=lake)),
    ]
    catalog = "ice" if lake == "iceberg" else "spark_catalog"
    begin = f"RESTORE TABLE {catalog}.db.raw TO VERSION AS OF 0" if lake == "delta" else f"DELETE FROM {catalog}.db.raw"

    found = filled(*events).recover("db.raw", version="1", correction=("INSERT INTO db.raw VALUES (1)",)).result

    again = f"INSERT INTO {catalog}.db.raw SELECT * FROM spark_catalog.db.files"
    assert code_of(found) == [begin, "INSERT INTO db.raw VALUES (1)", again]


def of_delta(name: str, version: str, change: str = "") -> dict[str, Any]:
    """Return a table of Delta Lake, whose versions are counted from its creation on."""
    parent = str(int(version) - 1) if version not in ("", "0") else ""
    return table(name, version, parent=parent, change=change, lake="delta")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_table_of_delta_without_versions_to_go_back_to_is_emptied_and_not_created_again(
    filled: Fill, *, is_first: bool
) -> None:
    """Its CREATE TABLE made a version, and would not run on the table that is there."""
    raw, made = "INSERT INTO db.raw VALUES ({})", "INSERT INTO db.made SELECT * FROM db.raw"
    events = [
        *statement("begin", 1, "CREATE TABLE db.raw (k INT) USING delta", (), of_delta("raw", "0", "CREATE")),
        *statement("begin", 2, "CREATE TABLE db.made (k INT) USING delta", (), of_delta("made", "0", "CREATE")),
        *statement("load", 3, raw.format(1), (), of_delta("raw", "1")),
        *statement("make", 4, made, (of_delta("raw", "1"),), of_delta("made", "1")),
        *statement("load", 5, raw.format(-2), (), of_delta("raw", "2")),
        *statement("make", 6, made, (of_delta("raw", "2"),), of_delta("made", "2")),
    ]
    name = "raw" if is_first else "made"

    found = filled(*events).recover(
        "db.raw",
        version="2",
        correction=("INSERT INTO db.raw VALUES (2)",),
        expired=(f"db.{name}@0", f"db.{name}@1"),
    )

    again = "INSERT INTO spark_catalog.db.{} SELECT * FROM spark_catalog.db.raw{}"
    assert code_of(found.result) == (
        [
            "DELETE FROM spark_catalog.db.raw",
            "RESTORE TABLE spark_catalog.db.made TO VERSION AS OF 1",
            "INSERT INTO spark_catalog.db.raw VALUES (1)",
            "INSERT INTO db.raw VALUES (2)",
            again.format("made", ""),
        ]
        if is_first
        else [
            "RESTORE TABLE spark_catalog.db.raw TO VERSION AS OF 1",
            "DELETE FROM spark_catalog.db.made",
            "INSERT INTO db.raw VALUES (2)",
            again.format("made", " VERSION AS OF 1"),
            again.format("made", ""),
        ]
    )


def test_a_clone_of_delta_is_made_again_over_the_one_that_is_there(filled: Fill) -> None:
    create = "CREATE TABLE IF NOT EXISTS db.made SHALLOW CLONE db.raw"
    events = [
        *statement("load", 1, "INSERT INTO db.raw VALUES (1)", (), of_delta("raw", "1")),
        *statement("load", 2, "INSERT INTO db.raw VALUES (-2)", (), of_delta("raw", "2")),
        *statement("copy", 3, create, (of_delta("raw", "2"),), of_delta("made", "0", "CREATE")),
    ]

    found = filled(*events).recover("db.raw", version="2", correction=("INSERT INTO db.raw VALUES (2)",)).result

    assert code_of(found) == [
        "RESTORE TABLE spark_catalog.db.raw TO VERSION AS OF 1",
        "INSERT INTO db.raw VALUES (2)",
        "DELETE FROM spark_catalog.db.made",
        "CREATE OR REPLACE TABLE spark_catalog.db.made SHALLOW CLONE spark_catalog.db.raw",
    ]


_NOT_THERE = "ON m.k = r.k WHEN NOT MATCHED THEN INSERT *"


@pytest.mark.parametrize(
    ("sql", "read", "again"),
    [
        (
            "CREATE OR REPLACE TABLE db.made SHALLOW CLONE db.rates VERSION AS OF 3",
            "rates",
            "CREATE OR REPLACE TABLE spark_catalog.db.made SHALLOW CLONE spark_catalog.db.rates VERSION AS OF 3",
        ),
        (
            "create table db.made shallow clone\n `db`.`rates` version as of 3 ;\n",
            "rates",
            "CREATE OR REPLACE TABLE spark_catalog.db.made SHALLOW CLONE spark_catalog.`db`.`rates` VERSION AS OF 3",
        ),
        (
            f"-- MERGE INTO x\nMERGE WITH SCHEMA EVOLUTION INTO db.made m USING db.raw r {_NOT_THERE}",
            "raw",
            f"MERGE WITH SCHEMA EVOLUTION INTO spark_catalog.db.made AS m USING spark_catalog.db.raw AS r {_NOT_THERE}",
        ),
    ],
)
def test_a_statement_that_only_spark_knows_is_repeated_as_it_was(sql: str, read: str, again: str) -> None:
    made, source = (
        DatasetFacts(number, f"db.{name}", f"spark_catalog.db.{name}", "delta", f"/lake/db/{name}")
        for number, name in ((1, "made"), (2, read))
    )

    found = rewritten(sql, [(source, "")], [made, source], {}, {})

    assert (found.text.replace("`", ""), found.doubts) == (again.replace("`", ""), ())


def test_a_clone_of_a_version_that_is_corrected_reads_what_is_corrected() -> None:
    made, raw = (
        DatasetFacts(number, f"db.{name}", f"spark_catalog.db.{name}", "delta", f"/lake/db/{name}")
        for number, name in ((1, "made"), (2, "raw"))
    )
    sql = "CREATE OR REPLACE TABLE db.made SHALLOW CLONE db.raw VERSION AS OF 2"

    found = rewritten(sql, [(raw, "")], [made, raw], {1: "db.made_s1"}, {2: "db.raw_s1"}, {2})

    assert found.text == "CREATE OR REPLACE TABLE db.made_s1 SHALLOW CLONE db.raw_s1"
    assert found.doubts == ("it named a version of db.raw, and now reads the current rows",)


@pytest.mark.parametrize(
    ("format_", "using"),
    [
        ("parquet", "parquet"),
        ("orc", "orc"),
        ("iceberg", "iceberg"),
        *((each, "parquet") for each in ("csv", "json", "")),
    ],
)
def test_a_copy_is_of_a_format_that_alters_no_row(format_: str, using: str) -> None:
    """CSV cuts off the blanks around strings, JSON parts of seconds; without USING it may be a Hive table of text."""
    table_ = DatasetFacts(1, "db.t", "db.t", format_, "/lake/db/t")
    assert copied_whole(table_, "db.t_kept") == f"CREATE TABLE db.t_kept USING {using} AS SELECT * FROM db.t"


@pytest.mark.parametrize("version", ["", " VERSION AS OF 2"])
def test_a_clone_keeps_its_location_and_a_copy_of_it_gets_another(version: str) -> None:
    made, raw = (
        DatasetFacts(number, f"db.{name}", f"spark_catalog.db.{name}", "delta", f"file:/lake/db/{name}")
        for number, name in ((1, "made"), (2, "raw"))
    )
    sql = f"CREATE TABLE db.made SHALLOW CLONE db.raw{version} LOCATION '{{}}';"

    def again(place: str, copies: dict[int, str]) -> Rewritten:
        return rewritten(sql.format(place), [(raw, "")], [made, raw], copies, {})

    clone = f"CREATE OR REPLACE TABLE {{}} SHALLOW CLONE spark_catalog.db.raw{version}"
    found = again("/lake/db/made/", {})
    assert (found.text, found.doubts) == (f"{clone.format('spark_catalog.db.made')} LOCATION '/lake/db/made/'", ())
    assert found.before == ("DELETE FROM spark_catalog.db.made",)
    copied = again("/lake/db/made/", {1: "spark_catalog.db.made_s1"})
    assert (copied.text, copied.doubts) == (clone.format("spark_catalog.db.made_s1"), ())
    assert again("/else", {}).doubts == ("it clones to /else, and the table is at file:/lake/db/made",)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE db.made SHALLOW CLONE db.raw TBLPROPERTIES ('a' = 'b') LOCATION '/lake/db/made'",
        "CREATE TABLE db.made (v INT) COMMENT 'a CLONE b' LOCATION '/lake/db/made'",
    ],
)
def test_a_clone_of_another_form_is_not_repeated_by_its_text(sql: str) -> None:
    made = DatasetFacts(1, "db.made", "spark_catalog.db.made", "delta", "/lake/db/made")
    assert rewritten(sql, [], [made], {}, {}).text == ""


@pytest.mark.parametrize("before", [" " * 5000, "/* a */" * 1000, "-- a\n" * 1000])
def test_a_statement_has_any_number_of_blanks_and_comments_before_it(before: str) -> None:
    """A pattern that takes them apart in several ways would try all of these for hours."""
    assert rewritten(f"{before}REPLACE TABLE a AS SELECT 1", (), (), {}, {}).text.endswith("SELECT 1")
    assert rewritten(f"{before}SELECT 1", (), (), {}, {}).text == ""


def test_a_table_of_delta_that_was_created_again_is_emptied_before_its_first_rows_are_made_again(filled: Fill) -> None:
    create, made = "CREATE TABLE db.made (k INT) USING delta", "INSERT INTO db.made SELECT * FROM db.raw"
    out = "INSERT INTO db.out SELECT * FROM db.made"
    events = [
        *statement("begin", 1, create, (), of_delta("made", "0", "CREATE")),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), of_delta("raw", "1")),
        *statement("make", 3, made, (of_delta("raw", "1"),), of_delta("made", "1")),
        *statement("tell", 4, out, (of_delta("made", "1"),), of_delta("out", "1")),
        *statement("end", 5, "DROP TABLE db.made", (), of_delta("made", "", "DROP")),
        *statement("begin", 6, create, (), of_delta("made", "0", "CREATE")),
    ]

    found = filled(*events).recover("db.raw", version="1", correction=("INSERT INTO db.raw VALUES (2)",)).result

    assert code_of(found)[-5:] == [
        "INSERT INTO db.raw VALUES (2)",
        "INSERT INTO spark_catalog.db.made SELECT * FROM spark_catalog.db.raw",
        "INSERT INTO spark_catalog.db.out SELECT * FROM spark_catalog.db.made",
        "DROP TABLE spark_catalog.db.made",
        "CREATE TABLE spark_catalog.db.made (k INT) USING DELTA",
    ]
    assert "DELETE FROM spark_catalog.db.made" in code_of(found)


def test_what_was_emptied_and_corrected_is_not_corrected_again(filled: Fill) -> None:
    insert = "INSERT INTO ice.db.raw SELECT * FROM ice.db.files"
    events = [
        *statement("begin", 1, "CREATE TABLE db.raw (k INT)", (), table("raw", change="CREATE")),
        *statement("load", 2, insert, (), table("raw", "1")),
        *statement("load", 3, "DELETE FROM ice.db.raw", (), table("raw", "2", parent="1", change="TRUNCATE")),
        *statement("load", 4, insert, (), table("raw", "3", parent="2")),
    ]

    assert filled(*events).recover("db.raw", version="1").result.steps == ()


def test_a_stream_whose_source_goes_back_is_set_back_too_if_its_rows_are_right() -> None:
    raw = DatasetFacts(1, "raw", "ice.db.raw", "iceberg", "file:///lake/raw")
    out = DatasetFacts(2, "out", "ice.db.out", "iceberg", "file:///lake/out")
    facts = Facts(
        {1: raw, 2: out},
        {
            1: tuple(MadeVersion(1, f"l{n}", -1, str(n), n, str(n - 1) if n > 1 else "") for n in (1, 2, 3)),
            2: tuple(MadeVersion(2, "q", n, str(n + 10), n + 1, str(n + 9) if n else "") for n in (0, 1, 2)),
        },
        tuple(ReadFacts(1, "q", n, str(n + 1), offset_from="{}", is_source=True) for n in (0, 1, 2)),
        {
            **{f"l{n}": RunFacts(f"l{n}", "load", 1, sql=f"INSERT INTO db.raw VALUES ({n})") for n in (1, 2, 3)},
            "q": RunFacts("q", "copy", 2, query="q", checkpoint="file:///state/q"),
        },
    )

    found = plan(
        facts, RecoveryRequest(HistoryPlace(1, 1), Mode.INCREMENTAL, lambda _job, _source, target: target != 2)
    )

    assert [each.dataset for each in found.datasets] == ["raw"]
    assert code_of(found) == [
        "CALL ice.system.rollback_to_snapshot('ice.db.raw', 1)",
        "CALL ice.system.rollback_to_snapshot('ice.db.out', 10)",
        "(correct)",
        "openlineage-pyspark checkpoint /state/q --back-to 0 --restored /lake/raw",
        "INSERT INTO ice.db.raw VALUES (3)",
        "(run)",
    ]


def read_before_its_first_rows(*, ends: str = "1", application_: str = "") -> list[dict[str, Any]]:
    """Return what joins the bad `raw` to `rates`, a table of Iceberg that was created and had no version yet."""
    sql = "INSERT INTO db.made SELECT raw.k, db.rates.v FROM db.raw LEFT JOIN db.rates ON raw.k = rates.k"
    return [
        *application("app", 0.5, "python", "app.py"),
        *statement("begin", 1, "CREATE TABLE db.rates (k INT)", (), table("rates", change="CREATE")),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, sql, (table("raw", "11"), table("rates")), table("made", "21"), application=application_),
        *statement("rate", 4, "INSERT INTO db.rates VALUES (1)", (), table("rates", "31", parent=ends)),
    ]


def test_a_table_that_had_no_version_yet_is_read_without_rows_again(filled: Fill) -> None:
    found = filled(*read_before_its_first_rows(ends="")).recover("db.raw", version="11").result

    without = "LEFT JOIN (SELECT * FROM ice.db.rates WHERE FALSE) AS rates ON raw.k = rates.k"
    assert found.steps[-1].code == (f"INSERT INTO ice.db.made SELECT raw.k, rates.v FROM ice.db.raw {without}",)
    assert found.steps[-1].doubts == ()
    assert [check.check for check in found.steps[-1].before] == ["newest"]


def test_a_table_whose_first_rows_somebody_unknown_wrote_may_have_had_them(filled: Fill) -> None:
    found = filled(*read_before_its_first_rows(ends="30")).recover("db.raw", version="11").result

    assert found.steps[-1].doubts[0].startswith("its event does not state which version of db.rates it read")


@pytest.mark.parametrize("lake", ["iceberg", "parquet"])
def test_an_application_that_reads_what_was_written_since_is_not_sure(filled: Fill, lake: str) -> None:
    versions = ("1", "2") if lake == "iceberg" else ("", "")
    rates = [table("rates", version, lake=lake) for version in versions]
    events = [
        *application("app", 0.5, "python", "app.py"),
        *statement("rate", 1, "INSERT INTO db.rates VALUES (1)", (), rates[0]),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, "", (table("raw", "11"), rates[0]), table("made", "21"), application="app"),
        *statement("rate", 4, "INSERT INTO db.rates VALUES (2)", (), rates[1]),
    ]
    found = filled(*events).recover("db.raw", version="11").result

    older = "let its code read ice.db.rates VERSION AS OF 1"
    older = f"it read version 1 of db.rates, and now reads what is current then: {older}"
    since = older if lake == "iceberg" else "db.rates was written since: it reads what is current then"
    assert found.steps[-1].code == ("python app.py",)
    assert found.steps[-1].doubts == (since,)
    current = () if lake == "iceberg" else ("rates",)
    assert [each.parts[-1] for each in found.steps[-1].reads] == ["raw", *current]


def test_the_name_of_a_restored_table_may_have_spaces(filled: Fill) -> None:
    raw = [table("raw", str(n), parent=str(n - 1) if n > 1 else "", lake="delta") for n in (1, 2, 3)]
    events = [
        *statement("load", 1, "INSERT INTO db.raw VALUES (1)", (), raw[0]),
        *statement("load", 2, "INSERT INTO db.raw VALUES (2)", (), raw[1]),
        *statement("back", 3, "RESTORE TABLE delta.`/lake/two words` TO VERSION AS OF 1", (), raw[2]),
    ]

    assert filled(*events).recover("db.raw", version="2").result.steps == ()


def made_by_an_application(*reads: str) -> list[dict[str, Any]]:
    """Return loads of `raw`, the second one bad, and an application that fills a table without versions from each."""
    insert = "INSERT INTO db.raw SELECT * FROM db.files"
    files, out = table("files", lake="parquet"), table("out", lake="parquet")
    events = application("app", 0, "python", "app.py")
    for place, minute in ((1, 1), (2, 5), (3, 9)):
        before = str(place - 1) if place > 1 else ""
        events += statement("load", minute, insert, (files,), table("raw", str(place), parent=before))
        if str(place) in reads:
            name = f"app{place}"
            events += application(name, minute + 2, "python", "app.py", str(place))
            events += statement("fill", minute + 3, "", (table("raw", str(place)),), out, application=name)
    return events


@pytest.mark.parametrize("lake", ["parquet", "iceberg"])
def test_an_application_does_not_find_the_rows_of_a_table_that_is_only_replaced_later(filled: Fill, lake: str) -> None:
    """The table is not rolled back, so that it has its newest rows, which are bad, until its run is repeated."""
    out, events = table("out", lake="parquet"), []
    for day in (1, 2):
        raw = table("raw", str(day), parent=str(day - 1) if day > 1 else "")
        mid = table("mid", str(day) if lake == "iceberg" else "", change="OVERWRITE", lake=lake)
        events += statement("load", 10 * day, "INSERT INTO db.raw VALUES (1)", (), raw)
        events += statement("sum", 10 * day + 2, "INSERT OVERWRITE db.mid SELECT * FROM db.raw", (raw,), mid)
        events += application(f"app{day}", 10 * day + 3, "python", "app.py", str(day))
        events += statement("fill", 10 * day + 4, "", (raw, mid), out, application=f"app{day}")

    steps = filled(*events).recover("db.raw", version="2").result.steps

    titles = [step.title for step in steps]
    assert titles.index("Run app1 again.") < titles.index("Run the statement of sum again.")
    older = (
        "it read version 1 of db.mid, and now reads what is current then: let its code read ice.db.mid VERSION AS OF 1"
    )
    since = older if lake == "iceberg" else "db.mid was written since: it reads what is current then"
    assert [step.doubts for step in steps if step.title.startswith("Run app")] == [(since,), ()]


def test_an_application_that_read_clean_data_runs_before_they_are_corrected(filled: Fill) -> None:
    found = filled(*made_by_an_application("1", "2", "3")).recover("db.raw", version="2").result

    runs = [step.title for step in found.steps if step.action in ("roll back", "correct", "run")]
    assert runs == [
        "Roll db.raw back to version 1.",
        "Run app1 again.",
        "Put the correct data of version 2 into db.raw.",
        "Run app2 again.",
        "Run the statement of load again.",
        "Run app3 again.",
    ]
    assert [step.doubts for step in found.steps if step.language == "shell"] == [(), (), ()]
    assert [[each.parts for each in step.reads] for step in found.steps if step.language == "shell"] == [
        [("ice", "db", "raw")]
    ] * 3


def test_an_application_that_read_data_before_those_that_are_clean_is_not_sure(filled: Fill) -> None:
    found = filled(*made_by_an_application("1", "2", "3")).recover("db.raw", version="3").result

    older = "let its code read ice.db.raw VERSION AS OF 1"
    assert [(step.title, step.doubts) for step in found.steps if step.action in ("correct", "run")] == [
        ("Run app1 again.", (f"it read version 1 of db.raw, and now reads what is current then: {older}",)),
        ("Run app2 again.", ()),
        ("Put the correct data of version 3 into db.raw.", ()),
        ("Run app3 again.", ()),
    ]


def test_an_application_that_changes_its_own_table_finds_it_as_it_was(filled: Fill) -> None:
    out = [table("out", str(n), parent=str(n - 1) if n > 1 else "") for n in (1, 2)]
    raw = [table("raw", str(n), parent=str(n - 1) if n > 1 else "") for n in (1, 2)]
    merge = "MERGE INTO db.out USING rows ON true WHEN MATCHED THEN UPDATE SET *"
    events = [
        *statement("load", 1, "INSERT INTO db.raw VALUES (1)", (), raw[0]),
        *statement("begin", 2, "INSERT INTO db.out VALUES (1)", (), out[0]),
        *statement("load", 3, "INSERT INTO db.raw VALUES (2)", (), raw[1]),
        *application("app2", 4, "python", "app.py"),
        *statement("fill", 5, merge, (raw[1], out[0]), out[1], application="app2"),
    ]

    found = filled(*events).recover("db.raw", version="2").result

    assert [(step.title, step.doubts) for step in found.steps if step.action == "run"] == [("Run app2 again.", ())]


def test_versions_of_the_same_unknown_parent_begin_at_one_place(filled: Fill) -> None:
    """Somebody unknown made version 7 of `out`, to which a recovery went back."""
    raw = [table("raw", str(n), parent=str(n - 1) if n > 1 else "") for n in (1, 2)]
    fill = "INSERT INTO db.out SELECT * FROM db.raw"
    load = "INSERT INTO db.raw SELECT * FROM db.files"
    again = table("raw", "3", parent="1")
    events = [
        *statement("load", 1, load, (), raw[0]),
        *statement("fill", 2, fill, (raw[0],), table("out", "6")),
        *statement("load", 3, load, (), raw[1]),
        *statement("fill", 4, fill, (raw[1],), table("out", "8", parent="7")),
        *statement("load", 5, load, (), again),
        *statement("fill", 6, fill, (again,), table("out", "9", parent="7")),
    ]

    assert filled(*events).recover("db.raw", version="2").result.steps == ()


def test_what_a_run_read_of_its_own_table_is_what_is_there_then(filled: Fill) -> None:
    raw = [table("raw", str(n), parent=str(n - 1) if n > 1 else "") for n in (1, 2)]
    merge = "MERGE INTO db.out USING db.raw ON true WHEN MATCHED THEN DELETE"
    events = [
        *statement("begin", 1, "CREATE TABLE db.out (k INT)", (), table("out", change="CREATE")),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), raw[0]),
        *statement("load", 3, "INSERT INTO db.raw VALUES (1)", (), raw[1]),
        *statement("fill", 4, merge, (raw[1], table("out")), table("out", "1")),
    ]

    assert doubts_of(filled(*events).recover("db.raw", version="2").result) == []


@pytest.mark.parametrize(
    ("sql", "whole"),
    [
        ("INSERT OVERWRITE db.t SELECT * FROM db.a", True),
        ("INSERT OVERWRITE db.t PARTITION (p = 1) SELECT k FROM db.a", False),
        ("INSERT OVERWRITE TABLE db.t PARTITION (p = '(', q) SELECT k FROM db.a", False),
        ("WITH a AS (SELECT 1 AS k) INSERT OVERWRITE db.t PARTITION (p = 1) SELECT k FROM a", False),
        ("INSERT OVERWRITE db.t PARTITION (p) SELECT k, p FROM db.a", None),
        ("INSERT OVERWRITE db.t SELECT k, sum(v) OVER (PARTITION BY (p = 1)) FROM db.a", True),
    ],
)
def test_an_overwrite_of_a_named_partition_keeps_the_others(sql: str, whole: bool | None) -> None:  # noqa: FBT001
    assert effect("OVERWRITE", sql, "job", "iceberg", was_there=True).whole is whole


def test_a_statement_of_which_parts_are_hidden_is_not_repeated_from_its_text() -> None:
    found = rewritten("INSERT INTO db.t SELECT coalesce(v, '***') FROM db.a", (), (), {}, {})

    assert (found.text, found.doubts) == ("", ("parts of its statement were hidden as possible secrets",))


@pytest.mark.parametrize(
    ("versions", "goes_back_to", "known"),
    [("8<7", "7", ()), ("6 8<7", "7", ("6", "8")), ("6 8<7 9<8", "8", ("6", "8", "9")), ("6 7<6 8<7", "7", ())],
)
@pytest.mark.parametrize("is_read", [False, True])
def test_a_version_of_somebody_unknown_to_which_a_table_goes_back_is_looked_at_in_the_storage(
    filled: Fill, versions: str, goes_back_to: str, known: tuple[str, ...], *, is_read: bool
) -> None:
    """Nobody knows whether one between versions that the store knows came before the bad data, or after them."""
    raw = [table("raw", str(n), parent=str(n - 1) if n > 1 else "") for n in (1, 2)]
    fill, load = "INSERT INTO db.out SELECT * FROM db.raw", "INSERT INTO db.raw SELECT * FROM db.files"
    made = [each.partition("<") for each in versions.split()]
    events = statement("load", 1, load, (), raw[0])
    if len(made) > 1:
        events += statement("fill", 2, fill, (raw[0],), table("out", made[0][0]))
    events += statement("load", 3, load, (), raw[1])
    for minute, (version, _, parent) in enumerate(made[1:-1], 4):
        reads = (table("out", parent),) if is_read else ()
        events += statement(
            "clean", minute, "DELETE FROM db.out WHERE k = 1", reads, table("out", version, parent=parent)
        )
    version, _, parent = made[-1]
    events += statement("fill", 9, fill, (raw[1],), table("out", version, parent=parent))

    found = filled(*events).recover("db.raw", version="2").result

    (step,) = (step for step in found.steps if step.title == f"Roll db.out back to version {goes_back_to}.")
    began = datetime(2026, 1, 1, 0, 3, tzinfo=timezone.utc).timestamp() * 1_000_000
    checks = [(each.version, each.since, each.known, each.time) for each in step.before if each.check == "clean"]
    assert checks == ([(goes_back_to, "6", known, began)] if known else [])
    assert [note.partition(" which run made")[0] for note in step.notes] == ["No event states"] * len(checks)


def view(name: str) -> dict[str, Any]:
    """Return a permanent view, as an event of what reads it names it beside the tables behind it."""
    catalog = {"framework": "spark", "type": "spark", "name": "spark_catalog"}
    facets = {"catalog": catalog, "datasetType": {"datasetType": "VIEW"}}
    return {"namespace": "file:/warehouse", "name": f"db.{name}", "facets": facets}


THROUGH_A_VIEW = "INSERT INTO ice.db.made SELECT * FROM ice.db.raw CROSS JOIN spark_catalog.db.rates_now"


# Of a view in a catalog of its own, Spark tells only the tables behind it.
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_a_statement_that_reads_other_rows_through_a_view_than_then_is_not_sure(
    filled: Fill, *, later: bool, is_known: bool
) -> None:
    read = (table("raw", "11"), *((view("rates_now"),) if is_known else ()), table("rates", "1"))
    events = [
        *statement("rate", 1, "INSERT INTO db.rates VALUES (1)", (), table("rates", "1")),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, THROUGH_A_VIEW, read, table("made", "21", parent="20")),
    ]
    if later:
        events += statement("rate", 4, "INSERT INTO db.rates VALUES (2)", (), table("rates", "2", parent="1"))

    step = filled(*events).recover("db.raw", version="11").result.steps[-1]

    assert step.code == (THROUGH_A_VIEW,)
    doubt = "it read version 1 of db.rates through a view; the repeated run reads what is current then"
    assert step.doubts == ((doubt,) if later else ())


def created(
    name: str, query: str, minute: float, source: dict[str, Any], *, verb: str = "CREATE OR REPLACE VIEW", **about: Any
) -> list[dict[str, Any]]:
    """Return the events of a CREATE VIEW."""
    made = view(name)
    made["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": "CREATE"}
    return statement("view", minute, f"{verb} db.{name} AS {query}", (source,), made, **about)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT v AS rate FROM ice.db.rates", "SELECT v AS rate FROM ice.db.rates VERSION AS OF 1"),
        ("SELECT r.v FROM db.rates r", "SELECT r.v FROM ice.db.rates VERSION AS OF 1 AS r"),
        # In a session of its own, where names may have meant others.
        ("SELECT v FROM rates", ""),
        ("SELECT v FROM ice.db.unknown", ""),
        ("WITH a AS (SELECT v FROM ice.db.rates) SELECT v FROM a", ""),
        # The table may have had other columns then.
        ("SELECT * FROM ice.db.rates", ""),
        ("SELECT v FROM (SELECT r.* FROM ice.db.rates r)", ""),
    ],
)
def test_a_view_whose_query_is_known_is_read_as_it_was(filled: Fill, query: str, read: str) -> None:
    rates = [table("rates", "1"), table("rates", "2", parent="1")]
    events = [
        *statement("rate", 0, "INSERT INTO db.rates VALUES (1)", (), rates[0]),
        *created("rates_now", query, 1, rates[0]),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement(
            "make",
            3,
            THROUGH_A_VIEW,
            (table("raw", "11"), view("rates_now"), rates[0]),
            table("made", "21", parent="20"),
        ),
        *statement("rate", 4, "INSERT INTO db.rates VALUES (2)", (), rates[1]),
        *created("rates_now", "SELECT -v AS rate FROM ice.db.rates", 5, rates[1]),
    ]

    step = filled(*events).recover("db.raw", version="11").result.steps[-1]

    opened = THROUGH_A_VIEW.replace("spark_catalog.db.rates_now", f"({read}) AS `rates_now`")
    assert step.code == ((opened if read else THROUGH_A_VIEW),)
    assert bool(step.doubts) is not bool(read)
    assert step.notes == (
        ("The query of the view db.rates_now replaces it, so that it reads the same versions as before.",)
        if read
        else ()
    )


@pytest.mark.parametrize(
    "about",
    [
        {"verb": "CREATE VIEW IF NOT EXISTS"},
        {"session": None},
        {"session": {"settings": {"spark.sql.session.timeZone": "Asia/Tokyo"}}},
    ],
)
def test_a_view_that_may_mean_something_else_is_not_read_by_its_query(filled: Fill, about: dict[str, Any]) -> None:
    rates = [table("rates", "1"), table("rates", "2", parent="1")]
    read = (table("raw", "11"), view("rates_now"), rates[0])
    events = [
        *statement("rate", 0, "INSERT INTO db.rates VALUES (1)", (), rates[0]),
        *created("rates_now", "SELECT v FROM ice.db.rates", 1, rates[0], **about),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, THROUGH_A_VIEW, read, table("made", "21", parent="20")),
        *statement("rate", 4, "INSERT INTO db.rates VALUES (2)", (), rates[1]),
    ]

    step = filled(*events).recover("db.raw", version="11").result.steps[-1]

    assert step.code == (THROUGH_A_VIEW,)
    assert step.doubts == ("it read version 1 of db.rates through a view; the repeated run reads what is current then",)


def test_side_by_side_the_query_of_a_view_reads_the_copy(filled: Fill) -> None:
    read = (view("raw_now"), table("raw", "11"))
    sql = "INSERT INTO ice.db.made SELECT raw_now.k FROM spark_catalog.db.raw_now"
    events = [
        *created("raw_now", "SELECT k FROM ice.db.raw", 1, table("raw", "10")),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, sql, read, table("made", "21", parent="20")),
    ]
    found = filled(*events).recover("db.raw", version="11", mode="side-by-side").result

    (step,) = (step for step in found.steps if step.action == "run")
    assert step.code == ("INSERT INTO ice.db.made_s1 SELECT raw_now.k FROM (SELECT k FROM ice.db.raw_s1) AS raw_now",)
    assert step.doubts == ()


def test_a_view_of_what_is_corrected_before_is_read_by_its_name(filled: Fill) -> None:
    sql = "INSERT INTO ice.db.made SELECT raw_now.k FROM spark_catalog.db.raw_now"
    raw = [table("raw", "11", parent="10"), table("raw", "12", parent="11")]
    events = [
        *created("raw_now", "SELECT k FROM ice.db.raw", 1, table("raw", "10")),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), raw[0]),
        *statement("make", 3, sql, (view("raw_now"), raw[0]), table("made", "21", parent="20")),
        *statement("load", 4, "INSERT INTO db.raw VALUES (2)", (), raw[1]),
    ]
    found = filled(*events).recover("db.raw", version="11").result

    (step,) = (step for step in found.steps if step.again and step.again[0].job.endswith("make"))
    assert step.code == (sql,)
    assert step.notes == ()
    assert ("ice", "db", "raw") in {each.parts for each in step.reads}


def test_a_statement_that_read_clean_data_through_a_view_runs_before_they_are_corrected(filled: Fill) -> None:
    """A table without versions is made again from its start, of which a part was right."""
    copy = "INSERT INTO db.out SELECT * FROM spark_catalog.db.raw_now"
    out, insert = table("out", lake="parquet"), "INSERT INTO db.raw SELECT * FROM db.files"
    events = []
    for place in (1, 2):
        raw = table("raw", str(place), parent=str(place - 1) if place > 1 else "")
        events += statement("load", place * 4, insert, (table("files", lake="parquet"),), raw)
        events += statement("copy", place * 4 + 2, copy, (view("raw_now"), raw), out)

    steps = filled(*events).recover("db.raw", version="2").result.steps

    assert [step.again[0].run_id if step.again else step.action for step in steps] == [
        "roll back",
        "keep",
        "empty",
        "copy-6",
        "correct",
        "copy-10",
    ]
    assert [step.doubts for step in steps if step.action == "run"] == [(), ()]


def test_side_by_side_a_view_of_what_is_copied_is_not_sure(filled: Fill) -> None:
    read = (view("raw_now"), table("raw", "11"))
    sql = "INSERT INTO ice.db.made SELECT * FROM spark_catalog.db.raw_now"
    events = [
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, sql, read, table("made", "21", parent="20")),
    ]
    found = filled(*events).recover("db.raw", version="11", mode="side-by-side").result

    (step,) = (step for step in found.steps if step.action == "run")
    assert step.doubts == ("it reads db.raw through a view, and so not the copy",)


@pytest.mark.parametrize("sql", ["UPDATE ice.db.made SET v = 1 WHERE v = 2", "DELETE FROM ice.db.made WHERE v = 2"])
def test_side_by_side_a_statement_that_changes_its_own_copy_reads_no_view(filled: Fill, sql: str) -> None:
    make = "INSERT INTO ice.db.made SELECT * FROM ice.db.raw"
    events = [
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, make, (table("raw", "11"),), table("made", "21", parent="20")),
        *statement("tidy", 4, sql, (table("made", "21"),), table("made", "22", parent="21")),
    ]
    found = filled(*events).recover("db.raw", version="11", mode="side-by-side").result

    runs = [step for step in found.steps if step.action == "run"]
    assert [(step.code, step.doubts) for step in runs[1:]] == [((sql.replace("made", "made_s1"),), ())]


@pytest.mark.parametrize(
    ("first", "doubts"),
    [
        (0, 0),
        # The store knows nothing of what the query made before.
        (7, 1),
    ],
)
def test_side_by_side_a_stream_with_a_new_checkpoint_begins_with_what_is_not_there_yet(
    filled: Fill, first: int, doubts: int
) -> None:
    """It reads all of the copy of its source again."""
    found = filled(*streams(first=first)).recover("db.raw", version="2", mode="side-by-side").result

    (made,) = (step for step in found.steps if step.action == "copy" and "clean" in step.title)
    (again,) = (step for step in found.steps if step.action == "run" and step.again[0].batches)
    assert made.code[0].endswith(" VERSION AS OF 50")
    assert again.again[0].batches[0] == first
    assert len([each for each in again.doubts if "makes these rows again" in each]) == doubts
    assert [each for each in again.notes if "continues after" in each] == []


@pytest.mark.parametrize(
    ("lake", "catalog", "behind"),
    [
        ("iceberg", "ice", "the option stream-from-timestamp: a millisecond after the version that this makes."),
        ("delta", "spark_catalog", "the option startingVersion: the version after the one that this makes."),
    ],
)
def test_side_by_side_a_stream_reads_all_before_the_switch_and_begins_behind_it(
    filled: Fill, lake: str, catalog: str, behind: str
) -> None:
    """The rows of the copy come as one version, which it can't pass; a new checkpoint alone would read all again."""
    steps = filled(*streams(lake)).recover("db.raw", version="2", mode="side-by-side").result.steps

    copy = f"{catalog}.db.raw_s1"
    places = [place for place, step in enumerate(steps) if step.title == f"Let s read all of {copy}, and stop it."]
    switches = [(place, step) for place, step in enumerate(steps) if step.action == "switch"]
    assert places == [switches[0][0] - 1]
    assert [step.notes for _, step in switches] == [
        ("Check the copy first.", f"Start s with a new checkpoint after this, and {behind}"),
        ("Check the copy first.",),
    ]


def test_side_by_side_a_statement_of_a_temporary_view_is_repeated_by_its_application(filled: Fill) -> None:
    """Its text alone would fail: the view was the application's."""
    events = [
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *application("app", 2.5, "python", "app.py"),
        *statement(
            *("make", 3, "INSERT INTO ice.db.made SELECT * FROM news", (table("raw", "11"),)),
            table("made", "21", parent="20"),
            application="app",
        ),
    ]
    found = filled(*events).recover("db.raw", version="11", mode="side-by-side").result

    (step,) = (step for step in found.steps if step.action == "run")
    assert (step.language, step.code, step.doubts) == ("", ("python app.py",), ())
    assert step.notes[:2] == (
        "Let it use ice.db.raw_s1 in place of db.raw.",
        "Let it use ice.db.made_s1 in place of db.made.",
    )
    assert [(check.check, check.table.parts, check.known) for check in step.after] == [
        ("made", ("ice", "db", "made_s1"), ("21",))
    ]


@pytest.mark.parametrize(
    ("is_first", "doubts"),
    [
        (
            False,
            ("db.made may have had rows before make-3: no recorded run can make them again",),
        ),
        # An event states that it had none.
        (True, ()),
    ],
)
def test_side_by_side_rows_of_no_recorded_run_are_not_lost_by_the_switch_unsaid(
    filled: Fill,
    is_first: bool,  # noqa: FBT001
    doubts: tuple[str, ...],
) -> None:
    made = table("made", lake="parquet")
    sql = "INSERT INTO db.made SELECT * FROM ice.db.raw"
    created = table("made", lake="parquet", change="CREATE")
    events = [
        *(statement("create", 1, "CREATE TABLE db.made (v INT) USING parquet", (), created) if is_first else ()),
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, sql, (table("raw", "11"),), made),
    ]
    found = filled(*events).recover("db.raw", version="11", mode="side-by-side").result

    assert [step.doubts for step in found.steps if step.action == "copy"] == [(), doubts]


@pytest.mark.parametrize("mode", ["incremental", "side-by-side"])
@pytest.mark.parametrize(
    ("last", "change", "expected"),
    [
        (2, "", ["5"]),
        # Of one run no event states how many rows it wrote, or it replaced some.
        (None, "", []),
        (2, "OVERWRITE", []),
    ],
)
def test_the_rows_of_a_table_without_versions_show_who_wrote_it_beside_the_store(
    filled: Fill, mode: ModeName, last: int | None, change: str, expected: list[str]
) -> None:
    def plain(rows: int | None, change: str = "") -> dict[str, Any]:
        found = table("made", lake="parquet", change=change)
        return found if rows is None else {**found, "outputFacets": {"outputStatistics": {"rowCount": rows}}}

    sql = "INSERT INTO db.made SELECT * FROM ice.db.raw"
    events = statement("create", 1, "CREATE TABLE db.made (v INT) USING parquet", (), plain(None, "CREATE"))
    events += statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10"))
    for minute, made in ((3, plain(3)), (4, plain(last, change))):
        events += statement("make", minute, sql, (table("raw", "11"),), made)
    steps = filled(*events).recover("db.raw", version="11", mode=mode).result.steps

    (keep,) = (step for step in steps if step.action == "keep")
    assert [check.version for check in keep.before if check.check == "rows"] == expected


@pytest.mark.parametrize(
    "sql", ["REPLACE TABLE {} {}", "-- daily\nreplace  table {} {}", "CREATE OR REPLACE TABLE {} {}"]
)
def test_a_table_that_was_replaced_by_a_query_is_replaced_again(filled: Fill, sql: str) -> None:
    sql = sql.format("ice.db.made", "USING iceberg AS SELECT 'REPLACE TABLE' AS t FROM ice.db.raw")
    events = [
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, sql, (table("raw", "11"),), table("made", "21", parent="20", change="OVERWRITE")),
    ]
    step = filled(*events).recover("db.raw", version="11").result.steps[-1]

    code = "CREATE OR REPLACE TABLE ice.db.made USING ICEBERG AS SELECT 'REPLACE TABLE' AS t FROM ice.db.raw"
    assert (step.language, step.doubts) == ("sql", ())
    assert [text.rpartition("*/ ")[2] for text in step.code] == [code]


def test_side_by_side_files_of_no_table_have_a_copy_too_that_a_person_puts_in_their_place(filled: Fill) -> None:
    files = {"namespace": "file", "name": "/lake/out", "facets": {"storage": {"fileFormat": "parquet"}}}
    files["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": "OVERWRITE"}  # type: ignore[index]
    events = [
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *application("app", 2.5, "python", "app.py"),
        *statement("make", 3, "", (table("raw", "11"),), files, application="app"),
    ]
    found = filled(*events).recover("db.raw", version="11", mode="side-by-side").result

    assert [step.action for step in found.steps] == ["copy", "correct", "run", "switch", "switch"]
    assert found.steps[2].notes[:2] == (
        "Let it use ice.db.raw_s1 in place of db.raw.",
        "Let it use file:/lake/out_s1 in place of lake/out.",
    )
    last = found.steps[-1]
    assert (last.language, last.title, last.notes) == (
        "",
        "Move the files of file:/lake/out away, and those of file:/lake/out_s1 there.",
        ("Check the copy first, and keep the old files.",),
    )
    assert last.doubts == ("lake/out may have had rows before make-3: no recorded run can make them again",)


def test_a_table_gets_all_rows_of_its_copy_under_any_setting_of_the_session(filled: Fill) -> None:
    found = filled(*three_layers()).recover("db.raw", version="12", mode="side-by-side").result

    assert {step.settings for step in found.steps if step.action == "switch"} == {
        (("spark.sql.sources.partitionOverwriteMode", "STATIC"),)
    }


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/lake/db/a.b", "ice.db.`a.b`"),
        ("/lake/db.db/a.b", "ice.db.`a.b`"),
        ("/lake/a.b", "ice.db.a.b"),
        ("/lake/db.a.b", "ice.db.a.b"),
        ("/lake/db/a/b", "ice.db.a.b"),
    ],
)
def test_a_table_whose_folder_is_in_that_of_its_namespace_and_has_a_dot_has_one_in_its_name(
    filled: Fill, folder: str, name: str
) -> None:
    """An event joins the parts of a name by dots, and quotes none."""
    sql = f"INSERT INTO {name} SELECT * FROM ice.db.raw"
    made = {**table("a.b", "21", parent="20"), "name": folder}
    events = [
        *statement("load", 2, "INSERT INTO db.raw VALUES (1)", (), table("raw", "11", parent="10")),
        *statement("make", 3, sql, (table("raw", "11"),), made),
    ]
    found = filled(*events).recover("db.raw", version="11").result

    assert code_of(found)[1] == f"CALL ice.system.rollback_to_snapshot('{name}', 20)"
    assert code_of(found)[-1] == sql
    assert found.steps[-1].doubts == ()
