"""The facet with the micro-batches of a streaming query; its JSON Schema is in the folder `schemas`."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import attrs
from openlineage.client.facet_v2 import RunFacet
from openlineage_pyspark.facets.events.dataset import accepted_namespace
from openlineage_pyspark.facets.events.encode import PRODUCER, own_schema

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.facets.model.micro_batch import BatchSink, BatchSource, MicroBatch, StreamingQuery


PySparkMicroBatches = attrs.make_class(
    "PySparkMicroBatches",
    {
        "queryId": attrs.field(kw_only=True),
        "queryRunId": attrs.field(kw_only=True),
        "queryName": attrs.field(kw_only=True),
        "checkpoint": attrs.field(kw_only=True),
        "continues": attrs.field(kw_only=True),
        "batches": attrs.field(kw_only=True),
    },
    bases=(RunFacet,),
)


def micro_batches_facet(stream: StreamingQuery) -> RunFacet:
    """Return the facet of a streaming query and its micro-batches since the previous event."""
    facet = PySparkMicroBatches(
        queryId=stream.id,
        queryRunId=stream.run,
        queryName=stream.name,
        checkpoint=stream.checkpoint,
        continues=stream.continues,
        batches=[_batch(batch) for batch in stream.batches],
        producer=PRODUCER,
    )
    facet._schemaURL = own_schema("PySparkMicroBatchesRunFacet")
    return facet


def _batch(batch: MicroBatch) -> dict[str, object]:
    return _without_none(
        batchId=batch.id,
        time=_instant(batch.time),
        durationMs=batch.duration,
        rows=batch.rows,
        watermark=None if batch.watermark is None else _instant(batch.watermark),
        sources=[_source(source) for source in batch.sources],
        sinks=[_sink(sink) for sink in batch.sinks],
    )


def _source(source: BatchSource) -> dict[str, object]:
    offsets = {"from": source.start, "to": source.end}
    return {
        **_dataset(source.dataset),
        "description": source.description,
        **offsets,
        **_without_none(version=source.version, rows=source.rows),
    }


def _sink(sink: BatchSink) -> dict[str, object]:
    return {
        **_dataset(sink.dataset),
        **_without_none(
            description=sink.description,
            version=sink.version,
            parent=sink.parent,
            rows=sink.rows,
            change=sink.change,
        ),
    }


def _dataset(identifier: Identifier | None) -> dict[str, object]:
    if identifier is None:
        return {}
    return {"namespace": accepted_namespace(identifier.namespace), "name": identifier.name}


def _without_none(**members: object) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}


def _instant(time: dt.datetime) -> str:
    return time.astimezone(dt.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
