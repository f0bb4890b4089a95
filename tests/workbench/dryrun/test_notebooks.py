"""Notebooks of Jupyter as scripts."""

from __future__ import annotations

import json

import pytest
from openlineage_pyspark.workbench.dryrun.notebooks import cell_and_line, script_of_notebook


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
        "spark.sql('\\n'",
        "'CREATE TABLE t AS\\n'",
        "\"SELECT 'it''s' AS a\")",
        "# %%bash",
        "# rm -rf /",
        "spark.sql('SELECT 1')",
    ]
    compile(source, "notebook", "exec")
    assert begins == (1, 1, 5, 5, 8, 10)
    assert [cell_and_line(begins, line) for line in (1, 4, 6, 10)] == [(2, 1), (2, 4), (4, 2), (6, 1)]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"cells": 5}', notebook(("code", "1"), language="scala")])
def test_what_is_no_notebook_of_python_is_none(text: str) -> None:
    assert script_of_notebook(text) is None
