"""What must hold before a plan is begun: the same rules that real tables keep, on tables as values."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.recovery.applying.checks import (
    Findings,
    after_problem,
    beside_problem,
    check_plan,
    lost_meanwhile,
    meanwhile_problem,
    read_problem,
    statement_problem,
)
from openlineage_pyspark.workbench.recovery.applying.live import (
    LiveStatement,
    LiveTable,
    LiveVersion,
    TableLayout,
    application_of,
    marked,
    partitions_in,
    with_catalog,
)
from openlineage_pyspark.workbench.recovery.model.plan import (
    Mode,
    RecoveryPlan,
    RecoveryStep,
    RepeatedRun,
    TableCheck,
    TableId,
)
from openlineage_pyspark.workbench.recovery.model.statements import copied_table, partitioned

TABLE = TableId(("ice", "db", "t"), "iceberg", "file:/lake/db/t")


def line(*versions: str, operation: str = "append", added: int = 1) -> LiveTable:
    """Return a table whose versions follow each other, the last one current."""
    found = {
        version: LiveVersion(version, versions[place - 1] if place else "", operation, "now", added)
        for place, version in enumerate(versions)
    }
    return LiveTable("/lake/db/t/", versions[-1] if versions else "", found)


@attrs.frozen
class Held:
    """A session of some tables, whose parser knows some statements, and that can't analyze others."""

    tables: dict[TableId, LiveTable]
    statements: dict[str, LiveStatement] = attrs.field(factory=dict)
    refused: str = ""
    files_are_there: bool = True
    rows: int = 0
    left: str = ""
    columns: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    layouts: tuple[TableLayout, TableLayout] = (TableLayout(()), TableLayout(()))

    def table(self, table: TableId, /) -> LiveTable | None:
        return next((live for each, live in self.tables.items() if each.parts == table.parts), None)

    def parsed(self, sql: str, /) -> LiveStatement:
        if sql in self.statements:
            return self.statements[sql]
        if sql.startswith("CALL "):
            return LiveStatement("Call", None)
        raise StoreError("Spark can't parse it")

    def problem_of(self, sql: str, /) -> str:
        return "no column" if sql == self.refused else ""

    def has_files_of(self, _table: TableId, _version: str, /) -> bool:
        return self.files_are_there

    def count_of(self, _table: TableId, /) -> int:
        return self.rows

    def files_of(self, _table: TableId, /) -> str:
        return ""

    def leftover(self, _table: TableId, /) -> str:
        return self.left

    def columns_of(self, _table: TableId, version: str = "", /) -> tuple[str, ...]:
        return self.columns.get(version, ())

    def layouts_of(self, _table: TableId, _version: str, /) -> tuple[TableLayout, TableLayout]:
        return self.layouts


def back(to: str = "1", newest: str = "3", table: TableId = TABLE) -> RecoveryStep:
    return RecoveryStep(
        "roll back",
        "Roll it back.",
        "sql",
        (f"CALL ice.system.rollback_to_snapshot('ice.db.t', {to})",),
        writes=(table,),
        before=(TableCheck("newest", table, newest), TableCheck("there", table, to)),
        after=(TableCheck("current", table, to),),
    )


def found(session: Held, *steps: RecoveryStep, **how: object) -> Findings:
    return check_plan(RecoveryPlan(Mode.INCREMENTAL, "t", "2", (), steps), session, **how)  # type: ignore[arg-type]


def test_a_table_that_is_as_the_store_knows_it_can_be_rolled_back() -> None:
    assert found(Held({TABLE: line("1", "2", "3")}), back()) == Findings()


@pytest.mark.parametrize(
    ("live", "step", "said"),
    [
        (line("1", "2", "3", "4", "5"), back(), "their rows would be lost: 5 (append, now), 4 (append, now)"),
        (line("1", "2"), back(), "has no version 3, the newest one in the store: it is another table"),
        (line("7", "8"), back(), "it is another table"),
        (line("1", "2", "3"), back(newest=""), "their rows would be lost: 3 (append, now), 2 (append, now), 1"),
        (line("1", "2", "3"), back("9"), "has no version 9: plan again with --expired ice.db.t@9"),
        (line("1", "2", "3"), back("1; DROP"), "has no version 1; DROP"),
        (
            attrs.evolve(line("1", "2", "3"), version="2"),
            back(),
            "is at version 2, but the newest version in the store is 3: the table was changed by something else",
        ),
        (attrs.evolve(line("1", "2", "3"), location="/lake/db/u"), back(), "is at /lake/db/u, but the store"),
    ],
)
def test_a_table_that_is_otherwise_stops_the_plan(live: LiveTable, step: RecoveryStep, said: str) -> None:
    problems = found(Held({TABLE: live}), step).problems

    assert any(said in problem.message for problem in problems), problems


def test_a_table_that_is_gone_stops_the_plan() -> None:
    assert {each.message for each in found(Held({}), back()).problems} == {"there is no table ice.db.t"}


def test_versions_of_unknown_writers_name_the_table_that_can_be_accepted() -> None:
    (problem,) = found(Held({TABLE: line("1", "2", "3", "4")}), back()).problems
    assert (problem.step, problem.newer) == (1, "ice.db.t")


