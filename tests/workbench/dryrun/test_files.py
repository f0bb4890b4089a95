"""Which files are scripts, and the files of another revision beside them."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.dryrun import files
from openlineage_pyspark.workbench.dryrun.files import ScriptSettings, files_at, lineage_of_files
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.dryrun.script.kinds import is_run
from openlineage_pyspark.workbench.predict.outcome import fails, summary_of
from openlineage_pyspark.workbench.predict.scripts import Problem, Script, StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.dryrun.run import ScriptRecords
    from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest


def call(git: str, folder: Path, *arguments: str) -> None:
    command = [git, "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)


def test_a_script_runs_and_a_notebook_that_does_more_than_its_sql() -> None:
    sql, python = "-- Databricks notebook source\nSELECT 1\n", "-- Databricks notebook source\n-- MAGIC %python\n"
    scripts = (
        Script("job.py", "x = 1\n"),
        Script("python.sql", python),
        Script("notebook.scala", "// Databricks notebook source\nval x = 1\n"),
        Script("empty.py", ""),
        Script("notebook.py", "# Databricks notebook source\n"),
        Script("notebook.sql", sql),
        Script("plain.sql", "SELECT 1 -- MAGIC %python\n"),
    )
    names = ["job.py", "python.sql", "notebook.scala", "empty.py"]
    assert [each.name for each in scripts if is_run(each)] == names


def test_the_text_of_a_revision_decides_whether_its_file_runs(tmp_path: Path) -> None:
    path = tmp_path / "report.py"
    path.write_text("# Databricks notebook source\n# MAGIC %sql SELECT 1\n", "utf-8")
    assert is_run(Script(str(path), "# Databricks notebook source\nspark.range(1).write.saveAsTable('t')\n"))
    assert not is_run(Script(str(path), path.read_text("utf-8")))


def test_the_files_of_a_revision_are_those_that_it_had(
    tmp_path: Path, git: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(git, tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "steps.py").write_text("old\n", "utf-8")
    (tmp_path / "outside").symlink_to("/etc/passwd")
    call(git, tmp_path, "add", "-A")
    call(git, tmp_path, "commit", "-qm", "one")
    (tmp_path / "jobs" / "steps.py").write_text("new\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    with files_at("HEAD") as folder:
        assert (folder / "jobs" / "steps.py").read_text("utf-8") == "old\n"
        assert not (folder / "outside").exists()
    monkeypatch.chdir(tmp_path / "jobs")
    with files_at("HEAD") as folder:
        assert [each.name for each in folder.iterdir()] == ["steps.py"]
    with pytest.raises(TextError, match=r"git: .*nowhere"), files_at("nowhere"):
        pass


def test_a_script_of_a_revision_imports_the_modules_of_that_revision(
    tmp_path: Path, git: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(git, tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitignore").write_text("built/\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    given = (Path("lib"), tmp_path / "src", Path("built/lib.zip"), tmp_path.parent / "outside", Path("more/single.py"))
    requests: list[ScriptRequest] = []

    class Runner:
        def run(self, request: ScriptRequest) -> ScriptRecords:
            requests.append(request)
            return ({"k": "end"},)

    monkeypatch.setattr(files, "ScriptRunner", lambda *_: contextlib.nullcontext(Runner()))
    for folder in (None, tmp_path / "base"):
        settings = ScriptSettings(python_path=given)
        lineage_of_files([Script("job.py", "")], KnownColumns([], {}), settings, lambda *_: (), folder=folder)

    now, before = ([os.path.relpath(each, tmp_path) for each in request.python_path] for request in requests)
    assert now == ["lib", "src", "built/lib.zip", "../outside", "more"]
    assert before == ["base/lib", "base/src", "built/lib.zip", "../outside", "base/more"]


@pytest.mark.parametrize(("code", "expected"), [("DECISION", False), ("UNKNOWN_SCHEMA", True), ("REFUSED", True)])
def test_what_a_script_only_notes_is_no_failure(code: str, *, expected: bool) -> None:
    statement = ScriptStatement("", "job.py", 1, 1)
    assert fails(StatementLineage(statement, problem=Problem("job.py", 1, 1, code, "x")), {"short"}) == expected
    assert fails(StatementLineage(statement, problem=Problem("job.py", 1, 1, code, "x")), {"any"})
    assert not fails(StatementLineage(statement), {"short"})
    summary = summary_of([StatementLineage(statement, problem=Problem("job.py", 1, 1, code, "x"))])
    assert (summary.statements, len(summary.causes)) == (int(expected), 1)
