"""Transport that writes events as lines of JSON into a local file, or into objects of another file system."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.file.filesystem import filesystem_for
from openlineage_pyspark.transport.file.local import LocalFile
from openlineage_pyspark.transport.file.objects import DEFAULT_BYTES, DEFAULT_SECONDS, Objects, Sizes
from openlineage_pyspark.transport.file.rotation import Rotation
from openlineage_pyspark.transport.options import KEY_PREFIX, OURS, PYTHON, Option, flag, number, path, prefix_of, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

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
            belong to this process. Events for objects are spooled, because that file system may be away.
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
