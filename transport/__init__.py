"""
Delivery of OpenLineage events: the transports, and the worker that sends in the background.

`open_transport` makes a transport from its name and options; `Delivery` sends through it. An event comes in as finished
JSON, so nothing here depends on Spark; only the names of the options are those of the Spark configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "Delivery": "delivery.worker",
    "DeliveryCounts": "delivery.counts",
    "Event": "event",
    "ReceiverMetrics": "delivery.counts",
    "Transport": "base",
    "TransportConfigError": "base",
    "TransportError": "base",
    "open_transport": "registry",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a package that imports its own modules is a circle for two threads."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
