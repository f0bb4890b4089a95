"""
The replacements of Spark's readers and writers in the JVM.

PySpark's own classes are unchanged: they collect formats, options and paths, and pass them to an object of the JVM.
Here that is a Python object, which remembers its arguments. Only its last call has an effect: it requests the columns
at a place, or records what would be written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.script.places import DataPlace, data_place
from openlineage_pyspark.workbench.predict.sql.versions import without_version

if TYPE_CHECKING:
    from collections.abc import Callable

PARSED = "texts"
"""The format of rows that are parsed from texts in the script, and not from files."""
_NO_TEXT = re.compile(r"@[0-9a-f]{3,}| at 0x[0-9a-f]+")
"""The text of an object that does not describe itself."""
# Options by which a write replaces a part of its target.
_OF_PARTS = frozenset({"overwrite-mode", "partitionoverwritemode", "replacewhere", "replaceon", "replaceusing"})
_WHOLE = frozenset({"default", "error", "errorifexists", "overwrite"})
_SHORT = ("parquet", "csv", "json", "orc", "text", "xml", "avro")
# The formats of which `overwrite` replaces everything, and which give back each value as it was written: of CSV, for
# example, a reader gets other values if only the separator changes.
_REPLACED = frozenset({"parquet", "orc", "delta", "iceberg"})


def _plain(value: Any) -> Any:
    """Return the items of a sequence in Python, or of an array of the JVM; any other value as it is."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts of a sequence in Python or Scala, or the single text."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (list, tuple)):
        return tuple(map(str, value))
    return tuple(str(value.apply(at)) for at in range(value.size()))


