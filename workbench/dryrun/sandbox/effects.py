"""
The effects of a script outside of Spark: files that it writes, folders that it removes, programs that it starts.

Each is only recorded, so that the script continues. A file that it writes goes to the scratch folder, where the script
can read it again.
"""

from __future__ import annotations

import _posixsubprocess
import builtins
import datetime
import errno
import fcntl
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_FILES = (
    "chmod", "chown", "link", "makedirs", "mkdir", "remove", "removedirs", "rename", "renames", "replace", "rmdir",
    "symlink", "truncate", "unlink", "utime",
)  # fmt: skip
_TREES = ("copy", "copy2", "copyfile", "copymode", "copystat", "copytree", "move", "rmtree", "make_archive",
          "unpack_archive")  # fmt: skip
_PATHS = ("name", "path", "src", "source", "dst", "top")
_TO_TARGET = frozenset(f"shutil.{name}" for name in ("copy", "copy2", "copyfile", "copytree", "move"))
"""The functions that return the path of what they make."""
# A day, and perhaps a time of that day, in the name of a file.
_MOMENT = re.compile(
    r"(?<!\d)(\d{4})(?P<s>[-_./]?)(\d\d)(?P=s)(\d\d)"
    r"(?:(?P<between>[-_T ]?)\d\d(?P<t>[-_:.]?)\d\d(?:(?P=t)\d\d)?(?:\.\d+)?)?(?!\d)"
)


