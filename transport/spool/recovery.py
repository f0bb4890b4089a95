"""What earlier applications left in the spool: looked for, and taken over, one directory after the other."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.transport.spool.content import Content, content
from openlineage_pyspark.transport.spool.place import SpoolError, directories
from openlineage_pyspark.transport.spool.store import DEAD_LETTER_SECONDS, Spool, SpooledEvent

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)


@attrs.frozen
class RecoveryScope:
    """What earlier applications left in a spool, to be delivered first.

    Args:
        root: the spool's root.
        any_destination: whether also what was meant for another receiver.
        dead_letters: whether what was refused for good is tried again.
    """

    root: Path
    any_destination: bool = False
    dead_letters: bool = False


class Recovery:
    """Takes over what there is one directory at a time, so that a thousand cost no more than one.

    Args:
        wanted: where, and what.
        destination: the receiver that there is, see `Transport.destination`.
    """

    def __init__(self, wanted: RecoveryScope, destination: str) -> None:
        self._wanted = wanted
        self._destination = destination
        self._directories: list[Path] | None = None

    def next(self) -> tuple[Spool, list[SpooledEvent]] | None:
        """Take over the oldest directory with events that wait, and give these; None where there is none left."""
        if self._directories is None:
            self._directories = directories(self._wanted.root)[::-1]
        while self._directories:
            directory = self._directories.pop()
            # Looked at before it is taken: whoever else it is meant for may be looking for it at this moment.
            seen = content(directory)
            if seen.in_use or not (self._is_meant(seen) or _is_outdated(seen)):
                continue
            try:
                taken = self._take(directory)
            except SpoolError as exc:
                _log.warning("OpenLineage events that an earlier application left behind are not sent: %s", exc)
                continue
            if taken is not None:
                return taken
        return None

    def _is_meant(self, seen: Content) -> bool:
        return bool(seen.problem) or self._wanted.any_destination or seen.destination == self._destination

    def _take(self, directory: Path) -> tuple[Spool, list[SpooledEvent]] | None:
        spool = Spool.take_over(directory)
        if spool is None:
            return None
        if self._wanted.dead_letters:
            spool.revive()
        events = spool.waiting()
        if events:
            return spool, events
        spool.close()
        return None


def _is_outdated(seen: Content) -> bool:
    """Whether there are but dead letters, of which closing it removes the oldest."""
    return not seen.waiting and seen.oldest is not None and seen.oldest < time.time() - DEAD_LETTER_SECONDS
