"""What statements without a plan do to tables: scripts, what is compared by its text, and what manages tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.workbench.predict.scripts import Script, StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.rebuild.findings import findings_of
from openlineage_pyspark.workbench.rebuild.formats import markdown_of_plan, text_of_plan
from openlineage_pyspark.workbench.rebuild.places import may_share, shared_path_of
from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan, TablePlan, rebuild_plan
from openlineage_pyspark.workbench.rebuild.reading import step_of_script, steps_of_answers
from openlineage_pyspark.workbench.rebuild.statements import FileStep, ScriptWrite, plain_text
from openlineage_pyspark.workbench.rebuild.surroundings import surroundings_of
from openlineage_pyspark.workbench.report import Lineage

if TYPE_CHECKING:
    from pathlib import Path


def script(code: str, reads: tuple[str, ...] | None, *targets: str) -> FileStep:
    """Return a script."""
    writes = tuple(ScriptWrite(target, f"job.py:{line}", "id INT") for line, target in enumerate(targets, 7))
    return FileStep("job.py", 3, "job.py", "script", targets=targets, reads=reads, writes=writes, code=code)


def statement(text: str, kind: str, *targets: str, known: bool = True) -> FileStep:
    """Return a statement without a plan."""
    return FileStep("a.sql", 1, text, kind, targets=targets, is_known=known)


def needs(before: list[FileStep], after: list[FileStep]) -> dict[str, str]:
    """Return what each table needs that needs something."""
    return {each.table: each.action for each in rebuild_plan(before, after).made}


FIRST = script("1", ("s3://lake/raw",), "s3://lake/silver")
SECOND = script("2", ("s3://lake/silver",), "gold.a", "gold.b")
THIRD = script("3", ("s3://lake/other",), "gold.c")


def test_a_script_stays_if_its_code_and_all_that_it_reads_stay() -> None:
    steps = [FIRST, SECOND, THIRD]

    assert needs(steps, steps) == {}
    assert needs(steps, [FIRST, SECOND, script("4", THIRD.reads, "gold.c")]) == {"gold.c": "make"}
    assert needs(steps, [script("4", FIRST.reads, "s3://lake/silver"), SECOND, THIRD]) == {
        "s3://lake/silver": "make",
        "gold.a": "make",
        "gold.b": "make",
    }


def test_a_path_keeps_its_capitals_and_may_be_the_same_place_in_others() -> None:
    def steps(code: str) -> list[FileStep]:
        return [
            script(code, (), "file:/Data/Out", "Db.Silver"),
            script("2", ("file:/data/out",), "gold.a"),
            script("3", ("db.SILVER",), "gold.b"),
        ]

    assert list(needs(steps("1"), steps("4"))) == ["file:/Data/Out", "db.silver", "gold.a", "gold.b"]


def test_a_script_is_rebuilt_if_a_table_that_it_may_ask_for_its_columns_has_others() -> None:
    wider = attrs.evolve(FIRST, code="4", writes=(ScriptWrite("s3://lake/silver", "job.py:7", "id INT, name STRING"),))

    assert needs([FIRST, THIRD], [wider, THIRD]).keys() == {"s3://lake/silver", "gold.c"}


def test_a_script_that_gets_values_of_rows_may_make_them_of_any_table() -> None:
    read = Dataset(Identifier("db", "a"))
    made = Lineage((read,), ((Dataset(Identifier("db", "b")), ColumnLineage(())),), ())
    at = ScriptStatement("df.count()", "job.py", 2, 1)
    found = [StatementLineage(at, made), StatementLineage(at, is_of_rows=True)]

    assert [step_of_script(Script("job.py", "x"), found[:n], "").reads for n in (1, 2)] == [("db/a",), None]


def test_cells_of_a_notebook_that_are_no_sql_decide_about_all_that_follows() -> None:
    text = "# Databricks notebook source\nx = {}\n# COMMAND ----------\n# MAGIC %sql\n# MAGIC SELECT {}"
    table = statement("x", "", "a", known=False)

    def notebook(python: int, sql: int) -> list[FileStep]:
        return [*steps_of_answers((), (), [Script("n.py", text.format(python, sql))]), table]

    assert needs(notebook(1, 1), notebook(1, 2)) == {}
    assert needs(notebook(1, 1), notebook(2, 1)) == {"a": "make"}


def test_a_script_that_is_made_again_says_how_it_is_compared() -> None:
    found = rebuild_plan([FIRST, SECOND], [script("4", FIRST.reads, "s3://lake/silver"), SECOND])

    assert {each.reason for each in found.made} == {
        "it can't be proven unchanged: a script is compared by its code and everything that it reads"
    }


def test_what_a_script_may_read_is_everything_if_it_is_not_known() -> None:
    unsure = script("2", None, "gold.a")

    changed = [script("4", FIRST.reads, "s3://lake/silver"), unsure]

    assert needs([FIRST, unsure], changed) == {"s3://lake/silver": "make", "gold.a": "make"}


def test_a_path_within_another_one_is_read_with_it() -> None:
    part = script("1", ("x",), "s3a://lake/silver/day=1/")
    whole = script("2", ("s3://lake/silver",), "gold.a")
    beside = script("3", ("s3://lake/silverware",), "gold.b")

    changed = script("9", ("x",), "s3a://lake/silver/day=1/")

    assert needs([part, whole, beside], [changed, whole, beside]).keys() == {"s3a://lake/silver/day=1/", "gold.a"}


@pytest.mark.parametrize(
    "shape",
    [
        "no JSON",
        "[]",
        '[{"c": "CreateTableAsSelect", "a": {}, "o": []}]',
        '[{"c": "CreateTableAsSelect", "a": {"query": ["r", 7]}, "o": []}]',
        '[{"c": "AppendData", "a": {"table": 3, "query": ["r"]}, "o": []}]',
        '[{"c": "MergeIntoTable", "a": {"targetTable": ["r", 0]}, "o": []}]',
    ],
)
def test_a_plan_that_can_not_be_read_is_compared_by_its_text(shape: str) -> None:
    one, other = (FileStep("a.sql", 1, text, "CreateTableAsSelect", shape, ("t",)) for text in "ab")

    assert needs([one], [one]) == {}
    assert needs([one], [other]) == {"t": "make"}


def test_a_part_of_a_path_that_is_written_later_is_a_part_of_what_was_written_before() -> None:
    whole, reader = script("1", ("x",), "s3://lake/silver"), script("3", ("s3://lake/silver",), "gold.a")
    before, after = (script(code, ("y",), "s3://lake/silver/day=1") for code in "ab")

    assert needs([whole, before, reader], [whole, after, reader]).keys() == {"s3://lake/silver/day=1", "gold.a"}


def test_a_statement_of_which_nothing_is_known_decides_about_all_that_follows() -> None:
    table = statement("x", "", "a", known=False)
    call = statement("CALL p(1)", "", known=False)

    assert needs([call, table], [call, table]) == {}
    assert needs([call, table], [statement("CALL p(2)", "", known=False), table]) == {"a": "make"}
    assert needs([table, call], [table, statement("CALL p(2)", "", known=False)]) == {}


@pytest.mark.parametrize(
    "kind", ["SetCommand", "ResetCommand", "CreateVariable", "CreateFunction", "NobodyKnowsCommand"]
)
def test_what_sets_something_decides_about_all_that_follows(kind: str) -> None:
    table = statement("x", "", "a", known=False)

    assert needs([statement("SET x = 1", kind), table], [statement("SET x = 2", kind), table]) == {"a": "make"}
    assert needs([statement("SET x = 1", kind), table], [table]) == {"a": "make"}


@pytest.mark.parametrize("kind", ["ShowTables", "DescribeRelation", "AnalyzeTable", "CommentOnTable", "RefreshTable"])
def test_what_only_looks_decides_about_nothing(kind: str) -> None:
    table = statement("x", "", "a", known=False)

    assert needs([statement("x", kind), table], [table]) == {}


@pytest.mark.parametrize("kind", ["AddColumns", "RenameColumn", "DropColumns", "AlterColumns", "SetTableLocation"])
def test_a_table_that_is_altered_otherwise_is_another_one(kind: str) -> None:
    made = statement("CREATE TABLE a (id INT)", "CreateTable", "spark_catalog.default.a")
    first, second = (statement(f"ALTER TABLE a {each}", kind, "spark_catalog.default.a") for each in "xy")

    assert needs([made, first], [made, first]) == {}
    assert needs([made, first], [made, second]) == {"default.a": "make"}
    assert needs([made, first], [made]) == {"default.a": "make"}


def test_a_table_that_is_created_only_if_it_is_not_there_keeps_its_rows() -> None:
    first = statement("CREATE TABLE IF NOT EXISTS a (id INT)", "CreateTable", "a")

    assert needs([first], [statement("CREATE TABLE IF NOT EXISTS a (id BIGINT)", "CreateTable", "a")]) == {
        "a": "define"
    }
    assert needs([first, first], [first]) == {}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("select  a -- b\n from t", "SELECT A FROM T"),
        ("select 'a  b', `a b`", "SELECT 'a  b' , `a b`"),
        ("select /*+ BROADCAST(t) */ a /* c */", "SELECT /*+ BROADCAST(t) */ A"),
    ],
)
def test_comments_and_layout_are_no_part_of_a_statement(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_a_script_is_changed_by_the_files_beside_it_and_not_by_other_scripts_or_pages(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    files = {
        "job.py": "import lib.own",
        "lib/own.py": "X = 1",
        "other.py": "",
        "used.py": "",
        "a.sql": "",
        "conf.json": "{}",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    listed = [tmp_path / each for each in ("job.py", "other.py", "used.py", "a.sql")]

    def surroundings(text: str = "import lib.own; import used") -> str:
        return surroundings_of(tmp_path / "job.py", text, listed)

    before = surroundings()
    for name in ("other.py", "a.sql", "README.md", ".hidden"):
        (tmp_path / name).write_text("changed")
    assert surroundings() == before
    for name in ("used.py", "lib/own.py", "conf.json", "new.yaml"):
        (tmp_path / name).write_text("changed")
        assert surroundings() != before
        before = surroundings()


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("s3a://lake/a", "s3://lake/a/", True),
        ("parquet.s3a://lake/a", "s3://lake/a", True),
        ("s3://lake/a", "s3://lake/a/day=1", True),
        ("s3://lake/a", "s3://lake/ab", False),
        ("s3://lake/a", "s3://lake/b", False),
    ],
)
def test_two_names_may_mean_one_place(one: str, other: str, *, shared: bool) -> None:
    assert may_share(shared_path_of(one), shared_path_of(other)) is shared
    assert may_share(shared_path_of(other), shared_path_of(one)) is shared


PLAN = RebuildPlan(
    (
        TablePlan("a", "make", "a condition", rows=True, columns=("x", "y"), places=("a.sql:1", "a.sql:7")),
        TablePlan("b", "columns", "only these", columns=("x",), places=("b.sql:2",)),
        TablePlan("c", "keep", "it reads only what stays"),
        TablePlan("d", "keep", "nothing", is_downstream=False),
        TablePlan("e", "drop", "no statement writes it any more", rows=True),
    ),
    ("far",),
)


def test_a_plan_as_text_is_a_list_in_order_and_what_stays() -> None:
    assert text_of_plan(PLAN).splitlines() == [
        "3 tables to rebuild, 1 downstream table proven unchanged, 1 downstream table of other jobs:",
        "  1. rebuild a (every column): a condition",
        "       a.sql:1",
        "       a.sql:7",
        "  2. rebuild or update b (x): only these",
        "       b.sql:2",
        "  3. drop e: no statement writes it any more",
        "  affected in another job: far",
        "  keep c: it reads only what stays",
        "  keep 1 table that the change does not affect",
    ]


def test_a_plan_as_markdown_is_a_table_and_what_stays() -> None:
    assert markdown_of_plan(PLAN).splitlines()[2:8] == [
        "| | what | table | columns | why |",
        "|---|---|---|---|---|",
        "| 1 | rebuild | `a` | every column | a condition |",
        "| 2 | rebuild or update | `b` | `x` | only these |",
        "| 3 | drop | `e` |  | no statement writes it any more |",
        "",
    ]


def test_each_table_to_make_is_a_finding_at_its_last_statement() -> None:
    found = findings_of((), (), lambda _column: set(), PLAN)

    assert [str(each) for each in found] == [
        "a.sql:7: a must be rebuilt: a condition",
        "b.sql:2: b must be rebuilt: only these",
    ]


def test_a_script_names_the_line_of_each_write_and_a_long_reason_once() -> None:
    found = rebuild_plan([SECOND], [script("9", SECOND.reads, "gold.a", "gold.b")])

    reason = "it can't be proven unchanged: a script is compared by its code and everything that it reads"
    assert text_of_plan(found).splitlines() == [
        "2 tables to rebuild:",
        f"  1. rebuild gold.a (every column): {reason}",
        "       job.py:7",
        "  2. rebuild gold.b (every column): as for 1",
        "       job.py:8",
    ]
    assert markdown_of_plan(found).splitlines()[-1] == "| 2 | rebuild | `gold.b` | every column | as for 1 |"
