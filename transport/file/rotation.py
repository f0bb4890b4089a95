"""Rotation of a local file: the names of rotated files, and their compression in the background."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import fcntl
import glob
import gzip
import logging
import os
import queue
import re
import secrets
import shutil
import stat
import threading
import time
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)

# How long a lock is waited for, and the longest pause between two attempts.
_LOCK_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 0.05

_STAMP = r"\d{8}T\d{6}\.\d{6}Z"


@attrs.frozen
class Rotation:
    """
    When a file is rotated, and whether it is compressed then.

    Args:
        max_bytes: the limit on the file; a line that would exceed it begins a new one.
        compress: whether rotated files are compressed with gzip.
    """

    max_bytes: int
    compress: bool = False


def rotated_path(path: Path) -> Path:
    """
    Return a free name for a file that is rotated now: `events.20260102T030405.678901Z.ndjson`, in UTC.

    Args:
        path: of the file, such as `events.ndjson`.
    """
    now = dt.datetime.now(dt.timezone.utc)
    while True:
        rotated = path.with_name(f"{path.stem}.{now:%Y%m%dT%H%M%S.%f}Z{path.suffix}")
        if not rotated.exists() and not _compressed(rotated).exists():
            return rotated
        now += dt.timedelta(microseconds=1)


class Compressor:
    """Compresses rotated files on its own thread; several processes may do so at the same time."""

    def __init__(self) -> None:
        self._wanted: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, path: Path) -> None:
        """
        Compress all rotated files of a path in the background, whichever process rotated them.

        Args:
            path: of the file that is written, not of a rotated one.
        """
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="openlineage-compression", daemon=True)
            # An interpreter that is shutting down starts no thread; then the next process compresses the file.
            with contextlib.suppress(RuntimeError):
                thread.start()
                self._thread = thread
        self._wanted.put(path)

    def close(self, timeout: float) -> None:
        """
        Wait for the compression that is running.

        Args:
            timeout: the limit, in seconds; files that are not compressed by then stay as they are.
        """
        if self._thread is not None:
            self._wanted.put(None)
            self._thread.join(timeout)

    def _work(self) -> None:
        while (path := self._wanted.get()) is not None:
            rotated = re.compile(re.escape(path.stem + ".") + _STAMP + re.escape(path.suffix))
            try:
                for file in sorted(path.parent.iterdir()):
                    if rotated.fullmatch(file.name):
                        _compress(file)
            except OSError as exc:
                _log.warning("the rotated files of %s stay uncompressed (%s)", path, exc.strerror)


def _compressed(path: Path) -> Path:
    return path.with_name(path.name + ".gz")


def _compress(path: Path) -> None:
    """
    Replace a file of this user by a compressed one, so that at every moment one of the two is complete.

    Whoever may write into the directory may put links and files of their own there: no link is followed, nothing of
    another user is read, and only a new file is written.
    """
    try:
        # Without blocking, in case that somebody put a pipe there.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        # Another process has done it, or it is another user's.
        return
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.EMLINK):
            return
        raise
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
            return
        # Another process may be compressing it, or about to end its last write; who takes longer will be back.
        if _locked(descriptor) and is_at(path, descriptor):
            _replace(descriptor, path)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        return lock_within(descriptor, _LOCK_SECONDS)
    except OSError:
        # There is no rotation on file systems without locks.
        return False


def _replace(descriptor: int, path: Path) -> None:
    """Write the compressed file, and delete the plain one, whose lock this process has."""
    # Left by a process that was killed: nobody writes one without the lock.
    for stale in path.parent.glob(f"{glob.escape(path.name)}.gz*.part"):
        if stale.lstat().st_uid == os.geteuid():
            stale.unlink()
    part = path.with_name(f"{path.name}.gz.{secrets.token_hex(4)}.part")
    target = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    done = False
    try:
        with os.fdopen(target, "wb") as file, os.fdopen(os.dup(descriptor), "rb") as plain:
            with gzip.GzipFile(path.name, "wb", fileobj=file) as packed:
                shutil.copyfileobj(plain, packed, 1 << 20)
            file.flush()
            os.fchmod(target, stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o666)
            os.fsync(target)
        part.replace(_compressed(path))
        done = True
    finally:
        if not done:
            part.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def lock_within(descriptor: int, seconds: float) -> bool:
    """
    Lock an open file, unless somebody else holds the lock for too long: whoever may read a file may lock it.

    Args:
        descriptor: of the file.
        seconds: the limit on the wait; 0 tries once.

    Returns:
        Whether it is locked.

    Raises:
        OSError: the file system has no locks.
    """
    end, pause = time.monotonic() + seconds, 0.001
    while not _lock(descriptor):
        left = end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
    return True


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(path: Path, descriptor: int) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