OVERWRITE = "INSERT OVERWRITE TABLE ice.db.t SELECT k, v FROM ice.db.s"
DYNAMIC = (("spark.sql.sources.partitionOverwriteMode", "dynamic"),)
OTHER_COLUMNS = (
    "ice.db.t has the columns v, k, and had k, v when the run that it repeats made its version: values may get into "
    "other columns, unless each is named"
)
OTHER_PARTITIONS = (
    "ice.db.t has other partitions than when the run that it repeats made its version, and it replaces those of its "
    "rows: [ 1001: k: identity(1) ], and not [ 1000: day: identity(2) ]. So it may remove other rows than that run"
)


@pytest.mark.parametrize(
    ("then", "now", "settings", "job", "doubts"),
    [
        (TableLayout(("k", "v")), TableLayout(("k", "v")), DYNAMIC, "", []),
        (TableLayout(("k", "v")), TableLayout(("k", "v", "w")), (), "", []),
        (TableLayout(("k", "v")), TableLayout(("v", "k")), (), "", [OTHER_COLUMNS]),
        (
            TableLayout((), "[\n  1000: day: identity(2)\n]"),
            TableLayout((), "[\n  1001: k: identity(1)\n]"),
            DYNAMIC,
            "",
            [OTHER_PARTITIONS],
        ),
        (
            TableLayout((), "[\n  1000: day: identity(2)\n]"),
            TableLayout((), "[\n  1001: k: identity(1)\n]"),
            (),
            "app.overwrite_partitions_dynamic.t",
            [OTHER_PARTITIONS],
        ),
        (TableLayout((), "[]"), TableLayout((), "[\n  1001: k: identity(1)\n]"), (), "app.append_data.t", []),
        (TableLayout((), None), TableLayout((), "[\n  1001: k: identity(1)\n]"), DYNAMIC, "", []),
    ],
)
def test_a_run_is_uncertain_on_a_table_whose_layout_is_not_that_of_its_version(
    then: TableLayout, now: TableLayout, settings: tuple[tuple[str, str], ...], job: str, doubts: list[str]
) -> None:
    session = Held({TABLE: line("1", "2")}, {OVERWRITE: LiveStatement("InsertIntoStatement", TABLE.parts)})
    session = attrs.evolve(session, layouts=(then, now))
    step = RecoveryStep(
        "run",
        "Run it.",
        "sql",
        (OVERWRITE,),
        again=(RepeatedRun("r", job),),
        writes=(TABLE,),
        settings=settings,
        after=(TableCheck("like", TABLE, "2"),),
    )
    by_hand = attrs.evolve(step, language="shell", after=(TableCheck("made", TABLE, known=("2", "gone")),))
    copy = TableId(("ice", "db", "t_s1"), "iceberg")
    copied = RecoveryStep("copy", "Copy it.", writes=(copy,), before=(TableCheck("newest", TABLE, "2"),))
    on_copy = attrs.evolve(by_hand, after=(TableCheck("like", copy, "2"),))

    assert found(session, step).doubts == tuple((1, doubt) for doubt in doubts)
    assert found(session, by_hand).doubts == tuple((1, doubt) for doubt in doubts)
    assert found(session, copied, on_copy).doubts == tuple((2, doubt) for doubt in doubts)


@pytest.mark.parametrize(("restored", "is_refused"), [(("k", "v"), True), (("k",), False)])
def test_a_statement_on_a_table_whose_columns_a_restore_takes_back_is_not_analyzed_before_that(
    restored: tuple[str, ...], *, is_refused: bool
) -> None:
    table = TableId(("spark_catalog", "db", "t"), "delta", "file:/lake/db/t")
    insert = "INSERT INTO spark_catalog.db.t SELECT k FROM spark_catalog.db.s"
    restore = "RESTORE TABLE spark_catalog.db.t TO VERSION AS OF 0"
    parsed = {
        insert: LiveStatement("InsertIntoStatement", table.parts),
        restore: LiveStatement("RestoreTableStatement", table.parts),
    }
    session = Held({table: line("0", "1")}, parsed, refused=insert, columns={"": ("k", "v"), "0": restored})
    first = attrs.evolve(back("0", "1", table), code=(restore,))
    then = RecoveryStep("run", "Run it.", "sql", (insert,), writes=(table,))

    assert [each.message for each in found(session, first, then).problems] == [f"no column: {insert}"] * is_refused


@pytest.mark.parametrize(
    ("action", "target", "said"),
    [
        ("run", TABLE.parts, ""),
        ("run", ("ice", "db", "other"), "it writes ice.db.other, and the step is about ice.db.t"),
        ("correct", TABLE.parts, "AddColumns is not a kind of statement that the step correct may run"),
    ],
)
def test_a_run_may_alter_its_own_table_again(action: str, target: tuple[str, ...], said: str) -> None:
    alter = "ALTER TABLE ice.db.t ADD COLUMN w INT"
    session = Held({TABLE: line("1")}, {alter: LiveStatement("AddColumns", target)})
    step = RecoveryStep(action, "Alter it.", "sql", (alter,), writes=(TABLE,))  # type: ignore[arg-type]

    assert statement_problem(step, alter, session) == said


