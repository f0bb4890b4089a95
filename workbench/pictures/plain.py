"""Make untrusted text safe to show: names and expressions come from events, which anybody can send."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain(text: str) -> str:
    """Return a text on one line, with a blank for each character that a terminal acts on, such as a colour code."""
    return text if text.isprintable() else "".join(character if character.isprintable() else " " for character in text)


def csv_of(rows: Iterable[Sequence[object]]) -> str:
    """
    Return rows as CSV that a spreadsheet can open.

    A text that a spreadsheet would evaluate as a formula (https://owasp.org/www-community/attacks/CSV_Injection) gets a
    leading apostrophe, and a blank replaces each character that a terminal would act on; line breaks stay.
    """
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(_cells, rows))
    return stream.getvalue()


def _cells(row: Sequence[object]) -> list[object]:
    return [_cell(value) for value in row]


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = "\n".join(map(plain, value.split("\n")))
    return f"'{text}" if value.startswith(_FORMULA) else text


def first_of(names: Sequence[str], most: int = 5) -> str:
    """Return the first names on one line, and how many more there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
