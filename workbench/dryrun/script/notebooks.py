"""
Turn notebooks of Jupyter, and those that Databricks and Fabric keep as source, into scripts: cell after cell.

SQL cells (`%%sql`, `%sql`) become calls of the session, and `%run` a call that runs the other notebook. The code that a
magic such as `%%time` runs is kept. A dry run does not execute a cell that is in another language or can't be parsed,
other magics, and shell commands: they become calls that report this. Markdown and questions for help are left out.
"""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.predict.sql.jupyter import (
    JUPYTER_ENDING,
    SPARK_SQL,
    cells_of_jupyter,
    source_of_cell,
)
from openlineage_pyspark.workbench.predict.sql.notebooks import FOR_PEOPLE, begins_parameters, is_border, is_notebook
from openlineage_pyspark.workbench.predict.sql.statements import statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = "MAGIC"
_PYTHON = ("python", "#")
_OTHERS = {".sql": ("sql", "--"), ".scala": ("scala", "//"), ".r": ("r", "#")}
"""The ending of the name of a notebook in source form -> its language, and how comments begin in it."""
SQL_OF_CELL = "_sql_of_cell"
"""The name of the function that a cell of SQL calls."""
RUN_NOTEBOOK = "_run_notebook"
"""The name of the function that `%run` calls."""
LEFT_OUT = "_left_out_of_cell"
"""The name of the function that a magic or a shell command calls, if a dry run does not execute it."""
INVALID_CELL = "_invalid_cell"
"""The name of the function that is called instead of a cell that is not valid Python."""
TAKE_PARAMETERS = "_take_parameters"
"""The name of the function that gives the variables of a cell the values of the notebook's parameters."""
# The magics of Databricks that make a whole cell another language, with one percent sign.
_WHOLE = frozenset({"fs", "python", "r", "scala", "sh", "sql"})
# The magics that neither read nor write data. Some of them set how the session starts.
_HARMLESS = frozenset(
    """additional_python_modules autoreload autosave cd colors conda config configure connections dhist doctest_mode env
    extra_jars extra_py_files glue_version gui help history iam_role idle_timeout info lineage list_sessions load_ext
    logs lsmagic mamba matplotlib number_of_workers pastebin pip precision profile pwd pylab quickref region reload_ext
    session_id session_id_prefix session_type set_env status stop_session streaming system_info tags time timeit uv
    who who_ls whos worker_type xmode""".split()
)
# The programs that only show something, or install packages.
_SHOWING_PROGRAMS = frozenset(
    """apt apt-get cat conda date df du echo env file free head java ls mamba nproc nvidia-smi pip pip3 printenv pwd
    tail tree uname uv wc which whoami yum""".split()
)
_SHELLS = frozenset({"bash", "sh"})
_SHELL = re.compile(r"[;&|`<>]|\$\(")
_OF_CODE = frozenset({"capture", "lprun", "memit", "mprun", "prun", "pyspark", "spark", "time", "timeit"})
"""The magics of cells that run the code of their cell."""
_LANGUAGES = {"csharp": "C#", "r": "R", "scala": "Scala", "spark": "Scala", "sparkr": "R"}
"""The magics of cells in other languages that have a Spark session: they may read and write."""
_PARAMETERS = f"{TAKE_PARAMETERS}()"
_TIMED = re.compile(r"%(?:memit|prun|timeit|time)\s+(?:-\w+(?:[ \t]+\d+)?\s+)*(?=\S)")
"""A magic of a line that runs the code of its line, with its options."""
_HELP = re.compile(r"\?{1,2}\s*[\w.*%]+|[\w.*%]+\s*\?{1,2}")
_ASSIGNED = re.compile(r"([\w.]+(?:\s*,\s*[\w.]+)*)\s*=\s*(%sql\s+|!)(.*)")


@functools.lru_cache(maxsize=256)
def script_of_notebook(text: str) -> tuple[str, tuple[int, ...]] | None:
    """
    Return the script of a notebook, and the line on which each of its cells begins, also of those without code.

    Args:
        text: the JSON of the notebook.

    Returns:
        None if it is not a notebook, or one in another language.
    """
    cells = cells_of_jupyter(text)
    if cells is None:
        return None
    lines: list[str] = []
    begins: list[int] = []
    for each, cell in cells:
        begins.append(len(lines) + 1)
        if cell.get("cell_type") == "code":
            lines += _lines_in(each, source_of_cell(cell).splitlines())
            if "parameters" in ((cell.get("metadata") or {}).get("tags") or ()):
                lines.append(_PARAMETERS)
    return "\n".join([*lines, ""]), tuple(begins)


def _lines_in(language: str, lines: list[str]) -> list[str]:
    """Return the lines of a cell as Python, from the language that it has if it begins with no magic."""
    first = next((line.lstrip() for line in lines if line.strip()), "")
    if not first or first.startswith("%") or language.startswith("py"):
        return _valid(_lines_of_cell(lines))
    return list(_calls_of(lines) if language == SPARK_SQL else _left_out([f"%{language} {lines[0]}", *lines[1:]]))


