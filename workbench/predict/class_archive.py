"""
Keep the classes that Spark's JVM loads in an archive (AppCDS), with which the next JVM starts in about half the time.

The JVM checks an archive against its own version and its jars, and starts without it if they differ. The archive
contains code, so it is used only if no other user can write it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import attrs
from openlineage_pyspark.listener.settings.ownership import why_not_own

_BEGIN, _ENDING, _PART = "spark-classes-", ".jsa", ".part"
# Older versions can't write such an archive.
_FIRST_VERSION = 13
# Each has about 140 MB: one for SQL files, one for scripts, and those of another Java or Spark.
_MOST_FILES = 4
_SECONDS_TO_WRITE = 120
# The JVM prints its warnings on the standard output of the command.
_SILENT = "-Xlog:all=off:stdout"
# A JVM that Spark starts takes options from these variables; with two archives it may not start.
_OPTIONS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_OF_ARCHIVES = re.compile("SharedArchiveFile|ArchiveClassesAtExit|-Xshare")


@attrs.frozen
class ClassArchive:
    """
    The archive that a JVM uses or writes.

    Args:
        path: the archive.
        is_made: whether the JVM writes it; otherwise the JVM uses it.
    """

    path: Path
    is_made: bool

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of the JVM."""
        used = f"-XX:SharedArchiveFile={self.path}"
        return (_SILENT, f"-XX:ArchiveClassesAtExit={self._part}" if self.is_made else used)

    @property
    def _part(self) -> Path:
        """Return the file that the JVM writes first, so that a killed JVM does not truncate the archive."""
        return Path(f"{self.path}.{os.getpid()}{_PART}")

    def write(self, jvm: subprocess.Popen[Any]) -> None:
        """
        End a JVM so that it writes the archive, and remove the least recently used archives.

        If it can't be written, the next JVM starts without it.

        Args:
            jvm: the process, which ends with its standard input.
        """
        try:
            if jvm.stdin is not None:
                jvm.stdin.close()
            jvm.wait(_SECONDS_TO_WRITE)
            self._part.chmod(0o600)
            self._part.replace(self.path)
            _remove_oldest(self.path.parent)
        except (OSError, subprocess.TimeoutExpired):
            self.give_up(jvm)

    def give_up(self, jvm: subprocess.Popen[Any]) -> None:
        """End a JVM that must not write the archive."""
        jvm.kill()
        if jvm.stdin is not None:
            jvm.stdin.close()
        jvm.wait()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)


def class_archive(folder: Path, jars: Path, purpose: str) -> ClassArchive | None:
    """
    Return the archive in a folder that fits a JVM.

    There is none if Java supports none, another user can write the folder, or the environment names another archive.
    None is made in a folder that is read-only.

    Args:
        folder: the folder of the archives.
        jars: the folder of Spark's jars.
        purpose: the JVM's task, which decides which classes it loads.

    Raises:
        OSError: the folder or the jars can't be read.
    """
    java = _java()
    release = "" if java is None else _release(java)
    if any(_OF_ARCHIVES.search(os.environ.get(name, "")) for name in _OPTIONS):
        return None
    # The JVM's options are split at spaces.
    if _major(release) < _FIRST_VERSION or not hasattr(os, "geteuid") or re.search(r"\s", str(folder.absolute())):
        return None
    digest = hashlib.sha256(f"{java}\0{release}\0{purpose}".encode())
    for jar in sorted(jars.iterdir()):
        state = jar.stat()
        digest.update(f"\0{jar}\0{state.st_size}\0{state.st_mtime_ns}".encode())
    path = folder.absolute() / f"{_BEGIN}{digest.hexdigest()[:16]}{_ENDING}"
    is_made = not path.exists()
    checked = folder if is_made else path
    if why_not_own(checked, checked.stat()):
        return None
    if not is_made:
        with contextlib.suppress(OSError):
            os.utime(path)
    elif not os.access(folder, os.W_OK):
        return None
    return ClassArchive(path, is_made)


def _java() -> Path | None:
    """Return the Java that Spark uses."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return Path(found).resolve() if found else None


def _release(java: Path) -> str:
    """Return the `release` file of a Java installation; empty if it has none."""
    try:
        return (java.parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        return ""


def _major(release: str) -> int:
    """Return the version of Java; 0 if it is unknown, or older than 9."""
    for line in release.splitlines():
        name, _, value = line.partition("=")
        first = value.strip().strip('"').split(".", 1)[0]
        if name == "JAVA_VERSION" and first.isdigit():
            return int(first)
    return 0


def _remove_oldest(folder: Path) -> None:
    kept = sorted(folder.glob(f"{_BEGIN}*{_ENDING}"), key=lambda each: each.stat().st_mtime_ns, reverse=True)
    # The partial files of processes that were killed.
    left = [each for each in folder.glob(f"{_BEGIN}*{_PART}") if time.time() - each.stat().st_mtime > _SECONDS_TO_WRITE]
    for old in (*kept[_MOST_FILES:], *left):
        old.unlink(missing_ok=True)
