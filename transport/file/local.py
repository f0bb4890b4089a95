"""A local file of lines that several processes may append to at once, with rotation."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import stat
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.file.rotation import Compressor, is_at, lock_within, rotated_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openlineage_pyspark.transport.file.rotation import Rotation

_log = logging.getLogger(__name__)

# Opened for reading too: the last byte shows whether the file ends in a whole line.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_PASSING_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EAGAIN, errno.ESTALE, errno.EMFILE, errno.ENFILE}
)
# How often in a row the file may have been replaced between opening and locking it.
_MOST_CHANGES = 100
# How long a line waits for a lock that another process holds: longer than any process needs for a line.
_LOCK_SECONDS = 2.0
# As many as Linux follows.
_MOST_LINKS = 40


class LocalFile:
    """
    Appends each line in one write.

    On a local file system the kernel keeps the writes of O_APPEND descriptors whole and apart; on others a lock does.
    If a full disk takes only the beginning of a line, the next writer begins a new line first: one line is broken, and
    two are never glued together. The file is opened anew for each line, so it may be renamed or removed while the job
    runs. Rotation renames the file under the lock; a process that waited for the lock then opens the new file.

    Args:
        path: the file; its directory is made if it does not exist.
        rotation: when a new file begins; None for never.

    Raises:
        TransportConfigError: the file can't be written.
    """

    def __init__(self, path: Path, rotation: Rotation | None = None) -> None:
        self._path = path.absolute()
        self._rotation = rotation
        self._compressor = Compressor()
        self._warned = self._said_locked = False
        # How long the next line waits for the lock: not again, once somebody has held it for too long.
        self._patience = _LOCK_SECONDS
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(_open(self._path))
        except OSError as exc:
            problem = f"is {str(self._path)!r}, which can't be written ({exc.strerror})"
            raise TransportConfigError("location", problem, "Name a file that this user may write.") from exc
        if rotation is not None and rotation.compress:
            # Compress what a killed process has left.
            self._compressor.start(self._path.resolve())

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self._path)

    def append(self, line: bytes) -> None:
        """
        Write a line.

        Args:
            line: with its line break.

        Raises:
            TransportError: the file can't be opened, or the whole line could not be written.
        """
        try:
            # The second attempt is for a write that a signal cut short; a full disk raises.
            whole = self._append(line) or self._append(line)
        except OSError as exc:
            message = f"{self._path} can't be written ({exc.strerror})"
            raise TransportError(message, retryable=exc.errno in _PASSING_ERRORS) from exc
        if not whole:
            raise TransportError(f"{self._path} took only a part of an event, twice", retryable=True)

    def close(self, timeout: float) -> None:
        """
        Wait for the compression that is running; no file is open between two lines.

        Args:
            timeout: the limit, in seconds.
        """
        self._compressor.close(timeout)

    def _append(self, line: bytes) -> bool:
        for _ in range(_MOST_CHANGES):
            with self._opened() as (descriptor, locked):
                if not self._moves_on(descriptor, len(line), locked=locked):
                    data = line if _ends_in_whole_line(descriptor) else b"\n" + line
                    return os.write(descriptor, data) == len(data)
        raise OSError(errno.EAGAIN, "the file is replaced each time it is opened")

    def _moves_on(self, descriptor: int, coming: int, *, locked: bool) -> bool:
        """Rotate the open file if it is due; return whether its path now leads to another file."""
        state = os.fstat(descriptor)
        # A pipe or a device.
        if not stat.S_ISREG(state.st_mode):
            return False
        if not locked:
            # Not rotated: another process may be writing a line into the file.
            if self._rotation is not None and self._patience:
                self._stays("its file system has no locks")
            return False
        if not is_at(self._path, descriptor):
            return True
        if self._rotation is None or not state.st_size or state.st_size + coming <= self._rotation.max_bytes:
            return False
        return self._rotate(self._rotation, state)

    def _rotate(self, rotation: Rotation, state: os.stat_result) -> bool:
        # A symbolic link stays, and its target is rotated.
        path = self._path.resolve()
        try:
            path.rename(rotated_path(path))
        except OSError as exc:
            self._stays(exc.strerror or str(exc))
            return False
        # The new file gets the mode and group of the old one, whichever process rotates.
        mode = stat.S_IMODE(state.st_mode) & 0o666
        if state.st_uid != os.geteuid():
            # A file that another user put there must not open the next one to everybody.
            mode &= 0o664
        with contextlib.suppress(FileExistsError):
            successor = os.open(path, _FLAGS | os.O_EXCL, mode)
            with contextlib.suppress(PermissionError):
                os.fchown(successor, -1, state.st_gid)
            os.fchmod(successor, mode)
            os.close(successor)
        if rotation.compress:
            self._compressor.start(path)
        return True

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[int, bool]]:
        """Open the file and lock it; yield its descriptor, and whether it is locked."""
        descriptor = _open(self._path)
        try:
            # Without a lock, a line that another process is writing would look like a broken one. Some network file
            # systems have no locks, and somebody may hold one for ever: there the single write has to do.
            locked = False
            with contextlib.suppress(OSError):
                locked = lock_within(descriptor, self._patience)
                if not locked:
                    self._goes_on_without_lock()
                self._patience = _LOCK_SECONDS if locked else 0.0
            yield descriptor, locked
        finally:
            # Closing is not enough: a child forked in between holds the descriptor, and so the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _goes_on_without_lock(self) -> None:
        if not self._said_locked:
            self._said_locked = True
            _log.warning(
                "%s: another process has held its lock for %g s, so OpenLineage events are written without it%s",
                self._path, _LOCK_SECONDS,
                "" if self._rotation is None else ", and the file is not rotated in the meantime",
            )  # fmt: skip

    def _stays(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%s keeps growing, because it can't be rotated: %s", self._path, why)


def _open(path: Path) -> int:
    """
    Open the file; follow a link only if it is this user's own, or of whom this user has to trust.

    Whoever may write into the directory may put a link there that leads to another file of this user.

    Raises:
        OSError: it can't be opened, or is another user's link.
    """
    try:
        return os.open(path, _FLAGS | os.O_NOFOLLOW, 0o666)
    except OSError as exc:
        if exc.errno not in (errno.ELOOP, errno.EMLINK):
            raise
    link = path
    for _ in range(_MOST_LINKS):
        try:
            state = link.lstat()
            trusted = (os.geteuid(), 0, link.parent.stat().st_uid)
        except FileNotFoundError:
            # The file that the link leads to is made now.
            break
        if not stat.S_ISLNK(state.st_mode):
            break
        if state.st_uid not in trusted:
            raise OSError(errno.EPERM, "a link that another user made leads to it")
        link = link.parent / link.readlink()
    return os.open(path, _FLAGS, 0o666)


def _ends_in_whole_line(descriptor: int) -> bool:
    state = os.fstat(descriptor)
    # A pipe or a device has no last byte to read.
    if not stat.S_ISREG(state.st_mode) or state.st_size == 0:
        return True
    return os.pread(descriptor, 1, state.st_size - 1) == b"\n"
