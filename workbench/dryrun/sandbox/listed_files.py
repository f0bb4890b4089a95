"""
The files that a script looks for by Hadoop's `FileSystem` in the JVM, and by `dbutils.fs`: those with known columns.

A known place has no known files in it, so it counts as a file itself.
"""

from __future__ import annotations

import fnmatch
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage


class JavaPath:
    """
    Hadoop's `Path`.

    Args:
        files: the files that a script looks for.
        parts: the path, or the path of a folder and one below it.
    """

    def __init__(self, files: JavaFiles, *parts: Any) -> None:
        self._files = files
        self._path = os.path.join(*map(str, parts)) if parts else ""  # noqa: PTH118 (a text)

    def __str__(self) -> str:
        return self._path

    def toString(self) -> str:  # noqa: N802 (Hadoop's names)
        """Return the path."""
        return self._path

    def getName(self) -> str:  # noqa: N802
        """Return its last part."""
        return self._path.rstrip("/").rpartition("/")[2]

    def getParent(self) -> JavaPath:  # noqa: N802
        """Return the folder that it is in."""
        return JavaPath(self._files, self._path.rstrip("/").rpartition("/")[0])

    def toUri(self) -> JavaPath:  # noqa: N802
        """Return the same, whose path `getPath` returns."""
        return self

    def getPath(self) -> str:  # noqa: N802
        """Return the path without the scheme and the host."""
        _, host, rest = self._path.partition("://")
        return f"/{rest.partition('/')[2]}" if host else self._path.removeprefix("file:").removeprefix("dbfs:")

    def getFileSystem(self, *_: Any) -> JavaFiles:  # noqa: N802
        """Return the files that a script looks for."""
        return self._files


class JavaFiles:
    """
    Hadoop's `FileSystem`: it answers what exists. Everything else it leaves to stand-ins.

    Args:
        stage: knows the places with columns, and records each answer that may differ in a real run.
        other: a stand-in for every other method.
    """

    def __init__(self, stage: Stage, other: StandIn) -> None:
        self._stage = stage
        self._other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)

    def exists(self, path: Any) -> bool:
        """Return whether a place is known, or there is one below it."""
        return self._stage.knows(str(path)) or self._stage.is_there(str(path))

    def listStatus(self, path: Any, *_: Any) -> Any:  # noqa: N802 (Hadoop's names)
        """Return what is known in a folder."""
        return self._statuses(str(path), self._other.listStatus)

    def globStatus(self, pattern: Any, *_: Any) -> Any:  # noqa: N802
        """Return what is known of the names that a pattern matches in one folder."""
        folder, wanted = str(pattern).rstrip("/").rpartition("/")[::2]
        return self._statuses(folder, self._other.globStatus, wanted)

    def listFiles(self, path: Any, recursive: Any = False) -> Any:  # noqa: FBT002, N802
        """Return an iterator of Java over the files that are known in a folder."""
        found = list(self._leaves(str(path), is_deep=bool(recursive)))
        return JavaIterator(found) if found else self._other.listFiles(path, recursive)

    def _leaves(self, folder: str, *, is_deep: bool) -> Iterator[Any]:
        for each in listed(self._stage, folder):
            if not each.isDir():
                yield self._status(each)
            elif is_deep:
                yield from self._leaves(each.path.rstrip("/"), is_deep=True)

    def _statuses(self, folder: str, other: Callable[[Any], Any], wanted: str = "*") -> Any:
        found = [each for each in listed(self._stage, folder) if fnmatch.fnmatch(each.name.rstrip("/"), wanted)]
        return [self._status(each) for each in found] if found else other(folder)

    def _status(self, file: Any) -> Any:
        path = JavaPath(self, file.path.rstrip("/"))
        return SimpleNamespace(
            getPath=lambda: path,
            isDirectory=file.isDir,
            isDir=file.isDir,
            isFile=file.isFile,
            getLen=lambda: self._stage.number("the size of a file"),
            getModificationTime=lambda: self._stage.number("the time of a file"),
        )


class JavaIterator:
    """
    An iterator of Java.

    Args:
        rest: its elements.
    """

    def __init__(self, rest: list[Any]) -> None:
        self._rest = rest

    def hasNext(self) -> bool:  # noqa: N802 (Java's name)
        """Return whether there are more elements."""
        return bool(self._rest)

    def next(self) -> Any:
        """Return the next element."""
        return self._rest.pop(0)


def listed(stage: Stage, folder: str) -> list[Any]:
    """
    Return the known files and folders in a folder, with the attributes that Databricks gives them, and report it.

    Args:
        stage: knows the places with columns.
        folder: the path of the folder.
    """
    names = stage.names_in(folder)
    if names:
        stage.problem("STAND_IN", f"only what is known in {folder} is listed: a real run may find more")
    return [
        SimpleNamespace(
            path=f"{folder.rstrip('/')}/{name}{'/' * is_folder}",
            name=f"{name}{'/' * is_folder}",
            size=stage.number("the size of a file"),
            modificationTime=stage.number("the time of a file"),
            isDir=lambda is_folder=is_folder: is_folder,
            isFile=lambda is_folder=is_folder: not is_folder,
        )
        for name, is_folder in names.items()
    ]
