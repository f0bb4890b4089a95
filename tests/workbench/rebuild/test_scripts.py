"""What a rebuild plan must not keep: all that a script may make of rows, columns, files and its own modules."""

from __future__ import annotations

import argparse
import subprocess
from typing import TYPE_CHECKING

import attrs
import pytest
from openlineage_pyspark.command.change import file_steps
from openlineage_pyspark.command.main import main
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.predict.caching.cache import document_of_analyzed
from openlineage_pyspark.workbench.predict.scripts import Script, StatementAnswer, StatementLineage
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.rebuild.surroundings import hash_of_files
from openlineage_pyspark.workbench.report import Lineage

if TYPE_CHECKING:
    from pathlib import Path

SPOT = {"file": "helpers.py", "line": 3, "text": "return frame.count()"}
FILES = {
    "1.sql": "CREATE TABLE src (id INT, v INT) USING parquet;\n"
    "CREATE TABLE a USING parquet AS SELECT id, v FROM src WHERE v > 1;\n"
    "CREATE TABLE c USING parquet AS SELECT id FROM src;\n",
    "jobs/count.py": """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(spark.table("a").count()).write.saveAsTable("counted")
""",
    "jobs/columns.py": """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
shared = [name for name in spark.table("c").columns if name in ("id", "v")]
spark.table("src").select(*shared).write.saveAsTable("chosen")
""",
    "jobs/module.py": """
from pyspark.sql import SparkSession
from helpers import save
save(SparkSession.builder.getOrCreate(), "copied")
""",
    "jobs/helpers.py": """
def save(spark, name):
    spark.table("a").write.saveAsTable(name)
""",
    "jobs/configured.py": """
import json
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
with open("conf/limits.json") as file:
    limit = json.load(file)["limit"]
spark.table("src").where(f"v < {limit}").select("id").write.saveAsTable("limited")
""",
    "conf/limits.json": '{"limit": 3}',
    "9.sql": "CREATE TABLE of_copied USING parquet AS SELECT id FROM copied;\n",
}
SCRIPTS = [name for name in FILES if name.startswith("jobs/") and "helpers" not in name]
CHANGES = {
    "rows": ("1.sql", "v > 1", "v > 2", {"a", "counted", "copied", "of_copied"}),
    "columns": ("1.sql", "SELECT id FROM src", "SELECT id, v FROM src", {"c", "chosen"}),
    "a file": ("conf/limits.json", "3", "4", {"limited"}),
}


def test_a_number_of_rows_and_a_file_are_noted_of_a_script(tmp_path: Path) -> None:
    found = lineage_of_script(({"k": "rows", "spot": SPOT}, {"k": "file", "spot": SPOT, "path": "conf/x.json"}), ())

    assert [(each.is_of_rows, each.opened, each.lineage, each.problem) for each in found] == [
        (True, "", None, None),
        (False, "conf/x.json", None, None),
    ]


def test_the_hash_of_files_that_were_read_follows_their_content_and_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("1")
    first = hash_of_files(tmp_path, ["a", "gone"])

    assert hash_of_files(tmp_path, ["a", "a"]) == first
    assert hash_of_files(tmp_path, ["b"]) != first
    (tmp_path / "a").write_text("2")
    assert hash_of_files(tmp_path, ["a"]) != first


def test_what_a_module_of_a_script_writes_is_a_step_of_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text("import helpers")
    options = argparse.Namespace(passed_on=[], env=[], conf=[], allow=[], param=[], py_files=[], branches=False)
    made = Lineage((), ((Dataset(Identifier("db", "b")), ColumnLineage(())),), ())
    found = [StatementLineage(ScriptStatement("", "helpers.py", 4, 1), made, script="job.py")]

    steps = file_steps([Script("job.py", "import helpers")], [], found, options, None)

    assert [(each.file, each.targets) for each in steps] == [("job.py", ("db/b",))]


def test_a_notebook_is_compared_as_sql_in_the_revision_that_has_only_sql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    old = Script("notebook.py", "# Databricks notebook source\n# MAGIC %sql CREATE TABLE a AS SELECT 1 AS x\n")
    (tmp_path / "notebook.py").write_text(f"{old.text}spark.sql('CREATE TABLE a AS SELECT 1 AS x')")
    options = argparse.Namespace(passed_on=[], env=[], conf=[], allow=[], param=[], py_files=[], branches=False)
    statement = ScriptStatement("CREATE TABLE a AS SELECT 1 AS x", "notebook.py", 2, 14)
    answer = StatementAnswer(statement, Analyzed("CreateTableAsSelect"))

    steps = file_steps([old], [answer], [StatementLineage(statement)], options, None)

    assert [(each.file, each.line, each.text) for each in steps] == [("notebook.py", 2, statement.text)]


