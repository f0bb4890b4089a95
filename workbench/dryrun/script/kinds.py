"""Distinguish scripts and notebooks from SQL files. This module imports nothing that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.dryrun.script.notebooks import ENDING, runs_as_script
from openlineage_pyspark.workbench.predict.sql.notebooks import is_notebook

if TYPE_CHECKING:
    from pathlib import Path

SPECIFICATIONS = (".yml", ".yaml")
"""The endings of the file names of pipeline specifications."""
_PYTHON = ".py"


def is_python_script(path: Path) -> bool:
    """Return whether a file is a Python script, a notebook or a pipeline, and contains more than SQL."""
    if path.suffix.lower() in (ENDING, *SPECIFICATIONS):
        return True
    if path.suffix.lower() != _PYTHON:
        return False
    try:
        return not is_of_sql(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        # A file that does not exist here may be a script in another revision: its text there decides.
        return True


def is_of_sql(text: str) -> bool:
    """Return whether a text is a notebook that has no code but SQL, so that nothing needs to run."""
    return is_notebook(text) and not runs_as_script(text)
