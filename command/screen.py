"""The output of commands: tables and lines that fit a terminal, and are complete if the output goes elsewhere."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Literal

import attrs
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_UNLIMITED = 1_000_000
# The spaces between columns.
_GAP = 2
# The width of a column at the least, if its table is far too wide.
_LEAST = 4
_STYLES = {
    "COMPLETE": "green", "FAIL": "bold red", "ABORT": "yellow", "no end": "yellow",
    "ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red",
}  # fmt: skip


@attrs.frozen
class TableColumn:
    """
    One column of a table.

    Args:
        title: its header.
        least: the width in characters below which it is not narrowed in a terminal.
        right: whether it is right-aligned.
        wrap: whether a long cell goes on in the next line; otherwise it is cut.
        cut_end: whether it is cut at its end, not in the middle.
        cut_start: whether it is cut at its start: the end of a dataset's name tells the most, and can be asked for.
    """

    title: str
    least: int = 8
    right: bool = False
    wrap: bool = False
    cut_end: bool = False
    cut_start: bool = False


class Screen:
    """
    Standard output.

    In a terminal, or if the variable COLUMNS sets a width, lines are wrapped between words, and tables are narrowed to
    the width, the last column first; a column without any text is left out if that is not enough. Otherwise nothing is
    cut, wrapped or coloured.
    """

    def __init__(self) -> None:
        self._limited = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
        self.console = Console(
            width=None if self._limited else _UNLIMITED, markup=False, highlight=False, emoji=False, soft_wrap=True
        )

    def line(self, text: str = "", *, indent: int = 0) -> None:
        """
        Print a text.

        Args:
            text: the text.
            indent: the number of spaces before its first line; if it is wrapped, the others get two more.
        """
        self._write(text, "", indent)

    def heading(self, text: str) -> None:
        """Print a heading for what follows."""
        self._write(text, "bold", 0)

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
        columns, shown = self._needed(columns, cells, indent)
        headed = any(column.title for column in columns)
        widths = self._widths(columns, [[column.title for column in columns], *shown], indent)
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", show_header=headed)
        table.add_column("", width=indent - _GAP, no_wrap=True)
        for column, width in zip(columns, widths, strict=True):
            justify: Literal["left", "right"] = "right" if column.right else "left"
            table.add_column(column.title, justify=justify, no_wrap=not column.wrap, width=width)
        for row in shown:
            table.add_row("", *map(_cell, row, columns, widths))
        self._print(table)

    def _needed(
        self, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], indent: int
    ) -> tuple[Sequence[TableColumn], Sequence[Sequence[str]]]:
        """Leave out the columns that hold no text, if the table would be too wide."""
        if not self._limited or not rows:
            return columns, rows
        widths = [max(cell_len(text) for text in each) for each in zip([c.title for c in columns], *rows, strict=True)]
        if sum(widths) <= self._free(columns, indent):
            return columns, rows
        kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
        return [columns[at] for at in kept], [[row[at] for at in kept] for row in rows]

    def _free(self, columns: Sequence[TableColumn], indent: int) -> int:
        """Return how many characters the cells of a row may have in all."""
        return self.console.width - indent - _GAP * (len(columns) - 1)

    def _widths(self, columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], indent: int) -> list[int]:
        """Return the width of each column: that of its longest cell, or less if the table would be too wide."""
        widths = [max(cell_len(row[at]) for row in rows) for at in range(len(columns))]
        free = self._free(columns, indent)
        if self._limited and sum(widths) > free:
            leasts = [min(column.least, width) for column, width in zip(columns, widths, strict=True)]
            widths[-1] = max(leasts[-1], free - sum(widths[:-1]))
            _narrow(widths, leasts, free)
            # Cut below that rather than past the edge; a number is never cut.
            pairs = zip(columns, widths, strict=True)
            _narrow(widths, [width if column.right else min(_LEAST, width) for column, width in pairs], free)
        return widths

    def _write(self, text: str, style: str, indent: int) -> None:
        shown = printable(text)
        if self._limited and len(shown) + indent > self.console.width:
            parts = wrapped(shown, max(20, self.console.width - indent - 2))
        else:
            parts = [shown]
        for number, part in enumerate(parts):
            self.console.print(Text(" " * (indent + 2 * (number > 0)) + part, style=style))

    def _print(self, table: Table) -> None:
        if self.console.is_terminal:
            self.console.print(table, soft_wrap=False)
            return
        with self.console.capture() as captured:
            self.console.print(table, soft_wrap=False)
        for line in captured.get().splitlines():
            self.console.print(Text(line.rstrip()))


def _narrow(widths: list[int], leasts: Sequence[int], free: int) -> None:
    """Narrow the widest columns until all fit, none below its least width."""
    for _ in range(sum(widths) - free):
        able = [at for at, width in enumerate(widths) if width > leasts[at]]
        if not able:
            return
        widths[max(able, key=lambda at: widths[at])] -= 1


def _cell(text: str, column: TableColumn, width: int) -> Text:
    style = _STYLES.get(text, "")
    if column.wrap:
        return Text("\n".join(wrapped(text, width)), style=style, overflow="fold")
    fitting = text if column.cut_end else shorten(text, width, start=column.cut_start)
    return Text(fitting, style=style, no_wrap=True, overflow="ellipsis")


def printable(text: str) -> str:
    """Escape what a terminal would act on, such as a colour code or a line break in a name."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape", "surrogatepass").decode() for sign in text
    )


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines: broken between words, and in a word that is too long after a character such as `/`."""
    lines = [""]
    for word in text.split(" "):
        for place, piece in enumerate([word] if cell_len(word) <= width else _pieces(word, width)):
            longer = f"{lines[-1]} {piece}" if lines[-1] and not place else f"{lines[-1]}{piece}"
            if cell_len(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    return lines


def _pieces(word: str, width: int) -> list[str]:
    parts = re.findall(r"[^/.,_=&?-]*[/.,_=&?-]+|[^/.,_=&?-]+", word)
    return [part[at : at + width] for part in parts for at in range(0, len(part), width)]


def shorten(text: str, width: int, *, start: bool = False) -> str:
    """Cut a text to a width in characters, with an ellipsis at its start or in the middle, so that its end stays."""
    if len(text) <= width or width < 3:
        return text
    tail = width - 1 if start else (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 event` or `1,095 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def complain(text: str) -> None:
    """Print a line to standard error, prefixed with the program's name."""
    sys.stderr.write(f"openlineage-pyspark: {printable(text)}\n")
