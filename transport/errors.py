"""The root of what delivery raises."""

from __future__ import annotations


class DeliveryError(Exception):
    """An event, or the way to its receiver, is at fault: `TransportError`, `TransportConfigError`, `SpoolError`."""
