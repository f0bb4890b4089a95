"""What a transport needs of a file system that is not local, and how it gets one: whoever embeds it offers it."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Writer(Protocol):
    """One object that is being written."""

    @property
    def keeps(self) -> bool:
        """Whether what was written outlives this process before the object is closed."""

    def write(self, data: bytes, /) -> None:
        """Append to the object.

        Raises:
            OSError: the file system did not take it.
        """

    def close(self) -> None:
        """Finish the object, which can be read from then on.

        Raises:
            OSError: the file system did not take it.
        """


class Filesystem(Protocol):
    """A file system or object store; no call is made to it before the first object."""

    def label(self) -> str:
        """Give what the objects of this process are named after, such as the id of its application.

        Raises:
            OSError: it can't be asked for.
        """

    def create(self, path: str, /) -> Writer:
        """Begin an object.

        Args:
            path: in full, with its scheme.

        Raises:
            OSError: it can't be made, or is there already.
        """

    def close(self) -> None:
        """Let go of connections; no object follows.

        Raises:
            OSError: the file system did not answer.
        """


_OFFERED: ContextVar[Callable[[str], Filesystem] | None] = ContextVar("openlineage_filesystem", default=None)


@contextlib.contextmanager
def offered(open_filesystem: Callable[[str], Filesystem]) -> Iterator[None]:
    """Offer a file system to the transports that are made within this context, in this thread.

    Args:
        open_filesystem: gives the file system for a location, such as `s3a://bucket/lineage`.
    """
    token = _OFFERED.set(open_filesystem)
    try:
        yield
    finally:
        _OFFERED.reset(token)


def filesystem_for(location: str) -> Filesystem | None:
    """Give the file system that is offered for a location, None where none is.

    Args:
        location: with its scheme.
    """
    opener = _OFFERED.get()
    return opener(location) if opener is not None else None
