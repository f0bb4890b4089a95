"""
Find the lines of the user's Python code that run statements.

Spark does not know these lines. But a thread that runs a statement waits in py4j until Spark has finished it, and
meanwhile any other thread can read its stack. The listener's own thread does so as soon as it is notified of the
execution; the user's thread does nothing for this. A statement that ends earlier has no line.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType

from openlineage_pyspark.facets.model.run import CallSite
from openlineage_pyspark.listener.latest import Latest

# The beginning of the `start` record of a root execution, with its id and the method of Spark that was called.
_START = re.compile(r'\{"k":"start","id":(\d+),"root":\1,"time":\d+,"call":"(\w{1,100})"')
# The executions of a stream name the call that started the stream, but no Python thread waits for them.
_OF_STREAMS = frozenset(("start", "toTable"))
_PY4J = str(Path("py4j", "java_gateway.py"))
_DEEPEST_CALL = 16
_DEEPEST_STACK = 1000
_MOST_KEPT = 1000
_OWN = f"{Path(__file__).parents[1]}{os.sep}"
_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_LIBRARIES = tuple(f"{sysconfig.get_paths()[name]}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class CallSites:
    """Finds the line of each statement while Spark runs it."""

    def __init__(self, is_running: Callable[[int], bool]) -> None:
        """
        Start with nothing found.

        Args:
            is_running: returns whether an execution has not ended yet.
        """
        self._is_running = is_running
        self._found: Latest[int, CallSite] = Latest(_MOST_KEPT)

    def look(self, records: Iterable[str]) -> None:
        """Look for the lines of the executions whose `start` is among the records."""
        begun = [(int(found[1]), found[2]) for found in map(_START.match, records) if found is not None]
        begun = [(execution, method) for execution, method in begun if method not in _OF_STREAMS]
        if not begun:
            return
        waiting = list(_waiting())
        # An execution that is still running was so when the stacks were read: its thread waited in one of these calls.
        running = [(execution, method) for execution, method in begun if self._is_running(execution)]
        calls = Counter(method for _, method in running)
        for execution, method in running:
            sites = [site for called, site in waiting if called == method]
            if len(sites) == 1 and calls[method] == 1 and sites[0] is not None:
                self._found.put(execution, sites[0])

    def of(self, execution: int) -> CallSite | None:
        """Return the line of an execution, and forget it; None if it is unknown."""
        return self._found.pop(execution, None)


def _waiting() -> Iterator[tuple[str, CallSite | None]]:
    """Yield, for each Python thread that waits for the JVM, the method that it has called and the line of the call."""
    frames = sys._current_frames()
    # This thread's own frame would refer to itself, and so keep everything here until the next garbage collection.
    frames.pop(threading.get_ident(), None)
    for frame in frames.values():
        call = _py4j_call(frame)
        if call is None:
            continue
        # Only its type and its `vars`: py4j looks up the attributes of its other objects in the JVM.
        member = call.f_locals.get("self")
        method = vars(member).get("name") if type(member).__name__ == "JavaMember" else None
        if isinstance(method, str):
            yield method, _users_line(call, method)


def _py4j_call(frame: FrameType) -> FrameType | None:
    """Return the frame in which py4j waits for a Java method; None if the thread does not wait for one."""
    at: FrameType | None = frame
    for _ in range(_DEEPEST_CALL):
        if at is None:
            return None
        if at.f_code.co_name == "__call__" and at.f_code.co_filename.endswith(_PY4J):
            return at
        at = at.f_back
    return None


def _users_line(call: FrameType, method: str) -> CallSite | None:
    """Return the innermost line outside of libraries; if there is none, the innermost line outside of PySpark."""
    inner = ("<frozen ", _folder_of("pyspark"), _folder_of("py4j"), _OWN)
    nearest: FrameType | None = None
    at, depth = call.f_back, 0
    while at is not None and depth < _DEEPEST_STACK:
        file = at.f_code.co_filename
        if not file.startswith(inner):
            if nearest is None:
                nearest = at
            if not file.startswith(_LIBRARIES) and not _PACKAGES.search(file):
                return _site(at, method)
        at, depth = at.f_back, depth + 1
    return None if nearest is None else _site(nearest, method)


def _folder_of(package: str) -> str:
    file = getattr(sys.modules.get(package), "__file__", None)
    return f"{Path(file).parent}{os.sep}" if isinstance(file, str) else _OWN


def _site(frame: FrameType, method: str) -> CallSite | None:
    file, line = frame.f_code.co_filename, frame.f_lineno
    if not line:
        # Generated code may have no line numbers.
        return None
    if "ipykernel_" in file or file.startswith("<ipython-input-"):
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        file = f"cell [{getattr(shell, 'execution_count', 0)}]"
    return CallSite(file, line, method)
