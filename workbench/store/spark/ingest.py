"""Take events into a store in Spark's tables: from files of any Hadoop path and from Kafka, once or as a stream."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.events.ingest import Ingested
from openlineage_pyspark.workbench.store.spark.session import named_failure, package_of_kafka, package_of_s3
from openlineage_pyspark.workbench.store.spark.sql import table_identifier
from openlineage_pyspark.workbench.store.tables.schema import EVENT

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.spark.tables import SparkTables
    from pyspark.sql import DataFrame, SparkSession

_KAFKA = re.compile(r"kafka://(?P<servers>[^/]+)/(?P<topic>[^/]+)")
_STORE = "store:"
_EVENT_FILES = "*.{ndjson,jsonl,json,ndjson.gz,jsonl.gz,json.gz}"
_EVENT_FILE = re.compile(r"\.(ndjson|jsonl|json)(\.gz)?$", re.IGNORECASE)
_NO_KAFKA = "If Spark lacks the source of Kafka, --packages {} brings it."
_NO_S3 = "If Spark lacks Hadoop's client of S3, --packages {} brings it."
_CHECKPOINT_KEY = "spark.sql.streaming.checkpointLocation"


@attrs.frozen
class EventOrigin:
    """
    Where events come from.

    Args:
        address: a file or a folder, with or without a scheme; `kafka://HOST:PORT,.../TOPIC`; or `store:` and the
            schema of another store in Spark's tables, of any version.
        options: further options of Spark's source, such as `kafka.security.protocol`.
    """

    address: str
    options: Mapping[str, str] = attrs.Factory(dict)

    @property
    def kafka(self) -> tuple[str, str] | None:
        """Return the brokers and the topic; None for files."""
        found = _KAFKA.fullmatch(self.address)
        return (found["servers"], found["topic"]) if found else None

    @property
    def store(self) -> str:
        """Return the schema of the store that has the events; empty for files and Kafka."""
        return self.address[len(_STORE) :] if self.address.startswith(_STORE) else ""


def take_once(tables: SparkTables, origin: EventOrigin) -> Ingested:
    """
    Take all events of an origin into a store.

    Returns:
        How many were taken.

    Raises:
        StoreError: they can't be read, or the store can't be written.
    """
    with named_failure(f"{origin.address} can't be read"):
        lines = _lines(tables.session, origin)
        if not origin.kafka and not origin.store and not lines.inputFiles():
            raise StoreError(f"{origin.address} holds no event files (*.ndjson, *.jsonl or *.json, also with .gz)")
    return tables.take(lines)


def take_stream(
    tables: SparkTables,
    origin: EventOrigin,
    *,
    checkpoint: str = "",
    every: str = "",
) -> Ingested:
    """
    Take the new events since the last time into a store, by a streaming query.

    A batch that was interrupted is taken again, which changes no stored row: each event counts exactly once.

    Args:
        tables: the store.
        origin: the source of events. Files must be whole when they appear: lines appended later are not seen.
        checkpoint: the folder in which Spark keeps its progress; by default the one that the session's configuration
            names.
        every: how long to wait between batches, such as `1 minute`; empty to end when there is nothing new.

    Returns:
        How many were taken.

    Raises:
        StoreError: there is no checkpoint; or as in `take_once`.
    """
    session = tables.session
    if origin.store:
        raise StoreError(f"{origin.address} can't be streamed: take it without a stream")
    if not checkpoint and not session.conf.get(_CHECKPOINT_KEY, None):
        raise StoreError(f"a stream needs a folder for its checkpoint: --checkpoint DIR, or --conf {_CHECKPOINT_KEY}")
    taken = Ingested()

    def take(lines: DataFrame, _: int) -> None:
        part = tables.take(lines)
        taken.events += part.events
        taken.rejected += part.rejected
        taken.reasons = [*taken.reasons, *part.reasons][:10]

    with named_failure(f"the stream from {origin.address} ended"):
        writer = _lines(session, origin, is_stream=True).writeStream.foreachBatch(take).queryName(_query_name(tables))
        if checkpoint:
            writer = writer.option("checkpointLocation", checkpoint)
        trigger: dict[str, Any] = {"processingTime": every} if every else {"availableNow": True}
        query = writer.trigger(**trigger).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
    return taken


def _query_name(tables: SparkTables) -> str:
    # If the configuration names the folder for checkpoints, Spark calls the query's own folder in it by this name.
    return f"openlineage ingest {tables.schema_name}".replace(" ", "_").replace(".", "_")


def _lines(session: SparkSession, origin: EventOrigin, *, is_stream: bool = False) -> DataFrame:
    """Return the lines of an origin: their texts, and the place of each."""
    reader: Any = session.readStream if is_stream else session.read
    cannot = f"{origin.address} can't be read"
    if origin.store:
        # A store of any version has these two columns.
        events: DataFrame = reader.table(table_identifier(origin.store, EVENT.name))
        return events.selectExpr("json AS text", "event_id AS source")
    if origin.kafka:
        servers, topic = origin.kafka
        options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
        with named_failure(cannot, _NO_KAFKA.format(package_of_kafka(session))):
            messages: DataFrame = reader.format("kafka").options(**{**options, **origin.options}).load()
        place = "concat(topic, ' ', partition, ':', offset)"
        return messages.selectExpr("CAST(value AS STRING) AS text", f"{place} AS source")
    options = {"lineSep": "\n", "recursiveFileLookup": "true"}
    if not _EVENT_FILE.search(origin.address):
        options["pathGlobFilter"] = _EVENT_FILES
    with named_failure(cannot, _NO_S3.format(package_of_s3(session)) if origin.address.startswith("s3a:") else ""):
        files: DataFrame = reader.options(**{**options, **origin.options}).text(origin.address)
    return files.selectExpr("value AS text", "input_file_name() AS source")
