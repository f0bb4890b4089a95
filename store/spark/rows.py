"""What runs on Spark's executors: it makes rows of events. No PySpark is needed there for it, and no pandas."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from openlineage_pyspark.store.errors import StoreError
from openlineage_pyspark.store.events.ingest import rows_by_portion
from openlineage_pyspark.store.events.portions import EventLine
from openlineage_pyspark.store.tables import schema
from openlineage_pyspark.store.tables.schema import Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CodedRow: TypeAlias = "tuple[str, list[str | None], list[int | None]]"

_PLACES = {
    table.name: tuple(
        [place for place, column in enumerate(table.stored) if column.type is type_]
        for type_ in (Type.TEXT, Type.INTEGER)
    )
    for table in schema.TABLES
}
_SHIPPED = ("attr", "attrs")


def coded_rows(lines: Iterable[Sequence[str | None]]) -> Iterator[CodedRow]:
    """
    Yield the rows that lines make, as values that Spark takes.

    Args:
        lines: the text of each line, and where it stands.

    Yields:
        The name of the table, the row's texts, and its numbers, both in the order of `StoredTable.stored`.
    """
    found = (EventLine(source or "", text) for text, source in lines if text is not None)
    for rows in rows_by_portion(found):
        for table, listed in rows.items():
            texts, numbers = _PLACES[table]
            for row in listed:
                # The types of the places are those of the columns.
                yield table, [row[place] for place in texts], [row[place] for place in numbers]  # type: ignore[misc]


def write_package(path: Path) -> None:
    """
    Write a zip of the modules that executors need: the store, and attrs.

    Args:
        path: the file.

    Raises:
        StoreError: the modules are not found as files.
    """
    root = Path(__file__).parents[2]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (root / "__init__.py", *sorted((root / "store").rglob("*.py"))):
            archive.write(file, f"openlineage_pyspark/{file.relative_to(root).as_posix()}")
        for name in _SHIPPED:
            found = importlib.util.find_spec(name)
            if found is None or found.origin is None:
                raise StoreError(f"the package {name} is not found, which executors need")
            folder = Path(found.origin).parent
            for file in sorted(folder.glob("*.py")):
                archive.write(file, f"{name}/{file.name}")
