"""The output of commands: tables and lines that fit a terminal, and are complete if the output goes elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.pictures.plain import cell_len, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openlineage_pyspark.workbench.pictures.outline import Tree
    from openlineage_pyspark.workbench.pictures.table import TableColumn

# The width where none is set, such as in a file or a pipe.
_WIDTH = 120
# The spaces between columns.
_GAP = 2
# The minimum widths of a column whose cells are wrapped, if its table is too wide, and of any if it is far too wide.
_LEAST_WRAPPED, _LEAST = 10, 4
# From so many spaces on, an indented line is code.
_INDENT_OF_CODE = 5
# The codes of a terminal (ECMA-48, "select graphic rendition").
_BOLD, _FAINT, _BOLD_RED, _GREEN, _YELLOW, _CYAN = "1", "2", "1;31", "32", "33", "36"
_ROLES: dict[str, str] = {"heading": _BOLD, "guide": _FAINT, "name": _BOLD, "mark": _YELLOW, "job": _CYAN}
_MARKS = {"+ ": _GREEN, "- ": _BOLD_RED, "~ ": _YELLOW}
_STYLES = {
    "COMPLETE": _GREEN, "FAIL": _BOLD_RED, "ABORT": _YELLOW, "no end": _YELLOW,
    "ok": _GREEN, "note": _CYAN, "warning": _YELLOW, "problem": _BOLD_RED,
}  # fmt: skip


class Screen:
    """
    Standard output.

    In a terminal, or if the variable COLUMNS sets a width, lines are wrapped between words, and tables are narrowed to
    the width, the last column first; a column without any text is left out if that is not enough. Elsewhere the cells
    of a wide table are wrapped between words, and nothing is cut or coloured: each name is whole on a line.
    """

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._limited = self.is_terminal or os.environ.get("COLUMNS", "").isdigit()
        self._width = shutil.get_terminal_size().columns if self._limited else _WIDTH
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        self._coloured = self.is_terminal and not plain

    def line(self, text: str = "", *, indent: int = 0) -> None:
        """
        Print a text.

        Args:
            text: the text.
            indent: the number of spaces before its first line; if it is wrapped, the others get two more.
        """
        self._write(text, "", indent)

    def lines(self, text: str) -> None:
        """
        Print lines; in a terminal, in the colours of additions, removals and changes.

        Code, which is indented, is not wrapped: whoever copies a command needs it on one line.
        """
        for line in text.splitlines():
            bare = printable(line).lstrip(" ")
            indent = len(line) - len(line.lstrip(" "))
            if indent >= _INDENT_OF_CODE:
                sys.stdout.write(f"{' ' * indent}{bare}\n")
            else:
                self._write(bare, _MARKS.get(line[:2], ""), indent)

    def heading(self, text: str) -> None:
        """Print a heading for what follows."""
        self._write(text, _BOLD, 0)

    def json(self, document: object) -> None:
        """Print a document as JSON, for programs."""
        sys.stdout.write(f"{json.dumps(document, indent=2)}\n")

    def table(self, columns: Sequence[TableColumn], rows: Iterable[Sequence[str]], *, indent: int = 2) -> None:
        """
        Print a table.

        Args:
            columns: its columns.
            rows: a text for each column.
            indent: the number of spaces before each line.
        """
        cells = [[printable(text) for text in row] for row in rows]
        columns, shown = self._needed(self._whole(columns, cells), cells, indent)
        titles = [column.title for column in columns]
        widths = self._widths(columns, [titles, *shown], indent)
        if any(titles):
            self._row(
                columns, [[_fitted(title, width)] for title, width in zip(titles, widths, strict=True)], widths, indent
            )
        for row in shown:
            styles = [_STYLES.get(text, "") for text in row]
            self._row(columns, [*map(_cell, row, columns, widths)], widths, indent, styles)

    def outline(self, outline: Tree, *, all_: bool = False) -> None:
        """
        Print a tree.

        Args:
            outline: the tree.
            all_: whether to print the hidden parts of a tree too.
        """
        for line in outline.lines(self._width, all_=all_, clean=printable):
            written = "".join(self._styled(text, _ROLES.get(role, "")) for text, role in line if text)
            sys.stdout.write(f"{written.rstrip()}\n")
        if outline.hint and not all_:
            self.line(outline.hint)

    def _whole(self, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> Sequence[TableColumn]:
        """Return the columns of a table whose cells are wrapped and not cut, if nothing limits the width."""
        if self._limited:
            return columns
        found = []
        for at, column in enumerate(columns):
            words = (cell_len(word) for row in rows for word in row[at].split(" "))
            found.append(attrs.evolve(column, wrap=True, least=max(column.least, *words)))
        return found

    def _row(
        self,
        columns: Sequence[TableColumn],
        cells: Sequence[Sequence[str]],
        widths: Sequence[int],
        indent: int,
        styles: Sequence[str] = (),
    ) -> None:
        """Print a row, each cell of which has one line or more."""
        for number in range(max(map(len, cells), default=0)):
            written = []
            for at, (column, cell, width) in enumerate(zip(columns, cells, widths, strict=True)):
                text = cell[number] if number < len(cell) else ""
                gap = " " * (width - cell_len(text))
                styled = self._styled(text, styles[at] if styles else _BOLD)
                written.append(gap + styled if column.right else styled + gap)
            sys.stdout.write(f"{' ' * indent}{(' ' * _GAP).join(written)}".rstrip() + "\n")

    def _needed(
        self, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], indent: int
    ) -> tuple[Sequence[TableColumn], Sequence[Sequence[str]]]:
        """Leave out the columns without any text, if the table would be too wide."""
        if not rows:
            return columns, rows
        widths = [max(cell_len(text) for text in each) for each in zip([c.title for c in columns], *rows, strict=True)]
        if sum(widths) <= self._free(columns, indent):
            return columns, rows
        kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
        return [columns[at] for at in kept], [[row[at] for at in kept] for row in rows]

    def _free(self, columns: Sequence[TableColumn], indent: int) -> int:
        """Return how many characters the cells of a row may have in total."""
        return self._width - indent - _GAP * (len(columns) - 1)

    def _widths(self, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], indent: int) -> list[int]:
        """Return the width of each column: that of its longest cell, or less if the table would be too wide."""
        widths = [max(cell_len(row[at]) for row in rows) for at in range(len(columns))]
        free = self._free(columns, indent)
        if sum(widths) > free:
            leasts = [
                min(max(column.least, cell_len(column.title)), width)
                for column, width in zip(columns, widths, strict=True)
            ]
            widths[-1] = max(leasts[-1], free - sum(widths[:-1]))
            _narrow(widths, leasts, free)
            if not self._limited:
                return widths
            # Wrap before anything is cut, and cut rather than go past the edge; a number is never cut.
            floors = [max(_LEAST_WRAPPED, cell_len(column.title)) if column.wrap else free for column in columns]
            _narrow(widths, [min(floor, width) for floor, width in zip(floors, widths, strict=True)], free)
            pairs = zip(columns, widths, strict=True)
            _narrow(widths, [width if column.right else min(_LEAST, width) for column, width in pairs], free)
        return widths

    def _write(self, text: str, style: str, indent: int) -> None:
        shown = printable(text)
        if self._limited and len(shown) + indent > self._width:
            parts = wrapped(shown, max(20, self._width - indent - 2))
        else:
            parts = [shown]
        for number, part in enumerate(parts):
            sys.stdout.write(f"{' ' * (indent + 2 * (number > 0))}{self._styled(part, style)}\n")

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if text and style and self._coloured else text


def _narrow(widths: list[int], leasts: Sequence[int], free: int) -> None:
    """Narrow the widest columns until all fit, but none below its minimum width."""
    for _ in range(sum(widths) - free):
        able = [at for at, width in enumerate(widths) if width > leasts[at]]
        if not able:
            return
        widths[max(able, key=lambda at: widths[at])] -= 1


def _cell(text: str, column: TableColumn, width: int) -> list[str]:
    """Return the lines of a cell, none wider than its column."""
    if column.wrap:
        return wrapped(text, width)
    return [_fitted(text if column.cut_end else shorten(text, width, start=column.cut_start), width)]


def _fitted(text: str, width: int) -> str:
    """Return a text that is cut at its end if it is too wide."""
    if cell_len(text) <= width:
        return text
    kept = text[: max(0, width - 1)]
    while cell_len(kept) >= width > 0:
        kept = kept[:-1]
    return f"{kept}…" if width > 0 else ""


def printable(text: str) -> str:
    """Escape the characters that a terminal would act on, such as a colour code or a line break in a name."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode() for each in text
    )


def shorten(text: str, width: int, *, start: bool = False) -> str:
    """Cut a text to a width in characters, with an ellipsis at its start or in the middle, so that its end stays."""
    if len(text) <= width or width < 3:
        return text
    tail = width - 1 if start else (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def complain(text: str) -> None:
    """Print a line to standard error, prefixed with the program's name."""
    sys.stderr.write(f"openlineage-pyspark: {printable(text)}\n")
