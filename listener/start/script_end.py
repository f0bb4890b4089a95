"""
How the user's script ends: the outcome of the application's run.

Nothing of the user's is replaced but `sys.exit` and what `exit` and `quit` raise, by ones that remember the status
they were given, and the `flush` of the one stream `sys.stderr`, which the interpreter calls between a script's last
instruction and its own end. Whether the script was left by an exception is read at the interpreter's exit: from where
the interpreter leaves an uncaught one, and from the instruction at which the script's outermost frame ended. SIGTERM
is handled only where nobody else does.
"""

from __future__ import annotations

import _sitebuiltins
import functools
import gc
import opcode
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from openlineage_pyspark.facets.model.run import Outcome


class ScriptEnd:
    """
    Watches the ways out of the interpreter that leave no trace of themselves.

    It sees the status of every SystemExit that ends a script file. Under `python -m` and `python -c`, and where the
    script has put another stream in the place of `sys.stderr`, it sees the status that `sys.exit`, `exit` and `quit`
    were given: a script that ends there by `raise SystemExit(1)` counts as complete.
    """

    def __init__(self) -> None:
        """Begin to watch; once is enough in a process."""
        self._asked: object = None
        # A frame remembers where it stopped for as long as somebody holds it.
        self._outermost = _outermost_frame()
        self._remember_exit()
        self._stream = sys.stderr
        self._watch_stream()

    def outcome(self) -> Outcome:
        """How the script ended, asked at the interpreter's exit."""
        self._leave_stream()
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

    def forget(self) -> None:
        """Let go of the script's frame, so that what its module holds goes when it would without this watch."""
        self._outermost = None

    def _remember_exit(self) -> None:
        original = sys.exit

        @functools.wraps(original)
        def remembering_exit(status: Any = None, /) -> NoReturn:
            try:
                original(status)
            finally:
                # Not before: up to Python 3.11 an exit is no object until something like this handles it.
                self._remember(status)

        sys.exit = remembering_exit
        vars(_sitebuiltins)["SystemExit"] = self._remember

    def _remember(self, status: Any = None) -> SystemExit:
        # In another thread it ends that thread alone.
        if threading.current_thread() is threading.main_thread():
            self._asked = status
        return SystemExit(status)

    def _watch_stream(self) -> None:
        """Look for the exception that ends a script at the flush between the script's end and the interpreter's."""
        try:
            original = self._stream.flush
            main = threading.main_thread().ident

            @functools.wraps(original)
            def flush() -> None:
                # Only the interpreter calls it from no frame at all.
                if sys._getframe().f_back is None and threading.get_ident() == main:
                    self._leave_stream()
                    if self._left_by_exception():
                        self._see_exit()
                original()

            self._stream.flush = flush  # type: ignore[method-assign] # of this one stream
        except AttributeError:  # there is no stream, or one of another kind that takes no attribute
            self._stream = None

    def _leave_stream(self) -> None:
        if self._stream is not None:
            vars(self._stream).pop("flush", None)
            self._stream = None

    def _see_exit(self) -> None:
        exits = [found for found in gc.get_objects() if issubclass(type(found), SystemExit)]
        # Nothing that the garbage collector knows, but this list, refers to the one that the interpreter holds.
        on_their_way = [found for found in exits if len(gc.get_referrers(found)) == 1]
        if len(on_their_way) == 1:
            self._asked = on_their_way[0].code

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
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or _is_kernel()


def _is_kernel() -> bool:
    """Whether this process is a notebook's kernel: a script may import the library of one, too."""
    kernel = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    return kernel is not None and bool(kernel.initialized())


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
