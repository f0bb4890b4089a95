"""The interface to a file system that is not local; the application that embeds the transport provides it."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ObjectWriter(Protocol):
    """One object that is being written."""

    @property
    def keeps(self) -> bool:
        """Return whether written data survives the end of this process even before the object is closed."""

    def write(self, data: bytes, /) -> None:
        """
        Append to the object.

        Raises:
            OSError: the file system refused the write.
        """

    def close(self) -> None:
        """
        Finish the object; from then on it can be read.

        Raises:
            OSError: the file system refused the write.
        """


class Filesystem(Protocol):
    """A file system or object store; it is not contacted before the first object."""

    def label(self) -> str:
        """
        Return the first part of the names of this process's objects, such as the id of its application.

        Raises:
            OSError: it is not available.
        """

    def create(self, path: str, /) -> ObjectWriter:
        """
        Create an object.

        Args:
            path: its full path, with the scheme.

        Raises:
            OSError: it can't be created, or exists already.
        """

    def close(self) -> None:
        """
        Close the connections; no object follows.

        Raises:
            OSError: the file system did not answer.
        """


_OFFERED: ContextVar[Callable[[str], Filesystem] | None] = ContextVar("openlineage_filesystem", default=None)


@contextlib.contextmanager
def offered(open_filesystem: Callable[[str], Filesystem]) -> Iterator[None]:
    """
    Offer a file system to the transports that are made in this context, on this thread.

    Args:
        open_filesystem: opens the file system of a location such as `s3a://bucket/lineage`.
    """
    token = _OFFERED.set(open_filesystem)
    try:
        yield
    finally:
        _OFFERED.reset(token)


def filesystem_for(location: str) -> Filesystem | None:
    """
    Return the file system that is offered for a location; None if there is none.

    Args:
        location: a URL with its scheme.
    """
    opener = _OFFERED.get()
    return opener(location) if opener is not None else None
