"""The files beside a script, which decide what it does, as does its own text."""

from __future__ import annotations

import functools
import hashlib
import os
import posixpath
import re
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.rebuild.places import name_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LARGEST = 1_000_000
"""Modules with more bytes are not searched for names of files."""
_PART = 1 << 20
_WILD = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|[*?{}\[\]]+")
# Files that only people read.
_FOR_PEOPLE = (".md", ".rst")
_CODE = (".ddl", ".hql", ".ipynb", ".py", ".sql", ".sqlx", ".toml", ".yaml", ".yml")
_NO_PATH = re.compile(r"[\s,;]+")


def surroundings_of(script: Path, text: str, listed: Iterable[Path], others: Iterable[Path] = ()) -> str:
    """
    Return a hash of the files that a script may import or read.

    Args:
        script: the script.
        text: its text.
        listed: the files that run in the same call; of these, only those count whose names appear in the script or in
            the files beside it.
        others: further folders and files from which it imports.
    """
    own = script.resolve()
    read = _files_of(own, text, listed, others)
    return _hash_of(
        (str(each.relative_to(own.parent)) if each.is_relative_to(own.parent) else each.name, each) for each in read
    )


def words_of(
    script: Path, text: str, listed: Iterable[Path], others: Iterable[Path] = (), opened: Iterable[Path] = ()
) -> frozenset[str]:
    """
    Return the words of a script and of the files that it may import or read, in lower case: it makes names of them.

    Args:
        script: the script.
        text: its text.
        listed: the files that run in the same call.
        others: further folders and files from which it imports.
        opened: further files that it reads.
    """
    files = (*_files_of(script.resolve(), text, listed, others), *(each for each in opened if each.is_file()))
    return frozenset(word for each in (text, *map(_text, files)) for word in name_words(each))


def _files_of(own: Path, text: str, listed: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """Return the files that a script may import or read."""
    apart = {each.resolve() for each in listed} - {own}
    files = [each for root in (own.parent, *others) for each in _files(root) if each.resolve() != own]
    beside = {each for each in files if each.resolve() not in apart}
    texts = [text, *(_text(each) for each in beside if each.suffix == ".py")]
    words = {word for each in texts for word in re.findall(r"\w+", each)}
    return sorted(each for each in files if each in beside or each.stem in words)


def hash_of_files(folder: Path, names: Iterable[str]) -> str:
    """
    Return a hash of the files that a script has read.

    Args:
        folder: the folder in which it ran.
        names: the files, relative to the folder; also folders of data, and patterns of Hadoop's globs.
    """
    files = {os.path.relpath(file, folder): file for name in names for file in files_read_at(folder, name)}
    return _hash_of(sorted(files.items()))


def files_read_at(folder: Path, name: str) -> list[Path]:
    """
    Return the files that a script reads by a name.

    Args:
        folder: the folder in which it ran.
        name: a file, a folder of data, or a pattern, relative to the folder.
    """
    if not _WILD.search(name):
        return list(_files(folder / name)) if (folder / name).exists() else []
    # Each pair of brackets stands for any text: what it excludes is read too many times, but never too few.
    return [file for each in sorted(folder.glob(_WILD.sub("*", name))) for file in _files(each)]


def names_file(text: str, files: frozenset[str]) -> bool:
    """
    Return whether a statement names one of some files, or a folder with files of data: it may read it.

    Args:
        text: the statement.
        files: the files, relative to the folder in which the statement may run.
    """
    quoted = (each.text.strip("`'\"") for each in tokens(text) if each.kind in (TokenKind.STRING, TokenKind.NAME))
    words = {word for each in quoted for word in _NO_PATH.split(each) if word}
    paths = {posixpath.normpath(each.removeprefix("file:")).strip("/") for each in words}
    return any(_may_be_in(file, path) for path in paths if _may_be_part(path, files) for file in files)


def _may_be_part(path: str, files: frozenset[str]) -> bool:
    last = path.rpartition("/")[2]
    return last in _parts_of(files) or (_WILD.search(last) is not None and _WILD.sub("", last) != "")


@functools.lru_cache(maxsize=8)
def _parts_of(files: frozenset[str]) -> frozenset[str]:
    """Return the names of files and of their folders; cached, because many statements may name them."""
    return frozenset(part for each in files for part in each.split("/"))


def _may_be_in(file: str, path: str) -> bool:
    pattern = _WILD.sub("*", path)
    is_named = fnmatch(file, pattern) or fnmatch(file, f"*/{pattern}") or f"/{path}".endswith(f"/{file}")
    is_data = PurePosixPath(file).suffix.lower() not in (*_FOR_PEOPLE, *_CODE)
    return ("." in path and is_named) or (is_data and (fnmatch(file, f"{pattern}/*") or f"/{file}/" in f"/{path}/"))


def _hash_of(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, file in files:
        digest.update(f"{name}\0".encode())
        with file.open("rb") as content:
            while part := content.read(_PART):
                digest.update(part)
    return digest.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    """Yield the files in a folder, except hidden ones."""
    if root.is_file():
        yield root
        return
    for each in sorted(root.rglob("*")):
        parts = each.relative_to(root).parts
        is_hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if each.is_file() and each.suffix not in _FOR_PEOPLE and not is_hidden:
            yield each


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.stat().st_size <= _LARGEST else ""