def test_data_that_git_ignores_are_no_part_of_a_change(
    tmp_path: Path, git: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run([git, "init", "-q"], check=True, cwd=tmp_path)
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "jobs").mkdir()
    for name in ("out", "seeds"):
        (tmp_path / name).mkdir()
    scripts = [Script("jobs/job.py", "x")]
    (tmp_path / "jobs" / "job.py").write_text("x")
    options = argparse.Namespace(passed_on=[], env=[], conf=[], allow=[], param=[], py_files=[], branches=False)

    def code() -> str:
        at = ScriptStatement("", "jobs/job.py", 1, 1)
        found = [StatementLineage(at, opened=each, script="jobs/job.py") for each in ("out", "seeds")]
        return file_steps(scripts, [], found, options, None)[0].code

    first = code()
    (tmp_path / "out" / "rows").write_text("1")
    assert code() == first
    (tmp_path / "seeds" / "rows").write_text("1")
    assert code() != first


def test_names_that_a_script_finds_decide_what_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text("x")
    options = argparse.Namespace(passed_on=[], env=[], conf=[], allow=[], param=[], py_files=[], branches=False)

    def code(*listed: str) -> str:
        found = [StatementLineage(ScriptStatement("", "job.py", 1, 1), script="job.py", listed=each) for each in listed]
        return file_steps([Script("job.py", "x")], [], found, options, None)[0].code

    assert code("a b", "c") == code("c", "a b")
    assert code("a b") != code("a")


WRITE = {
    "k": "write",
    "spot": {"file": "job.py", "line": 2, "text": "save(df)"},
    "table": ["spark_catalog", "default", "t"],
    "schema": '{"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": true, "metadata": {}}]}',
    **{key: [] for key in ("plans", "names", "places", "held")},
    "target": "",
    "shape": "[]",
    "manner": "m",
    "within": "spark_catalog.default",
    "settings": "[]",
    "is_whole": True,
}
ANSWER = {
    "statement": attrs.asdict(ScriptStatement("DROP TABLE old", "job.py", 3, 1)),
    "isDdl": False,
    "analyzed": document_of_analyzed(Analyzed("DropTable", targets=("spark_catalog.default.old",))),
}
DROP = {"k": "sql", "answer": ANSWER, "hidden": [], "act": {"text": "DROP TABLE old", "settings": "[]", "held": []}}
SETTING = {**DROP, "answer": {**ANSWER, "analyzed": document_of_analyzed(Analyzed("SetCommand"))}}
EXECUTED = {"k": "executed", "file": "job.py", "lines": [1, 2, 3]}


@pytest.mark.parametrize(
    ("further", "kinds"),
    [
        ((), ["frame", "DropTable"]),
        (({"k": "hidden", "spot": SPOT, "what": "a batch"},), ["script"]),
        (({"k": "problem", "spot": SPOT, "code": "DECISION", "message": "x"},), ["script"]),
        (({"k": "executed", "file": "elsewhere.py", "lines": [1]},), ["script"]),
    ],
)
def test_each_act_of_a_script_is_a_step_if_the_plans_show_all_of_it(
    further: tuple[dict[str, object], ...], kinds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "import spark\nsave(df)\nspark.sql(text)\n"
    (tmp_path / "job.py").write_text(text)
    options = argparse.Namespace(passed_on=[], env=[], conf=[], allow=[], param=[], py_files=[], branches=False)
    every = lineage_of_script((WRITE, DROP, SETTING, EXECUTED, *further), ())
    found = [attrs.evolve(each, script="job.py") for each in every]

    steps = file_steps([Script("job.py", text)], [], found, options, None)

    assert [each.kind for each in steps] == kinds
    if len(steps) == 2:
        assert [each.targets for each in steps] == [("default.t",), ("spark_catalog.default.old",)]
        assert [(each.script, each.line, each.is_whole) for each in steps] == [
            ("job.py", 2, True),
            ("job.py", 3, False),
        ]
        assert len({each.behind for each in steps}) == 2


@pytest.mark.any_spark
@pytest.mark.long
@pytest.mark.usefixtures("process_jvm")
@pytest.mark.parametrize("what", CHANGES)
def test_what_a_script_makes_is_rebuilt_if_anything_that_it_uses_changes(
    what: str, tmp_path: Path, git: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    command = [git, "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "base"]):
        subprocess.run([*command, *arguments], check=True, cwd=tmp_path)
    file, old, new, expected = CHANGES[what]
    (tmp_path / file).write_text(FILES[file].replace(old, new), "utf-8")
    monkeypatch.chdir(tmp_path)

    main(["lineage", "1.sql", *SCRIPTS, "9.sql", "--diff", "HEAD", "--plan", "--check"])

    shown = capsys.readouterr().out
    rebuilt = {line.split("default.")[1].split(" ")[0] for line in shown.splitlines() if ". re" in line}
    assert expected <= rebuilt