def test_a_copy_that_has_no_rows_of_its_own_may_be_dropped() -> None:
    copy = TableId(("ice", "db", "t_s1"), "iceberg")
    step = RecoveryStep("copy", "Copy it.", "sql", ("CTAS",), writes=(copy,))
    session = Held({copy: line("1")}, {"CTAS": LiveStatement("CreateTableAsSelect", copy.parts)})

    assert [each.message for each in found(session, step).problems] == [
        "ice.db.t_s1 already exists: inspect it, then drop or rename it"
    ]


@pytest.mark.parametrize("known", [True, False])
def test_a_restore_that_takes_back_properties_which_no_run_sets_again_is_uncertain(*, known: bool) -> None:
    table = TableId(("spark_catalog", "db", "t"), "delta", "file:/lake/db/t")
    live = line("0", "1", "2")
    altered = attrs.evolve(live.versions["2"], operation="SET TBLPROPERTIES")
    live = attrs.evolve(live, versions={**live.versions, "2": altered})
    newest = TableCheck("newest", table, "1", known=("0", "1", *(("2",) if known else ())))
    step = attrs.evolve(back("0", table=table), before=(newest,), after=(TableCheck("current", table, "0"),))

    doubt = (
        "it also takes back properties of spark_catalog.db.t that were changed since, and no step sets them again: "
        "2 (SET TBLPROPERTIES, now)"
    )
    assert found(Held({table: live}), step).doubts == (() if known else ((1, doubt),))


def test_a_table_that_can_be_accepted_is_quoted_for_a_shell() -> None:
    odd = TableId(("ice", "db", "two words"), "iceberg", TABLE.location)
    every = found(Held({odd: line("1", "2", "3", "4")}), back(table=odd)).problems
    (problem,) = (each for each in every if each.newer)
    assert problem.newer == "ice.db.`two words`"
    assert problem.message.rpartition("accept that with ")[2] == "--accept-newer 'ice.db.`two words`'"


def test_a_version_off_the_line_of_ancestors_is_set_as_current() -> None:
    """Versions between expired: the procedure that wants an ancestor would refuse it in the middle of the plan."""
    live = line("1", "2", "3")
    cut = {each: version for each, version in live.versions.items() if each != "2"}
    findings = found(Held({TABLE: attrs.evolve(live, versions=cut)}), back())

    assert (findings.problems, findings.detached) == ((), frozenset({1}))


def test_files_of_a_delta_version_that_are_gone_stop_the_plan() -> None:
    table = attrs.evolve(TABLE, format="delta")
    restore = "RESTORE TABLE ice.db.t TO VERSION AS OF 1"
    step = attrs.evolve(back(table=table), code=(restore,))
    parsed = {restore: LiveStatement("RestoreTableStatement", table.parts)}

    assert found(Held({table: line("1", "2", "3")}, parsed), step).problems == ()
    (problem,) = found(Held({table: line("1", "2", "3")}, parsed, files_are_there=False), step).problems
    assert problem.message == "files of ice.db.t at version 1 are gone: plan again with --expired ice.db.t@1"


def test_what_a_plan_has_done_is_measured_against_where_it_left_the_tables() -> None:
    """After the roll back the table is at version 1, and that is no writing of somebody unknown."""
    live = attrs.evolve(line("1", "2", "3"), version="1")
    again = RecoveryStep(
        "run", "Run it.", "sql", ("INSERT",), writes=(TABLE,), before=(TableCheck("newest", TABLE, "3"),)
    )
    session = Held({TABLE: live}, {"INSERT": LiveStatement("InsertIntoStatement", TABLE.parts)})

    assert found(session, back(), again, done=[1], reached={"ice.db.t": "1"}).problems == ()
    (problem,) = found(session, back(), again, done=[1], reached={"ice.db.t": "2"}).problems
    # That a loss was accepted before the table went back does not cover what came afterwards.
    assert (problem.step, problem.newer) == (2, "")
    assert problem.message.startswith(
        "this recovery left ice.db.t at version 2, but it is at 1: something else wrote it"
    )


@pytest.mark.parametrize(
    ("action", "kind", "target", "said"),
    [
        ("run", "InsertIntoStatement", ("ICE", "db", "T"), ""),
        ("run", "InsertIntoStatement", ("db", "t"), "it writes db.t, and the step is about ice.db.t"),
        ("run", "InsertIntoStatement", ("ice", "db", "t", "branch_b"), "it writes ice.db.t.branch_b"),
        ("run", "InsertIntoStatement", None, "it does not name what it writes"),
        ("run", "AddJarsCommand", None, "AddJarsCommand is not a kind of statement"),
        ("run", "CallStatement", None, "CallStatement is not a kind of statement"),
        ("correct", "DropTable", ("ice", "db", "t"), "DropTable is not a kind of statement"),
        ("roll back", "DeleteFromTable", ("ice", "db", "t"), "DeleteFromTable is not a kind of statement"),
        ("roll back", "Call", None, "it is not the statement that rolls its table back"),
        ("keep", "DropTable", ("ice", "db", "t"), "DropTable is not a kind of statement"),
        ("switch", "DropTable", ("ice", "db", "t"), "it drops the table itself"),
        (
            "checkpoint",
            "InsertIntoStatement",
            ("ice", "db", "t"),
            "is not a kind of statement that the step checkpoint",
        ),
    ],
)
def test_a_statement_is_of_the_kind_of_its_step_and_writes_its_table(
    action: Any, kind: str, target: tuple[str, ...] | None, said: str
) -> None:
    step = RecoveryStep(action, "Do it.", "sql", ("X",), writes=(TABLE,), after=(TableCheck("current", TABLE, "1"),))
    problem = statement_problem(step, "X", Held({}, {"X": LiveStatement(kind, target)}))

    assert problem.startswith(said) or said in problem
    assert bool(problem) == bool(said)


