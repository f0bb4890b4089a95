"""What notebooks of Databricks, Fabric and Synapse have without an import."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.dryrun.libraries.notebook_environment import NotebookEnded, NotebookEnvironment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Give the namespace of a notebook of Fabric, with the problems that it reports."""
    for each in ("databricks", "databricks.sdk", "databricks.sdk.runtime", "notebookutils", "pyspark.dbutils"):
        monkeypatch.setitem(sys.modules, each, SimpleNamespace())
    monkeypatch.setitem(sys.modules, "notebookutils.mssparkutils", SimpleNamespace())
    path = str(tmp_path / "A.Notebook" / "notebook-content.py")
    problems: list[tuple[str, str]] = []
    request = SimpleNamespace(parameters={"day": "7", "other": "x"}, allowed=(), is_notebook=True, path=path)
    stage: Any = SimpleNamespace(request=request, problem=lambda code, message: problems.append((code, message)))
    found: dict[str, Any] = {"day": 1, "problems": problems}
    NotebookEnvironment(stage, found).install(SimpleNamespace(sparkContext=None, sql=None, table=None))
    return found


def test_given_parameters_replace_the_variables_of_the_notebook(names: dict[str, Any]) -> None:
    names["_take_parameters"]()
    assert names["day"] == 7
    assert "other" not in names


def test_cells_that_do_not_run_are_reported(names: dict[str, Any]) -> None:
    names["_left_out_of_cell"]("%%scala\nval a = 1")
    names["_left_out_of_cell"]("%matplotlib inline")
    names["_left_out_of_cell"]("!wget a")
    names["_invalid_cell"]("invalid syntax")
    assert names["problems"] == [
        ("NOT_DONE", "this cell is in Scala: what it reads and writes is unknown"),
        ("NOT_DONE", "the notebook calls '!wget a', which a dry run does not do"),
        ("SCRIPT_FAILED", "this cell is left out, because it is not valid Python: invalid syntax"),
    ]


@pytest.mark.parametrize("name", ["notebookutils", "mssparkutils"])
def test_the_utilities_of_fabric_are_there(names: dict[str, Any], name: str) -> None:
    utilities = names[name]
    assert utilities.credentials.getSecret("vault", "key", "linked service") == "{key}"
    assert utilities.notebook.run("Other", 90) == "{dbutils.notebook.run}"
    assert [code for code, _ in names["problems"]] == ["STAND_IN", "NOT_DONE"]
    with pytest.raises(NotebookEnded):
        utilities.notebook.exit("done")
    imported = importlib.import_module("notebookutils")
    assert imported.mssparkutils.credentials.getSecret("vault", "other") == "{other}"
    assert imported.fs.ls is not None


def test_a_notebook_runs_another_one_of_fabric(names: dict[str, Any], tmp_path: Path) -> None:
    for folder in ("A", "B"):
        (tmp_path / f"{folder}.Notebook").mkdir()
    text = """\
# Fabric notebook source

# PARAMETERS CELL ********************

a = 5
b = 5

# CELL ********************

%pip install x
made = a, b, dbutils.widgets.get("c")
"""
    (tmp_path / "B.Notebook" / "notebook-content.py").write_text(text, "utf-8")
    names["_run_notebook"]('B {"a": 1, "c": "x"}')
    assert (names["made"], names["problems"]) == ((1, 5, "x"), [])
    assert names["dbutils"].widgets.get("c") == "{c}"
