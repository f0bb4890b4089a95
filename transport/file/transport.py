"""
Transport that writes events as lines of JSON into a local file, or into objects of another file system.

Several processes may append to a local file at once. It can be rotated; rotated files are compressed in the background.
"""

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
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

import attrs
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.file.filesystem import filesystem_for
from openlineage_pyspark.transport.file.objects import DEFAULT_BYTES, DEFAULT_SECONDS, Objects, Sizes
from openlineage_pyspark.transport.options import KEY_PREFIX, OURS, PYTHON, Option, flag, number, path, prefix_of, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self


# How long a lock is waited for, and the longest pause between two attempts.
_ROTATION_LOCK_SECONDS = 5.0
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
        path: the path of the file, such as `events.ndjson`.
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
            path: the path of the file that is written, not of a rotated one.
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
            timeout: the limit, in seconds; files that are not compressed by then stay uncompressed.
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

    Anyone who may write into the directory can put links and files there. So no link is followed, no file of another
    user is read, and only a new file is written.
    """
    try:
        # Without blocking, in case somebody has put a pipe there.
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
        # Another process may be compressing it, or finishing its last write; if that takes long, a later call does it.
        if _locked(descriptor) and is_at(path, descriptor):
            _replace(descriptor, path)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        return lock_within(descriptor, _ROTATION_LOCK_SECONDS)
    except OSError:
        # There is no rotation on file systems without locks.
        return False


def _replace(descriptor: int, path: Path) -> None:
    """Write the compressed file, and delete the plain one, whose lock this process has."""
    # A process that was killed has left these: nobody writes one without the lock.
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
    Lock an open file, unless somebody else holds the lock for too long: anyone who may read a file may lock it.

    Args:
        descriptor: the descriptor of the file.
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


# Opened for reading too: the last byte shows whether the file ends in a whole line.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_PASSING_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EAGAIN, errno.ESTALE, errno.EMFILE, errno.ENFILE}
)
# How often in a row the file may have been replaced between opening and locking it.
_MOST_CHANGES = 100
# How long a line waits for a lock that another process holds: longer than any process needs for a line.
_LOCK_SECONDS = 2.0
# The limit of Linux.
_MOST_LINKS = 40


class LocalFile:
    """
    Appends each line in one write.

    On a local file system the kernel keeps the writes of O_APPEND descriptors whole and apart; on others a lock does.
    If a full disk takes only the beginning of a line, the next writer begins a new line first: one line is broken, and
    two are never glued together. The file is opened again for each line, so it may be renamed or removed while the job
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
        self._warned = self._reported_lock = False
        # How long the next line waits for the lock: 0 after somebody has held it for too long.
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
            # systems have no locks, and somebody may hold one for ever: then the single write has to suffice.
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
        if not self._reported_lock:
            self._reported_lock = True
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
    Open the file; follow a link only if it belongs to this user, or to somebody whom this user has to trust.

    Anyone who may write into the directory can put a link there that leads to another file of this user.

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
            # The link leads to no file yet: it is created below.
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


_log = logging.getLogger(__name__)

# At least two letters: a single one is the drive of a Windows path.
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


_LOCATION = Option(
    "location",
    path,
    text="A local file, which gets one event a line; or, if it begins with a scheme such as `s3a:`, a directory for"
    " objects.",
    default="",
    example="lineage.ndjson",
    also=("log_file_path",),
)
_APPEND = Option("append", flag, text="Always true: events are appended.", default=True, source=PYTHON)
_MAX_BYTES = Option(
    "rotate.maxBytes",
    size,
    text="The size after which the next file or object begins; by default local files grow without limit, and objects"
    f" end after `{DEFAULT_BYTES >> 20}m`.",
    default=None,
    example="100m",
    source=OURS,
)
_MAX_SECONDS = Option(
    "rotate.maxSeconds",
    number("seconds", zero_allowed=True),
    text="Seconds after which an object is closed, on stores that keep nothing of an open object; `0` writes one object"
    " per event.",
    default=DEFAULT_SECONDS,
    source=OURS,
)
_COMPRESS = Option(
    "rotate.compress", flag, text="Compresses rotated files and objects with gzip.", default=False, source=OURS
)


