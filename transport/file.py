"""Transport that appends events to a local file, one JSON document a line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from openlineage_pyspark.transport.base import KEY_PREFIX, Transport, TransportConfigError, TransportError
from openlineage_pyspark.transport.options import text_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

_log = logging.getLogger(__name__)

# Read as well as write: the last byte tells whether the file ends in a whole line.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_PASSING_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EAGAIN, errno.ESTALE, errno.EMFILE, errno.ENFILE}
)
# Two letters at least, or the drive of a Windows path would be a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class FileTransport(Transport):
    """Appends each event as one line, in one write, so that many processes may share a file.

    The kernel keeps the writes of an O_APPEND descriptor whole and apart on a local file system, and a
    lock does so among these transports on others. Where a disk is full and only the beginning of a line
    gets in, whoever writes next begins a new line first: one line is broken, never two glued together.
    The file is opened anew for each event, so it may be renamed or removed while the job runs.

    Args:
        path: the file; its directory is made where it is absent.

    Raises:
        TransportConfigError: the file can't be written.
    """

    OPTIONS = frozenset({"location", "log_file_path", "append"})
    OPTIONS_NOT_YET = frozenset({"debug_mode", "filesystem", "fs_kwargs.*", "storage_options.*"})

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, _FLAGS, 0o666))
        except OSError as exc:
            problem = f"is {str(self._path)!r}, which can't be written ({exc.strerror})"
            raise TransportConfigError("location", problem, "Name a file that this user may write.") from exc

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """Make one from `location` (or `log_file_path`, as the OpenLineage Python client spells it).

        Raises:
            TransportConfigError: no location, not a local one, or one that can't be written.
        """
        location = text_option(options, "location", "log_file_path")
        if not location:
            raise TransportConfigError("location", "is not set", "Set it to the file that gets the events.")
        if str(options.get("append", True)).lower() != "true":
            _log.warning("%s.append=false is not supported: events are always appended", KEY_PREFIX)
        return cls(_local_path(location))

    def send(self, event: Event) -> None:
        """Append the event.

        Raises:
            TransportError: the file can't be opened, or the disk did not take the whole line.
        """
        line = event.body + b"\n"
        try:
            # Once more, since after a write that a signal cut short it goes through; a full disk raises.
            whole = self._append(line) or self._append(line)
        except OSError as exc:
            message = f"{self._path} can't be written ({exc.strerror})"
            raise TransportError(message, retryable=exc.errno in _PASSING_ERRORS) from exc
        if not whole:
            raise TransportError(f"{self._path} took only a part of an event, twice", retryable=True)

    def close(self, _timeout: float, /) -> None:
        """Do nothing: no file is open between two events."""

    def _append(self, line: bytes) -> bool:
        descriptor = os.open(self._path, _FLAGS, 0o666)
        try:
            # Or the line that another process is just writing would look like a broken one. Some network
            # file systems have no locks: there the single write has to do.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            data = line if _ends_in_whole_line(descriptor) else b"\n" + line
            return os.write(descriptor, data) == len(data)
        finally:
            # Not by closing alone: a child that was forked in between holds the descriptor, and so the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _ends_in_whole_line(descriptor: int) -> bool:
    state = os.fstat(descriptor)
    # A pipe or a device has no end to look at.
    if not stat.S_ISREG(state.st_mode) or state.st_size == 0:
        return True
    return os.pread(descriptor, 1, state.st_size - 1) == b"\n"


def _local_path(location: str) -> Path:
    scheme = _SCHEME.match(location)
    if scheme and scheme[1].lower() != "file":
        problem = f"begins with {scheme[1]}:, and only local files are supported yet"
        raise TransportConfigError("location", problem, "Name a local path, or use the http transport.")
    try:
        return Path(url2pathname(urlsplit(location).path) if scheme else location).expanduser()
    except RuntimeError as exc:
        raise TransportConfigError("location", f"is {location!r}: {exc}", "Write the path in full.") from exc
