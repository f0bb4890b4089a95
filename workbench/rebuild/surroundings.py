"""The files beside a script, which decide what it does, as does its own text."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.rebuild.places import name_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LARGEST = 1_000_000
"""Modules with more bytes are not searched for names of files."""
_PART = 1 << 20
_WILD = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|[*?{}\[\]]+")
# Files that only people read.
_FOR_PEOPLE = (".md", ".rst")


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
