"""Typed stand-ins for values that depend on data: one row, whose texts name the columns that they represent."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn, taken_apart
from openlineage_pyspark.workbench.dryrun.script.counts import plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_SOME_DAY = datetime.date(2000, 1, 1)
_SOME_TIME = datetime.datetime(2000, 1, 1)
_WHOLE = frozenset({"byte", "short", "integer", "long"})


class Pieces(list[Any]):
    """
    The parts of a text, or the items of an array, of which only data show how many there are.

    Args:
        items: the known ones.
        make: makes one more.
    """

    def __init__(self, items: Iterable[Any], make: Callable[[], Any]) -> None:
        super().__init__(items)
        self._make = make

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int) and not -len(self) <= at < len(self):
            return self._make()
        found = super().__getitem__(at)
        return Pieces(found, self._make) if isinstance(at, slice) else found

    def __iter__(self) -> Iterator[Any]:
        names = taken_apart(sys._getframe(1))
        return iter([self[at] for at in range(max(names, len(self)))])


class Entries(dict[Any, Any]):
    """
    The entries of a map, of which only data show the keys.

    Args:
        entries: one entry.
        make: makes the value of any other key.
    """

    def __init__(self, entries: Mapping[Any, Any], make: Callable[[], Any]) -> None:
        super().__init__(entries)
        self._make = make

    def __missing__(self, key: object) -> Any:
        return self._make()

    def get(self, key: object, _default: Any = None) -> Any:
        """Return the value of a key, which is assumed to exist."""
        return self[key]


class RowText(str):
    """A text that only data show: here it is the name of its column in braces. It can be read as anything."""

    def __int__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.0

    def split(self, *_: Any, **__: Any) -> Any:
        """Return parts, each of which is such a text again."""
        return Pieces([self], lambda: self)

    rsplit = splitlines = split

    def partition(self, separator: str) -> Any:
        """Return two parts, each of which is such a text again."""
        return self, separator, self

    rpartition = partition

    def strip(self, *_: Any) -> Any:
        """Return the same."""
        return self

    lstrip = rstrip = lower = upper = strip
    replace = removeprefix = removesuffix = strip

    def __getitem__(self, _: Any) -> Any:
        return self


class RandomId(uuid.UUID):
    """An id that differs in each real run; here it is always the same, and so are names that are made from it."""

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
    """Return a row of a script with plain values instead of stand-ins, whose types Spark does not know."""
    if isinstance(row, StandIn | RowText):
        return str(row)
    if isinstance(row, dict):
        return {plain_row(key): plain_row(value) for key, value in row.items()}
    if isinstance(row, tuple) and hasattr(row, "__fields__"):
        # A row of Spark.
        found = tuple.__new__(type(row), map(plain_row, row))
        vars(found).update(vars(row))
        return found
    if type(row) in (list, tuple, Pieces):
        return list(map(plain_row, row)) if isinstance(row, list) else tuple(map(plain_row, row))
    return plain_number(row)


def plain_values(frame: Any) -> Any:
    """Return a DataFrame of pandas with plain values instead of stand-ins; any other value as it is."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(frame, pandas.DataFrame):
        return frame
    return frame.apply(lambda column: column.map(plain_row) if column.dtype == object else column)


def value_of(data_type: Any, name: str, make_row: Callable[..., Any]) -> Any:
    """
    Return a value of a Spark type.

    Args:
        data_type: the type.
        name: the column; a text contains its name.
        make_row: returns a function that makes a row from values, for the names of its columns.
    """
    kind = str(data_type.typeName())
    if kind == "struct":
        return row_of(data_type, make_row)
    if kind == "array":
        item = value_of(data_type.elementType, name, make_row)
        return Pieces([item], lambda: item)
    if kind == "map":
        key, value = (value_of(each, name, make_row) for each in (data_type.keyType, data_type.valueType))
        return Entries({key: value}, lambda: value)
    if kind in _WHOLE:
        return 1
    simple: dict[str, Any] = {
        "double": 1.0, "float": 1.0, "boolean": True, "binary": b"", "void": None, "date": _SOME_DAY,
        "timestamp": _SOME_TIME, "timestamp_ntz": _SOME_TIME, "decimal": decimal.Decimal(1),
        "interval day to second": datetime.timedelta(1),
    }  # fmt: skip
    return simple.get(kind.partition("(")[0], RowText(f"{{{name}}}"))


def row_of(schema: Any, make_row: Callable[..., Any]) -> Any:
    """
    Return a row of a schema; its texts are the names of their columns, in braces.

    Args:
        schema: the schema.
        make_row: returns a function that makes a row from values, for the names of its columns.
    """
    values = [value_of(field.dataType, field.name, make_row) for field in schema.fields]
    return make_row(*[field.name for field in schema.fields])(*values)
