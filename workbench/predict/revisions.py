"""The scripts as they are, and as they were in a revision of git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.predict.scripts import Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENDING = ".sql"


def scripts_now(paths: Sequence[Path], *, is_ddl: bool = False) -> list[Script]:
    """
    Return the scripts at some paths, in their order.

    Args:
        paths: files; or folders, of which all files that end with `.sql` are taken, in the order of their names.
        is_ddl: whether they only declare tables.

    Raises:
        TextError: one can't be read.
    """
    found = []
    for path in paths:
        if path.is_dir():
            files = sorted(each for each in path.rglob(f"*{_ENDING}") if each.is_file())
            if not files:
                raise TextError(f"{path} holds no files that end with {_ENDING}", path=str(path))
        else:
            files = [path]
        found += [Script(str(file), _text(file), is_ddl) for file in files]
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise TextError(f"{file} can't be read: {reason}", path=str(file)) from problem


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
    # In the order in which `scripts_now` has them: folder by folder.
    for each in sorted(filter(None, listed), key=PurePosixPath):
        if each == name or each.endswith(_ENDING):
            yield each


def _folder_of(path: Path) -> Path:
    """Return the nearest folder above a path that is there: the path itself may be gone."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 (no shell, and the revision is no option)
            ["git", "-C", str(folder), *arguments],  # noqa: S607 (the git that the user has)
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise TextError("--diff needs git, which is not installed") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        asked = arguments[-1].removesuffix("^{commit}")
        raise TextError(f"git: {said[0] if said else f'there is no revision {asked}'}")
    return done.stdout.decode("utf-8", "replace")
