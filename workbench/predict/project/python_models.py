"""Read dbt models in Python as text: a function `model(dbt, session)` that returns a DataFrame."""

from __future__ import annotations

import ast
import functools
import re
import warnings
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.scripts import Script

MODEL = "model"
"""The name of the function that dbt calls."""
DBT = "dbt"
"""The name that its first argument must have."""
_BEGIN = re.compile(rf"^def {MODEL}\({DBT}\b", re.MULTILINE)
_ARGUMENTS = 2
_ENDING = ".py"
_SNOWFLAKE = "snowflake"


def is_python_model(script: Script) -> bool:
    """
    Return whether a file of a project is a model in Python that runs on Spark.

    Args:
        script: the file.
    """
    return PurePath(script.name).suffix.lower() == _ENDING and is_model_text(script.text)


def is_model_text(text: str) -> bool:
    """Return whether a text is that of a model; one that is not valid Python counts by the line of its function."""
    function, _, is_broken = _parsed(text)
    return function is not None or (is_broken and _BEGIN.search(text) is not None)


def function_in(text: str) -> ast.FunctionDef | None:
    """Return the function of a model; None if a text has none, is not valid Python, or is for Snowflake."""
    return _parsed(text)[0]


def models_read_by(text: str) -> tuple[str, ...]:
    """Return the names of the models that a model reads: like dbt, take those that `dbt.ref` gets as texts."""
    last = (call.args[-1] for call in _calls(text, "ref") if call.args)
    return tuple(str(each.value) for each in last if isinstance(each, ast.Constant))


def config_of(text: str) -> str:
    """Return how a model configures itself, as a text."""
    return "\n".join(map(ast.unparse, _calls(text, "config")))


def _calls(text: str, method: str) -> list[ast.Call]:
    return [each for each in _parsed(text)[1] if isinstance(each.func, ast.Attribute) and each.func.attr == method]


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[ast.FunctionDef | None, tuple[ast.Call, ...], bool]:
    """Return the function of a model, the calls of methods of `dbt` in order, and whether it is not valid Python."""
    if f"def {MODEL}" not in text:
        return None, (), False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, (), True
    function = next((each for each in tree.body if isinstance(each, ast.FunctionDef) and _is_of_model(each)), None)
    if function is None or any(map(_is_of_snowflake, ast.walk(tree))):
        return None, (), False
    calls = (each for each in ast.walk(tree) if isinstance(each, ast.Call) and _is_of_dbt(each.func))
    return function, tuple(sorted(calls, key=lambda each: (each.lineno, each.col_offset))), False


def _is_of_model(function: ast.FunctionDef) -> bool:
    arguments = function.args.args
    return function.name == MODEL and len(arguments) == _ARGUMENTS and arguments[0].arg == DBT


def _is_of_dbt(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == DBT


def _is_of_snowflake(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] == _SNOWFLAKE
    return isinstance(node, ast.Import) and any(each.name.partition(".")[0] == _SNOWFLAKE for each in node.names)
