"""The cells of a notebook's script, and what a cell that fails leaves unknown."""

from __future__ import annotations

import ast
import datetime
import re
import types
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.dryrun.script.notebooks import RUN_NOTEBOOK
from openlineage_pyspark.workbench.predict.sql.notebooks import is_border

if TYPE_CHECKING:
    from collections.abc import Sequence

# What changes how all that follows is read, or which names there are.
_FOR_ALL = frozenset({RUN_NOTEBOOK, "chdir", "eval", "exec", "globals", "setCurrentCatalog", "setCurrentDatabase"})
_USE = re.compile(r"\s*(?:USE|SET\s+CATALOG)\b", re.IGNORECASE)
_VIEWING = re.compile(r"create\w*View|registerTempTable")
_VIEW_OF_SQL = re.compile(r"\bVIEW\b|\bCACHE\b", re.IGNORECASE)
_OF_SPARK = tuple(
    f"pyspark.sql.{name}" for name in ("classic", "column", "dataframe", "functions", "session", "window")
)
_UNCHANGING = (
    types.ModuleType, types.FunctionType, str, bytes, int, float, tuple, frozenset, datetime.date, datetime.timedelta,
    type(None),
)  # fmt: skip


@attrs.frozen
class Cell:
    """
    The statements of a cell.

    Args:
        statements: the statements.
        defined: the names that it may define.
        changed: the names of the objects that it may change.
        views: the words that may be names of its temporary views.
        is_known: whether these are all; otherwise it may change anything.
    """

    statements: Sequence[ast.stmt]
    defined: frozenset[str]
    changed: frozenset[str]
    views: frozenset[str]
    is_known: bool


def cells_of(script: ast.Module, source: str, begins: Sequence[int]) -> list[Cell]:
    """
    Return the cells of a notebook's script.

    Args:
        script: the script.
        source: its text.
        begins: the line on which each cell begins, from 1; empty if comments are their borders.
    """
    borders = begins or [1, *(at for at, line in enumerate(source.split("\n"), 1) if is_border(line))]
    bodies: dict[int, list[ast.stmt]] = {}
    for each in script.body:
        bodies.setdefault(sum(begin <= each.lineno for begin in borders), []).append(each)
    return [_cell(body) for body in bodies.values()]


def may_change(value: object) -> bool:
    """Return whether a call may change an object, which is none of Spark's frames, columns and sessions."""
    is_of_spark = any(each.__module__.startswith(_OF_SPARK) for each in type(value).__mro__)
    return not isinstance(value, _UNCHANGING) and not is_of_spark


def _cell(statements: Sequence[ast.stmt]) -> Cell:
    nodes = [node for each in statements for node in ast.walk(each)]
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    used = {node.id if isinstance(node, ast.Name) else getattr(node, "attr", "") for node in nodes}
    is_viewing = any(map(_VIEWING.fullmatch, used)) or any(map(_VIEW_OF_SQL.search, texts))
    words = {word for text in texts for word in re.findall(r"\w+", text)} if is_viewing else set()
    return Cell(
        statements,
        frozenset(name for node in nodes for name in _defined(node)),
        frozenset(name for node in nodes for name in _changed(node)),
        frozenset(words),
        used.isdisjoint(_FOR_ALL) and not any(map(_USE.match, texts)),
    )


def _defined(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return (node.id,)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    return ((node.asname or node.name).partition(".")[0],) if isinstance(node, ast.alias) else ()


def _changed(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return _owner(node)
    if not isinstance(node, ast.Call):
        return ()
    # A call may change its object and its arguments.
    given = [*node.args, *(each.value for each in node.keywords)]
    return tuple(name for each in (*given, getattr(node.func, "value", None)) for name in _owner(each))


def _owner(node: ast.AST | None) -> tuple[str, ...]:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return (node.id,) if isinstance(node, ast.Name) else ()
