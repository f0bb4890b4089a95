"""Find what decides about a model of SQLMesh or Dataform, beside its query: its settings, and its project's code."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.predict.project_code import code_of_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openlineage_pyspark.workbench.predict.project_code import ProjectCode
    from openlineage_pyspark.workbench.predict.scripts import Script


def code_beside(
    roots: Iterable[str], files_of: Callable[[Path], Iterable[Script]] | None
) -> Callable[[Script, str], ProjectCode | None]:
    """
    Return a function of a model and its own settings that returns what decides about it, beside its query.

    All code of its project may: nobody knows what its macros in other languages make of it.

    Args:
        roots: the names of the files of which one is in the folder of each project.
        files_of: returns the files of a project in the state of its models; None if nobody asks.
    """

    @functools.cache
    def every(folder: Path) -> str:
        is_root = (each for each in (folder, *folder.parents) if any((each / name).is_file() for name in roots))
        root = next(is_root, None)
        if root is None or files_of is None:
            return ""
        texts = repr(sorted((os.path.relpath(each.name, root), each.text) for each in files_of(root)))
        return code_of_model(texts).of_all

    def code_of(script: Script, own: str) -> ProjectCode | None:
        if files_of is None:
            return None
        path = Path(os.path.abspath(script.name))  # noqa: PTH100 (a link belongs to the folder that it is in)
        return code_of_model(f"{own}\n{every(path.parent)}")

    return code_of
