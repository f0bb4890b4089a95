"""Distinguish scripts and notebooks from SQL files. This module imports nothing that runs them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.dryrun.script.notebooks import ENDING, runs_as_script, script_of_notebook
from openlineage_pyspark.workbench.predict.sql.notebooks import is_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.predict.scripts import Script

SPECIFICATIONS = (".yml", ".yaml")
"""The endings of the file names of pipeline specifications."""
_PYTHON = ".py"


def is_run(path: Path) -> bool:
    """Return whether a file is executed: a Python script, a pipeline, or a notebook that contains more than SQL."""
    ending = path.suffix.lower()
    if ending in (ENDING, *SPECIFICATIONS):
        return True
    if ending != _PYTHON and not is_notebook(_first_line(path)):
        return False
    try:
        return not is_of_sql(path.read_text(encoding="utf-8-sig"), ending)
    except (OSError, UnicodeDecodeError):
        # A file that does not exist here may be a script in another revision: its text there decides.
        return ending == _PYTHON


def is_of_sql(text: str, ending: str) -> bool:
    """
    Return whether a text is a notebook that has no code but SQL, so that nothing needs to run.

    Args:
        text: the text.
        ending: the ending of its file's name, in lower case, with the dot.
    """
    return is_notebook(text) and not runs_as_script(text, ending)


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return file.readline()
    except OSError:
        return ""


def with_unreadable_notebooks(scripts: Iterable[Script]) -> list[Script]:
    """Return scripts, of which Jupyter notebooks that are not Python count as unreadable."""
    return [
        attrs.evolve(each, text="", unreadable="is not a Python notebook")
        if Path(each.name).suffix.lower() == ENDING and not each.unreadable and script_of_notebook(each.text) is None
        else each
        for each in scripts
    ]
