"""A real Kafka broker: Apache Kafka 3.9.0 in KRaft mode, one Java process."""

from __future__ import annotations

import base64
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import attrs
import pytest

from support.maven import fetched_with_all

VERSION = "3.9.0"
# A loaded machine takes its time over two JVMs.
START_SECONDS = 240
# Spark's version -> the connector that is tested with it. Maven Central may lack that of the very version.
CONNECTOR = {
    "3.5": (
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.12:3.5.7",
        "org.apache.commons:commons-pool2:2.12.0",
    ),
    "4.3": (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.commons:commons-pool2:2.12.0",
    ),
}

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={data}
num.partitions=3
auto.create.topics.enable=false
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
"""


def jars(folder: Path) -> Path:
    """Give the folder with the jars of a broker, from the cache or from Maven Central; skip if it can't be had.

    Args:
        folder: where they may be fetched to.
    """
    return fetched_with_all(f"kafka/{VERSION}", [f"org.apache.kafka:kafka_2.13:{VERSION}"], folder)


@attrs.define
class Broker:
    jars: Path
    folder: Path
    port: int
    controller: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    def java(self, program: str, *arguments: str) -> list[str]:
        return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", f"{self.jars}/*", program, *arguments]

    def prepare(self) -> None:
        data = self.folder / "data"
        properties = PROPERTIES.format(port=self.port, controller=self.controller, data=data)
        (self.folder / "server.properties").write_text(properties)
        cluster = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).rstrip(b"=").decode()
        command = self.java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", "server.properties")
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=START_SECONDS)

    def start(self) -> None:
        with self.log.open("ab") as log:
            command = self.java("kafka.Kafka", "server.properties")
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"the broker did not start: {self.log.read_text()[-2000:]}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)

    def create(self, topic: str) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.address})
        admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(60)

    def write(self, topic: str, *messages: str) -> None:
        """Write messages, which come to any of the partitions."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address})
        for number, message in enumerate(messages):
            producer.produce(topic, message.encode(), str(number))
        assert producer.flush(60) == 0

    def read(self, topic: str, count: int) -> list[Any]:
        """Read the first messages of a topic, those of one partition in their order."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "test", "auto.offset.reset": "earliest"})
        try:
            consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
            found: list[Any] = []
            end = time.monotonic() + 120
            while len(found) < count and time.monotonic() < end:
                message = consumer.poll(1.0)
                if message is not None and message.error() is None:
                    found.append(message)
            return found
        finally:
            consumer.close()

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            return bool(AdminClient({"bootstrap.servers": self.address, "log_level": 0}).list_topics(timeout=2).brokers)
        except KafkaException:
            return False
