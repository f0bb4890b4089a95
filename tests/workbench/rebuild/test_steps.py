"""What statements without a plan do to tables: scripts, what is compared by its text, and what manages tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.workbench.predict.scripts import Problem, Script, StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.rebuild.findings import findings_of
from openlineage_pyspark.workbench.rebuild.formats import markdown_of_plan, text_of_plan
from openlineage_pyspark.workbench.rebuild.places import is_named_by, may_be_made_of, may_share, shared_path_of
from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan, TablePlan, rebuild_plan
from openlineage_pyspark.workbench.rebuild.reading import step_of_script, steps_of_answers
from openlineage_pyspark.workbench.rebuild.statements import FileStep, ScriptWrite, plain_text
from openlineage_pyspark.workbench.rebuild.surroundings import (
    files_read_at,
    hash_of_files,
    names_file,
    surroundings_of,
    words_of,
)
from openlineage_pyspark.workbench.rebuild.unrun import may_write_more
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


_ONE_ROW = [{"c": "OneRowRelation", "a": {}, "o": []}]
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


@pytest.mark.parametrize(
    ("model", "table"),
    [
        ("`m`", "default.m"),
        ("`spark_catalog`.`mart`.`a.b`", "mart.a.b"),
        ("`lake`.`mart`.`m`", "lake.mart.m"),
        ("", None),
    ],
)
def test_a_dbt_model_makes_its_table_even_if_its_run_fails(model: str, table: str | None) -> None:
    step = step_of_script(Script("m.py", "def model(dbt, session:", model=model), (), "")
    assert step.targets == (() if table is None else (table,))


def test_a_magic_of_a_notebook_of_sql_decides_about_all_that_follows_but_no_text_for_people() -> None:
    text = "# Databricks notebook source\n# MAGIC %md\n# MAGIC {}\n# COMMAND ----------\n# MAGIC %%configure\n"
    text += "# MAGIC {}\n# COMMAND ----------\n# MAGIC %sql\n# MAGIC SELECT {}"
    table = statement("x", "", "a", known=False)

    def notebook(*parts: int) -> list[FileStep]:
        return [*steps_of_answers((), (), [Script("n.py", text.format(*parts))]), table]

    assert needs(notebook(1, 1, 1), notebook(2, 1, 2)) == {}
    assert needs(notebook(1, 1, 1), notebook(1, 2, 1)) == {"a": "make"}
    assert steps_of_answers((), (), [Script("n.py", text.replace("%%configure", ""))]) == ()


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
    assert needs([table, call], [table, statement("CALL p(2)", "", known=False)]) == {"a": "make"}
    assert needs([table, call], [table, call]) == {}


@pytest.mark.parametrize(
    "kind", ["SetCommand", "ResetCommand", "CreateVariable", "CreateFunction", "NobodyKnowsCommand"]
)
def test_what_sets_something_decides_about_all_that_follows(kind: str) -> None:
    table = statement("x", "", "a", known=False)

    assert needs([statement("SET x = 1", kind), table], [statement("SET x = 2", kind), table]) == {"a": "make"}
    assert needs([statement("SET x = 1", kind), table], [table]) == {"a": "make"}


def test_a_statement_that_names_no_target_may_have_changed_every_table_before_it() -> None:
    made = [statement("CREATE TABLE a (id INT)", "CreateTable", "spark_catalog.default.a"), script("1", (), "gold.b")]

    def after(text: str, kind: str = "", *, known: bool = True) -> dict[str, str]:
        return needs([*made, statement(text.format(1), kind, known=known)], [*made, statement(text.format(2), kind)])

    for text, kind in (
        ("CALL p({})", "Procedure"),
        ("ALTER TABLE a RECOVER PARTITIONS -- {}", "RecoverPartitions"),
        ("DROP DATABASE d{} CASCADE", "DropNamespace"),
        ("CREATE FLOW f AS AUTO CDC INTO a FROM s KEYS (k{})", "CreateFlowCommand"),
        ("WITH x AS (SELECT {}) DELETE FROM y", ""),
    ):
        assert after(text, kind) == ({} if "--" in text else {"default.a": "make", "gold.b": "make"}), text
    for text, kind in (
        ("RESTORE TABLE a TO VERSION AS OF {}", ""),
        ("ALTER TABLE db.a SET ROW FILTER f{} ON (id)", ""),
        ("LOAD DATA INPATH '/x/{}' INTO TABLE `a`", "LoadData"),
    ):
        assert after(text, kind) == {"default.a": "make"}, text
    for text, kind in (
        ("GRANT SELECT ON a TO user{}", ""),
        ("OPTIMIZE a ZORDER BY (c{})", ""),
        ("ADD JAR 'x{}.jar'", "AddJars"),
        ("SET VAR v = (SELECT {})", "SetVariable"),
        ("CREATE ROLE r{}", ""),
        ("CREATE STREAMING TABLE s COMMENT '{}'", "CreateStreamingTable"),
        ("CALL rewrite_data_files('a{}')", "Call"),
        ("SELECT {} FROM nowhere", ""),
    ):
        assert after(text, kind) == {}, text


@pytest.mark.parametrize(
    "text", ["APPLY CHANGES INTO t FROM s KEYS (k{})", "INSERT INTO t SELECT id FROM table_changes('s', {})"]
)
def test_what_the_plan_of_a_statement_leaves_out_is_compared_by_its_text(text: str) -> None:
    shape = json.dumps([{"c": "CreateTableAsSelect", "a": {"query": ["r", 1]}, "o": []}, *_ONE_ROW])
    one, other = (FileStep("a.sql", 1, text.format(each), "CreateTableAsSelect", shape, ("t",)) for each in (1, 2))

    assert needs([one], [one]) == {}
    assert needs([one], [other]) == {"t": "make"}
    plain = attrs.evolve(one, text="CREATE TABLE t AS SELECT 1"), attrs.evolve(one, text="CREATE TABLE t AS SELECT 2")
    assert needs([plain[0]], [plain[1]]) == {}


def test_a_table_that_may_have_changed_is_made_again_once_whatever_else_changes_it() -> None:
    made = [statement("CREATE TABLE a (id INT)", "CreateTable", "a")]
    calls = [statement(f"CALL p({each})", "", known=False) for each in range(3)]

    assert needs([*made, *calls], [*made, *calls]) == {}
    assert needs([*made, *calls], [*made, *calls[:2]]) == {"a": "make"}
    assert needs([calls[0], *made], [*made, calls[0]]) == {"a": "make"}


@pytest.mark.parametrize("kind", ["TruncatePartition", "LoadDataSomehow", "NobodyKnowsCommand"])
def test_a_statement_that_names_its_target_changes_it_alone(kind: str) -> None:
    made = [
        statement("CREATE TABLE a (id INT)", "CreateTable", "a"),
        statement("CREATE TABLE b (id INT)", "CreateTable", "b"),
    ]
    first, second = (statement(f"TRUNCATE TABLE a PARTITION (d = {each})", kind, "a") for each in "xy")

    assert needs([*made, first], [*made, second]) == {"a": "make"}
    assert needs([*made, first], [*made, first]) == {}


def test_a_script_without_targets_of_which_all_is_known_changes_nothing() -> None:
    made, reader = [script("1", (), "gold.a")], script("3", ("gold.a",), "gold.c")

    assert needs([*made, script("2", ()), reader], [*made, script("4", ()), reader]) == {}


def test_a_script_of_which_not_all_is_known_may_write_the_tables_that_its_words_name() -> None:
    def unsure(code: str) -> FileStep:
        return attrs.evolve(script(code, None, "gold.a"), words_of_names=frozenset({"sales", "b"}))

    before, known = script("0", (), "gold.sales_de"), script("3", ("gold.a",), "gold.other")
    readers = [script("4", (f"mart.{each}",), f"gold.of_{each}") for each in ("sales_fr", "b", "de_fr", "c")]
    steps = [before, unsure("1"), known, *readers]

    assert needs(steps, [before, unsure("2"), known, *readers]).keys() == {
        *("gold.a", "gold.sales_de", "gold.other", "gold.of_sales_fr", "gold.of_b"),
    }
    assert needs(steps, steps) == {}


def test_a_table_whose_name_only_data_know_may_be_each_that_the_pattern_matches() -> None:
    first, second = (script(code, ("raw.x",), "gold.sales_{country}") for code in "12")
    made, reader = script("3", (), "gold.sales_de"), script("4", ("gold.sales_de",), "mart.a")
    other, pattern = script("5", ("gold.other_de",), "mart.b"), "gold.sales_{country}"
    steps = [made, first, reader, other]

    assert needs(steps, [made, second, reader, other]).keys() == {pattern, "gold.sales_de", "mart.a"}
    assert needs(steps[1:], [second, reader, other]).keys() == {pattern, "mart.a"}
    assert needs(steps, steps) == {}


def of_current_database(within: str) -> FileStep:
    """Return a statement that stores the name of the current database."""
    shape = """[
        {"c": "CreateTableAsSelect", "a": {"query": ["r", 1]}, "o": []},
        {"c": "Project", "a": {"projectList": ["l", ["r", 2]], "child": ["r", 4]}, "o": [[1, "s", "string"]]},
        {"c": "Alias", "a": {"child": ["r", 3]}, "t": "string", "id": 1},
        {"c": "CurrentDatabase", "a": {}, "t": "string"},
        {"c": "OneRowRelation", "a": {}, "o": []}
    ]"""
    text = "CREATE TABLE m.t AS SELECT current_schema() AS s"
    return FileStep("a.sql", 1, text, "CreateTableAsSelect", shape, ("m.t",), within=within)


def test_the_name_of_the_current_database_is_another_one_in_another_database() -> None:
    one, other = (of_current_database(f"spark_catalog.{each}") for each in "ab")

    assert rebuild_plan([one], [one]).made == ()
    assert {each.table: each.reason for each in rebuild_plan([one], [other]).made} == {
        "m.t": "its rows and its other columns do not change"
    }


def written(options: list[str]) -> FileStep:
    """Return an INSERT with some options, or into a branch."""
    table = {"table": ["table", "lake.t"], "options": ["m", "{}"]}
    nodes = [
        {"c": "AppendData", "a": {"table": ["r", 1], "query": ["r", 2], "writeOptions": options}, "o": []},
        *({"c": "DataSourceV2Relation", "a": table, "o": [[each, "id", "int"]]} for each in (1, 2)),
    ]
    shape = json.dumps(nodes)
    return FileStep("a.sql", 1, "INSERT INTO lake.t SELECT id FROM lake.t", "InsertIntoStatement", shape, ("lake.t",))


def test_the_options_of_a_write_decide_where_its_rows_are() -> None:
    none, one, other = map(written, (["set"], ["m", "{branch=a}"], ["m", "{branch=b}"]))

    assert needs([one], [one]) == {}
    assert needs([one], [other]) == needs([none], [one]) == {"lake.t": "make"}


@pytest.mark.parametrize(
    ("name", "words", "made"),
    [
        ("default.sales_de", {"sales"}, True),
        ("s3://lake/mart/daily_sales/", {"daily"}, True),
        ("default.t_1", {"t"}, False),
        ("default.t_1", {"t", "1"}, True),
        ("default.a", {"a"}, True),
        ("default.sales", {"default"}, False),
    ],
)
def test_a_name_may_be_made_of_words_that_a_text_has(name: str, words: set[str], *, made: bool) -> None:
    assert may_be_made_of(name, words) is made


IF = "n = frame.count()\nif n > 9:\n    {}\nelse:\n    {}\nframe.write.saveAsTable('z')\n"


@pytest.mark.parametrize(
    ("text", "ran", "more"),
    [
        (IF.format("print(n)", "logger.info('few')"), (6,), False),
        (IF.format("sys.exit(0)", "pass"), (6,), False),
        (IF.format("sys.exit(0)", "pass"), (), True),
        (IF.format("raise ValueError(n)", "pass"), (6,), False),
        (IF.format("save(frame, 'a')", "pass"), (3, 6), False),
        (IF.format("save(frame, 'a')", "pass"), (6,), True),
        (IF.format("save(frame, 'a')", "save(frame, 'b')"), (3, 6), True),
        ("n = frame.count()\nassert n > 9\n", (), False),
        ("n = frame.count()\nok = n > 9\nif ok: save()\n", (), True),
        ("n = frame.count()\nwhile n > 9: save()\n", (), True),
        ("n = frame.count()\nif n > 9: (\n", (), True),
    ],
)
def test_a_script_may_write_more_if_a_branch_that_did_not_run_may_write(
    text: str, ran: tuple[int, ...], *, more: bool
) -> None:
    decision = Problem("job.py", 2, 1, "DECISION", "a decision depends on count()")
    found = [StatementLineage(ScriptStatement("", "job.py", each, 1), Lineage((), (), ())) for each in ran]
    found.append(StatementLineage(ScriptStatement("", "job.py", 2, 1), problem=decision))

    assert may_write_more(Script("job.py", text), found) is more


@pytest.mark.parametrize(("code", "more"), [("STAND_IN", False), ("PATTERN", False), ("SCRIPT_FAILED", True)])
def test_a_script_that_fails_in_a_dry_run_may_write_more(code: str, *, more: bool) -> None:
    problem = Problem("job.py", 2, 1, code, "x")

    assert (
        may_write_more(Script("job.py", ""), [StatementLineage(ScriptStatement("", "job.py", 2, 1), problem=problem)])
        is more
    )


def test_a_decision_in_a_module_of_a_script_may_leave_out_writes() -> None:
    problem = Problem("lib.py", 1, 1, "DECISION", "x")
    found = [StatementLineage(ScriptStatement("", "lib.py", 1, 1), problem=problem)]

    assert may_write_more(Script("job.py", "import lib"), found)


def test_the_data_that_a_script_reads_beside_it_decide_what_it_makes(tmp_path: Path) -> None:
    for name in ("seeds/a.csv", "seeds/day=1/b.csv", "seeds/.hidden", "other.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")

    def read(name: str) -> list[str]:
        return [str(each.relative_to(tmp_path)) for each in files_read_at(tmp_path, name)]

    assert read("seeds") == ["seeds/a.csv", "seeds/day=1/b.csv"]
    assert read("seeds/*.csv") == ["seeds/a.csv"]
    assert read("seeds/day={1,2}/b.csv") == ["seeds/day=1/b.csv"]
    assert read("gone") == []
    before = hash_of_files(tmp_path, ["seeds"])
    (tmp_path / "seeds" / "c.csv").write_text("")
    assert hash_of_files(tmp_path, ["seeds"]) != before


def test_names_of_tables_may_be_made_of_the_words_in_all_that_a_script_reads(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text("NAME = 'mart_orders'")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text("target: Sales_DE")

    found = words_of(
        tmp_path / "job.py", "x", [tmp_path / "job.py"], (), [tmp_path / "conf" / "a.yaml", tmp_path / "gone"]
    )

    assert found == {"x", "name", "mart", "orders", "target", "sales", "de"}


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
        ("s3://lake/*/a", "s3://lake/b/a", True),
        ("s3://lake/*/a", "s3://lake/b/c", False),
        ("s3://lake/{b,c}/a", "s3a://lake/c/a/day=1", True),
        ("s3://lake/day=[0-9]", "s3://lake/day=7", True),
        ("s3://lake/{country}/x", "s3://lake/de/x", True),
        ("s3://lake/{country}/x", "s3://lake/de/y", False),
        ("s3://lake/a_{b}", "s3://lake/?_c", True),
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
        "b.sql:2: b must be rebuilt, or updated in x: only these",
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


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("default.stg_orders", {"stg_orders"}, True),
        ("default.stg_orders", {"stg", "orders"}, False),
        ("default.stg_orders", {"~stg", "~orders"}, True),
        ("default.stg_orders", {"stg_orders_v2"}, False),
        ("temporary view v1", {"v1"}, True),
        ("s3://lake/raw orders/", {"raw", "orders"}, True),
    ],
)
def test_a_text_names_a_table_by_all_of_its_last_part(name: str, names: set[str], *, expected: bool) -> None:
    assert is_named_by(name, names) is expected


@pytest.mark.parametrize(
    ("after", "is_made"),
    [
        ("SELECT to_json(struct(a AS id)) FROM u", True),
        ("SELECT to_json(struct(a  AS Id)) -- as before\nFROM u", False),
        ("SELECT a AS ID FROM u", False),
    ],
)
def test_a_name_that_becomes_a_value_counts_as_it_is_written(after: str, is_made: bool) -> None:  # noqa: FBT001
    before = "SELECT to_json(struct(a AS Id)) FROM u" if "json" in after else "select a AS id FROM u"
    states = [[statement(f"CREATE TABLE t AS {text}", "", "t", known=False)] for text in (before, after)]

    assert needs(*states) == ({"t": "make"} if is_made else {})


def test_the_value_of_a_setting_counts_as_it_is_written() -> None:
    def state(setting: str) -> list[FileStep]:
        return [statement(setting, "SetCommand"), statement("CREATE TABLE t AS SELECT '${a}'", "", "t", known=False)]

    assert needs(state("SET a=Paid"), state("-- as it is\nset a =Paid")) == {}
    assert needs(state("SET a=Paid"), state("SET a=Paid -- now")) == {"t": "make"}
    assert needs(state("SET a=Paid"), state("SET a=paid")) == {"t": "make"}


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("CREATE TEMPORARY VIEW v (a INT) USING csv OPTIONS (path 'seeds/c.csv')", True),
        ("CREATE TABLE t (a INT) USING csv LOCATION 'file:./x/../seeds/'", True),
        ("SELECT * FROM csv.`/repository/seeds/c.csv`", True),
        ("SELECT * FROM csv.`seeds/*.csv`", True),
        ("SELECT TRANSFORM (a) USING 'python3 clean.py' AS (b STRING) FROM t", True),
        ("SELECT 'sql', 'c', 'csv', 'a.csv', '*', '{day}' FROM seeds", False),
    ],
)
def test_a_statement_may_read_a_file_that_it_names(text: str, is_named: bool) -> None:  # noqa: FBT001
    assert names_file(text, frozenset({"seeds/c.csv", "sql/1.sql", "tools/clean.py"})) is is_named


def test_a_table_has_what_is_written_to_its_path_later() -> None:
    table = statement("CREATE TABLE r (id INT) USING parquet LOCATION '/lake/x'", "CreateTable", "r")
    before, after = ([table, script(code, (), "file:/lake/x")] for code in "12")

    assert needs(before, before) == {}
    assert needs(before, after) == {"file:/lake/x": "make", "r": "make"}
