"""
Turn notebooks of Jupyter, and those that Databricks exports as source, into scripts: their cells, one after the other.

SQL cells (`%%sql`, `%sql`) become calls of the session, and `%run` a call that runs the other notebook. The code that a
magic such as `%%time` runs is kept. Other magics, shell commands and questions for help are left out: they are not
Python, and a dry run does not execute them.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.predict.sql.notebooks import is_notebook
from openlineage_pyspark.workbench.predict.sql.statements import statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDING = ".ipynb"
"""The ending of the names of Jupyter notebooks."""
_BORDER = "# COMMAND ----------"
_MAGIC = "# MAGIC"
_OF_CODE = frozenset({"capture", "lprun", "memit", "mprun", "prun", "pyspark", "spark", "time", "timeit"})
"""The magics of cells that run the code of their cell."""
_TIMED = re.compile(r"%(?:memit|prun|timeit|time)\s+(?:-\w+(?:[ \t]+\d+)?\s+)*(?=\S)")
"""A magic of a line that runs the code of its line, with its options."""
_HELP = re.compile(r"\?{1,2}\s*[\w.*%]+|[\w.*%]+\s*\?{1,2}")
_ASSIGNED = re.compile(r"([\w.]+(?:\s*,\s*[\w.]+)*)\s*=\s*(%sql\s+|!)(.*)")


def script_of_notebook(text: str) -> tuple[str, tuple[int, ...]] | None:
    """
    Return the script of a notebook, and the line on which each of its cells begins, also of those without code.

    Args:
        text: the JSON of the notebook.

    Returns:
        None if it is not a notebook, or one in another language.
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
            lines += _lines_of_cell(_source(cell.get("source")).splitlines())
    return "\n".join([*lines, ""]), tuple(begins)


def cell_and_line(begins: tuple[int, ...], line: int) -> tuple[int, int]:
    """Return the number, from 1, of the cell that contains a line of the script, and the line within that cell."""
    cell = max((at for at, begin in enumerate(begins) if begin <= line), default=0)
    return cell + 1, line - begins[cell] + 1


def _source(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def runs_as_script(text: str) -> bool:
    """Return whether a notebook that Databricks has exported as Python source has code besides its SQL cells."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.split("\n"))


def script_of_source(text: str) -> str:
    """Return the script of such a notebook: each line keeps its number, and SQL cells become calls."""
    lines: list[str] = []
    cell: list[str] = []
    for line in text.split("\n"):
        if line.startswith(_BORDER):
            lines += [*_lines_of_source(cell), line]
            cell = []
        else:
            cell.append(line)
    return "\n".join([*lines, *_lines_of_source(cell)])


def runnable_of(text: str, ending: str) -> str | None:
    """
    Return the script of a file that another notebook runs.

    Args:
        text: the content of the file.
        ending: the ending of its name, with the dot.

    Returns:
        None if it is not Python.
    """
    if ending == ENDING:
        found = script_of_notebook(text)
        return None if found is None else found[0]
    return script_of_source(text) if is_notebook(text) else text


def _lines_of_source(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a cell of a notebook in source form."""
    code = [line.removeprefix(_MAGIC).removeprefix(" ") if line.startswith(_MAGIC) else "" for line in lines]
    if any(each.strip() for each in code):
        yield from _lines_of_cell(code) if any(map(_is_supported, code)) else lines
    else:
        yield from lines


def _is_supported(line: str) -> bool:
    """Return whether a line of magic begins a supported cell."""
    return line.lstrip().lstrip("%").partition(" ")[0] in ("sql", "run", "python") and line.lstrip().startswith("%")


def _lines_of_cell(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a cell as Python; their number stays the same."""
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        yield from lines
        return
    begins = lines[first].lstrip()
    word, _, rest = begins.lstrip("%").partition(" ")
    is_whole = begins.startswith("%%") or (begins.startswith("%") and word in ("sql", "python"))
    if is_whole and word == "python":
        yield from (*lines[:first], rest, *lines[first + 1 :])
    elif is_whole and word == "sql":
        yield from _calls_of([*lines[:first], "" if rest.startswith("-") else rest, *lines[first + 1 :]])
    elif begins.startswith("%%") and begins[2:].partition(" ")[0] in _OF_CODE:
        yield from (*lines[:first], f"# {begins}", *map(_plain, lines[first + 1 :]))
    elif begins.startswith("%%"):
        yield from (f"# {line}" for line in lines)
    elif _is_python(lines):
        # A line that begins with `%` may go on with an expression.
        yield from lines
    else:
        yield from map(_plain, lines)


def _is_python(lines: list[str]) -> bool:
    """Return whether the lines of a cell are Python without any magic."""
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return False
    return True


def _plain(line: str) -> str:
    """Return a line of Python: a magic is a call, its code, or is left out."""
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    if stripped.startswith("%run "):
        return f"{indent}_run_notebook({stripped[5:].strip()!r})"
    if stripped.startswith("%sql "):
        return f"{indent}_sql_of_cell({stripped[5:]!r})"
    timed = _TIMED.match(stripped)
    if timed:
        return f"{indent}{stripped[timed.end() :]}"
    assigned = _ASSIGNED.fullmatch(stripped.rstrip())
    if assigned:
        target, magic, text = assigned.groups()
        call = f"__import__('subprocess').check_output({text!r}, shell=True).splitlines()"
        return f"{indent}{target} = {call if magic == '!' else f'_sql_of_cell({text!r})'}"
    # It may be the only line of a block.
    is_left_out = stripped.startswith(("%", "!")) or _HELP.fullmatch(stripped.rstrip())
    return f"{indent}pass  # {stripped}" if is_left_out else line


def _calls_of(lines: list[str]) -> Iterator[str]:
    """Yield calls for the statements of an SQL cell, each on the line on which it begins."""
    calls = [""] * len(lines)
    for each in statements_of("\n".join(lines), ""):
        at = each.line - 1
        calls[at] += f"{'; ' if calls[at] else ''}_sqldf = _sql_of_cell({each.text!r})"
    yield from calls
