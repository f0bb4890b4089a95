"""The scripts as they are, and as they were in a revision of git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.predict.notebooks import NOTEBOOK, NOTEBOOK_ENDINGS, is_notebook
from openlineage_pyspark.workbench.predict.scripts import Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENDINGS = (".sql", ".hql")
_PYTHON = ".py"
_FIRST_LINE = 80


def scripts_now(paths: Sequence[Path], *, is_ddl: bool = False) -> list[Script]:
    """
    Return the scripts at some paths, in their order.

    Args:
        paths: files; or folders, of which all files that end with `.sql` or `.hql` are taken, and all notebooks of
            Databricks, in the order of their names.
        is_ddl: whether they only declare tables.

    Raises:
        TextError: one can't be read, or is no SQL.
    """
    found = []
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(each for each in path.rglob("*") if _is_sql(each))
            if not files:
                endings = " or ".join(_ENDINGS)
                raise TextError(f"{path} holds no files that end with {endings}, and no notebooks", path=str(path))
        found += [Script(str(file), _text(file, is_ddl=is_ddl), is_ddl) for file in files]
    return found


def _is_sql(file: Path) -> bool:
    """Return whether a file in a folder is one of SQL: a file of another language is one if it is a notebook."""
    ending = file.suffix.lower()
    if ending not in (*_ENDINGS, *NOTEBOOK_ENDINGS) or not file.is_file():
        return False
    if ending in _ENDINGS:
        return True
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as opened:
            return is_notebook(opened.readline(_FIRST_LINE))
    except OSError:
        return False


def _text(file: Path, *, is_ddl: bool) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise TextError(f"{file} can't be read: {reason}", path=str(file)) from problem
    is_script = file.suffix.lower() == _PYTHON and not is_ddl
    if file.suffix.lower() in NOTEBOOK_ENDINGS and not is_script and not is_notebook(text):
        why = "files of this language are read if they are notebooks that Databricks has exported"
        raise TextError(f"{file} is no SQL: {why}", path=str(file))
    return text


def scripts_at(revision: str, paths: Sequence[Path], *, is_ddl: bool = False) -> list[Script]:
    """
    Return the scripts as they were in a revision; those that it did not have are left out.

    Args:
        revision: what git takes for a commit, such as `origin/main`.
        paths: as in `scripts_now`.
        is_ddl: as there.

    Raises:
        TextError: git is not installed, a path is in no repository, or the revision is not known.
    """
    found = []
    for path in paths:
        folder = _folder_of(path)
        commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        for each in _names_at(folder, commit, name):
            text = _git(folder, "show", f"{commit}:./{each}")
            found.append(Script(str(path if each == name else folder / each), text.removeprefix("\ufeff"), is_ddl))
    return found


def _names_at(folder: Path, commit: str, name: str) -> Iterator[str]:
    """Yield the files that a path stood for in a commit."""
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit, "--", name).split("\0")
    notebooks = _notebooks_at(folder, commit, name)
    # In the order in which `scripts_now` has them: folder by folder.
    for each in sorted(filter(None, listed), key=PurePosixPath):
        if each == name or each.lower().endswith(_ENDINGS) or each in notebooks:
            yield each


def _notebooks_at(folder: Path, commit: str, name: str) -> frozenset[str]:
    """Return the files in a folder that were notebooks in a commit, but for those of SQL."""
    lines = _git(folder, "grep", "-h", "-z", "--name-only", "-e", NOTEBOOK, commit, "--", name, may_find_nothing=True)
    names = (each.removeprefix(f"{commit}:") for each in lines.split("\0"))
    those = [each for each in names if each.lower().endswith(NOTEBOOK_ENDINGS) and each != name]
    return frozenset(each for each in those if is_notebook(_git(folder, "show", f"{commit}:./{each}")))


def _folder_of(path: Path) -> Path:
    """Return the nearest folder above a path that is there: the path itself may be gone."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _git(folder: Path, *arguments: str, may_find_nothing: bool = False) -> str:
    try:
        done = subprocess.run(  # noqa: S603 (no shell, and the revision is no option)
            ["git", "-C", str(folder), *arguments],  # noqa: S607 (the git that the user has)
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise TextError("--diff needs git, which is not installed") from None
    if done.returncode and not (may_find_nothing and done.returncode == 1):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        asked = arguments[-1].removesuffix("^{commit}")
        raise TextError(f"git: {said[0] if said else f'there is no revision {asked}'}")
    return done.stdout.decode("utf-8", "replace")
