"""The output of commands: tables and lines that fit a terminal, and are complete if the output goes elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_UNLIMITED = 1_000_000
_STYLES = {
    "COMPLETE": "green", "FAIL": "bold red", "ABORT": "yellow",
    "ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red",
}  # fmt: skip


@attrs.frozen
class Column:
    """
    One column of a table.

    Args:
        title: its header.
        share: the largest fraction of the width that it may take; 1 for what the others leave.
        right: whether it is right-aligned.
    """

    title: str
    share: float = 1.0
    right: bool = False


class Screen:
    """
    Standard output.

    In a terminal, or if the variable COLUMNS sets a width, a row is one line: long cells are cut in the middle, the
    last one at its end. Otherwise nothing is cut or coloured.
    """

    def __init__(self) -> None:
        limited = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
        self.console = Console(
            width=None if limited else _UNLIMITED, markup=False, highlight=False, emoji=False, soft_wrap=True
        )
        self._limited = limited

    def line(self, text: str = "") -> None:
        """Print a line as it is, without cutting it."""
        self.console.print(Text(printable(text)))

    def heading(self, text: str) -> None:
        """Print a heading for what follows."""
        self.console.print(Text(printable(text), style="bold"))

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], *, wrap: bool = False) -> None:
        """
        Print a table.

        Args:
            columns: its columns; the last one takes the remaining width.
            rows: a text for each column.
            wrap: whether the last column is wrapped, not cut, if it is too long.
        """
        headed = any(column.title for column in columns)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=headed)
        table.add_column("", width=0, no_wrap=True)
        for column in columns:
            # Only a column that may be wrapped is narrowed; the other texts are marked as not to be wrapped.
            is_last = column is columns[-1]
            table.add_column(column.title, justify="right" if column.right else "left", no_wrap=not is_last)
        for row in rows:
            table.add_row("", *(self._cell(text, column, wrap=wrap) for text, column in zip(row, columns, strict=True)))
        self._print(table)

    def _cell(self, text: str, column: Column, *, wrap: bool) -> Text:
        shown = printable(text)
        if self._limited and column.share < 1:
            shown = shorten(shown, int(self.console.width * column.share))
        style = _STYLES.get(text, "")
        if wrap and column.share == 1:
            return Text(shown, style=style, overflow="fold")
        return Text(shown, style=style, no_wrap=True, overflow="ellipsis")

    def _print(self, table: Table) -> None:
        if self.console.is_terminal:
            self.console.print(table, soft_wrap=False)
            return
        with self.console.capture() as captured:
            self.console.print(table, soft_wrap=False)
        for line in captured.get().splitlines():
            self.console.print(Text(line.rstrip()))


def printable(text: str) -> str:
    """Escape what a terminal would act on, such as a colour code or a line break in a name."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape", "surrogatepass").decode() for sign in text
    )


def shorten(text: str, width: int) -> str:
    """Cut a text to a width in characters, with dots in the middle: both ends of a name tell the most."""
    if len(text) <= width or width < 4:
        return text
    tail = (width - 3) // 2
    return f"{text[: width - 3 - tail]}...{text[-tail:]}"


def complain(text: str) -> None:
    """Print a line to standard error, prefixed with the program's name."""
    sys.stderr.write(f"openlineage-pyspark: {printable(text)}\n")
