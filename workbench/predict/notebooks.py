"""
The SQL of notebooks that Databricks exports as source files.

Such a file begins with a comment, `Databricks notebook source`, and a comment separates its cells. In a notebook
of another language than SQL, and for Markdown, each line of a cell is a comment that begins with MAGIC.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTEBOOK = "Databricks notebook source"
"""What the first line of such a notebook says."""
NOTEBOOK_ENDINGS = (".py", ".r", ".scala")
"""How the names of files end that may be such notebooks, beside those of SQL."""

_HEADER = re.compile(rf"(--|#|//) {NOTEBOOK}\s*$")
_SQL = "--"
_BORDER = " COMMAND ----------"
_MAGIC = " MAGIC"
_BEGIN_OF_SQL = re.compile(r"(\s*%sql\b)")


def is_notebook(text: str) -> bool:
    """Return whether a text is such a notebook."""
    return _HEADER.match(text.split("\n", 1)[0]) is not None


def sql_of(text: str) -> str:
    """
    Return the SQL of a text: of a notebook that of its cells, of any other text all of it.

    Args:
        text: the content of a file.

    Returns:
        A text in which each character of SQL has its line and column; a `;` ends each cell.
    """
    header = _HEADER.match(text.split("\n", 1)[0])
    return text if header is None else "\n".join(_lines(text.split("\n"), header[1]))


def _lines(lines: list[str], comment: str) -> Iterator[str]:
    """Yield the SQL of each line of a notebook; an empty line for what is none."""
    in_sql = comment == _SQL
    for line in lines:
        if line.startswith(f"{comment}{_BORDER}"):
            in_sql = comment == _SQL
            yield ";"
            continue
        magic = f"{comment}{_MAGIC}"
        if not line.startswith(magic):
            yield line if comment == _SQL else ""
            continue
        said = line[len(magic) :]
        begin = _BEGIN_OF_SQL.match(said)
        if begin is not None:
            in_sql, said = True, f"{' ' * begin.end()}{said[begin.end() :]}"
        elif said.lstrip().startswith("%"):
            in_sql = False
        # In a notebook of SQL, what follows MAGIC without %sql is of another language.
        yield f"{' ' * len(magic)}{said}" if in_sql and (comment != _SQL or begin is not None) else ""