@pytest.mark.parametrize(
    ("target", "whole"),
    [
        (("db", "t"), ("spark_catalog", "db", "t")),
        (("ice", "db", "t"), ("ice", "db", "t")),
        (("ice", "t"), ("ice", "t")),
        (("db", "t", "branch_b"), ("spark_catalog", "db", "t", "branch_b")),
        # It may be a temporary view.
        (("t",), ("t",)),
        (("delta", "/lake/t"), ("delta", "/lake/t")),
    ],
)
def test_a_table_that_a_person_names_without_its_catalog_is_in_the_current_one(
    target: tuple[str, ...], whole: tuple[str, ...]
) -> None:
    assert with_catalog(target, lambda name: name in ("ice", "spark_catalog"), "spark_catalog") == whole


def test_a_statement_that_can_not_be_analyzed_stops_the_plan_unless_a_step_before_makes_what_it_reads() -> None:
    insert = "INSERT INTO ice.db.t SELECT x FROM ice.db.copy"
    copy = TableId(("ice", "db", "copy"), "iceberg")
    step = RecoveryStep("run", "Run it.", "sql", (insert,), writes=(TABLE,), reads=(copy,))
    keep = RecoveryStep("copy", "Copy it.", "sql", ("CTAS",), writes=(copy,))
    parsed = {
        insert: LiveStatement("InsertIntoStatement", TABLE.parts),
        "CTAS": LiveStatement("CreateTableAsSelect", copy.parts),
    }
    session = Held({TABLE: line("1")}, parsed, refused=insert)

    assert [each.message for each in found(session, step).problems] == [f"no column: {insert}"]
    assert found(session, keep, step).problems == ()
    # The name of what the step before makes begins like that of what it reads.
    other = attrs.evolve(keep, writes=(TableId(("ice", "db", "cop"), "iceberg"),))
    session = attrs.evolve(
        session, statements={**parsed, "CTAS": LiveStatement("CreateTableAsSelect", other.writes[0].parts)}
    )
    assert [each.message for each in found(session, other, step).problems] == [f"no column: {insert}"]


def test_a_copy_that_is_there_stops_the_plan_unless_the_step_was_begun() -> None:
    copy = TableId(("ice", "db", "copy"), "iceberg")
    keep = RecoveryStep("keep", "Keep it.", "sql", ("CTAS",), writes=(copy,))
    session = Held({copy: line("1")}, {"CTAS": LiveStatement("CreateTableAsSelect", copy.parts)})

    assert [each.message for each in found(session, keep).problems] == [
        "ice.db.copy already exists: inspect it, then rename it, because its rows may be nowhere else"
    ]
    assert found(session, keep, begun=[1]).problems == ()


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (LiveVersion("4", "3", "append", "now", 1_000), []),
        (LiveVersion("4", "3", "append", "now", None), []),
        (
            LiveVersion("4", "3", "overwrite", "now", 1_000),
            ["made by overwrite, and the one that it repeats by append"],
        ),
        (LiveVersion("4", "3", "append", "now", 3), ["added 3 rows, and the one that it repeats 1000"]),
    ],
)
def test_after_a_step_its_version_is_like_the_one_that_it_repeats(new: LiveVersion, said: list[str]) -> None:
    live = line("1", "2", "3", added=1_000)
    after = attrs.evolve(live, version="4", versions={**live.versions, "4": new})
    step = RecoveryStep("run", "Run it.", "sql", ("X",), writes=(TABLE,), after=(TableCheck("like", TABLE, "2"),))

    session = Held({TABLE: after}, {"X": LiveStatement("InsertIntoStatement", TABLE.parts)})
    problems = list(after_problem(step, {"ice.db.t": "3"}, session))
    assert len(problems) == len(said)
    assert all(words in problem for words, problem in zip(said, problems, strict=True))


@pytest.mark.parametrize(("kind", "stops"), [("ReplaceTableAsSelect", False), ("InsertIntoStatement", True)])
def test_iceberg_calls_a_table_that_is_replaced_by_a_query_otherwise_than_a_new_one(kind: str, *, stops: bool) -> None:
    live = line("1", "2")
    live = attrs.evolve(live, version="3", versions={**live.versions, "3": LiveVersion("3", "", "overwrite", "now", 1)})
    step = RecoveryStep("run", "Run it.", "sql", ("X",), writes=(TABLE,), after=(TableCheck("like", TABLE, "2"),))

    session = Held({TABLE: live}, {"X": LiveStatement(kind, TABLE.parts)})

    assert bool([*after_problem(step, {"ice.db.t": "2"}, session)]) == stops


