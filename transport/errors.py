"""The base class of the exceptions that the delivery of events raises."""

from __future__ import annotations


class DeliveryError(Exception):
    """Base class of `TransportError`, `TransportConfigError` and `SpoolError`."""
