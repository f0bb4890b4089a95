"""Distinguish scripts and notebooks from SQL files. This module imports nothing that runs them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.dryrun.script.notebooks import runs_as_script
from openlineage_pyspark.workbench.predict.sql.jupyter import JUPYTER_ENDING, cells_of_jupyter
from openlineage_pyspark.workbench.predict.sql.notebooks import is_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.predict.scripts import Script

SPECIFICATIONS = (".yml", ".yaml")
"""The endings of the file names of pipeline specifications."""
_PYTHON = ".py"


def is_run(script: Script) -> bool:
    """
    Return whether a file is executed: a Python script, a pipeline, or a notebook that contains more than SQL.

    Args:
        script: the file. Its text decides, which another revision may have differently.
    """
    ending = Path(script.name).suffix.lower()
    if ending in (JUPYTER_ENDING, *SPECIFICATIONS):
        return True
    return runs_as_script(script.text, ending) if is_notebook(script.text) else ending == _PYTHON


def with_unreadable_notebooks(scripts: Iterable[Script]) -> list[Script]:
    """Return scripts, of which Jupyter notebooks that are not Python count as unreadable."""
    return [
        attrs.evolve(each, text="", unreadable="is not a Python notebook") if _is_in_another_language(each) else each
        for each in scripts
    ]


def _is_in_another_language(script: Script) -> bool:
    is_notebook_file = Path(script.name).suffix.lower() == JUPYTER_ENDING
    return is_notebook_file and not script.unreadable and cells_of_jupyter(script.text) is None
