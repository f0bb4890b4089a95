"""
Find the files to read in a folder: SQL files, notebooks and PySpark scripts.

Hidden ones, and those that git ignores, are left out.
"""

from __future__ import annotations

import os
import stat
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.predict.project.dataform import ENDING
from openlineage_pyspark.workbench.predict.project.jobs import JOB_ENDINGS, is_job
from openlineage_pyspark.workbench.predict.sql.notebooks import NOTEBOOK_ENDINGS, is_notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_TESTS = ("conftest.py", "test_*.py", "*_test.py")
SQL_ENDINGS = (".sql", ".hql", ".ddl", ENDING)
"""The endings of the names of SQL files, in any case."""


def files_in(folder: Path, globs: Sequence[str], *, is_ddl: bool = False) -> list[Path]:
    """
    Return the files to read below a folder, in the order of their names, folder by folder.

    Args:
        folder: the folder. It may itself be hidden or ignored.
        globs: patterns such as `*.q` or `models/*.sql`: a file's name, or its path within the folder, must match one of
            them. Without patterns, SQL files are read, by their usual names, and what `is_code` recognizes.
        is_ddl: whether only SQL and notebooks are wanted, because the files only declare tables.

    Returns:
        The files, and what can't be read among them: links to nothing, and folders that can't be listed.
    """
    found: list[Path] = []
    unlisted: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=lambda problem: unlisted.append(Path(problem.filename))):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found += [Path(place, name) for name in names]
    # A pipe or a device would not end.
    files = [each for each in found if is_mode(each, stat.S_ISREG) is not False]
    chosen = [each for each in files if is_chosen(each.relative_to(folder), globs)]
    kept = [each for each in chosen if globs or each.suffix.lower() in SQL_ENDINGS or _is_code(each, is_ddl=is_ddl)]
    kept += unlisted
    ignored = _ignored(folder, kept)
    return sorted(each for each in kept if each not in ignored)


def is_chosen(path: PurePath, globs: Sequence[str]) -> bool:
    """
    Return whether a file is one of those to read, by its path within a folder.

    Args:
        path: the path. If the file may be a notebook or a script, by its ending, its content decides later.
        globs: as for `files_in`.
    """
    if any(part.startswith(".") for part in path.parts):
        return False
    if globs:
        whole = PurePosixPath(path).as_posix()
        return any(fnmatchcase(whole if "/" in glob else path.name, glob) for glob in globs)
    # Some tests can be run as scripts, too.
    is_test = any(fnmatchcase(path.name, each) for each in _TESTS)
    return path.suffix.lower() in (*SQL_ENDINGS, *NOTEBOOK_ENDINGS, *JOB_ENDINGS) and not is_test


def is_mode(path: Path, test: Callable[[int], bool]) -> bool | None:
    """
    Return whether a path is of a kind; None if nothing is there, or the place can't be looked at.

    Args:
        path: the path.
        test: whether a mode is that of the kind, such as `stat.S_ISDIR`.
    """
    try:
        return test(path.stat().st_mode)
    except OSError:
        return None


def is_code(text: str, ending: str, *, is_ddl: bool) -> bool:
    """
    Return whether a file is a notebook of Databricks or Fabric, or, unless it only declares tables, another job.

    Args:
        text: the content of the file.
        ending: the ending of its name, in lower case, with the dot.
        is_ddl: as for `files_in`.
    """
    if ending in NOTEBOOK_ENDINGS and is_notebook(text):
        return True
    return not is_ddl and ending in JOB_ENDINGS and is_job(text, ending)


def _is_code(file: Path, *, is_ddl: bool) -> bool:
    if not is_mode(file, stat.S_ISREG):
        return False
    try:
        return is_code(file.read_text("utf-8-sig", errors="replace"), file.suffix.lower(), is_ddl=is_ddl)
    except OSError:
        return False


def _ignored(folder: Path, files: Iterable[Path]) -> frozenset[Path]:
    """Return the files that git ignores; none if git is missing, or ignores the folder itself."""
    asked = {str(each.relative_to(folder)): each for each in files}
    if not asked or ignored_by_git(folder, [str(folder.resolve())]):
        return frozenset()
    return frozenset(asked[name] for name in ignored_by_git(folder, asked) if name in asked)


def ignored_by_git(folder: Path, names: Iterable[str]) -> list[str]:
    """
    Return those of some files that git ignores; none if git is missing.

    Args:
        folder: a folder in the repository.
        names: the files, relative to the folder.
    """
    given = "".join(f"{name}\0" for name in names)
    try:
        done = subprocess.run(  # noqa: S603 (no shell, and names are no options)
            ["git", "-C", str(folder), "check-ignore", "-z", "--stdin"],  # noqa: S607 (the git that the user has)
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
        )
    except OSError:
        return []
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