@pytest.mark.parametrize("now", ["CREATE OR REPLACE TABLE AS SELECT", "WRITE", "MERGE"])
def test_delta_lake_calls_a_table_that_is_created_where_it_is_there_otherwise(now: str) -> None:
    delta = TableId(("spark_catalog", "db", "t"), "delta", "file:/lake/db/t")
    check = TableCheck("like", delta, "0")
    step = RecoveryStep("run", "Run it.", "sql", ("X",), writes=(delta,), after=(check,))
    then = LiveVersion("0", "", "CREATE TABLE AS SELECT", "now", 3)
    live = LiveTable("/lake/db/t", "1", {"0": then, "1": LiveVersion("1", "0", now, "now", 3)})

    said = [*after_problem(step, {"spark_catalog.db.t": "0"}, Held({delta: live}))]

    differs = "the new version was made by MERGE, and the one that it repeats by CREATE TABLE AS SELECT"
    assert said == ([f"spark_catalog.db.t: {differs}"] if now == "MERGE" else [])


@pytest.mark.parametrize(
    ("kind", "job", "then", "now", "is_like"),
    [
        # What is left of a file after a DELETE depends on the data.
        ("DeleteFromTable", "", "delete", "overwrite", True),
        ("DeleteFromTable", "", "overwrite", "delete", True),
        ("MergeIntoTable", "", "append", "overwrite", True),
        ("InsertIntoStatement", "", "overwrite", "delete", True),
        ("InsertIntoStatement", "", "append", "overwrite", False),
        ("InsertIntoStatement", "", "overwrite", "append", False),
        ("UpdateTable", "", "overwrite", "replace", False),
        ("", "etl.replace_data.db_t", "append", "overwrite", True),
        ("", "etl.append_data.db_t", "append", "overwrite", False),
        ("", "etl.append_data.db_replace_data.t", "append", "overwrite", False),
    ],
)
def test_iceberg_calls_a_commit_after_its_files_and_the_same_statement_may_make_others(
    kind: str, job: str, then: str, now: str, *, is_like: bool
) -> None:
    live = line("1", "2", "3")
    versions = {each: attrs.evolve(live.versions["2"], operation=name) for each, name in (("2", then), ("4", now))}
    after = attrs.evolve(live, version="4", versions={**live.versions, **versions})
    again = (RepeatedRun("run", job),) if job else ()
    check = TableCheck("like", TABLE, "2")
    step = RecoveryStep(
        "run", "Run it.", "sql" if kind else "shell", ("X",), again=again, writes=(TABLE,), after=(check,)
    )
    session = Held({TABLE: after}, {"X": LiveStatement(kind, TABLE.parts)})

    assert (list(after_problem(step, {"ice.db.t": "3"}, session)) == []) is is_like
    delta = attrs.evolve(TABLE, format="delta")
    step = attrs.evolve(step, writes=(delta,), after=(TableCheck("like", delta, "2"),))
    assert list(after_problem(step, {"ice.db.t": "3"}, session)) != []


@pytest.mark.parametrize(
    ("known", "operation", "said"),
    [
        (("2", "3"), "append", []),
        (("3",), "append", ["ice.db.t has versions between others that the store does not know"]),
        # A compaction changes no row.
        (("3",), "replace", []),
    ],
)
def test_a_version_between_others_of_unknown_origin_stops_the_plan(
    known: tuple[str, ...], operation: str, said: list[str]
) -> None:
    check = TableCheck("newest", TABLE, "3", "1", known)
    step = attrs.evolve(back(), before=(check, TableCheck("there", TABLE, "1")))

    problems = found(Held({TABLE: line("1", "2", "3", operation=operation)}), step).problems

    assert [(each.message.partition(",")[0], each.newer) for each in problems] == [(text, "ice.db.t") for text in said]


@pytest.mark.parametrize(
    ("now", "known", "stops"), [("b", "a", True), ("a", "a", False), ("", "a", False), ("b", "", False)]
)
def test_a_table_with_another_id_is_another_table_and_no_option_takes_it(now: str, known: str, stops: bool) -> None:  # noqa: FBT001
    live = attrs.evolve(line("1", "2", "3"), table_id=now)
    check = TableCheck("newest", TABLE, "3", table_id=known)

    problems = found(Held({TABLE: live}), attrs.evolve(back(), before=(check,))).problems

    said = "ice.db.t is another table: its id is b, and the one that the store knows had a"
    assert [(each.newer, each.message.partition(". ")[0]) for each in problems] == [("", said)] * stops


@pytest.mark.parametrize(("seconds", "stops"), [(20, False), (3600, True)])
def test_a_version_that_was_committed_after_its_run_is_of_another_table(seconds: int, stops: bool) -> None:  # noqa: FBT001
    live = line("1", "2", "3")
    later = attrs.evolve(live.versions["3"], micros=(1_000 + seconds) * 1_000_000)
    live = attrs.evolve(live, versions={**live.versions, "3": later})
    check = TableCheck("newest", TABLE, "3", "1", ("2", "3"), 1_000_000_000)

    problems = found(Held({TABLE: live}), attrs.evolve(back(), before=(check,))).problems

    assert [(each.newer, "it is another table" in each.message) for each in problems] == [("ice.db.t", True)] * stops


