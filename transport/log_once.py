"""Warnings that do not flood the log: one of each kind, and a limited number of kinds."""

from __future__ import annotations

import logging
import threading

# Even a transport that gives every failure a different text must not flood the log.
_MOST_KINDS = 20


class LogOnce:
    """
    Logs the first failure of each kind; thread-safe.

    Args:
        log: the logger.
        ending: the end of each message, about further failures of the kind.
    """

    def __init__(self, log: logging.Logger, ending: str = "further failures of this kind are only counted") -> None:
        self._log = log
        self._ending = ending
        self._kinds: set[str] = set()
        self._mutex = threading.Lock()

    def warn(self, kind: str, text: str, *args: object) -> None:
        """
        Log a warning, unless one of this kind was logged before.

        Args:
            kind: identifies the kind of failure.
            text: the message, as for `logging.Logger.warning`.
            args: its arguments, likewise.
        """
        with self._mutex:
            if kind in self._kinds or len(self._kinds) >= _MOST_KINDS:
                return
            self._kinds.add(kind)
        self._log.warning("%s; %s", text % args, self._ending)
