"""Lines in objects of a file system that is not local, one object after the other."""

from __future__ import annotations

import contextlib
import gzip
import logging
import re
import secrets
import threading
import time
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.address import without_secrets

if TYPE_CHECKING:
    from openlineage_pyspark.transport.file.filesystem import Filesystem, ObjectWriter

_log = logging.getLogger(__name__)

DEFAULT_BYTES = 16 * 1024 * 1024
DEFAULT_SECONDS = 60.0

_PIECE = 1024 * 1024

# Hadoop has no class for the scheme: no attempt succeeds before Spark is started with its jar.
_NO_CLASS = re.compile(r"ClassNotFoundException|NoClassDefFoundError|UnsupportedFileSystemException|No FileSystem for")
# The login is refused, or there is none.
_NO_ACCESS = re.compile(
    r"AccessDenied|AccessControlException|Forbidden|InvalidAccessKeyId|SignatureDoesNotMatch|NoAuthWithAWS|"
    r"CredentialInitializationException|Unauthorized"
)
_PACKAGES = {
    "abfs": "org.apache.hadoop:hadoop-azure:VERSION",
    "abfss": "org.apache.hadoop:hadoop-azure:VERSION",
    "adl": "org.apache.hadoop:hadoop-azure-datalake:VERSION",
    "cosn": "org.apache.hadoop:hadoop-cos:VERSION",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:hadoop3-VERSION",
    "obs": "org.apache.hadoop:hadoop-huaweicloud:VERSION",
    "oss": "org.apache.hadoop:hadoop-aliyun:VERSION",
    "s3a": "org.apache.hadoop:hadoop-aws:VERSION",
    "swift": "org.apache.hadoop:hadoop-openstack:VERSION",
    "wasb": "org.apache.hadoop:hadoop-azure:VERSION",
    "wasbs": "org.apache.hadoop:hadoop-azure:VERSION",
}


@attrs.frozen
class Sizes:
    """
    When an object ends and the next one begins.

    Args:
        max_bytes: the limit on an object; a line that would exceed it begins the next one.
        max_seconds: the longest time from the first line of an object to its end; 0 writes one object per line. None
            means 60 seconds if a line is safe only in a finished object, else no limit.
        compress: whether each object is compressed with gzip.
    """

    max_bytes: int = DEFAULT_BYTES
    max_seconds: float | None = None
    compress: bool = False


