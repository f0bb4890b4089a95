"""
Notebooks of Jupyter as scripts: their cells of code, one after the other.

Cells of SQL (`%%sql`, `%sql`) become calls of `spark.sql`. Other magics, and commands of the shell, are left out: they
are no Python, and what they do is not done here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDING = ".ipynb"
"""How the names of such files end."""


def script_of_notebook(text: str) -> tuple[str, tuple[int, ...]] | None:
    """
    Return the script that a notebook is, and the line on which each of its cells begins, also of those without code.

    Args:
        text: the JSON of the notebook.

    Returns:
        None if it is no notebook, or one of another language.
    """
    try:
        document = json.loads(text)
        language = document.get("metadata", {}).get("kernelspec", {}).get("language", "python")
        cells = [cell for cell in document["cells"] if isinstance(cell, dict)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if language != "python":
        return None
    lines: list[str] = []
    begins: list[int] = []
    for cell in cells:
        begins.append(len(lines) + 1)
        if cell.get("cell_type") == "code":
            lines += _lines_of_cell(_source(cell.get("source")))
    return "\n".join([*lines, ""]), tuple(begins)


def cell_and_line(begins: tuple[int, ...], line: int) -> tuple[int, int]:
    """Return the number of the cell that a line of the script stands in, from 1, and the line in that cell."""
    cell = max((at for at, begin in enumerate(begins) if begin <= line), default=0)
    return cell + 1, line - begins[cell] + 1


def _source(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def _lines_of_cell(source: str) -> Iterator[str]:
    """Yield the lines of a cell as Python: as many as it has."""
    lines = source.splitlines()
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        yield from lines
    elif lines[first].startswith("%%"):
        word, _, rest = lines[first][2:].partition(" ")
        if word == "sql":
            statement = "\n".join([*lines[:first], "" if rest.startswith("-") else rest, *lines[first + 1 :]])
            yield from _asked(statement)
        else:
            yield from (f"# {line}" for line in lines)
    else:
        for line in lines:
            stripped = line.lstrip()
            indent = line[: len(line) - len(stripped)]
            if stripped.startswith("%sql "):
                yield f"{indent}spark.sql({stripped[5:]!r})"
            elif stripped.startswith(("%", "!")):
                # A block may hold nothing else.
                yield f"{indent}pass  # {stripped}"
            else:
                yield line


def _asked(statement: str) -> Iterator[str]:
    """Yield a call of `spark.sql` on as many lines as the statement has."""
    lines = statement.rstrip().rstrip(";").splitlines() or [""]
    for at, line in enumerate(lines):
        begin, end = "spark.sql(" if at == 0 else "", ")" if at == len(lines) - 1 else ""
        text = line if at == len(lines) - 1 else f"{line}\n"
        yield f"{begin}{text!r}{end}"
