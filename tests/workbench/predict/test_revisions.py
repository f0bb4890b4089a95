"""Scripts as they were in a revision of git; what Spark told of them is kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict import cache
from openlineage_pyspark.workbench.predict.declared import DeclaredTable
from openlineage_pyspark.workbench.predict.revisions import scripts_at, scripts_now
from openlineage_pyspark.workbench.predict.scripts import Script, StatementAnswer
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.statements import Loop, ScriptStatement

pytestmark = pytest.mark.usefixtures("git")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a repository with a base revision, and changes after it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sql").mkdir()
    for name, text in (("a.sql", "SELECT 1"), ("b.sql", "SELECT 2"), ("notes.txt", "no")):
        (tmp_path / "sql" / name).write_text(text, "utf-8")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"], ["tag", "base"]):
        subprocess.run([*git, *arguments], check=True, cwd=tmp_path)
    (tmp_path / "sql" / "a.sql").write_text("SELECT 3", "utf-8")
    (tmp_path / "sql" / "b.sql").unlink()
    (tmp_path / "sql" / "c.sql").write_text("SELECT 4", "utf-8")
    return tmp_path


def pairs(scripts: list[Script]) -> list[tuple[str, str]]:
    return [(Path(script.name).name, script.text) for script in scripts]


def test_a_folder_is_its_files_then_and_now(repository: Path) -> None:
    for folder in (Path("sql"), repository / "sql"):
        assert pairs(scripts_now([folder])) == [("a.sql", "SELECT 3"), ("c.sql", "SELECT 4")]
        assert pairs(scripts_at("base", [folder])) == [("a.sql", "SELECT 1"), ("b.sql", "SELECT 2")]
    assert scripts_at("base", [Path("sql/a.sql")]) == [Script("sql/a.sql", "SELECT 1")]
    assert scripts_at("base", [Path("sql/c.sql")]) == []


def test_a_folder_has_hive_files_and_notebooks_of_databricks_then_and_now(repository: Path) -> None:
    header = "# Databricks notebook source\n# MAGIC %sql SELECT 1"
    for name, text in (
        ("d.hql", "SELECT 5"),
        ("e.py", header),
        ("f.py", f"x = 1\n{header}"),
        ("g.SQL", "SELECT 6"),
        ("h.scala", header.replace("#", "//")),
    ):
        (repository / "sql" / name).write_text(text, "utf-8")
    (repository / "sql" / "i.py").write_bytes(b"\xff\xfe no text")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["add", "-A"], ["commit", "-qm", "more"]):
        subprocess.run([*git, *arguments], check=True, cwd=repository)
    assert scripts_at("HEAD", [Path("sql")]) == scripts_now([Path("sql")])
    names = ["a.sql", "c.sql", "d.hql", "e.py", "g.SQL", "h.scala"]
    assert [Path(script.name).name for script in scripts_now([Path("sql")])] == names
    assert [script.name for script in scripts_at("HEAD", [Path("sql/e.py")])] == ["sql/e.py"]


def test_a_file_of_python_that_is_no_notebook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1", "utf-8")
    with pytest.raises(TextError, match=r"a\.py is no SQL: files of this language are read if they are notebooks"):
        scripts_now([tmp_path / "a.py"])


def test_files_in_folders_keep_their_order(repository: Path) -> None:
    (repository / "sql" / "a").mkdir()
    for name in ("sql/a/z.sql", "sql/a-b.sql"):
        (repository / name).write_text("SELECT 5", "utf-8")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["add", "-A"], ["commit", "-qm", "folders"]):
        subprocess.run([*git, *arguments], check=True, cwd=repository)
    assert scripts_at("HEAD", [Path("sql")]) == scripts_now([Path("sql")])
    assert [script.name for script in scripts_now([Path("sql")])][:2] == ["sql/a/z.sql", "sql/a-b.sql"]


@pytest.mark.parametrize("revision", ["nowhere", "--all", "base:sql"])
def test_a_revision_that_git_does_not_know_is_named(repository: Path, revision: str) -> None:
    with pytest.raises(TextError, match=revision):
        scripts_at(revision, [Path("sql")])


def test_git_and_a_repository_are_needed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TextError, match="git"):
        scripts_at("base", [repository.parent / "elsewhere.sql"])
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(TextError, match="--diff needs git, which is not installed"):
        scripts_at("base", [Path("sql")])


def test_a_file_that_is_not_there_is_named(repository: Path) -> None:
    with pytest.raises(TextError, match=r"sql.b\.sql can't be read"):
        scripts_now([Path("sql/b.sql")])


REFUSED = Analyzed("", None, Refusal("X", "no", {"a": "b"}, 1, 0))
ANSWERS = (
    StatementAnswer(
        ScriptStatement("SELECT 1", "a.sql", 1, 1, in_script=True, loops=(Loop("r", "TABLE t"),)),
        Analyzed("Project", EncodedQuery("{}"), from_text={("c", "d", "t"): "a.sql:3"}),
    ),
    StatementAnswer(ScriptStatement("SELEC", "a.sql", 2, 1, in_script=True), REFUSED, is_ddl=True),
)


def test_answers_are_kept_whole(tmp_path: Path) -> None:
    cache.keep_answers(tmp_path / "new", "key", ANSWERS)
    assert cache.read_answers(tmp_path / "new", "key") == ANSWERS
    assert cache.read_answers(tmp_path, "key") is None
    (tmp_path / "broken.json").write_text('[{"kind": 1}]', "utf-8")
    assert cache.read_answers(tmp_path, "broken") is None


def test_old_answers_are_dropped(tmp_path: Path) -> None:
    for number in range(25):
        cache.keep_answers(tmp_path, f"key{number}", ())
        os.utime(tmp_path / f"key{number}.json", (number, number))
    assert len(list(tmp_path.iterdir())) == 20
    assert cache.read_answers(tmp_path, "key24") == ()


@pytest.mark.spark
@pytest.mark.any_spark
def test_a_key_depends_on_all_that_the_answers_depend_on() -> None:
    script, table = Script("a.sql", "SELECT 1"), DeclaredTable(("c", "d", "t"), (("a", "INT"),))
    keys = [
        cache.key_of([script], [table], {}),
        cache.key_of([Script("a.sql", "SELECT 2")], [table], {}),
        cache.key_of([Script("a.sql", "SELECT 1", is_ddl=True)], [table], {}),
        cache.key_of([script], [], {}),
        cache.key_of([script], [table], {"spark.sql.ansi.enabled": "false"}),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == cache.key_of([script], [table], {})
