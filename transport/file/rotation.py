"""Rotation of a local file: the names of rotated files, and their compression in the background."""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import gzip
import logging
import os
import queue
import re
import shutil
import threading
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)

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
    """Replace a file by a compressed one, so that at every moment one of the two is complete."""
    part = path.with_name(path.name + ".gz.part")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Another process may be compressing it, and may die before it is done.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # If the other process has finished, the part has been renamed.
        if is_at(part, descriptor):
            _fill(descriptor, part, path)
    finally:
        os.close(descriptor)


def _fill(descriptor: int, part: Path, path: Path) -> None:
    try:
        plain = path.open("rb")
    except FileNotFoundError:
        # Another process has done it.
        part.unlink()
        return
    with plain, os.fdopen(os.dup(descriptor), "wb") as target:
        os.ftruncate(descriptor, 0)
        os.fchmod(descriptor, os.fstat(plain.fileno()).st_mode & 0o777)
        with gzip.GzipFile(path.name, "wb", fileobj=target) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
        target.flush()
        os.fsync(descriptor)
    part.replace(_compressed(path))
    path.unlink(missing_ok=True)


def is_at(path: Path, descriptor: int) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