@pytest.mark.parametrize(
    ("unknown", "stops"),
    [
        ({}, True),
        ({"parent": ""}, True),
        ({"micros": 400}, False),
        ({"micros": 600}, True),
        ({"is_empty": True}, False),
        # A compaction changes no row.
        ({"operation": "replace"}, False),
    ],
)
def test_what_a_version_comes_from_and_nobody_knows_is_older_than_the_bad_data_or_adds_none(
    unknown: dict[str, Any],
    stops: bool,  # noqa: FBT001
) -> None:
    live = line("1", "2", "3", "4")
    made = attrs.evolve(live.versions["2"], **unknown)
    live = attrs.evolve(live, versions={**live.versions, "2": made})
    clean = TableCheck("clean", TABLE, "3", "1", ("1", "3", "4"), 500)
    step = attrs.evolve(back("3", "4"), before=(*back("3", "4").before, clean))

    problems = found(Held({TABLE: live}), step).problems

    assert [each.newer for each in problems] == ["ice.db.t"] * stops
    assert all("No event states which run made version 2 before it (append, now)" in each.message for each in problems)


@pytest.mark.parametrize(("began", "stops"), [(500, True), (900, False)])
def test_what_a_version_comes_from_and_expired_may_be_made_of_bad_data(began: int, stops: bool) -> None:  # noqa: FBT001
    live = line("1", "2", "3", "4")
    known = attrs.evolve(live.versions["3"], micros=800)
    live = attrs.evolve(live, versions={"3": known, "4": live.versions["4"]})
    clean = TableCheck("clean", TABLE, "3", "1", ("1", "3", "4"), began)

    problems = found(Held({TABLE: live}), attrs.evolve(back("3", "4"), before=(clean,))).problems

    assert ["No event states which run made version 2 before it (it expired)" in each.message for each in problems] == (
        [True] * stops
    )


@pytest.mark.parametrize("operation", ["replace", "OPTIMIZE", "VACUUM END"])
def test_a_table_whose_files_somebody_has_tidied_up_is_as_the_store_knows_it(operation: str) -> None:
    live = line("1", "2", "3", "4")
    tidied = attrs.evolve(live.versions["4"], operation=operation)
    live = attrs.evolve(live, versions={**live.versions, "4": tidied})

    assert found(Held({TABLE: live}), back()).problems == ()
    # Before that somebody has written.
    assert [each.newer for each in found(Held({TABLE: live}), back(newest="2")).problems] == ["ice.db.t"]


DELTA = attrs.evolve(TABLE, format="delta")


def restored(*made: str) -> LiveTable:
    """Return a table of Delta Lake: each version is a WRITE, or the RESTORE of the version that is named."""
    versions = {}
    for number, to in enumerate(made, 1):
        operation = "RESTORE" if to else "WRITE"
        versions[str(number)] = LiveVersion(str(number), str(number - 1), operation, "now", 1, restored=to)
    return LiveTable("/lake/db/t/", str(len(made)), versions)


@pytest.mark.parametrize(
    ("live", "problems"),
    [
        (restored("", "", "", "1"), []),
        # A RESTORE of what a RESTORE had brought back.
        (restored("", "", "", "1", "4"), []),
        (restored("", "", "", "2"), ["ice.db.t is at version 4, and not at 1"]),
        (restored("", "", "", "1", ""), ["ice.db.t is at version 5, and not at 1"]),
        (restored(""), ["ice.db.t is at version 1, and not at 1"]),
    ],
)
def test_a_table_of_delta_is_back_if_the_restore_was_that_of_the_plan(live: LiveTable, problems: list[str]) -> None:
    step = back(table=DELTA)

    assert [*after_problem(step, {"ice.db.t": "3"}, Held({DELTA: live}))] == problems


def test_a_restore_of_the_newest_version_makes_none() -> None:
    """Runs that wrote no rows made no version: a table is back already where the first of them was bad."""
    step = back("3", table=DELTA)

    assert [*after_problem(step, {"ice.db.t": "3"}, Held({DELTA: restored("", "", "")}))] == []


@pytest.mark.parametrize(
    ("live", "problems"),
    [
        (restored("", "", "", "", "3"), 0),
        (restored("", "", "", "", "2"), 1),
    ],
)
def test_a_table_of_delta_that_somebody_restored_to_where_the_recovery_left_it_is_there(
    live: LiveTable, problems: int
) -> None:
    restore = "RESTORE TABLE ice.db.t TO VERSION AS OF 1"
    parsed = {restore: LiveStatement("RestoreTableStatement", TABLE.parts)}
    step = attrs.evolve(back(table=DELTA), code=(restore,))

    assert len(found(Held({DELTA: live}, parsed), step, reached={"ice.db.t": "3"}).problems) == problems


def test_a_restore_of_another_version_is_no_step_of_the_plan() -> None:
    restore = "RESTORE TABLE ice.db.t TO VERSION AS OF 2"
    parsed = {restore: LiveStatement("RestoreTableStatement", TABLE.parts)}

    problem = statement_problem(back(table=DELTA), restore, Held({}, parsed))

    assert problem == "it is not the statement that rolls its table back"


@pytest.mark.parametrize(
    ("own", "mark"), [("", "local-17"), ("nightly load", "nightly load local-17"), ('{"a": 1}', '{"a": 1} local-17')]
)
def test_the_mark_of_a_recovery_keeps_the_users_own_metadata(own: str, mark: str) -> None:
    assert marked(own, "local-17") == mark
    assert application_of(mark) == "local-17"


@pytest.mark.parametrize(("metadata", "by"), [(None, "another"), ("", "another"), (" ", "another"), ("a b", "b")])
def test_the_metadata_of_other_versions_name_another_application(metadata: str | None, by: str) -> None:
    assert application_of(metadata) == by


