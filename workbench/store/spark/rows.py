"""Make rows of events on Spark's executors. Neither PySpark nor pandas is needed there for it."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.store.events.ingest import EventLine, portions
from openlineage_pyspark.workbench.store.spark.versions import version_rows
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store.tables.schema import Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CodedRows: TypeAlias = "tuple[str, int, list[tuple[str | None, ...]], list[tuple[int | None, ...]]]"

# To pass rows to Spark one by one takes longer than to make them. Those of events have a few thousand characters.
_AT_ONCE = 200

_PLACES = {
    table.name: tuple(
        [place for place, column in enumerate(table.stored) if column.type is type_]
        for type_ in (Type.TEXT, Type.INTEGER)
    )
    for table in schema.CATALOG_TABLES
}
_SHIPPED = ("attr", "attrs")


def coded_rows(lines: Iterable[Sequence[str | None]]) -> Iterator[CodedRows]:
    """
    Yield the rows that lines make, many at once, as values that Spark accepts.

    Args:
        lines: the text of each line, and its place.

    Yields:
        The name of the table, how many rows there are, and their values: the columns of texts, and those of numbers,
        both in the order of `StoredTable.stored`.
    """
    found = (EventLine(source or "", text) for text, source in lines if text is not None)
    with without_cycle_collection():
        for portion in portions(found):
            for table, listed in (portion.all_rows() | version_rows(portion)).items():
                texts, numbers = _PLACES[table]
                for begin in range(0, len(listed), _AT_ONCE):
                    part = listed[begin : begin + _AT_ONCE]
                    columns = list(zip(*part, strict=True))
                    # The types of the places are those of the columns.
                    yield table, len(part), [columns[place] for place in texts], [columns[place] for place in numbers]


def write_package(path: Path) -> None:
    """
    Write a zip of the modules that executors need: the reader of events, the store, and attrs.

    Raises:
        StoreError: the modules are not found as files.
    """
    root = Path(__file__).parents[3]
    here = root / "workbench"
    rooms = (file for room in ("model", "events", "store") for file in sorted((here / room).rglob("*.py")))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (root / "__init__.py", root / "errors.py", here / "__init__.py", here / "cycles.py", *rooms):
            archive.write(file, f"openlineage_pyspark/{file.relative_to(root).as_posix()}")
        for name in _SHIPPED:
            found = importlib.util.find_spec(name)
            if found is None or found.origin is None:
                raise StoreError(f"executors need the package {name}, which was not found")
            folder = Path(found.origin).parent
            for file in sorted(folder.glob("*.py")):
                archive.write(file, f"{name}/{file.name}")
