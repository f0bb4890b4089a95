"""
Make the rows of what the runs of jobs repeat, by the versions of jobs.

Versions and descriptions have hashes as ids, which all executors compute alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.store.events.rows import DatasetMention, JobMention, version_digest
from openlineage_pyspark.workbench.store.tables import schema

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.ingest import Portion
    from openlineage_pyspark.workbench.store.events.rows import EventRows, Row, Rows, TimeSpan

_ID_BYTES = 8


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
