"""Transport that produces events to a Kafka topic, configured as in the Java or the Python client."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.base import Transport, sender_of
from openlineage_pyspark.transport.options import PYTHON, Option, flag, prefix_of, text, text_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import KafkaError, Message, Producer
    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

_log = logging.getLogger(__name__)

# Without a timeout, librdkafka reports a failed delivery only after five minutes.
_TIMEOUT_NAMES = ("message.timeout.ms", "delivery.timeout.ms")
_TIMEOUT_MILLIS = "30000"
_SERVER_NAMES = ("bootstrap.servers", "metadata.broker.list")
_SERIALIZERS = ("key.serializer", "value.serializer")
# Errors of this one event, raised by the broker or the producer: a retry can't help.
_FINAL = frozenset(
    {"INVALID_MSG", "INVALID_MSG_SIZE", "INVALID_RECORD", "MSG_SIZE_TOO_LARGE", "POLICY_VIOLATION", "_INVALID_ARG"}
)
# Errors of the user or the topic, which last until somebody repairs them.
_LASTING = frozenset(
    {
        "CLUSTER_AUTHORIZATION_FAILED", "SASL_AUTHENTICATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "TOPIC_EXCEPTION",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PART", "_AUTHENTICATION", "_UNKNOWN_TOPIC",
    }
)  # fmt: skip


_TOPIC = Option("topicName", text, text="The topic.", default="", example="lineage", also=("topic",))
_KEY = Option(
    "messageKey",
    text,
    text="The key of every message; by default the key that the Java client uses.",
    default=None,
    example="sales",
    also=("message_key",),
)
_PROPERTIES = Option(
    "properties.<option>",
    text_map,
    text="A property of librdkafka's producer.",
    default=None,
    example="localhost:9092",
    example_name="bootstrap.servers",
    also=("config.<option>",),
)
_FLUSH = Option(
    "flush", flag, text="Always true: an event counts as sent once the brokers have it.", default=True, source=PYTHON
)


class KafkaTransport(Transport):
    """
    A Kafka topic; needs `pip install confluent-kafka`.

    `send` waits until the brokers have the event.

    A message has the same key as in the Java and Python clients: `run:<namespace>/<name>` of the root job. So the runs
    of an application and of its parents are in one partition and stay in order.

    Args:
        topic: the name of the topic.
        key: the key of every message; None to use `message_key`.
        properties: the properties of librdkafka's producer.
    """

    OPTIONS = (_TOPIC, _KEY, _PROPERTIES, _FLUSH)
    SPOOLED = True

    def __init__(self, topic: str, key: str | None, properties: Mapping[str, str]) -> None:
        self._topic = topic
        self._key = key
        self._properties = properties
        self._servers = next((properties[name] for name in _SERVER_NAMES if name in properties), "")
        self._producer: Producer | None = self._open()

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from the options of the OpenLineage Java or Python client.

        Raises:
            TransportConfigError: an option is missing or can't be used, or the package confluent-kafka is missing.
        """
        topic = _TOPIC.required(options, "Set it to the topic that events go to.")
        properties = _PROPERTIES.read(options) or {}
        if not any(properties.get(name) for name in _SERVER_NAMES):
            remedy = "Set it to the brokers, such as localhost:9092."
            raise TransportConfigError("properties.bootstrap.servers", "is not set", remedy)
        for name in _SERIALIZERS:
            if not properties.pop(name, "StringSerializer").endswith("StringSerializer"):
                _log.warning("%s.properties.%s has no effect: events are text", prefix_of(options), name)
        if not _FLUSH.read(options):
            _log.warning("%s.flush has no effect: an event is sent once the brokers have it", prefix_of(options))
        if not any(name in properties for name in _TIMEOUT_NAMES):
            properties[_TIMEOUT_NAMES[0]] = _TIMEOUT_MILLIS
        return cls(topic, _KEY.read(options), properties)

    @property
    def destination(self) -> str:
        """The topic and its brokers, without credentials."""
        return without_secrets(f"kafka://{self._servers}/{self._topic}")

    @property
    def sender(self) -> str:
        """The login, without its password, which may change."""
        login = {
            name: value
            for name, value in self._properties.items()
            if name.startswith(("sasl.", "ssl.")) and not re.search("password|secret|[.]pem$", name)
        }
        return sender_of(login=login)

    def send(self, event: Event) -> None:
        """
        Produce the event, and wait until the brokers have it, at most for `message.timeout.ms` (30 s by default).

        Raises:
            TransportError: the brokers don't have the event; retryable unless it is too large or not allowed.
        """
        from confluent_kafka import KafkaException

        producer = self._producer = self._producer or self._open()
        errors: list[KafkaError | None] = []

        def note(error: KafkaError | None, _message: Message) -> None:
            errors.append(error)

        try:
            producer.produce(self._topic, event.body, self._key or message_key(event.body), on_delivery=note)
            producer.flush()
        except BufferError:
            raise TransportError(f"{self.destination}: the producer's queue is full", retryable=True) from None
        except KafkaException as exc:
            errors.append(exc.args[0])
        for error in errors:
            if error is not None:
                raise self._undelivered(error)

    def close(self, timeout: float, /) -> None:
        """
        Close the connections.

        Args:
            timeout: the limit on sending what is still queued, in seconds.
        """
        if self._producer is not None:
            self._producer.flush(timeout)
            self._producer = None

    def _undelivered(self, error: KafkaError) -> TransportError:
        if error.fatal():
            # After a fatal error the producer sends nothing any more.
            self._producer = None
        name = error.name()
        # Only the error's name is shown, because its text may quote the configuration.
        message = f"{self.destination} did not take the event ({name})"
        return TransportError(message, retryable=name not in _FINAL, lasting=name in _LASTING)

    def _open(self) -> Producer:
        try:
            from confluent_kafka import KafkaException, Producer
        except ImportError:
            remedy = "Run pip install confluent-kafka."
            raise TransportConfigError("type", "is 'kafka', which needs the package confluent-kafka", remedy) from None
        try:
            return Producer({**self._properties, "logger": _AtDebug()})
        except KafkaException as exc:
            raise _unusable(exc.args[0].str(), self._properties) from None


