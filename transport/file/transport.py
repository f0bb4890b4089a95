"""Transport that writes events as lines of JSON into a local file, or into objects of another file system."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from openlineage_pyspark.transport.base import Transport, TransportConfigError
from openlineage_pyspark.transport.file.filesystem import filesystem_for
from openlineage_pyspark.transport.file.local import LocalFile
from openlineage_pyspark.transport.file.objects import DEFAULT_BYTES, Objects, Sizes
from openlineage_pyspark.transport.file.rotation import Rotation
from openlineage_pyspark.transport.options import flag_option, number_option, prefix_of, required_option, size_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

_log = logging.getLogger(__name__)

# At least two letters: a single one is the drive of a Windows path.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class FileTransport(Transport):
    """A local file, or objects of a file system that Hadoop knows.

    Each event is one line.

    Args:
        place: a local file, to which many processes may append; or objects of a file system that is not local, which
            belong to this process. Events for objects are spooled, because that file system may be away.
    """

    OPTIONS = frozenset(
        {"location", "log_file_path", "append", "rotate.maxBytes", "rotate.maxSeconds", "rotate.compress"}
    )
    OPTIONS_NOT_YET = frozenset({"debug_mode", "filesystem", "fs_kwargs.*", "storage_options.*"})

    def __init__(self, place: LocalFile | Objects) -> None:
        self._place = place
        self.SPOOLED = isinstance(place, Objects)

    @property
    def destination(self) -> str:
        """The path of the file, or the location of the objects."""
        return f"file {self._place.name}"

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
        remedy = "Set it to the file that gets the events."
        location = required_option(options, "location", "log_file_path", remedy=remedy)
        if flag_option(options, "append") is False:
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
    if number_option(options, "rotate.maxSeconds", unit="seconds", zero_allowed=True) is not None:
        _log.warning("%s.rotate.maxSeconds has no effect on a local file", prefix_of(options))
    max_bytes, compress = size_option(options, "rotate.maxBytes"), flag_option(options, "rotate.compress") or False
    if max_bytes is None:
        if compress:
            _log.warning("%s.rotate.compress has no effect without rotate.maxBytes on a local file", prefix_of(options))
        return None
    return Rotation(max_bytes, compress=compress)


def _objects(location: str, scheme: str, options: Mapping[str, object]) -> Objects:
    filesystem = filesystem_for(location)
    if filesystem is None:
        problem = f"begins with {scheme}:, which takes the Hadoop client of a Spark driver, and there is none here"
        raise TransportConfigError("location", problem, "Name a local path, or use the http transport.")
    sizes = Sizes(
        size_option(options, "rotate.maxBytes") or DEFAULT_BYTES,
        number_option(options, "rotate.maxSeconds", unit="seconds", zero_allowed=True),
        compress=flag_option(options, "rotate.compress") or False,
    )
    return Objects(location, filesystem, sizes)


def _local_path(location: str, *, is_url: bool) -> Path:
    try:
        return Path(url2pathname(urlsplit(location).path) if is_url else location).expanduser()
    except RuntimeError as exc:
        raise TransportConfigError("location", f"is {location!r}: {exc}", "Write the path in full.") from exc
