"""A table for people: its columns and rows, and its text in full width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.pictures.plain import cell_len, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_INDENT, _GAP = 2, 2


@attrs.frozen
class TableColumn:
    """
    One column of a table.

    Args:
        title: its header.
        least: its minimum width in a terminal, in characters.
        right: whether it is right-aligned.
        wrap: whether a long cell continues on the next line; otherwise it is cut.
        cut_end: whether it is cut at its end, not in the middle.
        cut_start: whether it is cut at its start, because the end of a dataset's name is the most useful part.
    """

    title: str
    least: int = 8
    right: bool = False
    wrap: bool = False
    cut_end: bool = False
    cut_start: bool = False


@attrs.frozen
class TextTable:
    """
    A table.

    Args:
        columns: its columns.
        rows: its rows: a text for each column.
        without_rows: the sentence to show if it has no rows.
    """

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]
    without_rows: str = "nothing found"

    def to_text(self) -> str:
        """Return the table as text, in which nothing is cut."""
        if not self.rows:
            return f"{plain(self.without_rows)}\n"
        lines = [[column.title for column in self.columns], *([plain(cell) for cell in row] for row in self.rows)]
        widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
        return "".join(f"{_line(line, self.columns, widths)}\n" for line in lines)

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        if not self.rows:
            return f"{plain(self.without_rows)}\n"
        lines = ["| " + " | ".join(column.title or " " for column in self.columns) + " |"]
        lines.append("|" + "|".join("---:" if column.right else "---" for column in self.columns) + "|")
        lines += ["| " + " | ".join(code_of(cell) for cell in row) + " |" for row in self.rows]
        return "".join(f"{line}\n" for line in lines)


def _line(cells: Sequence[str], columns: Sequence[TableColumn], widths: Iterable[int]) -> str:
    padded = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        gap = " " * (width - cell_len(cell))
        padded.append(gap + cell if column.right else cell + gap)
    return f"{' ' * _INDENT}{(' ' * _GAP).join(padded)}".rstrip()


def code_of(text: str) -> str:
    """Return a text as code in a cell of a Markdown table."""
    # Another backslash before the one that escapes a bar would cancel the escape.
    shown = plain(text).replace("\\|", "\\ |")
    if not shown.strip():
        return ""
    fence = "`" * (1 + shown.count("`"))
    padding = " " if "`" in shown else ""
    return f"{fence}{padding}{shown}{padding}{fence}".replace("|", "\\|")