class _Given:
    """Remembers a format and options; accepts and ignores any other setting."""

    def __init__(self, format_: str, folder: str) -> None:
        self.given_format = format_
        self.given: dict[str, str] = {}
        self._folder = folder
        self._settings: list[list[str]] = []

    def format(self, name: str) -> Any:
        """Remember a format."""
        self.given_format = name
        return self

    def option(self, key: str, value: Any) -> Any:
        """Remember an option."""
        if value is not None:
            self.given[str(key)] = str(value)
        return self

    def options(self, values: Any) -> Any:
        """Remember options: PySpark passes a Java map."""
        for key in values:
            self.option(str(key), values[key])
        return self

    def note(self, name: str, *given: Any) -> Any:
        """Remember a setting that decides about no name and no column."""
        self._settings.append([name, *map(str, map(_plain, given))])
        return self

    def manner(self, *ending: Any) -> str:
        """
        Return a hash of the format, the options and all settings; empty if some of them do not describe themselves.

        Args:
            ending: the last call and its arguments.
        """
        text = json.dumps([self.given_format, sorted(self.given.items()), self._settings, list(map(str, ending))])
        return "" if _NO_TEXT.search(text) else hashlib.sha256(text.encode()).hexdigest()

    def given_text(self, option: str) -> str:
        """Return the value of an option, whose name may be in any case; empty without one."""
        return {name.lower(): value for name, value in self.given.items()}.get(option.lower(), "")

    def is_on(self, option: str) -> bool:
        """Return whether an option is true."""
        return self.given_text(option).lower() == "true"

    def place(self, paths: tuple[str, ...], *, streamed: bool = False) -> DataPlace:
        """Return the place that paths name, with the given format and options."""
        return data_place(self.given_format, self.given, paths, self._folder, streamed=streamed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *given: self.note(name, *given)


class Reader(_Given):
    """
    A reader of batches or of streams.

    Args:
        format_: Spark's default format.
        folder: the folder in which the script runs.
        load_place: returns the DataFrame of a read: `load_place(place, schema, reader)`.
        load_table: returns a table by its name: `load_table(name, reader)`.
        streamed: whether it reads streams.
    """

    def __init__(
        self,
        format_: str,
        folder: str,
        load_place: Callable[[DataPlace, Any, Reader], Any],
        load_table: Callable[[str, Reader], Any],
        *,
        streamed: bool = False,
    ) -> None:
        super().__init__(format_, folder)
        self._load_place = load_place
        self._load_table = load_table
        self._streamed = streamed
        self._schema: Any = None
        self.strings: Any = None
        """The RDD or the Dataset of the JVM with the strings that are parsed; None if files are read."""

    def schema(self, schema: Any) -> Any:
        """Remember a schema: DDL, or an object of the JVM."""
        self._schema = schema
        return self

    def load(self, paths: Any = None) -> Any:
        """Return the DataFrame of the read."""
        found = texts_of(paths)
        if self.given_format.lower() == "delta":
            versions = list(map(without_version, found))
            found = tuple(path for path, _ in versions)
            for _, version in versions:
                if version:
                    self.note("version", version)
        place = self.place(found, streamed=self._streamed)
        if place.table is not None:
            return self._load_table(place.table, self)
        return self._load_place(place, self._schema, self)

    def table(self, name: str) -> Any:
        """Return a table."""
        return self._load_table(name, self)

    def changes(self, name: str) -> Any:
        """Return the changes of a table."""
        return self._load_table(name, self.option("readChangeFeed", value=True))

    def jdbc(self, url: str, table: str, *given: Any) -> Any:
        """Return a table over JDBC."""
        return self.note("jdbc", *given).format("jdbc").option("url", url).option("dbtable", table).load()

    def _rows(self, strings: Any) -> Any:
        """Return rows that are parsed from strings of an RDD or of a Dataset."""
        self.strings = strings
        return self._load_place(DataPlace(PARSED, {}), self._schema, self)

    def __getattr__(self, name: str) -> Any:
        if name in _SHORT:
            return lambda *given: self._rows(given[0]) if any(map(_is_rows, given)) else self.format(name).load(*given)
        return super().__getattr__(name)


def _is_rows(value: Any) -> bool:
    """Return whether a value is an RDD or a Dataset of the JVM, and not a path."""
    if isinstance(value, (str, list, tuple)) or not hasattr(value, "getClass"):
        return False
    return str(value.getClass().getName()).endswith(("RDD", "Dataset"))


class Writer(_Given):
    """
    A writer of batches or of streams.

    Args:
        format_: Spark's default format.
        folder: the folder in which the script runs.
        write_place: records a write to a place: `write_place(place, writer)`.
        write_table: records a write to a table: `write_table(name, writer, mode)`.
    """

    def __init__(
        self,
        format_: str,
        folder: str,
        write_place: Callable[[DataPlace, Writer], Any],
        write_table: Callable[[str, Writer, str], Any],
    ) -> None:
        super().__init__(format_, folder)
        self._write_place = write_place
        self._write_table = write_table
        self.partitions: tuple[str, ...] = ()
        self.saves = "error"
        self.query = ""
        """The name of the query of a stream."""
        self._ending: tuple[str, ...] = ()

    @property
    def manner_of_rows(self) -> str:
        """A hash of how the rows are written; empty if not all of that is known."""
        is_known = bool(self._ending) and self.saves != "ignore"
        return self.manner(self.saves, *self._ending) if is_known else ""

    @property
    def replaces(self) -> bool:
        """Whether a write replaces everything in its target by rows that readers get as they were written."""
        # From the names of folders, readers infer the types of partition columns; an empty text is NULL there.
        is_all = self._ending[:1] in (("save",), ("saveAsTable",)) and not self.partitions
        is_known = self.given_format.lower() in _REPLACED and _OF_PARTS.isdisjoint(map(str.lower, self.given))
        return is_all and is_known and self.saves in _WHOLE

    @property
    def _table_mode(self) -> str:
        return "append" if self.saves == "append" else "create"

    def mode(self, mode: str) -> Any:
        """Remember a mode."""
        self.saves = str(mode).lower()
        return self

    def partitionBy(self, columns: Any) -> Any:  # noqa: N802 (Spark's name)
        """Remember the partition columns."""
        self.partitions = texts_of(columns)
        return self.note("partitionBy", *self.partitions)

    def queryName(self, name: str) -> Any:  # noqa: N802 (Spark's name)
        """Remember the name of the query of a stream."""
        self.query = str(name)
        return self

    def save(self, path: Any = None) -> Any:
        """Record the write."""
        self._ending = self._ending or ("save",)
        place = self.place(texts_of(path))
        if place.table is not None:
            return self._write_table(place.table, self, self._table_mode)
        return self._write_place(place, self)

    def start(self, path: Any = None) -> Any:
        """Record the write of a stream."""
        self._ending = ("start",)
        return self.save(path)

    def insertInto(self, name: str, *given: Any) -> Any:  # noqa: N802 (Spark's name)
        """Record a write into the columns of a table by their positions."""
        self._ending = ("insertInto", *map(str, given))
        return self._write_table(name, self, "insert")

    def saveAsTable(self, name: str) -> Any:  # noqa: N802 (Spark's name)
        """Record a write to a table."""
        self._ending = ("saveAsTable",)
        return self._write_table(name, self, self._table_mode)

    def toTable(self, name: str) -> Any:  # noqa: N802 (Spark's name)
        """Record the write of a stream to a table."""
        self._ending = ("toTable",)
        self.saves = "append"
        return self._write_table(name, self, self._table_mode)

    def jdbc(self, url: str, table: str, *given: Any) -> Any:
        """Record a write over JDBC."""
        return self.note("jdbc", *given).format("jdbc").option("url", url).option("dbtable", table).save()

    def __getattr__(self, name: str) -> Any:
        if name in _SHORT:
            return lambda path=None: self.format(name).save(path)
        return super().__getattr__(name)


class TableWriter(_Given):
    """
    A `DataFrameWriterV2`, as `writeTo` returns it.

    Args:
        name: the table.
        format_: Spark's default format.
        folder: the folder in which the script runs.
        write_table: records a write to the table: `write_table(name, mode, manner)`, with `manner` as of `_Given`.
    """

    def __init__(self, name: str, format_: str, folder: str, write_table: Callable[[str, str, str], Any]) -> None:
        super().__init__(format_, folder)
        self._name = name
        self._write_table = write_table

    @property
    def replaces(self) -> bool:
        """Whether readers get the rows of a new table as they were written: in a partition, an empty text is NULL."""
        is_parted = any(name == "partitionedBy" for name, *_ in self._settings)
        return self.given_format.lower() in _REPLACED and not is_parted

    def using(self, provider: Any) -> Any:
        """Remember a format."""
        self.given_format = str(provider)
        return self.note("using", provider)

    def create(self) -> Any:
        """Record a new table."""
        return self._write_table(self._name, "create", self.manner("create"))

    def replace(self) -> Any:
        """Record a table that replaces another one."""
        return self._write_table(self._name, "create", self.manner("replace"))

    def createOrReplace(self) -> Any:  # noqa: N802 (Spark's name)
        """Record a table that may replace another one."""
        return self._write_table(self._name, "create", self.manner("createOrReplace"))

    def append(self) -> Any:
        """Record rows that are added."""
        return self._write_table(self._name, "append", self.manner("append"))

    def overwrite(self, *_: Any) -> Any:
        """Record rows that replace others."""
        # The text of a condition has neither the types of its literals nor the code of its functions.
        return self._write_table(self._name, "append", "")

    def overwritePartitions(self) -> Any:  # noqa: N802 (Spark's name)
        """Record partitions that replace others."""
        return self._write_table(self._name, "append", self.manner("overwritePartitions"))
