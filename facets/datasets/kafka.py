"""Kafka topics."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier


def topic_readings(options: str) -> dict[str, str]:
    """
    Return what the probe reads from a value that holds the options of a Kafka source or sink.

    Args:
        options: the getter of the map with the options.
    """
    return {"topic": f"{options}[topic]", "bootstrapServers": f"{options}[kafka.bootstrap.servers]"}


def topic_dataset(servers: str, topic: str, fields: tuple[Field, ...] = ()) -> Dataset:
    """
    Return the dataset of a topic.

    Args:
        servers: the value of `kafka.bootstrap.servers`.
        topic: the name of the topic.
        fields: the schema.
    """
    return Dataset(Identifier(naming.kafka_namespace(servers), topic), fields, type="TOPIC")