@pytest.mark.parametrize(
    ("there", "unknown", "said"),
    [
        # Nothing of it is left but what the next version said of it.
        (("4",), ("2",), "2 (it expired)"),
        (("2", "4"), ("2",), "2 (append, now)"),
        (("1", "2", "3", "4"), ("2",), "2 (append, now)"),
        # No run made the one before it either, and it may have expired too.
        (("3", "4"), ("3",), "3 (append, now), 2 (it expired)"),
        (("4",), (), ""),
    ],
)
def test_a_version_of_unknown_origin_that_expired_is_one_that_nothing_makes_again(
    there: tuple[str, ...], unknown: tuple[str, ...], said: str
) -> None:
    every = line("1", "2", "3", "4")
    live = attrs.evolve(every, versions={each: every.versions[each] for each in there})
    known = tuple(each for each in ("1", "3", "4") if each not in unknown)
    check = TableCheck("newest", TABLE, "4", "", known, unknown=unknown)

    problems = found(Held({TABLE: live}), attrs.evolve(back(), before=(check,))).problems

    about = "ice.db.t has versions between others that the store does not know, and that no run here makes again: "
    assert [each.message.removeprefix(about).partition(". Ingest")[0] for each in problems] == [said] * bool(said)


def test_a_table_that_had_no_version_and_that_something_else_wrote_is_not_as_it_was() -> None:
    step = RecoveryStep("run", "Run it.", "sql", ("X",), writes=(TABLE,))

    assert [*meanwhile_problem(step, {"ice.db.t": ""}, Held({TABLE: line("1")}))] == [
        "something else wrote ice.db.t after version (none), while this recovery ran: 1 (append, now)"
    ]
    assert [*meanwhile_problem(step, {"ice.db.t": ""}, Held({TABLE: line()}))] == []


@pytest.mark.parametrize(
    ("made", "lost"),
    [
        (LiveVersion("4", "3", "append", "now"), "4 (append, now)"),
        (LiveVersion("4", "3", "replace", "now"), ""),
        (LiveVersion("4", "3", "RESTORE", "now", restored="1"), ""),
    ],
)
def test_what_something_else_wrote_between_the_check_and_the_roll_back_is_named(made: LiveVersion, lost: str) -> None:
    there = line("1", "2", "3")
    live = attrs.evolve(there, version="1", versions={**there.versions, "4": made})

    found = [*lost_meanwhile(back(), {"ice.db.t": there.versions.keys()}, Held({TABLE: live}))]

    assert [each.partition(": ")[2].partition(". ")[0] for each in found] == [lost] * bool(lost)
    assert [*lost_meanwhile(back(), {}, Held({TABLE: live}))] == []


COLUMNS = [("id", "int"), ("day of", "int"), ("at", "timestamp")]


@pytest.mark.parametrize(
    ("below", "partitions"),
    [
        ([], ()),
        # A table of Spark, and one of Iceberg that is partitioned by columns alone.
        ([("# Partition Information", ""), ("# col_name", "data_type"), ("day of", "int")], ("`day of`",)),
        ([("# Partition Information", ""), ("# col_name", "data_type"), ("`day of`", "int")], ("`day of`",)),
        (
            [
                ("", ""),
                ("# Partitioning", ""),
                ("Part 0", "days(at)"),
                ("Part 1", "bucket(4, id)"),
                ("", ""),
                ("x", "y"),
            ],
            ("days(at)", "bucket(4, id)"),
        ),
    ],
)
def test_what_a_table_is_partitioned_by_is_read_from_its_description(
    below: list[tuple[str, str]], partitions: tuple[str, ...]
) -> None:
    assert partitions_in([*COLUMNS, *below]) == partitions


def test_a_copy_beside_a_table_has_its_partitions() -> None:
    sql = "CREATE TABLE ice.db.`a AS b_s1` USING iceberg AS SELECT * FROM ice.db.`a AS b` VERSION AS OF 3"

    assert partitioned(sql, ()) == sql
    assert partitioned(sql, ("day", "days(at)")) == (
        "CREATE TABLE ice.db.`a AS b_s1` USING iceberg PARTITIONED BY (day, days(at)) AS "
        "SELECT * FROM ice.db.`a AS b` VERSION AS OF 3"
    )


@pytest.mark.parametrize("which", ["", " VERSION AS OF 3", " VERSION AS OF -4", " WHERE false"])
def test_the_table_that_a_copy_is_made_of_is_named_in_its_statement(which: str) -> None:
    sql = f"CREATE TABLE delta.`/lake/beside` USING delta AS SELECT * FROM delta.`/lake/a WHERE b`{which}"

    assert copied_table(sql) == "delta.`/lake/a WHERE b`"
    assert copied_table(f"CREATE TABLE a SHALLOW CLONE b{which}") == ""


