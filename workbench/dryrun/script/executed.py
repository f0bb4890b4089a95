"""The lines of the user's code that a dry run executes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType


class ExecutedLines:
    """
    Notes each line of the user's code that runs in this thread.

    Args:
        is_users: returns whether a file is one of the user's.
    """

    def __init__(self, is_users: Callable[[str], bool]) -> None:
        self._is_users = is_users
        self._known: dict[str, set[int] | None] = {}

    def start(self) -> None:
        """Note the lines of everything that is called from here on."""
        sys.settrace(self._call)

    def stop(self) -> Mapping[str, list[int]]:
        """Note no further lines; return each file with its lines."""
        sys.settrace(None)
        return {file: sorted(lines) for file, lines in self._known.items() if lines is not None}

    def _call(self, frame: FrameType, _event: str, _argument: object) -> Any:
        file = frame.f_code.co_filename
        if file not in self._known:
            self._known[file] = set() if self._is_users(file) else None
        lines = self._known[file]
        if lines is None:
            return None

        def line(inner: FrameType, event: str, _: object) -> Any:
            if event == "line":
                lines.add(inner.f_lineno)
            return line

        return line
