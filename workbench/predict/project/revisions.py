"""The scripts in their current state, and in a git revision."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.predict.project.folders import (
    SQL_ENDINGS,
    files_in,
    ignored_by_git,
    is_chosen,
    is_code,
    is_mode,
)
from openlineage_pyspark.workbench.predict.project.jobs import JOB_ENDINGS, MENTIONS
from openlineage_pyspark.workbench.predict.scripts import Script
from openlineage_pyspark.workbench.predict.sql.notebooks import NOTEBOOK, NOTEBOOK_ENDINGS, is_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The bytes at the beginning of a text -> its encoding. SQL Server's tools write UTF-16, some without a mark.
_ENCODINGS = (
    (re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff"), "utf-32"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "utf-16"),
    (re.compile(rb"(?:[\t\n\r -~]\0){4}"), "utf-16-le"),
    (re.compile(rb"(?:\0[\t\n\r -~]){4}"), "utf-16-be"),
)
_PYTHON = ".py"
_SHALLOW = ": the clone is shallow, `git fetch --unshallow` gets the others"
# What git says of a link to nothing, to itself, through a file, or out of the repository, before a size.
_LINKS = (b"dangling ", b"loop ", b"notdir ", b"symlink ")


def scripts_now(paths: Sequence[Path], *, is_ddl: bool = False, globs: Sequence[str] = ()) -> list[Script]:
    """
    Return the scripts at some paths, in their order.

    Args:
        paths: files; or folders, in which all SQL files, notebooks and PySpark scripts are read, in the order of their
            names.
        is_ddl: whether they only declare tables.
        globs: the patterns of the files that are read in folders instead, as for `files_in`.

    Returns:
        The scripts; one that can't be read has the reason instead of its text.

    Raises:
        TextError: none of them can be read; or one is not SQL, or a folder has no such file.
    """
    found = []
    for path in paths:
        files = [path]
        if is_mode(path, stat.S_ISDIR):
            files = files_in(path, globs, is_ddl=is_ddl)
            if not files:
                raise TextError(f"{path} contains no files that {_wanted(globs)}", path=str(path))
        found += [_script(file, is_ddl=is_ddl) for file in files]
    if found and all(each.unreadable for each in found):
        raise TextError(f"{found[0].name} {found[0].unreadable}", path=found[0].name)
    return found


def _script(file: Path, *, is_ddl: bool) -> Script:
    try:
        if is_mode(file, stat.S_ISDIR):
            # It could not be listed: the reason is that of the next attempt.
            os.scandir(file).close()
        read = file.read_bytes()
    except OSError as problem:
        return Script(str(file), "", is_ddl, unreadable=f"can't be read: {problem.strerror}")
    return Script(str(file), _text(file, read, is_ddl=is_ddl), is_ddl)


def _wanted(globs: Sequence[str]) -> str:
    if globs:
        return f"match {' or '.join(globs)}"
    *most, last = SQL_ENDINGS
    return f"end with {', '.join(most)} or {last}, no notebooks and no PySpark scripts; --glob selects others"


def _text(file: Path, read: bytes, *, is_ddl: bool) -> str:
    """
    Return the text of a file.

    A file that is not UTF-8 is read as Latin-1, so that unusual characters in its strings and comments do no harm.
    """
    text = _decoded(read)
    is_script = file.suffix.lower() == _PYTHON and not is_ddl
    if file.suffix.lower() in NOTEBOOK_ENDINGS and not is_script and not is_notebook(text):
        why = "files in this language must be notebooks of Databricks or Fabric"
        raise TextError(f"{file} is not SQL: {why}", path=str(file))
    return text


def _decoded(read: bytes) -> str:
    encoding = next((name for begins, name in _ENCODINGS if begins.match(read) is not None), "utf-8-sig")
    try:
        return read.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return read.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")


def scripts_at(
    revision: str, paths: Sequence[Path], *, is_ddl: bool = False, globs: Sequence[str] = ()
) -> list[Script]:
    """
    Return the scripts of a revision; those that it does not have are left out.

    Args:
        revision: the revision, in any form that git accepts, such as `origin/main`.
        paths: as in `scripts_now`.
        is_ddl: as in `scripts_now`.
        globs: as in `scripts_now`.

    Raises:
        TextError: git is not installed, a path is in no repository, or the revision is unknown.
    """
    found = []
    for path in paths:
        folder = _folder_of(path)
        commit = _commit(folder, revision)
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        names = list(_names_at(folder, commit, name, globs, is_ddl=is_ddl))
        for each, read in zip(names, _contents_at(folder, commit, names), strict=True):
            text, why = ("", read) if isinstance(read, str) else (_decoded(read), "")
            found.append(Script(str(path if each == name else folder / each), text, is_ddl, unreadable=why))
    return found


def archive_at(revision: str) -> bytes:
    """
    Return an archive (tar) of all files of a revision that are below the current folder.

    Args:
        revision: the revision, in any form that git accepts.

    Raises:
        TextError: git is not installed, the folder is in no repository, or the revision is unknown.
    """
    here = Path.cwd()
    return _git_bytes(here, "archive", "--format=tar", f"{_commit(here, revision)}^{{tree}}")


def is_changed_since(revision: str) -> bool:
    """
    Return whether any file below the current folder differs from a revision; files that git ignores do not count.

    Args:
        revision: the revision, in any form that git accepts.

    Raises:
        TextError: git is not installed, the folder is in no repository, or the revision is unknown.
    """
    return bool(_changed_below(Path.cwd(), revision))


def changed_since(revision: str, paths: Iterable[Path]) -> frozenset[str]:
    """
    Return all files that differ from a revision in the repositories of some paths; ignored files do not count.

    Args:
        revision: the revision, in any form that git accepts.
        paths: files and folders, which need not exist any more.

    Returns:
        Their paths within their repository.

    Raises:
        TextError: git is not installed, a path is in no repository, or the revision is unknown there.
    """
    tops = {_git(folder, "rev-parse", "--show-toplevel").rstrip("\n") for folder in set(map(_folder_of, paths))}
    return frozenset().union(*(_changed_below(Path(each), revision) for each in tops))


def _changed_below(folder: Path, revision: str) -> frozenset[str]:
    commit = _commit(folder, revision)
    changed = _git(folder, "diff", "--name-only", "--no-renames", "--relative", "-z", commit, "--", ".")
    new = _git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    return frozenset(filter(None, (*changed.split("\0"), *new.split("\0"))))


def _commit(folder: Path, revision: str) -> str:
    return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()


def _contents_at(folder: Path, commit: str, names: Sequence[str]) -> Iterator[bytes | str]:
    """Yield the contents of files in a commit, or why one has none; a single git process reads nearly all of them."""
    listed = [name for name in names if "\n" not in name]
    asked = "".join(f"{commit}:./{name}\n" for name in listed).encode("utf-8", "surrogateescape")
    output = _git_bytes(folder, "cat-file", "--batch", "--follow-symlinks", given=asked) if listed else b""
    at = 0
    for name in names:
        if "\n" in name:
            yield _git_bytes(folder, "show", f"{commit}:./{name}")
            continue
        line = output[at : output.index(b"\n", at)]
        begin = at + len(line) + 1
        if line.endswith(b" missing"):
            # It is a submodule.
            yield "can't be read: it is not in the repository"
            at = begin
            continue
        size = int(line.rsplit(b" ", 1)[1])
        is_link = line.startswith(_LINKS)
        yield "can't be read: it links to no file of the revision" if is_link else output[begin : begin + size]
        at = begin + size + 1


def _names_at(folder: Path, commit: str, name: str, globs: Sequence[str], *, is_ddl: bool) -> Iterator[str]:
    """Yield the files of a commit that a path names or contains, by their paths within the folder."""
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit, "--", name).split("\0")
    code = frozenset[str]() if globs else _code_at(folder, commit, name, is_ddl=is_ddl)
    # In the order of `scripts_now`: folder by folder.
    for each in sorted(filter(None, listed), key=PurePosixPath):
        inside = PurePosixPath(each).relative_to(name) if each != name else None
        if inside is None or (
            is_chosen(inside, globs) and (globs or each.lower().endswith(SQL_ENDINGS) or each in code)
        ):
            yield each


def _code_at(folder: Path, commit: str, name: str, *, is_ddl: bool) -> frozenset[str]:
    """Return the notebooks and scripts in a folder of a commit, except SQL files."""
    words = [part for word in (NOTEBOOK, "%sql", *MENTIONS) for part in ("-e", word)]
    lines = _git(folder, "grep", "-hiFz", "--name-only", *words, commit, "--", name, may_find_nothing=True)
    names = (each.removeprefix(f"{commit}:") for each in lines.split("\0"))
    those = [each for each in names if each.lower().endswith((*NOTEBOOK_ENDINGS, *JOB_ENDINGS)) and each != name]
    contents = zip(those, _contents_at(folder, commit, those), strict=True)
    return frozenset(
        each
        for each, read in contents
        if isinstance(read, bytes) and is_code(_decoded(read), PurePosixPath(each).suffix.lower(), is_ddl=is_ddl)
    )


def _folder_of(path: Path) -> Path:
    """Return the nearest existing folder above a path, which may no longer exist; the path if it is a repository."""
    folder = path if (path / ".git").exists() else path.parent
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _git(folder: Path, *arguments: str, may_find_nothing: bool = False) -> str:
    # The name of a file may be any bytes.
    return _git_bytes(folder, *arguments, may_find_nothing=may_find_nothing).decode("utf-8", "surrogateescape")


def _git_bytes(folder: Path, *arguments: str, may_find_nothing: bool = False, given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 (no shell, and the revision is no option)
            ["git", "-C", str(folder), *arguments],  # noqa: S607 (the git that the user has)
            input=given,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise TextError("--diff needs git, which is not installed") from None
    if done.returncode and not (may_find_nothing and done.returncode == 1):
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise TextError(f"git: {lines[0] if lines else _missing(folder, arguments[-1].removesuffix('^{commit}'))}")
    return done.stdout


def _missing(folder: Path, revision: str) -> str:
    """Return what to say about a revision that is not there: CI often clones the newest commit alone."""
    is_shallow = _git(folder, "rev-parse", "--is-shallow-repository").strip() == "true"
    return f"there is no revision {revision}{_SHALLOW if is_shallow else ''}"


def path_at(path: Path, folder: Path | None) -> Path:
    """
    Return where a file or a folder of the working tree is in a revision.

    Args:
        path: the file or the folder.
        folder: the folder with the files of the revision; None for the working tree.

    Returns:
        The path itself, if it is in no revision: git ignores it, or it is not below the current folder.
    """
    whole = path.resolve()
    here = Path.cwd()
    if folder is None or not whole.is_relative_to(here) or ignored_by_git(here, [str(whole.relative_to(here))]):
        return whole
    return folder / whole.relative_to(here)
