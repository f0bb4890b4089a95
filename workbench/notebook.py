"""
The magics of a notebook: `%%lineage` and `%lineage`.

`%%lineage` stands above a cell of SQL, `%lineage` before a DataFrame or a text of SQL, or alone for the last run.

`%load_ext openlineage_pyspark` registers them. Spark analyzes the query; nothing is run. Their values are those of
`lineage()` and `last_run()`, which a notebook shows as a graph with tables.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from openlineage_pyspark.errors import LineageError, MissingExtraError, RegistrationError
from openlineage_pyspark.listener.probe.client import active_session, refusals
from openlineage_pyspark.workbench.extras import WORKBENCH, require
from openlineage_pyspark.workbench.finished_run import FinishedRun, last_run
from openlineage_pyspark.workbench.predict.query import lineage

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.report import Lineage

_NAME = "lineage"
_USAGE = "%lineage DATAFRAME, %lineage SQL, or %%lineage above a cell of SQL"
_NO_SESSION = "there is no active Spark session: start one with SparkSession.builder.getOrCreate()"
# By this attribute IPython knows magics of which it leaves `{x}` and `$x` as they are: both can be SQL.
_AS_IT_IS = "_ipython_magic_no_var_expand"


def register_magics(ipython: Any) -> None:
    """
    Register the magics in an IPython shell.

    Args:
        ipython: the shell, an `IPython.core.interactiveshell.InteractiveShell`.
    """

    def of_line(line: str) -> Lineage | FinishedRun:
        """
        Show the lineage of a DataFrame or of a statement, without running it, or that of the last run.

        %lineage DATAFRAME
        %lineage SELECT ... (the text of one statement)
        %lineage (the run that has ended last)
        """
        text = line.strip()
        _require_workbench()
        return _lineage_of(_asked(ipython, text)) if text else _last_run()

    def of_cell(line: str, cell: str) -> Lineage:
        """
        Show the lineage of the statement in this cell, without running it.

        %%lineage
        SELECT ...
        """
        if line.strip():
            _refuse("%%lineage takes nothing on its own line: put the statement below it")
        _require_workbench()
        return _lineage_of(cell)

    magics: dict[str, Callable[..., object]] = {"line": of_line, "cell": of_cell}
    for kind, magic in magics.items():
        setattr(magic, _AS_IT_IS, True)
        ipython.register_magic_function(magic, magic_kind=kind, magic_name=_NAME)


def remove_magics(ipython: Any) -> None:
    """Remove the magics from an IPython shell."""
    for kind in ("line", "cell"):
        ipython.magics_manager.magics[kind].pop(_NAME, None)


def _require_workbench() -> None:
    try:
        require(WORKBENCH)
    except MissingExtraError as problem:
        _refuse(str(problem))


def _asked(ipython: Any, text: str) -> Any:
    """
    Return what a line asks for: the value of an expression that begins with a variable, or else the text as SQL.

    A text of several words that is both, such as `VALUES (1)`, is SQL unless there is such a variable.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return tree.value
    first = _first(tree)
    if first in ipython.user_ns:
        return ipython.ev(text)
    return text if len(text.split()) > 1 else _refuse(f"there is no variable {first or text}: {_USAGE}")


def _first(tree: ast.expr) -> str:
    """Return the name with which an expression begins; empty if it begins with none."""
    at: ast.AST | None = tree
    while at is not None and not isinstance(at, ast.Name):
        at = getattr(at, "value", None) or getattr(at, "func", None)
        at = at if isinstance(at, ast.AST) else None
    return at.id if isinstance(at, ast.Name) else ""


def _lineage_of(query: Any) -> Lineage:
    """Return the lineage of a query; whatever is wrong with it is said in one line, without a traceback."""
    if isinstance(query, str) and not query.strip("; \t\n"):
        _refuse(f"there is no statement: {_USAGE}")
    session = getattr(query, "sparkSession", None) or active_session()
    if session is None:
        _refuse(_NO_SESSION)
    try:
        return lineage(session, query)
    except refusals() as problem:
        # After the first line Spark adds the text of the statement, or the plan as far as it got.
        _refuse(str(problem).strip().splitlines()[0].rstrip(";"))
    except (LineageError, TypeError, ValueError) as problem:
        _refuse(str(problem))


def _last_run() -> FinishedRun:
    session = active_session()
    if session is None:
        _refuse(_NO_SESSION)
    try:
        run = last_run(session)
    except RegistrationError:
        _refuse(f"no listener is attached to this session, so no run is known: {_USAGE}")
    if run is None:
        _refuse("no run that writes something has ended yet")
    return run


def _refuse(message: str) -> NoReturn:
    """Raise the exception that IPython shows without a traceback; the cell fails."""
    raise import_module("IPython.core.error").UsageError(message)
