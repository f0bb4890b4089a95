"""The text of statements: constants of the source, and parts that are checked before they are filled in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from openlineage_pyspark.workbench.store.tables import schema, stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_TABLES = (*schema.TABLES, *schema.CATALOG_TABLES, *stored.MERGED)
_COLUMNS = frozenset((*(column.name for table in _TABLES for column in table.stored), *stored.own_columns()))
_NAMES = frozenset((*(table.name for table in _TABLES), *stored.own_names(), *_COLUMNS))
_WITH_ALIAS = re.compile(r"[a-z](?:\.(?P<column>[a-z_]+))?")
T = TypeVar("T")
MOST_IN_A_LIST = 500
"""How many ids are in one statement at most: SQLite's limits are far above."""


class CheckedSql(str):
    """
    SQL that nobody outside can have written: a constant of the source, or the result of `checked_sql`.

    Whatever is computed from it by the methods of `str` is a plain `str` again, which is no part of a statement.
    """

    __slots__ = ()


ANY = CheckedSql("1 = 1")
"""The condition that all rows meet."""
_SAFE = {CheckedSql, int}


def checked_sql(constant: str, /, **parts: str | int) -> CheckedSql:
    """
    Return a statement, or a part of one.

    Args:
        constant: its text, with the names of its parts in braces.
        parts: the parts: SQL that was made here, numbers, aliases of one letter, and names of the store's tables and
            columns.

    Raises:
        ValueError: a part is anything else, so it may have come from outside.
    """
    for part in parts.values():
        if type(part) not in _SAFE:
            _refuse_unknown(part)
    return CheckedSql(constant.format_map(parts))


def quoted(name: str) -> CheckedSql:
    """Return any name as an identifier."""
    return CheckedSql('"' + name.replace('"', '""') + '"')


def sql_list(parts: Sequence[str | int], between: str = ", ") -> CheckedSql:
    """
    Return parts, one after the other.

    Args:
        parts: as for `checked_sql`.
        between: the constant between two of them.

    Raises:
        ValueError: as `checked_sql`.
    """
    # There may be hundreds of numbers: their classes are compared at once.
    if not set(map(type, parts)) <= _SAFE:
        for part in parts:
            _refuse_unknown(part)
    return CheckedSql(between.join(map(str, parts)))


def _refuse_unknown(part: str | int) -> None:
    if type(part) in _SAFE or part in _NAMES:
        return
    found = _WITH_ALIAS.fullmatch(str(part))
    if found is None or not (found["column"] is None or found["column"] in _COLUMNS):
        raise ValueError(f"neither SQL of this package nor a name of the store: {part!r}")


# Lists of ids in SQL.


def id_list(ids: Iterable[int]) -> CheckedSql:
    """Return ids as one list for SQL, sorted and each one once."""
    return sql_list(sorted(set(ids)))


def id_lists(ids: Iterable[int]) -> Iterator[CheckedSql]:
    """Yield ids as lists for SQL, sorted and each one once, with at most MOST_IN_A_LIST in each."""
    for part in in_parts(sorted(set(ids))):
        yield sql_list(part)


def marks_for(values: Sequence[object]) -> CheckedSql:
    """Return the marks for parameters in SQL."""
    return sql_list([CheckedSql("?")] * len(values))


def marked_lists(values: Iterable[T]) -> Iterator[tuple[CheckedSql, list[T]]]:
    """Yield values in their order and each one once, as lists of parameters, each with the marks for it in SQL."""
    for part in in_parts([*dict.fromkeys(values)]):
        yield marks_for(part), [*part]


def in_parts(values: Sequence[T], most: int = MOST_IN_A_LIST) -> Iterator[Sequence[T]]:
    """Yield values in parts, with at most `most` values in each."""
    for begin in range(0, len(values), most):
        yield values[begin : begin + most]
