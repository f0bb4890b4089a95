"""Recognize the Python of a folder that runs by itself, by its text: PySpark scripts and Jupyter notebooks."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.predict.project.python_models import DBT, is_model_text
from openlineage_pyspark.workbench.predict.sql.jupyter import (
    JUPYTER_ENDING,
    SPARK_SQL,
    cells_of_jupyter,
    source_of_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

JOB_ENDINGS = (".py", JUPYTER_ENDING)
"""The endings of the names of files that may be such jobs."""
MENTIONS = ("spark", "dlt", "awsglue", DBT)
"""Words of which each such job has one, in any case."""

_SESSIONS = frozenset({"pyspark", "dlt", "awsglue"})
"""The packages of which a script that uses Spark imports one, unless it uses the `spark` of a platform."""
_PIPELINES = frozenset({"dlt", "pipelines"})
_NAME = "spark"
_BROKEN = re.compile(r"^\s*(?:from|import)\s+(?:pyspark|dlt|awsglue)\b", re.MULTILINE)
_OF_CELL = re.compile(r"spark|%sql|\bdlt\b|\bawsglue\b", re.IGNORECASE)


def is_job(text: str, ending: str) -> bool:
    """
    Return whether a file uses Spark when it runs.

    A module that only defines functions, as tests do, does not, except for a dbt model, whose function dbt calls.

    Args:
        text: the content of the file.
        ending: the ending of its name, in lower case, with the dot.
    """
    if ending == JUPYTER_ENDING:
        return any(_is_of_spark(language, cell) for language, cell in cells_of_jupyter(text) or ())
    if not any(word in text.lower() for word in MENTIONS):
        return False
    if is_model_text(text):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # A script that is broken should say so, and not disappear.
        return _BROKEN.search(text) is not None
    imported = frozenset(_imports(tree))
    uses_spark = not _SESSIONS.isdisjoint(imported) or _names_spark(tree)
    return uses_spark and any(_acts(each, is_pipeline=not _PIPELINES.isdisjoint(imported)) for each in tree.body)


def _is_of_spark(language: str, cell: dict[str, Any]) -> bool:
    """Return whether a cell of a Jupyter notebook uses Spark."""
    if cell.get("cell_type") != "code":
        return False
    return language == SPARK_SQL or (language.startswith("py") and _OF_CELL.search(source_of_cell(cell)) is not None)


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the parts of the names that a module imports, such as `pyspark` and `pipelines`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from each.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (each.name for each in node.names if node.module == "pyspark")


def _names_spark(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Name) and node.id == _NAME for node in ast.walk(tree))


def _acts(statement: ast.stmt, *, is_pipeline: bool) -> bool:
    """Return whether a statement of a module does more than to define something."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return is_pipeline and bool(statement.decorator_list)
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return _names_spark(statement)
    if isinstance(statement, (ast.For, ast.While, ast.With)):
        return True
    return any(_acts(each, is_pipeline=is_pipeline) for each in _inside(statement))


def _inside(statement: ast.stmt) -> Iterable[ast.stmt]:
    """Yield the statements within `if`, `try` and the like."""
    for node in ast.iter_child_nodes(statement):
        if isinstance(node, ast.stmt):
            yield node
        elif isinstance(node, (ast.ExceptHandler, ast.match_case)):
            yield from node.body