_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Effects:
    """
    Stand-ins for Python functions that change files or start programs.

    Args:
        stage: records each call.
        sparks_folder: the folder through which PySpark passes values to the JVM.
    """

    def __init__(self, stage: Stage, sparks_folder: str) -> None:
        self._stage = stage
        self._scratch = tuple(os.path.realpath(each) + os.sep for each in (stage.request.scratch, sparks_folder))
        self._own = stage.own_files
        self._open = io.open

    def install(self) -> None:
        """Replace these functions, for the rest of the process."""
        for module, names in ((os, _FILES), (shutil, _TREES)):
            for name in names:
                if hasattr(module, name):
                    setattr(module, name, self._recording(f"{module.__name__}.{name}", getattr(module, name)))
        builtins.open = io.open = self._opened
        os.open = self._opening_descriptors(os.open)
        os.stat = self._describing(os.stat)
        Path.touch = lambda path, *_, **__: self._opened(path, "a").close()  # type: ignore[method-assign]
        # Up to Python 3.10, `pathlib` keeps its own references to these functions from when it was loaded.
        accessor = getattr(pathlib, "_normal_accessor", None)
        if accessor is not None:
            accessor.open, accessor.stat = self._opened, os.stat
            for name in _FILES:
                if hasattr(accessor, name) and hasattr(os, name):
                    setattr(accessor, name, getattr(os, name))
        done = subprocess.CompletedProcess
        text = "starts a program"
        subprocess.run = self._program("subprocess.run", lambda args: done(args, 0, "", ""), text)
        subprocess.call = subprocess.check_call = self._program("subprocess.call", lambda _: 0, text)
        subprocess.check_output = self._program("subprocess.check_output", lambda _: "", text)
        os.system = self._program("os.system", lambda _: 0, text)
        # `multiprocessing` starts programs without an audit event.
        _posixsubprocess.fork_exec = _refuse_program

    def _program(self, name: str, answer: Callable[[Any], Any], what: str) -> Callable[..., Any]:
        def started(arguments: Any = None, *_: Any, **__: Any) -> Any:
            shown = without_moment(arguments if isinstance(arguments, str) else " ".join(map(str, arguments or ())))
            self._stage.problem("NOT_DONE", f"{name}({shown[:100]!r}) {what}, which a dry run does not do")
            return answer(arguments)

        return started

    def _recording(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **named: Any) -> Any:
            given = (*arguments, *(named[each] for each in _PATHS if each in named))
            paths = [each for each in given if isinstance(each, (str, bytes, os.PathLike))]
            folder = folder_of(named.get("dir_fd"))
            whole = [os.path.join(folder, os.fsdecode(each)) for each in paths]  # noqa: PTH118 (texts)
            if all(f"{os.path.realpath(each)}{os.sep}".startswith(self._scratch) for each in whole):
                return real(*arguments, **named)
            shown = without_moment(", ".join(os.fsdecode(each) for each in paths))
            self._stage.problem("NOT_DONE", f"{name}({shown[:200]}) changes files, which a dry run does not do")
            self._own.follow(name, whole)
            return paths[1] if name in _TO_TARGET and len(paths) > 1 else None

        return changed

    def _opened(self, file: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **named: Any) -> Any:
        """Open a file, or its copy in the scratch folder."""
        # With an opener, the name may be that of a folder: Python opens temporary files in this way.
        if isinstance(file, int) or named.get("opener") is not None:
            return self._open(file, mode, buffering, *arguments, **named)
        path = os.path.realpath(os.fsdecode(file))
        if path.startswith(self._scratch) or path == os.devnull:
            return self._open(file, mode, buffering, *arguments, **named)
        if any(each in mode for each in "wax+"):
            name = without_moment(os.fsdecode(file))
            self._stage.problem("NOT_DONE", f"the script writes the file {name}, which a dry run does not do")
            instead = self._own.begin(file, keeps="a" in mode or "r" in mode)
            raw = self._open(instead, f"{mode.replace('b', '').replace('t', '')}b", buffering=0)
            self._own.add(file)
            return _taking_stand_ins(raw, mode, *arguments, **named)
        return self._open(self._own.find(file) or file, mode, buffering, *arguments, **named)

    def _opening_descriptors(self, real: Callable[..., int]) -> Callable[..., int]:
        """Return `os.open`, by which scripts make files that lock others out, with copies in the scratch folder."""

        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if dir_fd is not None or not self._stage.is_users(sys._getframe(1).f_code.co_filename):
                return real(path, flags, mode, dir_fd=dir_fd)
            whole = os.path.realpath(os.fsdecode(path))
            if whole.startswith(self._scratch) or whole == os.devnull:
                return real(path, flags, mode)
            if not flags & _CHANGING:
                return real(self._own.find(path) or path, flags, mode)
            name = without_moment(os.fsdecode(path))
            self._stage.problem("NOT_DONE", f"the script writes the file {name}, which a dry run does not do")
            if flags & os.O_EXCL and self._own.find(path) is None and os.path.lexists(whole):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            found = real(self._own.begin(path, keeps=not flags & os.O_TRUNC), flags, mode)
            self._own.add(path)
            return found

        return opened

    def _describing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return `os.stat`, which describes the file in the scratch folder for one that the script has made."""

        def described(path: Any, **named: Any) -> Any:
            found = self._own.find(path) if named.get("dir_fd") is None else None
            return real(path if found is None else found, **named)

        return described


def _refuse_program(*_: object) -> NoReturn:
    """Let the audit hook refuse to start a program, as it does where Python has an event for it."""
    sys.audit("os.posix_spawn")
    raise PermissionError("a dry run starts no programs")


def folder_of(descriptor: object) -> str:
    """Return the folder of a descriptor, to which a name is relative; empty for the current folder."""
    if not isinstance(descriptor, int) or descriptor < 0:
        return ""
    opened = f"/proc/self/fd/{descriptor}"
    if os.path.exists(opened):  # noqa: PTH110 (a text)
        return os.path.realpath(opened)
    # On macOS.
    found = fcntl.fcntl(descriptor, getattr(fcntl, "F_GETPATH", 0), bytes(1024))
    return os.fsdecode(bytes(found).rstrip(b"\0"))


def without_moment(text: str) -> str:
    """
    Return a text without the day and the time of this run, so that two runs of one script report the same.

    Args:
        text: a text with names of files.
    """
    today = datetime.date.today()

    def patterned(found: re.Match[str]) -> str:
        try:
            day = datetime.date(int(found[1]), int(found[3]), int(found[4]))
        except ValueError:
            return found[0]
        # A script may take another time zone, or have begun before midnight.
        if abs((day - today).days) > 1:
            return found[0]
        return "{date}" if found["between"] is None else f"{{date}}{found['between']}{{time}}"

    return _MOMENT.sub(patterned, text)


class _Bytes(io.BufferedWriter):
    """A file that also takes stand-ins."""

    def write(self, content: Any) -> int:
        """Write bytes, or the text of a stand-in."""
        return super().write(str(content).encode() if isinstance(content, StandIn) else content)


class _Texts(io.TextIOWrapper):
    """A file of text that also takes stand-ins."""

    def write(self, content: Any) -> int:
        """Write a text, or that of a stand-in."""
        return super().write(str(content) if isinstance(content, StandIn) else content)


def _taking_stand_ins(
    file: Any, mode: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None, **_: Any
) -> Any:
    """Return an opened file, without a buffer, as one that accepts stand-ins as texts."""
    # Not by an attribute of the file, which would keep it open for as long as Python does not collect the cycle.
    both = io.BufferedRandom(file) if "+" in mode else _Bytes(file)
    if "b" in mode:
        return both
    texts: Any = _Texts(both, encoding, errors, newline)
    texts.mode = mode
    return texts
