"""Recovery of orphaned spools: directories of earlier applications are found and taken over, one after the other."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.transport.spool.content import Content, content
from openlineage_pyspark.transport.spool.place import directories
from openlineage_pyspark.transport.spool.retention import DAY_SECONDS, Retention, delete, is_expired, make_room
from openlineage_pyspark.transport.spool.store import DEAD_LETTER_SECONDS, Spool, SpooledEvent, is_of_sender

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)


@attrs.frozen
class RecoveryScope:
    """
    Which orphaned spools are recovered.

    Args:
        root: the spool's root.
        any_destination: whether to include spools that were meant for another receiver, or left by another sender.
        dead_letters: whether to retry the events that were refused for good, too.
        retention: what the root may keep; None deletes nothing.
        sender: the sender of the spools; None for the transport's own sender, see `Transport.sender`.
    """

    root: Path
    any_destination: bool = False
    dead_letters: bool = False
    retention: Retention | None = None
    sender: str | None = attrs.field(default=None, repr=False)


class Recovery:
    """
    Takes over orphaned spools one directory at a time, so that a thousand cost no more memory than one.

    Args:
        scope: which orphaned spools.
        destination: the receiver of this delivery; see `Transport.destination`.
        sender: its sender, unless the scope names one; see `Transport.sender`.

    Attributes:
        deleted: how many events of earlier applications were deleted to keep the limits of the root.
    """

    def __init__(self, scope: RecoveryScope, destination: str, sender: str = "") -> None:
        self.deleted = 0
        self._scope = scope
        self._destination = destination
        self._sender = sender if scope.sender is None else scope.sender
        self._directories: list[Path] | None = None
        self._reported_other_sender = False

    def next(self) -> tuple[Spool, list[SpooledEvent]] | None:
        """
        Take over the oldest directory that has waiting events.

        Returns:
            The open spool and its waiting events, in the order of arrival; None if no directory is left.
        """
        if self._directories is None:
            if self._scope.retention is not None:
                self.deleted += make_room(self._scope.root, self._scope.retention.max_bytes)
            self._directories = directories(self._scope.root)[::-1]
        while self._directories:
            directory = self._directories.pop()
            # Checked before it is locked: the application that it is meant for may be looking for it right now.
            seen = content(directory)
            if seen.in_use or not (seen.problem or self._is_for_us(seen)):
                continue
            try:
                taken = self._take(directory)
            except SpoolError as exc:
                _log.warning("OpenLineage events that an earlier application left behind are not sent: %s", exc)
                continue
            if taken is not None:
                return taken
        return None

    def _is_for_us(self, seen: Content) -> bool:
        """Return whether to open a directory; delete it if it is for another receiver or sender, and too old."""
        if self._scope.any_destination or seen.is_meant_for(self._destination, self._sender):
            return True
        if not seen.destination:
            # Its owner was stopped at its very first step, or it is damaged: opening it shows which.
            return True
        if seen.destination == self._destination and seen.waiting:
            self._report_other_sender(seen)
        retention = self._scope.retention
        if retention is not None and is_expired(seen, retention.max_age_seconds):
            days = retention.max_age_seconds / DAY_SECONDS
            if delete(seen, f"they are older than {days:g} days (spool.maxAgeInDays)"):
                self.deleted += seen.waiting + seen.dead
            return False
        # Opening and closing it removes dead letters that are too old.
        return _is_outdated(seen)

    def _report_other_sender(self, seen: Content) -> None:
        if not self._reported_other_sender:
            self._reported_other_sender = True
            _log.warning(
                "OpenLineage events for %s that were left behind with another key, other headers or URL parameters are"
                " not sent, because they may be another tenant's: %s. If only the key is new, run `openlineage-pyspark"
                " replay --to URL`; further ones are not logged",
                self._destination, seen.directory,
            )  # fmt: skip

    def _take(self, directory: Path) -> tuple[Spool, list[SpooledEvent]] | None:
        """Open a directory; return None if another process has it, or nothing waits in it."""
        spool = Spool.take_over(directory)
        if spool is None:
            return None
        events: list[SpooledEvent] = []
        try:
            # Once more: before it was locked, it may not have been readable.
            if self._scope.any_destination or self._was_meant(spool):
                if self._scope.dead_letters:
                    spool.revive()
                events = spool.waiting()
        finally:
            if not events:
                spool.close()
        return (spool, events) if events else None

    def _was_meant(self, spool: Spool) -> bool:
        return spool.destination == self._destination and is_of_sender(spool.sender, self._sender)


def _is_outdated(seen: Content) -> bool:
    """Return whether a spool holds only dead letters, some of them expired: opening and closing it removes those."""
    return not seen.waiting and seen.oldest is not None and seen.oldest < time.time() - DEAD_LETTER_SECONDS
