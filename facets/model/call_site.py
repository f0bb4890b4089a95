"""A line of the user's Python: where a column was made, or where a statement was run."""

from __future__ import annotations

import posixpath
import re
import urllib.parse

import attrs

_LONGEST = 200
_IN_FILE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9})")
_IN_CELL = re.compile(r"line (?P<line>\d{1,9}) in cell \[(?P<cell>\d{1,9})\]")


@attrs.frozen
class CallSite:
    """
    A line of the user's Python.

    Args:
        file: the file, as Python names it; a cell of a notebook is `cell [3]`.
        line: the number of the line in it.
        function: the method of Spark that is called there, such as `saveAsTable`; empty if it is not known.
    """

    file: str
    line: int
    function: str = ""

    def relative(self, script: str | None) -> CallSite:
        """
        Return the line without the folder that the file lies in: folders tell about people and machines.

        Args:
            script: the URI of the user's script. A file in its folder, or below, is named from there; any other file
                keeps its name alone.
        """
        path, folder = posixpath.normpath(self.file.replace("\\", "/")), _folder(script)
        below = path.removeprefix(folder)
        short = below if folder and below != path else posixpath.basename(path)
        return attrs.evolve(self, file=short if len(short) <= _LONGEST else f"...{short[3 - _LONGEST :]}")

    def location(self, script: str | None) -> str | None:
        """
        Return the URI of the line.

        Args:
            script: the URI of the user's script.

        Returns:
            The script's URI with this line, if the file (as `relative` names it) is the script, or lies in its folder
            or below; None for any other.
        """
        folder = _folder(script)
        if script is None or not folder or self.file.startswith(("...", "cell [", "<")):
            return None
        name = posixpath.basename(urllib.parse.unquote(urllib.parse.urlsplit(script).path))
        if "/" not in self.file and self.file != name:
            return None
        return f"{posixpath.dirname(script)}/{urllib.parse.quote(self.file)}#L{self.line}"

    def __str__(self) -> str:
        """Return it in one word: `etl/load.py:12`."""
        return f"{self.file}:{self.line}"


def call_site(text: str) -> CallSite | None:
    """
    Return the line that PySpark names.

    Args:
        text: a stack, of which only the first line counts: `/home/me/etl.py:12`, `line 5 in cell [3]`, or, of an
            action, `collect at /home/me/etl.py:12`.

    Returns:
        None if it has another form.
    """
    first = text.partition("\n")[0]
    cell = _IN_CELL.fullmatch(first)
    if cell is not None:
        return CallSite(f"cell [{cell['cell']}]", int(cell["line"]))
    function, at, place = first.partition(" at ")
    is_action = bool(at) and function.isidentifier()
    found = _IN_FILE.fullmatch(place if is_action else first)
    return None if found is None else CallSite(found["file"], int(found["line"]), function if is_action else "")


def _folder(script: str | None) -> str:
    """Return the folder of a script with a slash at its end; empty if it is not known."""
    parts = urllib.parse.urlsplit(script) if script is not None else None
    if parts is None or parts.scheme != "file" or "/" not in parts.path:
        return ""
    return posixpath.dirname(urllib.parse.unquote(parts.path)).rstrip("/") + "/"
