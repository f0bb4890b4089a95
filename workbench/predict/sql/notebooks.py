"""
The SQL of notebooks that Databricks exports as source files, and that Microsoft Fabric keeps in git.

Such a file begins with a comment, `Databricks notebook source` or `Fabric notebook source`, and comments separate its
cells. In a notebook of another language than SQL, each line of a cell of SQL is a comment that begins with MAGIC.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTEBOOK = " notebook source"
"""The end of the first line of such a notebook."""
NOTEBOOK_ENDINGS = (".py", ".r", ".scala")
"""The endings of the names of files that may be such notebooks, besides SQL files."""

FOR_PEOPLE = frozenset({"css", "html", "javascript", "js", "latex", "markdown", "md", "md-sandbox", "svg"})
"""The magics of cells that only people read."""

_HEADER = re.compile(rf"(--|#|//) (?:Databricks|Fabric){NOTEBOOK}\s*$")
_SQL = "--"
_BORDER = re.compile(
    r"(?:--|#|//) (?:COMMAND ----------|(PARAMETERS CELL|CELL|MARKDOWN|METADATA|ATTACHMENT) \*{10,}\s*$)"
)
_MAGIC = " MAGIC"
_BEGIN_OF_SQL = re.compile(r"(\s*%{1,2}sql\b)")


def is_notebook(text: str) -> bool:
    """Return whether a text is such a notebook."""
    return _HEADER.match(text.split("\n", 1)[0]) is not None


def is_border(line: str) -> bool:
    """Return whether a line of such a notebook begins a cell."""
    return _BORDER.match(line) is not None


def begins_parameters(line: str) -> bool:
    """Return whether a line of such a notebook begins the cell whose variables are the notebook's parameters."""
    border = _BORDER.match(line)
    return border is not None and border[1] == "PARAMETERS CELL"


def sql_in(text: str) -> str:
    """
    Return the SQL in a text: the SQL cells of a notebook, or the whole of any other text.

    Args:
        text: the content of a file.

    Returns:
        A text in which each character of SQL keeps its line and column; a `;` ends each cell.
    """
    header = _HEADER.match(text.split("\n", 1)[0])
    return text if header is None else "\n".join(_lines(text.split("\n"), header[1]))


def magics_in(text: str) -> list[str]:
    """
    Return the lines of cells that begin with a magic which is neither SQL nor for people.

    Args:
        text: the content of a file.

    Returns:
        No lines if it is no notebook.
    """
    lines = text.split("\n")
    header = _HEADER.match(lines[0])
    found: list[str] = []
    in_magic = False
    for line in [] if header is None else lines:
        code = line.partition(_MAGIC)[2].lstrip()
        if code.startswith(("%", "!")):
            word = next(iter(code.lstrip("%").split()), "")
            in_magic = word != "sql" and word not in FOR_PEOPLE
        in_magic = in_magic and not is_border(line)
        if in_magic:
            found.append(line)
    return found


def _lines(lines: list[str], comment: str) -> Iterator[str]:
    """Yield the SQL of each line of a notebook; an empty line if it has none."""
    in_sql = comment == _SQL
    for line in lines:
        if is_border(line):
            in_sql = comment == _SQL
            yield ";"
            continue
        magic = f"{comment}{_MAGIC}"
        if not line.startswith(magic):
            yield line if comment == _SQL else ""
            continue
        code = line[len(magic) :]
        begin = _BEGIN_OF_SQL.match(code)
        if begin is not None:
            in_sql, code = True, f"{' ' * begin.end()}{code[begin.end() :]}"
        elif code.lstrip().startswith("%"):
            in_sql = False
        # In an SQL notebook, the text after MAGIC without %sql is in another language.
        yield f"{' ' * len(magic)}{code}" if in_sql and (comment != _SQL or begin is not None) else ""
