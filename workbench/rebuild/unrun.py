"""Find out whether a script may write more than its dry run has shown: it fails there, or decides on data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from openlineage_pyspark.workbench.predict.scripts import Script, StatementLineage

# What a dry run reports although it runs every line that it would run otherwise.
_WHOLE = frozenset({"STAND_IN", "PATTERN", "BRANCH", "UNKNOWN_SCHEMA", "UNKNOWN_TABLE"})
_DECISION = "DECISION"
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
TELLING = frozenset("print debug info warning warn error exception critical log".split())
"""Functions that only show something to people."""
_QUIET = TELLING | {"exit", "quit"}
_EXITS = frozenset({"exit", "quit", "_exit"})


def may_write_more(script: Script, found: Sequence[StatementLineage]) -> bool:
    """
    Return whether a real run of a script may write to tables that its dry run does not name.

    Args:
        script: the script.
        found: what the dry run has reported.
    """
    problems = [each for each in found if each.problem is not None and each.problem.code not in _WHOLE]
    if any(each.problem is not None and each.problem.code != _DECISION for each in problems):
        return True
    try:
        tree = ast.parse(script.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return bool(problems)
    ran = {each.statement.line for each in found if each.problem is None and each.statement.file == script.name}
    decided = [each.statement for each in problems]
    return any(each.file != script.name or not _is_whole(tree, each.line, ran) for each in decided)


def _is_whole(tree: ast.Module, line: int, ran: Collection[int]) -> bool:
    """Return whether the branch that a decision leaves out can write nothing."""
    inside = [each for each in ast.walk(tree) if has_line(each, line)]
    if any(isinstance(each, ast.Assert) for each in inside):
        return True
    tests = [each for each in inside if isinstance(each, ast.If) and each.lineno <= line <= (each.test.end_lineno or 0)]
    if not tests:
        return False
    innermost = tests[-1]
    branches = innermost.body, innermost.orelse
    writing = [each for each in branches if not all(map(_is_quiet, each))]
    if len(writing) > 1:
        return False
    # What may write has run, as far as is known: a line of it, or one after the branch that leaves.
    leaves = any(_leaves(each) for branch in branches for each in branch)
    after = any(each > (innermost.end_lineno or line) for each in ran)
    return all(_has_any(each, ran) for each in writing) and (after or not leaves)


def has_line(node: ast.AST, line: int) -> bool:
    """
    Return whether a node is a statement that has a line.

    Args:
        node: the node.
        line: the line, from 1.
    """
    return isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)


def _has_any(branch: Sequence[ast.stmt], lines: Collection[int]) -> bool:
    return any(branch[0].lineno <= line <= (branch[-1].end_lineno or 0) for line in lines)


def _is_quiet(statement: ast.stmt) -> bool:
    """Return whether a statement can write nothing: it logs, leaves, or makes a plain value."""
    if isinstance(statement, (*_LEAVING, ast.Pass)):
        return all(_is_plain(each) for each in _calls(statement)) or isinstance(statement, ast.Raise)
    if isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign):
        return all(_is_plain(each) for each in _calls(statement))
    return False


def _leaves(statement: ast.stmt) -> bool:
    return isinstance(statement, _LEAVING) or any(called_name(each) in _EXITS for each in _calls(statement))


def _is_plain(call: ast.Call) -> bool:
    return called_name(call) in _QUIET


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    return (each for each in ast.walk(statement) if isinstance(each, ast.Call))


def called_name(call: ast.Call) -> str:
    """Return the name of the function or method that is called; empty if an expression gives it."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
