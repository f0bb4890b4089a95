"""
The files of this machine that a script looks for: existing files, and files with known columns.

Scripts check whether a data file exists, and list the files of a folder. The data are not on this machine: files with
known columns are assumed to exist, and so are their folders. Each other answer is recorded.
"""

from __future__ import annotations

import glob
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.script.patterns import is_matched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_LISTS = "its content in a real run is unknown (--schemas names files with their columns)"
_EVERYWHERE = "**"


class LocalFiles:
    """
    Answers a script's calls about files.

    Args:
        stage: knows the files of data, and records each answer that may differ in a real run.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def install(self) -> None:
        """Make Python's functions answer the user's code in this way, for the rest of the process."""
        functions: Any = os.path
        for owner, name, known in (
            (functions, "exists", self._is_known),
            (functions, "isfile", self._is_file),
            (functions, "isdir", self._is_known),
            (Path, "exists", self._is_known),
            (Path, "is_file", self._is_file),
            (Path, "is_dir", self._is_known),
        ):
            setattr(owner, name, self._answering(getattr(owner, name), known))
        self._install_lists()
        self._install_patterns()

    def _install_lists(self) -> None:
        listed, walked, iterated = os.listdir, os.walk, Path.iterdir

        def listing(path: Any = ".") -> list[Any]:
            return self._listed(path, listed) if self._is_users() else listed(path)

        def iterating(folder: Path) -> Iterator[Path]:
            return (
                iter([folder / each for each in self._listed(folder, listed)]) if self._is_users() else iterated(folder)
            )

        def walking(top: Any, *rest: Any, **named: Any) -> Iterator[Any]:
            if not self._is_users():
                return walked(top, *rest, **named)
            if os.path.lexists(top):
                return self._noted(walked(top, *rest, **named))
            return iter([(top, [], self._listed(top, listed))])

        for owner, name, function in ((os, "listdir", listing), (os, "walk", walking), (Path, "iterdir", iterating)):
            setattr(owner, name, function)

    def _install_patterns(self) -> None:
        found, found_one_by_one, below, far_below = glob.glob, glob.iglob, Path.glob, Path.rglob

        def globbed(pathname: Any, **named: Any) -> list[Any]:
            real = found(pathname, **named)
            if not self._is_users():
                return real
            self._stage.finds(real)
            return [*real, *self._matching(str(pathname), real, deep=bool(named.get("recursive")))]

        def one_by_one(pathname: Any, **named: Any) -> Iterator[Any]:
            # `glob.glob` calls this one.
            real = found_one_by_one(pathname, **named)
            if not self._is_users():
                return real
            every = list(real)
            self._stage.finds(every)
            return iter([*every, *self._matching(str(pathname), every, deep=bool(named.get("recursive")))])

        def within(folder: Path, pattern: Any, **named: Any) -> Iterator[Path]:
            real = list(below(folder, pattern, **named))
            more = self._found_matching(folder / pattern, real) if self._is_users() else ()
            return iter([*real, *map(Path, more)])

        def everywhere(folder: Path, pattern: Any, **named: Any) -> Iterator[Path]:
            real = list(far_below(folder, pattern, **named))
            more = self._found_matching(folder / _EVERYWHERE / pattern, real) if self._is_users() else ()
            return iter([*real, *map(Path, more)])

        for owner, name, function in (
            (glob, "glob", globbed), (glob, "iglob", one_by_one), (Path, "glob", within), (Path, "rglob", everywhere),
        ):  # fmt: skip
            setattr(owner, name, function)

    def _is_users(self) -> bool:
        """Return whether the call comes from the user's code, and not from a library."""
        return self._stage.is_users(sys._getframe(2).f_code.co_filename)

    def _answering(self, real: Callable[..., bool], known: Callable[[str], bool]) -> Callable[..., bool]:
        def answer(path: Any, **named: Any) -> bool:
            is_there = real(path, **named)
            if is_there or not self._is_users() or not isinstance(path, str | os.PathLike):
                return is_there
            whole = _whole(path)
            if self._is_known(whole):
                return known(whole)
            return self._stage.is_there(os.fspath(path))

        return answer

    def _is_known(self, path: str) -> bool:
        known = self._stage.local_paths()
        return self._stage.own_files.is_folder(path) or any(
            each == path or each.startswith(f"{path}/") for each in known
        )

    def _is_file(self, path: str) -> bool:
        return path in self._stage.local_paths()

    def _listed(self, folder: Any, real: Callable[[Any], list[Any]]) -> list[Any]:
        """Return the names in a folder, with those of known files and folders."""
        is_there, begin = os.path.lexists(folder), f"{_whole(folder)}/"
        names = real(folder) if is_there else []
        self._stage.finds(names)
        known = (each.removeprefix(begin) for each in self._stage.local_paths() if each.startswith(begin))
        more = [each for each in dict.fromkeys(each.partition("/")[0] for each in known) if each not in names]
        if not is_there and not more and not self._stage.own_files.is_folder(begin):
            self._stage.problem("STAND_IN", f"the folder {os.fsdecode(folder)} does not exist here: {_LISTS}")
        return [*names, *more]

    def _noted(self, walked: Iterator[Any]) -> Iterator[Any]:
        for folder, folders, files in walked:
            self._stage.finds(os.path.join(folder, each) for each in (*folders, *files))  # noqa: PTH118 (texts)
            yield folder, folders, files

    def _found_matching(self, pattern: Path, real: Iterable[Path]) -> list[str]:
        found = list(real)
        self._stage.finds(found)
        return self._matching(str(pattern), found, deep=True)

    def _matching(self, pattern: str, real: Iterable[Any], *, deep: bool) -> list[str]:
        """Return the known files and folders that a pattern matches, in addition to those that exist."""
        there, whole = {_whole(each) for each in real}, _whole(pattern)
        every = (each for path in self._stage.local_paths() for each in (*map(str, reversed(Path(path).parents)), path))
        known = [each for each in dict.fromkeys(every) if each not in there and is_matched(each, whole, deep=deep)]
        found = [each if pattern.startswith("/") else os.path.relpath(each) for each in known]
        if not found and not there:
            self._stage.problem("STAND_IN", f"no file here matches {pattern}: {_LISTS}")
        return found


def _whole(path: Any) -> str:
    # A link is not resolved.
    return os.path.abspath(os.fsdecode(path))  # noqa: PTH100
