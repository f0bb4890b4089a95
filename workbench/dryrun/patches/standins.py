"""Typed stand-ins for values that depend on data: one row, whose texts name the columns that they represent."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn
from openlineage_pyspark.workbench.dryrun.script.counts import Count, Share

if TYPE_CHECKING:
    from collections.abc import Callable

_SOME_DAY = datetime.date(2000, 1, 1)
_SOME_TIME = datetime.datetime(2000, 1, 1)
_WHOLE = frozenset({"byte", "short", "integer", "long"})


class RandomId(uuid.UUID):
    """An id that differs in each real run; here it is always the same, and so are the names that are made from it."""

    def __str__(self) -> str:
        return "{uuid}"

    @property
    def hex(self) -> str:
        """Return the id without hyphens."""
        return str(self)


def install_random_ids(is_users: Callable[[str], bool]) -> None:
    """
    Make Python return such ids to the user's code, for the rest of the process.

    Args:
        is_users: returns whether a file is one of the user's.
    """
    real = uuid.uuid1, uuid.uuid4

    def giving(of: Callable[..., uuid.UUID]) -> Callable[..., uuid.UUID]:
        def give(*given: Any, **named: Any) -> uuid.UUID:
            return RandomId(int=0) if is_users(sys._getframe(1).f_code.co_filename) else of(*given, **named)

        return give

    uuid.uuid1, uuid.uuid4 = map(giving, real)


def plain_row(row: Any) -> Any:
    """Return a row of a script with plain values instead of stand-ins: Spark does not know their types."""
    if isinstance(row, Count):
        return int(row)
    if isinstance(row, Share):
        return float(row)
    if isinstance(row, StandIn):
        return str(row)
    if isinstance(row, dict):
        return {key: plain_row(value) for key, value in row.items()}
    if type(row) in (list, tuple):
        return type(row)(map(plain_row, row))
    return row


def value_of(data_type: Any, name: str, make_row: Callable[..., Any]) -> Any:
    """
    Return a value of a Spark type.

    Args:
        data_type: the type.
        name: the column; a text contains its name.
        make_row: makes a row from named values.
    """
    kind = str(data_type.typeName())
    if kind == "struct":
        return row_of(data_type, make_row)
    if kind == "array":
        return [value_of(data_type.elementType, name, make_row)]
    if kind == "map":
        key = value_of(data_type.keyType, name, make_row)
        return {key: value_of(data_type.valueType, name, make_row)}
    if kind in _WHOLE:
        return 1
    simple: dict[str, Any] = {
        "double": 1.0, "float": 1.0, "boolean": True, "binary": b"", "void": None, "date": _SOME_DAY,
        "timestamp": _SOME_TIME, "timestamp_ntz": _SOME_TIME, "decimal": decimal.Decimal(1),
        "interval day to second": datetime.timedelta(1),
    }  # fmt: skip
    return simple.get(kind.partition("(")[0], f"{{{name}}}")


def row_of(schema: Any, make_row: Callable[..., Any]) -> Any:
    """Return a row of a schema; its texts are the names of their columns."""
    values = [value_of(field.dataType, field.name, make_row) for field in schema.fields]
    return make_row(*[field.name for field in schema.fields])(*values)
