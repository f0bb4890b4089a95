"""Limit what a spool's root keeps of applications that have ended."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.transport.spool.content import Content, content
from openlineage_pyspark.transport.spool.place import (
    UNREADABLE,
    bytes_of,
    directories,
    hold,
    release,
    remove,
    unreadable_directories,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_log = logging.getLogger(__name__)

DAY_SECONDS = 86_400.0
MAX_TOTAL_BYTES = 2 * 1024**3
MAX_AGE_SECONDS = 30 * DAY_SECONDS


@attrs.frozen
class Retention:
    """
    How much a spool's root may keep, and for how long.

    Args:
        max_bytes: the limit on what all directories take on disk.
        max_age_seconds: the limit on the age of waiting events.
    """

    max_bytes: int = MAX_TOTAL_BYTES
    max_age_seconds: float = MAX_AGE_SECONDS


def make_room(root: Path, max_bytes: int) -> int:
    """
    Delete directories of ended applications until the others fit; those of running applications always stay.

    Damaged databases are deleted first, then dead letters, then waiting events; the oldest of each first.

    Returns:
        The number of deleted events.
    """
    broken = unreadable_directories(root)
    sizes = {directory: bytes_of(directory) for directory in [*broken, *directories(root)]}
    excess = sum(sizes.values()) - max_bytes
    events = 0
    for seen in _in_order(sizes, excess):
        if excess <= 0:
            break
        if delete(seen, f"the spool {root} is larger than {max_bytes} bytes (spool.maxTotalBytes)"):
            excess -= sizes[seen.directory]
            events += seen.waiting + seen.dead
    return events


def _in_order(sizes: dict[Path, int], excess: int) -> Iterator[Content]:
    if excess <= 0:
        return
    yield from (Content(directory) for directory in sizes if directory.name.endswith(UNREADABLE))
    whole = [content(directory) for directory in sizes if not directory.name.endswith(UNREADABLE)]
    # A database that can't be read at the moment may only be locked.
    left = [seen for seen in whole if not (seen.in_use or seen.problem)]
    yield from (seen for seen in left if not seen.waiting)
    yield from (seen for seen in left if seen.waiting)


def is_expired(seen: Content, max_age_seconds: float) -> bool:
    """Return whether everything in a directory is older than a number of seconds."""
    return seen.newest is not None and seen.newest < time.time() - max_age_seconds


def delete(seen: Content, why: str) -> bool:
    """
    Delete a directory, and log what was in it.

    Returns:
        Whether it was deleted; False if an application holds it, or it is gone.
    """
    directory = seen.directory
    try:
        if not hold(directory):
            return False
    except OSError:
        return False
    try:
        remove(directory)
    finally:
        release(directory)
    if directory.exists():
        return False
    _log.warning(
        "OpenLineage events that an earlier application left behind for %s were deleted, because %s: %d waiting, %d"
        " refused, in %s",
        seen.destination or "an unknown receiver", why, seen.waiting, seen.dead, directory.name,
    )  # fmt: skip
    return True
