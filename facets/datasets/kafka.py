"""Kafka topics: written in batches and streams, and read in both, by DataSource V1 and V2."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Relation, Session, by_name, reads, source
from openlineage_pyspark.facets.datasets.tables import catalog_table
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, Symlink, fields_of
from openlineage_pyspark.facets.model.plan import Operator, Plan

_KAFKA = "org.apache.spark.sql.kafka010"
_V2 = "org.apache.spark.sql.execution.datasources.v2"
_OF_A_SOURCE = {"subscribe": "subscribe", "subscribePattern": "subscribePattern", "assign": "assign"}

Text = Callable[[str], "str | None"]
"""Returns the reading of a name if it is text."""


def topic_readings(options: str) -> dict[str, str]:
    """Return the readings of a value that holds the options of a Kafka source or sink."""
    return {"topic": f"{options}[topic]", "bootstrapServers": f"{options}[kafka.bootstrap.servers]"}


def _source_readings(options: str) -> dict[str, str]:
    return topic_readings(options) | {name: f"{options}[{option}]" for name, option in _OF_A_SOURCE.items()}


def topic_dataset(servers: str, topic: str, fields: tuple[Field, ...] = ()) -> Dataset:
    """
    Return the dataset of a topic.

    Args:
        servers: the value of `kafka.bootstrap.servers`.
        topic: the name of the topic.
        fields: the schema.
    """
    return Dataset(Identifier(naming.kafka_namespace(servers), topic), fields, type="TOPIC")


@source({_KAFKA: "KafkaRelation"}, reads=_source_readings("@sourceOptions"))
def kafka_relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """Resolve a batch read of topics, or a table of the session catalog whose data is in topics."""
    relation = operator.described("relation")
    found = None if relation is None else _topics(plan, operator, relation.text, None)
    table = operator.described("catalogTable")
    named = catalog_table(table, session) if table is not None else None
    if found is None or named is None:
        return found
    links = named.symlinks or (Symlink(named.identifier.namespace, named.identifier.name),)
    datasets = tuple(attrs.evolve(d, symlinks=links, catalog=named.catalog) for d in found.datasets)
    return attrs.evolve(found, datasets=datasets)


# Spark 3.5 keeps the options of a stream in its scan, later versions in the relation below the scan.
@source({_KAFKA: "KafkaSourceProvider$KafkaTable"})
@source({_KAFKA: "KafkaSourceProvider$KafkaScan"}, reads=_source_readings("@options"))
@reads(
    {
        f"{_V2}.DataSourceV2Relation": _source_readings("options"),
        f"{_V2}.StreamingDataSourceV2Relation": _source_readings("options"),
        "org.apache.spark.sql.catalyst.streaming.StreamingRelationV2": _source_readings("extraOptions"),
        f"{_KAFKA}.KafkaSourceOffset": {"json": "json"},
    }
)
def kafka_v2(plan: Plan, operator: Operator, _session: Session) -> Relation | None:
    """Resolve a read of topics by a stream, or by a batch of DataSource V2; for a write, its topic."""
    scan = operator.described("scan")
    offset = _scan_above(plan, operator).described("endOffset")
    # KafkaSourceOffset.json has an offset for each partition of each topic.
    read = offset.text("json") if offset is not None else None
    return _topics(plan, operator, operator.text if scan is None else scan.text, read)


def _scan_above(plan: Plan, operator: Operator) -> Operator:
    """Return the scan of a streaming relation, which holds the offsets; up to Spark 3.5, they are one operator."""
    name = "StreamingDataSourceV2ScanRelation"
    scans = (scan for scan in plan.operators if scan.name == name)
    return next((s for s in scans if any(plan.operators[child] is operator for child in s.children)), operator)


def _topics(plan: Plan, operator: Operator, text: Text, offsets: str | None) -> Relation | None:
    """
    Return the relation of the topics that the options of a source name; None without a cluster.

    Args:
        plan: the plan of the operator.
        operator: the leaf operator.
        text: returns the value of an option.
        offsets: the offsets of a micro-batch in JSON; they name the topics that match a pattern.
    """
    servers = text("bootstrapServers")
    if not servers:
        return None
    why = None
    topics = _subscribed(text) or ((str(text("topic")),) if text("topic") else ())
    if text("subscribePattern"):
        topics = _keys(offsets or "")
        why = None if topics else "the topics are given by a pattern: which topics match it is unknown"
    elif not topics:
        why = "the topics are unknown"
    fields = fields_of(plan, operator)
    found = by_name(operator, *(topic_dataset(servers, topic, fields) for topic in topics))
    return attrs.evolve(found, opaque=why)


def _subscribed(text: Text) -> tuple[str, ...]:
    """Return the topics of the options `subscribe` (`a, b`) or `assign` (`{"a": [0, 1], "b": [2]}`)."""
    if text("subscribe"):
        return tuple(dict.fromkeys(topic.strip() for topic in str(text("subscribe")).split(",") if topic.strip()))
    try:
        assigned = json.loads(text("assign") or "{}")
    except ValueError:
        return ()
    return tuple(map(str, assigned)) if isinstance(assigned, dict) else ()


def _keys(offsets: str) -> tuple[str, ...]:
    """Return the topics of offsets in JSON, which may be cut; the name of a topic has no special characters."""
    return tuple(sorted(set(re.findall(r'"([\w.-]+)":\{', offsets))))
