"""Notebooks of Jupyter as scripts."""

from __future__ import annotations

import json

import pytest
from openlineage_pyspark.workbench.dryrun.script.notebooks import (
    cell_and_line,
    runs_as_script,
    script_of_notebook,
    script_of_source,
)
from openlineage_pyspark.workbench.dryrun.script.values import with_parameters


def notebook(*cells: tuple[str, str], language: str = "python") -> str:
    """Return the JSON of a notebook."""
    made = [{"cell_type": kind, "source": source.splitlines(keepends=True)} for kind, source in cells]
    return json.dumps({"metadata": {"kernelspec": {"language": language}}, "cells": made})


def test_the_cells_of_code_are_a_script_of_as_many_lines() -> None:
    found = script_of_notebook(
        notebook(
            ("markdown", "# Title\ntext"),
            ("code", "%pip install x\nimport a\nif a:\n    !ls"),
            ("code", ""),
            ("code", "%%sql\nCREATE TABLE t AS\nSELECT 'it''s' AS a;"),
            ("code", "%%bash\nrm -rf /"),
            ("code", "%sql SELECT 1"),
        )
    )
    assert found is not None
    source, begins = found
    assert source.splitlines() == [
        "pass  # %pip install x",
        "import a",
        "if a:",
        "    pass  # !ls",
        "",
        "_sqldf = _sql_of_cell(\"CREATE TABLE t AS\\nSELECT 'it''s' AS a\")",
        "",
        "# %%bash",
        "# rm -rf /",
        "_sqldf = _sql_of_cell('SELECT 1')",
    ]
    compile(source, "notebook", "exec")
    assert begins == (1, 1, 5, 5, 8, 10)
    assert [cell_and_line(begins, line) for line in (1, 4, 6, 10)] == [(2, 1), (2, 4), (4, 2), (6, 1)]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"cells": 5}', notebook(("code", "1"), language="scala")])
def test_what_is_no_notebook_of_python_is_none(text: str) -> None:
    assert script_of_notebook(text) is None


def lines_of(cell: str) -> list[str]:
    """Return the lines of the script of a notebook with one cell; they are Python."""
    found = script_of_notebook(notebook(("code", cell)))
    assert found is not None
    compile(found[0], "notebook", "exec")
    return found[0].splitlines()


@pytest.mark.parametrize("magic", ["%%time", "%%timeit -n 1", "%%capture out", "%%spark", "%%pyspark"])
def test_the_code_of_a_cell_runs_where_its_magic_runs_it(magic: str) -> None:
    assert lines_of(f"{magic}\na = 1\n%matplotlib inline\nwrite(a)") == [
        f"# {magic}",
        "a = 1",
        "pass  # %matplotlib inline",
        "write(a)",
    ]


def test_the_code_of_a_line_runs_where_its_magic_runs_it() -> None:
    cell = "%time write(1)\nif a:\n    %timeit -n 3 -r 1 write(2)\n%time\n%timeit"
    assert lines_of(cell) == ["write(1)", "if a:", "    write(2)", "pass  # %time", "pass  # %timeit"]


def test_questions_for_help_are_left_out() -> None:
    assert lines_of("?spark\nspark.read??\na = 1\n%time?\n??a") == [
        "pass  # ?spark",
        "pass  # spark.read??",
        "a = 1",
        "pass  # %time?",
        "pass  # ??a",
    ]


def test_the_result_of_a_magic_is_assigned() -> None:
    assert lines_of("rows = %sql SELECT 1\nfiles = !ls -l") == [
        "rows = _sql_of_cell('SELECT 1')",
        "files = __import__('subprocess').check_output('ls -l', shell=True).splitlines()",
    ]


def test_a_line_that_goes_on_with_an_operator_is_no_magic() -> None:
    cell = 'text = ("%s-%s"\n        % (1, 2))\nq = """\n%sql x\nwhy?\n"""'
    assert lines_of(cell) == cell.splitlines()


SOURCE = """\
# Databricks notebook source
# MAGIC %md
# MAGIC # Title

# COMMAND ----------

day = dbutils.widgets.get("day")
# MAGIC left as it is

# COMMAND ----------

# MAGIC %sql
# MAGIC DROP TABLE a;
# MAGIC
# MAGIC INSERT INTO b SELECT 'x;y' AS c;
# MAGIC INSERT INTO d VALUES (1)

# COMMAND ----------

# MAGIC %run ./shared $day="x"

# COMMAND ----------

# MAGIC %scala
# MAGIC val a = 1

# COMMAND ----------

# MAGIC %python
# MAGIC print(day)
"""


def test_a_notebook_in_source_form_is_a_script_with_each_line_in_its_place() -> None:
    source = script_of_source(SOURCE)
    lines = source.split("\n")
    assert len(lines) == len(SOURCE.split("\n"))
    assert {at: line for at, line in enumerate(lines, 1) if line and not line.startswith("#")} == {
        7: 'day = dbutils.widgets.get("day")',
        13: "_sqldf = _sql_of_cell('DROP TABLE a')",
        15: "_sqldf = _sql_of_cell(\"INSERT INTO b SELECT 'x;y' AS c\")",
        16: "_sqldf = _sql_of_cell('INSERT INTO d VALUES (1)')",
        20: "_run_notebook('./shared $day=\"x\"')",
        30: "print(day)",
    }
    compile(source, "notebook", "exec")


def test_a_notebook_of_sql_alone_does_not_run() -> None:
    assert runs_as_script(SOURCE)
    assert not runs_as_script("# Databricks notebook source\n# MAGIC %sql\n# MAGIC SELECT 1\n\n# COMMAND ----------\n")


def test_a_statement_of_a_notebook_takes_the_parameters_that_it_names() -> None:
    values = {"day": "2024-01-01", "env": "dev"}
    text = "SELECT a:b, '${day}', ':env' FROM ${env}.t WHERE day = :day AND x = ${other}"
    assert with_parameters(text, values) == (
        {"day": "2024-01-01"},
        "SELECT a:b, '2024-01-01', ':env' FROM dev.t WHERE day = :day AND x = ${other}",
    )
