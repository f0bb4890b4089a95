"""
The length of a stand-in that a script only shows: in a message, it decides nothing.

`len` can only return a plain number, whose use can't be followed. So a call of it that stands directly in a message is
compiled as a call that does not count as a decision.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

_CALL = "_openlineage_length_is_shown"
_PRINTING = frozenset({"print", "pprint"})
_LOGGING = frozenset("critical debug error exception info log warn warning".split())
_MAKING_TEXT = frozenset({"repr", "str"})


def mark_shown_lengths(tree: ast.AST) -> None:
    """Put another call into the place of each `len(...)` that stands directly in a message."""
    for node in ast.walk(tree):
        for each in _given_to_messages(node):
            _mark(each)


def install_shown_lengths() -> None:
    """Define what the marked calls call, for the rest of the process."""
    setattr(builtins, _CALL, shown_length)


def shown_length(len_: Callable[[Any], Any], value: Any) -> Any:
    """
    Return the length of a value without a decision, if it is a stand-in.

    Args:
        len_: what the script calls `len`.
        value: the value.
    """
    return 0 if len_ is len and isinstance(value, StandIn) else len_(value)


def _given_to_messages(node: ast.AST) -> list[ast.expr]:
    """Return the arguments of a call that prints or logs."""
    if not isinstance(node, ast.Call):
        return []
    function = node.func
    prints = isinstance(function, ast.Name) and function.id in _PRINTING
    logs = isinstance(function, ast.Attribute) and function.attr in _LOGGING
    return node.args if prints or logs else []


def _mark(node: ast.expr) -> None:
    """Mark the lengths from which a message, or a part of it, is made as a text."""
    if _is_length(node):
        node.args.insert(0, ast.copy_location(ast.Name("len", ast.Load()), node))
        node.func = ast.copy_location(ast.Name(_CALL, ast.Load()), node)
        return
    for each in _parts_of_text(node):
        _mark(each)


def _parts_of_text(node: ast.expr) -> list[ast.expr]:
    """Return the expressions from which a text, or the values of a text, are made."""
    if isinstance(node, ast.JoinedStr):
        return [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return [node.left, node.right]
    if isinstance(node, ast.Tuple):
        return node.elts
    return node.args if isinstance(node, ast.Call) and _makes_text(node.func) else []


def _makes_text(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _MAKING_TEXT
    return isinstance(function, ast.Attribute) and function.attr == "format"


def _is_length(node: ast.expr) -> TypeGuard[ast.Call]:
    """Return whether an expression is a plain call of `len`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "len" and len(node.args) == 1 and not node.keywords
