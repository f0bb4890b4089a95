"""Rows as text: a table, CSV, Markdown, and times as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.pictures.plain import csv_of
from openlineage_pyspark.workbench.pictures.table import TableColumn

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from openlineage_pyspark.workbench.answer import Answer, Writer
    from openlineage_pyspark.workbench.pictures.table import TextTable

_TIME_WIDTH = 19


def row_writers(table: Callable[[Answer[Any]], TextTable]) -> dict[str, Writer]:
    """
    Return the formats of an answer of rows -> what writes it.

    Args:
        table: makes the table for people.
    """
    return {"text": table, "csv": csv_of_rows, "markdown": lambda answer: table(answer).to_markdown()}


def csv_of_rows(answer: Answer[Any]) -> str:
    """Return the table of an answer as CSV with a header, with all that the rows hold."""
    columns, rows = answer.table()
    return csv_of([columns, *rows])


def time_column(title: str) -> TableColumn:
    """Return a column of times; in a narrow terminal, the time of day is below the date."""
    return TableColumn(title, _TIME_WIDTH, wrap=True)


def shown_time(time: datetime | None) -> str:
    """Return a time as tables have it; empty for None."""
    return "" if time is None else time.strftime("%Y-%m-%d %H:%M:%S")
