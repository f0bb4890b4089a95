"""Warnings that do not fill the log: one of a kind, and but so many kinds."""

from __future__ import annotations

import logging
import threading

# A transport that words each failure anew must not fill the log either.
_MOST_KINDS = 20


class LogOnce:
    """Says the first failure of each kind, from any thread.

    Args:
        log: where.
        ending: what is said of the further ones.
    """

    def __init__(self, log: logging.Logger, ending: str = "further failures of this kind are only counted") -> None:
        self._log = log
        self._ending = ending
        self._kinds: set[str] = set()
        self._mutex = threading.Lock()

    def warn(self, kind: str, text: str, *args: object) -> None:
        """Say it, unless that was done for this kind.

        Args:
            kind: what tells one failure from another.
            text: as for `logging.Logger.warning`.
            args: as for that.
        """
        with self._mutex:
            if kind in self._kinds or len(self._kinds) >= _MOST_KINDS:
                return
            self._kinds.add(kind)
        self._log.warning("%s; %s", text % args, self._ending)