@pytest.mark.parametrize(("rows", "accepted"), [(5, ()), (7, ("spark_catalog.db.plain",))])
def test_a_table_without_versions_that_something_else_wrote_is_seen_by_its_rows(
    rows: int, accepted: tuple[str, ...]
) -> None:
    plain = TableId(("spark_catalog", "db", "plain"), "parquet", "file:/lake/db/plain")
    copy = TableId(("spark_catalog", "db", "plain_before_recovery"), "parquet")
    sql = "CREATE TABLE spark_catalog.db.plain_before_recovery USING parquet AS SELECT * FROM spark_catalog.db.plain"
    keep = RecoveryStep("keep", "Keep it.", "sql", (sql,), writes=(copy,), before=(TableCheck("rows", plain, "5"),))
    session = Held(
        {plain: LiveTable("/lake/db/plain")}, {sql: LiveStatement("CreateTableAsSelect", copy.parts)}, rows=rows
    )

    problems = found(session, keep).problems

    assert tuple(each.newer for each in problems) == accepted
    assert [each.message.partition(": ")[0] for each in problems] == [
        "spark_catalog.db.plain has 7 rows, and the runs in the store wrote 5"
    ] * len(accepted)


RAW, RAW2 = (TableId(("ice", "db", name), "iceberg") for name in ("raw", "raw2"))


@pytest.mark.parametrize(
    ("code", "reads", "said"),
    [
        (("INSERT INTO ice.db.t SELECT * FROM ice.db.raw2",), (RAW2,), ()),
        (("INSERT INTO ice.db.t SELECT 'ice.db.raw' FROM ice.db.files",), (), ()),
        (("INSERT INTO ice.db.t SELECT * FROM ice.db.raw",), (RAW,), ("it reads ice.db.raw",)),
        # As a statement reads a table through a view, or by a part of its name, and an application in its code.
        (("INSERT INTO ice.db.t SELECT * FROM ice.db.raw_now",), (RAW,), ("it reads ice.db.raw",)),
        ((), (RAW, RAW2), ("it reads ice.db.raw",)),
        (("MERGE INTO ice.db.raw USING ice.db.files",), (RAW,), ()),
    ],
)
def test_what_something_else_wrote_stops_a_step_that_reads_that_table_and_no_other_one(
    code: tuple[str, ...], reads: tuple[TableId, ...], said: tuple[str, ...]
) -> None:
    target = RAW if code and code[0].startswith("MERGE") else TABLE
    step = RecoveryStep("run", "Run it.", "sql" if code else "shell", code, writes=(target,), reads=reads)
    session = Held({RAW: line("1", "2"), RAW2: line("1")})

    problems = [*read_problem(step, {RAW: "1", RAW2: "1"}, (), session)]

    assert [each.partition(", which something else wrote after version 1")[0] for each in problems] == [*said]


def _written(*more: LiveVersion, version: str) -> LiveTable:
    """Return a table that an application `own` wrote in three versions and a recovery rolled back to the first."""
    found = {each: attrs.evolve(made, application="own") for each, made in line("1", "2", "3").versions.items()}
    return LiveTable("/lake/db/t", version, {**found, **{each.version: each for each in more}})


BEFORE, THERE = {"ice.db.t": "1"}, {"ice.db.t": ("1", "2", "3")}
OWN = LiveVersion("4", "1", "append", "now", application="own")
OTHERS = LiveVersion("5", "4", "append", "now", application="another")
TIDIED = attrs.evolve(OTHERS, operation="replace")


@pytest.mark.parametrize(
    ("live", "said"),
    [
        # The application of the recovery wrote the bad versions too.
        (_written(OWN, version="4"), ""),
        (_written(OWN, TIDIED, version="5"), ""),
        (_written(OWN, OTHERS, version="5"), "something else wrote ice.db.t while it ran: 5 (append, now). Its rows "),
        (_written(OWN, version="1"), "something else has rolled ice.db.t back while it ran: it is at version 1"),
        # A statement that changes no row makes no version.
        (_written(version="1"), ""),
    ],
)
def test_what_something_else_wrote_beside_a_statement_is_seen(live: LiveTable, said: str) -> None:
    step = RecoveryStep("run", "Run it again.", "sql", ("INSERT",), writes=(TABLE,))

    problems = [*beside_problem(step, BEFORE, THERE, {"own"}, Held({TABLE: live}))]

    assert [each[: len(said)] for each in problems] == ([said] if said else [])


@pytest.mark.parametrize("version", ["4", "1"])
def test_only_what_came_before_a_roll_back_is_lost_by_it(version: str) -> None:
    """What came after it is there, and the table is not at the version."""
    others = LiveVersion("4", "3" if version == "1" else "1", "append", "now", application="another")
    session = Held({TABLE: _written(others, version=version)})

    assert len([*lost_meanwhile(back(), THERE, session)]) == (version == "1")
    assert len([*after_problem(back(), {"ice.db.t": "3"}, session)]) == (version == "4")


@pytest.mark.parametrize("action", ["keep", "copy"])
def test_files_where_a_copy_would_be_stop_the_plan_before_its_first_step(action: str) -> None:
    copy = TableId(("spark_catalog", "db", "copy"), "parquet")
    step = RecoveryStep(action, "Copy it.", "sql", ("CTAS",), writes=(copy,))  # type: ignore[arg-type]
    session = Held({}, {"CTAS": LiveStatement("CreateTableAsSelect", copy.parts)}, left="/lake/db.db/copy")
    stopped = (
        "/lake/db.db/copy has files, so spark_catalog.db.copy can't be made there: inspect them, then move them away"
    )

    assert [each.message for each in found(session, step).problems] == [stopped]
    # A statement that was killed leaves such files, too.
    assert [each.message for each in found(session, step, begun=[1]).problems] == [stopped]
    assert found(attrs.evolve(session, left=""), step).problems == ()
