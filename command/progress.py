"""Show a line on the terminal while a command works without printing anything."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_AFTER_SECONDS = 1.0
_EVERY_SECONDS = 0.25


class Progress:
    """A line with the seconds since the start, which is erased before anything else is printed."""

    def __init__(self, stream: TextIO, label: str, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Begin to count.

        Args:
            stream: the terminal.
            label: the name of the command.
            clock: returns the time in seconds.
        """
        self._stream, self._label, self._clock = stream, label, clock
        self._begin = self._last = clock()
        self._is_drawn, self._at_start = False, True
        self.lock = threading.RLock()

    def draw(self) -> None:
        """Show the line, if nothing was printed for a second and no question waits for an answer."""
        with self.lock:
            now = self._clock()
            if self._at_start and now - self._last >= _AFTER_SECONDS:
                # The output of others, such as a JVM, begins at the start of the line.
                self._stream.write(f"\x1b[2K{self._label} is at work, {now - self._begin:.0f} s\r")
                self._stream.flush()
                self._is_drawn = True

    def clear(self) -> None:
        """Erase the line."""
        with self.lock:
            if self._is_drawn:
                self._stream.write("\x1b[2K\r")
                self._stream.flush()
                self._is_drawn = False

    def printed(self, text: str) -> None:
        """Erase the line before a text is printed."""
        self.clear()
        self._last = self._clock()
        if text:
            self._at_start = text.endswith("\n")


class _Watched:
    """A stream that erases the line before it writes."""

    def __init__(self, stream: TextIO, progress: Progress) -> None:
        self._stream, self._progress = stream, progress

    def write(self, text: str) -> int:
        with self._progress.lock:
            self._progress.printed(text)
            return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def working(label: str) -> Iterator[None]:
    """Show a line if the command takes longer than a second, and standard error is a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        yield
        return
    output, errors = sys.stdout, sys.stderr
    progress = Progress(errors, label)
    ended = threading.Event()

    def show() -> None:
        while not ended.wait(_EVERY_SECONDS):
            progress.draw()

    thread = threading.Thread(target=show, name="progress", daemon=True)
    thread.start()
    watched: Any = _Watched(errors, progress)
    sys.stderr = watched
    if output.isatty():
        watched = _Watched(output, progress)
        sys.stdout = watched
    try:
        yield
    finally:
        ended.set()
        thread.join()
        progress.clear()
        sys.stdout, sys.stderr = output, errors
