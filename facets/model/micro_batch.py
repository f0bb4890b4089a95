"""Micro-batches of streaming queries as frozen values: the reads and the commits of each."""

from __future__ import annotations

import datetime

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier


@attrs.frozen
class BatchSource:
    """
    The read of a micro-batch from one source.

    Args:
        description: Spark's description of the source.
        dataset: the source's input; None if the source is not a dataset, or unknown.
        start: the offset before the batch, as JSON; None if there is none.
        end: the offset after it, likewise.
        version: the version of the dataset that was read last; None if the offset does not state it.
        rows: how many rows were read; None if it is unknown.
    """

    description: str
    dataset: Identifier | None = None
    start: str | None = None
    end: str | None = None
    version: str | None = None
    rows: int | None = None


@attrs.frozen
class BatchSink:
    """
    The commit of a micro-batch to one sink.

    Args:
        dataset: the sink's output; None if the sink is not a dataset, or unknown.
        description: Spark's description of the sink; only without a dataset.
        version: the version that was committed; None if the sink has none.
        parent: the version before it; None if it is unknown.
        rows: how many rows were written; None if it is unknown.
        change: the change of the dataset, such as OVERWRITE; None for an append.
    """

    dataset: Identifier | None = None
    description: str | None = None
    version: str | None = None
    parent: str | None = None
    rows: int | None = None
    change: str | None = None


@attrs.frozen
class MicroBatch:
    """
    A micro-batch that was committed.

    Args:
        id: its number.
        time: when its trigger began (timezone-aware).
        duration: how long the trigger took, in milliseconds; None if it is unknown.
        rows: how many rows it read; None if it is unknown.
        watermark: the watermark (timezone-aware); None if there is none.
        sources: its reads, in the order of the plan.
        sinks: its commits, in order.
    """

    id: int
    time: datetime.datetime
    duration: int | None = None
    rows: int | None = None
    watermark: datetime.datetime | None = None
    sources: tuple[BatchSource, ...] = ()
    sinks: tuple[BatchSink, ...] = ()


@attrs.frozen
class StreamingQuery:
    """
    The streaming query of a run, and its micro-batches since the previous event.

    Args:
        id: the query's id, which stays when it restarts from its checkpoint.
        run: Spark's id of its run.
        name: the name that the user gave it, if any.
        checkpoint: the URI of its checkpoint; None if it is unknown.
        continues: whether it continues from the checkpoint of an earlier run.
        batches: the micro-batches, in order.
    """

    id: str
    run: str
    name: str | None = None
    checkpoint: str | None = None
    continues: bool = False
    batches: tuple[MicroBatch, ...] = ()