class _AtDebug:
    """Logs librdkafka's messages, one per failed connection, at DEBUG: users see failures as TransportErrors."""

    def log(self, _level: int, text: str, *values: object) -> None:
        _log.debug(text, *values)


def message_key(body: bytes) -> str:
    """
    Return the key of a message as the Java and Python clients make it.

    Returns:
        `run:<namespace>/<name>` of the root job if the event names one, else of the parent job, else of its own job.
    """
    event = json.loads(body)
    parent = _within(event, "run", "facets", "parent")
    jobs = (_within(parent, "root", "job"), _within(parent, "job"), _within(event, "job"))
    job = next((job for job in jobs if job.get("namespace") and job.get("name")), {})
    return f"run:{job.get('namespace')}/{job.get('name')}"


def _within(value: dict[str, object], *names: str) -> dict[str, object]:
    for name in names:
        inner = value.get(name)
        value = inner if isinstance(inner, dict) else {}
    return value


def _unusable(text: str, properties: Mapping[str, str]) -> TransportConfigError:
    """Return an error that names the property that librdkafka refuses, but not its value, which may be a secret."""
    if "JAAS" in text:
        remedy = "Set sasl.mechanism, sasl.username and sasl.password instead."
        return TransportConfigError("properties.sasl.jaas.config", "only works in Java", remedy)
    remedy = "See the list of its properties: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md."
    # librdkafka may use another name for a property than the user.
    named = re.search(r'property:? "([\w.-]+)"', text)
    name = next((name for name in properties if name in text), named[1] if named else None)
    if name is None:
        return TransportConfigError("properties", "are not accepted by librdkafka", remedy)
    unknown = text.startswith(("No such", "Java"))
    problem = "is unknown to librdkafka" if unknown else "has a value that librdkafka does not accept"
    return TransportConfigError(f"properties.{name}", problem, remedy)
