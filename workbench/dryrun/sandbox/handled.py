"""
Errors that a script handles itself: a handler for all errors also catches those that only occur in a dry run.

The user's code is compiled with a call at the beginning of each such handler: it records the error and its line.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import traceback
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.guard import RefusedError
from openlineage_pyspark.workbench.dryrun.sandbox.shown import install_marked_calls, mark_calls
from openlineage_pyspark.workbench.dryrun.script.stage import shortened

if TYPE_CHECKING:
    from types import CodeType

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_OF_THE_STACK = re.compile(r"\s+at \S+\(.*\)$|\s+\.\.\. \d+ more$")
_CALL = "_openlineage_error_is_handled"
_EVERYTHING = frozenset({"Exception", "BaseException"})


def compiled_code(source: str | bytes, path: str) -> CodeType:
    """
    Return the code of a script or a module.

    Args:
        source: its text.
        path: its path.

    Raises:
        SyntaxError: it is not valid Python.
    """
    tree = ast.parse(source, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and _takes_everything(node.type):
            call = ast.Expr(ast.Call(ast.Name(_CALL, ast.Load()), [], []))
            node.body.insert(0, ast.copy_location(call, node.body[0]))
    mark_calls(tree)
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _takes_everything(caught: ast.expr | None) -> bool:
    """Return whether a handler catches errors of every class."""
    if isinstance(caught, ast.Tuple):
        return any(map(_takes_everything, caught.elts))
    return caught is None or (isinstance(caught, ast.Name) and caught.id in _EVERYTHING)


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
    setattr(SourceFileLoader, "get_code", get_code)  # noqa: B010 (its type is that of a class above it)


def text_of_error(problem: BaseException) -> str:
    """Return an error as Python shows it, on one line, without the stack of the JVM."""
    lines = "".join(traceback.format_exception_only(type(problem), problem)).splitlines()
    return shortened("\n".join(line for line in lines if _OF_THE_STACK.match(line) is None))
