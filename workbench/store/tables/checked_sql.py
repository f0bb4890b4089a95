"""The text of statements: constants of the source, and parts that are checked before they are filled in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.store.tables import schema, stored

if TYPE_CHECKING:
    from collections.abc import Sequence

_TABLES = (*schema.TABLES, *schema.CATALOG_TABLES, *stored.MERGED)
_COLUMNS = frozenset((*(column.name for table in _TABLES for column in table.stored), *stored.own_columns()))
_NAMES = frozenset((*(table.name for table in _TABLES), *stored.own_names(), *_COLUMNS))
_WITH_ALIAS = re.compile(r"[a-z](?:\.(?P<column>[a-z_]+))?")


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
