"""From the settings to what ships the events: the transport, and the spool in front of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.listener.guard import LOG
from openlineage_pyspark.transport import Delivery, open_transport
from openlineage_pyspark.transport.delivery.backlog import MEMORY_BYTES
from openlineage_pyspark.transport.delivery.fan_out import FanOut, independent_parts
from openlineage_pyspark.transport.spool.place import SpoolError, default_root
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport import Transport

NO_SPOOL = "none"
"""What `spark.openlineage.spool.path` says where events are held in memory alone."""


def open_delivery(settings: Settings) -> Delivery | FanOut:
    """Make the transport that is configured, and what ships through it; nothing is sent yet.

    A composite one whose parts are all to get everything has a delivery, and a spool, for each of them.

    Where the spool can't be used, that is said once, and memory takes its place.

    Args:
        settings: with a transport's `type`.

    Raises:
        TransportConfigError: there is no such transport, or an option can't be used.
    """
    transport = open_transport(str(settings.transport["type"]), settings.transport)
    deliveries = [_delivery(settings, part) for part in independent_parts(transport)]
    return deliveries[0] if len(deliveries) == 1 else FanOut(deliveries)


def _delivery(settings: Settings, transport: Transport) -> Delivery:
    try:
        root = spool_root(settings, transport)
        if root is None:
            return Delivery(transport)
        spool = Spool.create(root, transport.destination)
    except SpoolError as problem:
        LOG.warning("openlineage: no spool, so that events are held in memory alone: %s", problem)
        return Delivery(transport, max_bytes=min(settings.spool_max_bytes, MEMORY_BYTES))
    return Delivery(transport, spool=spool, recovery=RecoveryScope(root), max_bytes=settings.spool_max_bytes)


def spool_root(settings: Settings, transport: Transport) -> Path | None:
    """Give the directory of the spool, None where there is to be none.

    Args:
        settings: which may name one.
        transport: which tells whether there is one by default.

    Raises:
        SpoolError: there is no home for the default one, or for the one that is named.
    """
    if settings.spool_path is None:
        return default_root() if transport.SPOOLED else None
    return named_root(settings)


def named_root(settings: Settings) -> Path | None:
    """Give the directory that is configured for the spool, None where none is.

    Args:
        settings: which may name one.

    Raises:
        SpoolError: it is named after the home of a user who is not there.
    """
    path = settings.spool_path
    if path is None or path.lower() == NO_SPOOL:
        return None
    try:
        return Path(path).expanduser()
    except RuntimeError as exc:
        raise SpoolError(f"{path} can't be found ({exc})") from exc