class FileTransport(Transport):
    """
    A local file, or objects of a file system that Hadoop knows.

    Each event is one line.

    Args:
        place: a local file, to which many processes may append; or objects of a file system that is not local, which
            belong to this process. Events for objects are spooled, because that file system may be unavailable.
    """

    OPTIONS = (
        _LOCATION,
        _MAX_BYTES,
        _MAX_SECONDS,
        _COMPRESS,
        _APPEND,
    )

    def __init__(self, place: LocalFile | Objects) -> None:
        self._place = place
        self.SPOOLED = isinstance(place, Objects)

    @property
    def destination(self) -> str:
        """The path of the file, or the location of the objects."""
        return f"file {self._place.name}".encode("utf-8", "backslashreplace").decode()

    @property
    def held(self) -> int:
        """The number of events that wait for the end of their object."""
        return self._place.held if isinstance(self._place, Objects) else 0

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from `location` (or `log_file_path`, the OpenLineage Python client's spelling).

        Raises:
            TransportConfigError: the location is missing, can't be written, or needs a file system that is not
                available here.
        """
        location = _LOCATION.required(options, "Set it to the file that gets the events.")
        if not _APPEND.read(options):
            _log.warning("%s.append=false is not supported: events are always appended", prefix_of(options))
        scheme = _SCHEME.match(location)
        if scheme and scheme[1].lower() != "file":
            return cls(_objects(location, scheme[1], options))
        return cls(LocalFile(_local_path(location, is_url=scheme is not None), _rotation(options)))

    def send(self, event: Event) -> None:
        """
        Write the event.

        Raises:
            TransportError: the file can't be opened, or the whole line could not be written.
        """
        self._place.append(event.body + b"\n")

    def close(self, timeout: float, /) -> None:
        """
        Finish the open object, or wait for the compression that is running.

        Args:
            timeout: the limit, in seconds.

        Raises:
            TransportError: the last object could not be written.
        """
        self._place.close(timeout)


def _rotation(options: Mapping[str, object]) -> Rotation | None:
    if _MAX_SECONDS.given(options) is not None:
        _log.warning("%s.rotate.maxSeconds has no effect on a local file", prefix_of(options))
    max_bytes, compress = _MAX_BYTES.read(options), _COMPRESS.read(options)
    if max_bytes is None:
        if compress:
            _log.warning("%s.rotate.compress has no effect without rotate.maxBytes on a local file", prefix_of(options))
        return None
    return Rotation(max_bytes, compress=compress)


def _objects(location: str, scheme: str, options: Mapping[str, object]) -> Objects:
    filesystem = filesystem_for(location)
    if filesystem is None:
        problem = f"begins with {scheme}:, which needs the Hadoop client of a Spark driver, and there is none here"
        raise TransportConfigError("location", problem, "Name a local path, or use the http transport.")
    sizes = Sizes(
        _MAX_BYTES.read(options) or DEFAULT_BYTES,
        # Without the default: if it is not set, objects on a store that keeps open ones have no age limit.
        _MAX_SECONDS.given(options),
        compress=_COMPRESS.read(options),
    )
    return Objects(location, filesystem, sizes)


def _local_path(location: str, *, is_url: bool) -> Path:
    if os.name == "posix" and _WINDOWS.match(location):
        _log.warning("%s.location is a path of Windows; here it names the file %r", KEY_PREFIX, location)
    try:
        return Path(url2pathname(urlsplit(location).path) if is_url else location).expanduser()
    except RuntimeError as exc:
        raise TransportConfigError("location", f"is {location!r}: {exc}", "Write the path in full.") from exc
