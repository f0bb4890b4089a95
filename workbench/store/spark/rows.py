"""Make rows of events on Spark's executors. Neither PySpark nor pandas is needed there for it."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.store.events.ingest import EventLine, portions
from openlineage_pyspark.workbench.store.events.rows import DatasetMention, JobMention, version_digest
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store.tables.schema import Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.workbench.store.events.ingest import Portion
    from openlineage_pyspark.workbench.store.events.rows import EventRows, Row, Rows, TimeSpan

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
_ID_BYTES = 8

# Make the rows of what the runs of jobs repeat, by the versions of jobs.
# Versions and descriptions have hashes as ids, which all executors compute alike.


def version_rows(portion: Portion) -> Rows:
    """Return the rows of `schema.OF_VERSIONS`, by table. Two of them may have one key."""
    return {name: rows for name, rows in (_of_events(portion) | _of_mentions(portion)).items() if rows}


def _of_events(portion: Portion) -> Rows:
    """Return the rows of the versions that events state."""
    # Events with the same mentions share one value, which lives as long as they do.
    known: dict[tuple[object, ...], int] = {}
    times: dict[tuple[str, int, int | None], tuple[int, int]] = {}
    gaps: list[Row] = []
    parts: list[Row] = []
    for event in portion.events:
        key = (event.producer, event.gaps, id(event.mentions))
        version = known.get(key)
        if version is None:
            version = known[key] = _id(version_digest(event))
            gaps += [(version, number, *gap) for number, gap in enumerate(event.gaps)]
            parts += [(version, _id(each.digest)) for each in event.mentions if isinstance(each, DatasetMention)]
        stated = (event.span.first_run, version, _job_of(event))
        time = event.span.first_time
        first, last = times.get(stated, (time, time))
        times[stated] = min(first, time), max(last, time)
    runs: list[Row] = [(*stated, *span) for stated, span in times.items()]
    return {schema.RUN_VERSION.name: runs, schema.GAP.name: gaps, schema.VERSION_DESCRIPTION.name: parts}


def _of_mentions(portion: Portion) -> Rows:
    """Return the rows of the descriptions of datasets."""
    datasets: list[Row] = []
    edges: list[Row] = []
    for mention, span in portion.mentions.items():
        if isinstance(mention, DatasetMention):
            datasets += _datasets(mention, span)
            description = _id(mention.digest)
            edges += [(description, number, *edge[1:4], *edge[5:]) for number, edge in enumerate(mention.lines.edges)]
    return {schema.DESCRIBED_DATASET.name: datasets, schema.DESCRIBED_EDGE.name: edges}


def _datasets(mention: DatasetMention, span: TimeSpan) -> list[Row]:
    description, lines = _id(mention.digest), mention.lines
    when = (span.first_time, span.first_run, span.last_time, span.last_run)
    read: list[Row] = [(description, name_id, 0, mention.job_id, "", 0, *when) for name_id in lines.read]
    how = (lines.change, int(lines.states_sources))
    return read + [(description, name_id, 1, mention.job_id, *how, *when) for name_id in lines.written]


def _job_of(event: EventRows) -> int | None:
    return next((each.job_id for each in event.mentions if isinstance(each, JobMention)), None)


def _id(digest: bytes) -> int:
    """Return 63 bits of a digest, which fit into Spark's BIGINT."""
    return int.from_bytes(digest[:_ID_BYTES], "big") >> 1


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
