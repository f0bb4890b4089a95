"""The files and folders that a script makes: it finds their content again, in the scratch folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_REMOVES = frozenset({"os.remove", "os.unlink", "os.rmdir", "os.removedirs", "shutil.rmtree"})
_MOVES = frozenset({"os.rename", "os.renames", "os.replace", "shutil.move"})
_COPIES = frozenset({"shutil.copy", "shutil.copy2", "shutil.copyfile"})
_FOLDERS = frozenset({"os.mkdir", "os.makedirs"})
_MOST_COPIED = 16_000_000
"""The number of bytes up to which a file that exists is copied."""


class OwnFiles:
    """
    The files and folders that a script makes.

    Args:
        scratch: the folder for their content.
    """

    def __init__(self, scratch: str) -> None:
        self._scratch = Path(scratch) / "files"
        # The path without links -> the path as the script names it.
        self._files: dict[str, str] = {}
        self._folders: set[str] = set()

    @property
    def files(self) -> list[str]:
        """The paths of the files."""
        return list(self._files.values())

    def is_folder(self, path: str) -> bool:
        """Return whether the script has made a folder."""
        return os.path.realpath(path) in self._folders

    def begin(self, path: Any, *, keeps: bool = False) -> Path:
        """
        Return the file in the scratch folder into which the script writes the content of a file.

        Args:
            path: the file.
            keeps: whether what is in the file stays.
        """
        real = os.path.realpath(os.fsdecode(path))
        self._scratch.mkdir(parents=True, exist_ok=True)
        if keeps and real not in self._files and _is_copied(Path(real)):
            self._copy(real).write_bytes(Path(real).read_bytes())
        return self._copy(real)

    def add(self, path: Any) -> None:
        """Remember a file that the script has begun to write."""
        name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 (a link is not resolved)
        self._files[os.path.realpath(name)] = name

    def find(self, path: Any) -> Path | None:
        """Return the file with the content of a file that the script has made; None for any other file."""
        # Nearly all scripts make none.
        if not self._files or not isinstance(path, str | bytes | os.PathLike):
            return None
        real = os.path.realpath(os.fsdecode(path))
        return self._copy(real) if real in self._files else None

    def follow(self, action: str, paths: Sequence[str]) -> None:
        """
        Do to the script's own files what an action of Python would do.

        Args:
            action: the function of Python, with its module.
            paths: the paths that it takes, as the script names them.
        """
        if action in _FOLDERS:
            self._folders.add(os.path.realpath(paths[0]))
        elif action in _REMOVES:
            self._forget(paths[0])
        elif len(paths) == 2 and action in (*_MOVES, *_COPIES):
            source, target = paths
            if os.path.isdir(target) or self.is_folder(target):  # noqa: PTH112 (a text)
                target = f"{target}{os.sep}{source.rstrip(os.sep).rpartition(os.sep)[2]}"
            self._copied(source, target)
            if action in _MOVES:
                self._forget(source)

    def _copied(self, source: str, target: str) -> None:
        found = self.find(source) or Path(source)
        if _is_copied(found):
            content = found.read_bytes()
            self.begin(target).write_bytes(content)
            self.add(target)

    def _forget(self, path: str) -> None:
        gone = os.path.realpath(path)
        for real in [each for each in self._files if each == gone or each.startswith(f"{gone}{os.sep}")]:
            del self._files[real]
        self._folders = {each for each in self._folders if each != gone and not each.startswith(f"{gone}{os.sep}")}

    def _copy(self, real: str) -> Path:
        return self._scratch / real.lstrip(os.sep).replace(os.sep, "__")


def _is_copied(file: Path) -> bool:
    return file.is_file() and file.stat().st_size <= _MOST_COPIED
