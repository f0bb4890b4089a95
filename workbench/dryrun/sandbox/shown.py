"""
Calls of Python's functions that forget what their argument depends on.

`len` can only return a plain number, whose use can't be followed. So a call of it that is directly in a message is
compiled to a call that does not count as a decision, and any other value there to one whose text is not reported. `int`
and `float` return plain numbers too: a call of one is compiled to a call whose result still depends on data if its
argument does. So is a literal such as `100.0` before an operator.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import NoRows, StandIn
from openlineage_pyspark.workbench.dryrun.script.counts import Literal, number_from, plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from typing import TypeGuard

_CALL = "_openlineage_length_is_shown"
_SHOWN = "_openlineage_shown"
_NUMBER = "_openlineage_number_from"
_LITERAL = "_openlineage_literal"
_NUMBERS = frozenset({"int", "float"})
_LENGTH = frozenset({"len"})
_PRINTING = frozenset({"print", "pprint"})
_LOGGING = frozenset("critical debug error exception info log warn warning".split())
_MAKING_TEXT = frozenset({"repr", "str"})


def mark_calls(tree: ast.AST) -> None:
    """Replace `int(...)`, `float(...)`, literals before operators, and the values in messages by other calls."""
    for node in list(ast.walk(tree)):
        _mark_message(node)
        if _is_call(node, _NUMBERS):
            _replace(node, _NUMBER)
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and type(node.left.value) is float:
            node.left = ast.copy_location(ast.Call(ast.Name(_LITERAL, ast.Load()), [node.left], []), node.left)


def install_marked_calls() -> None:
    """Define the functions of these other calls, for the rest of the process."""
    setattr(builtins, _CALL, shown_length)
    setattr(builtins, _SHOWN, plain_number)
    setattr(builtins, _NUMBER, number_from)
    setattr(builtins, _LITERAL, Literal)


def shown_length(len_: Callable[[Any], Any], value: Any) -> Any:
    """
    Return the length of a value without a decision, if it is a stand-in.

    Args:
        len_: what the script calls `len`.
        value: the value.
    """
    return 0 if len_ is len and isinstance(value, StandIn | NoRows) else len_(value)


def _mark_message(node: ast.AST) -> None:
    """Mark the values of a message, if a node prints, logs or raises one."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        node = node.exc
    elif not isinstance(node, ast.Call) or not _is_for_people(node.func):
        return
    node.args = [_marked(each) for each in node.args]


def _is_for_people(function: ast.expr) -> bool:
    """Return whether a function prints or logs."""
    if isinstance(function, ast.Name):
        return function.id in _PRINTING
    return isinstance(function, ast.Attribute) and function.attr in _LOGGING


def _marked(node: ast.expr) -> ast.expr:
    """Return a value of a message as a call that marks it; in a value that joins others, these are marked."""
    if _is_call(node, _LENGTH):
        _replace(node, _CALL)
    elif isinstance(node, ast.JoinedStr):
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                each.value = _marked(each.value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        node.left, node.right = _marked(node.left), _marked(node.right)
    elif isinstance(node, ast.Tuple):
        node.elts = [_marked(each) for each in node.elts]
    elif isinstance(node, ast.Call) and _makes_text(node.func):
        node.args = [_marked(each) for each in node.args]
    elif not isinstance(node, ast.Constant | ast.Starred):
        return ast.copy_location(ast.Call(ast.Name(_SHOWN, ast.Load()), [node], []), node)
    return node


def _makes_text(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _MAKING_TEXT
    return isinstance(function, ast.Attribute) and function.attr == "format"


def _is_call(node: ast.AST, names: Container[str]) -> TypeGuard[ast.Call]:
    """Return whether an expression is a plain call of one of some functions."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    is_plain = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred) and not node.keywords
    return node.func.id in names and is_plain


def _replace(node: ast.Call, instead: str) -> None:
    """Make a call one of another function, whose first argument is the function that the script calls."""
    node.args.insert(0, node.func)
    node.func = ast.copy_location(ast.Name(instead, ast.Load()), node)
