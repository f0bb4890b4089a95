"""Scripts as they were in a revision of git."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.predict.project.revisions import (
    changed_since,
    is_changed_since,
    scripts_at,
    scripts_now,
)
from openlineage_pyspark.workbench.predict.scripts import Script

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


def test_a_repository_may_be_named_by_its_whole_path(repository: Path) -> None:
    names = [str(repository / "sql" / name) for name in ("a.sql", "b.sql")]
    assert [each.name for each in scripts_at("base", [repository])] == names


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


def test_a_folder_has_pyspark_scripts_and_jupyter_notebooks_then_and_now(repository: Path) -> None:
    cells = [{"cell_type": "code", "source": "spark.table('a').write.saveAsTable('b')"}]
    for name, text in (
        ("job.py", "from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate().table('a')"),
        ("module.py", "from pyspark.sql import DataFrame\n\ndef f(a: DataFrame) -> DataFrame:\n    return a"),
        ("test_job.py", "import unittest\nfrom pyspark.sql import SparkSession\nunittest.main()"),
        ("n.ipynb", json.dumps({"cells": cells, "metadata": {}})),
        ("other.ipynb", json.dumps({"cells": [], "metadata": {}})),
    ):
        (repository / "sql" / name).write_text(text, "utf-8")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["add", "-A"], ["commit", "-qm", "more"]):
        subprocess.run([*git, *arguments], check=True, cwd=repository)
    now = scripts_now([Path("sql")])
    assert [Path(script.name).name for script in now] == ["a.sql", "c.sql", "job.py", "n.ipynb"]
    assert scripts_at("HEAD", [Path("sql")]) == now
    only_tables = scripts_now([Path("sql")], is_ddl=True)
    assert [Path(script.name).name for script in only_tables] == ["a.sql", "c.sql"]
    assert scripts_at("HEAD", [Path("sql")], is_ddl=True) == only_tables


@pytest.mark.parametrize(("name", "is_ddl"), [("a.scala", False), ("a.r", False), ("a.py", True)])
def test_a_file_of_another_language_that_is_no_notebook_is_refused(tmp_path: Path, name: str, *, is_ddl: bool) -> None:
    (tmp_path / name).write_text("x = 1", "utf-8")
    with pytest.raises(TextError, match=rf"{name} is not SQL: files in this language must be notebooks"):
        scripts_now([tmp_path / name], is_ddl=is_ddl)


def test_a_script_of_python_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1", "utf-8")
    assert scripts_now([tmp_path / "a.py"]) == [Script(str(tmp_path / "a.py"), "x = 1")]


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


def test_what_git_ignores_and_hidden_folders_hold_is_no_part_of_a_folder(repository: Path) -> None:
    for name in ("sql/.hidden/d.sql", "sql/.e.sql", "sql/build/f.sql", "sql/g.ddl", "sql/h.q", ".venv/i.sql"):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("SELECT 5", "utf-8")
    (repository / ".gitignore").write_text("build/\n*.hql\n", "utf-8")
    (repository / "sql" / "j.hql").write_text("SELECT 6", "utf-8")
    names = [Path(script.name).as_posix() for script in scripts_now([Path("sql")])]
    assert names == ["sql/a.sql", "sql/c.sql", "sql/g.ddl"]
    assert [Path(script.name).name for script in scripts_now([Path("sql/build")])] == ["f.sql"]
    assert [Path(script.name).name for script in scripts_now([Path("sql/.hidden")])] == ["d.sql"]


def test_patterns_choose_the_files_of_folders_then_and_now(repository: Path) -> None:
    (repository / "sql" / "models").mkdir()
    for name in ("sql/d.q", "sql/models/e.q", "sql/models/f.sql"):
        (repository / name).write_text("SELECT 5", "utf-8")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["add", "-A"], ["commit", "-qm", "more"]):
        subprocess.run([*git, *arguments], check=True, cwd=repository)
    for globs, names in (
        (["*.q"], ["d.q", "e.q"]),
        (["models/*"], ["e.q", "f.sql"]),
        (["c.sql", "d.*"], ["c.sql", "d.q"]),
    ):
        now = scripts_now([Path("sql")], globs=globs)
        assert [Path(script.name).name for script in now] == names
        assert scripts_at("HEAD", [Path("sql")], globs=globs) == now
    with pytest.raises(TextError, match=r"sql contains no files that match \*\.x"):
        scripts_now([Path("sql")], globs=["*.x"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_a_file_is_read_whatever_its_encoding_is(repository: Path, encoding: str) -> None:
    (repository / "sql" / "a.sql").write_bytes("SELECT 'é' AS e;\r\nSELECT 2".encode(encoding))
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "commit", "-qam", "signs"], check=True, cwd=repository)
    expected = [("a.sql", "SELECT 'é' AS e;\nSELECT 2")]
    assert pairs(scripts_now([Path("sql/a.sql")])) == expected
    assert pairs(scripts_at("HEAD", [Path("sql/a.sql")])) == expected


def test_a_file_that_is_another_one_or_new_is_a_change_and_an_ignored_one_is_none(repository: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    assert is_changed_since("base")
    for arguments in (["add", "-A"], ["commit", "-qm", "next"]):
        subprocess.run([*git, *arguments], check=True, cwd=repository)
    assert (is_changed_since("base"), is_changed_since("HEAD")) == (True, False)
    (repository / ".git" / "info" / "exclude").write_text("*.tmp\n", "utf-8")
    (repository / "sql" / "x.tmp").write_text("", "utf-8")
    assert not is_changed_since("HEAD")
    (repository / "module.py").write_text("", "utf-8")
    assert is_changed_since("HEAD")
    with pytest.raises(TextError, match=r"no revision nowhere$"):
        is_changed_since("nowhere")


def test_the_changed_files_are_those_of_the_repositories_of_some_paths(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (repository / "seeds").mkdir()
    (repository / "seeds" / "c.csv").write_text("a", "utf-8")
    other = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(other)
    assert "seeds/c.csv" in changed_since("HEAD", [repository / "sql", repository / "sql" / "gone" / "x.sql"])
    with pytest.raises(TextError, match="not a git repository"):
        changed_since("HEAD", [other / "a.sql"])


def test_a_shallow_clone_that_lacks_a_revision_is_said_to_be_one(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "clone", "-q", "--depth", "1", repository.as_uri(), "clone"], check=True, cwd=repository)
    monkeypatch.chdir(repository / "clone")
    message = "git: there is no revision HEAD~1: the clone is shallow, `git fetch --unshallow` gets the others"
    with pytest.raises(TextError) as raised:
        scripts_at("HEAD~1", [Path("sql")])
    assert str(raised.value) == message


def test_what_cant_be_read_costs_itself_alone(repository: Path) -> None:
    (repository / "sql" / "d.sql").symlink_to("nothing.sql")
    (repository / "sql" / "e.sql").symlink_to("e.sql")
    (repository / "sql" / "f.sql").mkdir()
    (repository / "sql" / "f.sql" / "g.sql").write_text("SELECT 5", "utf-8")
    (repository / "sql" / "h.sql").symlink_to("a.sql")
    os.mkfifo(repository / "sql" / "i.sql")
    found = {Path(each.name).name: (each.text, each.unreadable) for each in scripts_now([Path("sql")])}
    assert found == {
        "a.sql": ("SELECT 3", ""),
        "c.sql": ("SELECT 4", ""),
        "d.sql": ("", "can't be read: No such file or directory"),
        "e.sql": ("", "can't be read: Too many levels of symbolic links"),
        "g.sql": ("SELECT 5", ""),
        "h.sql": ("SELECT 3", ""),
    }


def test_a_folder_and_a_file_that_may_not_be_read_cost_themselves_alone(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "sql" / "z").mkdir()
    read, scan = Path.read_bytes, os.scandir

    def denied_read(path: Path) -> bytes:
        if path.name == "c.sql":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read(path)

    def denied_scan(path: str) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "z":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(Path, "read_bytes", denied_read)
    monkeypatch.setattr(os, "scandir", denied_scan)
    monkeypatch.setattr(os, "listdir", denied_scan)
    found = {Path(each.name).name: each.unreadable for each in scripts_now([Path("sql")])}
    assert found == {"a.sql": "", "c.sql": "can't be read: Permission denied", "z": "can't be read: Permission denied"}


def test_a_link_in_a_revision_is_the_file_to_which_it_leads(repository: Path) -> None:
    (repository / "sql" / "d.sql").symlink_to("a.sql")
    (repository / "sql" / "e.sql").symlink_to("nothing.sql")
    (repository / "sql" / "f\ng.sql").write_text("SELECT 6", "utf-8")
    (repository / "sql" / os.fsdecode(b"h\xff.sql")).write_text("SELECT 7", "utf-8")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["add", "-A"], ["commit", "-qm", "links"]):
        subprocess.run([*git, *arguments], check=True, cwd=repository)
    found = {Path(each.name).name: (each.text, each.unreadable) for each in scripts_at("HEAD", [Path("sql")])}
    assert found == {
        "a.sql": ("SELECT 3", ""),
        "c.sql": ("SELECT 4", ""),
        "d.sql": ("SELECT 3", ""),
        "e.sql": ("", "can't be read: it links to no file of the revision"),
        "f\ng.sql": ("SELECT 6", ""),
        os.fsdecode(b"h\xff.sql"): ("SELECT 7", ""),
    }


def test_a_file_that_cant_be_read_has_one_line_and_fails_like_a_statement_that_is_not_exact(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "sql" / "a.sql").write_text("-- nothing\n", "utf-8")
    (repository / "sql" / "c.sql").unlink()
    for name in ("d.sql", "e.sql"):
        (repository / "sql" / name).symlink_to("nothing.sql")
    assert main(["lineage", "sql"]) == 1
    line = "sql/{}: can't be read: No such file or directory\n"
    assert line.format("d.sql") + line.format("e.sql") in capsys.readouterr().err
    assert main(["lineage", "sql", "--fail-on", "never"]) == 0
    assert main(["lineage", "sql/d.sql"]) == 2
    assert main(["lineage", "sql", "--diff", "base", "--plan"]) == 2
