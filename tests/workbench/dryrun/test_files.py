"""Which files are scripts, and the files of another revision beside them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.dryrun.files import files_at
from openlineage_pyspark.workbench.dryrun.script.kinds import is_run
from openlineage_pyspark.workbench.predict.outcome import fails, summary_of
from openlineage_pyspark.workbench.predict.scripts import Problem, StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement

if TYPE_CHECKING:
    from pathlib import Path


def call(git: str, folder: Path, *arguments: str) -> None:
    command = [git, "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)


def test_a_script_runs_and_a_notebook_that_does_more_than_its_sql(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("x = 1\n", "utf-8")
    (tmp_path / "notebook.py").write_text("# Databricks notebook source\n", "utf-8")
    (tmp_path / "python.sql").write_text("-- Databricks notebook source\n-- MAGIC %python\n-- MAGIC x = 1\n", "utf-8")
    (tmp_path / "notebook.sql").write_text("-- Databricks notebook source\nSELECT 1\n", "utf-8")
    (tmp_path / "notebook.scala").write_text("// Databricks notebook source\nval x = 1\n", "utf-8")
    (tmp_path / "plain.sql").write_text("SELECT 1 -- MAGIC %python\n", "utf-8")
    names = (
        "job.py",
        "python.sql",
        "notebook.scala",
        "gone.py",
        "notebook.py",
        "notebook.sql",
        "plain.sql",
        "gone.sql",
    )
    assert [name for name in names if is_run(tmp_path / name)] == ["job.py", "python.sql", "notebook.scala", "gone.py"]


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


@pytest.mark.parametrize(("code", "expected"), [("DECISION", False), ("UNKNOWN_SCHEMA", True), ("REFUSED", True)])
def test_what_a_script_only_notes_is_no_failure(code: str, *, expected: bool) -> None:
    statement = ScriptStatement("", "job.py", 1, 1)
    assert fails(StatementLineage(statement, problem=Problem("job.py", 1, 1, code, "x")), {"short"}) == expected
    assert fails(StatementLineage(statement, problem=Problem("job.py", 1, 1, code, "x")), {"any"})
    assert not fails(StatementLineage(statement), {"short"})
    summary = summary_of([StatementLineage(statement, problem=Problem("job.py", 1, 1, code, "x"))])
    assert (summary.statements, len(summary.causes)) == (int(expected), 1)
