"""
How the user's script ends: the outcome of the application's run.

Nothing of the user's is replaced but `sys.exit` and what `exit` and `quit` raise, by ones that remember the status
they were given. Whether the script was left by an exception is read at the interpreter's exit: from where the
interpreter leaves an uncaught one, and from the instruction at which the script's outermost frame ended. SIGTERM is
handled only where nobody else does.
"""

from __future__ import annotations

import _sitebuiltins
import functools
import opcode
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import attrs


@attrs.frozen
class Outcome:
    """
    How the script ended.

    Args:
        event_type: COMPLETE, FAIL or ABORT.
        message: why, where it is not COMPLETE.
        stack_trace: of the exception.
    """

    event_type: str
    message: str = ""
    stack_trace: str | None = None


class ScriptEnd:
    """
    Watches the ways out of the interpreter that leave no trace of themselves.

    It can't see the status of a SystemExit that the script raises itself, without `sys.exit`, `exit` or `quit`:
    such a script counts as complete.
    """

    def __init__(self) -> None:
        """Begin to watch; once is enough in a process."""
        self._asked: object = None
        # A frame remembers where it stopped for as long as somebody holds it.
        self._outermost = _outermost_frame()
        original = sys.exit

        @functools.wraps(original)
        def remembering_exit(status: Any = None, /) -> NoReturn:
            self._remember(status)
            original(status)

        sys.exit = remembering_exit
        vars(_sitebuiltins)["SystemExit"] = self._remember

    def outcome(self) -> Outcome:
        """How the script ended, asked at the interpreter's exit."""
        if is_interactive():
            return Outcome("COMPLETE")
        problem = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if isinstance(problem, BaseException) and not isinstance(problem, SystemExit):
            event = "ABORT" if isinstance(problem, KeyboardInterrupt) else "FAIL"
            trace = "".join(traceback.format_exception(type(problem), problem, problem.__traceback__))
            message = "".join(traceback.format_exception_only(type(problem), problem)).strip()
            return Outcome(event, message, trace)
        asked = self._asked
        if asked in (None, 0) or not self._left_by_exception():
            return Outcome("COMPLETE")
        message = f"the script ended with exit status {int(asked)}" if isinstance(asked, int) else str(asked)
        return Outcome("FAIL", message)

    def _remember(self, status: Any = None) -> SystemExit:
        # In another thread it ends that thread alone.
        if threading.current_thread() is threading.main_thread():
            self._asked = status
        return SystemExit(status)

    def _left_by_exception(self) -> bool:
        frame = self._outermost
        if frame is None:
            return True
        return not opcode.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN_")


def _outermost_frame() -> FrameType | None:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
    return frame


def is_interactive() -> bool:
    """Whether a person types the statements: a shell or a notebook, where an error doesn't end the application."""
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules or bool(sys.flags.interactive)


def on_terminate(finish: Callable[[Outcome], None]) -> None:
    """
    Call `finish` when SIGTERM comes, then end as SIGTERM does; only where no other handler is set.

    Args:
        finish: what is to be done; it must keep a time limit of its own.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    process = os.getpid()

    def terminate(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() == process:
            finish(Outcome("ABORT", "the script was ended by SIGTERM"))
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, terminate)
