"""Topics of Kafka."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier


def topic_readings(options: str) -> dict[str, str]:
    """
    Return what the probe reads of a value that holds the options of a Kafka source or sink.

    Args:
        options: name of the map's getter.
    """
    return {"topic": f"{options}[topic]", "bootstrapServers": f"{options}[kafka.bootstrap.servers]"}


def topic_dataset(servers: str, topic: str, fields: tuple[Field, ...] = ()) -> Dataset:
    """
    Return the dataset of a topic.

    Args:
        servers: `kafka.bootstrap.servers`.
        topic: its name.
        fields: its schema.
    """
    return Dataset(Identifier(naming.kafka_namespace(servers), topic), fields, type="TOPIC")
