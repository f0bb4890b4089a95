"""The kafka transport against a real broker: Apache Kafka 3.9.0 in KRaft mode, one Java process."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from support.kafka import Broker

pytestmark = pytest.mark.slow

PREFIX = "spark.openlineage.transport"


def event(run: str, number: int, *, parent: dict[str, Any] | None = None, job: str = "ä job") -> Event:
    facets = {"facets": {"parent": parent}} if parent else {}
    document = {"n": number, "run": {"runId": run, **facets}, "job": {"namespace": "sales", "name": job}}
    return Event(run, "RUNNING", json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def config_error(**options: object) -> str:
    with pytest.raises(TransportConfigError) as caught:
        open_transport("kafka", options)
    return str(caught.value)


def test_messages_have_the_events_bytes_and_the_order_of_their_key(broker: Broker) -> None:
    broker.create("order")
    options = {"topicName": "order", "properties": {"bootstrap.servers": broker.address, "acks": "all"}}
    transport = open_transport("kafka", options)
    assert (transport.SPOOLED, transport.destination) == (True, f"kafka://{broker.address}/order")
    events = [event(f"r{n % 4}", n, job=f"job {n % 4}") for n in range(40)]
    for each in events:
        transport.send(each)
    transport.close(10.0)
    messages = broker.read("order", 40)
    assert sorted(message.value() for message in messages) == sorted(each.body for each in events)
    for job in range(4):
        of_job = [message for message in messages if message.key() == f"run:sales/job {job}".encode()]
        assert [message.value() for message in of_job] == [each.body for each in events[job::4]]
        assert len({message.partition() for message in of_job}) == 1


def test_the_key_is_the_job_at_the_top_or_the_one_that_is_set(broker: Broker) -> None:
    broker.create("keys")
    dag = {"run": {"runId": "d"}, "job": {"namespace": "dags", "name": "daily"}}
    task = {"run": {"runId": "t"}, "job": {"namespace": "dags", "name": "daily.load"}}
    java = {"topicName": "keys", "properties": {"bootstrap": {"servers": broker.address}}}
    python = {"topic": "keys", "config": {"bootstrap.servers": broker.address}, "flush": True}
    sent: list[tuple[dict[str, Any], Any]] = [
        (java, event("r", 1)),
        (python, event("r", 2, parent=task)),
        (java, event("r", 3, parent={**task, "root": dag})),
        (python, event("r", 4, parent={"job": {}})),
        ({**java, "messageKey": "mine"}, event("r", 5, parent=task)),
        ({**python, "message_key": "mine"}, event("r", 6)),
    ]
    for options, each in sent:
        open_transport("kafka", options).send(each)
    keys = {json.loads(message.value())["n"]: message.key().decode() for message in broker.read("keys", 6)}
    assert keys == {
        1: "run:sales/ä job",
        2: "run:dags/daily.load",
        3: "run:dags/daily",
        4: "run:sales/ä job",
        5: "mine",
        6: "mine",
    }


@pytest.mark.long
def test_an_event_for_a_broker_that_is_away_goes_through_when_it_is_back(broker: Broker) -> None:
    broker.create("away")
    properties = {"bootstrap.servers": broker.address, "message.timeout.ms": "1000"}
    patient = {**properties, "message.timeout.ms": "120000"}
    transport = open_transport("kafka", {"topic": "away", "config": properties})
    transport.send(event("r", 1))
    broker.stop()
    with pytest.raises(TransportError) as caught:
        transport.send(event("r", 2))
    assert (str(caught.value), caught.value.retryable) == (
        f"kafka://{broker.address}/away did not take the event (_MSG_TIMED_OUT)", True,
    )  # fmt: skip
    broker.start()
    later = open_transport("kafka", {"topic": "away", "config": patient})
    for number in (2, 3):
        later.send(event("r", number))
    # What was given up does not come later.
    assert [message.value() for message in broker.read("away", 3)] == [event("r", n).body for n in (1, 2, 3)]


def test_an_event_that_is_too_large_is_final_and_the_next_one_goes_through(broker: Broker) -> None:
    broker.create("large")
    transport = open_transport("kafka", {"topic": "large", "config": {"bootstrap.servers": broker.address}})
    with pytest.raises(TransportError) as caught:
        transport.send(event("r", 1, job="x" * 2_000_000))
    assert (str(caught.value), caught.value.retryable) == (
        f"kafka://{broker.address}/large did not take the event (MSG_SIZE_TOO_LARGE)", False,
    )  # fmt: skip
    transport.send(event("r", 2))
    assert [message.value() for message in broker.read("large", 1)] == [event("r", 2).body]


def test_a_topic_that_is_not_there_yet_is_worth_another_try(broker: Broker) -> None:
    properties = {
        "bootstrap.servers": broker.address,
        "message.timeout.ms": "2000",
        "topic.metadata.refresh.interval.ms": "500",
    }
    transport = open_transport("kafka", {"topic": "tomorrow", "config": properties})
    with pytest.raises(TransportError, match=r"did not take the event \(") as caught:
        transport.send(event("r", 1))
    assert caught.value.retryable is True


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"bootstrap.servers": ""}, "bootstrap.servers is not set. Set it to the brokers, such as localhost:9092."),
        ({"max.block.ms": "1"}, "max.block.ms is unknown to librdkafka. {0}"),
        ({"security.protocol": "canary"}, "security.protocol has a value that librdkafka does not accept. {0}"),
        ({"linger.ms": "canary"}, "linger.ms has a value that librdkafka does not accept. {0}"),
        (
            {"sasl.jaas.config": "Login required password=canary;"},
            "sasl.jaas.config only works in Java. Set sasl.mechanism, sasl.username and sasl.password instead.",
        ),
        (
            {"security.protocol": "ssl", "ssl.ca.location": "/no/canary"},
            "ssl.ca.location has a value that librdkafka does not accept. {0}",
        ),
    ],
)
def test_a_property_that_can_not_be_used_is_named_without_its_value(properties: dict[str, str], message: str) -> None:
    pytest.importorskip("confluent_kafka", reason="the package confluent-kafka is not installed")
    text = config_error(topic="t", properties={"bootstrap.servers": "127.0.0.1:1", **properties})
    link = "https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md"
    expected = message.format(f"See the list of its properties: {link}.")
    # What librdkafka calls linger.ms by its first name is as good.
    assert text.replace("queue.buffering.max.ms", "linger.ms") == f"{PREFIX}.properties.{expected}"


def test_the_serializers_of_the_java_client_are_those_that_there_are_anyway(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("confluent_kafka", reason="the package confluent-kafka is not installed")
    text = "org.apache.kafka.common.serialization.StringSerializer"
    properties = {"bootstrap.servers": "127.0.0.1:1", "enable.idempotence": True, "key.serializer": text}
    open_transport("kafka", {"topic": "t", "properties": {**properties, "value.serializer": text}}).close(0.0)
    assert caplog.records == []
    open_transport("kafka", {"topic": "t", "flush": "false", "properties": {**properties, "value.serializer": "Avro"}})
    assert [record.getMessage() for record in caplog.records] == [
        f"{PREFIX}.properties.value.serializer has no effect: events are text",
        f"{PREFIX}.flush has no effect: an event is sent once the brokers have it",
    ]


def test_the_destination_shows_no_login() -> None:
    pytest.importorskip("confluent_kafka", reason="the package confluent-kafka is not installed")
    options = {"topic": "t", "properties": {"bootstrap.servers": "user:can/a?ry@127.0.0.1:1,127.0.0.1:2"}}
    transport = open_transport("kafka", options)
    assert transport.destination == "kafka://127.0.0.1:1,127.0.0.1:2/t"
    transport.close(0.0)


def test_without_its_package_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert config_error(topic="t", properties={"bootstrap.servers": "h:1"}) == (
        f"{PREFIX}.type is 'kafka', which needs the package confluent-kafka. Run pip install confluent-kafka."
    )
    assert config_error(properties={}) == f"{PREFIX}.topicName is not set. Set it to the topic that events go to."
