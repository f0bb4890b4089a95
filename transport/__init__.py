"""
Delivery of OpenLineage events: the transports, and the worker that sends in the background.

`open_transport` makes a transport from its name and options; `Delivery` sends through it. An event comes in as finished
JSON, so nothing here depends on Spark; only the names of the options are those of the Spark configuration.
"""

from openlineage_pyspark.transport.base import Transport, TransportConfigError, TransportError
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts, ReceiverMetrics
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport

__all__ = [
    "Delivery",
    "DeliveryCounts",
    "Event",
    "ReceiverMetrics",
    "Transport",
    "TransportConfigError",
    "TransportError",
    "open_transport",
]
