"""
Errors that a script handles itself.

A handler for all errors also catches those that only occur in a dry run. The user's code is compiled with a call at the
beginning of each such handler: it records the error and its line. A handler that goes on after an `AnalysisException`
is for data that do not exist yet: the lines of its `try` are remembered.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import traceback
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.calls import install_calls_with_unknown, mark_calls_with_unknown
from openlineage_pyspark.workbench.dryrun.sandbox.guard import RefusedError
from openlineage_pyspark.workbench.dryrun.sandbox.shown import install_marked_calls, mark_calls
from openlineage_pyspark.workbench.dryrun.script.stage import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_OF_THE_STACK = re.compile(r"\s+at \S+\(.*\)$|\s+\.\.\. \d+ more$")
_CALL = "_openlineage_error_is_handled"
_EVERYTHING = frozenset({"Exception", "BaseException"})
_ABSENCE = _EVERYTHING | {"AnalysisException"}
_ENDING = frozenset({"exit", "_exit"})

_handled_lines: dict[str, list[range]] = {}
"""The lines of the user's files on which data may be absent: the file -> its blocks."""


def compiled_code(source: str | bytes, path: str) -> CodeType:
    """
    Return the code of a script or a module.

    Raises:
        SyntaxError: it is not valid Python.
    """
    tree = ast.parse(source, path)
    observe_handlers(tree, path)
    return compile(tree, path, "exec", dont_inherit=True)


def observe_handlers(tree: ast.Module, path: str) -> None:
    """
    Change the tree of a script or a module: it records the errors that it handles.

    Args:
        tree: the tree.
        path: its file.
    """
    _handled_lines[path] = [lines for node in ast.walk(tree) for lines in _lines_of_absence(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and _takes(node.type, _EVERYTHING):
            call = ast.Expr(ast.Call(ast.Name(_CALL, ast.Load()), [], []))
            node.body.insert(0, ast.copy_location(call, node.body[0]))
    mark_calls(tree)
    mark_calls_with_unknown(tree)
    ast.fix_missing_locations(tree)


def _takes(caught: ast.expr | None, names: frozenset[str]) -> bool:
    """Return whether a handler catches errors of one of some classes."""
    if isinstance(caught, ast.Tuple):
        return any(_takes(each, names) for each in caught.elts)
    return caught is None or _name_of(caught) in names


def _name_of(node: ast.AST) -> str:
    """Return the last name of `name` or `module.name`; empty for any other expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _lines_of_absence(node: ast.AST) -> Iterator[range]:
    """Return the lines of a `try` whose handler goes on if there is nothing to read."""
    if not isinstance(node, ast.Try):
        return
    for handler in node.handlers:
        inner = [each for statement in handler.body for each in ast.walk(statement)]
        ends = any(
            isinstance(each, ast.Raise) or (isinstance(each, ast.Call) and _name_of(each.func) in _ENDING)
            for each in inner
        )
        if _takes(handler.type, _ABSENCE) and not ends:
            yield range(node.body[0].lineno, (node.body[-1].end_lineno or node.body[-1].lineno) + 1)


def is_absence_handled(is_users: Callable[[str], bool]) -> bool:
    """
    Return whether the current line of the user's code is within a `try` that handles the absence of data.

    Args:
        is_users: returns whether a file is one of the user's.
    """
    frame = sys._getframe(1)
    while not is_users(frame.f_code.co_filename):
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return any(frame.f_lineno in lines for lines in _handled_lines.get(frame.f_code.co_filename, ()))


def install_handlers(stage: Stage) -> None:
    """Make the user's modules record the errors that they handle, as scripts do: `compiled_code` compiles both."""

    def handled() -> None:
        problem = sys.exc_info()[1]
        # A refusal is already recorded, and a script that handles an absent module can do without it.
        if isinstance(problem, Exception) and not isinstance(problem, RefusedError | ImportError):
            message = f"the script handles an error, which may not occur in a real run: {text_of_error(problem)}"
            stage.problem("HANDLED", message, stage.spot_of_error(problem))

    load = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, fullname: str) -> Any:
        path = loader.get_filename(fullname)
        return compiled_code(loader.get_data(path), path) if stage.is_users(path) else load(loader, fullname)

    setattr(builtins, _CALL, handled)
    install_marked_calls()
    install_calls_with_unknown(stage)
    setattr(SourceFileLoader, "get_code", get_code)  # noqa: B010 (its type is that of a class above it)


def text_of_error(problem: BaseException) -> str:
    """Return an error as Python shows it, on one line, without the stack of the JVM."""
    lines = "".join(traceback.format_exception_only(type(problem), problem)).splitlines()
    return shortened("\n".join(line for line in lines if _OF_THE_STACK.match(line) is None))
