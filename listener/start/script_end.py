"""
Find out how the user's script ends: the outcome of the application's run.

The interpreter stores an uncaught exception in `sys.last_exc`. It does not store the status passed to `sys.exit`, so
`sys.exit` is wrapped. A script that raises SystemExit itself, or ends with `exit` or `quit`, leaves no trace and counts
as complete. No signal is handled: `last_words` reports a process that a signal kills.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import traceback
from typing import Any, NoReturn

from openlineage_pyspark.facets.model.run import Ending, Outcome, Raised
from openlineage_pyspark.facets.redaction.rows import is_of_rows

_LONGEST = 20_000
# For all exceptions together; those that came first are left out.
_LONGEST_TRACE = 500_000
_MOST = 100
_CUT = "..."
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"
_HEADING = "Traceback (most recent call last):\n"
_PYSPARK = "pyspark."
# Where PySpark keeps the JVM's stack trace, and the parameters of its own conditions: Spark 4, then Spark 3.
_STACKS = ("_stackTrace", "stackTrace")
_CONDITIONS = ("_errorClass", "error_class")
_PARAMETERS = ("_messageParameters", "message_parameters")
# Where PySpark, in the driver's Python, converts the rows that a frame is made of, or that are collected.
_CONVERSIONS = ("/pyspark/sql/types.py", "/pyspark/sql/pandas/", "/pyspark/sql/conversion.py")
# PySpark raises these for exceptions that Spark raises on the driver alone.
_OF_ANALYSIS = ("AnalysisException", "ParseException")


class ScriptEnd:
    """Remembers each status passed to `sys.exit`, until the SystemExit that carries it is caught."""

    def __init__(self) -> None:
        """Start watching; a process needs only one of these."""
        self._process = os.getpid()
        self._statuses: dict[object, object] = {}
        original = sys.exit

        @functools.wraps(original)
        def remembering_exit(status: Any = None, /) -> NoReturn:
            try:
                original(status)
            except SystemExit as exit_:
                self._remember(exit_)
                raise

        sys.exit = remembering_exit

    def outcome(self) -> Outcome:
        """Return how the script ended; call this when the interpreter exits."""
        if is_interactive():
            return Outcome("COMPLETE")
        problem = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if isinstance(problem, BaseException) and not isinstance(problem, SystemExit):
            return failed_outcome("ABORT" if isinstance(problem, KeyboardInterrupt) else "FAIL", problem)
        # The last one: any before it were caught, but something still refers to them.
        status = next(reversed(self._statuses.values()), None)
        if status in (None, 0):
            return Outcome("COMPLETE")
        message = (
            f"the script ended with exit status {int(status)}" if isinstance(status, int) else beginning_of(str(status))
        )
        return Outcome("FAIL", message)

    def _remember(self, exit_: SystemExit) -> None:
        # In another thread, SystemExit ends only that thread.
        if threading.current_thread() is threading.main_thread() and os.getpid() == self._process:
            vars(exit_)["_openlineage"] = _PassingStatus(self._statuses, exit_.code)


class _PassingStatus:
    """
    Represents a status while the SystemExit that carries it propagates.

    An exit that is caught is freed while Python code still runs. The exit that ends the script is freed by the
    interpreter, when no Python code runs any more, so its status stays remembered.
    """

    def __init__(self, statuses: dict[object, object], status: object) -> None:
        self._statuses = statuses
        self._key = object()
        statuses[self._key] = status

    def __del__(self) -> None:
        if sys._getframe().f_back is not None:
            self._statuses.pop(self._key, None)


def is_interactive() -> bool:
    """Return whether this is a shell or notebook, where an error does not end the application."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or _is_kernel()


def _is_kernel() -> bool:
    # A script may import the notebook kernel's library without running in a notebook.
    kernel = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    return kernel is not None and bool(kernel.initialized())


# Describe the exception that ends the user's script, with those that it came from.