def cell_and_line(begins: tuple[int, ...], line: int) -> tuple[int, int]:
    """Return the number, from 1, of the cell that contains a line of the script, and the line within that cell."""
    cell = max((at for at, begin in enumerate(begins) if begin <= line), default=0)
    return cell + 1, line - begins[cell] + 1


def runs_as_script(text: str, ending: str = ".py") -> bool:
    """
    Return whether a notebook in source form, as Databricks and Fabric write it, does more than its SQL cells.

    Args:
        text: the notebook.
        ending: the ending of its name, in lower case, with the dot.
    """
    language, comment = _OTHERS.get(ending, _PYTHON)
    lines, prefix = text.split("\n"), f"{comment} {_MAGIC}"
    magics = [line.removeprefix(prefix).strip() for line in lines if line.startswith(prefix)]
    others = [each for each in magics if each.startswith(("%", "!")) and _word(each) not in (FOR_PEOPLE | {"sql"})]
    has_code = any(line.strip() and not line.lstrip().startswith(comment) for line in lines)
    return (has_code and language != "sql") or not all(map(is_harmless, others))


def script_of_source(text: str, ending: str = ".py") -> str:
    """
    Return the script of such a notebook: each line keeps its number, and SQL cells become calls.

    Args:
        text: the notebook.
        ending: the ending of its name, in lower case, with the dot.
    """
    language, comment = _OTHERS.get(ending, _PYTHON)
    lines: list[str] = []
    cell: list[str] = []
    of_parameters = False
    for line in text.split("\n"):
        if is_border(line):
            border = f"#{line.removeprefix(comment)}"
            lines += [*_lines_of_source(cell, language, comment), _PARAMETERS if of_parameters else border]
            cell, of_parameters = [], begins_parameters(line)
        else:
            cell.append(line)
    lines += _lines_of_source(cell, language, comment)
    return "\n".join([*lines, _PARAMETERS] if of_parameters else lines)


def runnable_of(text: str, ending: str) -> str | None:
    """
    Return the script of a file that another notebook runs.

    Args:
        text: the content of the file.
        ending: the ending of its name, in lower case, with the dot.

    Returns:
        None if it is not Python.
    """
    if ending == JUPYTER_ENDING:
        found = script_of_notebook(text)
        return None if found is None else found[0]
    if ending in _OTHERS and not is_notebook(text):
        return None
    return script_of_source(text, ending) if is_notebook(text) else text


def _lines_of_source(lines: list[str], language: str, comment: str) -> Iterator[str]:
    """Yield the lines of a cell of a notebook in source form as Python."""
    prefix = f"{comment} {_MAGIC}"
    is_magic = [line.startswith(prefix) for line in lines]
    code = [line.removeprefix(prefix).removeprefix(" ") for line in lines]
    begins = next(
        (at for at, line in enumerate(lines) if line.strip() and (is_magic[at] or not line.startswith(comment))),
        len(lines),
    )
    below = code[begins:]
    # Comments above a magic, such as the cell's title, are no part of it.
    above = [line if language == "python" else f"# {line}".rstrip() for line in lines[:begins]]
    if below and is_magic[begins] and below[0].lstrip().startswith(("%", "!")):
        yield from above
        # In this form, `%%spark` is never Python.
        yield from _valid(_lines_of_cell(["%%scala" if line.strip() == "%%spark" else line for line in below]))
    elif language == "python":
        of_magics = [is_ and each.lstrip().startswith(("%", "!")) for is_, each in zip(is_magic, code, strict=True)]
        own = [each if is_ else line for is_, each, line in zip(of_magics, code, lines, strict=True)]
        yield from _valid(_lines_of_cell(own))
    elif language == "sql":
        yield from (*above, *_calls_of(["" if is_magic[at] else each for at, each in enumerate(below, begins)]))
    else:
        yield from (*above, *(_left_out([f"%{language} {below[0]}", *below[1:]]) if below else ()))


def _valid(lines: Iterator[str]) -> list[str]:
    """Return the lines of a cell; if they are not Python, a call that reports that, and comments."""
    found = list(lines)
    try:
        ast.parse("\n".join(found))
    except (SyntaxError, ValueError) as problem:
        at, why = getattr(problem, "lineno", None) or 1, getattr(problem, "msg", None) or str(problem)
        left_out = [f"# {line}" for line in found]
        left_out[min(at, len(found)) - 1] = f"{INVALID_CELL}({why!r})"
        return left_out
    return found


