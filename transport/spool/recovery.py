"""Recovery of orphaned spools: directories of earlier applications are found and taken over, one after the other."""

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
    """
    Which orphaned spools are recovered.

    Args:
        root: the spool's root.
        any_destination: whether to include spools that were meant for another receiver.
        dead_letters: whether to retry the events that were refused for good, too.
    """

    root: Path
    any_destination: bool = False
    dead_letters: bool = False


class Recovery:
    """
    Takes over orphaned spools one directory at a time, so that a thousand cost no more memory than one.

    Args:
        scope: which of them.
        destination: the receiver of this delivery; see `Transport.destination`.
    """

    def __init__(self, scope: RecoveryScope, destination: str) -> None:
        self._scope = scope
        self._destination = destination
        self._directories: list[Path] | None = None

    def next(self) -> tuple[Spool, list[SpooledEvent]] | None:
        """
        Take over the oldest directory that has waiting events.

        Returns:
            The open spool and its waiting events, in the order of arrival; None if no directory is left.
        """
        if self._directories is None:
            self._directories = directories(self._scope.root)[::-1]
        while self._directories:
            directory = self._directories.pop()
            # Checked before it is locked: the application that it is meant for may be looking for it right now.
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
        return bool(seen.problem) or self._scope.any_destination or seen.destination == self._destination

    def _take(self, directory: Path) -> tuple[Spool, list[SpooledEvent]] | None:
        """Open a directory; return None if another process has it, or nothing waits in it."""
        spool = Spool.take_over(directory)
        if spool is None:
            return None
        if self._scope.dead_letters:
            spool.revive()
        events = spool.waiting()
        if events:
            return spool, events
        spool.close()
        return None


def _is_outdated(seen: Content) -> bool:
    """Return whether a spool holds only dead letters, some of them expired: opening and closing it removes those."""
    return not seen.waiting and seen.oldest is not None and seen.oldest < time.time() - DEAD_LETTER_SECONDS
