"""Lists of ids in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_IN_A_LIST = 500
"""How many ids stand in one statement: SQLite's limit of its length is far above."""


def id_lists(ids: Iterable[int]) -> Iterator[str]:
    """Yield ids as lists for SQL, sorted and each one once, with at most MOST_IN_A_LIST in each."""
    every = sorted(set(ids))
    for begin in range(0, len(every), MOST_IN_A_LIST):
        yield ",".join(map(str, every[begin : begin + MOST_IN_A_LIST]))