class Objects:
    """
    Writes lines into `<location>/<label>-<process>-<number>.ndjson`; no other process writes these objects.

    If the file system keeps what is written into an open object (`hdfs:`), `append` returns once the line is there.
    On others (`s3a:`, `gs:`, `abfss:`), and with compression, lines are held in memory and written as one object. A
    killed process loses the held lines unless a spool keeps them (`held`). After a failed write the same lines go into
    another object; the failed one may exist too, with the first of these lines.

    Args:
        location: a directory or prefix, with its scheme.
        filesystem: the file system of the location.
        sizes: when an object ends.
    """

    def __init__(self, location: str, filesystem: Filesystem, sizes: Sizes) -> None:
        self._location = location.rstrip("/")
        self._filesystem = filesystem
        self._sizes = sizes
        self._process = secrets.token_hex(4)
        self._number = 1
        self._writer: ObjectWriter | None = None
        self._held: list[bytes] = []
        self._size = 0
        self._end: float | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = self._warned = False

    @property
    def name(self) -> str:
        """The location, without credentials."""
        return without_secrets(self._location).rstrip("/")

    @property
    def held(self) -> int:
        """The number of lines, the latest ones, that are only in memory."""
        return len(self._held)

    def append(self, line: bytes) -> None:
        """
        Write a line, or hold it for the current object.

        Args:
            line: with its line break.

        Raises:
            TransportError: the line was neither written nor held.
        """
        with self._changed:
            if self._size and self._size + len(line) > self._sizes.max_bytes:
                self._finish()
            writer = self._begun()
            if self._holds(writer):
                self._held.append(line)
            else:
                self._written(writer, line)
            self._size += len(line)
            seconds = self._seconds(writer)
            if seconds == 0:
                self._finish_one()
            elif seconds is not None and self._end is None:
                self._end_in(seconds)

    def close(self, timeout: float) -> None:
        """
        Write the held lines, and close the file system.

        Args:
            timeout: the longest wait for a write on another thread, in seconds.

        Raises:
            TransportError: the held lines could not be written.
        """
        if not self._changed.acquire(timeout=max(timeout, 0.0)):
            raise TransportError(f"{self.name} does not answer", retryable=False)
        try:
            self._closed = True
            self._changed.notify_all()
            if self._size:
                self._finish()
        except TransportError as exc:
            message = f"{len(self._held)} events were not written: {exc.message}"
            raise TransportError(message, retryable=False) from exc
        finally:
            self._changed.release()
            # Nothing is being written any more.
            with contextlib.suppress(OSError):
                self._filesystem.close()

    def _holds(self, writer: ObjectWriter) -> bool:
        return self._sizes.compress or not writer.keeps

    def _seconds(self, writer: ObjectWriter) -> float | None:
        if self._sizes.max_seconds is None and self._holds(writer):
            return DEFAULT_SECONDS
        return self._sizes.max_seconds

    def _error(self, problem: OSError) -> TransportError:
        message, reason = f"{self.name} can't be written ({problem})", str(problem)
        missing = _NO_CLASS.search(reason) is not None
        if missing:
            message += f": {_remedy(self._location)}"
        return TransportError(message, retryable=True, lasting=missing or _NO_ACCESS.search(reason) is not None)

    def _begun(self) -> ObjectWriter:
        if self._writer is None:
            try:
                self._writer = self._filesystem.create(self._path())
            except OSError as exc:
                raise self._error(exc) from exc
            self._number += 1
        return self._writer

    def _path(self) -> str:
        suffix = ".ndjson.gz" if self._sizes.compress else ".ndjson"
        return f"{self._location}/{self._filesystem.label()}-{self._process}-{self._number:05}{suffix}"

    def _written(self, writer: ObjectWriter, data: bytes) -> None:
        try:
            for at in range(0, len(data), _PIECE):
                writer.write(data[at : at + _PIECE])
        except OSError as exc:
            # The writer is abandoned: closing it might make an object with half a line visible.
            self._forget()
            raise self._error(exc) from exc

    def _finish(self) -> None:
        """Finish the object; if that fails, the held lines stay for the next one."""
        writer = self._begun()
        if self._held:
            data = b"".join(self._held)
            self._written(writer, gzip.compress(data, mtime=0) if self._sizes.compress else data)
        try:
            writer.close()
        except OSError as exc:
            self._forget()
            if self._held:
                raise self._error(exc) from exc
            _log.warning("%s: an object was written, but not closed (%s)", self.name, exc)
        self._held = []
        self._forget()

    def _finish_one(self) -> None:
        try:
            self._finish()
        except TransportError:
            # The caller keeps the line and sends it again.
            self._held = []
            self._forget()
            raise

    def _forget(self) -> None:
        self._writer = None
        self._end = None
        self._size = sum(map(len, self._held))

    def _end_in(self, seconds: float) -> None:
        """Schedule the end of the object, even if no further line comes."""
        self._end = time.monotonic() + seconds
        if self._thread is None:
            thread = threading.Thread(target=self._end_in_time, name="openlineage-objects", daemon=True)
            # An interpreter that is shutting down starts no thread; then `close` finishes the object.
            with contextlib.suppress(RuntimeError):
                thread.start()
                self._thread = thread
        self._changed.notify_all()

    def _end_in_time(self) -> None:
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if self._end is None or now < self._end:
                    self._changed.wait(None if self._end is None else self._end - now)
                    continue
                try:
                    self._finish()
                except TransportError as exc:
                    self._end = time.monotonic() + (self._sizes.max_seconds or DEFAULT_SECONDS)
                    if not self._warned:
                        self._warned = True
                        _log.warning("%s; it will be tried again, and further failures are not logged", exc)


def _remedy(location: str) -> str:
    """Return how to give Spark the file system of a location."""
    scheme = location.partition(":")[0].lower()
    if scheme in ("s3", "s3n"):
        # Amazon's own services use these schemes; Hadoop has had no class for them since version 3.
        return f"write s3a: in place of {scheme}:, and {_remedy('s3a:')}"
    package = _PACKAGES.get(scheme)
    if package is None:
        return f"Spark has no file system for {scheme}:, so start it with the jar that has one"
    release = "a release of it" if scheme == "gs" else "that of Spark's own jar hadoop-client-api"
    return f"start Spark with --packages {package}, where VERSION is {release}"