def failed_outcome(event_type: Ending, problem: BaseException) -> Outcome:
    """
    Return the outcome of a script that an exception ends.

    Texts are cut, since everything that follows takes time in proportion to them.
    """
    raised = _chain(problem)
    headers = [f"{one.class_name}: {one.message}" if one.message else one.class_name for one in raised]
    trace = "".join(f"{one.frames}{header}\n" for one, header in zip(raised, headers, strict=True))
    return Outcome(event_type, headers[-1], trace, raised)


def beginning_of(text: str) -> str:
    """Return a text, or the beginning of a long one."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + _CUT


def _chain(problem: BaseException) -> tuple[Raised, ...]:
    """Return an exception and those that it came from, in the order in which Python prints them."""
    found: list[Raised] = []
    seen: set[int] = set()
    length = 0
    one: BaseException | None = problem
    while one is not None and id(one) not in seen and len(found) < _MOST and length < _LONGEST_TRACE:
        seen.add(id(one))
        before, between = one.__cause__, _CAUSE
        if before is None and not one.__suppress_context__:
            before, between = one.__context__, _CONTEXT
        is_first = before is None or id(before) in seen or len(found) == _MOST - 1
        found.append(_raised(one, "" if is_first else between))
        length += len(found[-1].message) + len(found[-1].frames)
        one = before
    return tuple(reversed(found))


def _raised(problem: BaseException, between: str) -> Raised:
    """Describe one exception; `between` is the text that joins it to the one before."""
    class_name, message = _class_and_message(problem)
    frames = f"{between}{_HEADING}{beginning_of(''.join(traceback.format_tb(problem.__traceback__)))}"
    if not frames.endswith("\n"):
        frames += "\n"
    is_of_pyspark = type(problem).__module__.startswith(_PYSPARK)
    converts = any(path in frames for path in _CONVERSIONS)
    return Raised(
        class_name,
        message,
        frames,
        of_rows=converts or (is_of_pyspark and _quotes_rows(problem)),
        condition=_text(problem, _CONDITIONS) if is_of_pyspark else None,
        parameters=_parameters(problem) if is_of_pyspark and converts else (),
    )


def _class_and_message(problem: BaseException) -> tuple[str, str]:
    """Return the class of an exception as a traceback spells it, and the text after it."""
    lines = traceback.format_exception_only(type(problem), problem)
    # In a SyntaxError, the message is below the place in the source.
    text = next((beginning_of(line) for line in lines if not line.startswith(" ")), "").rstrip("\n")
    text = "".join([text, *(beginning_of(f"\n{line}".rstrip("\n")) for line in _after(lines))])
    class_name, _, message = text.partition(": ")
    return class_name, message


def _after(lines: list[str]) -> list[str]:
    """Return the notes below the message of an exception."""
    first = next((at for at, line in enumerate(lines) if not line.startswith(" ")), len(lines))
    return lines[first + 1 :]


def _quotes_rows(problem: BaseException) -> bool:
    """Return whether an exception of PySpark's comes from code that handles rows."""
    # PySpark keeps the JVM's stack trace as text; the JVM itself may be gone.
    name = type(problem).__name__
    if name == "PythonException":
        return True
    stack = _text(problem, _STACKS)
    if stack is not None:
        return "Executor$TaskRunner" in stack if name in _OF_ANALYSIS else is_of_rows(stack)
    return type(problem).__module__.rpartition(".")[2] == "connect" and name not in _OF_ANALYSIS


def _text(problem: BaseException, names: tuple[str, ...]) -> str | None:
    found: list[Any] = [vars(problem).get(name) for name in names]
    return next((each for each in found if isinstance(each, str)), None)


def _parameters(problem: BaseException) -> tuple[tuple[str, str], ...]:
    found: list[Any] = [vars(problem).get(name) for name in _PARAMETERS]
    given = next((each for each in found if isinstance(each, dict)), {})
    return tuple((str(name), str(value)) for name, value in given.items())
