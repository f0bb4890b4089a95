"""Make the delivery from the settings: the transport, and the spool in front of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.listener.guard import LOG
from openlineage_pyspark.transport.composite import FanOut, independent_parts
from openlineage_pyspark.transport.delivery.queue import MEMORY_BYTES
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.place import default_root
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.retention import DAY_SECONDS, Retention
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport.base import Transport

NO_SPOOL = "none"
"""The value of `spark.openlineage.spool.path` that keeps events in memory only."""


def open_delivery(settings: Settings, application: str = "") -> Delivery | FanOut:
    """
    Return the delivery of the configured transport; nothing is sent yet.

    A composite transport that sends everything to all of its parts gets a delivery and a spool for each part. If the
    spool can't be used, a warning is logged and events are kept in memory.

    Args:
        settings: settings that name the `type` of a transport.
        application: the application's name, for people who list spools; empty if it is unknown.

    Raises:
        TransportConfigError: the transport is unknown, or an option can't be used.
    """
    transport = open_transport(str(settings.transport["type"]), settings.transport)
    deliveries = [_delivery(settings, part, application) for part in independent_parts(transport)]
    return deliveries[0] if len(deliveries) == 1 else FanOut(deliveries)


def _delivery(settings: Settings, transport: Transport, application: str) -> Delivery:
    try:
        root = spool_root(settings, transport)
        if root is None:
            return Delivery(transport)
        spool = Spool.create(root, transport.destination, sender(settings, transport))
        spool.name_application(settings.app_name or application)
    except SpoolError as problem:
        LOG.warning("openlineage: no spool, so events are kept in memory only: %s", problem)
        return Delivery(transport, max_bytes=min(settings.spool_max_bytes, MEMORY_BYTES))
    recovery = _scope(settings, root, transport)
    return Delivery(transport, spool=spool, recovery=recovery, max_bytes=settings.spool_max_bytes)


def _scope(settings: Settings, root: Path, transport: Transport) -> RecoveryScope:
    retention = Retention(settings.spool_max_total_bytes, settings.spool_max_age_days * DAY_SECONDS)
    return RecoveryScope(root, retention=retention, sender=sender(settings, transport))


def sender(settings: Settings, transport: Transport) -> str:
    """Return whose events a transport sends: the configured name, else what identifies its login."""
    named = named_sender(settings)
    return transport.sender if named is None else named


def named_sender(settings: Settings) -> str | None:
    """Return the sender that is configured by name; None if the login of each transport identifies it."""
    return None if settings.spool_sender is None else f"name {settings.spool_sender}"


def spool_root(settings: Settings, transport: Transport) -> Path | None:
    """
    Return the spool's directory; None if events are not spooled.

    Args:
        settings: settings that may name the directory.
        transport: decides whether there is a spool by default.

    Raises:
        SpoolError: the directory is in a home directory that does not exist.
    """
    if settings.spool_path is None:
        return default_root() if transport.SPOOLED else None
    return named_root(settings)


def named_root(settings: Settings) -> Path | None:
    """
    Return the directory that is configured for the spool; None if there is none.

    Args:
        settings: settings that may name the directory.

    Raises:
        SpoolError: it is in the home directory of a user who does not exist.
    """
    path = settings.spool_path
    if path is None or path.lower() == NO_SPOOL:
        return None
    try:
        return Path(path).expanduser()
    except RuntimeError as exc:
        raise SpoolError(f"{path} can't be found ({exc})") from exc