def _lines_of_cell(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a cell as Python; their number stays the same."""
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        yield from lines
        return
    begins = lines[first].lstrip()
    word = _word(begins)
    rest = begins.lstrip("%").removeprefix(word).lstrip()
    is_cell = begins.startswith("%%")
    is_whole = is_cell or (begins.startswith("%") and word in (_WHOLE | FOR_PEOPLE))
    if is_whole and word == "python":
        yield from (*lines[:first], rest, *lines[first + 1 :])
    elif is_whole and word == "sql":
        sql = [*lines[:first], "" if rest.startswith("-") else rest, *lines[first + 1 :]]
        # Sparkmagic and Glue put the cell into a string of Python, in which the line goes on behind a backslash.
        yield from _calls_of([line.removesuffix("\\") for line in sql])
    elif is_cell and word in _OF_CODE and not (word == "spark" and not _is_python([*_plain_lines(lines[first + 1 :])])):
        yield from (*lines[:first], f"# {begins}", *_plain_lines(lines[first + 1 :]))
    elif is_whole and word in FOR_PEOPLE:
        yield from (f"# {line}" for line in lines)
    elif is_whole:
        yield from (*lines[:first], *_left_out(lines[first:]))
    elif _is_python(lines):
        # A line that begins with `%` may go on with an expression.
        yield from lines
    else:
        yield from _plain_lines(lines)


def _left_out(lines: list[str]) -> list[str]:
    """Return as many lines, of which the first reports that a dry run does not execute them."""
    text = "\n".join(lines).strip()
    return [f"{LEFT_OUT}({text!r})", *[""] * (len(lines) - 1)]


def _is_python(lines: list[str]) -> bool:
    """Return whether the lines of a cell are Python without any magic."""
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return False
    return True


def _plain_lines(lines: list[str]) -> Iterator[str]:
    """Yield lines as Python; a magic that goes on in the next line leaves this one empty."""
    left = iter(lines)
    for line in left:
        whole, more = line, 0
        while whole.lstrip().startswith(("%", "!")) and whole.endswith("\\"):
            following = next(left, None)
            if following is None:
                break
            whole, more = f"{whole[:-1].rstrip()} {following.strip()}", more + 1
        yield _plain(whole)
        yield from [""] * more


def _plain(line: str) -> str:
    """Return a line of Python: a magic is a call, or its code; a question for help is left out."""
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    if stripped.startswith("%run "):
        return f"{indent}{RUN_NOTEBOOK}({stripped[5:].strip()!r})"
    if stripped.startswith("%sql "):
        return f"{indent}{SQL_OF_CELL}({stripped[5:]!r})"
    timed = _TIMED.match(stripped)
    if timed:
        return f"{indent}{stripped[timed.end() :]}"
    assigned = _ASSIGNED.fullmatch(stripped.rstrip())
    if assigned:
        target, magic, text = assigned.groups()
        call = f"__import__('subprocess').check_output({text!r}, shell=True).splitlines()"
        return f"{indent}{target} = {call if magic == '!' else f'{SQL_OF_CELL}({text!r})'}"
    if _HELP.fullmatch(stripped.rstrip()):
        # It may be the only line of a block.
        return f"{indent}pass  # {stripped}"
    return f"{indent}{LEFT_OUT}({stripped.rstrip()!r})" if stripped.startswith(("%", "!")) else line


def is_harmless(command: str) -> bool:
    """
    Return whether a magic or a shell command neither reads nor writes data.

    Args:
        command: the command as the notebook has it, with its first characters.
    """
    word = _word(command)
    text = command.lstrip("%").removeprefix(word).strip() if command.startswith("%") else command.lstrip("!")
    if command.startswith("!") or word in _SHELLS:
        lines = [each.strip() for each in text.split("\n")]
        calls = [each for each in lines if each and not each.startswith("#")]
        return all(each.split()[0] in _SHOWING_PROGRAMS and not _SHELL.search(each) for each in calls)
    return word in _HARMLESS or (word == "fs" and text.startswith(("ls", "head", "help", "mounts")))


def language_of_cell(command: str) -> str:
    """
    Return the language of a cell that has a Spark session but is not Python; empty if it has none.

    Args:
        command: the cell with its magic.
    """
    return _LANGUAGES.get(_word(command), "") if command.startswith("%") else ""


def _word(command: str) -> str:
    """Return the name of a magic."""
    return next(iter(command.lstrip("%").split()), "")


def commands_in(script: ast.Module) -> list[str]:
    """
    Return the magics and shell commands that a dry run of a notebook does not execute.

    Args:
        script: the script of the notebook.
    """
    calls = [each for each in ast.walk(script) if isinstance(each, ast.Call)]
    of_cells = [each for each in calls if isinstance(each.func, ast.Name) and each.func.id == LEFT_OUT]
    texts = [each.args[0].value for each in of_cells if isinstance(each.args[0], ast.Constant)]
    return [each for each in texts if isinstance(each, str)]


def _calls_of(lines: list[str]) -> Iterator[str]:
    """Yield calls for the statements of an SQL cell, each on the line on which it begins."""
    calls = [""] * len(lines)
    for each in statements_of("\n".join(lines), ""):
        at = each.line - 1
        calls[at] += f"{'; ' if calls[at] else ''}_sqldf = {SQL_OF_CELL}({each.text!r})"
    yield from calls
