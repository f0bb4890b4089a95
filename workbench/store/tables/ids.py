"""Lists of ids in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, sql_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")
_MARK = CheckedSql("?")
MOST_IN_A_LIST = 500
"""How many ids are in one statement at most: SQLite's limits are far above."""


def id_list(ids: Iterable[int]) -> CheckedSql:
    """Return ids as one list for SQL, sorted and each one once."""
    return sql_list(sorted(set(ids)))


def id_lists(ids: Iterable[int]) -> Iterator[CheckedSql]:
    """Yield ids as lists for SQL, sorted and each one once, with at most MOST_IN_A_LIST in each."""
    for part in in_parts(sorted(set(ids))):
        yield sql_list(part)


def marks_for(values: Sequence[object]) -> CheckedSql:
    """Return the marks for parameters in SQL."""
    return sql_list([_MARK] * len(values))


def marked_lists(values: Iterable[T]) -> Iterator[tuple[CheckedSql, list[T]]]:
    """Yield values in their order and each one once, as lists of parameters, each with the marks for it in SQL."""
    for part in in_parts([*dict.fromkeys(values)]):
        yield marks_for(part), [*part]


def in_parts(values: Sequence[T], most: int = MOST_IN_A_LIST) -> Iterator[Sequence[T]]:
    """Yield values in parts, with at most `most` values in each."""
    for begin in range(0, len(values), most):
        yield values[begin : begin + most]
